//! The smallest and the largest entry of every column, and columns where these are the same.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use std::ops::Range;

use rayon::prelude::*;

use super::{Dense, Matrix, vector};

/// Rows worth a task of their own.
const ROWS_PER_TASK: usize = 4096;

/// The range of every column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnRanges {
    /// Smallest entries.
    pub low: Vec<f64>,
    /// Largest entries.
    pub high: Vec<f64>,
}

impl ColumnRanges {
    /// The ranges of no rows at all.
    pub(super) fn empty(columns: usize) -> Self {
        Self { low: vec![f64::INFINITY; columns], high: vec![f64::NEG_INFINITY; columns] }
    }

    /// The largest absolute value of a column.
    pub(super) fn size(&self, j: usize) -> f64 {
        self.low[j].abs().max(self.high[j].abs())
    }

    /// Takes other ranges in.
    pub(super) fn join(&mut self, other: &Self) {
        let narrower = |a: &f64, b: f64| if b < *a { b } else { *a };
        let wider = |a: &f64, b: f64| if b > *a { b } else { *a };
        self.low.iter_mut().zip(&other.low).for_each(|(a, b)| *a = narrower(a, *b));
        self.high.iter_mut().zip(&other.high).for_each(|(a, b)| *a = wider(a, *b));
    }

    /// Takes some of the rows in, four at a time so that the ranges are not read and written for each. NaN is neither
    /// smaller nor larger than anything.
    #[inline(always)]
    pub(super) fn widen(&mut self, x: &Dense, rows: Range<usize>) {
        let mut i = rows.start;
        while i + 4 <= rows.end {
            self.take([x.row(i), x.row(i + 1), x.row(i + 2), x.row(i + 3)]);
            i += 4;
        }
        for i in i..rows.end {
            self.take([x.row(i)]);
        }
    }

    #[inline(always)]
    fn take<const N: usize>(&mut self, rows: [&[f64]; N]) {
        let p = self.low.len();
        let (low, high) = (&mut self.low[..p], &mut self.high[..p]);
        // Never: it tells the compiler that no index is out of range.
        if rows.iter().any(|row| row.len() != p) {
            return;
        }
        for j in 0..p {
            let (mut least, mut most) = (low[j], high[j]);
            for row in rows {
                let v = row[j];
                least = if v < least { v } else { least };
                most = if v > most { v } else { most };
            }
            (low[j], high[j]) = (least, most);
        }
    }
}

impl Dense {
    /// The columns that have the same entry in all rows, in order, with that entry. Other columns drop out after a few rows.
    pub fn constant_columns(&self) -> Vec<(usize, f64)> {
        if self.nrows() == 0 {
            return Vec::new();
        }
        let mut found: Vec<(usize, f64)> = self.row(0).iter().copied().enumerate().collect();
        for i in 1..self.nrows() {
            let row = self.row(i);
            found.retain(|&(j, value)| row[j] == value);
            if found.is_empty() {
                break;
            }
        }
        found
    }

    /// Weighted means of the columns, `shares` adding up to 1. That of a constant column is its entry to the last digit, so that
    /// nothing is left of the column once it is taken off: a sum would be rounded.
    pub fn means(&self, shares: &[f64]) -> Vec<f64> {
        let constant: Vec<usize> = self.constant_columns().into_iter().map(|(j, _)| j).collect();
        self.means_knowing(&constant, shares)
    }

    /// [`Dense::means`], where the constant columns are known.
    pub(crate) fn means_knowing(&self, constant: &[usize], shares: &[f64]) -> Vec<f64> {
        let mut means = self.tr_mul_vec(shares);
        for &j in constant {
            means[j] = self[(0, j)];
        }
        means
    }
}

