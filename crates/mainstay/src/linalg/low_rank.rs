//! Linear systems with a diagonal plus few weighted rows (Woodbury).

use super::{Dense, Lu, vector};

/// diag(d) + U' diag(c) U with few rows in U and weights c of any sign, solved through the small
/// side (Woodbury): `$O(r^2 n)$` for r rows of length n, and no n x n matrix.
#[derive(Debug, Clone)]
pub struct DiagonalPlusRows {
    diagonal: Vec<f64>,
    rows: Dense,
    weights: Vec<f64>,
    factor: Lu,
}

impl DiagonalPlusRows {
    /// Factors; `diagonal` must be positive. `None` if an entry is not finite.
    pub fn new(diagonal: Vec<f64>, rows: Dense, weights: Vec<f64>) -> Option<Self> {
        let scaled = Dense::from_fn(rows.nrows(), rows.ncols(), |i, j| rows[(i, j)] / diagonal[j]);
        let mut small = rows.mul_tr(&scaled);
        for (i, &weight) in weights.iter().enumerate() {
            vector::scale(small.row_mut(i), weight);
            small[(i, i)] += 1.0;
        }
        let factor = Lu::new(&small)?;
        Some(Self { diagonal, rows, weights, factor })
    }

    /// Solves for `r`, with one step of refinement.
    pub fn solve(&self, r: &[f64]) -> Vec<f64> {
        let mut x = self.solve_once(r);
        let residual: Vec<f64> = r.iter().zip(self.apply(&x)).map(|(r, s)| r - s).collect();
        vector::axpy(1.0, &self.solve_once(&residual), &mut x);
        x
    }

    /// The product with `x`.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut out = self.rows.tr_mul_vec(&self.weighted(x));
        (0..x.len()).for_each(|j| out[j] += self.diagonal[j] * x[j]);
        out
    }

    fn weighted(&self, x: &[f64]) -> Vec<f64> {
        self.rows.mul_vec(x).iter().zip(&self.weights).map(|(v, w)| v * w).collect()
    }

    fn solve_once(&self, r: &[f64]) -> Vec<f64> {
        let first: Vec<f64> = r.iter().zip(&self.diagonal).map(|(v, d)| v / d).collect();
        let back = self.rows.tr_mul_vec(&self.factor.solve(&self.weighted(&first)));
        (0..r.len()).map(|j| first[j] - back[j] / self.diagonal[j]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_side_solves_the_large_system() {
        let rows = Dense::from_fn(3, 7, |i, j| ((i * 5 + j * 3) % 7) as f64 - 2.5);
        let diagonal: Vec<f64> = (0..7).map(|j| 1.0 + f64::from(j)).collect();
        let matrix = DiagonalPlusRows::new(diagonal, rows, vec![2.0, -0.05, 0.5]).unwrap();
        let wanted: Vec<f64> = (0..7).map(|j| (f64::from(j) - 3.0) / 2.0).collect();
        let found = matrix.solve(&matrix.apply(&wanted));
        for (a, b) in found.iter().zip(&wanted) {
            assert!((a - b).abs() < 1e-12);
        }
    }
}
