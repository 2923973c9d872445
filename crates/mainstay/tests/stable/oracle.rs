//! Optima are those of a general conic solver.

use super::*;

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
