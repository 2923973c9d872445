//! Robust distances where a class has too few rows for a covariance of all features.

use super::Measured;
use super::scale::{centre, quantile};
use crate::error::Result;
use crate::linalg::{Dense, SymmetricEigen, TINY, vector};

/// Components at most.
const COMPONENTS: usize = 10;
/// Components with a smaller share of the variation, which is the number of rows, are rounding.
const SMALLEST: f64 = 1e-9;

/// The larger of two distances, each in units of its median: along spherical principal components, and beside
/// their span.
///
/// Rows are projected on the unit sphere around the median before the components are found (Locantore et al.
/// 1999, *Robust principal component analysis for functional data*), so that no row has more than one vote,
/// however far it is.
pub(super) fn distances(z: &Dense) -> Measured {
    let (n, p) = (z.nrows(), z.ncols());
    let mut unit = z.clone();
    for i in 0..n {
        let length = vector::norm(z.row(i)).max(TINY);
        for v in unit.row_mut(i) {
            *v /= length;
        }
    }
    let count = COMPONENTS.min(n / 5).min(p).max(1);
    let axes = leading(&unit, count).unwrap_or_else(|_| Dense::zeros(0, p));
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

/// The leading right singular vectors of `unit`, one per row, from the smaller of its two Gram matrices.
fn leading(unit: &Dense, count: usize) -> Result<Dense> {
    let (n, p) = (unit.nrows(), unit.ncols());
    let few_rows = n <= p;
    let gram = if few_rows { unit.outer_gram() } else { unit.tr_mul(unit) };
    let eigen = SymmetricEigen::new(&gram)?;
    let order = eigen.values.len();
    let large = |k: &usize| eigen.values[*k] > SMALLEST * n as f64;
    let kept: Vec<usize> = (0..order).rev().take(count).filter(large).collect();
    if few_rows {
        let left = Dense::from_fn(n, kept.len(), |i, k| {
            eigen.vectors[(i, kept[k])] / eigen.values[kept[k]].sqrt()
        });
        return Ok(left.tr_mul(unit));
    }
    Ok(Dense::from_fn(kept.len(), p, |k, j| eigen.vectors[(j, kept[k])]))
}

fn in_medians(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = quantile(&sorted, 0.5);
    values.iter().map(|v| if half > 1e-12 { v / half } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Svd;

    /// More rows than columns and fewer: up to their signs the singular vectors of a decomposition of their own.
    #[test]
    fn axes_are_the_leading_right_singular_vectors() {
        for (n, p) in [(40, 6), (6, 40)] {
            let unit = Dense::from_fn(n, p, |i, j| ((i * 13 + j * 7 + i * j) as f64 * 0.61).sin());
            let (axes, svd) = (leading(&unit, 3).unwrap(), Svd::new(&unit).unwrap());
            assert_eq!(axes.nrows(), 3);
            for k in 0..3 {
                let cosine: f64 = (0..p).map(|j| axes[(k, j)] * svd.v[(j, k)]).sum();
                assert!((cosine.abs() - 1.0).abs() < 1e-9, "{n} x {p}, {k}: {cosine}");
            }
        }
    }
}
