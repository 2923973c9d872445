//! The data as the solvers see them: every column of order one, and the way back.

use std::ops::Range;
use std::sync::OnceLock;

use super::problem::Candidate;
use crate::error::Result;
use crate::linalg::{Dense, Matrix};
use crate::optim::design::ColumnUnits;

/// `$z_{ij} = (x_{ij} - m_j) t_j$` with `$t_j$` a power of two, so that `$v_j = w_j / t_j$` loses no digit.
///
/// Dense columns are centred (`$m_j$` the mean), which the free intercept absorbs; sparse ones stay
/// sparse (`$m_j = 0$`). A constant column has `$t_j = 0$`: the intercept says for free what it says.
pub(super) struct Design<'a> {
    /// The data as given.
    pub x: &'a Matrix,
    /// `$z$`, once somebody asked for it: passes over chunks make theirs as they go.
    z: OnceLock<Matrix>,
    /// `$u_j t_j$`: the size of `$v_j = 1$` in the eyes of the penalty; 1 for a constant column.
    pub units: Vec<f64>,
    /// `$t_j$` and `$m_j$`.
    pub columns: ColumnUnits,
}

impl<'a> Design<'a> {
    /// Scales `x`, whose penalty has the units `units`.
    pub(super) fn new(x: &'a Matrix, shares: &[f64], units: &[f64]) -> Self {
        let columns = ColumnUnits::of(x, shares, true);
        let seen = |(u, t): (&f64, &f64)| if *t == 0.0 { 1.0 } else { u * t };
        let units = units.iter().zip(&columns.factors).map(seen).collect();
        Self { x, z: OnceLock::new(), units, columns }
    }

    /// `$z$`.
    pub(super) fn z(&self) -> &Matrix {
        self.z.get_or_init(|| match self.x {
            Matrix::Dense(x) => Matrix::Dense(centred(x, &self.columns, 0..x.ncols())),
            Matrix::Sparse(_) => self.x.scale_columns(&self.columns.factors),
        })
    }

    /// The columns of `$z$`, some at a time: of very wide rows a copy would take longer to make than to use. `None` where `$z$`
    /// is there or stays sparse.
    pub(super) fn column_blocks(&self) -> Option<impl Iterator<Item = (Range<usize>, Dense)> + '_> {
        let (Matrix::Dense(x), None) = (self.x, self.z.get()) else { return None };
        let p = x.ncols();
        let starts = (0..p).step_by(BLOCK);
        Some(starts.map(move |start| {
            let columns = start..p.min(start + BLOCK);
            (columns.clone(), centred(x, &self.columns, columns))
        }))
    }

    /// `$z^\top r$`.
    pub(super) fn tr_mul_vec(&self, r: &[f64]) -> Vec<f64> {
        let Some(blocks) = self.column_blocks() else { return self.z().tr_mul_vec(r) };
        blocks.flat_map(|(_, block)| Matrix::from(block).tr_mul_vec(r)).collect()
    }

    /// Weights and intercept in the units of the data as the solvers see them.
    pub(super) fn of_user(&self, weights: &[f64], intercept: f64) -> (Vec<f64>, f64) {
        let ColumnUnits { factors, means } = &self.columns;
        let unit = |(w, t): (&f64, &f64)| if *t == 0.0 { 0.0 } else { w / t };
        let v = weights.iter().zip(factors).map(unit).collect();
        let shift: f64 = weights.iter().zip(means).map(|(w, m)| w * m).sum();
        (v, intercept + shift)
    }

    /// The point `$(v, b)$` with its duals in the units of the data.
    pub(super) fn candidate(&self, v: &[f64], b: f64, duals: Vec<f64>) -> Result<Candidate> {
        let (weights, intercept) = self.columns.to_user(v, b)?;
        Ok(Candidate { weights, intercept, duals })
    }
}

/// Columns of `$z$` that are made together; those of a few hundred rows stay in the cache.
const BLOCK: usize = 256;

/// Some columns of `$z$`.
fn centred(x: &Dense, units: &ColumnUnits, columns: Range<usize>) -> Dense {
    let (factors, means) = (&units.factors[columns.clone()], &units.means[columns.clone()]);
    let shifts: Vec<f64> = means.iter().zip(factors).map(|(m, t)| m * t).collect();
    let mut data = Vec::with_capacity(x.nrows() * columns.len());
    for i in 0..x.nrows() {
        let row = &x.row(i)[columns.clone()];
        data.extend(row.iter().zip(factors).zip(&shifts).map(|((v, t), shift)| v * t - shift));
    }
    Dense::from_rows(x.nrows(), columns.len(), data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns 1, 5 (mean 3, half range 2) and 7, 7 (constant).
    #[test]
    fn dense_columns_are_centred_and_of_order_one() {
        let x = Matrix::from(Dense::from_rows(2, 2, vec![1.0, 7.0, 5.0, 7.0]));
        let design = Design::new(&x, &[0.5, 0.5], &[3.0, 1.0]);
        assert_eq!(design.z().to_dense().data(), [-1.0, 0.0, 1.0, 0.0]);
        assert_eq!(design.units, [1.5, 1.0]);
        let found = design.candidate(&[4.0, 9.0], 1.0, Vec::new());
        let (w, b) = found.map_or((Vec::new(), 0.0), |c| (c.weights, c.intercept));
        assert_eq!((w, b), (vec![2.0, 0.0], -5.0));
    }
}
