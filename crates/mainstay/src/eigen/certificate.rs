//! The worst-case ratio of a plane, from the data alone.

use crate::linalg::{Matrix, vector};
use crate::uncertainty::ellipsoid::Ellipsoids;

/// Rows of a class's own and of all others, with weights.
#[derive(Debug)]
pub(super) struct Sides<'a> {
    pub x: &'a Matrix,
    pub weights: &'a [f64],
    pub own: &'a [usize],
    pub other: &'a [usize],
}

/// The largest value of (1) that rows inside their ellipsoids can produce:
/// $$R(w, \gamma) = \frac{\sum_A (|w^\top a - \gamma| + \rho_a)^2}{\sum_B \max(|w^\top b - \gamma| - \rho_b, 0)^2};$$
/// infinite if every ellipsoid of the other class reaches the plane. Without ellipsoids it is (1) itself.
pub(super) fn worst_case_ratio(
    sides: &Sides<'_>,
    ellipsoids: Option<&Ellipsoids>,
    (w, gamma): (&[f64], f64),
) -> f64 {
    let distances = |rows: &[usize]| -> Vec<f64> {
        rows.iter().map(|&i| (sides.x.row(i).dot(w) - gamma).abs()).collect()
    };
    let reach = |rows: &[usize]| match ellipsoids {
        Some(all) => all.supports(rows, w),
        None => vec![0.0; rows.len()],
    };
    let sum = |rows: &[usize], term: fn(f64, f64) -> f64| -> f64 {
        let (d, rho) = (distances(rows), reach(rows));
        // Roots are summed as a norm, so that no square overflows.
        let terms: Vec<f64> =
            (0..rows.len()).map(|k| sides.weights[rows[k]].sqrt() * term(d[k], rho[k])).collect();
        vector::norm(&terms)
    };
    let (top, bottom) = (sum(sides.own, |d, r| d + r), sum(sides.other, |d, r| (d - r).max(0.0)));
    if bottom > 0.0 { (top / bottom).powi(2) } else { f64::INFINITY }
}
