//! What a model remembers of its training rows as a whole: numbers, means, deviations, ranges, how they spread.
//!
//! No single row can be read off it, apart from the smallest and largest value of every feature.

use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Standardize};
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, Matrix, vector};
use crate::uncertainty::feature_model::{FeatureModel, Rows, Shrinkage, ShrinkageRule};

/// Features beyond which nothing is kept of single features.
const MOST_FEATURES: usize = 10_000;
/// Features beyond which their correlations are not kept: the file would hold mostly them.
const MOST_CORRELATED: usize = 64;
/// Multiplications spent on correlations; beyond it they come from equally spaced rows.
const EFFORT: usize = 4_000_000;
/// Added to all variances in standard units, so that indicators that add up to 1 have a distance.
const RIDGE: f64 = 0.01;
/// Rows below which nothing is said about distances.
const FEWEST_ROWS: usize = 10;
/// What a row leaves of the covariance in its own direction, at least: a row that spans a direction alone is far, not
/// infinitely far.
const LEAST_REST: f64 = 1e-6;

/// The training rows in a few numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingSummary {
    /// Rows that counted.
    pub rows: usize,
    /// How many of each class.
    pub classes: Vec<usize>,
    /// Whether the features were standardised before the fit.
    pub standardized: bool,
    /// One entry per feature; absent for models of more than 10,000 features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<FeatureRanges>,
    /// How the features vary together; absent for models of more than 64 features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
}

/// Where the training rows lay, one entry per feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureRanges {
    /// Weighted means.
    pub means: Vec<f64>,
    /// Standard deviations; 1 for a feature that never varied.
    pub deviations: Vec<f64>,
    /// Smallest values; empty where no single value is to be told.
    pub minima: Vec<f64>,
    /// Largest values; empty where no single value is to be told.
    pub maxima: Vec<f64>,
}

/// How far rows usually lie from the mean, with correlations taken into account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Covariance in standard units, shrunk, its lower triangle row by row.
    pub covariance: Vec<f64>,
    /// Percentiles 0, 1, ..., 100 of the distances of training rows, each measured without itself.
    pub distances: Vec<f64>,
}

impl TrainingSummary {
    /// Looks at the rows of a fit.
    pub fn learn(data: &Dataset) -> Result<Self> {
        let counts = |i: usize| data.weights().is_none_or(|w| w[i] > 0.0);
        let kept: Vec<usize> = (0..data.len()).filter(|&i| counts(i)).collect();
        let mut classes = vec![0; data.n_classes()];
        for &i in &kept {
            classes[data.labels()[i]] += 1;
        }
        let features = (data.n_features() <= MOST_FEATURES && !kept.is_empty())
            .then(|| FeatureRanges::learn(data, &kept));
        let spread = match &features {
            Some(ranges) if data.n_features() <= MOST_CORRELATED => {
                Spread::learn(data, &kept, ranges)?
            }
            _ => None,
        };
        Ok(Self { rows: kept.len(), classes, standardized: false, features, spread })
    }

    /// What was learned of features standardised by `scaling`, in raw units.
    #[must_use]
    pub(super) fn in_raw_units(mut self, scaling: &Standardize) -> Self {
        if let Some(ranges) = &mut self.features {
            for (j, (mean, scale)) in scaling.means.iter().zip(&scaling.scales).enumerate() {
                ranges.deviations[j] *= scale;
                for list in [&mut ranges.means, &mut ranges.minima, &mut ranges.maxima] {
                    if let Some(value) = list.get_mut(j) {
                        *value = *value * scale + mean;
                    }
                }
            }
        }
        self.standardized = true;
        self
    }

    /// Checks what came from a file against the model it stands beside.
    pub(super) fn validate(&self, n_features: usize, n_classes: usize) -> Result<()> {
        let bad = |what: &str| Err(Error::BadModel(format!("training summary: {what}")));
        if self.classes.len() != n_classes {
            return bad("one count per class is needed");
        }
        if let Some(f) = &self.features {
            let lists = [&f.means, &f.deviations, &f.minima, &f.maxima];
            let told = f.minima.len() + f.maxima.len() > 0;
            let whole = |list: &&Vec<f64>| list.len() == n_features && vector::all_finite(list);
            if !lists.iter().take(if told { 4 } else { 2 }).all(whole) {
                return bad("one finite number per feature is needed");
            }
            if f.deviations.iter().any(|d| *d <= 0.0) {
                return bad("a deviation is not positive");
            }
        }
        let Some(spread) = &self.spread else { return Ok(()) };
        let entries = n_features * (n_features + 1) / 2;
        let finite =
            vector::all_finite(&spread.covariance) && vector::all_finite(&spread.distances);
        let shaped = spread.covariance.len() == entries && spread.distances.len() == 101;
        if self.features.is_none() || !finite || !shaped || spread.factor(n_features).is_none() {
            return bad("the covariance is not one of its features");
        }
        Ok(())
    }
}

impl FeatureRanges {
    fn learn(data: &Dataset, kept: &[usize]) -> Self {
        let Standardize { means, scales: deviations } =
            Standardize::learn(data.features(), data.weights());
        let p = means.len();
        let (mut minima, mut maxima) = (vec![f64::INFINITY; p], vec![f64::NEG_INFINITY; p]);
        let mut seen = vec![0_usize; p];
        for &i in kept {
            for (j, v) in data.features().row(i).entries().filter(|(_, v)| !v.is_nan()) {
                (minima[j], maxima[j]) = (minima[j].min(v), maxima[j].max(v));
                seen[j] += 1;
            }
        }
        for j in 0..p {
            // Sparse rows do not store zeros; a feature that was never measured stands at its mean.
            if matches!(data.features(), Matrix::Sparse(_)) && seen[j] < kept.len() {
                (minima[j], maxima[j]) = (minima[j].min(0.0), maxima[j].max(0.0));
            } else if seen[j] == 0 {
                (minima[j], maxima[j]) = (means[j], means[j]);
            }
        }
        Self { means, deviations, minima, maxima }
    }

