//! Stable SVM and stable logistic regression against a general conic solver, closed forms and the
//! structure their duals promise.
//!
//! Longer than other files: a list of tests for two estimators; the cone programs that judge them are stated once.
#![cfg(test)]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small counts")]

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

#[test]
fn the_svm_matches_the_conic_solver() {
    let mut count = 0;
    for seed in 0..8 {
        let (n, p) = [(30, 3), (41, 8), (12, 5), (60, 2)][seed as usize % 4];
        let (rows, y, data) = binary(seed, n, p, 1.5);
        let weights: Vec<f64> =
            normal(&mut rng(99 + seed), n).iter().map(|v| v.abs() + 0.1).collect();
        for (loss, row_loss) in
            [(SvmLoss::Hinge, RowLoss::Hinge), (SvmLoss::SquaredHinge, RowLoss::SquaredHinge)]
        {
            for (k, c, weighted, intercept) in [
                (K::Fraction(0.4), 1.0, false, true),
                (K::Count(n as u64 / 3), 30.0, false, false),
                (K::Fraction(0.73), 0.02, true, true),
                (K::Fraction(1.0), 0.5, true, true),
            ] {
                let c_i = if weighted { weights.clone() } else { vec![1.0; n] };
                let total: f64 = c_i.iter().sum();
                let plain = Plain {
                    rows: rows.clone(),
                    target: Target::Signs(y.clone()),
                    weights: c_i.clone(),
                    loss: row_loss,
                    k: k.resolve(total).unwrap(),
                    ridge: 1.0,
                    scale: c,
                    intercept,
                };
                let params =
                    StableSvcParams { k, c, loss, fit_intercept: intercept, ..Default::default() };
                let data = data.clone().with_weights(c_i).unwrap();
                let found = params.check().unwrap().fit(&data, &control()).unwrap();
                close(&found, plain.optimum(), &format!("seed {seed} {loss:?} {k:?} C {c}"));
                count += 1;
            }
        }
    }
    assert!(count >= 60);
}

#[test]
fn the_logistic_regression_matches_the_conic_solver() {
    for seed in 0..6 {
        let (n, p) = [(30, 3), (25, 8), (10, 14)][seed as usize % 3];
        let (rows, y, data) = binary(seed, n, p, 1.5);
        let weights: Vec<f64> =
            normal(&mut rng(7 + seed), n).iter().map(|v| v.abs() + 0.1).collect();
        for (k, alpha, weighted, intercept) in [
            (K::Fraction(0.5), 0.1, false, true),
            (K::Count(n as u64 / 3), 1e-3, false, false),
            (K::Fraction(0.81), 1.0, true, true),
            (K::Fraction(1.0), 0.01, true, true),
        ] {
            let c_i = if weighted { weights.clone() } else { vec![1.0; n] };
            let k_i = k.resolve(c_i.iter().sum()).unwrap();
            let plain = Plain {
                rows: rows.clone(),
                target: Target::Signs(y.clone()),
                weights: c_i.clone(),
                loss: RowLoss::Logistic,
                k: k_i,
                ridge: alpha,
                scale: 1.0 / k_i,
                intercept,
            };
            let params =
                StableLogisticParams { k, alpha, fit_intercept: intercept, ..Default::default() };
            let data = data.clone().with_weights(c_i).unwrap();
            let found = params.check().unwrap().fit(&data, &control()).unwrap();
            close(&found, plain.optimum(), &format!("seed {seed} {k:?} alpha {alpha}"));
        }
    }
}

#[test]
fn the_joint_problems_match_the_conic_solver() {
    for seed in 0..4 {
        let (rows, labels, data) = classes(seed, 36, 3, 3 + seed as usize % 2);
        let count = data.n_classes();
        for (loss, k, strength, intercept) in [
            (RowLoss::Hinge, K::Fraction(0.6), 1.0, true),
            (RowLoss::Hinge, K::Count(9), 0.1, false),
            (RowLoss::SquaredHinge, K::Fraction(0.6), 0.3, true),
            (RowLoss::Logistic, K::Fraction(0.6), 0.05, true),
            (RowLoss::Logistic, K::Fraction(1.0), 0.1, true),
            (RowLoss::Logistic, K::Fraction(0.3), 0.01, false),
        ] {
            let k_i = k.resolve(36.0).unwrap();
            let logistic = loss == RowLoss::Logistic;
            let plain = Plain {
                rows: rows.clone(),
                target: Target::Classes { labels: labels.clone(), count },
                weights: vec![1.0; 36],
                loss,
                k: k_i,
                ridge: if logistic { strength } else { 1.0 },
                scale: if logistic { 1.0 / k_i } else { strength },
                intercept,
            };
            let found = if logistic {
                let multi_class = MultiClass::Joint;
                StableLogisticParams {
                    k,
                    alpha: strength,
                    multi_class,
                    fit_intercept: intercept,
                    ..Default::default()
                }
                .check()
                .unwrap()
                .fit(&data, &control())
            } else {
                let loss =
                    if loss == RowLoss::Hinge { SvmLoss::Hinge } else { SvmLoss::SquaredHinge };
                StableSvcParams {
                    k,
                    c: strength,
                    loss,
                    fit_intercept: intercept,
                    ..Default::default()
                }
                .check()
                .unwrap()
                .fit(&data, &control())
            };
            close(&found.unwrap(), plain.optimum(), &format!("seed {seed} {loss:?} {k:?}"));
        }
    }
}

