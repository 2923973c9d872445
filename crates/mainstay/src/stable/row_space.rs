//! The features as the solvers see them: few columns, moderate numbers, a column for the intercept.

use std::sync::OnceLock;

use super::certificate::{Dual, bound};
use super::problem::{Hyperplanes, Problem, worst_sum};
use crate::data::Standardize;
use crate::error::{Error, Result};
use crate::linalg::{Compensated, Dense, Matrix, Row, SymmetricEigen, vector};
use crate::optim::design::unit_if_extreme;

/// Rows as the solvers see them.
#[derive(Debug)]
pub(super) struct Features {
    /// One row per sample, followed by a column of ones if there is an intercept.
    pub z: Matrix,
    /// Columns of `z` that carry weights.
    pub m: usize,
    /// Whether the last column of `z` is the intercept's.
    pub intercept: bool,
}

impl Features {
    /// Some of the rows.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        Self { z: self.z.select_rows(rows), m: self.m, intercept: self.intercept }
    }

    /// Scores of every row at the reduced weights `v`, row by row.
    pub(super) fn scores(&self, v: &[f64]) -> Vec<f64> {
        let columns = self.z.ncols();
        let q = v.len() / columns.max(1);
        if q == 1 {
            return self.z.mul_vec(v);
        }
        let n = self.z.nrows();
        let mut f = vec![0.0; n * q];
        for (j, part) in v.chunks_exact(columns).enumerate() {
            for (i, score) in self.z.mul_vec(part).into_iter().enumerate() {
                f[i * q + j] = score;
            }
        }
        f
    }

    /// The transpose of [`Features::scores`].
    pub(super) fn adjoint(&self, alpha: &[f64], q: usize) -> Vec<f64> {
        if q == 1 {
            return self.z.tr_mul_vec(alpha);
        }
        let mut out = Vec::with_capacity(q * self.z.ncols());
        for j in 0..q {
            let column: Vec<f64> = alpha.iter().skip(j).step_by(q).copied().collect();
            out.extend(self.z.tr_mul_vec(&column));
        }
        out
    }

    /// [`Features::adjoint`] of two.
    pub(super) fn adjoint_pair(&self, alphas: [&[f64]; 2], q: usize) -> [Vec<f64>; 2] {
        if q == 1 { self.z.tr_mul_pair(alphas) } else { alphas.map(|alpha| self.adjoint(alpha, q)) }
    }
}

/// Features in coordinates of order min(n, p), with the way back.
///
/// More columns than rows: only the part of `$W$` in the row space changes scores, and the ridge
/// removes the rest. With the eigenvectors of `$XX^\top = U S^2 U^\top$` the rows become `$US$` and
/// `$w = X^\top U S^{-1} v$` has `$\|w\| = \|v\|$`; nothing of order `$p \times p$` is formed, nor a dense
/// basis of order `$n \times p$` as [`crate::optim::design::RowSpace`] has it: sparse text may have far more
/// columns than memory allows. Numbers far from 1 are divided by a power of two, which is exact. Dense columns
/// far from zero are centred where the intercept is free to make up for it: otherwise their mean drowns what
/// tells the rows apart.
#[derive(Debug)]
pub(super) struct Reduced<'a> {
    /// The reduced rows.
    pub features: Features,
    /// The given features were divided by this.
    unit: f64,
    x: &'a Matrix,
    /// `$U S^{-1}$` where the row space is used.
    basis: Option<Dense>,
    /// What was taken from every column; empty where nothing was.
    centre: Vec<f64>,
    /// Columns without spread, which a free intercept makes useless.
    constant: Vec<usize>,
    /// Whether the intercept is free.
    intercept: bool,
    /// What [`Reduced::normalised_columns`] gave.
    normalised: OnceLock<Matrix>,
}

/// Columns whose largest entry, and for dense ones beside a free intercept deviation, is 1; these have mean 0 as well.
fn normalised_columns(x: &Matrix, intercept: bool) -> Matrix {
    let mut largest = vec![0.0_f64; x.ncols()];
    for (j, v) in x.rows().flat_map(Row::entries) {
        largest[j] = largest[j].max(v.abs());
    }
    let scale = |top: &f64| if *top > f64::MIN_POSITIVE { 1.0 / top } else { 1.0 };
    match x.scale_columns(&largest.iter().map(scale).collect::<Vec<_>>()) {
        scaled @ Matrix::Dense(_) if intercept => {
            Standardize::learn(&scaled, None).apply_own(scaled).into()
        }
        scaled => scaled,
    }
}

