//! Parameters of penalised classifiers, their defaults and their domains.

use serde::{Deserialize, Serialize};

use super::estimator::Penalized;
use crate::data::{ClassWeight, Normalize};
use crate::error::{Error, Result, require};
use crate::loss::Loss;

/// Which penalty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Penalty {
    /// `alpha`/2 times the squared Euclidean norm.
    #[default]
    L2,
    /// `alpha` times the sum of absolute weights.
    L1,
    /// `alpha` times (`l1_ratio` L1 + (1 - `l1_ratio`) L2).
    ElasticNet,
}

/// Strength of the penalty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "must be a number or \"cv\"")]
pub enum Alpha {
    /// This much.
    Fixed(f64),
    /// Chosen by cross-validation along a warm-started path.
    Rule(AlphaRule),
}

/// Named rules for [`Alpha`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlphaRule {
    /// Cross-validated loss.
    Cv,
}

/// Parameters of [`Penalized`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PenalizedParams {
    /// Margin loss.
    pub loss: Loss,
    /// Kind of penalty.
    pub penalty: Penalty,
    /// Strength of the penalty.
    pub alpha: Alpha,
    /// Share of L1 in the elastic net.
    pub l1_ratio: f64,
    /// Standardise first?
    pub normalize: Normalize,
    /// Weight of each class.
    pub class_weight: ClassWeight,
    /// Proven relative gap to reach.
    pub tol: f64,
    /// Iteration limit.
    pub max_iter: usize,
    /// Strengths that `alpha = "cv"` tries; `None`: a grid of `n_alphas` that fits the data.
    pub alphas: Option<Vec<f64>>,
    /// Length of that grid.
    pub n_alphas: usize,
    /// Folds of the cross-validation.
    pub n_folds: usize,
    /// How often the rows are dealt anew into folds.
    pub n_repeats: usize,
    /// Seed of the folds; `None` is 0.
    pub random_state: Option<u64>,
}

impl Default for PenalizedParams {
    fn default() -> Self {
        Self {
            loss: Loss::Logistic,
            penalty: Penalty::L2,
            alpha: Alpha::Fixed(0.01),
            l1_ratio: 0.5,
            normalize: Normalize::Fixed(false),
            class_weight: ClassWeight::None,
            tol: 1e-6,
            max_iter: 1000,
            alphas: None,
            n_alphas: 30,
            n_folds: 5,
            n_repeats: 1,
            random_state: None,
        }
    }
}

impl PenalizedParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<Penalized> {
        if let Alpha::Fixed(alpha) = self.alpha {
            require(alpha > 0.0 && alpha.is_finite(), "alpha", alpha, "positive and finite")?;
        }
        require(
            (0.0..=1.0).contains(&self.l1_ratio),
            "l1_ratio",
            self.l1_ratio,
            "between 0 and 1",
        )?;
        require(self.tol > 0.0 && self.tol < 1.0, "tol", self.tol, "in (0, 1)")?;
        require(self.max_iter > 0, "max_iter", self.max_iter, "at least 1")?;
        require(self.n_alphas > 0, "n_alphas", self.n_alphas, "at least 1")?;
        require(self.n_folds > 1, "n_folds", self.n_folds, "at least 2")?;
        require(self.n_repeats > 0, "n_repeats", self.n_repeats, "at least 1")?;
        for alpha in self.alphas.iter().flatten() {
            require(*alpha > 0.0 && alpha.is_finite(), "alphas", alpha, "positive and finite")?;
        }
        if self.alphas.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::param("alphas", "[]", "at least one strength"));
        }
        Ok(Penalized::new(self))
    }
}
