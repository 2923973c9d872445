//! What a validation found.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::metrics::{Interval, Metric};

/// By how much held-out rows must be worse than the corrected value, in units of the metric, for a reader to be told.
const LEAST_DOUBT: f64 = 0.01;

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

impl MetricRow {
    /// What to expect on new rows, with its 95 % interval: the cross-validated value, or the corrected one where no
    /// repeat of the cross-validation is complete.
    ///
    /// Both estimate the same. Where features are many for the rows, a sample drawn with replacement flatters its fit less
    /// than the rows themselves do, so that too little optimism is taken off (`docs/guide/validation.md` has the measurement).
    pub fn expected(&self) -> Option<(f64, Option<Interval>)> {
        let held_out = self.cross_validated.map(|v| (v, self.cross_validated_interval));
        held_out.or_else(|| self.corrected.map(|v| (v, self.corrected_interval)))
    }

    /// Why the corrected value should not be quoted, where held-out rows take back much of it.
    pub(super) fn doubt(&self) -> Option<String> {
        let (corrected, held_out) = (self.corrected?, self.cross_validated?);
        let better = if self.metric.higher_is_better()? { 1.0 } else { -1.0 };
        let short = better * (corrected - held_out);
        let taken_off = (better * self.optimism?).max(0.0);
        (short > LEAST_DOUBT && short > taken_off / 2.0).then(|| {
            format!(
                "{} corrected by the bootstrap is {corrected:.3}, on held-out rows {held_out:.3}: the bootstrap seems to take off too little, as it \
                 does where features are many for the rows; quote the cross-validated figures",
                self.metric.title()
            )
        })
    }
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
    /// One entry per metric.
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
        let (Some(apparent), Some((expected, interval))) = (row.apparent, row.expected()) else {
            let why = row.problem.as_deref().unwrap_or("too few refits");
            return format!("{name} could not be estimated: {why}");
        };
        let span = interval.map_or_else(String::new, |i| {
            format!(" (95 % interval {:.3} to {:.3})", i.low, i.high)
        });
        let mut text = format!(
            "{name} {expected:.3}{span} to expect on new rows of the same kind; {apparent:.3} on the rows it was fitted to"
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(metric: Metric, optimism: f64, held_out: Option<f64>) -> MetricRow {
        let apparent = 0.9;
        MetricRow {
            metric,
            apparent: Some(apparent),
            optimism: Some(optimism),
            corrected: Some(apparent - optimism),
            corrected_interval: None,
            cross_validated: held_out,
            cross_validated_interval: held_out.map(|v| Interval { low: v - 0.1, high: v + 0.1 }),
            problem: None,
        }
    }

    #[test]
    fn what_is_expected_comes_from_held_out_rows_where_there_are_any() {
        let (value, interval) = row(Metric::Auc, 0.06, Some(0.75)).expected().unwrap();
        assert_eq!(value, 0.75);
        assert_eq!(interval.unwrap().low, 0.65);
        assert_eq!(row(Metric::Auc, 0.06, None).expected(), Some((0.9 - 0.06, None)));
    }

    /// 0.06 taken off: held-out rows may be worse by 0.03 before a reader is told, and better by anything.
    #[test]
    fn a_correction_that_held_out_rows_contradict_is_doubted() {
        assert!(row(Metric::Auc, 0.06, Some(0.80)).doubt().is_some());
        assert!(row(Metric::Auc, 0.06, Some(0.82)).doubt().is_none());
        assert!(row(Metric::Auc, 0.06, Some(0.88)).doubt().is_none());
        // Of a loss the optimism is negative, and worse is more.
        assert!(row(Metric::LogLoss, -0.06, Some(1.00)).doubt().is_some());
        assert!(row(Metric::LogLoss, -0.06, Some(0.97)).doubt().is_none());
    }
}
