//! The normal equations with many more columns than rows.

use super::block::Block;
use super::normal_equations::{RowTerms, regularised};
use crate::error::Result;
use crate::linalg::{Cholesky, Csr, Dense, Matrix, vector};

/// $S = D - UU^\top + QQ^\top$ with one column of $U$ and $Q$ per row of data, and the intercept as a border.
///
/// $\tilde D = D - UU^\top$ is positive definite and inverted through $T = I - U^\top D^{-1}U$, then $S$ through
/// $K = I + Q^\top\tilde D^{-1}Q$; the intercept's pivot is $\beta^\top K^{-1}\beta$, where $\beta$ is its row of $Q$.
#[derive(Debug)]
pub(super) struct LowRank {
    /// $D^{-1/2}$.
    root: Vec<f64>,
    /// $D^{-1/2}U$ and $D^{-1/2}Q$, transposed, one above the other.
    stacked: Matrix,
    rows: usize,
    t: Cholesky,
    /// $U^\top D^{-1}Q$.
    cross: Dense,
    k: Cholesky,
    /// Sign of every stacked row in $S$, divided by the square of its scale.
    signs: Vec<f64>,
    /// $S_{ww}^{-1}$ times the border, and the intercept's pivot.
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

    /// $S_{ww}^{-1}$ times the border, and the intercept's pivot, for the intercept's row `beta` of $Q$.
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

    /// $Q$ (scaled as stored) times a vector over the rows.
    fn times_q(&self, by: &[f64]) -> Vec<f64> {
        let mut weights = vec![0.0; self.rows];
        weights.extend_from_slice(by);
        let mut out = self.stacked.tr_mul_vec(&weights);
        for (v, root) in out.iter_mut().zip(&self.root) {
            *v /= root;
        }
        out
    }

    /// Overwrites `rhs` with $S_{ww}^{-1}$ times it.
    ///
    /// The low-rank formula cancels where $S$ is much larger than $D$. A few conjugate gradient steps on $S$, which is cheap
    /// to multiply by, with the formula as preconditioner restore the digits.
    fn solve_weights(&self, rhs: &mut [f64]) {
        /// Conjugate gradient steps, at most.
        const STEPS: usize = 12;
        /// Residual that is good enough, as a share of the right-hand side.
        const ENOUGH: f64 = 1e-10;
        for (v, root) in rhs.iter_mut().zip(&self.root) {
            *v *= root;
        }
        let mut x = self.invert(rhs);
        let mut residual = rhs.to_vec();
        vector::axpy(-1.0, &self.multiply(&x), &mut residual);
        let enough = ENOUGH * vector::norm(rhs);
        let mut best = (vector::norm(&residual), x.clone());
        let mut along = self.invert(&residual);
        let mut power = vector::dot(&residual, &along);
        for _ in 0..STEPS {
            let image = self.multiply(&along);
            let curvature = vector::dot(&along, &image);
            if best.0 <= enough || !(curvature > 0.0 && power > 0.0) {
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

    /// $D^{-1/2}SD^{-1/2}$ times `x`.
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

/// $D_j$, the largest $E a^2$ in it, and what is left without that one.
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
                block.terms(i, values, &mut terms);
                let columns = block.all_columns(i);
                for (&j, &ea2) in columns.iter().zip(&terms.ea2) {
                    let top = &mut top[j as usize];
                    rest[j as usize] += ea2.min(*top);
                    *top = ea2.max(*top);
                }
            }
        }
        let total = top.iter().zip(&rest).map(|(a, b)| a + b).collect();
        Self { total, top, rest }
    }

    /// $1 - E a^2/D_j$.
    fn without(&self, j: usize, ea2: f64) -> f64 {
        let rest = if ea2 >= self.top[j] { self.rest[j] } else { self.total[j] - ea2 };
        rest / self.total[j]
    }
}

/// Rows $D^{-1/2}u_i/\sqrt{A_i}$ followed by rows $D^{-1/2}\tilde q_i\sqrt{A_i/\det_i}$; the diagonal of $T$; the
/// intercept's row of $Q$.
fn stack(
    blocks: &[Block],
    values: &[f64],
    columns: &ColumnSums,
    root: &[f64],
) -> Result<(Matrix, Vec<f64>, Vec<f64>)> {
    let mut terms = RowTerms::default();
    let (mut diagonal, mut beta) = (Vec::new(), Vec::new());
    let (mut starts, mut indices) = (vec![0], Vec::new());
    let (mut of_u, mut of_q) = (Vec::new(), Vec::new());
    for block in blocks {
        for i in 0..block.rows() {
            let pivot = &block.pivots[i];
            let mut left = if block.rigid { 1.0 } else { block.l[i] / block.lambda[i] / pivot.a };
            block.terms(i, values, &mut terms);
            for (k, &j) in block.all_columns(i).iter().enumerate() {
                left += terms.share[k] * columns.without(j as usize, terms.ea2[k]);
            }
            diagonal.push(left.max(f64::MIN_POSITIVE));
            let weight = (pivot.a / pivot.det).sqrt();
            beta.push(block.y[i] * weight);
            let scale = 1.0 / pivot.a.sqrt();
            for (k, &j) in block.all_columns(i).iter().enumerate() {
                of_u.push(terms.u[k] * scale * root[j as usize]);
                of_q.push(terms.q[k] * weight * root[j as usize]);
                indices.push(j);
            }
            starts.push(indices.len());
        }
    }
    let entries = indices.len();
    let lower: Vec<usize> = starts[1..].iter().map(|s| s + entries).collect();
    starts.extend(lower);
    indices.extend_from_within(..);
    of_u.append(&mut of_q);
    let sparse = Csr::new(root.len(), starts, indices, of_u)?;
    let matrix = Matrix::from(sparse);
    let dense = 2 * entries > diagonal.len() * root.len();
    Ok((if dense { matrix.to_dense().into() } else { matrix }, diagonal, beta))
}
