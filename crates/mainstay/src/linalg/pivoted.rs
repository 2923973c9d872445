//! Rank-revealing factor of a positive semidefinite matrix.

use super::{Dense, vector};
use crate::error::{Error, Result};

/// Remaining diagonal entries below minus this part of the largest one are no rounding error.
const NEGATIVE: f64 = 1e-8;
/// Entries of the remainder above this part of the largest diagonal entry are no rounding error.
const REMAINDER: f64 = 1e-6;

/// `a = f f'` up to the tolerance, by Cholesky's method with complete pivoting.
///
/// Row `pivots[k]` of `f` has zeros after column `k`, so the rows of the pivots form a
/// triangular matrix: a new point's coordinates follow from its products with the pivots alone.
#[derive(Debug, Clone)]
pub struct PivotedCholesky {
    /// The factor, n x rank.
    pub factor: Dense,
    /// The row eliminated in each step.
    pub pivots: Vec<usize>,
}

impl PivotedCholesky {
    /// Stops when no remaining diagonal entry exceeds `tol` times the largest one of `a`.
    ///
    /// A remainder that is not small, or clearly negative (beyond `NEGATIVE` or `tol`), is an error: `a` is not
    /// positive semidefinite. Cost n rank^2.
    pub fn new(a: &Dense, tol: f64) -> Result<Self> {
        let n = a.nrows();
        let mut rest: Vec<f64> = (0..n).map(|i| a[(i, i)]).collect();
        let largest = rest.iter().fold(0.0, |m, v| f64::max(m, *v));
        let broken = || Error::BadData("the kernel matrix is not positive semidefinite".into());
        // Rows of `lower` are the columns of the factor, so that every access is contiguous.
        let mut lower: Vec<Vec<f64>> = Vec::new();
        let mut pivots = Vec::new();
        while pivots.len() < n {
            let (pivot, d) =
                rest.iter().enumerate().fold((0, f64::NEG_INFINITY), |best, (i, &v)| {
                    if v > best.1 { (i, v) } else { best }
                });
            if d.is_nan() || d <= tol * largest || d <= 0.0 {
                break;
            }
            let column = next_column(a, &lower, &pivots, (pivot, d));
            for (r, v) in rest.iter_mut().zip(&column) {
                *r -= v * v;
            }
            rest[pivot] = f64::NEG_INFINITY;
            pivots.push(pivot);
            lower.push(column);
        }
        let slack = tol.max(NEGATIVE) * largest;
        if rest.iter().any(|&r| r.is_nan() || (r != f64::NEG_INFINITY && r < -slack)) {
            return Err(broken());
        }
        let factor = Dense::from_fn(n, pivots.len(), |i, k| lower[k][i]);
        // A small diagonal bounds the whole remainder only if the matrix is semidefinite.
        let remainder = factor.outer_gram();
        let off = a.data().iter().zip(remainder.data()).map(|(a, b)| (a - b).abs());
        if off.fold(0.0, f64::max) > REMAINDER.max(10.0 * tol) * largest {
            return Err(broken());
        }
        Ok(Self { factor, pivots })
    }

    /// The vector `alpha` over the pivots with `factor[pivots]' alpha = w`: weights on coordinates
    /// become weights on the pivot rows.
    pub fn to_pivots(&self, w: &[f64]) -> Vec<f64> {
        let mut alpha = w.to_vec();
        for k in (0..self.pivots.len()).rev() {
            let row = self.factor.row(self.pivots[k]);
            alpha[k] /= row[k];
            let (head, tail) = alpha.split_at_mut(k);
            vector::axpy(-tail[0], &row[..k], head);
        }
        alpha
    }
}

/// The column of the factor that eliminates row `pivot`, whose remaining diagonal entry is `d`.
fn next_column(
    a: &Dense,
    lower: &[Vec<f64>],
    pivots: &[usize],
    (pivot, d): (usize, f64),
) -> Vec<f64> {
    let mut column = a.row(pivot).to_vec();
    for done in lower {
        vector::axpy(-done[pivot], done, &mut column);
    }
    let root = d.sqrt();
    vector::scale(&mut column, 1.0 / root);
    for &old in pivots {
        column[old] = 0.0;
    }
    column[pivot] = root;
    column
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semidefinite_matrix_is_recovered_with_its_rank() {
        let x = Dense::from_fn(9, 3, |i, j| ((i * 5 + j * 7) % 11) as f64 - 4.0);
        let a = x.outer_gram();
        let found = PivotedCholesky::new(&a, 1e-12).unwrap();
        assert_eq!(found.pivots.len(), 3);
        let again = found.factor.outer_gram();
        for (u, v) in again.data().iter().zip(a.data()) {
            assert!((u - v).abs() <= 1e-12 * a.max_abs());
        }
        let w = [0.3, -1.0, 2.0];
        let alpha = found.to_pivots(&w);
        let scores = found.factor.mul_vec(&w);
        for (i, s) in scores.iter().enumerate() {
            let by_pivots: f64 = found.pivots.iter().zip(&alpha).map(|(&j, c)| c * a[(i, j)]).sum();
            assert!((by_pivots - s).abs() < 1e-10);
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        for data in [vec![1.0, 2.0, 2.0, 1.0], vec![0.0, 1.0, 1.0, 0.0], vec![-1.0, 0.0, 0.0, 1.0]]
        {
            assert!(PivotedCholesky::new(&Dense::from_rows(2, 2, data), 1e-12).is_err());
        }
        let zero = PivotedCholesky::new(&Dense::zeros(3, 3), 1e-12).unwrap();
        assert!(zero.pivots.is_empty());
    }
}
