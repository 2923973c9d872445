//! Compressed sparse rows.

use super::Dense;
use crate::error::{Error, Result};

/// Compressed sparse rows; column indices are strictly increasing within a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Csr {
    pub(super) ncols: usize,
    pub(super) starts: Vec<usize>,
    pub(super) indices: Vec<u32>,
    pub(super) values: Vec<f64>,
}

impl Csr {
    /// Takes over the three arrays of the usual CSR layout, after checking them.
    pub fn new(
        ncols: usize,
        starts: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<f64>,
    ) -> Result<Self> {
        let bad = |what: &str| Err(Error::BadData(format!("sparse matrix: {what}")));
        if starts.first() != Some(&0) || starts.last() != Some(&indices.len()) {
            return bad("row pointers must start at 0 and end at the number of entries");
        }
        if indices.len() != values.len() {
            return bad("as many column indices as values are needed");
        }
        for row in starts.windows(2) {
            let Some(columns) = indices.get(row[0]..row[1]) else {
                return bad("row pointers must not decrease");
            };
            if columns.windows(2).any(|pair| pair[0] >= pair[1]) {
                return bad("column indices must increase within a row (sum duplicates first)");
            }
            if columns.last().is_some_and(|&last| last as usize >= ncols) {
                return bad("a column index is beyond the number of columns");
            }
        }
        Ok(Self { ncols, starts, indices, values })
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Column indices and values of row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// All stored values.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The same entries in a matrix of `ncols` columns; an error if an entry lies beyond.
    pub fn with_ncols(self, ncols: usize) -> Result<Self> {
        Self::new(ncols, self.starts, self.indices, self.values)
    }

    pub(super) fn select_rows(&self, rows: &[usize]) -> Self {
        let mut out = Self { ncols: self.ncols, starts: vec![0], ..Self::default() };
        for &i in rows {
            let (indices, values) = self.row(i);
            out.indices.extend_from_slice(indices);
            out.values.extend_from_slice(values);
            out.starts.push(out.indices.len());
        }
        out
    }
}

impl Csr {
    pub(super) fn select_columns(&self, columns: &[usize]) -> Self {
        let mut place = vec![u32::MAX; self.ncols];
        for (&j, k) in columns.iter().zip(0..) {
            place[j] = k;
        }
        let mut out = Self { ncols: columns.len(), starts: vec![0], ..Self::default() };
        for i in 0..self.nrows() {
            let (indices, values) = self.row(i);
            for (&j, &v) in indices.iter().zip(values) {
                if place[j as usize] != u32::MAX {
                    out.indices.push(place[j as usize]);
                    out.values.push(v);
                }
            }
            out.starts.push(out.indices.len());
        }
        out
    }

    pub(super) fn transpose(&self) -> Self {
        let mut starts = vec![0; self.ncols + 1];
        for &j in &self.indices {
            starts[j as usize + 1] += 1;
        }
        for j in 0..self.ncols {
            starts[j + 1] += starts[j];
        }
        let mut next = starts.clone();
        let mut out = Self {
            ncols: self.nrows(),
            starts,
            indices: vec![0; self.indices.len()],
            values: vec![0.0; self.values.len()],
        };
        for (i, row) in (0..self.nrows()).zip(0_u32..) {
            let (indices, values) = self.row(i);
            for (&j, &v) in indices.iter().zip(values) {
                let at = &mut next[j as usize];
                out.indices[*at] = row;
                out.values[*at] = v;
                *at += 1;
            }
        }
        out
    }

    /// The entries of `dense` that are not 0, of which there are `stored`; `None` if there are too many columns.
    pub(super) fn from_dense(dense: &Dense, stored: usize) -> Option<Self> {
        let ncols = u32::try_from(dense.ncols()).ok()?;
        let mut out = Self {
            ncols: dense.ncols(),
            starts: Vec::with_capacity(dense.nrows() + 1),
            indices: Vec::with_capacity(stored),
            values: Vec::with_capacity(stored),
        };
        out.starts.push(0);
        for i in 0..dense.nrows() {
            for (j, v) in (0..ncols).zip(dense.row(i)).filter(|(_, v)| **v != 0.0) {
                out.indices.push(j);
                out.values.push(*v);
            }
            out.starts.push(out.indices.len());
        }
        Some(out)
    }

    /// Followed by a column of ones; `None` if there are too many columns.
    pub(super) fn with_ones(&self) -> Option<Self> {
        let (n, p) = (self.nrows(), self.ncols);
        let last = u32::try_from(p).ok()?;
        let mut out = Self { ncols: p + 1, starts: vec![0], ..Self::default() };
        out.indices.reserve(self.values.len() + n);
        out.values.reserve(self.values.len() + n);
        for i in 0..n {
            let (indices, values) = self.row(i);
            out.indices.extend_from_slice(indices);
            out.indices.push(last);
            out.values.extend_from_slice(values);
            out.values.push(1.0);
            out.starts.push(out.indices.len());
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_sparse_input_is_refused() {
        assert!(Csr::new(2, vec![0, 1], vec![2], vec![1.0]).is_err());
        assert!(Csr::new(2, vec![0, 2], vec![1, 1], vec![1.0, 1.0]).is_err());
        assert!(Csr::new(2, vec![0, 2, 1], vec![0], vec![1.0]).is_err());
        assert!(Csr::new(2, vec![], vec![], vec![]).is_err());
    }
}
