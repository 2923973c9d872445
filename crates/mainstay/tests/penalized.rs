//! Penalised mean loss: closed forms, a conic solver as judge, invariances.
//!
//! Longer than other files: a list of tests over all losses and penalties; the program that judges them is stated once.
#![cfg(test)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::needless_range_loop,
    reason = "small counts; indices are those of the formulas"
)]

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

    /// The textbook program: one epigraph variable or two a row, one per weight for L1.
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

/// Points at +-1 on a line, logistic loss: alpha w = 1 / (1 + e^w), b = 0.
#[test]
fn two_points_on_a_line_solve_the_stationarity_equation() {
    for alpha in [1e-4, 0.1, 10.0] {
        let data = dataset(&[1.0, -1.0], &[1.0, -1.0]);
        let fitted = fit("l2", &json!({"alpha": alpha, "tol": 1e-12}), &data);
        let (w, b) = linear(&fitted);
        assert!((alpha * w[0] - 1.0 / (1.0 + w[0].exp())).abs() < 1e-7, "{alpha}: {fitted:?}");
        assert!(b.abs() < 1e-9);
        assert_eq!(fitted.status(), Status::Certified);
    }
}

#[test]
fn every_loss_and_penalty_meets_the_conic_solver() {
    let mut failures = Vec::new();
    let (mut cases, mut judged) = (0, 0);
    for seed in 0..2 {
        for (n, p) in [(60, 4), (12, 30), (30, 30), (5, 40)] {
            let (x, y) = two_clouds(seed, n, p, 2.0);
            let mut random = rng(seed + 100);
            let weights: Vec<f64> = (0..n).map(|_| random.random_range(0.1..3.0)).collect();
            for loss in LOSSES {
                for penalty in PENALTIES {
                    for alpha in [1e-4, 1e-2, 0.3, 10.0] {
                        let (x, y, weights) = (x.clone(), y.clone(), weights.clone());
                        let case = Case { x, y, weights, loss, penalty, alpha };
                        let optimum = case.optimum();
                        cases += 1;
                        judged += usize::from(optimum.is_some());
                        let fitted = case.fit(1e-9);
                        let (w, b) = linear(&fitted);
                        let value = case.objective(&w, b);
                        let told = fitted.certificates[0];
                        let scale = value.abs().max(1.0);
                        let name = format!("{loss:?} {penalty} {alpha} n={n} p={p} seed={seed}");
                        let gap = fitted.dual_gap().unwrap();
                        if fitted.status() != Status::Certified {
                            failures.push(format!("{name}: gap {gap:.1e} after {}", fitted.n_iter));
                        }
                        if (told.primal - value).abs() > 1e-12 * scale {
                            failures.push(format!("{name}: objective {} is {value}", told.primal));
                        }
                        let Some(optimum) = optimum else { continue };
                        // The conic solver is good to about 1e-8.
                        if (value - optimum).abs() > 1e-7 * scale {
                            failures.push(format!("{name}: {value} against {optimum}"));
                        }
                        if told.dual > optimum + 1e-7 * scale {
                            failures.push(format!("{name}: bound {} above {optimum}", told.dual));
                        }
                    }
                }
            }
        }
    }
    assert!(judged * 10 >= cases * 9, "only {judged} of {cases} were judged");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The dual bound from scratch: clip, balance the classes, shrink for L1, evaluate.
fn dual_value(case: &Case, duals: &[f64]) -> f64 {
    let (n, p) = (case.n(), case.p());
    let total: f64 = case.weights.iter().sum();
    let bound = case.loss.get().dual_bound();
    let mut a: Vec<f64> = duals.iter().map(|a| a.clamp(0.0, bound)).collect();
    let side = |a: &[f64], sign: f64| -> f64 {
        (0..n).filter(|&i| case.y[i] == sign).map(|i| case.weights[i] * a[i]).sum()
    };
    let (plus, minus) = (side(&a, 1.0), side(&a, -1.0));
    for i in 0..n {
        a[i] *= plus.min(minus) / if case.y[i] > 0.0 { plus } else { minus };
    }
    let (l1, l2) = case.strengths();
    let pull = |j: usize, a: &[f64]| -> f64 {
        (0..n).map(|i| case.weights[i] / total * a[i] * case.y[i] * case.x[i * p + j]).sum()
    };
    if l2 == 0.0 {
        let largest = (0..p).map(|j| pull(j, &a).abs()).fold(0.0, f64::max);
        let shrink = f64::min(1.0, l1 / largest) * (1.0 - 1e-15);
        for a in &mut a {
            *a *= shrink;
        }
    }
    let conjugate: f64 =
        (0..n).map(|i| case.weights[i] / total * case.loss.get().conjugate(a[i])).sum();
    let excess: f64 = (0..p).map(|j| (pull(j, &a).abs() - l1).max(0.0).powi(2)).sum();
    -conjugate - if l2 > 0.0 { excess / (2.0 * l2) } else { 0.0 }
}

/// Weak duality: no feasible dual point, however made, lies above the value of a certified fit or
/// of any other weights; and the reported interval contains the bound of the smooth losses' slopes.
#[test]
fn no_dual_point_lies_above_any_primal_point() {
    for seed in 0..20 {
        let mut random = rng(seed);
        let (n, p) = (random.random_range(3..20), random.random_range(1..12));
        let (x, y) = two_clouds(seed, n, p, 1.0);
        let weights: Vec<f64> = (0..n).map(|_| random.random_range(0.1..3.0)).collect();
        for loss in LOSSES {
            for penalty in PENALTIES {
                let alpha = 10.0_f64.powf(random.random_range(-3.0..1.0));
                let (x, y, weights) = (x.clone(), y.clone(), weights.clone());
                let case = Case { x, y, weights, loss, penalty, alpha };
                let fitted = case.fit(1e-6);
                let (w, b) = linear(&fitted);
                let told = fitted.certificates[0];
                assert!(told.dual <= told.primal + 1e-12 * told.primal.max(1.0));
                for _ in 0..5 {
                    let duals: Vec<f64> = (0..n).map(|_| random.random_range(0.0..1.5)).collect();
                    let bound = dual_value(&case, &duals);
                    assert!(bound <= told.primal * (1.0 + 1e-12), "{loss:?} {penalty} {alpha}");
                    let other: Vec<f64> =
                        w.iter().map(|w| w + random.random_range(-0.5..0.5)).collect();
                    assert!(told.dual <= case.objective(&other, b) * (1.0 + 1e-12));
                }
                // Slopes at the answer give back a bound as good as the one that was reported.
                if loss != Loss::Hinge && penalty == "l2" {
                    let duals: Vec<f64> = (0..n)
                        .map(|i| {
                            let score: f64 = (0..p).map(|j| case.x[i * p + j] * w[j]).sum();
                            -loss.get().slope(case.y[i] * (score + b))
                        })
                        .collect();
                    assert!(told.primal - dual_value(&case, &duals) <= 1e-6 * told.primal.max(1.0));
                }
            }
        }
    }
}

fn csr(x: &[f64], n: usize) -> Matrix {
    let p = x.len() / n;
    let (mut starts, mut indices, mut values) = (vec![0], vec![], vec![]);
    for i in 0..n {
        for j in 0..p {
            if x[i * p + j] != 0.0 {
                indices.push(u32::try_from(j).unwrap());
                values.push(x[i * p + j]);
            }
        }
        starts.push(indices.len());
    }
    Csr::new(p, starts, indices, values).unwrap().into()
}

/// Clouds with a third of the entries zero.
fn holey(seed: u64, n: usize, p: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut x, y) = two_clouds(seed, n, p, 2.0);
    for (k, v) in x.iter_mut().enumerate() {
        if (k * 7 + k / 5) % 3 == 0 {
            *v = 0.0;
        }
    }
    (x, y)
}

