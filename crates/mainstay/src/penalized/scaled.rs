use super::problem::{Answer, Problem};
use crate::linalg::{Dense, Matrix};
use crate::loss::MarginLoss;

/// Beyond this a penalty weight holds its coefficient at zero to the last digit.
const WALL: f64 = 1e200;

/// The problem as the solvers see it: every column of order one, a penalty weight a column.
///
/// $z_{ij} = (x_{ij} - m_j) t_j$ with $t_j$ a power of two, so that $v_j = w_j / t_j$ loses no
/// digit; the penalty becomes $\lambda_j |v_j| + \mu_j v_j^2/2$ with $\lambda_j = \lambda u_j t_j$,
/// $\mu_j = \mu (u_j t_j)^2$: the same problem in other units. Dense columns are centred ($m_j$
/// the mean), which the free intercept absorbs; sparse ones stay sparse ($m_j = 0$).
pub(super) struct Scaled<'a> {
    pub z: Matrix,
    pub y: &'a [f64],
    pub shares: &'a [f64],
    pub loss: &'static dyn MarginLoss,
    /// $\lambda_j$.
    pub l1: Vec<f64>,
    /// $\mu_j$.
    pub l2: Vec<f64>,
    /// $t_j$.
    factors: Vec<f64>,
    /// $m_j$.
    means: Vec<f64>,
}

impl<'a> Scaled<'a> {
    pub(super) fn new(problem: &Problem<'a>) -> Self {
        let (factors, means) = match problem.x {
            Matrix::Dense(x) => dense_frame(x, problem.shares),
            Matrix::Sparse(_) => (sparse_factors(problem.x), vec![0.0; problem.x.ncols()]),
        };
        let z = match problem.x {
            Matrix::Dense(x) => Matrix::Dense(centred(x, &factors, &means)),
            Matrix::Sparse(_) => problem.x.scale_columns(&factors),
        };
        let units: Vec<f64> = problem.units.iter().zip(&factors).map(|(u, t)| u * t).collect();
        // A constant column has factor 0 and any weight keeps its coefficient at zero.
        let weight = |value: f64, u: f64| if u == 0.0 { 1.0 } else { value.min(WALL) };
        Self {
            z,
            y: problem.y,
            shares: problem.shares,
            loss: problem.loss,
            l1: units.iter().map(|u| weight(problem.l1 * u, *u)).collect(),
            l2: units.iter().map(|u| weight(problem.l2 * u * u, *u)).collect(),
            factors,
            means,
        }
    }

    /// The answer in the units of the data.
    pub(super) fn answer(&self, v: &[f64], intercept: f64, duals: Vec<f64>) -> Answer {
        let weights: Vec<f64> = v.iter().zip(&self.factors).map(|(v, t)| v * t).collect();
        let shift: f64 = weights.iter().zip(&self.means).map(|(w, m)| w * m).sum();
        Answer { weights, intercept: intercept - shift, duals }
    }
}

/// The power of two that brings `size` into [1, 2); 1 for zero.
fn factor(size: f64) -> f64 {
    if size <= 0.0 || !size.is_finite() {
        return 1.0;
    }
    // Two steps, so that neither the smallest nor the largest numbers leave the range.
    let exponent = (-size.log2().floor()).clamp(-1020.0, 1020.0);
    f64::exp2(exponent)
}

/// Factors from half the range of every column, and weighted means. A constant column gets
/// factor 0: it says nothing that the intercept does not say for free.
fn dense_frame(x: &Dense, shares: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let p = x.ncols();
    let (mut low, mut high) = (x.row(0).to_vec(), x.row(0).to_vec());
    let mut means = vec![0.0; p];
    for (i, share) in shares.iter().enumerate() {
        for (j, v) in x.row(i).iter().enumerate() {
            low[j] = if *v < low[j] { *v } else { low[j] };
            high[j] = if *v > high[j] { *v } else { high[j] };
            means[j] += share * v;
        }
    }
    let factors = (0..p)
        .map(|j| if low[j] == high[j] { 0.0 } else { factor(0.5 * high[j] - 0.5 * low[j]) })
        .collect();
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
    sizes.into_iter().map(factor).collect()
}
