//! Feature matrices: dense or compressed sparse rows, behind one set of operations.
//!
//! Here stands what looks at or rearranges entries; products are in `products.rs`.

use super::{Csr, Dense, Row, vector};

/// A feature matrix: one row per sample, one column per feature.
#[derive(Debug, Clone, PartialEq)]
pub enum Matrix {
    /// Every entry stored.
    Dense(Dense),
    /// Only nonzeros stored.
    Sparse(Csr),
}

impl From<Dense> for Matrix {
    fn from(dense: Dense) -> Self {
        Self::Dense(dense)
    }
}

impl From<Csr> for Matrix {
    fn from(csr: Csr) -> Self {
        Self::Sparse(csr)
    }
}

impl Matrix {
    /// Number of rows (samples).
    pub fn nrows(&self) -> usize {
        match self {
            Self::Dense(m) => m.nrows(),
            Self::Sparse(m) => m.nrows(),
        }
    }

    /// Number of columns (features).
    pub fn ncols(&self) -> usize {
        match self {
            Self::Dense(m) => m.ncols(),
            Self::Sparse(m) => m.ncols(),
        }
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> Row<'_> {
        match self {
            Self::Dense(m) => Row::Dense(m.row(i)),
            Self::Sparse(m) => {
                let (indices, values) = m.row(i);
                Row::Sparse(indices, values)
            }
        }
    }