/// Many rows go another way than few: by multipliers and Newton steps, begun on a sample.
#[test]
fn many_rows_match_the_conic_solver() {
    for (seed, n) in [(0, 1200), (1, 4100)] {
        let (rows, y, data) = binary(seed, n, 4, 1.5);
        let weights: Vec<f64> = normal(&mut rng(seed), n).iter().map(|v| v.abs() + 0.1).collect();
        let data = data.with_weights(weights.clone()).unwrap();
        let total: f64 = weights.iter().sum();
        for (k, strength, intercept) in [(0.9, 0.01, true), (0.6, 0.3, false)] {
            let k = K::Fraction(k);
            let plain = |loss, ridge, scale| Plain {
                rows: rows.clone(),
                target: Target::Signs(y.clone()),
                weights: weights.clone(),
                loss,
                k: k.resolve(total).unwrap(),
                ridge,
                scale,
                intercept,
            };
            let what = format!("{n} {k:?} {strength}");
            for (loss, row_loss) in
                [(SvmLoss::Hinge, RowLoss::Hinge), (SvmLoss::SquaredHinge, RowLoss::SquaredHinge)]
            {
                let params = StableSvcParams { loss, fit_intercept: intercept, ..svm(k, strength) };
                let optimum = plain(row_loss, 1.0, strength).optimum();
                close(&fit(params, &data), optimum, &format!("{what} {loss:?}"));
            }
            let params = StableLogisticParams {
                k,
                alpha: strength,
                fit_intercept: intercept,
                ..Default::default()
            };
            let found = params.check().unwrap().fit(&data, &control()).unwrap();
            let scale = 1.0 / k.resolve(total).unwrap();
            close(&found, plain(RowLoss::Logistic, strength, scale).optimum(), &what);
        }
    }
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

#[test]
fn the_worst_sum_is_that_of_sorting_and_of_the_cvar_form() {
    for seed in 0..200 {
        let mut rng = rng(seed);
        let n = 1 + seed as usize % 17;
        // Rounded, so that ties occur.
        let losses: Vec<f64> =
            normal(&mut rng, n).iter().map(|v| (4.0 * v.abs()).round() / 4.0).collect();
        let weights: Vec<f64> = normal(&mut rng, n).iter().map(|v| v.abs() + 0.05).collect();
        let total: f64 = weights.iter().sum();
        let k = total * (0.05 + 0.95 * (seed % 20) as f64 / 19.0);
        let found = worst_sum(&losses, &weights, k);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| losses[b].total_cmp(&losses[a]));
        let (mut room, mut sorted) = (k, 0.0);
        for i in order {
            sorted += losses[i] * weights[i].min(room);
            room -= weights[i].min(room);
        }
        let cvar = |theta: f64| {
            k * theta
                + losses.iter().zip(&weights).map(|(l, c)| c * (l - theta).max(0.0)).sum::<f64>()
        };
        let least = losses.iter().map(|l| cvar(*l)).fold(cvar(0.0), f64::min);
        assert!((found.sum - sorted).abs() <= 1e-12 * (1.0 + sorted), "seed {seed}");
        assert!((found.sum - least).abs() <= 1e-12 * (1.0 + sorted), "seed {seed}");
        assert!((cvar(found.threshold) - found.sum).abs() <= 1e-12 * (1.0 + sorted));
    }
}

