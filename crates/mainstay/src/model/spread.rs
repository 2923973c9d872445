//! How the training rows spread, computed when somebody asks.
//!
//! Distances of training rows cost as much as a small fit, and most fits are never asked about them. So a fit keeps a
//! few of its rows until the spread is needed: by `trust`, or for a file. The rows themselves are
//! in no file.

use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::training::{FeatureRanges, standard_cells};
use crate::data::Dataset;
use crate::error::Result;
use crate::linalg::{Cholesky, Dense, Matrix, vector};
use crate::uncertainty::feature_model::{FeatureModel, Rows, Shrinkage, ShrinkageRule};

/// Multiplications spent on correlations; beyond it they come from equally spaced rows.
const EFFORT: usize = 4_000_000;
/// Rows per feature that correlations take at least, whatever the effort.
const ROWS_PER_FEATURE: usize = 20;
/// Rows beyond which a percentile of their distances moves no more than it matters.
const MOST_ROWS: usize = 4_000;
/// Added to all variances in standard units, so that indicators that add up to 1 have a distance.
const RIDGE: f64 = 0.01;
/// Rows below which nothing is said about distances.
const FEWEST_ROWS: usize = 10;
/// What a row leaves of the covariance in its own direction, at least: a row that spans a direction alone is far, not
/// infinitely far.
const LEAST_REST: f64 = 1e-6;

/// How far rows usually lie from the mean, with correlations taken into account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Covariance in standard units, shrunk, its lower triangle row by row.
    pub covariance: Vec<f64>,
    /// Percentiles 0, 1, ..., 100 of the distances of training rows, each measured without itself.
    pub distances: Vec<f64>,
}

/// A [`Spread`] that is computed when it is first asked for.
#[derive(Debug, Clone, Default)]
pub struct LazySpread {
    sample: Option<Sample>,
    found: OnceLock<Option<Spread>>,
}

/// Training rows as they were, what standard units are, and the weights of the rows.
#[derive(Debug, Clone)]
struct Sample {
    rows: Dense,
    means: Vec<f64>,
    deviations: Vec<f64>,
    weights: Option<Vec<f64>>,
}

impl Sample {
    /// The rows in standard units, a missing cell at its mean.
    fn standardized(&self) -> Dense {
        let (n, p) = (self.rows.nrows(), self.rows.ncols());
        let cells = |i| standard_cells(self.rows.row(i), &self.means, &self.deviations);
        Dense::from_rows(n, p, (0..n).flat_map(cells).collect())
    }
}

impl LazySpread {
    /// The spread of the rows of `data` that count, of which there are `count`.
    pub(super) fn of(data: &Dataset, count: usize, ranges: &FeatureRanges) -> Self {
        let p = data.n_features();
        let most = (EFFORT / (p * p)).min(MOST_ROWS).max(ROWS_PER_FEATURE * p);
        let rows: Vec<usize> = data.counting_rows().step_by(count.div_ceil(most)).collect();
        if rows.len() < FEWEST_ROWS {
            return Self::default();
        }
        let weights = data.weights().map(|w| rows.iter().map(|&i| w[i]).collect());
        let sample = Sample {
            rows: match data.features() {
                Matrix::Dense(x) => x.select_rows(&rows),
                x @ Matrix::Sparse(_) => x.select_rows(&rows).to_dense(),
            },
            means: ranges.means.clone(),
            deviations: ranges.deviations.clone(),
            weights,
        };
        Self { sample: Some(sample), found: OnceLock::new() }
    }

    /// How far rows usually lie from the mean; `None` where too little is known.
    pub fn get(&self) -> Option<&Spread> {
        self.found.get_or_init(|| self.sample.as_ref().and_then(Spread::learn)).as_ref()
    }

    /// Whether nothing is known.
    pub(super) fn is_none(&self) -> bool {
        self.get().is_none()
    }
}

impl From<Option<Spread>> for LazySpread {
    fn from(spread: Option<Spread>) -> Self {
        Self { sample: None, found: OnceLock::from(spread) }
    }
}

impl PartialEq for LazySpread {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Serialize for LazySpread {
    fn serialize<S: Serializer>(&self, out: S) -> std::result::Result<S::Ok, S::Error> {
        self.get().serialize(out)
    }
}

impl<'de> Deserialize<'de> for LazySpread {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        Ok(Option::<Spread>::deserialize(from)?.into())
    }
}

