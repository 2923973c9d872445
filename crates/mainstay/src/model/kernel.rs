//! Kernel models: one weight per support row.

use serde::{Deserialize, Serialize};

use super::Link;
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix, vector};

/// A positive semidefinite kernel `$k(u, v)$`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "function", rename_all = "kebab-case")]
pub enum KernelFunction {
    /// `$\exp(-\gamma\|u - v\|^2)$`.
    Rbf {
        /// `$\gamma > 0$`.
        gamma: f64,
    },
    /// `$(\gamma u^\top v + c_0)^d$`.
    Poly {
        /// `$\gamma > 0$`.
        gamma: f64,
        /// `$d \ge 1$`.
        degree: u32,
        /// `$c_0 \ge 0$`.
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
        match self {
            Self::Precomputed => dense,
            _ => Dense::from_fn(dense.nrows(), support.nrows(), |i, j| {
                self.at(dense.row(i), support.row(j))
            }),
        }
    }

    /// `$k(u, v)$`; 0 for a precomputed kernel, which has no such function.
    fn at(&self, u: &[f64], v: &[f64]) -> f64 {
        match *self {
            Self::Rbf { gamma } => {
                let squares: f64 = u.iter().zip(v).map(|(a, b)| (a - b) * (a - b)).sum();
                (-gamma * squares).exp()
            }
            Self::Poly { gamma, degree, coef0 } => {
                let power = i32::try_from(degree).unwrap_or(i32::MAX);
                (gamma * vector::dot(u, v) + coef0).powi(power)
            }
            Self::Precomputed => 0.0,
        }
    }
}

/// Most features of a model without support rows, whose number nothing else in a file bears out.
const MOST_FEATURES: usize = 1 << 24;

/// `$x \mapsto \sum_j \mathrm{dual\_coef}_j\,k(x_j, x) + \mathrm{intercept}$` over the support rows `$x_j$`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// `$k$`.
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

    /// Scores of every row of `x`. One row at a time: all kernel values at once may not fit into memory.
    pub fn decision(&self, x: &Matrix) -> Dense {
        let mut scores = Dense::zeros(x.nrows(), self.dual_coef.len());
        let mut row = vec![0.0; x.ncols()];
        let mut values = vec![0.0; self.indices.len()];
        for i in 0..x.nrows() {
            row.fill(0.0);
            x.row(i).add_scaled_to(1.0, &mut row);
            if self.function == KernelFunction::Precomputed {
                values.iter_mut().zip(&self.indices).for_each(|(value, &j)| *value = row[j]);
            } else {
                let rows = values.iter_mut().zip(&self.support);
                rows.for_each(|(value, support)| *value = self.function.at(&row, support));
            }
            for (k, score) in scores.row_mut(i).iter_mut().enumerate() {
                *score = vector::dot(&values, &self.dual_coef[k]) + self.intercept[k];
            }
        }
        scores
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
        if self.support.is_empty() && self.n_features > MOST_FEATURES {
            return bad("more features than any model without support rows has");
        }
        if precomputed && self.indices.iter().any(|&i| i >= self.n_features) {
            return bad("a support position is beyond the training rows");
        }
        let numbers = self.dual_coef.iter().chain(&self.support).flatten().chain(&self.intercept);
        let shape = match self.function {
            KernelFunction::Rbf { gamma } => vec![gamma],
            KernelFunction::Poly { gamma, coef0, .. } => vec![gamma, coef0],
            KernelFunction::Precomputed => Vec::new(),
        };
        if let KernelFunction::Rbf { gamma } | KernelFunction::Poly { gamma, .. } = self.function
            && gamma < 0.0
        {
            return bad("gamma is negative");
        }
        if shape.iter().chain(numbers).any(|v| !v.is_finite()) {
            return bad("a number is not finite");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Kernel {
        Kernel {
            function: KernelFunction::Rbf { gamma: 0.5 },
            n_features: 2,
            indices: vec![0, 3],
            support: vec![vec![0.0, 0.0], vec![1.0, -1.0]],
            dual_coef: vec![vec![2.0, -1.0]],
            intercept: vec![0.25],
            link: Link::None,
        }
    }

    #[test]
    fn scores_are_sums_of_kernel_values() {
        let x = Matrix::from(Dense::from_rows(2, 2, vec![0.0, 0.0, 1.0, 1.0]));
        let scores = model().decision(&x);
        // Squared distances 0 and 2, then 2 and 4.
        let wanted =
            [2.0 - (-1.0_f64).exp() + 0.25, 2.0 * (-1.0_f64).exp() - (-2.0_f64).exp() + 0.25];
        assert!((0..2).all(|i| (scores[(i, 0)] - wanted[i]).abs() < 1e-15), "{scores:?}");
    }

    #[test]
    fn a_file_cannot_ask_for_a_negative_gamma_or_features_without_number() {
        assert!(model().validate().is_ok());
        let negative = Kernel { function: KernelFunction::Rbf { gamma: -1.0 }, ..model() };
        assert!(negative.validate().unwrap_err().to_string().contains("gamma"));
        for n_features in [1 << 62, 1_000_000_000] {
            let empty = Kernel {
                n_features,
                indices: Vec::new(),
                support: Vec::new(),
                dual_coef: vec![Vec::new()],
                ..model()
            };
            assert!(empty.validate().unwrap_err().to_string().contains("more features"));
            let precomputed = Kernel {
                function: KernelFunction::Precomputed,
                n_features,
                support: Vec::new(),
                ..model()
            };
            assert!(precomputed.validate().unwrap_err().to_string().contains("more features"));
        }
    }
}