/// With all rows counted (8) and (12) are the penalised problems of another solver, in other units.
#[test]
fn all_rows_give_the_classical_objective_at_the_default_tolerance() {
    for (seed, n, p) in [(1, 200, 5), (2, 900, 5), (3, 6000, 20)] {
        let (_, _, data) = binary(seed, n, p, 1.0);
        let classical = |loss: &str, alpha: f64| {
            let params =
                serde_json::json!({"loss": loss, "alpha": alpha, "tol": 1e-12, "normalize": false});
            let l2 = mainstay::methods::find("l2").unwrap().estimator(&params).unwrap();
            objective(&l2.fit(&data, &Control::new()).unwrap())
        };
        let (c, rows) = (0.02, n as f64);
        for (loss, name) in [(SvmLoss::Hinge, "hinge"), (SvmLoss::SquaredHinge, "squared_hinge")] {
            let params = StableSvcParams { loss, ..svm(K::Fraction(1.0), c) };
            let found = objective(&fit(StableSvcParams { tol: 1e-6, ..params }, &data));
            let wanted = c * rows * classical(name, 2.0 / (c * rows));
            assert!((found - wanted).abs() <= 2e-9 * wanted, "{n} {name}: {found} {wanted}");
        }
        let params =
            StableLogisticParams { k: K::Fraction(1.0), alpha: 0.05, ..Default::default() };
        let logistic = params.check().unwrap().fit(&data, &Control::new()).unwrap();
        let (found, wanted) = (objective(&logistic), classical("logistic", 0.1));
        assert!((found - wanted).abs() <= 2e-9, "{n}: {found} {wanted}");
    }
}

#[test]
fn enough_worst_rows_give_the_classical_svm() {
    for seed in 0..5 {
        let (_, y, data) = binary(2 * seed + 1, 60, 4, 1.0);
        let positive = y.iter().filter(|v| **v > 0.0).count();
        let enough = 2 * positive.min(60 - positive) as u64;
        let tight = |k| fit(StableSvcParams { tol: 1e-10, ..svm(k, 0.7) }, &data);
        let (classical, by_count) = (tight(K::Fraction(1.0)), tight(K::Count(60)));
        assert_eq!(classical.model, by_count.model);
        let stable = tight(K::Count(enough));
        assert!(flag(&stable) && flag(&classical));
        let (a, b) = (objective(&stable), objective(&classical));
        assert!((a - b).abs() <= 1e-9 * b, "seed {seed}: {a} {b}");
    }
}

#[test]
fn otherwise_the_direction_does_not_depend_on_c() {
    let mut compared = 0;
    for seed in 0..4 {
        let (_, _, data) = binary(2 * seed, 80, 3, 2.5);
        for k in [12, 16, 20, 24, 28, 32, 36] {
            let fits: Vec<Fitted> = [0.02, 0.05, 0.1]
                .map(|c| fit(StableSvcParams { tol: 1e-10, ..svm(K::Count(k), c) }, &data))
                .into_iter()
                .filter(|f| !flag(f) && f.warnings.is_empty())
                .collect();
            for pair in fits.windows(2) {
                let ((a, _), (b, _)) = (linear(&pair[0]), linear(&pair[1]));
                let cosine = a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() / norm(a) / norm(b);
                assert!(cosine > 1.0 - 1e-6, "seed {seed} k {k}: {cosine}");
                compared += 1;
            }
        }
    }
    assert!(compared > 0);
}

#[test]
fn a_dead_fit_is_named_together_with_the_smallest_usable_k() {
    let (_, _, data) = binary(2, 60, 3, 1.0);
    let dead = fit(svm(K::Count(1), 100.0), &data);
    assert_eq!(linear(&dead).0, [0.0; 3]);
    assert!(dead.dual_gap().unwrap() <= 1e-6);
    let text = &dead.warnings[0];
    assert!(text.contains("zero weights are optimal for every C"), "{text}");
    let words: Vec<&str> = text.split("usable k is ").collect();
    let smallest: u64 = words[1].split(' ').next().unwrap().parse().unwrap();
    let usable = fit(svm(K::Count(smallest), 100.0), &data);
    assert!(usable.warnings.is_empty() && norm(linear(&usable).0) > 0.0, "{:?}", usable.warnings);
    let below = fit(svm(K::Count(smallest - 1), 1e4), &data);
    assert!(!below.warnings.is_empty(), "{text} {below:?}");
    let logistic =
        |k| StableLogisticParams { k, alpha: 1e-3, ..Default::default() }.check().unwrap();
    let dead = logistic(K::Count(1)).fit(&data, &control()).unwrap();
    assert!((objective(&dead) - 2f64.ln()).abs() < 1e-9 && dead.warnings[0].contains("alpha"));
    let usable = logistic(K::Count(smallest)).fit(&data, &control()).unwrap();
    assert!(usable.warnings.is_empty());
    // Weak regularisation alone does not make a fit dead.
    assert!(fit(svm(K::Fraction(1.0), 1e-8), &data).warnings.is_empty());
    // The joint problem, and data in which nothing can be told apart.
    let (_, _, three) = classes(5, 30, 2, 3);
    let dead = fit(svm(K::Count(1), 10.0), &three);
    assert!(dead.warnings[0].contains("smallest usable k"), "{:?}", dead.warnings);
    let flat = Dataset::new(Dense::zeros(8, 2).into(), vec![0, 1, 0, 1, 0, 1, 0, 1], 2).unwrap();
    for k in [K::Fraction(0.5), K::Fraction(1.0)] {
        let fitted = fit(svm(k, 1.0), &flat);
        assert_eq!(linear(&fitted).0, [0.0; 2]);
        assert!(fitted.warnings[0].contains("no k helps"), "{:?}", fitted.warnings);
    }
}

