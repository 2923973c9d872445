//! A dense matrix stored by rows.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use std::any::Any;
use std::sync::Arc;

use faer::linalg::matmul::{matmul, triangular};
use faer::{Accum, MatMut, MatRef, Par};

use super::factor::clear_registers;
use super::storage::Storage;
use super::vector;

/// Row-major dense matrix.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dense {
    nrows: usize,
    ncols: usize,
    data: Storage,
}

impl Dense {
    /// All zeros.
    pub fn zeros(nrows: usize, ncols: usize) -> Self {
        Self { nrows, ncols, data: vec![0.0; nrows * ncols].into() }
    }

    /// The identity of order `n`.
    pub fn identity(n: usize) -> Self {
        Self::from_fn(n, n, |i, j| f64::from(u8::from(i == j)))
    }

    /// Takes over `data`, which holds the rows one after the other.
    ///
    /// # Panics
    /// If `data.len() != nrows * ncols`.
    pub fn from_rows(nrows: usize, ncols: usize, data: Vec<f64>) -> Self {
        assert_eq!(data.len(), nrows * ncols, "a {nrows} x {ncols} matrix");
        Self { nrows, ncols, data: data.into() }
    }

    /// As [`Dense::from_rows`] without a copy: `owner` keeps `data` alive. The first change copies.
    ///
    /// `data` may be valid for no longer than `owner` lives: no reference leaves the matrix that outlives it.
    ///
    /// # Panics
    /// If `data.len() != nrows * ncols`.
    pub fn lent(
        nrows: usize,
        ncols: usize,
        data: &'static [f64],
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        assert_eq!(data.len(), nrows * ncols, "a {nrows} x {ncols} matrix");
        Self { nrows, ncols, data: Storage::Lent { data, owner } }
    }

    /// Entry (i, j) is `entry(i, j)`.
    pub fn from_fn(nrows: usize, ncols: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = vec![0.0; nrows * ncols];
        // Not by `extend`, which is a call for every row.
        for (i, row) in data.chunks_exact_mut(ncols.max(1)).enumerate() {
            for (j, out) in row.iter_mut().enumerate() {
                *out = entry(i, j);
            }
        }
        Self { nrows, ncols, data: data.into() }
    }

