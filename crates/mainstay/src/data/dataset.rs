//! Features, classes, weights and measurement errors of rows, checked once.

use std::sync::Arc;

use super::{RowUncertainty, Standardize};
use crate::error::{Error, Result};
use crate::linalg::{ColumnRanges, Matrix};

/// Features, the class of every row, and optional row weights and measurement errors, checked once at the door.
///
/// Classes are indices `0..n_classes`; what they are called is the caller's business. In a binary
/// problem class 1 is the positive one.
#[derive(Debug, Clone)]
pub struct Dataset {
    features: Matrix,
    /// Shared: copies of a data set mostly differ in something else.
    labels: Arc<Vec<usize>>,
    n_classes: usize,
    weights: Option<Vec<f64>>,
    uncertainty: Option<RowUncertainty>,
    /// What the pass that checked many dense rows found, as long as each counts once; copies share it.
    columns: Option<Arc<KnownColumns>>,
}

/// Means, deviations and ranges of all columns.
type KnownColumns = (Standardize, ColumnRanges);

impl Dataset {
    /// Checks that the parts fit together: equal lengths, finite features, at least two classes.
    pub fn new(features: Matrix, labels: Vec<usize>, n_classes: usize) -> Result<Self> {
        // The check reads all rows: their means, deviations and ranges, which fits ask for, cost no second pass.
        let columns = Standardize::of_many_finite(&features);
        if columns.is_none() {
            check_cells(&features)?;
        }
        let data = Self::of_checked_cells(features, labels, n_classes)?;
        Ok(Self { columns: columns.map(Arc::new), ..data })
    }

    fn of_checked_cells(features: Matrix, labels: Vec<usize>, n_classes: usize) -> Result<Self> {
        let data = Self::assembled(features, labels, n_classes, None)?;
        let present = count(&data.labels, n_classes).iter().filter(|&&c| c > 0).count();
        if present < 2 {
            let text = "the labels contain only one class; a classifier needs two";
            return Err(Error::BadData(text.into()));
        }
        Ok(data)
    }

    /// As [`Dataset::new`], where NaN is a missing cell and stays one. Infinities are refused.
    ///
    /// For methods that model what is missing: their table entry keeps NaN.
    pub fn with_gaps(features: Matrix, labels: Vec<usize>, n_classes: usize) -> Result<Self> {
        let gaps = features.clone().nan_to_zero();
        let data = Self::new(gaps, labels, n_classes)?;
        Ok(Self { features, columns: None, ..data })
    }

    /// One of several batches of rows: as [`Dataset::new`] and [`Dataset::with_weights`], but classes
    /// may be absent.
    pub fn batch(
        features: Matrix,
        labels: Vec<usize>,
        n_classes: usize,
        weights: Option<Vec<f64>>,
    ) -> Result<Self> {
        check_cells(&features)?;
        Self::assembled(features, labels, n_classes, weights)
    }

    fn assembled(
        features: Matrix,
        labels: Vec<usize>,
        n_classes: usize,
        weights: Option<Vec<f64>>,
    ) -> Result<Self> {
        let bad = |what: String| Err(Error::BadData(what));
        let (n, p) = (features.nrows(), features.ncols());
        if n == 0 || p == 0 {
            return bad(format!("{n} rows and {p} features: at least one of each is needed"));
        }
        if labels.len() != n {
            return bad(format!("{n} rows but {} labels", labels.len()));
        }
        if let Some(&label) = labels.iter().find(|&&label| label >= n_classes) {
            return bad(format!("class index {label}, but there are {n_classes} classes"));
        }
        if let Some(weights) = &weights {
            check_weights(weights, n)?;
        }
        let labels = Arc::new(labels);
        Ok(Self { features, labels, n_classes, weights, uncertainty: None, columns: None })
    }

    /// As [`Dataset::new`], with NaN read as "missing": such a feature counts as 0. Infinities are refused.
    ///
    /// For methods whose table entry allows NaN only: elsewhere a 0 in place of a missing value would be a
    /// silent imputation.
    pub fn with_missing(features: Matrix, labels: Vec<usize>, n_classes: usize) -> Result<Self> {
        if features.first_not_finite().is_none() {
            return Self::of_checked_cells(features, labels, n_classes);
        }
        Self::new(features.nan_to_zero(), labels, n_classes)
    }

