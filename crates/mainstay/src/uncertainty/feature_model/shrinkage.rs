//! How far a sample covariance is moved towards its diagonal.

use serde::{Deserialize, Serialize};

use crate::error::{Result, require};
use crate::linalg::{Dense, vector};

/// Weight of the diagonal in `$(1 - \lambda) S + \lambda\,\mathrm{diag}(S)$`.
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

    /// The weight for standardised rows `z` that count `weights` times each; NaN is a missing cell.
    pub(super) fn weight(self, z: &Dense, weights: &[f64]) -> f64 {
        match self {
            Self::Fixed(value) => value,
            Self::Rule(ShrinkageRule::Auto) if z.data().iter().any(|v| v.is_nan()) => {
                pairwise(z, weights)
            }
            Self::Rule(ShrinkageRule::Auto) => ledoit_wolf(z, weights),
        }
    }
}

/// Features that the weight is estimated from where cells are missing: all pairs of them are looked at.
const PAIRED: usize = 500;

/// The same estimate from the rows in which both features of a pair are measured.
///
/// Rows with filled cells would not do: filled by a model without relations they show none, and the estimate
/// would confirm itself.
fn pairwise(z: &Dense, weights: &[f64]) -> f64 {
    let every = z.ncols().div_ceil(PAIRED);
    let columns = z.ncols().div_ceil(every);
    let of = |value: fn(f64) -> f64| {
        Dense::from_fn(z.nrows(), columns, |i, j| value(z[(i, j * every)])).weighted_gram(weights)
    };
    let known = |v: f64| if v.is_nan() { 0.0 } else { v };
    let counts = of(|v| f64::from(u8::from(!v.is_nan())));
    let (products, squares) = (of(known), of(|v| if v.is_nan() { 0.0 } else { v * v }));
    let (mut error, mut apart) = (0.0, 0.0);
    for (at, &count) in counts.data().iter().enumerate().filter(|(_, n)| **n > 1.0) {
        let (product, square) = (products.data()[at] / count, squares.data()[at] / count);
        error += (square - product * product) / count;
        if at / columns != at % columns {
            apart += product * product;
        }
    }
    if apart <= 0.0 { 1.0 } else { (error / apart).clamp(0.0, 1.0) }
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

    /// Two features with correlation 1/2 and unit variances, all cells measured: both estimates are one formula.
    #[test]
    fn pairs_of_features_give_the_same_weight_where_nothing_is_missing() {
        let z: Vec<f64> = (0..40)
            .flat_map(|i| {
                let angle = f64::from(i) * std::f64::consts::TAU / 40.0;
                [2f64.sqrt() * angle.cos(), 2f64.sqrt() * (angle + 1.0).cos()]
            })
            .collect();
        let z = Dense::from_rows(40, 2, z);
        let (by_pairs, by_rows) = (pairwise(&z, &[1.0; 40]), ledoit_wolf(&z, &[1.0; 40]));
        assert!(by_rows > 0.01 && (by_pairs - by_rows).abs() < 1e-12, "{by_pairs} {by_rows}");
    }

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
