//! Robust distances where a class has too few rows for a covariance of all features.

use super::Measured;
use super::scale::{centre, quantile};
use crate::linalg::{Dense, SymmetricEigen, TINY, vector};

/// Components at most.
const COMPONENTS: usize = 10;

/// The larger of two distances, each in units of its median: along spherical principal components, and beside
/// their span.
///
/// Rows are projected on the unit sphere around the median before the components are found (Locantore et al.
/// 1999, *Robust principal component analysis for functional data*), so that no row has more than one vote,
/// however far it is.
pub(super) fn distances(z: &Dense) -> Measured {
    let (n, p) = (z.nrows(), z.ncols());
    let unit = Dense::from_fn(n, p, |i, j| z[(i, j)] / vector::norm(z.row(i)).max(TINY));
    let count = COMPONENTS.min(n / 5).min(p).max(1);
    let axes = SymmetricEigen::new(&unit.outer_gram())
        .map_or_else(|_| Dense::zeros(0, p), |eigen| leading(&unit, &eigen, count));
    let scores = z.mul_tr(&axes);
    let mut within = vec![0.0; n];
    for k in 0..axes.nrows() {
        let column = scores.column(k);
        let (median, scale) = centre(column.clone());
        let scale = scale.max(1e-9);
        within.iter_mut().zip(&column).for_each(|(s, v)| *s += ((v - median) / scale).powi(2));
    }
    let within: Vec<f64> = within.iter().map(|s| s.sqrt()).collect();
    let beside: Vec<f64> = (0..n)
        .map(|i| (vector::norm_sq(z.row(i)) - vector::norm_sq(scores.row(i))).max(0.0).sqrt())
        .collect();
    let (within, beside) = (in_medians(&within), in_medians(&beside));
    let features = (0..n)
        .map(|i| (0..p).fold(0, |b, j| if z[(i, j)].abs() > z[(i, b)].abs() { j } else { b }))
        .collect();
    let distances = within.iter().zip(&beside).map(|(a, b)| a.max(*b)).collect();
    Measured { distances, features }
}

/// The leading right singular vectors of `unit`, one per row.
fn leading(unit: &Dense, eigen: &SymmetricEigen, count: usize) -> Dense {
    let n = unit.nrows();
    let kept: Vec<usize> =
        (0..n).rev().take(count).filter(|&k| eigen.values[k] > 1e-9 * n as f64).collect();
    let left = Dense::from_fn(n, kept.len(), |i, k| {
        eigen.vectors[(i, kept[k])] / eigen.values[kept[k]].sqrt()
    });
    left.tr_mul(unit)
}

fn in_medians(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = quantile(&sorted, 0.5);
    values.iter().map(|v| if half > 1e-12 { v / half } else { 0.0 }).collect()
}
