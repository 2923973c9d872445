//! Gram matrices of weighted rows.

use std::cell::Cell;
use std::ops::Range;

use faer::MatRef;

use super::dense::{Dense, add_lower};
use super::factor::clear_registers;
use super::stacked::scale;
use super::vector;

/// Rows that are scaled at a time for a weighted Gram matrix.
const BLOCK: usize = 256;
/// Numbers that a thread keeps room for from one Gram matrix to the next, at most: 2 MB.
const ROOM_NUMBERS: usize = 1 << 18;

thread_local! {
    /// Room for scaled rows and for those that count. Asked for by every call it would come from the system each time where
    /// the allocator gives memory back at once, as in the workers of Dask.
    static ROOM: Cell<[Vec<f64>; 2]> = const { Cell::new([Vec::new(), Vec::new()]) };
}

impl Dense {
    /// Adds the lower triangle of the sum of `d[i] x_i x_i'` over `rows` to that of `out`.
    ///
    /// Rows are scaled in blocks that stay in cache, so the cost is that of one symmetric product.
    pub fn add_weighted_gram(&self, rows: Range<usize>, d: &[f64], out: &mut Self) {
        let mut room = ROOM.take();
        if d[rows.clone()].contains(&0.0) {
            self.add_gram_of_some(rows, d, &mut room, out);
        } else {
            self.add_gram_of_all(rows, d, &mut room[0], out);
        }
        if room.iter().map(Vec::capacity).sum::<usize>() <= ROOM_NUMBERS {
            ROOM.set(room);
        }
        clear_registers();
    }

    /// Every row counts: the rows themselves are one factor of the product.
    fn add_gram_of_all(
        &self,
        rows: Range<usize>,
        d: &[f64],
        scaled: &mut Vec<f64>,
        out: &mut Self,
    ) {
        for start in rows.clone().step_by(BLOCK) {
            let block = start..rows.end.min(start + BLOCK);
            let cells = block.start * self.ncols()..block.end * self.ncols();
            scale_into(&self.data()[cells], &d[block.clone()], scaled);
            let left = MatRef::from_row_major_slice(scaled, block.len(), self.ncols());
            let right = self.view().get(block, ..);
            add_lower(out, left.transpose(), right);
        }
    }

    /// Rows that count are put together.
    fn add_gram_of_some(
        &self,
        rows: Range<usize>,
        d: &[f64],
        [scaled, kept]: &mut [Vec<f64>; 2],
        out: &mut Self,
    ) {
        let mut rows = rows.filter(|&i| d[i] != 0.0);
        let mut weights = Vec::with_capacity(BLOCK);
        loop {
            kept.clear();
            weights.clear();
            for i in rows.by_ref().take(BLOCK) {
                kept.extend_from_slice(self.row(i));
                weights.push(d[i]);
            }
            if kept.is_empty() {
                return;
            }
            scale_into(kept, &weights, scaled);
            let left = MatRef::from_row_major_slice(scaled, weights.len(), self.ncols());
            let right = MatRef::from_row_major_slice(kept, weights.len(), self.ncols());
            add_lower(out, left.transpose(), right);
        }
    }
}

/// Puts rows, each times its weight, into `out`.
fn scale_into(rows: &[f64], weights: &[f64], out: &mut Vec<f64>) {
    out.resize(rows.len(), 0.0);
    let width = rows.len() / weights.len().max(1);
    if width > 0 {
        vector::vectorized!(scale(rows, width, weights.chunks(1), out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weighted_gram_equals_the_sum_of_outer_products() {
        let a = Dense::from_fn(700, 5, |i, j| ((i * 7 + j * 13) % 11) as f64 - 5.0);
        // With rows that do not count, and without.
        for least in [-2.0, 1.0] {
            let d: Vec<f64> = (0..700).map(|i| f64::from(i % 5) + least).collect();
            let gram = a.weighted_gram(&d);
            for j in 0..5 {
                for k in 0..5 {
                    let sum: f64 = (0..700).map(|i| d[i] * a[(i, j)] * a[(i, k)]).sum();
                    // Small integers: every partial sum is exact.
                    assert_eq!(gram[(j, k)], sum);
                }
            }
        }
    }
}
