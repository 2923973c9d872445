//! Generalized eigenvalue classifiers against inertia counts, brute force and sampling.
#![cfg(test)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::needless_range_loop,
    clippy::disallowed_methods,
    reason = "small counts; indices are those of the formulas; one fit is timed"
)]

mod behaviour;
mod planes_of_regec;
mod worst_case;

use mainstay::data::{Dataset, RowUncertainty, Shape};
use mainstay::eigen::{
    Moments, NormRobustRegecParams, RegecParams, Regularization, RobustRegecParams, RobustSolver,
    Rule, Xi, XiRule,
};
use mainstay::linalg::{Cholesky, Dense, thin_qr, vector};
use mainstay::model::{Estimator, Fitted, Model, Output, Planes};
use mainstay::uncertainty::ellipsoid::{Ellipsoid, Ellipsoids};
use mainstay::{Control, Error};
use mainstay_testkit::generate::{normal, rng, two_clouds};

fn data(rows: &[f64], y: &[f64]) -> Dataset {
    let labels = y.iter().map(|v| usize::from(*v > 0.0)).collect();
    let x = Dense::from_rows(y.len(), rows.len() / y.len(), rows.to_vec());
    Dataset::new(x.into(), labels, 2).unwrap()
}

fn random(seed: u64, n: usize, p: usize) -> Dataset {
    let (rows, y) = two_clouds(seed, n, p, 2.0);
    data(&rows, &y)
}

fn fit(estimator: &dyn Estimator, data: &Dataset) -> Fitted {
    estimator.fit(data, &Control::new()).unwrap()
}

fn planes(fitted: &Fitted) -> &Planes {
    match &fitted.model {
        Model::Planes(m) => m,
        other => panic!("{other:?}"),
    }
}

fn vector_of(fitted: &Fitted, name: &str) -> Vec<f64> {
    match &fitted.outputs[name] {
        Output::Vector(v) => v.clone(),
        other => panic!("{other:?}"),
    }
}

/// [A -e]'[A -e] of a class, weighted.
fn gram(data: &Dataset, class: usize) -> Dense {
    let p = data.n_features();
    let x = data.features().to_dense();
    let mut out = Dense::zeros(p + 1, p + 1);
    for i in (0..data.len()).filter(|i| data.labels()[*i] == class) {
        let z: Vec<f64> = x.row(i).iter().copied().chain([-1.0]).collect();
        let weight = data.weights().map_or(1.0, |w| w[i]);
        for j in 0..=p {
            vector::axpy(weight * z[j], &z, out.row_mut(j));
        }
    }
    out
}

/// Numerator and denominator of the plane of `own`.
fn pencil(data: &Dataset, own: usize, kind: Regularization, delta: f64) -> (Dense, Dense) {
    let (g, h) = (gram(data, own), gram(data, 1 - own));
    let (mut n, mut d) = (g.clone(), h.clone());
    for j in 0..g.nrows() {
        match kind {
            Regularization::Cross => {
                n[(j, j)] += delta * h[(j, j)];
                d[(j, j)] += delta * g[(j, j)];
            }
            Regularization::Tikhonov => n[(j, j)] += delta,
            Regularization::None => {}
        }
    }
    (n, d)
}

/// The largest t with N - tD positive definite, by bisection: an eigenvalue solver without eigenvectors.
fn smallest_quotient(n: &Dense, d: &Dense) -> f64 {
    let definite = |t: f64| {
        let q = n.nrows();
        Cholesky::new(&Dense::from_fn(q, q, |i, j| n[(i, j)] - t * d[(i, j)])).is_some()
    };
    let (mut low, mut high) = (0.0, 1.0);
    while definite(high) {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if definite(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

fn quotient(n: &Dense, d: &Dense, model: &Planes, k: usize) -> f64 {
    let z: Vec<f64> = model.planes[k].iter().copied().chain([model.offsets[k]]).collect();
    vector::dot(&z, &n.mul_vec(&z)) / vector::dot(&z, &d.mul_vec(&z))
}
