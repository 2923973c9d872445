//! Feature matrices: dense or compressed sparse rows, behind one set of operations.

use rayon::prelude::*;

use super::{Dense, vector};
use crate::error::{Error, Result};

/// Rows per parallel task. Fixed, and partial results are added in order, so that sums do not
/// depend on the number of threads.
const CHUNK: usize = 2048;

/// Compressed sparse rows; column indices are strictly increasing within a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Csr {
    ncols: usize,
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
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

    fn select_rows(&self, rows: &[usize]) -> Self {
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
    fn select_columns(&self, columns: &[usize]) -> Self {
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

    fn transpose(&self) -> Self {
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
}

/// One row of a [`Matrix`].
#[derive(Debug, Clone, Copy)]
pub enum Row<'a> {
    /// Every entry.
    Dense(&'a [f64]),
    /// Column indices and the values there; all other entries are zero.
    Sparse(&'a [u32], &'a [f64]),
}

impl<'a> Row<'a> {
    /// Inner product with a dense vector.
    #[inline]
    pub fn dot(self, w: &[f64]) -> f64 {
        match self {
            Self::Dense(values) => vector::dot(values, w),
            Self::Sparse(indices, values) => {
                indices.iter().zip(values).map(|(&j, v)| v * w[j as usize]).sum()
            }
        }
    }

    /// `out += scale * self`.
    #[inline]
    pub fn add_scaled_to(self, scale: f64, out: &mut [f64]) {
        match self {
            Self::Dense(values) => vector::axpy(scale, values, out),
            Self::Sparse(indices, values) => {
                for (&j, v) in indices.iter().zip(values) {
                    out[j as usize] += scale * v;
                }
            }
        }
    }

    /// Number of entries stored.
    pub fn stored(self) -> usize {
        match self {
            Self::Dense(values) => values.len(),
            Self::Sparse(indices, _) => indices.len(),
        }
    }

    /// (column, value) of every stored entry; a dense row yields its zeros too.
    pub fn entries(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        let (indices, values) = match self {
            Self::Dense(values) => (None, values),
            Self::Sparse(indices, values) => (Some(indices), values),
        };
        values.iter().enumerate().map(move |(k, &v)| (indices.map_or(k, |i| i[k] as usize), v))
    }

    /// Squared Euclidean norm.
    pub fn norm_sq(self) -> f64 {
        match self {
            Self::Dense(values) | Self::Sparse(_, values) => vector::norm_sq(values),
        }
    }
}

/// A feature matrix: one row a sample, one column a feature.
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
        let ncols = u32::try_from(dense.ncols()).ok()?;
        if ncols < 16 || stored as f64 >= MOSTLY * dense.data().len() as f64 {
            return None;
        }
        let mut out = Csr {
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
            Self::Sparse(m) => {
                let last = u32::try_from(p).ok()?;
                let mut out = Csr { ncols: p + 1, starts: vec![0], ..Csr::default() };
                out.indices.reserve(m.values.len() + n);
                out.values.reserve(m.values.len() + n);
                for i in 0..n {
                    let (indices, values) = m.row(i);
                    out.indices.extend_from_slice(indices);
                    out.indices.push(last);
                    out.values.extend_from_slice(values);
                    out.values.push(1.0);
                    out.starts.push(out.indices.len());
                }
                Some(out.into())
            }
        }
    }

    /// `self * w`.
    pub fn mul_vec(&self, w: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.nrows()];
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            vector::vectorized(|| {
                let start = chunk * CHUNK;
                if let Self::Dense(m) = self {
                    return m.mul_rows(start, w, out);
                }
                for (k, out) in out.iter_mut().enumerate() {
                    *out = self.row(start + k).dot(w);
                }
            });
        });
        out
    }

    /// `self' * r`.
    pub fn tr_mul_vec(&self, r: &[f64]) -> Vec<f64> {
        self.reduce_chunks(
            self.ncols(),
            |rows, out: &mut Vec<f64>| self.add_rows(rows, r, out),
            |len| vec![0.0; len],
            |total, part| vector::axpy(1.0, &part, total),
        )
    }

    /// `self' * r` of two vectors in one pass over the rows, which is most of the cost.
    pub fn tr_mul_pair(&self, r: [&[f64]; 2]) -> [Vec<f64>; 2] {
        /// Few enough for the fast cache, a multiple of the rows that are added together.
        const BLOCK: usize = 32;
        self.reduce_chunks(
            self.ncols(),
            |rows, out: &mut [Vec<f64>; 2]| {
                for start in rows.clone().step_by(BLOCK) {
                    let block = start..rows.end.min(start + BLOCK);
                    for (r, out) in r.iter().zip(&mut *out) {
                        self.add_rows(block.clone(), r, out);
                    }
                }
            },
            |len| [vec![0.0; len], vec![0.0; len]],
            |total, part| {
                for (total, part) in total.iter_mut().zip(&part) {
                    vector::axpy(1.0, part, total);
                }
            },
        )
    }

    /// Adds `r` times some of the rows to `out`.
    fn add_rows(&self, rows: std::ops::Range<usize>, r: &[f64], out: &mut [f64]) {
        match self {
            Self::Dense(m) => vector::vectorized(|| m.add_rows(rows, r, out)),
            Self::Sparse(_) => {
                for i in rows.filter(|&i| r[i] != 0.0) {
                    self.row(i).add_scaled_to(r[i], out);
                }
            }
        }
    }

    /// `self' * diag(d) * self`, both triangles; `d` may have any sign. Order `ncols`.
    pub fn weighted_gram(&self, d: &[f64]) -> Dense {
        let order = self.ncols();
        let mut gram = self.reduce_chunks(
            order,
            |rows, out: &mut Dense| match self {
                Self::Dense(m) => m.add_weighted_gram(rows, d, out),
                Self::Sparse(m) => {
                    for i in rows {
                        add_sparse_outer(m.row(i), d[i], out);
                    }
                }
            },
            |order| Dense::zeros(order, order),
            |total, part| vector::axpy(1.0, part.data(), total.data_mut()),
        );
        gram.mirror_lower();
        gram
    }

    /// `self * self'`, both triangles. Order `nrows`.
    pub fn outer_gram(&self) -> Dense {
        match self {
            Self::Dense(m) => m.outer_gram(),
            Self::Sparse(m) => {
                let mut out = Dense::zeros(m.nrows(), m.nrows());
                let mut scattered = vec![0.0; m.ncols()];
                for i in 0..m.nrows() {
                    self.row(i).add_scaled_to(1.0, &mut scattered);
                    for j in 0..=i {
                        out[(i, j)] = self.row(j).dot(&scattered);
                    }
                    for &j in m.row(i).0 {
                        scattered[j as usize] = 0.0;
                    }
                }
                out.mirror_lower();
                out
            }
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

    /// Sums `work` over fixed chunks of rows, in parallel, adding the parts in row order.
    fn reduce_chunks<T: Send>(
        &self,
        size: usize,
        work: impl Fn(std::ops::Range<usize>, &mut T) + Sync,
        zero: impl Fn(usize) -> T + Sync,
        add: impl Fn(&mut T, T),
    ) -> T {
        /// A bounded number of partial results keeps memory independent of n.
        const IN_FLIGHT: usize = 8;
        let n = self.nrows();
        let part = |chunk: usize| {
            let mut out = zero(size);
            work(chunk * CHUNK..n.min((chunk + 1) * CHUNK), &mut out);
            out
        };
        let chunks = n.div_ceil(CHUNK).max(1);
        let mut total = part(0);
        let mut next = 1;
        while next < chunks {
            let last = chunks.min(next + IN_FLIGHT);
            let parts: Vec<T> = (next..last).into_par_iter().map(part).collect();
            for p in parts {
                add(&mut total, p);
            }
            next = last;
        }
        total
    }
}

fn add_sparse_outer((indices, values): (&[u32], &[f64]), weight: f64, out: &mut Dense) {
    if weight == 0.0 {
        return;
    }
    for (a, (&i, &v)) in indices.iter().zip(values).enumerate() {
        let scaled = weight * v;
        let row = out.row_mut(i as usize);
        for (&j, &u) in indices[..=a].iter().zip(values) {
            row[j as usize] += scaled * u;
        }
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_pair_of_products_is_two_products() {
        let (dense, sparse) = pair();
        let r: Vec<f64> = (0..dense.nrows()).map(|i| (i % 13) as f64 - 5.5).collect();
        let s: Vec<f64> = (0..dense.nrows()).map(|i| ((i % 7) as f64).sqrt()).collect();
        for x in [&dense, &sparse] {
            assert_eq!(x.tr_mul_pair([&r, &s]), [x.tr_mul_vec(&r), x.tr_mul_vec(&s)]);
        }
    }

    fn pair() -> (Matrix, Matrix) {
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

    #[test]
    fn malformed_sparse_input_is_refused() {
        assert!(Csr::new(2, vec![0, 1], vec![2], vec![1.0]).is_err());
        assert!(Csr::new(2, vec![0, 2], vec![1, 1], vec![1.0, 1.0]).is_err());
        assert!(Csr::new(2, vec![0, 2, 1], vec![0], vec![1.0]).is_err());
        assert!(Csr::new(2, vec![], vec![], vec![]).is_err());
    }
}