fn everything() -> impl Iterator<Item = (Loss, &'static str)> {
    LOSSES.into_iter().flat_map(|loss| PENALTIES.into_iter().map(move |penalty| (loss, penalty)))
}

#[test]
fn sparse_and_dense_rows_give_the_same_objective() {
    for (n, p) in [(50, 6), (15, 60)] {
        let (x, y) = holey(3, n, p);
        let labels: Vec<usize> = y.iter().map(|y| usize::from(*y > 0.0)).collect();
        let sparse = Dataset::new(csr(&x, n), labels, 2).unwrap();
        let dense = dataset(&x, &y);
        for (loss, penalty) in everything() {
            for normalize in [false, true] {
                let params = json!({"loss": loss, "alpha": 0.05, "tol": 1e-10,
                    "normalize": normalize});
                let (a, b) = (fit(penalty, &params, &dense), fit(penalty, &params, &sparse));
                let apart = (a.certificates[0].primal - b.certificates[0].primal).abs();
                assert!(apart < 1e-9, "{loss:?} {penalty} {normalize}: {apart:e}");
                assert!(b.dual_gap().unwrap() < 1e-8, "{loss:?} {penalty}: {:?}", b.dual_gap());
            }
        }
    }
}

#[test]
fn weights_repetition_and_row_order_do_not_change_a_bit() {
    let (x, y) = two_clouds(5, 30, 4, 1.5);
    let p = 4;
    let times = |i: usize| i % 4;
    let weights: Vec<f64> = (0..30).map(|i| times(i) as f64).collect();
    let weighted = dataset(&x, &y).with_weights(weights).unwrap();
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for i in (0..30).rev() {
        for _ in 0..times(i) {
            rows.extend_from_slice(&x[i * p..(i + 1) * p]);
            labels.push(y[i]);
        }
    }
    let repeated = dataset(&rows, &labels);
    for (loss, penalty) in everything() {
        for alpha in [json!(0.02), json!("cv")] {
            let params = json!({"loss": loss, "alpha": alpha, "normalize": "auto", "n_alphas": 4});
            let (a, b) = (fit(penalty, &params, &weighted), fit(penalty, &params, &repeated));
            assert_eq!(a, b, "{loss:?} {penalty}");
        }
    }
}

