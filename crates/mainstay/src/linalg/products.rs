//! Products of feature matrices with vectors and with themselves, in parallel over fixed chunks of rows.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use std::ops::Range;

use rayon::prelude::*;

use super::{ColumnRanges, Dense, Matrix, vector};

/// Rows per parallel task. Fixed, and partial results are added in order, so that sums do not
/// depend on the number of threads.
const CHUNK: usize = 2048;
/// Rows that are looked at twice while they are in the fast cache; a multiple of the rows that are added together.
const BLOCK: usize = 32;

impl Matrix {
    /// `self * w`.
    pub fn mul_vec(&self, w: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.nrows()];
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            vector::vectorized!({
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

    /// `self' * r` with the bits of [`Matrix::tr_mul_vec`], and for dense rows, in the same pass, the range of every column over
    /// the rows whose entry of `r` is not zero, and the squared distances of its entries from `pivot`, each times its entry of
    /// `r`, where there is a pivot.
    pub fn column_pass(&self, r: &[f64], pivot: Option<&[f64]>) -> ColumnPass {
        let p = self.ncols();
        let Self::Dense(m) = self else {
            return ColumnPass { sums: self.tr_mul_vec(r), ranges: None, squares: Vec::new() };
        };
        let (sums, squares, ranges) = self.reduce_chunks(
            p,
            |rows, out: &mut (Vec<f64>, Vec<f64>, ColumnRanges)| {
                vector::vectorized!(add_column_pass(m, rows, r, pivot, out));
            },
            |len| {
                (vec![0.0; len], vec![0.0; pivot.map_or(0, <[f64]>::len)], ColumnRanges::empty(len))
            },
            |total, part| {
                vector::axpy(1.0, &part.0, &mut total.0);
                vector::axpy(1.0, &part.1, &mut total.1);
                total.2.join(&part.2);
            },
        );
        ColumnPass { sums, ranges: Some(ranges), squares }
    }

    /// `self' * r` of two vectors in one pass over the rows, which is most of the cost.
    pub fn tr_mul_pair(&self, r: [&[f64]; 2]) -> [Vec<f64>; 2] {
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
            Self::Dense(m) => vector::vectorized!(m.add_rows(rows, r, out)),
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

/// What one pass over the rows tells about every column.
pub struct ColumnPass {
    /// Sums of entries times weights.
    pub sums: Vec<f64>,
    /// Ranges, of dense rows.
    pub ranges: Option<ColumnRanges>,
    /// Weighted squared distances from the pivot; empty without one, and of sparse rows.
    pub squares: Vec<f64>,
}

/// Adds `r` times some of the rows to the sums, and takes those whose entry of `r` is not zero into the ranges; squares
/// where there is a pivot. Rows are looked at again while they are in the fast cache.
#[inline(always)]
fn add_column_pass(
    x: &Dense,
    rows: Range<usize>,
    r: &[f64],
    pivot: Option<&[f64]>,
    (sums, squares, ranges): &mut (Vec<f64>, Vec<f64>, ColumnRanges),
) {
    for start in rows.clone().step_by(BLOCK) {
        let block = start..rows.end.min(start + BLOCK);
        let whole = block.len().is_multiple_of(4) && !r[block.clone()].contains(&0.0);
        if let (Some(pivot), true) = (pivot, whole) {
            for i in block.step_by(4) {
                let four = [x.row(i), x.row(i + 1), x.row(i + 2), x.row(i + 3)];
                let weights = [r[i], r[i + 1], r[i + 2], r[i + 3]];
                take_four(four, weights, pivot, sums, squares, &mut ranges.low, &mut ranges.high);
            }
            continue;
        }
        x.add_rows(block.clone(), r, sums);
        if let Some(pivot) = pivot {
            x.add_squares(block.clone(), r, pivot, squares);
        }
        if r[block.clone()].contains(&0.0) {
            for i in block.filter(|&i| r[i] != 0.0) {
                ranges.widen(x, i..i + 1);
            }
        } else {
            ranges.widen(x, block);
        }
    }
}

/// All of [`ColumnPass`] of four rows of weights that are not zero, each entry read once; the sums keep their order.
#[inline(always)]
fn take_four(
    rows: [&[f64]; 4],
    weights: [f64; 4],
    pivot: &[f64],
    sums: &mut [f64],
    squares: &mut [f64],
    low: &mut [f64],
    high: &mut [f64],
) {
    let p = sums.len();
    let (pivot, squares, low, high) =
        (&pivot[..p], &mut squares[..p], &mut low[..p], &mut high[..p]);
    // Never: it tells the compiler that no index is out of range.
    if rows.iter().any(|row| row.len() != p) {
        return;
    }
    for j in 0..p {
        let (mut sum, mut square, mut least, mut most) = (sums[j], squares[j], low[j], high[j]);
        for k in 0..4 {
            let v = rows[k][j];
            let apart = v - pivot[j];
            sum += weights[k] * v;
            square += weights[k] * apart * apart;
            least = if v < least { v } else { least };
            most = if v > most { v } else { most };
        }
        (sums[j], squares[j], low[j], high[j]) = (sum, square, least, most);
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
    use super::super::matrix::tests::pair;

    /// With and without a row of weight zero, which keeps its block from the loop that does all at once.
    #[test]
    fn one_pass_is_a_product_ranges_and_squares() {
        let (x, _) = pair();
        let (n, p) = (x.nrows(), x.ncols());
        let dense = x.to_dense();
        let pivot: Vec<f64> = (0..p).map(|j| j as f64 * 0.3 - 0.5).collect();
        for zero in [None, Some(n / 2)] {
            let weight = |i: usize| if Some(i) == zero { 0.0 } else { 1.0 + (i % 7) as f64 };
            let r: Vec<f64> = (0..n).map(weight).collect();
            let found = x.column_pass(&r, Some(&pivot));
            assert_eq!(found.sums, x.tr_mul_vec(&r));
            let ranges = found.ranges.unwrap();
            for j in 0..p {
                let own = (0..n).filter(|i| r[*i] != 0.0).map(|i| dense[(i, j)]);
                let (low, high) = own.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                    (f64::min(low, v), f64::max(high, v))
                });
                assert_eq!((ranges.low[j], ranges.high[j]), (low, high));
                let square: f64 = (0..n).map(|i| r[i] * (dense[(i, j)] - pivot[j]).powi(2)).sum();
                assert!((found.squares[j] - square).abs() <= 1e-10 * square.max(1.0));
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
}