impl Spread {
    fn learn(sample: &Sample) -> Option<Self> {
        let z = &sample.standardized();
        let p = z.ncols();
        let (covariance, shrinkage) = covariance(z, sample.weights.as_deref()).ok()?;
        let factor = Cholesky::new(&covariance)?;
        let total = sample.weights.as_ref().map_or(z.nrows() as f64, |w| w.iter().sum());
        let mut distances: Vec<f64> = (0..z.nrows())
            .map(|i| {
                let share = sample.weights.as_ref().map_or(1.0, |w| w[i]) / total;
                without_itself(mahalanobis(&factor, z.row(i)), (1.0 - shrinkage) * share)
            })
            .collect();
        distances.sort_by(f64::total_cmp);
        let lower = (0..p).flat_map(|j| covariance.row(j)[..=j].to_vec()).collect();
        let spread = Self { covariance: lower, distances: percentiles(&distances) };
        let usable = vector::all_finite(&spread.covariance)
            && vector::all_finite(&spread.distances)
            && spread.factor(p).is_some();
        usable.then_some(spread)
    }

    /// What measures distances; `None` if the stored numbers are not a covariance.
    pub fn factor(&self, p: usize) -> Option<Cholesky> {
        let entry = |j: usize, k: usize| {
            let (j, k) = (j.max(k), j.min(k));
            self.covariance.get(j * (j + 1) / 2 + k).copied().unwrap_or(f64::NAN)
        };
        Cholesky::new(&Dense::from_fn(p, p, entry))
    }

    /// Share of the training rows that lie nearer than `distance`, in hundredths.
    pub fn nearer(&self, distance: f64) -> f64 {
        let below = self.distances.iter().filter(|d| **d < distance).count();
        (below as f64 / 100.0).min(1.0)
    }
}

/// The Mahalanobis distance of a row in standard units.
pub fn mahalanobis(factor: &Cholesky, z: &[f64]) -> f64 {
    vector::dot(z, &factor.solve(z)).max(0.0).sqrt()
}

/// The distance of a row by the covariance without it. The row adds `part` times its outer product to the covariance, so that
/// by Sherman and Morrison its squared distance grows from `$q$` to `$q/(1 - \mathrm{part}\, q)$`.
fn without_itself(length: f64, part: f64) -> f64 {
    length / (1.0 - part * length * length).max(LEAST_REST).sqrt()
}

/// The shrunk covariance of rows in standard units, and how far it was shrunk.
fn covariance(z: &Dense, weights: Option<&[f64]>) -> Result<(Dense, f64)> {
    let rows = Rows { x: z, weights, errors: None };
    let shrinkage = Shrinkage::Rule(ShrinkageRule::Auto);
    let model = FeatureModel::learn(rows, shrinkage, &crate::control::Control::new())?;
    let mut found = model.covariance();
    found.add_diagonal(RIDGE);
    Ok((found, model.shrinkage))
}

/// Percentiles 0 to 100 of ascending values.
fn percentiles(sorted: &[f64]) -> Vec<f64> {
    let last = sorted.len() - 1;
    (0..=100).map(|k| sorted[(k * last + 50) / 100]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the covariance computed anew without the row; the mean of the others moves a little too.
    #[test]
    fn a_distance_without_the_row_itself_is_that_of_the_other_rows() {
        let n = 60;
        let z = Dense::from_fn(n, 2, |i, j| ((i * (j + 3)) as f64 * 0.7).sin() * 1.4);
        let gram = |skipped: Option<usize>| {
            let rows = (0..n).filter(|i| Some(*i) != skipped);
            let mut found = Dense::zeros(2, 2);
            for i in rows {
                for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    found[(a, b)] += z[(i, a)] * z[(i, b)] / n as f64;
                }
            }
            Cholesky::new(&found).unwrap()
        };
        for i in 0..n {
            let found = without_itself(mahalanobis(&gram(None), z.row(i)), 1.0 / n as f64);
            assert!((found - mahalanobis(&gram(Some(i)), z.row(i))).abs() < 1e-9);
        }
    }
}
