//! Many weighted Gram matrices of the same rows at once.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use faer::linalg::matmul::matmul;
use faer::{Accum, MatRef, Par};

use super::factor::clear_registers;
use super::{Dense, vector};

/// Rows scaled per block, and columns of the scaled block: together they fit the second-level cache.
const ROWS: usize = 256;
const COLUMNS: usize = 256;

impl Dense {
    /// The matrices `self' * diag(c) * self`, one for every column `c` of `weights`, stacked.
    ///
    /// With `weights` of shape n x m the answer has m p rows and p columns; matrix `k` is rows
    /// `k p .. (k + 1) p`. Rows whose weights are all zero cost nothing. Summation order is fixed.
    #[must_use]
    pub fn stacked_grams(&self, weights: &Self) -> Self {
        assert_eq!(self.nrows(), weights.nrows(), "one row of weights per row");
        let (p, m) = (self.ncols(), weights.ncols());
        let mut out = Self::zeros(m * p, p);
        let per_panel = (COLUMNS / p.max(1)).clamp(1, m.max(1));
        let mut used = (0..self.nrows()).filter(|&i| weights.row(i).iter().any(|c| *c != 0.0));
        let mut block = Vec::with_capacity(ROWS);
        let mut kept = Vec::with_capacity(ROWS * p);
        let mut scaled = Vec::with_capacity(ROWS * per_panel * p);
        loop {
            block.clear();
            block.extend(used.by_ref().take(ROWS));
            if block.is_empty() || p == 0 {
                clear_registers();
                return out;
            }
            kept.clear();
            for &i in &block {
                kept.extend_from_slice(self.row(i));
            }
            let right = MatRef::from_row_major_slice(&kept, block.len(), p);
            for first in (0..m).step_by(per_panel) {
                let last = m.min(first + per_panel);
                let width = (last - first) * p;
                scaled.resize(block.len() * width, 0.0);
                let own = block.iter().map(|&i| &weights.row(i)[first..last]);
                vector::vectorized!(scale(&kept, p, own, &mut scaled));
                let left = MatRef::from_row_major_slice(&scaled, block.len(), width);
                let target = out.view_mut().subrows_mut(first * p, width);
                matmul(target, Accum::Add, left.transpose(), right, 1.0, Par::Seq);
            }
        }
    }
}

/// Every row of `rows` (`p` columns) times each of its `weights`, one after the other.
#[inline(always)]
pub(super) fn scale<'a>(
    rows: &[f64],
    p: usize,
    weights: impl Iterator<Item = &'a [f64]>,
    out: &mut [f64],
) {
    let mut places = out.chunks_exact_mut(p);
    for (row, weights) in rows.chunks_exact(p).zip(weights) {
        for (c, place) in weights.iter().zip(&mut places) {
            let row = &row[..place.len()];
            for (k, out) in place.iter_mut().enumerate() {
                *out = c * row[k];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_the_weighted_gram_of_its_column() {
        for (n, p, m) in [(700, 5, 6), (300, 31, 21), (3, 2, 1), (40, 300, 2)] {
            let x = Dense::from_fn(n, p, |i, j| ((i * 7 + j * 13) % 11) as f64 - 5.0);
            let c = Dense::from_fn(
                n,
                m,
                |i, k| {
                    if i % 3 == 0 { 0.0 } else { ((i + k) % 5) as f64 - 2.0 }
                },
            );
            let stacked = x.stacked_grams(&c);
            for k in 0..m {
                let one = x.weighted_gram(&c.column(k));
                for i in 0..p {
                    assert_eq!(stacked.row(k * p + i), one.row(i));
                }
            }
        }
    }
}
