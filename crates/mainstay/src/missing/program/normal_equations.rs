//! The normal equations in the weights and the intercept.
//!
//! Eliminating the rows' variables leaves
//! ```math
//! S = \mathrm{diag}\Big(D^{\mathrm{box}}_j + \sum_i E_e a_e^2\Big)
//! {} - \sum_i \frac{u_iu_i^\top}{A_i} + \sum_i \frac{A_i}{\det_i}\,\tilde q_i\tilde q_i^\top,
//! ```
//! `$E = \tau q/(\tau\alpha + qs)$`, `$u_i = (v_jE_ea_e)_j$`, `$\tilde q_i = (F_ea_e)_j - (G_i/A_i)u_i$`, with `$y_i$` as entry of
//! `$\tilde q_i$` at the intercept. With few columns, or fewer than twice the rows, `$S$` is formed and factored. Otherwise it
//! is kept as diagonal plus low rank and solved through two systems of the order of the rows.
//!
//! The differences `$D - u^2/A$` that remain on diagonals are summed from what is left after the largest term,
//! never formed by subtraction: one entry of a row often holds nearly all of `$A_i$`.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use rayon::prelude::*;

use super::block::{Block, add, pick, place};
use super::low_rank::LowRank;
use crate::error::{Error, Result};
use crate::linalg::vector::{self, vectorized};
use crate::linalg::{Cholesky, Dense};

/// Up to this many columns `$S$` is formed, whatever the number of rows: it is accurate and cheap.
const FORMED_COLUMNS: usize = 300;
/// With more columns than this many times the rows `$S$` is not formed: two systems of the order of the rows
/// are cheaper.
const WIDE: usize = 2;
/// Share of nonzeros above which rows are summed as dense ones.
const DENSE: f64 = 0.4;

/// A factored `$S$`.
#[derive(Debug)]
pub(super) enum System {
    Formed(Formed),
    LowRank(Box<LowRank>),
}

impl System {
    /// Factors `$S$` at the present point; `boxes` is the diagonal `$D^{\mathrm{box}}$`.
    pub(super) fn new(
        blocks: &[Block],
        values: &[f64],
        boxes: &[f64],
        intercept: bool,
    ) -> Result<Self> {
        let rows: usize = blocks.iter().map(Block::rows).sum();
        if Self::is_low_rank(rows, boxes.len()) {
            LowRank::new(blocks, values, boxes, intercept).map(|s| Self::LowRank(Box::new(s)))
        } else {
            Formed::new(blocks, values, boxes, intercept).map(Self::Formed)
        }
    }

    /// Whether so many columns come with so few rows that `$S$` is never formed.
    pub(super) fn is_low_rank(rows: usize, columns: usize) -> bool {
        columns > FORMED_COLUMNS && columns > WIDE * rows
    }

    /// Solves `$S\,(dw, db) = (\mathrm{rhs}, \mathrm{rhs}_b)$`; `rhs` becomes `$dw$`, and `$db$` is returned.
    pub(super) fn solve(&self, rhs: &mut [f64], rhs_b: f64) -> f64 {
        match self {
            Self::Formed(system) => system.solve(rhs, rhs_b),
            Self::LowRank(system) => system.solve(rhs, rhs_b),
        }
    }
}

#[derive(Debug)]
pub(super) struct Formed {
    factor: Cholesky,
    /// One over the root of the diagonal: the matrix is factored with diagonal 1.
    scale: Vec<f64>,
    intercept: bool,
}

impl Formed {
    fn new(blocks: &[Block], values: &[f64], boxes: &[f64], intercept: bool) -> Result<Self> {
        /// Partial matrices summed side by side take at most this many entries.
        const PARTS: usize = 1 << 25;
        let p = boxes.len();
        let order = p + usize::from(intercept);
        let entries: usize = blocks.iter().map(|b| b.all_columns.len()).sum();
        let rows: usize = blocks.iter().map(Block::rows).sum();
        let dense = entries as f64 > DENSE * (rows * p) as f64;
        let groups = (PARTS / (order * order)).clamp(1, 8).min(blocks.len());
        let parts: Vec<(Dense, Vec<f64>)> = blocks
            .par_chunks(blocks.len().div_ceil(groups))
            .map(|group| {
                let mut sum = (Dense::zeros(order, order), vec![0.0; order]);
                for block in group {
                    vectorized!({
                        if dense {
                            block.add_dense(values, intercept, &mut sum);
                        } else {
                            block.add_sparse(values, intercept, &mut sum);
                        }
                    });
                }
                sum
            })
            .collect();
        let mut parts = parts.into_iter();
        let (mut matrix, mut diagonal) = parts.next().unwrap_or_default();
        for (part, diagonal_part) in parts {
            vector::axpy(1.0, part.data(), matrix.data_mut());
            vector::axpy(1.0, &diagonal_part, &mut diagonal);
        }
        for (d, b) in diagonal.iter_mut().zip(boxes) {
            *d += b;
        }
        Self::factored(matrix, &diagonal, intercept)
    }