#[test]
fn one_worst_row_of_separable_data_gives_the_widest_margin() {
    // Points at -1 and +1 on a line (and further out): w = 1, b = 0 is the hard-margin solution.
    let x = Dense::from_rows(6, 1, vec![-1.0, 1.0, -2.0, 3.0, -1.5, 1.2]);
    let data = Dataset::new(x.into(), vec![0, 1, 0, 1, 0, 1], 2).unwrap();
    for k in [K::Count(1), K::Count(2), K::Fraction(1.0)] {
        let fitted = fit(StableSvcParams { tol: 1e-9, ..svm(k, 1e3) }, &data);
        let (w, b) = linear(&fitted);
        assert!((w[0] - 1.0).abs() < 1e-4 && b.abs() < 1e-4, "{k:?}: {w:?} {b}");
    }
}

#[test]
fn weights_equal_repetition_to_the_last_bit() {
    let (rows, y, _) = binary(4, 24, 3, 1.0);
    let weights: Vec<f64> = (0..24).map(|i| f64::from(i % 4)).collect();
    let labels: Vec<usize> = y.iter().map(|v| usize::from(*v > 0.0)).collect();
    let dense = |rows: &[Vec<f64>]| Matrix::from(Dense::from_rows(rows.len(), 3, rows.concat()));
    let weighted = Dataset::new(dense(&rows), labels.clone(), 2)
        .unwrap()
        .with_weights(weights.clone())
        .unwrap();
    let (mut many, mut many_labels) = (Vec::new(), Vec::new());
    for i in 0..24 {
        for _ in 0..weights[i] as usize {
            many.push(rows[i].clone());
            many_labels.push(labels[i]);
        }
    }
    let repeated = Dataset::new(dense(&many), many_labels, 2).unwrap();
    for k in [K::Count(9), K::Fraction(0.3)] {
        for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
            let params = StableSvcParams { loss, ..svm(k, 2.0) };
            assert_eq!(fit(params.clone(), &weighted).model, fit(params, &repeated).model);
        }
        let logistic = StableLogisticParams { k, ..Default::default() }.check().unwrap();
        let fitted = |data| logistic.fit(data, &control()).unwrap().model;
        assert_eq!(fitted(&weighted), fitted(&repeated));
    }
    // Class weights are row weights.
    let factors = ClassWeight::Factors(vec![2.0, 0.5]);
    let by_class = StableSvcParams { class_weight: factors, ..svm(K::Fraction(0.3), 2.0) };
    let by_row: Vec<f64> = labels.iter().zip(&weights).map(|(l, w)| w * [2.0, 0.5][*l]).collect();
    let rows = Dataset::new(dense(&rows), labels, 2).unwrap().with_weights(by_row).unwrap();
    assert_eq!(fit(by_class, &weighted).model, fit(svm(K::Fraction(0.3), 2.0), &rows).model);
}

fn sparse(rows: &[Vec<f64>]) -> Matrix {
    let (mut starts, mut indices, mut values) = (vec![0], vec![], vec![]);
    for row in rows {
        for (j, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(u32::try_from(j).unwrap());
            values.push(*v);
        }
        starts.push(indices.len());
    }
    Csr::new(rows[0].len(), starts, indices, values).unwrap().into()
}

#[test]
fn sparse_and_dense_rows_few_and_many_columns_agree() {
    for (seed, n, p) in [(1, 40, 6), (2, 9, 30), (3, 12, 200)] {
        let (mut rows, _, data) = binary(seed, n, p, 1.0);
        for (i, row) in rows.iter_mut().enumerate() {
            for (j, v) in row.iter_mut().enumerate() {
                if (i + j) % 3 != 0 {
                    *v = 0.0;
                }
            }
        }
        let dense = data.replace_features(Dense::from_rows(n, p, rows.concat()).into());
        let thin = data.replace_features(sparse(&rows));
        for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
            let params = StableSvcParams { loss, ..svm(K::Fraction(0.6), 1.0) };
            let (a, b) = (fit(params.clone(), &dense), fit(params, &thin));
            assert!(a.dual_gap().unwrap() <= 1e-6 && b.dual_gap().unwrap() <= 1e-6);
            assert!((objective(&a) - objective(&b)).abs() <= 2e-6 * objective(&a).max(1.0));
        }
    }
}

