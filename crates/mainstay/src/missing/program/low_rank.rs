//! The normal equations with many more columns than rows.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::block::{Block, pick};
use super::normal_equations::{RowTerms, regularised};
use super::row_stack::RowStack;
use crate::error::Result;
use crate::linalg::vector::{self, vectorized};
use crate::linalg::{Cholesky, Dense, Matrix};

/// `$S = D - UU^\top + QQ^\top$` with one column of `$U$` and `$Q$` per row of data, and the intercept as a border.
///
/// `$\tilde D = D - UU^\top$` is positive definite and inverted through `$T = I - U^\top D^{-1}U$`, then `$S$` through
/// `$K = I + Q^\top\tilde D^{-1}Q$`; the intercept's pivot is `$\beta^\top K^{-1}\beta$`, where `$\beta$` is its row of `$Q$`.
#[derive(Debug)]
pub(super) struct LowRank {
    /// `$D^{-1/2}$`.
    root: Vec<f64>,
    /// `$D^{-1/2}U$` and `$D^{-1/2}Q$`, transposed, one above the other.
    stacked: Matrix,
    rows: usize,
    t: Cholesky,
    /// `$U^\top D^{-1}Q$`.
    cross: Dense,
    k: Cholesky,
    /// Sign of every stacked row in `$S$`, divided by the square of its scale.
    signs: Vec<f64>,
    /// `$S_{ww}^{-1}$` times the border, and the intercept's pivot.
    border: Option<(Vec<f64>, f64)>,
}

impl LowRank {
    pub(super) fn new(
        blocks: &[Block],
        values: &[f64],
        boxes: &[f64],
        intercept: bool,
    ) -> Result<Self> {
        let rows: usize = blocks.iter().map(Block::rows).sum();
        let columns = ColumnSums::new(blocks, values, boxes);
        let root: Vec<f64> = columns.total.iter().map(|d| 1.0 / d.sqrt()).collect();
        let (stacked, t_diagonal, beta) = stack(blocks, values, &columns, &root)?;
        let gram = stacked.outer_gram();
        let mut t = Dense::from_fn(rows, rows, |i, j| -gram[(i, j)]);
        let scale: Vec<f64> = t_diagonal.iter().map(|d| 1.0 / d.sqrt()).collect();
        let cross = Dense::from_fn(rows, rows, |i, j| scale[i] * gram[(i, rows + j)]);
        scale_below_diagonal(&mut t, &scale);
        let t = regularised(&mut t)?;
        let mut k = cross.tr_mul(&t.solve_matrix(&cross));
        for i in 0..rows {
            for j in 0..rows {
                k[(i, j)] += gram[(rows + i, rows + j)];
            }
        }
        k.add_diagonal(1.0);
        let k_scale: Vec<f64> = (0..rows).map(|i| 1.0 / k[(i, i)].sqrt()).collect();
        scale_below_diagonal(&mut k, &k_scale);
        let k = regularised(&mut k)?;
        // Rows of U and Q carry the scales that give T and K their unit diagonals.
        let cross = Dense::from_fn(rows, rows, |i, j| cross[(i, j)] * k_scale[j]);
        let stacked = stacked.scale_rows(|i| if i < rows { scale[i] } else { k_scale[i - rows] });
        let below = scale.iter().map(|s| -1.0 / (s * s));
        let signs = below.chain(k_scale.iter().map(|s| 1.0 / (s * s))).collect();
        let mut system = Self { root, stacked, rows, t, cross, k, signs, border: None };
        system.border = intercept.then(|| system.border(&beta, &k_scale));
        Ok(system)
    }

    /// `$S_{ww}^{-1}$` times the border, and the intercept's pivot, for the intercept's row `beta` of `$Q$`.
    fn border(&self, beta: &[f64], k_scale: &[f64]) -> (Vec<f64>, f64) {
        let scaled: Vec<f64> = beta.iter().zip(k_scale).map(|(b, s)| b * s).collect();
        let pivot = vector::dot(&scaled, &self.k.solve(&scaled));
        let unscaled: Vec<f64> = beta.iter().zip(k_scale).map(|(b, s)| b / s).collect();
        let mut border = self.times_q(&unscaled);
        self.solve_weights(&mut border);
        (border, pivot)
    }

    pub(super) fn solve(&self, rhs: &mut [f64], rhs_b: f64) -> f64 {
        let Some((border, pivot)) = &self.border else {
            self.solve_weights(rhs);
            return 0.0;
        };
        // The border's product with the right-hand side, by symmetry of the inverse.
        let db = (rhs_b - vector::dot(border, rhs)) / pivot;
        self.solve_weights(rhs);
        vector::axpy(-db, border, rhs);
        db
    }

