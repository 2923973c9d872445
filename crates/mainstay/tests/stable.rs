//! Stable SVM and stable logistic regression against a general conic solver, closed forms and the
//! structure their duals promise.

use clarabel::solver::SupportedConeT::{ExponentialConeT, SecondOrderConeT};
use mainstay::Control;
use mainstay::data::{ClassWeight, Dataset};
use mainstay::linalg::{Csr, Dense, Matrix};
use mainstay::model::{Estimator, Fitted, Model, Output};
use mainstay::stable::problem::{RowLoss, Target, worst_sum};
use mainstay::stable::{
    K, MultiClass, Solver, StableLogisticParams, StableSvcParams, SvmLoss,
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
                let mut terms: Vec<_> =
                    self.rows[i].iter().enumerate().map(|(l, v)| (weight(j, l), sign * v)).collect();
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
                        let cone =
                            [(terms, 0.0), (vec![], 1.0), (vec![(extra(i, j), 1.0)], 0.0)];
                        program.constrain(ExponentialConeT(), &cone);
                    }
                    program
                        .at_least_zero((0..count).map(|j| (extra(i, j), -1.0)).collect(), 1.0);
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
    // Every third row changes sides of the majority: unequal classes.
    let y: Vec<f64> =
        y.iter().enumerate().map(|(i, v)| if seed % 2 == 1 && i % 6 == 1 { 1.0 } else { *v }).collect();
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
    assert!((primal - reference).abs() <= (found.tol + 2e-7) * scale, "{what}: {primal} {reference}");
}

#[test]
fn the_svm_matches_the_conic_solver() {
    let mut count = 0;
    for seed in 0..8 {
        let (n, p) = [(30, 3), (41, 8), (12, 5), (60, 2)][seed as usize % 4];
        let (rows, y, data) = binary(seed, n, p, 1.5);
        let weights: Vec<f64> = normal(&mut rng(99 + seed), n).iter().map(|v| v.abs() + 0.1).collect();
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
                let params = StableSvcParams { k, c, loss, fit_intercept: intercept, ..Default::default() };
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
        let weights: Vec<f64> = normal(&mut rng(7 + seed), n).iter().map(|v| v.abs() + 0.1).collect();
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
            let params = StableLogisticParams { k, alpha, fit_intercept: intercept, ..Default::default() };
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
                StableLogisticParams { k, alpha: strength, multi_class, fit_intercept: intercept, ..Default::default() }
                    .check()
                    .unwrap()
                    .fit(&data, &control())
            } else {
                let loss = if loss == RowLoss::Hinge { SvmLoss::Hinge } else { SvmLoss::SquaredHinge };
                StableSvcParams { k, c: strength, loss, fit_intercept: intercept, ..Default::default() }
                    .check()
                    .unwrap()
                    .fit(&data, &control())
            };
            close(&found.unwrap(), plain.optimum(), &format!("seed {seed} {loss:?} {k:?}"));
        }
    }
}
