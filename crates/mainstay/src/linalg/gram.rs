//! Gram matrices of rows that arrive one by one.

use faer::MatRef;

use super::dense::{Dense, add_gram};

/// Rows that wait to be added together: one symmetric product per block.
const BLOCK: usize = 512;
/// Rows there is room for at first; a power of two, as [`BLOCK`] is.
const FEW: usize = 8;

/// The sum of `r r'` over rows that arrive one by one, as fast as one matrix product.
#[derive(Debug, Clone)]
pub struct GramSum {
    order: usize,
    /// Room for some rows, of which the first ones are waiting.
    room: Vec<f64>,
    waiting: usize,
    sum: Dense,
}

impl GramSum {
    /// Nothing added yet; rows have `order` entries.
    pub fn new(order: usize) -> Self {
        Self { order, room: Vec::new(), waiting: 0, sum: Dense::zeros(order, order) }
    }

    /// Where the next row goes; it holds what was there before. Written in place: what writes it is compiled for the vector unit
    /// of the caller (decision 0080), and no row is moved twice.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for the vector unit of the caller")]
    pub fn next_row(&mut self) -> &mut [f64] {
        let start = self.waiting * self.order;
        if start == self.room.len() {
            return self.next_row_elsewhere();
        }
        self.waiting += 1;
        &mut self.room[start..start + self.order]
    }

    /// The next row where the room is full: rows are added up once there are many, and until then there is more room.
    #[inline(never)]
    fn next_row_elsewhere(&mut self) -> &mut [f64] {
        if self.waiting == BLOCK {
            self.flush();
        } else {
            let rows = (2 * self.waiting).clamp(FEW, BLOCK);
            self.room.resize(rows * self.order, 0.0);
        }
        let start = self.waiting * self.order;
        self.waiting += 1;
        &mut self.room[start..start + self.order]
    }

    /// The sum, both triangles filled.
    pub fn finish(mut self) -> Dense {
        self.take()
    }

    /// The sum of the rows so far, both triangles filled; goes on with none, in the same room.
    pub fn take(&mut self) -> Dense {
        self.flush();
        let mut sum = std::mem::replace(&mut self.sum, Dense::zeros(self.order, self.order));
        sum.mirror_lower();
        sum
    }

    fn flush(&mut self) {
        if self.waiting > 0 {
            let rows = &self.room[..self.waiting * self.order];
            add_gram(&mut self.sum, MatRef::from_row_major_slice(rows, self.waiting, self.order));
            self.waiting = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_gram_matrix() {
        let a = Dense::from_fn(600, 3, |i, j| ((i * 7 + j * 5) % 13) as f64 - 6.0);
        let mut sum = GramSum::new(3);
        for i in 0..600 {
            sum.next_row().copy_from_slice(a.row(i));
        }
        assert_eq!(sum.finish(), a.tr_mul(&a));
    }

    #[test]
    fn a_sum_that_was_taken_leaves_nothing_to_the_next() {
        let a = Dense::from_fn(5, 2, |i, j| (i * 3 + j) as f64 - 4.0);
        let mut sum = GramSum::new(2);
        for rows in [0..3, 3..5] {
            rows.clone().for_each(|i| sum.next_row().copy_from_slice(a.row(i)));
            let part = a.select_rows(&rows.collect::<Vec<_>>());
            assert_eq!(sum.take(), part.tr_mul(&part));
        }
    }
}