#[test]
fn swapping_the_labels_swaps_the_signs() {
    let (x, y) = two_clouds(6, 40, 5, 1.0);
    let swapped: Vec<f64> = y.iter().map(|y| -y).collect();
    for (loss, penalty) in everything() {
        let params = json!({"loss": loss, "alpha": 0.05, "tol": 1e-11});
        let (w, b) = linear(&fit(penalty, &params, &dataset(&x, &y)));
        let (v, c) = linear(&fit(penalty, &params, &dataset(&x, &swapped)));
        // An objective to 1e-11 pins the weights to its square root.
        let apart = w.iter().zip(&v).fold(0.0_f64, |m, (w, v)| m.max((w + v).abs()));
        assert!(apart < 1e-4, "{loss:?} {penalty}: {apart:e}");
        // Without curvature (hinge with L1) the intercept may be one of many.
        if loss != Loss::Hinge {
            assert!((b + c).abs() < 1e-4, "{loss:?} {penalty}: {b} and {c}");
        }
    }
}

/// With a huge penalty the weights of L1 are exactly zero and the loss is that of the best constant:
/// with three of four rows positive, logistic: b = ln 3.
#[test]
fn a_huge_penalty_leaves_the_intercept() {
    let x = [1.0, 2.0, -1.0, 3.0, 0.5, -2.0, 1.5, 0.0];
    let y = [1.0, 1.0, -1.0, 1.0];
    for (loss, penalty) in everything() {
        let params = json!({"loss": loss, "alpha": 1e6});
        let fitted = fit(penalty, &params, &dataset(&x, &y));
        let (w, b) = linear(&fitted);
        assert_eq!(fitted.status(), Status::Certified, "{loss:?} {penalty}: {fitted:?}");
        assert!(w.iter().all(|w| w.abs() < 1e-5));
        if penalty != "l2" {
            assert_eq!(w, [0.0, 0.0], "{loss:?} {penalty}");
        }
        let best = match loss {
            Loss::Logistic => 3.0_f64.ln(),
            Loss::Hinge => 1.0,
            // 3/4 (1 - b)^2 + 1/4 (1 + b)^2 is least at b = 1/2.
            Loss::SquaredHinge | Loss::ModifiedHuber => 0.5,
        };
        assert!((b - best).abs() < 1e-2, "{loss:?} {penalty}: {b}");
    }
}

#[test]
fn a_tiny_penalty_on_separable_data_is_certified_or_says_so() {
    for (n, p) in [(40, 3), (10, 50)] {
        let (x, y) = two_clouds(8, n, p, 20.0);
        for (loss, penalty) in everything() {
            let params = json!({"loss": loss, "alpha": 1e-9});
            let fitted = fit(penalty, &params, &dataset(&x, &y));
            assert_eq!(fitted.status(), Status::Certified, "{loss:?} {penalty} {n}: {fitted:?}");
            let right = fitted.model.predict(dataset(&x, &y).features()).unwrap();
            assert!(right.iter().zip(&y).all(|(k, y)| (*k == 1) == (*y > 0.0)));
        }
    }
}