#[test]
fn cutting_planes_reach_the_same_optimum() {
    let (_, _, two) = binary(6, 50, 3, 1.0);
    let (_, _, three) = classes(6, 45, 2, 3);
    for data in [&two, &three] {
        for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
            for fit_intercept in [true, false] {
                let params = StableSvcParams {
                    loss,
                    fit_intercept,
                    tol: 1e-5,
                    ..svm(K::Fraction(0.6), 0.5)
                };
                let inner = fit(params.clone(), data);
                let planes = fit(StableSvcParams { solver: Solver::CuttingPlane, ..params }, data);
                let what = format!("{loss:?} {fit_intercept} {}", planes.n_iter);
                assert!(planes.dual_gap().unwrap() <= 1e-5, "{what} {:?}", planes.dual_gap());
                let (a, b) = (objective(&inner), objective(&planes));
                assert!((a - b).abs() <= 2e-5 * a.max(1.0), "{what}: {a} {b}");
            }
        }
        let params = StableLogisticParams {
            multi_class: MultiClass::Joint,
            tol: 1e-5,
            k: K::Fraction(0.7),
            ..Default::default()
        };
        let inner = params.clone().check().unwrap().fit(data, &control()).unwrap();
        let planes = StableLogisticParams { solver: Solver::CuttingPlane, ..params };
        let planes = planes.check().unwrap().fit(data, &control()).unwrap();
        assert!(planes.dual_gap().unwrap() <= 1e-5, "{:?}", planes.dual_gap());
        assert!((objective(&inner) - objective(&planes)).abs() <= 2e-5);
    }
}

#[test]
fn a_path_finds_what_single_fits_find() {
    let (_, _, data) = binary(8, 70, 5, 1.5);
    let ks = [K::Fraction(1.0), K::Fraction(0.7), K::Count(30), K::Count(20), K::Fraction(0.9)];
    let svc = svm(K::Fraction(0.5), 1.0).check().unwrap();
    let path = svc.path(&data, &ks, &control()).unwrap();
    let cold: Vec<Fitted> = ks.iter().map(|&k| fit(svm(k, 1.0), &data)).collect();
    for (a, b) in path.iter().zip(&cold) {
        assert!(a.dual_gap().unwrap() <= 1e-6);
        assert!((objective(a) - objective(b)).abs() <= 2e-6 * objective(b).max(1.0));
    }
    let steps = |fits: &[Fitted]| fits.iter().map(|f| f.n_iter).sum::<usize>();
    let each = |fits: &[Fitted]| fits.iter().map(|f| f.n_iter).collect::<Vec<_>>();
    assert!(steps(&path) <= steps(&cold), "{:?} {:?}", each(&path), each(&cold));
    let over_c = svc.path_over_c(&data, &[0.01, 0.1, 1.0, 10.0], &control()).unwrap();
    assert!(over_c.iter().all(|f| f.dual_gap().unwrap() <= 1e-6));
    let logistic = StableLogisticParams::default().check().unwrap();
    let alphas = [1.0, 1e-2, 1e-4];
    let over_alpha = logistic.path_over_alpha(&data, &alphas, &control()).unwrap();
    assert!(over_alpha.iter().all(|f| f.dual_gap().unwrap() <= 1e-6));
    let points = [PathPoint::k(K::Fraction(1.0)), PathPoint::k(K::Count(20))];
    assert_eq!(svc.fit_path(&points, &data, &control()).unwrap().len(), 2);
    assert!(svc.fit_path(&[PathPoint::k(K::Count(0))], &data, &control()).is_err());
    let points = [0.01, 0.1, 1.0, 10.0].map(PathPoint::c);
    let by_name = svc.fit_path(&points, &data, &control()).unwrap();
    assert_eq!(by_name.len(), over_c.len());
    assert!(by_name.iter().zip(&over_c).all(|(a, b)| a.model == b.model));
    assert!(svc.fit_path(&[PathPoint::c(0.0)], &data, &control()).is_err());
    assert!(svc.fit_path(&[PathPoint::alpha(0.1)], &data, &control()).is_err());
}

#[test]
fn worst_rows_carry_the_objective() {
    let (_, _, data) = binary(10, 50, 3, 1.0);
    let data =
        data.clone().with_weights((0..50).map(|i| 0.5 + f64::from(i % 3)).collect()).unwrap();
    let params = StableLogisticParams { k: K::Fraction(0.6), alpha: 0.01, ..Default::default() };
    let fitted = params.check().unwrap().fit(&data, &control()).unwrap();
    let WorstRows { class: None, row: rows, weight, loss } = fitted.worst_rows.as_ref().unwrap()
    else {
        panic!("{:?}", fitted.worst_rows)
    };
    let k = 0.6 * data.weights().unwrap().iter().sum::<f64>();
    assert!((weight.iter().sum::<f64>() - k).abs() < 1e-3 * k);
    assert!(loss.windows(2).all(|pair| pair[0] >= pair[1]));
    assert!(rows.iter().all(|row| (0..50).contains(row)));
    let carried: f64 = weight.iter().zip(loss).map(|(w, l)| w * l).sum::<f64>() / k;
    let (w, _) = linear(&fitted);
    let penalty = 0.01 * norm(w) * norm(w);
    assert!((carried + penalty - objective(&fitted)).abs() < 1e-3);
}

