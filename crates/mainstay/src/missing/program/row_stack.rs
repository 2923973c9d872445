//! A matrix whose rows have the nonzeros of the data's rows.

use super::block::place;
use crate::error::Result;
use crate::linalg::{Csr, Dense, Matrix};

/// Such a matrix while its rows are written, in any order; each is written once.
pub(super) enum RowStack<'a> {
    Dense(Dense),
    Sparse { columns: usize, rows: Vec<(&'a [u32], Vec<f64>)> },
}

impl<'a> RowStack<'a> {
    /// For `entries` numbers in all; dense if that is more than half of the places.
    pub(super) fn new(rows: usize, columns: usize, entries: usize) -> Self {
        if 2 * entries > rows * columns {
            Self::Dense(Dense::zeros(rows, columns))
        } else {
            Self::Sparse { columns, rows: vec![(&[], Vec::new()); rows] }
        }
    }

    pub(super) fn set(&mut self, i: usize, columns: &'a [u32], values: &[f64]) {
        match self {
            Self::Dense(matrix) => place(values, columns, matrix.row_mut(i)),
            Self::Sparse { rows, .. } => rows[i] = (columns, values.to_vec()),
        }
    }

    pub(super) fn finish(self) -> Result<Matrix> {
        let (columns, rows) = match self {
            Self::Dense(matrix) => return Ok(matrix.into()),
            Self::Sparse { columns, rows } => (columns, rows),
        };
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for (at, row) in rows {
            indices.extend_from_slice(at);
            values.extend_from_slice(&row);
            starts.push(indices.len());
        }
        Csr::new(columns, starts, indices, values).map(Matrix::from)
    }
}
