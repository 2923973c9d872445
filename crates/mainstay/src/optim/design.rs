//! The features as solvers see them, and the way back to the user's units.
//!
//! Three ideas serve every method. Numbers are divided by powers of two, which is exact. Columns far
//! from zero are centred where a free intercept makes up for it. Where there are more columns than
//! rows the optimum of a rotation-invariant penalty lies in the span of the rows, so that coordinates
//! in it replace the features and nothing of order p x p is formed.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::linalg::{Compensated, Dense, Matrix, thin_qr, vector};

/// Numbers within this range have squares, and sums of squares, within that of floats.
const ORDINARY: std::ops::Range<f64> = 1e-60..1e60;

/// The power of two at or below `size`; 1 for zero. Its inverse is a number too.
pub fn power_of_two(size: f64) -> f64 {
    // Sign and exponent bits alone are the power of two below a normal number.
    let power = f64::from_bits(size.to_bits() & (0x7FF << 52));
    if size > 0.0 { power.clamp(f64::MIN_POSITIVE, 0.5 / f64::MIN_POSITIVE) } else { 1.0 }
}

/// The power of two at or above `size`; 1 for zero. Its inverse is a number too.
pub fn power_of_two_above(size: f64) -> f64 {
    let below = power_of_two(size);
    if below < size { power_of_two(2.0 * below) } else { below }
}

/// [`power_of_two`] where `size` is extreme, 1 for ordinary numbers, which need no help.
pub fn unit_if_extreme(size: f64) -> f64 {
    if ORDINARY.contains(&size) { 1.0 } else { power_of_two(size) }
}

/// Column `j` of the solver's features is `$(x_j - m_j) t_j$`.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnUnits {
    /// `$t_j$`, a power of two; 0 for a column that is left out.
    pub factors: Vec<f64>,
    /// `$m_j$`.
    pub means: Vec<f64>,
}

/// Rows that are summed before their sum is passed on; fixed, so that threads do not matter.
const ROWS_PER_SUM: usize = 16_384;

/// Ranges and weighted sums of dense columns.
struct Extent {
    low: Vec<f64>,
    high: Vec<f64>,
    sum: Vec<f64>,
}

impl Extent {
    /// Of some of the rows.
    fn of(x: &Dense, shares: &[f64], rows: Range<usize>) -> Self {
        let first = x.row(rows.start).to_vec();
        let mut all = Self { low: first.clone(), high: first, sum: vec![0.0; x.ncols()] };
        vector::vectorized!({
            let mut i = rows.start;
            while i + 4 <= rows.end {
                let four = [x.row(i), x.row(i + 1), x.row(i + 2), x.row(i + 3)];
                all.take(four, [shares[i], shares[i + 1], shares[i + 2], shares[i + 3]]);
                i += 4;
            }
            while i < rows.end {
                all.take([x.row(i)], [shares[i]]);
                i += 1;
            }
        });
        all
    }

    /// Takes rows in, several at a time so that the sums are not read and written for each.
    #[inline(always)]
    fn take<const N: usize>(&mut self, rows: [&[f64]; N], shares: [f64; N]) {
        let p = self.sum.len();
        let (lows, highs, sums) = (&mut self.low[..p], &mut self.high[..p], &mut self.sum[..p]);
        // Never: it tells the compiler that no index is out of range.
        if rows.iter().any(|row| row.len() != p) {
            return;
        }
        for j in 0..p {
            let (mut low, mut high, mut sum) = (lows[j], highs[j], sums[j]);
            for (row, share) in rows.iter().zip(shares) {
                let v = row[j];
                low = if v < low { v } else { low };
                high = if v > high { v } else { high };
                sum += share * v;
            }
            (lows[j], highs[j], sums[j]) = (low, high, sum);
        }
    }

    fn join(mut self, next: &Self) -> Self {
        for j in 0..self.sum.len() {
            self.low[j] = self.low[j].min(next.low[j]);
            self.high[j] = self.high[j].max(next.high[j]);
            self.sum[j] += next.sum[j];
        }
        self
    }
}

impl ColumnUnits {
    /// Units in which every column is of order one, by half the range of a column that is centred and by the largest entry
    /// of others. Dense columns are centred at their mean where that is wanted. A constant column is left out then, of sparse
    /// rows too: a free intercept says what it says.
    ///
    /// `shares` add up to 1, one for each row.
    pub fn of(x: &Matrix, shares: &[f64], centred: bool) -> Self {
        let p = x.ncols();
        let Matrix::Dense(dense) = x else {
            let mut sizes = largest_entries(x);
            if centred {
                x.constant_columns().into_iter().for_each(|(j, _)| sizes[j] = 0.0);
            }
            let factors = sizes.into_iter().map(factor).collect();
            return Self { factors, means: vec![0.0; p] };
        };
        let blocks = (0..dense.nrows().div_ceil(ROWS_PER_SUM)).into_par_iter();
        let rows = |k: usize| k * ROWS_PER_SUM..dense.nrows().min((k + 1) * ROWS_PER_SUM);
        let parts: Vec<Extent> = blocks.map(|k| Extent::of(dense, shares, rows(k))).collect();
        let Some(all) = parts.into_iter().reduce(|all, next| all.join(&next)) else {
            return Self { factors: vec![0.0; p], means: vec![0.0; p] };
        };
        let size = |j: usize| {
            let (low, high) = (all.low[j], all.high[j]);
            if !centred {
                return low.abs().max(high.abs());
            }
            // Half the range even where the range itself overflows; a denormal range is a range.
            let half = 0.5 * high - 0.5 * low;
            if low < high { half.max(f64::MIN_POSITIVE) } else { 0.0 }
        };
        let factors = (0..p).map(|j| factor(size(j))).collect();
        Self { factors, means: if centred { all.sum } else { vec![0.0; p] } }
    }

