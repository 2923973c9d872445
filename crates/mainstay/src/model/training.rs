//! What a model remembers of its training rows as a whole: numbers, means, deviations, ranges, how they spread.
//!
//! No single row can be read off it, apart from the smallest and largest value of every feature.

use serde::{Deserialize, Serialize};

use super::spread::LazySpread;
use crate::data::{Dataset, Standardize};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, vector};

/// Features beyond which nothing is kept of single features.
const MOST_FEATURES: usize = 10_000;
/// Features beyond which their correlations are not kept: the file would hold mostly them.
const MOST_CORRELATED: usize = 64;

/// Means of the same rows differ by rounding only, relative to their deviation and to themselves.
const SAME_MEAN: f64 = 1e-6;

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
    #[serde(default, skip_serializing_if = "LazySpread::is_none")]
    pub spread: LazySpread,
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

impl TrainingSummary {
    /// Looks at the rows of a fit.
    pub fn learn(data: &Dataset) -> Result<Self> {
        let classes = data.class_counts();
        let rows = classes.iter().sum();
        let features = (data.n_features() <= MOST_FEATURES && rows > 0)
            .then(|| FeatureRanges::learn(data, rows));
        let spread = match &features {
            Some(ranges) if data.n_features() <= MOST_CORRELATED => {
                LazySpread::of(data, rows, ranges)
            }
            _ => LazySpread::default(),
        };
        Ok(Self { rows, classes, standardized: false, features, spread })
    }

    /// What tells that `data` are not the rows of the fit as it counted them, if something does. Row weights are not
    /// remembered, but they move the means.
    pub fn differs_from(&self, data: &Dataset) -> Option<String> {
        let rows: usize = data.class_counts().iter().sum();
        if rows != self.rows {
            return Some(format!("{rows} rows count, the model was fitted on {}", self.rows));
        }
        let own = self.features.as_ref()?;
        let (here, _) = data.columns();
        let far = |j: &usize| {
            let allowed = SAME_MEAN * (own.deviations[*j] + own.means[*j].abs());
            (here.means[*j] - own.means[*j]).abs() > allowed
        };
        (0..own.means.len().min(here.means.len())).find(far).map(|j| {
            format!(
                "the mean of feature {} is {}, that of the fit was {}: these are other rows, or the fit had other row weights",
                j + 1,
                here.means[j],
                own.means[j]
            )
        })
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
        let Some(spread) = self.spread.get() else { return Ok(()) };
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
    /// Of `count` rows that count.
    fn learn(data: &Dataset, count: usize) -> Self {
        let (Standardize { means, scales: deviations }, ranges) = data.columns();
        let p = means.len();
        let mut stored = vec![0_usize; p];
        let (mut minima, mut maxima) = match ranges {
            Some(ranges) => (ranges.low, ranges.high),
            None => (vec![f64::INFINITY; p], vec![f64::NEG_INFINITY; p]),
        };
        let sparse = matches!(data.features(), Matrix::Sparse(_));
        for i in data.counting_rows().filter(|_| sparse) {
            for (j, v) in data.features().row(i).entries().filter(|(_, v)| !v.is_nan()) {
                (minima[j], maxima[j]) = (minima[j].min(v), maxima[j].max(v));
                stored[j] += 1;
            }
        }
        for j in 0..p {
            // Sparse rows do not store zeros; a feature that was never measured stands at its mean.
            if sparse && stored[j] < count {
                (minima[j], maxima[j]) = (minima[j].min(0.0), maxima[j].max(0.0));
            } else if minima[j] > maxima[j] {
                (minima[j], maxima[j]) = (means[j], means[j]);
            }
        }
        Self { means, deviations, minima, maxima }
    }

    /// A row in standard units; a missing cell is at its mean.
    pub fn standard(&self, row: &[f64]) -> Vec<f64> {
        standard_cells(row, &self.means, &self.deviations).collect()
    }
}

/// A row in standard units; a missing cell is at its mean.
pub(super) fn standard_cells(
    row: &[f64],
    means: &[f64],
    deviations: &[f64],
) -> impl Iterator<Item = f64> {
    let cells = row.iter().zip(means.iter().zip(deviations));
    cells.map(|(v, (m, d))| if v.is_nan() { 0.0 } else { (v - m) / d })
}

#[cfg(test)]
mod tests {
    use super::super::spread::mahalanobis;
    use super::*;
    use crate::linalg::Dense;

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
        let (ranges, spread) = (summary.features.as_ref().unwrap(), summary.spread.get().unwrap());
        let factor = spread.factor(3).unwrap();
        let far = |row: [f64; 3]| mahalanobis(&factor, &ranges.standard(&row));
        let (along, against) = (far([6.0, 10.0, 0.0]), far([6.0, -10.0, 0.0]));
        assert!(against > 3.0 * along, "{along} {against}");
        assert!(spread.nearer(along) < 0.99, "{along} {:?}", spread.distances);
        assert_eq!(spread.nearer(against), 1.0);
        assert_eq!(far([f64::NAN, f64::NAN, f64::NAN]), 0.0);
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
        assert!(found.spread.get().is_none());
    }

    #[test]
    fn a_summary_that_does_not_fit_its_model_is_refused() {
        let found = TrainingSummary::learn(&data(50)).unwrap();
        assert!(found.validate(3, 2).is_ok());
        assert!(found.validate(2, 2).is_err());
        assert!(found.validate(3, 3).is_err());
        let mut other = found.clone();
        let mut spread = found.spread.get().unwrap().clone();
        spread.covariance[0] = -1.0;
        other.spread = Some(spread).into();
        assert!(other.validate(3, 2).is_err());
    }

    /// Columns without a value, with one, and with missing cells among values, in dense and sparse rows.
    #[test]
    fn missing_cells_do_not_enter_ranges() {
        let gap = f64::NAN;
        let x = Dense::from_rows(3, 3, vec![gap, 2.0, gap, gap, gap, -1.0, gap, gap, 4.0]);
        let rows = crate::data::NanRule::Keep.dataset(x.into(), vec![0, 1, 1], 2).unwrap();
        let ranges = TrainingSummary::learn(&rows).unwrap().features.unwrap();
        assert_eq!(ranges.minima, [0.0, 2.0, -1.0]);
        assert_eq!(ranges.maxima, [0.0, 2.0, 4.0]);
    }

    #[test]
    fn a_summary_is_the_same_before_and_after_a_file() {
        let found = TrainingSummary::learn(&data(60)).unwrap();
        let stored = serde_json::to_string(&found).unwrap();
        assert!(stored.contains("covariance"));
        assert_eq!(serde_json::from_str::<TrainingSummary>(&stored).unwrap(), found);
    }
}
