//! What stable fits say about themselves: the model is the one whose objective they name, a `k` that is too small is named
//! whatever was asked of the solver, and the classical fit is recognised.
#![cfg(test)]

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Fitted, Linear, Model, Output};
use mainstay::stable::{K, Solver, StableLogisticParams, StableSvcParams, SvmLoss};
use mainstay_testkit::generate::{normal, rng};

fn svm(params: StableSvcParams, data: &Dataset) -> Fitted {
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

fn logistic(params: StableLogisticParams, data: &Dataset) -> Fitted {
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

fn linear(fitted: &Fitted) -> &Linear {
    match &fitted.model {
        Model::Linear(linear) => linear,
        other => panic!("{other:?}"),
    }
}

fn norm_sq(fitted: &Fitted) -> f64 {
    linear(fitted).coef.iter().flatten().map(|w| w * w).sum()
}

fn is_classical(fitted: &Fitted) -> bool {
    fitted.outputs["equals_classical"] == Output::Flag(true)
}

/// Clouds of `labels` around distinct centres, far from the origin so that intercepts matter.
fn clouds(seed: u64, labels: &[usize], distance: f64) -> (Vec<f64>, Dataset) {
    let n = labels.len();
    let noise = normal(&mut rng(seed), 2 * n);
    let x: Vec<f64> = (0..2 * n)
        .map(|at| {
            let (label, j) = (labels[at / 2], at % 2);
            5.0 + noise[at] + distance * f64::from(u8::from(label == j + 1))
        })
        .collect();
    let classes = labels.iter().max().unwrap() + 1;
    let data = Dataset::new(Dense::from_rows(n, 2, x.clone()).into(), labels.to_vec(), classes);
    (x, data.unwrap())
}

/// The sum of the `k` largest, by sorting.
fn largest(mut losses: Vec<f64>, k: usize) -> f64 {
    losses.sort_by(|a, b| b.total_cmp(a));
    losses[..k].iter().sum()
}

/// From nothing but the model's numbers: a sign, an intercept or a row too many would show.
#[test]
fn the_objective_is_that_of_the_model() {
    for count in [2, 3] {
        let labels: Vec<usize> = (0..60).map(|i| i % 5 % count).collect();
        let (x, data) = clouds(count as u64, &labels, 2.5);
        let k = 41;
        let losses = |fitted: &Fitted, loss: &dyn Fn(f64) -> f64| -> Vec<f64> {
            let model = linear(fitted);
            let row = |(row, label): (&[f64], &usize)| -> f64 {
                let scores = model.coef.iter().zip(&model.intercept);
                let margin = |(j, (w, b)): (usize, (&Vec<f64>, &f64))| {
                    let own = if count == 2 { *label == 1 } else { *label == j };
                    (if own { 1.0 } else { -1.0 }) * (w[0] * row[0] + w[1] * row[1] + b)
                };
                scores.enumerate().map(margin).map(loss).sum()
            };
            x.chunks(2).zip(&labels).map(row).collect()
        };
        let hinge = |m: f64| (1.0 - m).max(0.0);
        for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
            let k_of = K::Count(k as u64);
            let fitted =
                svm(StableSvcParams { k: k_of, c: 0.7, loss, ..Default::default() }, &data);
            let power = if loss == SvmLoss::Hinge { 1 } else { 2 };
            let worst = largest(losses(&fitted, &|m| hinge(m).powi(power)), k);
            let (found, wanted) = (fitted.certificates[0].primal, norm_sq(&fitted) + 0.7 * worst);
            assert!((found - wanted).abs() <= 1e-10 * wanted, "{count} {loss:?}: {found} {wanted}");
            assert!(norm_sq(&fitted) > 0.1 && fitted.dual_gap().unwrap() <= 1e-6);
        }
        if count == 2 {
            let params = StableLogisticParams { k: K::Count(k as u64), ..Default::default() };
            let fitted = logistic(params, &data);
            let worst = largest(losses(&fitted, &|m| (-m).exp().ln_1p()), k);
            let (found, wanted) =
                (fitted.certificates[0].primal, worst / k as f64 + 0.1 * norm_sq(&fitted));
            assert!((found - wanted).abs() <= 1e-10 * wanted, "{found} {wanted}");
        }
    }
}

/// Rows that come with both labels cannot be told apart and cost 2 per pair, all others can: no `k` up to twice the number of
/// pairs is usable, and every larger one is, counts and fractions alike.
#[test]
fn the_smallest_usable_k_is_exact_where_it_is_a_whole_number() {
    for (pairs, n) in [(3, 40), (5, 100), (50, 1000)] {
        let noise = normal(&mut rng(n as u64), 2 * n);
        let labels: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let x = Dense::from_fn(n, 2, |i, j| match i / 2 {
            pair if pair < pairs => noise[2 * pair + j],
            _ => noise[2 * i + j] + if i % 2 == 0 { -12.0 } else { 12.0 },
        });
        let data = Dataset::new(x.into(), labels, 2).unwrap();
        let useless = 2 * pairs as u64;
        let dead = svm(StableSvcParams { k: K::Count(useless), ..Default::default() }, &data);
        assert_eq!(norm_sq(&dead), 0.0);
        let said = format!("the smallest usable k is {} (a fraction of ", useless + 1);
        let (_, rest) = dead.warnings[0].split_once(&said).unwrap_or_else(|| panic!("{dead:?}"));
        let fraction: f64 = rest.trim_end_matches(')').parse().unwrap();
        for k in [K::Count(useless + 1), K::Fraction(fraction)] {
            let fitted = svm(StableSvcParams { k, ..Default::default() }, &data);
            assert!(fitted.warnings.is_empty(), "{k:?}: {:?}", fitted.warnings);
            assert!(norm_sq(&fitted) > 0.0);
        }
    }
}

/// A constant model is no surprise to a solver that was asked for little, but it is one to its user.
#[test]
fn a_dead_fit_is_named_whatever_the_tolerance_and_the_solver() {
    let labels: Vec<usize> = (0..60).map(|i| i % 2).collect();
    let (_, data) = clouds(3, &labels, 0.5);
    let mut said = Vec::new();
    for tol in [0.1, 1e-2, 1e-4, 1e-6] {
        for solver in [Solver::InteriorPoint, Solver::CuttingPlane] {
            let k = K::Count(5);
            for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
                let params = StableSvcParams { k, loss, tol, solver, ..Default::default() };
                let fitted = svm(params, &data);
                assert_eq!(norm_sq(&fitted), 0.0, "{tol} {solver:?} {loss:?}");
                said.push(fitted.warnings[0].split_once("; ").unwrap().1.to_owned());
            }
            let params = StableLogisticParams { k, tol, solver, ..Default::default() };
            let fitted = logistic(params, &data);
            assert_eq!(norm_sq(&fitted), 0.0, "{tol} {solver:?}");
            said.push(fitted.warnings[0].split_once("; ").unwrap().1.to_owned());
        }
    }
    assert!(said.iter().all(|text| *text == said[0]), "{said:?}");
}

