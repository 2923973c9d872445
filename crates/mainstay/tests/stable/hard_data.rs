//! Data and strengths that break careless solvers.

use super::*;

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
