//! How far a sample covariance is moved towards its diagonal.

use serde::{Deserialize, Serialize};

use crate::error::{Result, require};
use crate::linalg::{Dense, vector};

/// Weight of the diagonal in $(1 - \lambda) S + \lambda\,\mathrm{diag}(S)$.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "must be a number between 0 and 1 or \"auto\"")]
pub enum Shrinkage {
    /// This much.
    Fixed(f64),
    /// Estimated.
    Rule(ShrinkageRule),
}

/// Named rules for [`Shrinkage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShrinkageRule {
    /// Ledoit and Wolf's estimate of the weight with the least mean squared error.
    Auto,
}

impl Default for Shrinkage {
    fn default() -> Self {
        Self::Rule(ShrinkageRule::Auto)
    }
}

impl Shrinkage {
    /// Refuses weights outside [0, 1].
    pub fn check(self) -> Result<()> {
        match self {
            Self::Fixed(value) => {
                let good = (0.0..=1.0).contains(&value);
                require(good, "shrinkage", value, "between 0 and 1, or \"auto\"")
            }
            Self::Rule(ShrinkageRule::Auto) => Ok(()),
        }
    }

    /// The weight for standardised rows `z` that count `weights` times each, of which the share
    /// `observed` of the cells was measured: what was filled in tells nothing new.
    pub(super) fn weight(self, z: &Dense, weights: &[f64], observed: f64) -> f64 {
        match self {
            Self::Fixed(value) => value,
            Self::Rule(ShrinkageRule::Auto) => {
                (ledoit_wolf(z, weights) / observed.max(1e-3)).min(1.0)
            }
        }
    }
}

/// Ledoit and Wolf (2004), *A well-conditioned estimator for large-dimensional covariance matrices*,
/// Journal of Multivariate Analysis 88, for centred rows: the estimated error of the sample covariance over its
/// distance from a multiple of the identity. The norm of the covariance comes from the smaller of both Gram
/// matrices.
fn ledoit_wolf(z: &Dense, weights: &[f64]) -> f64 {
    let p = z.ncols() as f64;
    let total: f64 = weights.iter().sum();
    let lengths: Vec<f64> = (0..z.nrows()).map(|i| vector::norm_sq(z.row(i))).collect();
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / total;
    let trace = mean(&mut lengths.iter().zip(weights).map(|(l, w)| w * l));
    let fourth = mean(&mut lengths.iter().zip(weights).map(|(l, w)| w * l * l));
    let norm = if z.nrows() < z.ncols() {
        let rows = Dense::from_fn(z.nrows(), z.ncols(), |i, j| z[(i, j)] * weights[i].sqrt());
        vector::norm_sq(rows.outer_gram().data())
    } else {
        vector::norm_sq(z.weighted_gram(weights).data())
    } / (total * total);
    let apart = norm - trace * trace / p;
    let error = (fourth - norm) / total;
    if apart <= 0.0 { 1.0 } else { (error / apart).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows (1, 1), (-1, -1), (1, 0), (-1, 0): the squared lengths are 2, 2, 1, 1, so that the trace is 1.5
    /// and the mean fourth power 2.5; S = [[1, .5], [.5, .5]] has the squared norm 1.75. Error (2.5 - 1.75)/4,
    /// distance 1.75 - 1.5^2/2: the weight is 0.3.
    #[test]
    fn the_weight_of_four_rows_matches_the_formula_by_hand() {
        let z = Dense::from_rows(4, 2, vec![1.0, 1.0, -1.0, -1.0, 1.0, 0.0, -1.0, 0.0]);
        assert!((ledoit_wolf(&z, &[1.0; 4]) - 0.3).abs() < 1e-14);
        let half = Dense::from_rows(2, 2, vec![1.0, 1.0, 1.0, 0.0]);
        assert!((ledoit_wolf(&half, &[2.0; 2]) - 0.3).abs() < 1e-14);
    }
}