    /// Scales to a diagonal of 1, and factors.
    fn factored(mut matrix: Dense, diagonal: &[f64], intercept: bool) -> Result<Self> {
        let scale: Vec<f64> = diagonal.iter().map(|d| 1.0 / d.sqrt()).collect();
        for (i, at) in scale.iter().enumerate() {
            for (entry, s) in matrix.row_mut(i)[..i].iter_mut().zip(&scale) {
                *entry *= at * s;
            }
        }
        Ok(Self { factor: regularised(&mut matrix)?, scale, intercept })
    }

    fn solve(&self, rhs: &mut [f64], rhs_b: f64) -> f64 {
        let mut x: Vec<f64> = rhs.iter().zip(&self.scale).map(|(r, s)| r * s).collect();
        if self.intercept {
            x.push(rhs_b * self.scale[rhs.len()]);
        }
        self.factor.solve_in_place(&mut x);
        for ((out, x), s) in rhs.iter_mut().zip(&x).zip(&self.scale) {
            *out = x * s;
        }
        if self.intercept { x[rhs.len()] * self.scale[rhs.len()] } else { 0.0 }
    }
}

/// What is added to a diagonal of 1, the smallest first, until the factorisation succeeds.
const RIDGES: [f64; 4] = [1e-14, 1e-12, 1e-10, 1e-8];

/// Factors a matrix whose diagonal is to be 1 (only the triangle below it is read), adding as little to the
/// diagonal as it takes.
pub(super) fn regularised(matrix: &mut Dense) -> Result<Cholesky> {
    for ridge in RIDGES {
        for i in 0..matrix.nrows() {
            matrix[(i, i)] = 1.0 + ridge;
        }
        if let Some(factor) = Cholesky::new(matrix) {
            return Ok(factor);
        }
    }
    Err(Error::Numerical("normal equations of the interior point method".into()))
}

/// One row of `$U$` and `$\tilde Q$`, and what it adds to diagonals, for all its nonzeros (inactive ones have `$E = 0$`, `$F = 1$`).
#[derive(Default)]
pub(super) struct RowTerms {
    pub u: Vec<f64>,
    pub q: Vec<f64>,
    /// `$E a^2$`.
    pub ea2: Vec<f64>,
    /// Share of the entry in `$A_i$`, and that of all the others.
    pub share: Vec<f64>,
    pub rest: Vec<f64>,
    /// Values of the features, where they must be collected.
    values: Vec<f64>,
}

impl Block {
    /// Fills the terms of row `i`.
    #[inline(always)]
    pub(super) fn terms(&self, i: usize, values: &[f64], terms: &mut RowTerms) {
        let pivot = &self.pivots[i];
        let ratio = pivot.g / pivot.a;
        if self.all_active(i) {
            return self.terms_of_all(i, values, terms);
        }
        let (inactive, columns) = self.inactive(i);
        let RowTerms { u, q, ea2, share, rest, .. } = terms;
        for (part, fill) in [(&mut *u, 0.0), (ea2, 0.0), (share, 0.0), (rest, 1.0)] {
            part.clear();
            part.resize(columns.len(), fill);
        }
        q.clear();
        q.extend_from_slice(inactive);
        let RowTerms { u, q, ea2, share, rest, .. } = terms;
        for e in self.starts[i]..self.starts[i + 1] {
            let k = self.places[e] as usize;
            let (a, v) = (self.a[e], values[self.columns[e] as usize]);
            let curvature = self.tau[e] * self.q[e] * self.inverse[e];
            u[k] = v * curvature * a;
            q[k] = self.f[e] * a - ratio * u[k];
            ea2[k] = curvature * a * a;
            share[k] = curvature * v * v / pivot.a;
            rest[k] = if e == pivot.top { pivot.rest / pivot.a } else { 1.0 - share[k] };
        }
    }