    /// All rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.nrows()).map(|i| self.row(i))
    }

    /// All stored values.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Dense(m) => m.data(),
            Self::Sparse(m) => m.values(),
        }
    }

    /// The same matrix without its zeros, where it is stored densely and these are most of it.
    ///
    /// Products with such rows cost what is stored, outer products the square of it.
    pub fn compressed(&self) -> Option<Csr> {
        const MOSTLY: f64 = 0.2;
        let Self::Dense(dense) = self else { return None };
        let stored = dense.data().iter().filter(|v| **v != 0.0).count();
        if dense.ncols() < 16 || stored as f64 >= MOSTLY * dense.data().len() as f64 {
            return None;
        }
        Csr::from_dense(dense, stored)
    }

    /// Stored entries per row, on average: the cost of touching a row.
    pub fn stored_per_row(&self) -> usize {
        self.values().len() / self.nrows().max(1)
    }

    /// The same matrix followed by a column of ones; `None` if there are too many columns.
    pub fn with_ones(&self) -> Option<Self> {
        let (n, p) = (self.nrows(), self.ncols());
        match self {
            Self::Dense(m) => {
                let mut data = Vec::with_capacity(n * (p + 1));
                for i in 0..n {
                    data.extend_from_slice(m.row(i));
                    data.push(1.0);
                }
                Some(Dense::from_rows(n, p + 1, data).into())
            }
            Self::Sparse(m) => m.with_ones().map(Self::Sparse),
        }
    }

    /// The rows `rows`, in that order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        match self {
            Self::Dense(m) => Self::Dense(m.select_rows(rows)),
            Self::Sparse(m) => Self::Sparse(m.select_rows(rows)),
        }
    }

    /// The columns `columns`, which must increase.
    #[must_use]
    pub fn select_columns(&self, columns: &[usize]) -> Self {
        match self {
            Self::Dense(m) => {
                let mut data = Vec::with_capacity(m.nrows() * columns.len());
                for i in 0..m.nrows() {
                    let row = m.row(i);
                    data.extend(columns.iter().map(|&j| row[j]));
                }
                Self::Dense(Dense::from_rows(m.nrows(), columns.len(), data))
            }
            Self::Sparse(m) => Self::Sparse(m.select_columns(columns)),
        }
    }

    /// The transpose, copied.
    #[must_use]
    pub fn transpose(&self) -> Self {
        match self {
            Self::Dense(m) => Self::Dense(m.transpose()),
            Self::Sparse(m) => Self::Sparse(m.transpose()),
        }
    }

    /// Every column multiplied by its scale.
    #[must_use]
    pub fn scale_columns(&self, scales: &[f64]) -> Self {
        let mut out = self.clone();
        match &mut out {
            Self::Dense(m) => {
                for i in 0..m.nrows() {
                    for (v, s) in m.row_mut(i).iter_mut().zip(scales) {
                        *v *= s;
                    }
                }
            }
            Self::Sparse(m) => {
                for (v, &j) in m.values.iter_mut().zip(&m.indices) {
                    *v *= scales[j as usize];
                }
            }
        }
        out
    }

    /// Every row `i` multiplied by `scale(i)`.
    #[must_use]
    pub fn scale_rows(mut self, scale: impl Fn(usize) -> f64) -> Self {
        for i in 0..self.nrows() {
            let values = match &mut self {
                Self::Dense(m) => m.row_mut(i),
                Self::Sparse(m) => &mut m.values[m.starts[i]..m.starts[i + 1]],
            };
            vector::scale(values, scale(i));
        }
        self
    }

    /// Every NaN replaced by 0.
    #[must_use]
    pub fn nan_to_zero(mut self) -> Self {
        if vector::all_finite(self.values()) {
            return self;
        }
        let values = match &mut self {
            Self::Dense(m) => m.data_mut(),
            Self::Sparse(m) => &mut m.values,
        };
        for v in values.iter_mut().filter(|v| v.is_nan()) {
            *v = 0.0;
        }
        self
    }

    /// A dense copy.
    pub fn to_dense(&self) -> Dense {
        match self {
            Self::Dense(m) => m.clone(),
            Self::Sparse(m) => {
                let mut out = Dense::zeros(m.nrows(), m.ncols());
                for i in 0..m.nrows() {
                    self.row(i).add_scaled_to(1.0, out.row_mut(i));
                }
                out
            }
        }
    }

    /// Position of the first stored value that is not finite.
    pub fn first_not_finite(&self) -> Option<(usize, usize, f64)> {
        // One cheap pass decides the common case.
        if vector::all_finite(self.values()) {
            return None;
        }
        (0..self.nrows()).find_map(|i| {
            self.row(i).entries().find(|(_, v)| !v.is_finite()).map(|(j, v)| (i, j, v))
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn mostly_zero_matrices_are_compressed_and_ones_are_appended() {
        let wide = Dense::from_fn(7, 20, |i, j| if (i + 2 * j) % 11 == 0 { 1.5 } else { 0.0 });
        let dense = Matrix::from(wide.clone());
        let sparse = Matrix::from(dense.compressed().unwrap());
        assert!(sparse.compressed().is_none());
        assert!(Matrix::from(Dense::identity(3)).compressed().is_none());
        let w: Vec<f64> = (0..21).map(|j| f64::from(j) - 4.5).collect();
        for x in [&dense, &sparse] {
            let f = x.with_ones().unwrap().mul_vec(&w);
            for (i, f) in f.iter().enumerate() {
                assert!((f - vector::dot(wide.row(i), &w[..20]) - w[20]).abs() < 1e-12);
            }
        }
    }

    /// The same matrix stored both ways.
    pub(in crate::linalg) fn pair() -> (Matrix, Matrix) {
        let dense = Dense::from_fn(5000, 4, |i, j| {
            let v = (i * 31 + j * 17) % 9;
            if v < 5 { 0.0 } else { v as f64 - 6.0 }
        });
        let (mut starts, mut indices, mut values) = (vec![0], vec![], vec![]);
        for i in 0..dense.nrows() {
            for (j, &v) in dense.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(u32::try_from(j).unwrap());
                values.push(v);
            }
            starts.push(indices.len());
        }
        (dense.into(), Csr::new(4, starts, indices, values).unwrap().into())
    }

    #[test]
    fn dense_and_sparse_agree_on_every_operation() {
        let (dense, sparse) = pair();
        assert_eq!(sparse.to_dense(), dense.to_dense());
        let w = [1.0, -2.0, 3.0, 0.5];
        assert_eq!(dense.mul_vec(&w), sparse.mul_vec(&w));
        let r: Vec<f64> = (0..5000).map(|i| f64::from(i % 7 - 3)).collect();
        assert_eq!(dense.tr_mul_vec(&r), sparse.tr_mul_vec(&r));
        assert_eq!(dense.weighted_gram(&r), sparse.weighted_gram(&r));
        let few = [3, 1, 4999];
        let (d, s) = (dense.select_rows(&few), sparse.select_rows(&few));
        assert_eq!(d.outer_gram(), s.outer_gram());
        assert_eq!(d.scale_columns(&w).to_dense(), s.scale_columns(&w).to_dense());
        assert_eq!(d.transpose().to_dense(), s.transpose().to_dense());
        let (d, s) = (dense.select_columns(&[0, 3]), sparse.select_columns(&[0, 3]));
        assert_eq!(d.to_dense(), s.to_dense());
        assert_eq!(d.to_dense().column(1), dense.to_dense().column(3));
    }
}