/// Columns of any size are the same features in other units: standardised, they give the same scores.
#[test]
fn extreme_units_are_only_units() {
    let (n, p) = (40, 3);
    let (x, y) = two_clouds(9, n, p, 2.0);
    for units in [[1e150, 1e-150, 1.0], [1e300, 1e-300, 1e10]] {
        let scaled: Vec<f64> = x.iter().enumerate().map(|(k, v)| v * units[k % p]).collect();
        for (loss, penalty) in everything() {
            let params = json!({"loss": loss, "alpha": 0.05, "normalize": true, "tol": 1e-9});
            let plain = fit(penalty, &params, &dataset(&x, &y));
            let other = fit(penalty, &params, &dataset(&scaled, &y));
            assert_eq!(other.status(), Status::Certified, "{loss:?} {penalty}");
            let apart = plain.certificates[0].primal - other.certificates[0].primal;
            assert!(apart.abs() < 1e-8, "{loss:?} {penalty}: {apart:e}");
        }
    }
}

/// Unnormalised, a column in tiny units is priced out and one in huge units is free; either way the
/// model is finite and as good as the one without the penalty on the huge column.
#[test]
fn extreme_columns_give_finite_models() {
    let (n, p) = (40, 3);
    let (x, y) = two_clouds(9, n, p, 2.0);
    for (n, p, x, y) in [(n, p, x, y), {
        let (x, y) = two_clouds(10, 12, 30, 2.0);
        (12, 30, x, y)
    }] {
        let units = |j: usize| [1e150, 1e-150, 1.0][j.min(2)];
        let scaled: Vec<f64> = x.iter().enumerate().map(|(k, v)| v * units(k % p)).collect();
        for (loss, penalty) in everything() {
            let params = json!({"loss": loss, "alpha": 0.05});
            let fitted = fit(penalty, &params, &dataset(&scaled, &y));
            let (w, b) = linear(&fitted);
            assert!(w.iter().all(|w| w.is_finite()) && b.is_finite());
            let constant = fit(penalty, &json!({"loss": loss, "alpha": 1e8}), &dataset(&x, &y));
            let (value, worst) = (fitted.certificates[0].primal, constant.certificates[0].primal);
            assert!(value <= worst * (1.0 + 1e-9), "{loss:?} {penalty} {n}: {value} {worst}");
        }
    }
}

#[test]
fn constant_columns_contradictions_and_two_rows_are_ordinary() {
    // A constant column, a duplicated column, equal rows with both labels.
    let x = [
        1.0, 5.0, 1.0, //
        2.0, 5.0, 2.0, //
        2.0, 5.0, 2.0, //
        0.0, 5.0, 0.0, //
        0.0, 5.0, 0.0,
    ];
    let y = [1.0, 1.0, -1.0, -1.0, -1.0];
    for (loss, penalty) in everything() {
        for normalize in [json!(false), json!(true), json!("auto")] {
            let params = json!({"loss": loss, "normalize": normalize, "n_folds": 2});
            let fitted = fit(penalty, &params, &dataset(&x, &y));
            assert_eq!(fitted.status(), Status::Certified, "{loss:?} {penalty}: {fitted:?}");
            assert_eq!(linear(&fitted).0[1], 0.0, "a constant says nothing");
        }
        let two = fit(penalty, &json!({"loss": loss}), &dataset(&[3.0, 1.0], &[1.0, -1.0]));
        assert_eq!(two.status(), Status::Certified);
        let same = fit(penalty, &json!({"loss": loss}), &dataset(&[1.0, 1.0], &[1.0, -1.0]));
        assert_eq!(same.status(), Status::Certified);
        assert_eq!(linear(&same).0, [0.0]);
    }
}

fn three_classes(seed: u64, n: usize) -> Dataset {
    let (mut x, _) = two_clouds(seed, n, 3, 0.0);
    for i in 0..n {
        x[i * 3 + i % 3] += 2.0;
    }
    let x = Dense::from_rows(n, 3, x);
    Dataset::new(Matrix::from(x), (0..n).map(|i| i % 3).collect(), 3).unwrap()
}