    /// `$Q$` (scaled as stored) times a vector over the rows.
    fn times_q(&self, by: &[f64]) -> Vec<f64> {
        let mut weights = vec![0.0; self.rows];
        weights.extend_from_slice(by);
        let mut out = self.stacked.tr_mul_vec(&weights);
        for (v, root) in out.iter_mut().zip(&self.root) {
            *v /= root;
        }
        out
    }

    /// Overwrites `rhs` with `$S_{ww}^{-1}$` times it.
    ///
    /// The low-rank formula cancels where `$S$` is much larger than `$D$`. A few conjugate gradient steps on `$S$`, which is cheap
    /// to multiply by, with the formula as preconditioner restore the digits.
    fn solve_weights(&self, rhs: &mut [f64]) {
        /// Conjugate gradient steps, at most.
        const STEPS: usize = 12;
        /// Residual that is good enough, as a share of the right-hand side.
        const ENOUGH: f64 = 1e-10;
        // Long because conjugate gradients carry five vectors from step to step.
        for (v, root) in rhs.iter_mut().zip(&self.root) {
            *v *= root;
        }
        let mut x = self.invert(rhs);
        let mut residual = rhs.to_vec();
        vector::axpy(-1.0, &self.multiply(&x), &mut residual);
        let enough = ENOUGH * vector::norm(rhs);
        let mut best = (vector::norm(&residual), x.clone());
        // Where the first solution is good enough nothing is done along it.
        let mut along = if best.0 <= enough { vec![0.0; x.len()] } else { self.invert(&residual) };
        let mut power = vector::dot(&residual, &along);
        for _ in 0..STEPS {
            if best.0 <= enough {
                break;
            }
            let image = self.multiply(&along);
            let curvature = vector::dot(&along, &image);
            if !(curvature > 0.0 && power > 0.0) {
                break;
            }
            let length = power / curvature;
            vector::axpy(length, &along, &mut x);
            vector::axpy(-length, &image, &mut residual);
            let size = vector::norm(&residual);
            if size < best.0 {
                best = (size, x.clone());
            }
            let next = self.invert(&residual);
            let next_power = vector::dot(&residual, &next);
            let share = next_power / power;
            power = next_power;
            vector::scale(&mut along, share);
            vector::axpy(1.0, &next, &mut along);
        }
        for ((out, x), root) in rhs.iter_mut().zip(&best.1).zip(&self.root) {
            *out = x * root;
        }
    }

    /// `$D^{-1/2}SD^{-1/2}$` times `x`.
    fn multiply(&self, x: &[f64]) -> Vec<f64> {
        let mut along = self.stacked.mul_vec(x);
        for (a, sign) in along.iter_mut().zip(&self.signs) {
            *a *= sign;
        }
        let mut out = self.stacked.tr_mul_vec(&along);
        vector::axpy(1.0, x, &mut out);
        out
    }

    /// The inverse of that, by the low-rank formula.
    fn invert(&self, x: &[f64]) -> Vec<f64> {
        let m = self.rows;
        // Along both factors: f_u = U'D^-1 x, f_q = Q'D^-1 x.
        let along = self.stacked.mul_vec(x);
        let through_t = self.t.solve(&along[..m]);
        // Q' D~^-1 x = f_q + cross' T^-1 f_u.
        let mut through_k = self.cross.tr_mul_vec(&through_t);
        vector::axpy(1.0, &along[m..], &mut through_k);
        self.k.solve_in_place(&mut through_k);
        // D~^-1 (x - Q k): the U part is T^-1 (f_u - cross k).
        let mut on_u = along[..m].to_vec();
        vector::axpy(-1.0, &self.cross.mul_vec(&through_k), &mut on_u);
        self.t.solve_in_place(&mut on_u);
        on_u.extend(through_k.iter().map(|v| -v));
        let mut out = self.stacked.tr_mul_vec(&on_u);
        vector::axpy(1.0, x, &mut out);
        out
    }
}

/// Rows and columns times `scale`; the diagonal is written by [`regularised`].
fn scale_below_diagonal(matrix: &mut Dense, scale: &[f64]) {
    for i in 0..matrix.nrows() {
        for j in 0..i {
            matrix[(i, j)] *= scale[i] * scale[j];
        }
    }
}

/// `$D_j$`, the largest `$E a^2$` in it, and what is left without that one.
struct ColumnSums {
    total: Vec<f64>,
    top: Vec<f64>,
    rest: Vec<f64>,
}