#[test]
fn odd_data_give_finite_models_with_honest_certificates() {
    let two = |rows: Vec<f64>, labels: Vec<usize>, p: usize| {
        Dataset::new(Dense::from_rows(labels.len(), p, rows).into(), labels, 2).unwrap()
    };
    let (rows, _, base) = binary(12, 30, 4, 1.0);
    let scaled = |factor: f64| {
        let x: Vec<f64> = rows.concat().iter().map(|v| v * factor).collect();
        base.replace_features(Dense::from_rows(30, 4, x).into())
    };
    let mut uneven = rows.concat();
    uneven.chunks_mut(4).for_each(|row| {
        row[0] *= 1e6;
        row[1] *= 1e-6;
        row[3] = 7.0;
    });
    let cases = [
        ("two rows", two(vec![1.0, -1.0], vec![0, 1], 1), true),
        ("contradiction", two(vec![1.0, 1.0, 2.0], vec![0, 1, 1], 1), true),
        ("duplicates", two([1.0, 2.0, -1.0, 0.5].repeat(5), [0, 1].repeat(5), 2), true),
        ("uneven columns", base.replace_features(Dense::from_rows(30, 4, uneven).into()), true),
        ("large", scaled(1e6), true),
        ("small", scaled(1e-8), true),
        ("huge", scaled(1e150), false),
        ("tiny", scaled(1e-150), true),
    ];
    for (name, data, certified) in &cases {
        for k in [K::Count(1), K::Fraction(0.5), K::Fraction(1.0)] {
            for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
                let fitted = fit(StableSvcParams { loss, ..svm(k, 1.0) }, data);
                assert!(fitted.model.validate().is_ok(), "{name} {k:?}");
                let gap = fitted.dual_gap().unwrap();
                assert!(
                    !certified || gap <= 1e-6,
                    "{name} {k:?} {loss:?}: {gap} {}",
                    fitted.n_iter
                );
            }
            let params = StableLogisticParams { k, ..Default::default() }.check().unwrap();
            let fitted = params.fit(data, &control()).unwrap();
            assert!(fitted.model.validate().is_ok(), "{name} {k:?}");
            let gap = fitted.dual_gap().unwrap();
            assert!(!certified || gap <= 1e-6, "{name} {k:?} logistic: {gap} {}", fitted.n_iter);
        }
    }
}

/// Enough rows that most of them leave before the end: the certificate, taken over all rows, proves that
/// those that left do not matter, also where the columns' sizes differ and some rows lie far out.
#[test]
fn rows_that_leave_on_the_way_do_not_spoil_the_proof() {
    for seed in 0..4 {
        let mut rng = rng(seed);
        let (n, p) = (1500, 5);
        let noise = normal(&mut rng, n * p);
        let x = Dense::from_fn(n, p, |i, j| {
            let far = if i % 97 == 0 { 20.0 } else { 1.0 };
            let shift = if i % 3 == 0 { 1.0 } else { -0.4 };
            10f64.powf(j as f64 - 2.0) * far * (noise[i * p + j] + shift)
        });
        let labels = (0..n).map(|i| usize::from(i % 3 == 0)).collect();
        let data = Dataset::new(x.into(), labels, 2).unwrap();
        for k in [0.05, 0.3, 0.5, 1.0] {
            let k = K::Fraction(k);
            for strength in [1e-3, 1.0, 100.0] {
                for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
                    let fitted = fit(StableSvcParams { loss, ..svm(k, strength) }, &data);
                    let gap = fitted.dual_gap().unwrap();
                    assert!(gap <= 1e-6, "{seed} {k:?} {strength} {loss:?}: {gap}");
                }
                let params = StableLogisticParams { k, alpha: strength, ..Default::default() };
                let fitted = params.check().unwrap().fit(&data, &control()).unwrap();
                let gap = fitted.dual_gap().unwrap();
                assert!(gap <= 1e-6, "{seed} {k:?} alpha {strength}: {gap}");
            }
        }
    }
}

