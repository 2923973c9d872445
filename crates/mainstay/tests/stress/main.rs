//! Every threat damages what it names, by as much as it says, and nothing else.
#![cfg(test)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small counts"
)]

mod damage;
mod runs;

use std::sync::Mutex;

use mainstay::data::{Dataset, Standardize, make_label_noise, make_outliers};
use mainstay::linalg::{Dense, vector};
use mainstay::model::{Estimator, Fitted, Linear, Link};
use mainstay::stress::{
    CLEAN, Cell, Entrant, OutlierKind, Plan, Threat, Trial, adversarial_deletion,
    corrupted_features, few_samples, label_noise, measurement_error, missing_features, outliers,
    seed_of, split_of, spoiled, unlucky_split,
};
use mainstay::uncertainty::{Attack, Deletions};
use mainstay::{Control, Error, methods};
use mainstay_testkit::generate;
use serde_json::json;

/// Overlapping classes, four features on different scales.
fn sample(n: usize, classes: usize, seed: u64) -> (Dense, Vec<usize>) {
    let labels: Vec<usize> = (0..n).map(|i| (i * 7 + i / 3) % classes).collect();
    let noise = make_label_noise(n, 4, 0.0, seed).unwrap().features().to_dense();
    let x = Dense::from_fn(n, 4, |i, j| {
        10.0_f64.powi(j as i32 - 1) * (noise[(i, j)] + 0.7 * labels[i] as f64 * f64::from(j < 2))
    });
    (x, labels)
}

fn scaling(x: &Dense) -> Standardize {
    Standardize::learn(&x.clone().into(), None)
}

fn changed(a: &Dense, b: &Dense, i: usize) -> usize {
    (0..a.ncols()).filter(|&j| a[(i, j)] != b[(i, j)]).count()
}