/// Part of the largest eigenvalue of `$XX^\top$` below which others are rounding: squaring halves the digits.
const RANK: f64 = 1e-14;
/// Standard deviations from zero beyond which the mean of a column is far.
const FAR: f64 = 2.0;

impl<'a> Reduced<'a> {
    pub(super) fn new(x: &'a Matrix, intercept: bool) -> Result<Self> {
        let unit = unit_if_extreme(vector::norm_inf(x.values()));
        let constant: Vec<usize> = if intercept {
            x.constant_columns().into_iter().map(|(j, _)| j).collect()
        } else {
            Vec::new()
        };
        let mut factors = vec![1.0 / unit; x.ncols()];
        // Of dense rows `far_centre` leaves zeros in their place.
        let dropped = matches!(x, Matrix::Sparse(_)) && !constant.is_empty();
        if dropped {
            for &j in &constant {
                factors[j] = 0.0;
            }
        }
        let scaled = (unit != 1.0 || dropped).then(|| x.scale_columns(&factors));
        let rows = scaled.as_ref().unwrap_or(x);
        let centre = match rows {
            Matrix::Dense(rows) if intercept => far_centre(rows, &constant),
            _ => Vec::new(),
        };
        if x.ncols() > x.nrows() {
            let centred = (!centre.is_empty()).then(|| without(&centre, rows.clone()));
            let (features, basis) = in_row_space(centred.as_ref().unwrap_or(rows), intercept)?;
            let (basis, normalised) = (Some(basis), OnceLock::new());
            return Ok(Self { features, unit, x, basis, centre, constant, intercept, normalised });
        }
        let z = if intercept { rows.with_ones() } else { Some(rows.clone()) };
        let z = z.ok_or_else(|| Error::BadData(format!("{} features are too many", x.ncols())))?;
        let features = Features { z: without(&centre, z), m: x.ncols(), intercept };
        let (basis, normalised) = (None, OnceLock::new());
        Ok(Self { features, unit, x, basis, centre, constant, intercept, normalised })
    }

    /// The features in units in which a negligible ridge is negligible for all of them. What hyperplanes can do at all does not
    /// depend on the units, nor on the origin where the intercept is free. Made once: every constant fit asks for them twice.
    pub(super) fn normalised_columns(&self) -> &Matrix {
        self.normalised.get_or_init(|| normalised_columns(self.x, self.intercept))
    }

    /// The ridge of the reduced weights when that of the given ones is `ridge`.
    pub(super) fn ridge(&self, ridge: f64) -> f64 {
        (ridge / self.unit / self.unit).max(f64::MIN_POSITIVE)
    }

    /// Reduced weights (all of a score, then those of the next) in the user's units.
    pub(super) fn hyperplanes(&self, v: &[f64]) -> Hyperplanes {
        let mut planes = Hyperplanes { coef: Vec::new(), intercept: Vec::new() };
        for part in v.chunks_exact(self.features.z.ncols()) {
            let mut w = match &self.basis {
                None => part[..self.features.m].to_vec(),
                Some(basis) => self.out_of_row_space(&basis.mul_vec(&part[..self.features.m])),
            };
            self.constant.iter().for_each(|&j| w[j] = 0.0);
            let mut b =
                Compensated::new(if self.features.intercept { part[self.features.m] } else { 0.0 });
            self.centre.iter().zip(&w).for_each(|(c, w)| b.add_product(-c, *w));
            vector::scale(&mut w, 1.0 / self.unit);
            planes.coef.push(w);
            planes.intercept.push(b.value());
        }
        planes
    }

