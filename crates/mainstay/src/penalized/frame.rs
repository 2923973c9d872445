use super::problem::Answer;
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix};

/// The data as the solvers see them: every column of order one.
///
/// $z_{ij} = (x_{ij} - m_j) t_j$ with $t_j$ a power of two, so that $v_j = w_j / t_j$ loses no digit.
/// Dense columns are centred ($m_j$ the mean), which the free intercept absorbs; sparse ones stay
/// sparse ($m_j = 0$). A constant column has $t_j = 0$: the intercept says for free what it says.
pub(super) struct Frame {
    /// $z$.
    pub z: Matrix,
    /// $u_j t_j$: the size of $v_j = 1$ in the eyes of the penalty; 1 for a constant column.
    pub units: Vec<f64>,
    /// $t_j$.
    factors: Vec<f64>,
    /// $m_j$.
    means: Vec<f64>,
}

impl Frame {
    /// Scales `x`, whose penalty has the units `units`.
    pub(super) fn new(x: &Matrix, shares: &[f64], units: &[f64]) -> Self {
        let (factors, means) = match x {
            Matrix::Dense(x) => dense_frame(x, shares),
            Matrix::Sparse(_) => (sparse_factors(x), vec![0.0; x.ncols()]),
        };
        let z = match x {
            Matrix::Dense(x) => Matrix::Dense(centred(x, &factors, &means)),
            Matrix::Sparse(_) => x.scale_columns(&factors),
        };
        let seen = |(u, t): (&f64, &f64)| if *t == 0.0 { 1.0 } else { u * t };
        let units = units.iter().zip(&factors).map(seen).collect();
        Self { z, units, factors, means }
    }

    /// The point $(v, b)$ with its duals in the units of the data.
    pub(super) fn answer(&self, v: &[f64], b: f64, duals: Vec<f64>) -> Result<Answer> {
        let weights: Vec<f64> = v.iter().zip(&self.factors).map(|(v, t)| v * t).collect();
        let shift: f64 = weights.iter().zip(&self.means).map(|(w, m)| w * m).sum();
        let intercept = b - shift;
        if weights.iter().chain([&intercept]).any(|value| !value.is_finite()) {
            return Err(Error::Numerical(
                "a coefficient is beyond the range of floating point; rescale the features".into(),
            ));
        }
        Ok(Answer { weights, intercept, duals })
    }
}

/// The power of two that brings `size` into [1, 2); 1 for zero.
fn factor(size: f64) -> f64 {
    if size > 0.0 { f64::exp2((-size.log2().floor()).clamp(-1020.0, 1020.0)) } else { 1.0 }
}

/// Factors from half the range of every column, and weighted means.
fn dense_frame(x: &Dense, shares: &[f64]) -> (Vec<f64>, Vec<f64>) {
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
    let size = |j: usize| 0.5 * high[j] - 0.5 * low[j];
    let factors = (0..p).map(|j| if low[j] == high[j] { 0.0 } else { factor(size(j)) }).collect();
    (factors, means)
}

fn centred(x: &Dense, factors: &[f64], means: &[f64]) -> Dense {
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
    sizes.into_iter().map(|size| if size == 0.0 { 0.0 } else { factor(size) }).collect()
}