    /// A row in standard units; a missing cell is at its mean.
    pub fn standard(&self, row: &[f64]) -> Vec<f64> {
        let cells = row.iter().zip(self.means.iter().zip(&self.deviations));
        cells.map(|(v, (m, d))| if v.is_nan() { 0.0 } else { (v - m) / d }).collect()
    }
}

impl Spread {
    fn learn(data: &Dataset, kept: &[usize], ranges: &FeatureRanges) -> Result<Option<Self>> {
        let p = data.n_features();
        let most = (EFFORT / (p * p)).max(20 * p);
        let rows: Vec<usize> = kept.iter().copied().step_by(kept.len().div_ceil(most)).collect();
        if rows.len() < FEWEST_ROWS {
            return Ok(None);
        }
        let dense = data.features().select_rows(&rows).to_dense();
        let z = Dense::from_rows(
            rows.len(),
            p,
            (0..rows.len()).flat_map(|i| ranges.standard(dense.row(i))).collect(),
        );
        let weights: Option<Vec<f64>> =
            data.weights().map(|w| rows.iter().map(|&i| w[i]).collect());
        let (covariance, shrinkage) = covariance(&z, weights.as_deref())?;
        let Some(factor) = Cholesky::new(&covariance) else { return Ok(None) };
        let total = weights.as_ref().map_or(rows.len() as f64, |w| w.iter().sum());
        let mut distances: Vec<f64> = (0..rows.len())
            .map(|i| {
                let share = weights.as_ref().map_or(1.0, |w| w[i]) / total;
                without_itself(length(&factor, z.row(i)), (1.0 - shrinkage) * share)
            })
            .collect();
        distances.sort_by(f64::total_cmp);
        let lower = (0..p).flat_map(|j| covariance.row(j)[..=j].to_vec()).collect();
        let spread = Self { covariance: lower, distances: percentiles(&distances) };
        let usable = vector::all_finite(&spread.covariance)
            && vector::all_finite(&spread.distances)
            && spread.factor(p).is_some();
        Ok(usable.then_some(spread))
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
pub fn length(factor: &Cholesky, z: &[f64]) -> f64 {
    vector::dot(z, &factor.solve(z)).max(0.0).sqrt()
}

/// The distance of a row by the covariance without it. The row adds `part` times its outer product to the covariance, so that
/// by Sherman and Morrison its squared distance grows from $q$ to $q/(1 - \mathrm{part}\, q)$.
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

    /// Two features that move together and one indicator.
    fn data(n: usize) -> Dataset {
        let wave = |i: usize, step: f64| (i as f64 * step).sin();
        let x = Dense::from_fn(n, 3, |i, j| match j {
            0 => 5.0 + wave(i, 1.1),
            1 => 10.0 * (wave(i, 1.1) + 0.1 * wave(i, 2.3)),
            _ => f64::from(u8::from(i % 3 == 0)),
        });
        Dataset::new(x.into(), (0..n).map(|i| i % 2).collect(), 2).unwrap()
    }

    #[test]
    fn a_row_against_the_correlation_is_farther_than_one_along_it() {
        let summary = TrainingSummary::learn(&data(200)).unwrap();
        let (ranges, spread) = (summary.features.unwrap(), summary.spread.unwrap());
        let factor = spread.factor(3).unwrap();
        let far = |row: [f64; 3]| length(&factor, &ranges.standard(&row));
        let (along, against) = (far([6.0, 10.0, 0.0]), far([6.0, -10.0, 0.0]));
        assert!(against > 3.0 * along, "{along} {against}");
        assert!(spread.nearer(along) < 0.99, "{along} {:?}", spread.distances);
        assert_eq!(spread.nearer(against), 1.0);
        assert_eq!(far([f64::NAN, f64::NAN, f64::NAN]), 0.0);
    }

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
            let found = without_itself(length(&gram(None), z.row(i)), 1.0 / n as f64);
            assert!((found - length(&gram(Some(i)), z.row(i))).abs() < 1e-9);
        }
    }

    #[test]
    fn counts_means_and_ranges_are_those_of_the_rows_that_count() {
        let x = Dense::from_rows(4, 1, vec![1.0, 3.0, 100.0, 5.0]);
        let rows = Dataset::new(x.into(), vec![0, 0, 1, 1], 2).unwrap();
        let rows = rows.with_weights(vec![1.0, 2.0, 0.0, 1.0]).unwrap();
        let found = TrainingSummary::learn(&rows).unwrap();
        assert_eq!((found.rows, found.classes.as_slice()), (3, &[2, 1][..]));
        let ranges = found.features.unwrap();
        // Mean (1 + 3 + 3 + 5)/4, variance (4 + 0 + 0 + 4)/4.
        assert_eq!((ranges.means[0], ranges.deviations[0]), (3.0, 2.0_f64.sqrt()));
        assert_eq!((ranges.minima[0], ranges.maxima[0]), (1.0, 5.0));
        assert!(found.spread.is_none());
    }

    #[test]
    fn a_summary_that_does_not_fit_its_model_is_refused() {
        let found = TrainingSummary::learn(&data(50)).unwrap();
        assert!(found.validate(3, 2).is_ok());
        assert!(found.validate(2, 2).is_err());
        assert!(found.validate(3, 3).is_err());
        let mut other = found.clone();
        other.spread.as_mut().unwrap().covariance[0] = -1.0;
        assert!(other.validate(3, 2).is_err());
    }
}
