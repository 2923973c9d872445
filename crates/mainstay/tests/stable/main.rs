//! Stable SVM and stable logistic regression against a general conic solver, closed forms and the
//! structure their duals promise.
#![cfg(test)]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small counts")]

mod hard_data;
mod invariance;
mod oracle;
mod theory;

use clarabel::solver::SupportedConeT::{ExponentialConeT, SecondOrderConeT};
use mainstay::Control;
use mainstay::data::{ClassWeight, Dataset};
use mainstay::linalg::{Csr, Dense, Matrix};
use mainstay::model::{Estimator, Fitted, Model, Output, PathPoint, WorstRows};
use mainstay::stable::problem::{RowLoss, Target, worst_sum};
use mainstay::stable::{
    K, MultiClass, Protocol, Solver, StableLogisticCvParams, StableLogisticParams,
    StableSvcCvParams, StableSvcParams, SvmLoss, coefficient_stability,
};
use mainstay_testkit::cone::Program;
use mainstay_testkit::generate::{normal, rng, two_clouds};

/// A problem on plain slices, for the conic solver.
struct Plain {
    rows: Vec<Vec<f64>>,
    target: Target,
    weights: Vec<f64>,
    loss: RowLoss,
    k: f64,
    ridge: f64,
    scale: f64,
    intercept: bool,
}

impl Plain {
    /// The optimal value by the textbook conic form of (8), (10), (13).
    fn optimum(&self) -> f64 {
        let (n, p, q) = (self.rows.len(), self.rows[0].len(), self.target.scores());
        let weight = |j: usize, l: usize| j * p + l;
        let bias = |j: usize| q * p + j;
        let theta = q * (p + 1);
        let u = |i: usize| theta + 1 + i;
        let extra = |i: usize, j: usize| theta + 1 + n + i * (q + 1) + j;
        let mut program = Program::new(theta + 1 + n + n * (q + 1));
        for j in 0..q {
            (0..p).for_each(|l| program.add_product(weight(j, l), weight(j, l), self.ridge));
            if !self.intercept {
                program.equals_zero(vec![(bias(j), 1.0)], 0.0);
            }
        }
        program.add_linear(theta, self.scale * self.k);
        program.at_least_zero(vec![(theta, 1.0)], 0.0);
        for i in 0..n {
            program.add_linear(u(i), self.scale * self.weights[i]);
            program.at_least_zero(vec![(u(i), 1.0)], 0.0);
            let score = |j: usize, sign: f64| -> Vec<(usize, f64)> {
                let mut terms: Vec<_> = self.rows[i]
                    .iter()
                    .enumerate()
                    .map(|(l, v)| (weight(j, l), sign * v))
                    .collect();
                terms.push((bias(j), sign));
                terms
            };
            match self.loss {
                RowLoss::Hinge | RowLoss::SquaredHinge => {
                    for j in 0..q {
                        let mut terms = score(j, self.target.sign(i, j));
                        terms.push((extra(i, j), 1.0));
                        program.at_least_zero(terms, -1.0);
                        if self.loss == RowLoss::Hinge {
                            program.at_least_zero(vec![(extra(i, j), 1.0)], 0.0);
                        }
                    }
                    let top = vec![(u(i), 1.0), (theta, 1.0)];
                    if self.loss == RowLoss::Hinge {
                        let mut terms = top;
                        terms.extend((0..q).map(|j| (extra(i, j), -1.0)));
                        program.at_least_zero(terms, 0.0);
                    } else {
                        let mut cone = vec![(top.clone(), 1.0), (top, -1.0)];
                        cone.extend((0..q).map(|j| (vec![(extra(i, j), 2.0)], 0.0)));
                        program.constrain(SecondOrderConeT(q + 2), &cone);
                    }
                }
                RowLoss::Logistic => {
                    // Parts exp(f_j - f_y - u - theta) that add up to at most 1.
                    let parts: Vec<Vec<(usize, f64)>> = match &self.target {
                        Target::Signs(y) => vec![vec![], score(0, -y[i])],
                        Target::Classes { labels, .. } => (0..q)
                            .map(|j| {
                                let mut terms = score(j, 1.0);
                                terms.extend(score(labels[i], -1.0));
                                terms
                            })
                            .collect(),
                    };
                    let count = parts.len();
                    for (j, mut terms) in parts.into_iter().enumerate() {
                        terms.extend([(u(i), -1.0), (theta, -1.0)]);
                        let cone = [(terms, 0.0), (vec![], 1.0), (vec![(extra(i, j), 1.0)], 0.0)];
                        program.constrain(ExponentialConeT(), &cone);
                    }
                    program.at_least_zero((0..count).map(|j| (extra(i, j), -1.0)).collect(), 1.0);
                }
            }
        }
        let answer = program.solve();
        assert!(answer.solved || answer.objective.is_finite());
        answer.objective
    }
}

fn control() -> Control {
    Control::new()
}

fn objective(fitted: &Fitted) -> f64 {
    fitted.certificates[0].primal
}

fn binary(seed: u64, n: usize, p: usize, distance: f64) -> (Vec<Vec<f64>>, Vec<f64>, Dataset) {
    let (rows, y) = two_clouds(seed, n, p, distance);
    // Odd seeds: every sixth row becomes positive, for unequal classes.
    let y: Vec<f64> = y
        .iter()
        .enumerate()
        .map(|(i, v)| if seed % 2 == 1 && i % 6 == 1 { 1.0 } else { *v })
        .collect();
    let labels = y.iter().map(|v| usize::from(*v > 0.0)).collect();
    let data = Dataset::new(Dense::from_rows(n, p, rows.clone()).into(), labels, 2).unwrap();
    (rows.chunks(p).map(<[f64]>::to_vec).collect(), y, data)
}

fn classes(seed: u64, n: usize, p: usize, count: usize) -> (Vec<Vec<f64>>, Vec<usize>, Dataset) {
    let mut rng = rng(seed);
    let centres = normal(&mut rng, count * p);
    let labels: Vec<usize> = (0..n).map(|i| i % count).collect();
    let mut x = normal(&mut rng, n * p);
    for (i, label) in labels.iter().enumerate() {
        for l in 0..p {
            x[i * p + l] += 1.2 * centres[label * p + l];
        }
    }
    let data = Dataset::new(Dense::from_rows(n, p, x.clone()).into(), labels.clone(), count);
    (x.chunks(p).map(<[f64]>::to_vec).collect(), labels, data.unwrap())
}

fn close(found: &Fitted, reference: f64, what: &str) {
    let scale = reference.abs().max(1.0);
    let primal = objective(found);
    assert!(found.dual_gap().unwrap() <= found.tol, "{what}: gap {:?}", found.dual_gap());
    // The reference itself is good to about 1e-7 on exponential and second-order cones.
    assert!(
        (primal - reference).abs() <= (found.tol + 2e-7) * scale,
        "{what}: {primal} {reference}"
    );
}

fn linear(fitted: &Fitted) -> (&[f64], f64) {
    match &fitted.model {
        Model::Linear(m) => (&m.coef[0], m.intercept[0]),
        other => panic!("{other:?}"),
    }
}

fn svm(k: K, c: f64) -> StableSvcParams {
    StableSvcParams { k, c, ..Default::default() }
}

fn flag(fitted: &Fitted) -> bool {
    fitted.outputs["equals_classical"] == Output::Flag(true)
}

fn fit(params: StableSvcParams, data: &Dataset) -> Fitted {
    params.check().unwrap().fit(data, &control()).unwrap()
}

fn norm(w: &[f64]) -> f64 {
    w.iter().map(|v| v * v).sum::<f64>().sqrt()
}