/// Separable data with large numbers: the weights are tiny, and a step a little too long throws rows far
/// back over the kink.
#[test]
fn the_squared_hinge_is_certified_on_separable_data_of_any_scale() {
    for seed in 0..4 {
        for (n, p) in [(40, 60), (150, 30)] {
            for unit in [1.0, 300.0, 1e4] {
                let mut rng = rng(seed);
                let noise = normal(&mut rng, n * p);
                let x = Dense::from_fn(n, p, |i, j| {
                    unit * (noise[i * p + j] + if i % 2 == 0 { 3.0 } else { 0.5 })
                });
                let labels = (0..n).map(|i| i % 2).collect();
                let data = Dataset::new(x.into(), labels, 2).unwrap();
                for k in [0.1, 0.5, 1.0] {
                    for c in [1e-3, 1.0, 100.0] {
                        let params = svm(K::Fraction(k), c);
                        let params = StableSvcParams { loss: SvmLoss::SquaredHinge, ..params };
                        let fitted = fit(params, &data);
                        let gap = fitted.dual_gap().unwrap();
                        assert!(gap <= 1e-6, "{seed} {n}x{p} {unit} {k} {c}: {gap}");
                    }
                }
            }
        }
    }
}

/// Few rows of one class, features of very different size: zero weights are optimal and proven to be, by the
/// multipliers of the smallest hinge loss, whatever the loss and its strength.
#[test]
fn zero_weights_are_proven_for_every_loss_and_strength() {
    for seed in 0..3 {
        for (n, p) in [(200, 12), (3000, 6)] {
            let mut rng = rng(seed);
            let noise = normal(&mut rng, n * p);
            let x = Dense::from_fn(n, p, |i, j| {
                [1.0, 10.0, 100.0, 1e3, 1e4][j % 5]
                    * (noise[i * p + j] + f64::from(u8::from(i % 4 == 0)) * 0.3)
            });
            let data = Dataset::new(x.into(), (0..n).map(|i| usize::from(i % 4 == 0)).collect(), 2);
            let data = data.unwrap();
            for strength in [1e-2, 1.0, 100.0] {
                let k = K::Fraction(0.2);
                let fits = [SvmLoss::Hinge, SvmLoss::SquaredHinge]
                    .map(|loss| fit(StableSvcParams { loss, ..svm(k, strength) }, &data));
                let params = StableLogisticParams { k, alpha: strength, ..Default::default() };
                let logistic = params.check().unwrap().fit(&data, &control()).unwrap();
                for fitted in fits.into_iter().chain([logistic]) {
                    let gap = fitted.dual_gap().unwrap();
                    assert!(gap <= 1e-6, "{seed} {n}x{p} {strength}: {gap}");
                    let linear = fitted.model.linear().unwrap();
                    assert!(linear.coef[0].iter().all(|w| *w == 0.0));
                    assert!(fitted.warnings[0].contains("zero weights are optimal"));
                }
            }
        }
    }
}

/// A feature that tells the classes apart, in units so small that its weight hardly pays beside a large one: the fit is
/// nearly constant, but not because of k, and must not be called so.
#[test]
fn small_units_are_not_mistaken_for_a_small_k() {
    let n = 120;
    let noise = normal(&mut rng(5), 2 * n);
    let labels: Vec<usize> = (0..n).map(|i| usize::from(i % 4 == 0)).collect();
    for unit in [1.0, 1e-5] {
        let x = Dense::from_fn(n, 2, |i, j| match j {
            0 => unit * (3.0 * labels[i] as f64 + 0.5 * noise[2 * i]),
            _ => 500.0 * noise[2 * i + 1],
        });
        let data = Dataset::new(x.into(), labels.clone(), 2).unwrap();
        for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
            let fitted = fit(StableSvcParams { loss, ..svm(K::Fraction(0.3), 1.0) }, &data);
            assert!(fitted.warnings.is_empty(), "{unit}: {:?}", fitted.warnings);
            let gap = fitted.dual_gap().unwrap();
            assert!(gap <= 1e-6, "{unit}: {gap}");
        }
    }
}

