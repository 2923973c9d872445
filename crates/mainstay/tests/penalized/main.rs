//! Penalised mean loss: closed forms, a conic solver as judge, invariances.
#![cfg(test)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::needless_range_loop,
    reason = "small counts; indices are those of the formulas"
)]

mod hard_data;
mod invariance;
mod oracle;

use clarabel::solver::SupportedConeT::{ExponentialConeT, NonnegativeConeT};
use mainstay::data::Dataset;
use mainstay::linalg::{Csr, Dense, Matrix};
use mainstay::loss::Loss;
use mainstay::model::{Fitted, Model, Output};
use mainstay::{Control, Error, Status, methods};
use mainstay_testkit::cone::Program;
use mainstay_testkit::generate::{rng, two_clouds};
use rand::RngExt;
use serde_json::{Value, json};

const LOSSES: [Loss; 4] = [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber];
const PENALTIES: [&str; 3] = ["l2", "l1", "elasticnet"];

/// A problem, in plain arrays.
#[derive(Clone)]
struct Case {
    x: Vec<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
    loss: Loss,
    penalty: &'static str,
    alpha: f64,
}

const RATIO: f64 = 0.3;

impl Case {
    fn n(&self) -> usize {
        self.y.len()
    }

    fn p(&self) -> usize {
        self.x.len() / self.n()
    }

    fn dataset(&self) -> Dataset {
        dataset(&self.x, &self.y).with_weights(self.weights.clone()).unwrap()
    }

    fn fit(&self, tol: f64) -> Fitted {
        let params = json!({
            "loss": self.loss, "alpha": self.alpha, "l1_ratio": RATIO, "tol": tol
        });
        fit(self.penalty, &params, &self.dataset())
    }

    /// L1 and L2 strengths.
    fn strengths(&self) -> (f64, f64) {
        match self.penalty {
            "l1" => (self.alpha, 0.0),
            "l2" => (0.0, self.alpha),
            _ => (RATIO * self.alpha, (1.0 - RATIO) * self.alpha),
        }
    }

    fn objective(&self, w: &[f64], b: f64) -> f64 {
        let p = self.p();
        let total: f64 = self.weights.iter().sum();
        let mut value = 0.0;
        for i in 0..self.n() {
            let score: f64 = (0..p).map(|j| self.x[i * p + j] * w[j]).sum();
            let m = self.y[i] * (score + b);
            let loss = match self.loss {
                Loss::Logistic => (-m).max(0.0) + (-m.abs()).exp().ln_1p(),
                Loss::Hinge => (1.0 - m).max(0.0),
                Loss::ModifiedHuber if m < -1.0 => -4.0 * m,
                Loss::SquaredHinge | Loss::ModifiedHuber => (1.0 - m).max(0.0).powi(2),
            };
            value += self.weights[i] * loss / total;
        }
        let (l1, l2) = self.strengths();
        value + w.iter().map(|w| l1 * w.abs() + 0.5 * l2 * w * w).sum::<f64>()
    }

    /// The textbook program: one or two epigraph variables per row, one per weight for L1.
    /// `None` where the conic solver does not reach full accuracy.
    fn optimum(&self) -> Option<f64> {
        let (n, p) = (self.n(), self.p());
        let (l1, l2) = self.strengths();
        let abs = p + 1;
        let row = abs + if l1 > 0.0 { p } else { 0 };
        let (extra, second) = (row + n, row + 2 * n);
        let per_row = match self.loss {
            Loss::Logistic => 3,
            Loss::ModifiedHuber => 2,
            Loss::Hinge | Loss::SquaredHinge => 1,
        };
        let mut program = Program::new(row + per_row * n);
        let total: f64 = self.weights.iter().sum();
        for j in 0..p {
            program.add_product(j, j, 0.5 * l2);
            if l1 == 0.0 {
                continue;
            }
            program.add_linear(abs + j, l1);
            program.at_least_zero(vec![(abs + j, 1.0), (j, 1.0)], 0.0);
            program.at_least_zero(vec![(abs + j, 1.0), (j, -1.0)], 0.0);
        }
        for i in 0..n {
            let share = self.weights[i] / total;
            let margin = |scale: f64| -> Vec<(usize, f64)> {
                let mut terms: Vec<(usize, f64)> =
                    (0..p).map(|j| (j, scale * self.y[i] * self.x[i * p + j])).collect();
                terms.push((p, scale * self.y[i]));
                terms
            };
            let with = |mut terms: Vec<(usize, f64)>, more: &[(usize, f64)]| {
                terms.extend_from_slice(more);
                terms
            };
            let (first, other) = (row + i, extra + i);
            if self.loss == Loss::Logistic {
                // e^{-t} + e^{-m-t} <= 1 with t the loss.
                program.add_linear(first, share);
                let (u, v) = (other, second + i);
                program.constrain(
                    ExponentialConeT(),
                    &[(vec![(first, -1.0)], 0.0), (vec![], 1.0), (vec![(u, 1.0)], 0.0)],
                );
                program.constrain(
                    ExponentialConeT(),
                    &[
                        (with(margin(-1.0), &[(first, -1.0)]), 0.0),
                        (vec![], 1.0),
                        (vec![(v, 1.0)], 0.0),
                    ],
                );
                program.constrain(NonnegativeConeT(1), &[(vec![(u, -1.0), (v, -1.0)], 1.0)]);
                continue;
            }
            // m + first (+ other) >= 1; modified Huber: squared up to 2, linear beyond.
            let mut short = with(margin(1.0), &[(first, 1.0)]);
            program.at_least_zero(vec![(first, 1.0)], 0.0);
            if self.loss == Loss::Hinge {
                program.add_linear(first, share);
            } else {
                program.add_product(first, first, share);
            }
            if self.loss == Loss::ModifiedHuber {
                short.push((other, 1.0));
                program.add_linear(other, 4.0 * share);
                program.at_least_zero(vec![(other, 1.0)], 0.0);
                program.at_least_zero(vec![(first, -1.0)], 2.0);
            }
            program.at_least_zero(short, -1.0);
        }
        let answer = program.solve();
        answer.solved.then_some(answer.objective)
    }
}

fn dataset(x: &[f64], y: &[f64]) -> Dataset {
    let x = Dense::from_rows(y.len(), x.len() / y.len(), x.to_vec());
    let labels = y.iter().map(|y| usize::from(*y > 0.0)).collect();
    Dataset::new(Matrix::from(x), labels, 2).unwrap()
}

fn fit(method: &str, params: &Value, data: &Dataset) -> Fitted {
    methods::find(method).unwrap().estimator(params).unwrap().fit(data, &Control::new()).unwrap()
}

fn linear(fitted: &Fitted) -> (Vec<f64>, f64) {
    let Model::Linear(model) = &fitted.model else { panic!("not linear") };
    (model.coef[0].clone(), model.intercept[0])
}

fn everything() -> impl Iterator<Item = (Loss, &'static str)> {
    LOSSES.into_iter().flat_map(|loss| PENALTIES.into_iter().map(move |penalty| (loss, penalty)))
}
