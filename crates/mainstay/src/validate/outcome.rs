//! What a validation found.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::metrics::{Interval, Metric};

/// One metric: on the rows the model has seen, corrected for that, and on rows it has not seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricRow {
    /// Which metric.
    pub metric: Metric,
    /// Of the fit to all rows, on these rows.
    pub apparent: Option<f64>,
    /// How much better refits to bootstrap samples look on their sample than on the original rows (Harrell).
    pub optimism: Option<f64>,
    /// Apparent less optimism.
    pub corrected: Option<f64>,
    /// 95 % interval of the corrected value: that of the apparent value over redraws of the rows, shifted by the optimism,
    /// and no narrower than that of the cross-validated value over redraws.
    pub corrected_interval: Option<Interval>,
    /// Repeated cross-validation: mean over the repeats of the metric of all held-out predictions of a repeat.
    pub cross_validated: Option<f64>,
    /// Its 95 % interval.
    pub cross_validated_interval: Option<Interval>,
    /// Why a value is missing.
    pub problem: Option<String>,
}

/// A point of the calibration curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationPoint {
    /// Predicted probability of the positive class.
    pub predicted: f64,
    /// Share of positive rows among those with about this probability.
    pub observed: f64,
    /// Lower end of the 95 % band.
    pub low: f64,
    /// Upper end of the 95 % band.
    pub high: f64,
}

/// Held-out probabilities against what happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationCurve {
    /// Width of the Gaussian window over which rows are averaged.
    pub bandwidth: f64,
    /// Points by rising probability, within the range of the predictions.
    pub points: Vec<CalibrationPoint>,
}

/// How much the answer for one row depends on which rows were drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowInstability {
    /// Which row, from 0.
    pub row: usize,
    /// Probability by the fit to all rows: of the positive class, with more than two classes of the class it predicts.
    pub probability: Option<f64>,
    /// 2.5 % of the bootstrap refits give less.
    pub low: Option<f64>,
    /// 2.5 % of the bootstrap refits give more.
    pub high: Option<f64>,
    /// Mean absolute difference between the probabilities of the refits and of the fit to all rows (MAPE).
    pub mean_absolute_error: Option<f64>,
    /// Share of the refits that predict another class.
    pub flips: f64,
}

/// The same over all rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Instability {
    /// One entry per row.
    pub rows: Vec<RowInstability>,
    /// Mean of the rows' mean absolute errors.
    pub mean_absolute_error: Option<f64>,
    /// Mean share of refits that predict another class than the fit to all rows.
    pub flips: f64,
}

/// A point of the learning curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearningPoint {
    /// Training rows.
    pub rows: usize,
    /// Mean of the metric on rows not trained on.
    pub mean: f64,
    /// 2.5 % quantile over the repeats.
    pub low: f64,
    /// 97.5 % quantile over the repeats.
    pub high: f64,
}

/// What twice the rows would bring.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Extrapolation {
    /// Twice the rows there are.
    pub rows: usize,
    /// The metric to expect.
    pub expected: f64,
    /// Half the width of its 95 % interval: of the present value and of the gain together.
    pub plus_minus: f64,
    /// What is gained over the present value.
    pub gain: f64,
    /// Half the width of the 95 % interval of the gain alone.
    pub gain_plus_minus: f64,
}

/// How the metric grows with the rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearningCurve {
    /// Which metric.
    pub metric: Metric,
    /// Points by rising number of rows.
    pub points: Vec<LearningPoint>,
    /// What twice the rows would bring, where the points allow a guess.
    pub twice: Option<Extrapolation>,
}

/// Everything a validation found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Number of rows.
    pub rows: usize,
    /// Number of classes.
    pub classes: usize,
    /// Bootstrap refits that are in it.
    pub bootstrap: usize,
    /// Complete repeats of the cross-validation.
    pub repeats: usize,
    /// Folds of each.
    pub folds: usize,
    /// One entry a metric.
    pub metrics: Vec<MetricRow>,
    /// By how much scores should be multiplied for new rows: the corrected calibration slope, or the
    /// cross-validated one where it is not corrected, at most 1.
    pub shrinkage: Option<f64>,
    /// Held-out probabilities against what happened; for two classes.
    pub calibration: Option<CalibrationCurve>,
    /// How much answers depend on which rows were drawn.
    pub instability: Option<Instability>,
    /// How the metric grows with the rows.
    pub learning: Option<LearningCurve>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

impl Outcome {
    /// The entry of `metric`.
    pub fn metric(&self, metric: Metric) -> Option<&MetricRow> {
        self.metrics.iter().find(|row| row.metric == metric)
    }

    /// The finding in one sentence, by the metric of the learning curve.
    pub fn headline(&self, metric: Metric) -> String {
        let name = metric.title();
        let Some(row) = self.metric(metric) else { return format!("{name} was not asked for") };
        let (Some(apparent), Some(corrected)) = (row.apparent, row.corrected) else {
            let why = row.problem.as_deref().unwrap_or("too few refits");
            return format!("{name} could not be corrected: {why}");
        };
        let span = row.corrected_interval.map_or_else(String::new, |i| {
            format!(" (95 % interval {:.3} to {:.3})", i.low, i.high)
        });
        let mut text = format!(
            "{name} {corrected:.3}{span} to expect on new rows of the same kind; {apparent:.3} on the rows it was fitted to"
        );
        if let Some(twice) = self.learning.as_ref().and_then(|l| l.twice.as_ref()) {
            let _ = write!(
                text,
                "; with twice the rows, expect {:.3} ± {:.3}",
                twice.expected, twice.plus_minus
            );
        }
        text
    }
}
