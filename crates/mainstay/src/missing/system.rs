//! The normal equations in the weights and the intercept.
//!
//! Eliminating the rows' variables leaves
//! $$S = \mathrm{diag}\Big(D^{\mathrm{box}}_j + \sum_i E_e a_e^2\Big)
//! {} - \sum_i \frac{u_iu_i^\top}{A_i} + \sum_i \frac{A_i}{\det_i}\,\tilde q_i\tilde q_i^\top,$$
//! $E = \tau q/(\tau\alpha + qs)$, $u_i = (v_jE_ea_e)_j$, $\tilde q_i = (F_ea_e)_j - (G_i/A_i)u_i$, with $y_i$ as entry of
//! $\tilde q_i$ at the intercept. With few columns, or fewer than twice the rows, $S$ is formed and factored. Otherwise it
//! is kept as diagonal plus low rank and solved through two systems of the order of the rows.
//!
//! The differences $D - u^2/A$ that remain on diagonals are summed from what is left after the largest term,
//! never formed by subtraction: one entry of a row often holds nearly all of $A_i$.

use rayon::prelude::*;

use super::block::Block;
use super::low_rank::LowRank;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, vector};

/// Up to this many columns $S$ is formed whatever the number of rows: it is accurate and cheap.
const NARROW: usize = 300;

/// A factored $S$.
#[derive(Debug)]
pub(super) enum System {
    Formed(Formed),
    LowRank(Box<LowRank>),
}

impl System {
    /// Factors $S$ at the present point; `boxes` is the diagonal $D^{\mathrm{box}}$.
    pub(super) fn new(
        blocks: &[Block],
        values: &[f64],
        boxes: &[f64],
        intercept: bool,
    ) -> Result<Self> {
        let rows: usize = blocks.iter().map(Block::rows).sum();
        if boxes.len() > NARROW && boxes.len() > 2 * rows {
            LowRank::new(blocks, values, boxes, intercept).map(|s| Self::LowRank(Box::new(s)))
        } else {
            Formed::new(blocks, values, boxes, intercept).map(Self::Formed)
        }
    }

    /// Solves $S\,(dw, db) = (\mathrm{rhs}, \mathrm{rhs}_b)$; `rhs` becomes $dw$, and $db$ is returned.
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
        let entries: usize = blocks.iter().map(|b| b.a.len()).sum();
        let rows: usize = blocks.iter().map(Block::rows).sum();
        let dense = entries as f64 > 0.4 * (rows * p) as f64;
        let groups = (PARTS / (order * order)).clamp(1, 8).min(blocks.len());
        let parts: Vec<(Dense, Vec<f64>)> = blocks
            .par_chunks(blocks.len().div_ceil(groups))
            .map(|group| {
                let mut sum = (Dense::zeros(order, order), vec![0.0; order]);
                for block in group {
                    if dense {
                        block.add_dense(values, intercept, &mut sum);
                    } else {
                        block.add_sparse(values, intercept, &mut sum);
                    }
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
        let scale: Vec<f64> = diagonal.iter().map(|d| 1.0 / d.sqrt()).collect();
        for i in 0..order {
            let at = scale[i];
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

/// Factors a matrix whose diagonal is to be 1 (only the triangle below it is read), adding as little to the
/// diagonal as it takes.
pub(super) fn regularised(matrix: &mut Dense) -> Result<Cholesky> {
    for ridge in [1e-14, 1e-12, 1e-10, 1e-8] {
        for i in 0..matrix.nrows() {
            matrix[(i, i)] = 1.0 + ridge;
        }
        if let Some(factor) = Cholesky::new(matrix) {
            return Ok(factor);
        }
    }
    Err(Error::Numerical("normal equations of the interior point method".into()))
}

/// One row of $U$ and $\tilde Q$, entry by entry.
#[derive(Default)]
pub(super) struct RowTerms {
    pub u: Vec<f64>,
    pub q: Vec<f64>,
}

impl Block {
    /// Fills $u_i$ and $\tilde q_i$; calls `diagonal(column, E a^2, share of A, rest of A / A)` for every entry.
    pub(super) fn terms(
        &self,
        i: usize,
        values: &[f64],
        terms: &mut RowTerms,
        mut diagonal: impl FnMut(usize, f64, f64, f64),
    ) {
        let pivot = &self.pivots[i];
        let ratio = pivot.g / pivot.a;
        terms.u.clear();
        terms.q.clear();
        for e in self.starts[i]..self.starts[i + 1] {
            let j = self.columns[e] as usize;
            let (a, v) = (self.a[e], values[j]);
            let curvature = self.tau[e] * self.q[e] * self.inverse[e];
            let u = v * curvature * a;
            let share = curvature * v * v;
            let rest = if e == pivot.top { pivot.rest } else { pivot.a - share };
            diagonal(j, curvature * a * a, share / pivot.a, rest / pivot.a);
            terms.u.push(u);
            terms.q.push(self.f[e] * a - ratio * u);
        }
    }

    fn add_sparse(&self, values: &[f64], intercept: bool, sum: &mut (Dense, Vec<f64>)) {
        let (matrix, diagonal) = sum;
        let mut terms = RowTerms::default();
        for i in 0..self.rows() {
            self.terms(i, values, &mut terms, |j, ea2, _, rest| diagonal[j] += ea2 * rest);
            let pivot = &self.pivots[i];
            let (by_u, by_q) = (-1.0 / pivot.a, pivot.a / pivot.det);
            let columns = &self.columns[self.starts[i]..self.starts[i + 1]];
            for (k, &column) in columns.iter().enumerate() {
                let (u, q) = (by_u * terms.u[k], by_q * terms.q[k]);
                diagonal[column as usize] += q * terms.q[k];
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
                self.terms(i, values, &mut terms, |j, ea2, _, rest| diagonal[j] += ea2 * rest);
                let pivot = &self.pivots[i];
                let by_q = pivot.a / pivot.det;
                weights.extend([-1.0 / pivot.a, by_q]);
                let columns = &self.columns[self.starts[i]..self.starts[i + 1]];
                for ((&column, u), q) in columns.iter().zip(&terms.u).zip(&terms.q) {
                    slab[(2 * k, column as usize)] = *u;
                    slab[(2 * k + 1, column as usize)] = *q;
                    diagonal[column as usize] += by_q * q * q;
                }
                if intercept {
                    slab[(2 * k + 1, order - 1)] = self.y[i];
                    diagonal[order - 1] += by_q;
                }
            }
            slab.add_weighted_gram(0..slab.nrows(), &weights, matrix);
        }
    }
}