    /// `$\sum_i u_i z_i$` over the rows that the basis belongs to.
    fn out_of_row_space(&self, u: &[f64]) -> Vec<f64> {
        // `x` is the given one, `unit` times the one the basis belongs to.
        if self.centre.is_empty() {
            let mut w = self.x.tr_mul_vec(u);
            vector::scale(&mut w, 1.0 / self.unit);
            return w;
        }
        let mut w = vec![0.0; self.x.ncols()];
        for (row, u) in self.x.rows().zip(u) {
            for (j, v) in row.entries() {
                w[j] += u * (v / self.unit - self.centre[j]);
            }
        }
        w
    }

    /// The objective as solvers judge it: where columns were centred that of `v`, whose intercept is not rounded yet,
    /// so that they stop when nothing is left to gain; otherwise that of `hyperplanes`.
    pub(super) fn objective(
        &self,
        problem: &Problem<'_>,
        v: &[f64],
        hyperplanes: &Hyperplanes,
    ) -> f64 {
        if self.centre.is_empty() {
            return problem.objective(hyperplanes);
        }
        let losses = problem.losses(&self.features.scores(v));
        let parts = v.chunks_exact(self.features.z.ncols());
        let size: f64 = parts.map(|w| vector::norm_sq(&w[..self.features.m])).sum();
        let worst = worst_sum(&losses, problem.weights, problem.k).sum;
        self.ridge(problem.ridge) * size + problem.scale * worst
    }

    /// The bound as solvers judge it, on centred columns where they were centred.
    pub(super) fn bound(&self, problem: &Problem<'_>, dual: &Dual) -> f64 {
        if self.centre.is_empty() {
            return bound(problem, dual);
        }
        // The column of the intercept adds nothing: its multipliers add up to zero.
        let ridge = self.ridge(problem.ridge);
        bound(&Problem { x: &self.features.z, ridge, ..problem.clone() }, dual)
    }

    /// Reduced weights that are zero but for the intercepts.
    pub(super) fn constant(&self, intercept: &[f64]) -> Vec<f64> {
        let mut v = vec![0.0; intercept.len() * self.features.z.ncols()];
        for (part, b) in v.chunks_exact_mut(self.features.z.ncols()).zip(intercept) {
            if self.features.intercept {
                part[self.features.m] = *b;
            }
        }
        v
    }
}

/// The mean of each column; empty where every mean is moderate. That of a constant column is far unless it is zero: there is
/// no spread.
fn far_centre(rows: &Dense, constant: &[usize]) -> Vec<f64> {
    let part = 1.0 / rows.nrows().max(1) as f64;
    let mean = rows.means_knowing(constant, &vec![part; rows.nrows()]);
    let mut spread = vec![0.0; rows.ncols()];
    for i in 0..rows.nrows() {
        for ((s, v), c) in spread.iter_mut().zip(rows.row(i)).zip(&mean) {
            *s += part * (v - c) * (v - c);
        }
    }
    let far = |(c, s): (&f64, &f64)| c * c > FAR * FAR * s;
    if mean.iter().zip(&spread).any(far) { mean } else { Vec::new() }
}

/// `centre` taken off the first columns of dense rows.
fn without(centre: &[f64], mut rows: Matrix) -> Matrix {
    if let (Matrix::Dense(rows), false) = (&mut rows, centre.is_empty()) {
        for i in 0..rows.nrows() {
            vector::axpy(-1.0, centre, &mut rows.row_mut(i)[..centre.len()]);
        }
    }
    rows
}

/// Rows in the row space, and the basis `$U S^{-1}$`.
fn in_row_space(rows: &Matrix, intercept: bool) -> Result<(Features, Dense)> {
    let n = rows.nrows();
    let eigen = SymmetricEigen::new(&rows.outer_gram())?;
    let top = eigen.values.last().copied().unwrap_or(0.0);
    let kept: Vec<usize> = (0..n).rev().filter(|&j| eigen.values[j] > RANK * top).collect();
    let root: Vec<f64> = kept.iter().map(|&j| eigen.values[j].sqrt()).collect();
    let m = kept.len();
    let z = Dense::from_fn(n, m + usize::from(intercept), |i, j| {
        if j < m { eigen.vectors[(i, kept[j])] * root[j] } else { 1.0 }
    });
    let basis = Dense::from_fn(n, m, |i, j| eigen.vectors[(i, kept[j])] / root[j]);
    Ok((Features { z: z.into(), m, intercept }, basis))
}
