//! Stable fits with columns that few rows have, and of data that can be separated: steps are easily too long there.
#![cfg(test)]

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Fitted};
use mainstay::stable::{K, StableSvcParams, SvmLoss};
use mainstay_testkit::generate::{normal, rng};

fn fit(data: &Dataset, k: f64, c: f64, loss: SvmLoss) -> Fitted {
    let params = StableSvcParams { k: K::Fraction(k), c, loss, ..Default::default() };
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

/// Six usual columns, and four that are 40 in a row of two hundred and zero in the others.
fn rare_categories(n: usize, seed: u64) -> Dataset {
    let mut rng = rng(seed);
    let (usual, noise) = (normal(&mut rng, n * 6), normal(&mut rng, n));
    let x = Dense::from_fn(n, 10, |i, j| match j {
        0..6 => usual[i * 6 + j],
        _ if i % 200 == 31 * (j - 5) => 40.0,
        _ => 0.0,
    });
    let labels = (0..n).map(|i| usize::from(usual[i * 6] + 0.7 * noise[i] > 0.3)).collect();
    Dataset::new(x.into(), labels, 2).unwrap()
}

#[test]
fn rare_categories_are_certified_for_every_strength() {
    for seed in 0..3 {
        let data = rare_categories(4000, seed);
        for (k, c) in [(0.5, 1.0), (0.9, 100.0), (0.9, 0.01), (1.0, 1.0)] {
            for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
                let gap = fit(&data, k, c, loss).dual_gap().unwrap();
                assert!(gap <= 1e-6, "{seed} {k} {c} {loss:?}: {gap}");
            }
        }
    }
}

#[test]
fn squared_hinges_of_separable_data_equal_the_classical_fit() {
    let (n, p) = (600, 80);
    for seed in 0..3 {
        let mut rng = rng(seed);
        let (rows, weights) = (normal(&mut rng, n * p), normal(&mut rng, p));
        let score = |row: &[f64]| row.iter().zip(&weights).map(|(v, w)| v * w).sum::<f64>();
        let labels: Vec<usize> = rows.chunks(p).map(|r| usize::from(score(r) > 0.0)).collect();
        for unit in [1.0, 1e4] {
            let x = Dense::from_fn(n, p, |i, j| unit * rows[i * p + j]);
            let data = Dataset::new(x.into(), labels.clone(), 2).unwrap();
            let stable = fit(&data, 0.5, 100.0, SvmLoss::SquaredHinge);
            let classical = fit(&data, 1.0, 100.0, SvmLoss::SquaredHinge);
            let (one, other) = (stable.certificates[0], classical.certificates[0]);
            assert!(one.gap() <= 1e-6 && other.gap() <= 1e-6, "{seed} {unit}: {one:?} {other:?}");
            assert!((one.primal - other.primal).abs() <= 2e-6 * other.primal.max(1.0));
        }
    }
}
