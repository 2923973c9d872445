//! Cholesky factors that grow by one row at a time.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::{Cholesky, vector};

/// Cholesky factor of a symmetric positive definite matrix that grows by one row and column at a
/// time: appending costs O(k^2), a solution too.
#[derive(Debug, Clone, Default)]
pub struct GrowingCholesky {
    /// Row i of the lower triangle has i + 1 entries.
    rows: Vec<Vec<f64>>,
}

impl GrowingCholesky {
    /// Starts from a matrix that is factored already.
    pub fn new(factor: &Cholesky) -> Self {
        let lower = factor.lower();
        Self { rows: (0..lower.nrows()).map(|i| lower.row(i)[..=i].to_vec()).collect() }
    }

    /// Order of the matrix.
    pub fn order(&self) -> usize {
        self.rows.len()
    }

    /// Appends a row, whose last entry is the diagonal one; `false`, and no change, if the matrix would
    /// not be numerically positive definite.
    pub fn push(&mut self, mut border: Vec<f64>) -> bool {
        let k = self.order();
        debug_assert_eq!(border.len(), k + 1);
        vector::vectorized!(self.forward(&mut border));
        let left = border[k] - vector::norm_sq(&border[..k]);
        if left <= 1e-14 * border[k] || !left.is_finite() {
            return false;
        }
        border[k] = left.sqrt();
        self.rows.push(border);
        true
    }

    /// Solves `a x = b`.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        vector::vectorized!({
            self.forward(&mut x);
            for (i, row) in self.rows.iter().enumerate().rev() {
                x[i] /= row[i];
                let (head, tail) = x.split_at_mut(i);
                vector::axpy(-tail[0], &row[..i], head);
            }
        });
        x
    }

    /// Overwrites the first entries of `x` with the solution of `l z = x`, where `l l'` is the matrix.
    #[inline(always)]
    fn forward(&self, x: &mut [f64]) {
        for (i, row) in self.rows.iter().enumerate() {
            x[i] = (x[i] - vector::dot(&row[..i], &x[..i])) / row[i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    #[test]
    fn a_grown_factor_solves_like_a_fresh_one() {
        let n = 7;
        let x = Dense::from_fn(n + 3, n, |i, j| ((i * 5 + j * 3 + i * j) as f64).sin());
        let a = x.tr_mul(&x);
        let mut grown = GrowingCholesky::new(&Cholesky::new(&block(&a, 3)).unwrap());
        for k in 3..n {
            assert!(grown.push(a.row(k)[..=k].to_vec()));
            let b: Vec<f64> = (0..=k).map(|i| (i as f64).cos()).collect();
            let (found, wanted) =
                (grown.solve(&b), Cholesky::new(&block(&a, k + 1)).unwrap().solve(&b));
            for (f, w) in found.iter().zip(&wanted) {
                assert!((f - w).abs() <= 1e-9 * (1.0 + w.abs()), "{f} {w}");
            }
        }
        assert!(!grown.push(vec![0.0; n + 1]));
        assert_eq!(grown.order(), n);
    }

    fn block(a: &Dense, k: usize) -> Dense {
        Dense::from_fn(k, k, |i, j| a[(i, j)])
    }
}