    /// Adds row weights: finite, not negative, leaving at least two classes with positive weight.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        check_weights(&weights, self.len())?;
        let mut totals = vec![0.0; self.n_classes];
        for (&label, w) in self.labels.iter().zip(&weights) {
            totals[label] += w;
        }
        let left = totals.iter().filter(|&&t| t > 0.0).count();
        if left < 2 {
            let what = if left == 0 { "no row" } else { "only one class" };
            return Err(Error::BadData(format!("after dropping rows of weight 0 {what} is left")));
        }
        (self.weights, self.columns) = (Some(weights), None);
        Ok(self)
    }

    /// Adds the known error of every row; shapes and positive semidefiniteness are checked here.
    pub fn with_uncertainty(mut self, uncertainty: RowUncertainty) -> Result<Self> {
        uncertainty.check(self.len(), self.n_features())?;
        self.uncertainty = Some(uncertainty);
        Ok(self)
    }

    /// The features, one row per sample.
    pub fn features(&self) -> &Matrix {
        &self.features
    }

    /// Means and deviations of the columns, as [`Standardize::learn`] has them, and of dense rows the ranges over the rows that
    /// count.
    pub(crate) fn columns(&self) -> (Standardize, Option<ColumnRanges>) {
        match self.columns.as_deref() {
            Some((scaling, ranges)) => (scaling.clone(), Some(ranges.clone())),
            None => Standardize::learn_with_ranges(&self.features, self.weights()),
        }
    }

    /// Class index of every row.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// Number of classes, including any that do not occur in these rows.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// Row weights, if any were given.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The known error of every row, if it was given.
    pub fn uncertainty(&self) -> Option<&RowUncertainty> {
        self.uncertainty.as_ref()
    }

    /// The same rows, each counting once.
    #[must_use]
    pub fn without_weights(&self) -> Self {
        Self { weights: None, ..self.clone() }
    }

    /// How many rows each class has.
    pub fn label_counts(&self) -> Vec<usize> {
        count(&self.labels, self.n_classes)
    }

    /// How many rows of positive weight each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        if self.weights.is_none() {
            return self.label_counts();
        }
        let mut counts = vec![0; self.n_classes];
        self.counting_rows().for_each(|i| counts[self.labels[i]] += 1);
        counts
    }

    /// Whether row `i` counts: one of weight zero is as good as absent.
    #[inline]
    pub(crate) fn row_counts(&self, i: usize) -> bool {
        self.weights.as_ref().is_none_or(|weights| weights[i] > 0.0)
    }

    /// The rows that count, in order.
    pub(crate) fn counting_rows(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|&i| self.row_counts(i))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Never true: an empty data set is refused by [`Dataset::new`].
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.features.ncols()
    }

    /// +1 where the label is `positive`, -1 elsewhere.
    pub fn signs(&self, positive: usize) -> Vec<f64> {
        self.labels.iter().map(|&label| if label == positive { 1.0 } else { -1.0 }).collect()
    }

    /// The rows `rows`, in that order. A subset may hold fewer classes; `n_classes` stays.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        Self {
            features: self.features.select_rows(rows),
            labels: Arc::new(rows.iter().map(|&i| self.labels[i]).collect()),
            n_classes: self.n_classes,
            weights: self.weights.as_ref().map(|w| rows.iter().map(|&i| w[i]).collect()),
            uncertainty: self.uncertainty.as_ref().map(|u| u.select_rows(rows)),
            columns: None,
        }
    }

    /// The same rows with other features (scaled, say).
    #[must_use]
    pub fn replace_features(&self, features: Matrix) -> Self {
        assert_eq!(features.nrows(), self.len());
        Self { features, columns: None, ..self.clone() }
    }

    /// The same rows with other labels of the same classes.
    #[must_use]
    pub(crate) fn replace_labels(&self, labels: Vec<usize>) -> Self {
        assert_eq!(labels.len(), self.len());
        Self { labels: Arc::new(labels), ..self.clone() }
    }

    pub(crate) fn replace_weights(self, weights: Vec<f64>) -> Self {
        Self { weights: Some(weights), columns: None, ..self }
    }
}