#[test]
fn three_classes_are_fitted_one_against_the_rest() {
    let data = three_classes(11, 60);
    for (loss, penalty) in everything() {
        let fitted = fit(penalty, &json!({"loss": loss}), &data);
        assert_eq!(fitted.certificates.len(), 3);
        assert_eq!(fitted.status(), Status::Certified);
        let predicted = fitted.model.predict(data.features()).unwrap();
        let right = predicted.iter().zip(data.labels()).filter(|(a, b)| a == b).count();
        assert!(right > 40, "{loss:?} {penalty}: {right} of 60");
        let probable = fitted.model.probabilities(data.features()).unwrap();
        let defined = matches!(loss, Loss::Logistic | Loss::ModifiedHuber);
        assert_eq!(probable.is_some(), defined);
        // A class of weight zero is never predicted; the others go on without it.
        let params = json!({"loss": loss, "class_weight": [1.0, 0.0, 1.0]});
        let fitted = fit(penalty, &params, &data);
        assert_eq!(fitted.status(), Status::Certified);
        assert!(!fitted.model.predict(data.features()).unwrap().contains(&1));
    }
}

#[test]
fn cross_validation_does_not_depend_on_threads() {
    let data = three_classes(12, 45);
    for (loss, penalty) in everything() {
        let params = json!({"loss": loss, "alpha": "cv", "normalize": "auto", "n_alphas": 5});
        let estimator = methods::find(penalty).unwrap().estimator(&params).unwrap();
        let one = estimator.fit(&data, &Control::new().with_threads(1)).unwrap();
        let four = estimator.fit(&data, &Control::new().with_threads(4)).unwrap();
        assert_eq!(one, four, "{loss:?} {penalty}");
        assert_eq!(one.status(), Status::Certified);
    }
}

