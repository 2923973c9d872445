//! Kernel ROLIN (the extension the paper's conclusion proposes): only inner products are needed.

use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::linalg::Dense;
use crate::model::{Kernel, KernelFunction, Link, Model};
use crate::rolin::shared::row_weights::RowWeights;

/// Which inner product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelKind {
    /// That of the features.
    #[default]
    Linear,
    /// `$\exp(-\gamma\|u-v\|^2)$` with `$\gamma$` = 1/(features * variance of all entries).
    Rbf,
    /// `$(\gamma u^\top v)^3$` with the same `$\gamma$`.
    Poly,
    /// The features are the kernel matrix.
    Precomputed,
}

/// A kernel and its values at the training rows.
#[derive(Debug)]
pub(in crate::rolin) struct Gram {
    function: KernelFunction,
    pub(in crate::rolin) values: Dense,
    weights: RowWeights,
}

impl Gram {
    /// `None` for the linear kernel, which works on the features themselves.
    pub(in crate::rolin) fn new(kind: KernelKind, data: &Dataset) -> Result<Option<Self>> {
        let x = data.features();
        let weights = RowWeights::of(data);
        let function = match kind {
            KernelKind::Linear => return Ok(None),
            KernelKind::Rbf => KernelFunction::Rbf { gamma: gamma(&x.to_dense(), &weights) },
            KernelKind::Poly => KernelFunction::Poly {
                gamma: gamma(&x.to_dense(), &weights),
                degree: 3,
                coef0: 0.0,
            },
            KernelKind::Precomputed => KernelFunction::Precomputed,
        };
        let values = function.values(x, &x.to_dense());
        if kind == KernelKind::Precomputed {
            check_symmetric(&values)?;
        }
        Ok(Some(Self { function, values, weights }))
    }

    /// Mean of every row of values.
    pub(in crate::rolin) fn means(&self) -> Vec<f64> {
        let n = self.values.nrows();
        self.values.mul_vec(&self.weights.shares().unwrap_or_else(|| vec![1.0 / n as f64; n]))
    }

    /// The values after centring the rows in feature space.
    pub(in crate::rolin) fn centred(&self) -> Dense {
        let means = self.means();
        let n = self.values.nrows();
        let all = self.weights.sum(&means) / self.weights.total();
        Dense::from_fn(n, n, |i, j| self.values[(i, j)] - means[i] - means[j] + all)
    }

    /// A model that weighs the training rows.
    pub(in crate::rolin) fn model(
        &self,
        data: &Dataset,
        dual_coef: Vec<Vec<f64>>,
        intercept: Vec<f64>,
        link: Link,
    ) -> Model {
        let x = data.features().to_dense();
        let precomputed = self.function == KernelFunction::Precomputed;
        let support = if precomputed {
            Vec::new()
        } else {
            (0..x.nrows()).map(|i| x.row(i).to_vec()).collect()
        };
        Model::Kernel(Kernel {
            function: self.function,
            n_features: data.n_features(),
            indices: (0..data.len()).collect(),
            support,
            dual_coef,
            intercept,
            link,
        })
    }
}

/// scikit-learn's "scale"; 1 where nothing varies.
fn gamma(x: &Dense, weights: &RowWeights) -> f64 {
    let count = x.ncols() as f64 * weights.total();
    let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
        let row = |i: usize| weights.get(i) * x.row(i).iter().map(|v| of(*v)).sum::<f64>();
        (0..x.nrows()).map(row).sum::<f64>() / count
    };
    let mean = sum(&|v| v);
    let variance = sum(&|v| (v - mean).powi(2));
    let gamma = 1.0 / (x.ncols() as f64 * variance);
    if gamma.is_finite() && gamma > 0.0 { gamma } else { 1.0 }
}

/// Entries of a kernel may differ from their mirror images by this share of the largest.
const ASYMMETRY: f64 = 1e-8;

fn check_symmetric(k: &Dense) -> Result<()> {
    if k.nrows() != k.ncols() {
        return Err(Error::BadData(format!(
            "a precomputed kernel needs one column for each of the {} rows, not {}",
            k.nrows(),
            k.ncols()
        )));
    }
    let tolerance = ASYMMETRY * k.max_abs();
    for i in 0..k.nrows() {
        for j in 0..i {
            if (k[(i, j)] - k[(j, i)]).abs() > tolerance {
                return Err(Error::BadData(format!(
                    "a precomputed kernel must be symmetric: entries ({i}, {j}) and ({j}, {i}) differ"
                )));
            }
        }
    }
    Ok(())
}