impl Matrix {
    /// The columns that have the same entry in all rows, in order, with that entry; of sparse rows those that every row
    /// stores.
    pub fn constant_columns(&self) -> Vec<(usize, f64)> {
        let x = match self {
            Self::Dense(x) => return x.constant_columns(),
            Self::Sparse(x) if x.nrows() == 0 => return Vec::new(),
            Self::Sparse(x) => x,
        };
        let entries = |i: usize| {
            let (indices, values) = x.row(i);
            indices.iter().map(|&j| j as usize).zip(values.iter().copied())
        };
        let mut found: Vec<(usize, f64)> = entries(0).collect();
        for i in 1..x.nrows() {
            let mut row = entries(i).peekable();
            found.retain(|&(j, value)| {
                while row.next_if(|(other, _)| *other < j).is_some() {}
                row.peek() == Some(&(j, value))
            });
            if found.is_empty() {
                break;
            }
        }
        found
    }

    /// The range of every column, zeros that are not stored included.
    pub(super) fn ranges(&self) -> ColumnRanges {
        let p = self.ncols();
        let Self::Dense(x) = self else {
            let mut all = ColumnRanges { low: vec![0.0; p], high: vec![0.0; p] };
            for (j, v) in self.rows().flat_map(super::Row::entries) {
                all.low[j] = if v < all.low[j] { v } else { all.low[j] };
                all.high[j] = if v > all.high[j] { v } else { all.high[j] };
            }
            return all;
        };
        if x.nrows() == 0 {
            return ColumnRanges { low: vec![0.0; p], high: vec![0.0; p] };
        }
        // Smallest and largest numbers are the same whatever the order.
        let part = |task: usize| {
            let mut part = ColumnRanges::empty(p);
            let first = task * ROWS_PER_TASK;
            let rows = first..x.nrows().min(first + ROWS_PER_TASK);
            vector::vectorized!(part.widen(x, rows));
            part
        };
        let parts: Vec<ColumnRanges> =
            (0..x.nrows().div_ceil(ROWS_PER_TASK)).into_par_iter().map(part).collect();
        let mut all = ColumnRanges::empty(p);
        for part in &parts {
            all.join(part);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Csr;

    /// Seven rows: four together and three alone; a missing cell is in no range.
    #[test]
    fn ranges_are_those_of_all_rows() {
        let cell =
            |i: usize, j: usize| if (i, j) == (2, 1) { f64::NAN } else { (i * 3 % 7 + j) as f64 };
        let found = Matrix::from(Dense::from_fn(7, 2, cell)).ranges();
        assert_eq!(found, ColumnRanges { low: vec![0.0, 1.0], high: vec![6.0, 6.0] });
        assert_eq!((found.size(0), found.size(1)), (6.0, 6.0));
    }

    /// Columns 0 (all 0.1), 2 (rises) and 3 (not stored in one row); the mean of the first as a sum is 0.09999999999999999.
    #[test]
    fn constant_columns_are_found_and_leave_nothing_around_their_mean() {
        let entry = |i: usize, j: usize| match j {
            0 => 0.1,
            1 => -3.0,
            2 => i as f64 + 1.0,
            _ => {
                if i == 4 {
                    0.0
                } else {
                    2.0
                }
            }
        };
        let dense = Dense::from_fn(10, 4, entry);
        let sparse = Csr::from_dense(&dense, 40).map(Matrix::from).unwrap();
        let constant = [(0, 0.1), (1, -3.0)];
        assert_eq!(dense.constant_columns(), constant);
        assert_eq!(sparse.constant_columns(), constant);
        assert_ne!(dense.tr_mul_vec(&[0.1; 10])[0], 0.1);
        assert_eq!(dense.means(&[0.1; 10])[..2], [0.1, -3.0]);
    }

    #[test]
    fn zeros_that_are_not_stored_are_in_the_ranges_of_sparse_rows() {
        let dense = Dense::from_rows(3, 2, vec![0.0, 1.0, 0.0, 3.0, -4.0, 2.0]);
        let sparse = Csr::from_dense(&dense, 6).map(Matrix::from).unwrap();
        let wanted = ColumnRanges { low: vec![-4.0, 0.0], high: vec![0.0, 3.0] };
        assert_eq!(sparse.ranges(), wanted);
    }
}