/// A larger weight, times a loss or the weights of other rows, leaves the range of numbers.
const LARGEST_WEIGHT: f64 = 1e200;

/// Finite, not negative, one for each of `n` rows, and not so large that sums overflow.
pub(crate) fn check_weights(weights: &[f64], n: usize) -> Result<()> {
    if weights.len() != n {
        return Err(Error::BadData(format!("{n} rows but {} weights", weights.len())));
    }
    if let Some(row) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        let value = weights[row];
        return Err(Error::BadData(format!(
            "sample_weight[{row}] = {value}: weights must be finite and not negative"
        )));
    }
    if let Some(row) = weights.iter().position(|w| *w > LARGEST_WEIGHT) {
        let value = weights[row];
        return Err(Error::BadData(format!(
            "sample_weight[{row}] = {value:e}: sums of such weights leave the range of numbers; divide all \
             weights by the largest"
        )));
    }
    Ok(())
}

/// How often each class occurs.
pub(super) fn count(labels: &[usize], n_classes: usize) -> Vec<usize> {
    // Several counters per class: to count on with one means to wait for its last store.
    let mut counts = vec![[0; 8]; n_classes];
    let (eights, rest) = labels.as_chunks::<8>();
    for eight in eights {
        for (k, &label) in eight.iter().enumerate() {
            counts[label][k] += 1;
        }
    }
    for &label in rest {
        counts[label][0] += 1;
    }
    counts.iter().map(|counters| counters.iter().sum()).collect()
}

/// An error that names the first cell that is not a finite number.
fn check_cells(features: &Matrix) -> Result<()> {
    match features.first_not_finite() {
        None => Ok(()),
        Some((row, column, value)) => Err(Error::BadCell {
            row,
            column: column.to_string(),
            problem: format!("{value} is not a finite number; drop or impute it"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    /// Rows enough to be looked at once for everything.
    fn many() -> Dense {
        Dense::from_fn(1 << 15, 32, |i, j| ((i * 7 + j * 5 + i * j) as f64 * 0.37).sin() + j as f64)
    }

    fn labels() -> Vec<usize> {
        (0..1 << 15).map(|i| usize::from(i % 3 == 0)).collect()
    }

    #[test]
    fn what_is_known_of_columns_is_what_would_be_learned_of_them() {
        let data = Dataset::new(many().into(), labels(), 2).unwrap();
        assert!(data.columns.is_some());
        let weights: Vec<f64> = (0..data.len()).map(|i| (i % 4) as f64).collect();
        let doubled: Vec<f64> = many().data().iter().map(|v| 2.0 * v).collect();
        let doubled = Dense::from_rows(data.len(), 32, doubled);
        let part: Vec<usize> = (5..data.len()).collect();
        for data in [
            data.replace_labels(labels().iter().map(|l| 1 - l).collect()),
            data.replace_features(doubled.into()),
            data.select_rows(&part),
            data.clone().with_weights(weights).unwrap(),
            data,
        ] {
            let learned = Standardize::learn_with_ranges(data.features(), data.weights());
            assert_eq!(data.columns(), learned);
        }
    }

    #[test]
    fn a_cell_among_many_that_is_not_finite_is_named() {
        for (value, shown) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-f64::INFINITY, "-inf")]
        {
            let mut x = many();
            x[(20_000, 31)] = value;
            let error = Dataset::new(x.into(), labels(), 2).unwrap_err().to_string();
            assert!(error.contains("20000") && error.contains(shown), "{error}");
        }
    }

    #[test]
    fn rows_are_counted_by_class_where_their_weight_is_positive() {
        let x = Dense::zeros(11, 1);
        let data = Dataset::new(x.into(), vec![0, 1, 2, 1, 1, 0, 2, 2, 2, 2, 1], 4).unwrap();
        assert_eq!(data.label_counts(), [2, 4, 5, 0]);
        assert_eq!(data.class_counts(), [2, 4, 5, 0]);
        let weights = vec![0.0, 1.0, 0.0, 0.5, 0.0, 2.0, 1.0, 1.0, 1.0, 0.0, 1.0];
        assert_eq!(data.with_weights(weights).unwrap().class_counts(), [1, 3, 3, 0]);
    }
}