impl ColumnSums {
    fn new(blocks: &[Block], values: &[f64], boxes: &[f64]) -> Self {
        let mut top = vec![0.0; boxes.len()];
        let mut rest = boxes.to_vec();
        let mut terms = RowTerms::default();
        for block in blocks {
            for i in 0..block.rows() {
                vectorized!({
                    block.terms(i, values, &mut terms);
                    take_in(block.all_columns(i), &terms.ea2, &mut top, &mut rest);
                });
            }
        }
        let total = top.iter().zip(&rest).map(|(a, b)| a + b).collect();
        Self { total, top, rest }
    }

    /// `$1 - E a^2/D_j$`.
    #[inline(always)]
    fn without(&self, j: usize, ea2: f64) -> f64 {
        let rest = if ea2 >= self.top[j] { self.rest[j] } else { self.total[j] - ea2 };
        rest / self.total[j]
    }

    /// The diagonal entry of `$T$` of a row: its `own` share and what columns leave of the shares of its entries.
    #[inline(always)]
    fn left(&self, at: &[u32], terms: &RowTerms, own: f64) -> f64 {
        let entries = terms.share.iter().zip(&terms.ea2);
        if at.len() < self.total.len() {
            let each = at.iter().zip(entries);
            return each.fold(own, |left, (&j, (share, ea2))| {
                left + share * self.without(j as usize, *ea2)
            });
        }
        let columns = self.top.iter().zip(&self.rest).zip(&self.total);
        let each: Vec<f64> = entries
            .zip(columns)
            .map(|((share, ea2), ((top, rest), total))| {
                share * (if ea2 >= top { *rest } else { total - ea2 }) / total
            })
            .collect();
        own + vector::sum(&each)
    }
}

/// Adds the `$Ea^2$` of a row to the columns' largest and to the sums of the others.
#[inline(always)]
fn take_in(at: &[u32], ea2: &[f64], top: &mut [f64], rest: &mut [f64]) {
    let one = |ea2: f64, top: &mut f64, rest: &mut f64| {
        *rest += ea2.min(*top);
        *top = ea2.max(*top);
    };
    if at.len() == top.len() {
        for ((ea2, top), rest) in ea2.iter().zip(top).zip(rest) {
            one(*ea2, top, rest);
        }
    } else {
        for (&j, ea2) in at.iter().zip(ea2) {
            one(*ea2, &mut top[j as usize], &mut rest[j as usize]);
        }
    }
}

/// Rows `$D^{-1/2}u_i/\sqrt{A_i}$` followed by rows `$D^{-1/2}\tilde q_i\sqrt{A_i/\det_i}$`; the diagonal of `$T$`; the
/// intercept's row of `$Q$`.
fn stack(
    blocks: &[Block],
    values: &[f64],
    columns: &ColumnSums,
    root: &[f64],
) -> Result<(Matrix, Vec<f64>, Vec<f64>)> {
    let rows: usize = blocks.iter().map(Block::rows).sum();
    let entries: usize = blocks.iter().map(|block| block.all_columns.len()).sum();
    let mut stack = RowStack::new(2 * rows, root.len(), 2 * entries);
    let mut terms = RowTerms::default();
    let (mut diagonal, mut beta) = (Vec::new(), Vec::new());
    let mut room = Vec::new();
    for block in blocks {
        for i in 0..block.rows() {
            let pivot = &block.pivots[i];
            let at = block.all_columns(i);
            let own = if block.rigid { 1.0 } else { block.l[i] / block.lambda[i] / pivot.a };
            let weight = (pivot.a / pivot.det).sqrt();
            vectorized!({
                block.terms(i, values, &mut terms);
                let left = columns.left(at, &terms, own);
                diagonal.push(left.max(f64::MIN_POSITIVE));
                let root = pick(root, at, &mut room);
                scale_both(&mut terms.u, 1.0 / pivot.a.sqrt(), root);
                scale_both(&mut terms.q, weight, root);
            });
            stack.set(beta.len(), at, &terms.u);
            stack.set(rows + beta.len(), at, &terms.q);
            beta.push(block.y[i] * weight);
        }
    }
    Ok((stack.finish()?, diagonal, beta))
}

/// Every entry times `by` and its own factor.
#[inline(always)]
fn scale_both(x: &mut [f64], by: f64, factors: &[f64]) {
    for (x, factor) in x.iter_mut().zip(factors) {
        *x = *x * by * factor;
    }
}