    /// Number of rows.
    #[inline]
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Number of columns.
    #[inline]
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// All entries, row by row.
    #[inline]
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// All entries, row by row.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [f64] {
        self.data.make_own()
    }

    /// Gives back the entries, row by row.
    pub fn into_data(self) -> Vec<f64> {
        self.data.into_own()
    }

    /// Row `i`.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.ncols..(i + 1) * self.ncols]
    }

    /// Row `i`.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        let ncols = self.ncols;
        &mut self.data.make_own()[i * ncols..(i + 1) * ncols]
    }

    /// Column `j`, copied.
    pub fn column(&self, j: usize) -> Vec<f64> {
        (0..self.nrows).map(|i| self[(i, j)]).collect()
    }

    /// The rows `rows`, in that order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let mut data = Vec::with_capacity(rows.len() * self.ncols);
        for &i in rows {
            data.extend_from_slice(self.row(i));
        }
        Self { nrows: rows.len(), ncols: self.ncols, data: data.into() }
    }

    /// The columns `first..last`.
    #[must_use]
    pub fn columns(&self, first: usize, last: usize) -> Self {
        Self::from_fn(self.nrows, last - first, |i, j| self[(i, first + j)])
    }

    /// The transpose, copied.
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self::from_fn(self.ncols, self.nrows, |i, j| self[(j, i)])
    }

    /// `self * v`.
    pub fn mul_vec(&self, v: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.nrows];
        vector::vectorized!(self.mul_rows(0, v, &mut out));
        out
    }

    /// `self' * v`.
    pub fn tr_mul_vec(&self, v: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.ncols];
        vector::vectorized!(self.add_rows(0..self.nrows, v, &mut out));
        out
    }

    /// `self * other`.
    #[must_use]
    pub fn mul(&self, other: &Self) -> Self {
        product(self.view(), other.view())
    }

    /// `self' * other`.
    #[must_use]
    pub fn tr_mul(&self, other: &Self) -> Self {
        product(self.view().transpose(), other.view())
    }

    /// `self * other'`.
    #[must_use]
    pub fn mul_tr(&self, other: &Self) -> Self {
        product(self.view(), other.view().transpose())
    }

    /// `self * other'` without the first `skip` columns of both.
    #[must_use]
    pub fn mul_tr_beyond(&self, other: &Self, skip: usize) -> Self {
        let skip = skip.min(self.ncols);
        product(self.view().get(.., skip..), other.view().get(.., skip..).transpose())
    }

    /// `self * self'`, both triangles filled.
    #[must_use]
    pub fn outer_gram(&self) -> Self {
        let mut out = Self::zeros(self.nrows, self.nrows);
        self.add_outer_gram(&mut out);
        out.mirror_lower();
        out
    }

    /// Adds the lower triangle of `self * self'` to that of `out`.
    pub fn add_outer_gram(&self, out: &mut Self) {
        add_lower(out, self.view(), self.view().transpose());
        clear_registers();
    }

    /// `self' * diag(d) * self`, both triangles filled; `d` may have any sign.
    #[must_use]
    pub fn weighted_gram(&self, d: &[f64]) -> Self {
        let mut out = Self::zeros(self.ncols, self.ncols);
        self.add_weighted_gram(0..self.nrows, d, &mut out);
        out.mirror_lower();
        out
    }

    /// The products of the rows from `start` on with `w`. Four rows at a time: their sums do not wait for
    /// each other.
    #[inline(always)]
    pub(super) fn mul_rows(&self, start: usize, w: &[f64], out: &mut [f64]) {
        let (fours, rest) = out.as_chunks_mut::<4>();
        let mut i = start;
        for four in fours {
            // Not by `map`, which is not inlined into code for wider vectors.
            let rows = [self.row(i), self.row(i + 1), self.row(i + 2), self.row(i + 3)];
            *four = vector::four_dots(rows, w);
            i += 4;
        }
        for out in rest {
            *out = vector::dot(self.row(i), w);
            i += 1;
        }
    }

    /// Adds `r[i]` times row `i` to `out`, for all of `rows`. Four rows at a time: the sums keep their
    /// order but stay in registers.
    #[inline(always)]
    pub(super) fn add_rows(&self, rows: std::ops::Range<usize>, r: &[f64], out: &mut [f64]) {
        let mut i = rows.start;
        while i + 4 <= rows.end {
            let w = [r[i], r[i + 1], r[i + 2], r[i + 3]];
            let (a, b, c, d) = (self.row(i), self.row(i + 1), self.row(i + 2), self.row(i + 3));
            i += 4;
            if w == [0.0; 4] {
                continue;
            }
            let p = if a.len() < out.len() { a.len() } else { out.len() };
            let (a, b, c, d) = (&a[..p], &b[..p], &c[..p], &d[..p]);
            // Places are counted: a `zip` would be a call for every four rows.
            for (k, out) in out[..p].iter_mut().enumerate() {
                *out = (((*out + w[0] * a[k]) + w[1] * b[k]) + w[2] * c[k]) + w[3] * d[k];
            }
        }
        for (i, r) in (i..rows.end).zip(&r[i..]).filter(|(_, r)| **r != 0.0) {
            vector::axpy(*r, self.row(i), out);
        }
    }

    /// Adds the squared distances of some of the rows from `centre`, each times its entry of `r`; four rows at a time, so that
    /// the sums are not read and written for each.
    #[inline(always)]
    pub(crate) fn add_squares(
        &self,
        rows: std::ops::Range<usize>,
        r: &[f64],
        centre: &[f64],
        sums: &mut [f64],
    ) {
        let mut i = rows.start;
        while i + 4 <= rows.end {
            let four = [self.row(i), self.row(i + 1), self.row(i + 2), self.row(i + 3)];
            vector::add_squares(four, centre, [r[i], r[i + 1], r[i + 2], r[i + 3]], sums);
            i += 4;
        }
        for (i, weight) in (i..rows.end).zip(&r[i..]) {
            vector::add_squares([self.row(i)], centre, [*weight], sums);
        }
    }

    /// Adds `value` to every diagonal entry.
    pub fn add_diagonal(&mut self, value: f64) {
        for i in 0..self.nrows.min(self.ncols) {
            self[(i, i)] += value;
        }
    }

    /// Largest absolute entry.
    pub fn max_abs(&self) -> f64 {
        vector::norm_inf(&self.data)
    }

    /// Copies the lower triangle of a square matrix onto the upper one.
    pub fn mirror_lower(&mut self) {
        /// Rows and columns that are copied together, so that what is written column by column stays in cache.
        const TILE: usize = 8;
        let ncols = self.ncols;
        let data = self.data.make_own();
        for first in (0..self.nrows).step_by(TILE) {
            for left in (0..=first).step_by(TILE) {
                for i in first..self.nrows.min(first + TILE) {
                    for j in left..i.min(left + TILE) {
                        data[j * ncols + i] = data[i * ncols + j];
                    }
                }
            }
        }
    }

    pub(super) fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.data, self.nrows, self.ncols)
    }

    pub(super) fn view_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_row_major_slice_mut(self.data.make_own(), self.nrows, self.ncols)
    }

    pub(super) fn from_view(view: MatRef<'_, f64>) -> Self {
        let mut out = Self::zeros(view.nrows(), view.ncols());
        let ncols = out.ncols;
        let data = out.data_mut();
        for j in 0..ncols {
            for (i, v) in view.col(j).iter().enumerate() {
                data[i * ncols + j] = *v;
            }
        }
        out
    }
}

