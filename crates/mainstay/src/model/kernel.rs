//! Kernel models: one weight per support row.

use serde::{Deserialize, Serialize};

use super::Link;
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix, vector};

/// A positive semidefinite kernel $k(u, v)$.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "function", rename_all = "kebab-case")]
pub enum KernelFunction {
    /// $\exp(-\gamma\|u - v\|^2)$.
    Rbf {
        /// $\gamma > 0$.
        gamma: f64,
    },
    /// $(\gamma u^\top v + c_0)^d$.
    Poly {
        /// $\gamma > 0$.
        gamma: f64,
        /// $d \ge 1$.
        degree: u32,
        /// $c_0 \ge 0$.
        coef0: f64,
    },
    /// The values themselves are the features: column j is the kernel with training row j.
    Precomputed,
}

impl KernelFunction {
    /// Kernel values of every row of `x` with every row of `support`. Differences are taken before
    /// squaring, so that distant origins cost no digits.
    ///
    /// For [`KernelFunction::Precomputed`] there is nothing to compute: `x` itself.
    pub fn values(&self, x: &Matrix, support: &Dense) -> Dense {
        let dense = x.to_dense();
        let each = |f: &dyn Fn(&[f64], &[f64]) -> f64| {
            Dense::from_fn(dense.nrows(), support.nrows(), |i, j| f(dense.row(i), support.row(j)))
        };
        match *self {
            Self::Rbf { gamma } => each(&|u, v| {
                let squares: f64 = u.iter().zip(v).map(|(a, b)| (a - b) * (a - b)).sum();
                (-gamma * squares).exp()
            }),
            Self::Poly { gamma, degree, coef0 } => {
                let power = i32::try_from(degree).unwrap_or(i32::MAX);
                each(&|u, v| (gamma * vector::dot(u, v) + coef0).powi(power))
            }
            Self::Precomputed => dense,
        }
    }
}

/// $x \mapsto \sum_j$ `dual_coef`$_j\,k(x_j, x)$ + `intercept` over the support rows $x_j$.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// $k$.
    pub function: KernelFunction,
    /// Number of features a row must have; for a precomputed kernel the number of training rows.
    pub n_features: usize,
    /// Positions of the support rows among the training rows.
    pub indices: Vec<usize>,
    /// The support rows; empty for a precomputed kernel.
    pub support: Vec<Vec<f64>>,
    /// One row for two classes, otherwise one row per class; one column per support row.
    pub dual_coef: Vec<Vec<f64>>,
    /// The share of the constant feature.
    pub intercept: Vec<f64>,
    /// How scores become probabilities.
    #[serde(default)]
    pub link: Link,
}

impl Kernel {
    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.dual_coef.len().max(2)
    }

    /// Scores of every row of `x`.
    pub fn decision(&self, x: &Matrix) -> Dense {
        let values = if self.function == KernelFunction::Precomputed {
            let dense = x.to_dense();
            Dense::from_fn(dense.nrows(), self.indices.len(), |i, j| dense[(i, self.indices[j])])
        } else {
            let support =
                Dense::from_fn(self.support.len(), self.n_features, |i, j| self.support[i][j]);
            self.function.values(x, &support)
        };
        Dense::from_fn(values.nrows(), self.dual_coef.len(), |i, k| {
            vector::dot(values.row(i), &self.dual_coef[k]) + self.intercept[k]
        })
    }

    /// Checks lengths, positions and finiteness.
    pub fn validate(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::BadModel(format!("kernel model: {what}")));
        let (classes, rows) = (self.dual_coef.len(), self.indices.len());
        if classes == 0 || classes == 2 || classes != self.intercept.len() {
            return bad(
                "one intercept per row of coefficients is needed; one row or three and more",
            );
        }
        if self.dual_coef.iter().any(|row| row.len() != rows) {
            return bad("one coefficient per support row is needed");
        }
        let precomputed = matches!(self.function, KernelFunction::Precomputed);
        if self.support.len() != if precomputed { 0 } else { rows } {
            return bad("as many support rows as positions are needed (none if precomputed)");
        }
        if self.n_features == 0 || self.support.iter().any(|row| row.len() != self.n_features) {
            return bad("support rows differ in length");
        }
        if precomputed && self.indices.iter().any(|&i| i >= self.n_features) {
            return bad("a support position is beyond the training rows");
        }
        let numbers = self.dual_coef.iter().chain(&self.support).flatten().chain(&self.intercept);
        let mut shape = match self.function {
            KernelFunction::Rbf { gamma } => vec![gamma],
            KernelFunction::Poly { gamma, coef0, .. } => vec![gamma, coef0],
            KernelFunction::Precomputed => Vec::new(),
        };
        shape.extend(numbers);
        if shape.iter().any(|v| !v.is_finite()) {
            return bad("a number is not finite");
        }
        Ok(())
    }
}
