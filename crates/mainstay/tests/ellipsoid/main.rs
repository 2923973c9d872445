//! The SVM on ellipsoids against closed forms and a general conic solver.
#![cfg(test)]
#![expect(clippy::cast_possible_truncation, reason = "small counts")]

mod hard_data;
mod oracle;

use clarabel::solver::SupportedConeT;
use mainstay::data::{Dataset, RowUncertainty, Shape};
use mainstay::ellipsoid::EllipsoidParams;
use mainstay::linalg::Dense;
use mainstay::model::{Estimator, Fitted, Model, PathPoint};
use mainstay::{Control, Error};
use mainstay_testkit::cone::Program;
use mainstay_testkit::generate::{normal, rng, two_clouds};

fn data(rows: &[f64], y: &[f64]) -> Dataset {
    let labels = y.iter().map(|v| usize::from(*v > 0.0)).collect();
    let x = Dense::from_rows(y.len(), rows.len() / y.len(), rows.to_vec());
    Dataset::new(x.into(), labels, 2).unwrap()
}

fn params(c: f64) -> EllipsoidParams {
    EllipsoidParams { c, ..EllipsoidParams::default() }
}

fn fit(params: EllipsoidParams, data: &Dataset) -> Fitted {
    params.check().unwrap().fit(data, &Control::new()).unwrap()
}

fn coefficients(fitted: &Fitted) -> (&[f64], f64) {
    match &fitted.model {
        Model::Linear(m) => (&m.coef[0], m.intercept[0]),
        other => panic!("{other:?}"),
    }
}

/// P of every row.
fn matrices(data: &Dataset, shared: &Shape) -> Vec<Dense> {
    let (n, p) = (data.len(), data.n_features());
    let of = |shape: &Shape| match shape {
        Shape::Ball(r) => Dense::from_fn(p, p, |i, j| if i == j { r * r } else { 0.0 }),
        Shape::Axes(l) => Dense::from_fn(p, p, |i, j| if i == j { l[i] * l[i] } else { 0.0 }),
        Shape::Matrix(m) => Dense::from_fn(p, p, |i, j| m[i][j]),
    };
    (0..n)
        .map(|i| match data.uncertainty() {
            None => of(shared),
            Some(RowUncertainty::Radii(r)) => of(&Shape::Ball(r[i])),
            Some(RowUncertainty::Axes(m)) => of(&Shape::Axes(m.row(i).to_vec())),
            Some(RowUncertainty::Matrices(m)) => Dense::from_rows(p, p, m.row(i).to_vec()),
            Some(RowUncertainty::Groups { group, shapes }) => of(&shapes[group[i]]),
        })
        .collect()
}

/// Optimum, and how far to trust it. (34) in its textbook form: variables w, b, v, u with |F_i'w| <= u_i where P_i = F_i F_i'.
fn reference(data: &Dataset, y: &[f64], c: f64, shared: &Shape) -> (f64, f64) {
    let (n, p) = (data.len(), data.n_features());
    let x = data.features().to_dense();
    let mut program = Program::new(p + 1 + 2 * n);
    let (b, v, u) = (p, |i: usize| p + 1 + i, |i: usize| p + 1 + n + i);
    for j in 0..p {
        program.add_product(j, j, 0.5);
    }
    for (i, matrix) in matrices(data, shared).iter().enumerate() {
        program.add_linear(v(i), c * data.weights().map_or(1.0, |w| w[i]));
        let mut margin: Vec<(usize, f64)> = (0..p).map(|j| (j, y[i] * x[(i, j)])).collect();
        margin.extend([(b, y[i]), (v(i), 1.0), (u(i), -1.0)]);
        program.at_least_zero(margin, -1.0);
        program.at_least_zero(vec![(v(i), 1.0)], 0.0);
        let eigen = mainstay::linalg::SymmetricEigen::new(matrix).unwrap();
        let mut rows = vec![(vec![(u(i), 1.0)], 0.0)];
        for k in 0..p {
            let root = eigen.values[k].max(0.0).sqrt();
            rows.push(((0..p).map(|j| (j, root * eigen.vectors[(j, k)])).collect(), 0.0));
        }
        program.constrain(SupportedConeT::SecondOrderConeT(p + 1), &rows);
    }
    let answer = program.solve();
    // The reference itself sometimes stalls short of its 1e-10: then it is a coarser judge.
    (answer.objective, if answer.solved { 1e-7 } else { 1e-5 })
}

/// sqrt(w'Pw) along the axes of P: where P is singular and w orthogonal to its range, the plain product would be
/// rounding of 1e-16, and its root 1e-8.
fn support(matrix: &Dense, w: &[f64]) -> f64 {
    let eigen = mainstay::linalg::SymmetricEigen::new(matrix).unwrap();
    let floor = 1e-14 * eigen.values[w.len() - 1];
    let along = |k: usize| eigen.vectors.column(k).iter().zip(w).map(|(v, w)| v * w).sum::<f64>();
    let axes = (0..w.len()).filter(|k| eigen.values[*k] > floor);
    axes.map(|k| eigen.values[k] * along(k).powi(2)).sum::<f64>().sqrt()
}

/// ||w||^2/2 + C sum max(0, 1 + sqrt(w'Pw) - y f), spelled out.
fn objective(data: &Dataset, y: &[f64], c: f64, shared: &Shape, fitted: &Fitted) -> f64 {
    let (w, b) = coefficients(fitted);
    let scores = data.features().mul_vec(w);
    let loss: f64 = matrices(data, shared)
        .iter()
        .enumerate()
        .map(|(i, m)| {
            let rho = support(m, w);
            let weight = data.weights().map_or(1.0, |c| c[i]);
            weight * (1.0 + rho - y[i] * (scores[i] + b)).max(0.0)
        })
        .sum();
    0.5 * w.iter().map(|v| v * v).sum::<f64>() + c * loss
}

fn random_matrix(rng: &mut rand_chacha::ChaCha8Rng, p: usize, rank: usize) -> Vec<f64> {
    let f = Dense::from_rows(p, rank, normal(rng, p * rank));
    f.mul_tr(&f).data().iter().map(|v| 0.05 * v).collect()
}