impl std::ops::Index<(usize, usize)> for Dense {
    type Output = f64;

    #[inline]
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[i * self.ncols + j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Dense {
    #[inline]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        let at = i * self.ncols + j;
        &mut self.data.make_own()[at]
    }
}

fn product(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Dense {
    let mut out = Dense::zeros(left.nrows(), right.ncols());
    matmul(out.view_mut(), Accum::Replace, left, right, 1.0, Par::Seq);
    clear_registers();
    out
}

/// Adds the lower triangle of `rows' * rows` to that of `out`.
pub(super) fn add_gram(out: &mut Dense, rows: MatRef<'_, f64>) {
    add_lower(out, rows.transpose(), rows);
    clear_registers();
}

/// Adds the lower triangle of `left * right` to that of `out`.
pub(super) fn add_lower(out: &mut Dense, left: MatRef<'_, f64>, right: MatRef<'_, f64>) {
    use triangular::BlockStructure::{Rectangular, TriangularLower};
    triangular::matmul(
        out.view_mut(),
        TriangularLower,
        Accum::Add,
        left,
        Rectangular,
        right,
        Rectangular,
        1.0,
        Par::Seq,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_memory_is_read_in_place_and_copied_on_the_first_change() {
        static ENTRIES: [f64; 4] = [1.0, 2.0, 3.0, 4.0];
        let owner = Arc::new(());
        let lent = Dense::lent(2, 2, &ENTRIES, owner.clone());
        assert_eq!(lent.data().as_ptr(), ENTRIES.as_ptr());
        assert_eq!(lent, Dense::from_rows(2, 2, ENTRIES.to_vec()));
        let mut changed = lent.clone();
        assert_eq!(Arc::strong_count(&owner), 3);
        changed[(0, 1)] = 7.0;
        assert_eq!(changed.data(), [1.0, 7.0, 3.0, 4.0]);
        assert_eq!(lent.into_data(), ENTRIES);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}