#[test]
fn extreme_strengths_are_certified() {
    let (_, _, data) = binary(14, 60, 6, 1.5);
    for k in [K::Fraction(0.5), K::Fraction(1.0)] {
        for strength in [1e-8, 1e-4, 1e4, 1e8] {
            for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
                let fitted = fit(StableSvcParams { loss, ..svm(k, strength) }, &data);
                let gap = fitted.dual_gap().unwrap();
                assert!(gap <= 1e-6, "{k:?} C {strength} {loss:?}: {gap} {}", fitted.n_iter);
            }
            let params = StableLogisticParams { k, alpha: strength, ..Default::default() };
            let fitted = params.check().unwrap().fit(&data, &control()).unwrap();
            let gap = fitted.dual_gap().unwrap();
            assert!(gap <= 1e-6, "{k:?} alpha {strength}: {gap} {}", fitted.n_iter);
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (_, _, data) = classes(3, 60, 4, 4);
    let params = StableLogisticParams::default().check().unwrap();
    let one = params.fit(&data, &Control::new().with_threads(1)).unwrap();
    assert_eq!(one, params.fit(&data, &Control::new().with_threads(3)).unwrap());
    let (_, _, two) = binary(3, 60, 4, 1.0);
    let search = StableSvcCvParams::default().check().unwrap();
    let one = search.fit(&two, &Control::new().with_threads(1)).unwrap();
    assert_eq!(one, search.fit(&two, &Control::new().with_threads(3)).unwrap());
}

#[test]
fn cross_validation_reports_every_setting_and_refits_the_best() {
    let (_, _, data) = binary(16, 90, 4, 2.0);
    let params = StableLogisticCvParams {
        ks: vec![0.3, 1.0],
        alphas: vec![1e-3, 10.0],
        ..Default::default()
    };
    let fitted = params.check().unwrap().fit(&data, &control()).unwrap();
    let Output::Table(columns) = &fitted.outputs["cv_results"] else { panic!() };
    let names: Vec<&str> = columns.iter().map(|c| c.0.as_str()).collect();
    assert_eq!(names[..2], ["param_k", "param_alpha"]);
    assert_eq!(names[2..7], [0, 1, 2, 3, 4].map(|s| format!("split{s}_test_score")));
    assert_eq!(names[7..], ["mean_test_score", "std_test_score", "rank_test_score"]);
    let [Output::Vector(k), Output::Vector(alpha), Output::Vector(score)] =
        [0, 1, 7].map(|at: usize| &columns[at].1)
    else {
        panic!()
    };
    assert_eq!(score.len(), 4);
    let best = (0..4).max_by(|&a, &b| score[a].total_cmp(&score[b])).unwrap();
    assert_eq!(fitted.outputs["k"], Output::Number(k[best]));
    assert_eq!(fitted.outputs["alpha"], Output::Number(alpha[best]));
    assert!(fitted.dual_gap().unwrap() <= 1e-6);
    // Nearly constant probabilities lose against a fit that tells the clouds apart.
    assert_eq!(alpha[best], 1e-3);
}

#[test]
fn stability_is_measured_on_the_same_resamples() {
    let (_, _, data) = binary(18, 80, 3, 1.5);
    let strong = StableLogisticParams { alpha: 10.0, ..Default::default() }.check().unwrap();
    let weak = StableLogisticParams { alpha: 1e-3, ..Default::default() }.check().unwrap();
    let spread = |estimator: &dyn Estimator, protocol| {
        coefficient_stability(estimator, &data, protocol, 5, 1, &control()).unwrap()
    };
    for protocol in [Protocol::Paired, Protocol::Paper] {
        let (a, b) = (spread(&strong, protocol), spread(&weak, protocol));
        assert!(a.absolute < b.absolute, "{protocol:?}: {a:?} {b:?}");
        assert_eq!(a, spread(&strong, protocol));
    }
}

#[test]
fn bad_parameters_are_named() {
    let message = |params: serde_json::Value, method: &str| {
        let method = mainstay::methods::find(method).unwrap();
        method.estimator(&params).map(|_| ()).unwrap_err().to_string()
    };
    for (params, name) in [
        (serde_json::json!({"k": 0}), "`k` = 0"),
        (serde_json::json!({"k": 1.5}), "`k` = 1.5"),
        (serde_json::json!({"k": -2}), "`k` = -2"),
        (serde_json::json!({"k": "half"}), "`k` = \"half\""),
        (serde_json::json!({"C": 0.0}), "`C` = 0"),
        (serde_json::json!({"tol": 0.0}), "`tol` = 0"),
        (serde_json::json!({"loss": "logistic"}), "`loss` = \"logistic\""),
        (serde_json::json!({"solver": "simplex"}), "`solver` = \"simplex\""),
    ] {
        let text = message(params, "stable-svm");
        assert!(text.starts_with(name), "{text}");
    }
    assert!(message(serde_json::json!({"alpha": -1.0}), "stable-logistic").starts_with("`alpha`"));
    for (ks, text) in
        [(serde_json::json!([]), "`ks` = []"), (serde_json::json!([1, 2]), "`ks` = 2")]
    {
        let found = message(serde_json::json!({"ks": ks}), "stable-svm-cv");
        assert!(found.starts_with(text) && !found.contains("count"), "{found}");
    }
    let (_, _, data) = binary(0, 20, 2, 1.0);
    let error = svm(K::Count(21), 1.0).check().unwrap().fit(&data, &control()).unwrap_err();
    assert!(error.to_string().starts_with("`k` = 21"), "{error}");
    let stopped = Control::new();
    stopped.cancel();
    assert_eq!(
        svm(K::Count(5), 1.0).check().unwrap().fit(&data, &stopped).unwrap_err(),
        mainstay::Error::Interrupted
    );
}