    /// The same where every entry is active: nothing to sort in.
    #[inline(always)]
    fn terms_of_all(&self, i: usize, values: &[f64], terms: &mut RowTerms) {
        let row = self.starts[i]..self.starts[i + 1];
        let n = row.len();
        let pivot = &self.pivots[i];
        let (ratio, inverse_a) = (pivot.g / pivot.a, 1.0 / pivot.a);
        let RowTerms { u, q, ea2, share, rest, values: room } = terms;
        let v = &pick(values, &self.columns[row.clone()], room)[..n];
        for part in [&mut *u, q, ea2, share, rest] {
            part.resize(n, 0.0);
        }
        let (u, q, ea2) = (&mut u[..n], &mut q[..n], &mut ea2[..n]);
        let (share, rest) = (&mut share[..n], &mut rest[..n]);
        let (a, f) = (&self.a[row.clone()][..n], &self.f[row.clone()][..n]);
        let (tau, deleted) = (&self.tau[row.clone()][..n], &self.q[row.clone()][..n]);
        let inverse = &self.inverse[row.clone()][..n];
        for k in 0..n {
            let curvature = tau[k] * deleted[k] * inverse[k];
            u[k] = v[k] * curvature * a[k];
            q[k] = f[k] * a[k] - ratio * u[k];
            ea2[k] = curvature * a[k] * a[k];
            share[k] = curvature * v[k] * v[k] * inverse_a;
            rest[k] = 1.0 - share[k];
        }
        if row.contains(&pivot.top) {
            rest[pivot.top - row.start] = pivot.rest / pivot.a;
        }
    }

    /// Columns of all nonzeros of row `i`.
    pub(super) fn all_columns(&self, i: usize) -> &[u32] {
        &self.all_columns[self.all_starts[i]..self.all_starts[i + 1]]
    }

    #[inline(always)]
    fn add_sparse(&self, values: &[f64], intercept: bool, sum: &mut (Dense, Vec<f64>)) {
        let (matrix, diagonal) = sum;
        let mut terms = RowTerms::default();
        for i in 0..self.rows() {
            self.terms(i, values, &mut terms);
            let pivot = &self.pivots[i];
            let (by_u, by_q) = (-1.0 / pivot.a, pivot.a / pivot.det);
            let columns = self.all_columns(i);
            for (k, &column) in columns.iter().enumerate() {
                let (u, q) = (by_u * terms.u[k], by_q * terms.q[k]);
                diagonal[column as usize] += terms.ea2[k] * terms.rest[k] + q * terms.q[k];
                let row = matrix.row_mut(column as usize);
                for ((&other, uk), qk) in columns[..k].iter().zip(&terms.u).zip(&terms.q) {
                    row[other as usize] += q * qk + u * uk;
                }
            }
            if intercept {
                let last = diagonal.len() - 1;
                diagonal[last] += by_q;
                let row = matrix.row_mut(last);
                for (&column, qk) in columns.iter().zip(&terms.q) {
                    row[column as usize] += by_q * self.y[i] * qk;
                }
            }
        }
    }

    #[inline(always)]
    fn add_dense(&self, values: &[f64], intercept: bool, sum: &mut (Dense, Vec<f64>)) {
        /// Rows laid out at a time.
        const HEIGHT: usize = 128;
        let (matrix, diagonal) = sum;
        let order = diagonal.len();
        let mut terms = RowTerms::default();
        for first in (0..self.rows()).step_by(HEIGHT) {
            let rows = first..self.rows().min(first + HEIGHT);
            let mut slab = Dense::zeros(2 * rows.len(), order);
            let mut weights = Vec::with_capacity(2 * rows.len());
            for (k, i) in rows.enumerate() {
                self.terms(i, values, &mut terms);
                let pivot = &self.pivots[i];
                let by_q = pivot.a / pivot.det;
                weights.extend([-1.0 / pivot.a, by_q]);
                for k in 0..terms.q.len() {
                    let q = terms.q[k];
                    terms.ea2[k] = terms.ea2[k] * terms.rest[k] + by_q * q * q;
                }
                let columns = self.all_columns(i);
                place(&terms.u, columns, slab.row_mut(2 * k));
                place(&terms.q, columns, slab.row_mut(2 * k + 1));
                add(1.0, &terms.ea2, columns, diagonal);
                if intercept {
                    slab[(2 * k + 1, order - 1)] = self.y[i];
                    diagonal[order - 1] += by_q;
                }
            }
            slab.add_weighted_gram(0..slab.nrows(), &weights, matrix);
        }
    }
}
