//! The data as the solvers see them: every column of order one, and the way back.

use super::problem::Candidate;
use crate::error::Result;
use crate::linalg::{Dense, Matrix};
use crate::optim::design::{ColumnUnits, power_of_two};

/// $z_{ij} = (x_{ij} - m_j) t_j$ with $t_j$ a power of two, so that $v_j = w_j / t_j$ loses no digit.
///
/// Dense columns are centred ($m_j$ the mean), which the free intercept absorbs; sparse ones stay
/// sparse ($m_j = 0$). A constant column has $t_j = 0$: the intercept says for free what it says.
pub(super) struct Design {
    /// $z$.
    pub z: Matrix,
    /// $u_j t_j$: the size of $v_j = 1$ in the eyes of the penalty; 1 for a constant column.
    pub units: Vec<f64>,
    columns: ColumnUnits,
}

impl Design {
    /// Scales `x`, whose penalty has the units `units`.
    pub(super) fn new(x: &Matrix, shares: &[f64], units: &[f64]) -> Self {
        let columns = match x {
            Matrix::Dense(x) => dense_units(x, shares),
            Matrix::Sparse(_) => {
                ColumnUnits { factors: sparse_factors(x), means: vec![0.0; x.ncols()] }
            }
        };
        let z = match x {
            Matrix::Dense(x) => Matrix::Dense(centred(x, &columns)),
            Matrix::Sparse(_) => x.scale_columns(&columns.factors),
        };
        let seen = |(u, t): (&f64, &f64)| if *t == 0.0 { 1.0 } else { u * t };
        let units = units.iter().zip(&columns.factors).map(seen).collect();
        Self { z, units, columns }
    }

    /// The point $(v, b)$ with its duals in the units of the data.
    pub(super) fn candidate(&self, v: &[f64], b: f64, duals: Vec<f64>) -> Result<Candidate> {
        let (weights, intercept) = self.columns.to_user(v, b)?;
        Ok(Candidate { weights, intercept, duals })
    }
}

/// The power of two that brings `size` into [1, 2); 0 for a column without spread.
fn factor(size: f64) -> f64 {
    if size > 0.0 { 1.0 / power_of_two(size) } else { 0.0 }
}

/// Factors from half the range of every column, and weighted means.
fn dense_units(x: &Dense, shares: &[f64]) -> ColumnUnits {
    let p = x.ncols();
    let (mut low, mut high) = (x.row(0).to_vec(), x.row(0).to_vec());
    let mut means = vec![0.0; p];
    for (i, share) in shares.iter().enumerate() {
        let sums = low.iter_mut().zip(high.iter_mut()).zip(means.iter_mut());
        for (v, ((low, high), mean)) in x.row(i).iter().zip(sums) {
            *low = if *v < *low { *v } else { *low };
            *high = if *v > *high { *v } else { *high };
            *mean += share * v;
        }
    }
    // Half the range even where the range itself overflows; a denormal range is a range.
    let size = |j: usize| {
        let half = 0.5 * high[j] - 0.5 * low[j];
        if low[j] < high[j] { half.max(f64::MIN_POSITIVE) } else { 0.0 }
    };
    ColumnUnits { factors: (0..p).map(|j| factor(size(j))).collect(), means }
}

fn centred(x: &Dense, columns: &ColumnUnits) -> Dense {
    let ColumnUnits { factors, means } = columns;
    let shifts: Vec<f64> = means.iter().zip(factors).map(|(m, t)| m * t).collect();
    let mut data = Vec::with_capacity(x.data().len());
    for i in 0..x.nrows() {
        data.extend(x.row(i).iter().zip(factors).zip(&shifts).map(|((v, t), shift)| v * t - shift));
    }
    Dense::from_rows(x.nrows(), x.ncols(), data)
}

fn sparse_factors(x: &Matrix) -> Vec<f64> {
    let mut sizes = vec![0.0; x.ncols()];
    for row in x.rows() {
        for (j, v) in row.entries() {
            sizes[j] = f64::max(sizes[j], v.abs());
        }
    }
    sizes.into_iter().map(factor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns 1, 5 (mean 3, half range 2) and 7, 7 (constant).
    #[test]
    fn dense_columns_are_centred_and_of_order_one() {
        let x = Matrix::from(Dense::from_rows(2, 2, vec![1.0, 7.0, 5.0, 7.0]));
        let design = Design::new(&x, &[0.5, 0.5], &[3.0, 1.0]);
        assert_eq!(design.z.to_dense().data(), [-1.0, 0.0, 1.0, 0.0]);
        assert_eq!(design.units, [1.5, 1.0]);
        let found = design.candidate(&[4.0, 9.0], 1.0, Vec::new());
        let (w, b) = found.map_or((Vec::new(), 0.0), |c| (c.weights, c.intercept));
        assert_eq!((w, b), (vec![2.0, 0.0], -5.0));
    }
}