    /// Solver weights `v` and intercept `b` in the user's units.
    pub fn to_user(&self, v: &[f64], b: f64) -> Result<(Vec<f64>, f64)> {
        let weights: Vec<f64> = v.iter().zip(&self.factors).map(|(v, t)| v * t).collect();
        // Where columns are far from zero this is a small difference of large numbers.
        let mut moved = Compensated::new(b);
        weights.iter().zip(&self.means).for_each(|(w, m)| moved.add_product(-w, *m));
        let intercept = moved.value();
        finite_model(weights, intercept)
    }
}

/// The power of two that brings `size` into [1, 2); 0 for a column without spread.
fn factor(size: f64) -> f64 {
    if size > 0.0 { 1.0 / power_of_two(size) } else { 0.0 }
}

fn largest_entries(x: &Matrix) -> Vec<f64> {
    let mut sizes = vec![0.0; x.ncols()];
    for row in x.rows() {
        for (j, v) in row.entries() {
            sizes[j] = f64::max(sizes[j], v.abs());
        }
    }
    sizes
}

/// Passes a model on if all its numbers are finite.
pub fn finite_model(weights: Vec<f64>, intercept: f64) -> Result<(Vec<f64>, f64)> {
    if weights.iter().chain([&intercept]).all(|v| v.is_finite()) {
        return Ok((weights, intercept));
    }
    let message = "a coefficient is beyond the range of floating point; rescale the features";
    Err(Error::Numerical(message.into()))
}

/// Rows as coordinates in an orthonormal basis of their span.
#[derive(Debug, Clone)]
pub struct RowSpace {
    /// One row per sample, as many columns as rows at most.
    pub coordinates: Dense,
    /// Orthonormal columns.
    basis: Dense,
}

impl RowSpace {
    /// By a QR factorisation of the transpose, `$O(n^2 p)$`: accurate whatever the singular values.
    pub fn new(rows: &Dense) -> Self {
        let (mut basis, triangle) = thin_qr(&rows.transpose());
        // Reflections leave rounding where there is nothing.
        for (j, _) in rows.constant_columns().into_iter().filter(|(_, value)| *value == 0.0) {
            basis.row_mut(j).fill(0.0);
        }
        Self { coordinates: triangle.transpose(), basis }
    }

    /// The vector of the original space that has these coordinates.
    pub fn lift(&self, coordinates: &[f64]) -> Vec<f64> {
        self.basis.mul_vec(coordinates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_exact_and_invertible() {
        for (size, power) in [(1.0, 1.0), (3.9, 2.0), (0.3, 0.25), (0.0, 1.0)] {
            assert_eq!(power_of_two(size), power);
        }
        for size in [f64::MAX, f64::MIN_POSITIVE, 5e-324] {
            let power = power_of_two(size);
            assert!((1.0 / power).is_finite() && power > 0.0 && power.to_bits() << 12 == 0);
        }
        for (size, power) in [(1.0, 1.0), (3.9, 4.0), (0.3, 0.5), (0.0, 1.0)] {
            assert_eq!(power_of_two_above(size), power);
        }
        assert!((1.0 / power_of_two_above(f64::MAX)).is_normal());
        assert_eq!(unit_if_extreme(1e50), 1.0);
        assert_eq!(unit_if_extreme(2f64.powi(300)), 2f64.powi(300));
    }

    /// Scores survive the change of units: v'((x - m) t) + b = w'x + intercept.
    #[test]
    fn scores_are_the_same_in_both_units() {
        let units = ColumnUnits { factors: vec![2.0, 0.5], means: vec![3.0, -8.0] };
        let (w, c) = units.to_user(&[1.0, -4.0], 0.25).unwrap_or_default();
        let x = [7.0, 1.5];
        let inside = (x[0] - 3.0) * 2.0 - 4.0 * (x[1] + 8.0) * 0.5 + 0.25;
        assert_eq!(w[0] * x[0] + w[1] * x[1] + c, inside);
        assert!(units.to_user(&[f64::MAX, 0.0], 0.0).is_err());
    }

    #[test]
    fn inner_products_survive_in_the_row_space() {
        let rows = Dense::from_rows(2, 4, vec![1.0, 2.0, 0.0, -1.0, 0.5, 0.0, 3.0, 2.0]);
        let space = RowSpace::new(&rows);
        let (before, after) = (rows.outer_gram(), space.coordinates.outer_gram());
        for (a, b) in before.data().iter().zip(after.data()) {
            assert!((a - b).abs() < 1e-13, "{a} {b}");
        }
        let w = space.lift(&[0.3, -2.0]);
        let scores = (rows.mul_vec(&w), space.coordinates.mul_vec(&[0.3, -2.0]));
        assert!(scores.0.iter().zip(&scores.1).all(|(a, b)| (a - b).abs() < 1e-13));
    }
}
