//! Gram matrices of rows that arrive one by one.

use faer::MatRef;

use super::dense::{Dense, add_gram};

/// Rows that wait to be added together: one symmetric product per block.
const BLOCK: usize = 512;

/// The sum of `r r'` over rows that arrive one by one, as fast as one matrix product.
#[derive(Debug, Clone)]
pub struct GramSum {
    order: usize,
    waiting: Vec<f64>,
    sum: Dense,
}

impl GramSum {
    /// Nothing added yet; rows have `order` entries.
    pub fn new(order: usize) -> Self {
        Self { order, waiting: Vec::with_capacity(order * BLOCK), sum: Dense::zeros(order, order) }
    }

    /// Adds `r r'`; `row` appends exactly `order` entries to what it is given.
    #[inline]
    pub fn push(&mut self, row: impl FnOnce(&mut Vec<f64>)) {
        row(&mut self.waiting);
        if self.waiting.len() >= self.order * BLOCK {
            self.flush();
        }
    }

    /// The sum, both triangles filled.
    pub fn finish(mut self) -> Dense {
        self.flush();
        self.sum.mirror_lower();
        self.sum
    }

    fn flush(&mut self) {
        let rows = self.waiting.len() / self.order.max(1);
        if rows > 0 {
            add_gram(&mut self.sum, MatRef::from_row_major_slice(&self.waiting, rows, self.order));
            self.waiting.clear();
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
            sum.push(|out| out.extend_from_slice(a.row(i)));
        }
        assert_eq!(sum.finish(), a.tr_mul(&a));
    }
}
