//! What the features know about each other: a Gaussian model, and the distribution of a row of which some
//! cells are missing or measured with error.

mod damage;
mod learn;
mod posterior;
mod shrinkage;

pub use learn::Rows;
pub use posterior::{Posterior, Scatter};
pub use shrinkage::{Shrinkage, ShrinkageRule};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::linalg::Dense;

/// Above this number of features the covariance is a diagonal plus a matrix of low rank.
pub const FULL_UP_TO: usize = 500;

/// `$x \sim N(\mu, \Sigma)$` with a shrunk `$\Sigma$`.
///
/// `$\Sigma = T C T$` with `$T$` the standard deviations of the measured cells, so that shrinkage towards the
/// diagonal of `$C$` does not depend on the units of the features. A feature that never varies has `$T_j = 0$`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureModel {
    /// `$\mu$`.
    pub means: Vec<f64>,
    /// `$T$`.
    pub scales: Vec<f64>,
    /// `$C$`.
    pub(super) covariance: Covariance,
    /// How far `$C$` was moved from the sample towards its diagonal.
    pub shrinkage: f64,
    /// Steps of the EM algorithm; 0 where no cell was missing or inexact.
    pub n_iter: usize,
}

/// A covariance matrix in standard units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Covariance {
    /// All entries, row by row.
    Full(Vec<f64>),
    /// diag(own) + loadings' loadings, `rank` rows of loadings.
    LowRank {
        /// Variance that no other feature knows of.
        own: Vec<f64>,
        /// Row by row.
        loadings: Vec<f64>,
        /// Number of rows.
        rank: usize,
    },
}

impl FeatureModel {
    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.means.len()
    }

    /// `$\Sigma$`; for models of many features a large matrix.
    pub fn covariance(&self) -> Dense {
        let p = self.n_features();
        let standard = match &self.covariance {
            Covariance::Full(entries) => Dense::from_rows(p, p, entries.clone()),
            Covariance::LowRank { own, loadings, rank } => {
                let loadings = Dense::from_rows(*rank, p, loadings.clone());
                let mut sum = loadings.tr_mul(&loadings);
                (0..p).for_each(|j| sum[(j, j)] += own[j]);
                sum
            }
        };
        Dense::from_fn(p, p, |j, k| standard[(j, k)] * self.scales[j] * self.scales[k])
    }

    /// Variance of every feature: the diagonal of `$\Sigma$`.
    pub fn variances(&self) -> Vec<f64> {
        let p = self.n_features();
        let standard = |j: usize| match &self.covariance {
            Covariance::Full(entries) => entries[j * p + j],
            Covariance::LowRank { own, loadings, rank } => {
                own[j] + (0..*rank).map(|k| loadings[k * p + j].powi(2)).sum::<f64>()
            }
        };
        (0..p).map(|j| standard(j) * self.scales[j] * self.scales[j]).collect()
    }

    /// Checks a model that came from outside: lengths, finiteness and positive variances.
    pub fn validate(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::BadModel(format!("feature model: {what}")));
        let p = self.n_features();
        let (lengths, entries): (bool, Vec<&f64>) = match &self.covariance {
            Covariance::Full(all) => (all.len() == p * p, all.iter().collect()),
            Covariance::LowRank { own, loadings, rank } => (
                own.len() == p && Some(loadings.len()) == rank.checked_mul(p),
                own.iter().chain(loadings).collect(),
            ),
        };
        if p == 0 || self.scales.len() != p || !lengths {
            return bad("means, scales and covariance differ in length");
        }
        if !self.means.iter().chain(entries).all(|v| v.is_finite()) {
            return bad("an entry is not finite");
        }
        let positive = |j: usize| match &self.covariance {
            Covariance::Full(all) => all[j * p + j] > 0.0,
            Covariance::LowRank { own, .. } => own[j] > 0.0,
        };
        if !self.scales.iter().all(|s| s.is_finite() && *s >= 0.0) || !(0..p).all(positive) {
            return bad("a variance is negative");
        }
        Ok(())
    }
}

/// A cell in standard units; features that never vary are always at their mean.
fn standard(value: f64, mean: f64, scale: f64) -> f64 {
    if scale > 0.0 { (value - mean) / scale } else { 0.0 }
}