/// However small the objective is, only a fit of the same size as the classical one equals it.
#[test]
fn weak_fits_are_not_taken_for_the_classical_one() {
    let labels: Vec<usize> = (0..80).map(|i| i % 2).collect();
    let (_, data) = clouds(4, &labels, 2.0);
    for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
        for c in [1e-9, 1e-6, 1e-3] {
            let at = |k| {
                svm(StableSvcParams { k: K::Fraction(k), c, loss, ..Default::default() }, &data)
            };
            let (stable, classical) = (at(0.6), at(1.0));
            let ratio = classical.certificates[0].primal / stable.certificates[0].primal;
            assert!(ratio > 1.05, "{loss:?} {c}: {ratio}");
            assert!(!is_classical(&stable) && is_classical(&classical), "{loss:?} {c}");
        }
    }
}

/// Where every row counts the joint squared hinges are one problem per class.
#[test]
fn joint_squared_hinges_of_all_rows_add_up_over_the_classes() {
    for unit in [1.0, 1e4] {
        for seed in 0..3 {
            let labels: Vec<usize> = (0..90).map(|i| i % 3).collect();
            let noise = normal(&mut rng(seed), 90 * 20);
            let matrix = || {
                Dense::from_fn(90, 20, |i, j| {
                    unit * (3.0 + noise[20 * i + j] + f64::from(u8::from(j % 3 == i % 3)))
                })
            };
            let at = |k, labels: Vec<usize>, count| {
                let data = Dataset::new(matrix().into(), labels, count).unwrap();
                let loss = SvmLoss::SquaredHinge;
                let fitted = svm(StableSvcParams { k, loss, c: 10.0, ..Default::default() }, &data);
                assert!(fitted.dual_gap().unwrap() <= 1e-6, "{unit} {seed} {k:?}: {fitted:?}");
                fitted.certificates[0].primal
            };
            let all = K::Fraction(1.0);
            let joint = at(all, labels.clone(), 3);
            let sum: f64 = (0..3)
                .map(|own| at(all, labels.iter().map(|l| usize::from(*l == own)).collect(), 2))
                .sum();
            assert!((joint - sum).abs() <= 4e-6 * joint.max(1.0), "{unit} {seed}: {joint} {sum}");
            for k in [K::Fraction(0.8), K::Fraction(0.3)] {
                assert!(at(k, labels.clone(), 3) <= joint * (1.0 + 1e-6));
            }
        }
    }
}

/// Tiny numbers are not a lack of information, and constant ones are.
#[test]
fn only_features_without_information_are_called_so() {
    let labels: Vec<usize> = (0..50).map(|i| i % 5 % 2).collect();
    let (x, data) = clouds(6, &labels, 2.0);
    let fits = |data: &Dataset, k: f64| {
        let k = K::Fraction(k);
        let squared = StableSvcParams { k, loss: SvmLoss::SquaredHinge, ..Default::default() };
        [
            svm(StableSvcParams { k, ..Default::default() }, data),
            svm(squared, data),
            logistic(StableLogisticParams { k, ..Default::default() }, data),
        ]
    };
    for unit in [1e-10, 1e-20, 1e-40, 1e-150] {
        let tiny = x.iter().map(|v| unit * v).collect();
        let tiny = data.replace_features(Dense::from_rows(50, 2, tiny).into());
        for fitted in fits(&tiny, 0.9) {
            assert!(fitted.warnings.is_empty(), "{unit}: {:?}", fitted.warnings);
        }
    }
    for value in [0.0, 3.0] {
        let flat = data.replace_features(Dense::from_rows(50, 2, vec![value; 100]).into());
        for k in [0.2, 0.9, 1.0] {
            for fitted in fits(&flat, k) {
                assert!(fitted.warnings[0].contains("no k helps"), "{k}: {:?}", fitted.warnings);
            }
        }
    }
}