/// The table has one row per candidate, and the choice is its smallest mean loss.
#[test]
fn cross_validation_takes_the_smallest_mean_loss() {
    let (x, y) = two_clouds(13, 80, 10, 1.5);
    let params = json!({"alpha": "cv", "normalize": "auto", "alphas": [0.1, 10.0, 0.001]});
    let fitted = fit("l2", &params, &dataset(&x, &y));
    let Output::Table(table) = &fitted.outputs["cv_results"] else { panic!("no table") };
    let column = |name: &str| match &table.iter().find(|(n, _)| n == name).unwrap().1 {
        Output::Vector(values) => values.clone(),
        Output::Integers(values) => values.iter().map(|v| *v as f64).collect(),
        Output::Flags(values) => values.iter().map(|v| f64::from(u8::from(*v))).collect(),
        other => panic!("{other:?}"),
    };
    let (alphas, means) = (column("param_alpha"), column("mean_test_score"));
    assert_eq!(alphas, [10.0, 0.1, 0.001, 10.0, 0.1, 0.001]);
    assert_eq!(column("param_normalize"), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    assert_eq!(column("std_test_score").len(), 6);
    // Scores are minus the mean loss, so all are negative and the largest is the best.
    assert!(means.iter().all(|score| *score < 0.0));
    let folds: Vec<Vec<f64>> = (0..5).map(|s| column(&format!("split{s}_test_score"))).collect();
    let mean = |k: usize| folds.iter().map(|fold| fold[k]).sum::<f64>() / 5.0;
    assert!((0..6).all(|k| (mean(k) - means[k]).abs() < 1e-12));
    let best = (0..6).max_by(|&a, &b| means[a].total_cmp(&means[b])).unwrap();
    assert_eq!(fitted.outputs["alpha"], Output::Number(alphas[best]));
    assert_eq!(column("rank_test_score")[best], 1.0);
    // Too few rows to cross-validate are refused in words.
    let estimator = methods::find("l2").unwrap().estimator(&json!({"alpha": "cv"})).unwrap();
    let refused = estimator.fit(&dataset(&[1.0, 2.0], &[1.0, -1.0]), &Control::new());
    assert!(matches!(refused, Err(Error::BadData(_))), "{refused:?}");
}

#[test]
fn contradictory_and_impossible_parameters_are_refused() {
    for (method, params) in [
        ("l1", json!({"penalty": "l2"})),
        ("l2", json!({"alpha": -1.0})),
        ("l2", json!({"alpha": 0.0})),
        ("l2", json!({"alpha": "best"})),
        ("elasticnet", json!({"l1_ratio": 1.5})),
        ("l2", json!({"tol": 0.0})),
        ("l2", json!({"n_folds": 1})),
        ("l2", json!({"alphas": []})),
        ("l2", json!({"unknown": 1})),
    ] {
        let refused = methods::find(method).unwrap().estimator(&params);
        assert!(refused.is_err(), "{method} {params}");
    }
    assert!(methods::find("l1").unwrap().estimator(&json!({"penalty": "l1"})).is_ok());
}

#[test]
fn a_cancelled_fit_ends() {
    let (x, y) = two_clouds(14, 50, 5, 1.0);
    let control = Control::new();
    control.cancel();
    for (loss, penalty) in everything() {
        let estimator = methods::find(penalty).unwrap().estimator(&json!({"loss": loss})).unwrap();
        let ended = estimator.fit(&dataset(&x, &y), &control);
        assert_eq!(ended.err(), Some(Error::Interrupted));
    }
}

/// Far more columns than rows: L2 goes through the row space, L1 through small working sets. The
/// proof is the reported interval, whose upper end is recomputed here.
#[test]
fn wide_data_are_certified() {
    for (n, p) in [(20, 600), (60, 2000)] {
        let (x, y) = two_clouds(15, n, p, 2.0);
        for (loss, penalty) in everything() {
            for alpha in [1e-3, 0.1] {
                let (x, y, weights) = (x.clone(), y.clone(), vec![1.0; n]);
                let case = Case { x, y, weights, loss, penalty, alpha };
                let fitted = case.fit(1e-6);
                let (w, b) = linear(&fitted);
                assert_eq!(fitted.status(), Status::Certified, "{loss:?} {penalty} {alpha} {n}");
                let told = fitted.certificates[0].primal;
                assert!((case.objective(&w, b) - told).abs() <= 1e-12 * told.max(1.0));
            }
        }
    }
}

/// Sparse rows are not centred, so the intercept is large beside the margins' imbalance.
#[test]
fn three_sparse_rows_are_certified_like_dense_ones() {
    let dense = Dense::from_rows(3, 2, vec![2.0, 1.0, 3.0, 0.0, 0.0, 5.0]);
    let csr = Csr::new(2, vec![0, 2, 3, 4], vec![0, 1, 0, 1], vec![2.0, 1.0, 3.0, 5.0]);
    for x in [Matrix::from(dense), Matrix::from(csr.unwrap())] {
        let data = Dataset::new(x, vec![0, 1, 1], 2).unwrap();
        let estimator = methods::find("l2").unwrap().estimator(&json!({})).unwrap();
        estimator.fit(&data, &Control::new()).unwrap().certified(1e-6).unwrap();
    }
}

/// A few entries per row and column: large in both directions, cheap to multiply with.
fn scattered(order: usize) -> Dataset {
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..order {
        let mut columns = [i, (7 * i + 3) % order];
        columns.sort_unstable();
        indices.extend(columns.map(|j| j as u32));
        values.extend([1.0, 0.5 + (i % 5) as f64 / 10.0]);
        indptr.push(indices.len());
    }
    let x = Csr::new(order, indptr, indices, values).unwrap();
    let labels = (0..order).map(|i| usize::from(i % 3 == 0)).collect();
    Dataset::new(x.into(), labels, 2).unwrap()
}

/// Every stage of the strategy delivers alone where it is meant to.
#[test]
fn each_stage_delivers_the_answer_where_it_is_meant_to() {
    let (x, y) = two_clouds(5, 60, 4, 1.0);
    let small = dataset(&x, &y);
    let (x, y) = two_clouds(6, 20, 700, 1.0);
    let wide = dataset(&x, &y);
    let hinge = json!({"loss": "hinge", "alpha": 0.1});
    let logistic = json!({"alpha": 0.1});
    for (method, params, data, route) in [
        ("l2", &hinge, &small, vec!["interior point"]),
        ("l2", &logistic, &small, vec!["newton"]),
        ("l2", &logistic, &wide, vec!["row space", "newton"]),
        ("l1", &logistic, &small, vec!["working set"]),
        ("l2", &logistic, &scattered(1600), vec!["newton by conjugate gradients"]),
        ("l2", &hinge, &scattered(4100), vec!["rounded hinge"]),
    ] {
        let fitted = fit(method, params, data);
        assert_eq!(fitted.route, route);
        assert_eq!(fitted.status(), Status::Certified, "{route:?}: {:?}", fitted.dual_gap());
    }
}
