//! How good predictions are: one definition of every metric, for all who judge.
//!
//! ```
//! use mainstay::linalg::Dense;
//! use mainstay::metrics::{Judged, Metric, Predictions};
//!
//! // Two classes: one score per row, positive for class 1, and no probabilities.
//! let scores = Dense::from_rows(4, 1, vec![-2.0, 0.5, -0.1, 3.0]);
//! let made = Predictions { predicted: vec![0, 1, 0, 1], scores: Some(scores), probabilities: None };
//! let judged = Judged::new(&[0, 0, 1, 1], 2, &made)?;
//! assert_eq!(Metric::Accuracy.of(&judged), Ok(0.5));
//! assert_eq!(Metric::find("auc")?.of(&judged), Ok(0.75));
//! // What is not defined says why, and is never a number.
//! assert!(Metric::LogLoss.of(&judged).is_err_and(|why| why.to_string().contains("probabilities")));
//! # Ok::<(), mainstay::Error>(())
//! ```
//!
//! [`Metric`] is a metric by name, [`Judged`] what it is asked about (labels, [`Predictions`], and if wanted weights of
//! rows, a threshold and costs), [`Undefined`] why it has no value, [`intervals`] how far it would move with other rows,
//! [`Evaluation`] everything at once.

mod between_edges;
mod calibration;
mod counts;
mod curves;
mod evaluation;
mod interval;
mod judge;
mod judged;
mod probability;
mod ranking;
mod side;
mod spread;
mod undefined;

pub use calibration::{CalibrationBin, calibration_bins};
pub use curves::{ThresholdRow, USUAL_THRESHOLDS, pr_curve, roc_curve, threshold_table};
pub use evaluation::{ClassEvaluation, Evaluation, accuracy, log_loss};
pub use interval::{Interval, intervals, usual_redraws};
pub use judge::Judge;
pub use judged::{Costs, Judged, Predictions};
pub use ranking::auc;
pub(crate) use spread::{NORMAL, quantile, student};
pub use undefined::{Measured, Undefined};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, suggest};
use side::Side;

/// From this share of the largest class on, accuracy says little: a constant answer has one that is hard to beat.
pub const DOMINANT: f64 = 0.65;

/// What a metric looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The predicted class of every row.
    Labels,
    /// A score that orders the rows.
    Scores,
    /// A probability for every class.
    Probabilities,
}

/// A metric, by one name in Rust, in files, on the command line and in Python.
///
/// With two classes the second one is the positive one. With more, a metric of one class against the rest is the mean over
/// the classes ([`Metric::per_class`] gives each); [`Metric::Accuracy`], [`Metric::BalancedAccuracy`], [`Metric::LogLoss`],
/// [`Metric::Brier`], [`Metric::BrierSkill`] and [`Metric::Mcc`] have definitions of their own for more classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Metric {
    /// Share of rows whose class was predicted.
    Accuracy,
    /// Mean over the classes that occur of the share predicted rightly.
    BalancedAccuracy,
    /// Area under the ROC curve: the chance that a positive row scores above a negative one, ties counting half.
    Auc,
    /// Area under the precision-recall curve as the average precision `$\sum_t (R_t - R_{t-1}) P_t$` over all thresholds.
    PrAuc,
    /// Mean of `$-\ln p$` of the true class, `$p$` kept `$2^{-52}$` away from 0.
    LogLoss,
    /// Two classes: mean of `$(p - y)^2$`. More: mean of the sum over the classes.
    Brier,
    /// `$1 - B / B_0$`, where `$B_0$` is the Brier score of always answering the shares of the classes.
    BrierSkill,
    /// `$b$` in the logistic regression of the class on `$a + b \operatorname{logit} p$`; 1 is ideal, less says that
    /// probabilities are too extreme.
    CalibrationSlope,
    /// `$a$` in the logistic regression of the class on `$a + \operatorname{logit} p$`; 0 is ideal, less says that
    /// probabilities are too high.
    CalibrationIntercept,
    /// Expected calibration error: over ten bins of equal width, the mean distance between probability and share.
    CalibrationError,
    /// Share of the positive rows that were called positive (recall).
    Sensitivity,
    /// Share of the negative rows that were called negative.
    Specificity,
    /// Share of the rows called positive that are (precision).
    Ppv,
    /// Share of the rows called negative that are.
    Npv,
    /// Harmonic mean of sensitivity and PPV.
    F1,
    /// Matthews' correlation of label and prediction; 0 where all rows are called the same.
    Mcc,
    /// `$\mathrm{TP}/n - \mathrm{FP}/n \cdot t/(1-t)$` for the rows that are called positive, `$t$` being the threshold of
    /// [`Judged::with_threshold`] (1/2 without one). Two classes only; for the negative one `$t$` is `$1 - t$`.
    NetBenefit,
    /// Mean cost of a row under the [`Costs`] of [`Judged::with_costs`]. Two classes only.
    Cost,
}

impl Metric {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 18] = [
        Self::Accuracy,
        Self::BalancedAccuracy,
        Self::Auc,
        Self::PrAuc,
        Self::LogLoss,
        Self::Brier,
        Self::BrierSkill,
        Self::CalibrationSlope,
        Self::CalibrationIntercept,
        Self::CalibrationError,
        Self::Sensitivity,
        Self::Specificity,
        Self::Ppv,
        Self::Npv,
        Self::F1,
        Self::Mcc,
        Self::NetBenefit,
        Self::Cost,
    ];

    /// The name on the command line, in files and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced_accuracy",
            Self::Auc => "auc",
            Self::PrAuc => "pr_auc",
            Self::LogLoss => "log_loss",
            Self::Brier => "brier",
            Self::BrierSkill => "brier_skill",
            Self::CalibrationSlope => "calibration_slope",
            Self::CalibrationIntercept => "calibration_intercept",
            Self::CalibrationError => "calibration_error",
            Self::Sensitivity => "sensitivity",
            Self::Specificity => "specificity",
            Self::Ppv => "ppv",
            Self::Npv => "npv",
            Self::F1 => "f1",
            Self::Mcc => "mcc",
            Self::NetBenefit => "net_benefit",
            Self::Cost => "cost",
        }
    }

    /// The name in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced accuracy",
            Self::Auc => "AUC",
            Self::PrAuc => "PR AUC",
            Self::LogLoss => "log loss",
            Self::Brier => "Brier score",
            Self::BrierSkill => "Brier skill",
            Self::CalibrationSlope => "calibration slope",
            Self::CalibrationIntercept => "calibration intercept",
            Self::CalibrationError => "calibration error",
            Self::Sensitivity => "sensitivity",
            Self::Specificity => "specificity",
            Self::Ppv => "PPV",
            Self::Npv => "NPV",
            Self::F1 => "F1",
            Self::Mcc => "MCC",
            Self::NetBenefit => "net benefit",
            Self::Cost => "cost",
        }
    }

    /// The metric of a name: ours, with `-` for `_` if you like, or the one that scikit-learn uses.
    pub fn find(name: &str) -> Result<Self> {
        let wanted = name.to_lowercase().replace('-', "_");
        let other = match wanted.as_str() {
            "roc_auc" => "auc",
            "average_precision" => "pr_auc",
            "brier_score" => "brier",
            "recall" => "sensitivity",
            "precision" => "ppv",
            "ece" => "calibration_error",
            "matthews_corrcoef" => "mcc",
            own => own,
        };
        Self::ALL.into_iter().find(|metric| metric.name() == other).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            Error::BadParams(format!("no metric `{name}`: {}", suggest(&wanted, &names, "metrics")))
        })
    }

    /// Whether more is better; none for slope and intercept, which have an ideal value in between.
    pub fn higher_is_better(self) -> Option<bool> {
        match self {
            Self::CalibrationSlope | Self::CalibrationIntercept => None,
            Self::LogLoss | Self::Brier | Self::CalibrationError | Self::Cost => Some(false),
            _ => Some(true),
        }
    }

    /// What it looks at.
    pub fn needs(self) -> Needs {
        match self {
            Self::Auc | Self::PrAuc => Needs::Scores,
            Self::LogLoss
            | Self::Brier
            | Self::BrierSkill
            | Self::CalibrationSlope
            | Self::CalibrationIntercept
            | Self::CalibrationError
            | Self::NetBenefit => Needs::Probabilities,
            _ => Needs::Labels,
        }
    }

    /// Its value, or why it has none.
    pub fn of(self, judged: &Judged<'_>) -> Result<f64, Undefined> {
        self.check(judged)?;
        match self {
            // By the column of the true class: 1 - p would lose the digits of small probabilities.
            Self::LogLoss => probability::log_loss(judged),
            _ if judged.n_classes() == 2 => self.of_side(&Side::new(judged, 1)),
            Self::Accuracy => Ok(counts::accuracy(judged)),
            Self::BalancedAccuracy => counts::balanced_accuracy(judged),
            Self::Mcc => Ok(counts::mcc(judged)),
            Self::Brier => probability::brier(judged),
            Self::BrierSkill => probability::brier_skill(judged),
            Self::NetBenefit | Self::Cost => Err(Undefined::MoreClasses),
            _ => {
                let each: Result<Vec<f64>, Undefined> =
                    self.per_class(judged).into_iter().collect();
                each.map(|values| values.iter().sum::<f64>() / values.len() as f64)
            }
        }
    }

    /// Its value for every class against the rest, or why it has none. With two classes the last is [`Metric::of`].
    pub fn per_class(self, judged: &Judged<'_>) -> Vec<Result<f64, Undefined>> {
        let one = |class: usize| {
            self.check(judged)?;
            self.of_side(&Side::new(judged, class))
        };
        (0..judged.n_classes()).map(one).collect()
    }

    fn check(self, judged: &Judged<'_>) -> Result<(), Undefined> {
        match self.needs() {
            Needs::Scores if judged.scores().is_none() => Err(Undefined::NoScores),
            Needs::Probabilities if judged.probabilities().is_none() => {
                Err(Undefined::NoProbabilities)
            }
            _ => Ok(()),
        }
    }

    fn of_side(self, side: &Side<'_>) -> Result<f64, Undefined> {
        match self {
            Self::Auc => ranking::roc(side),
            Self::PrAuc => ranking::average_precision(side),
            Self::LogLoss => side.mean(probability::surprise),
            Self::Brier => side.mean(probability::square),
            Self::BrierSkill => probability::skill(side),
            Self::CalibrationSlope => calibration::slope(side),
            Self::CalibrationIntercept => calibration::intercept(side),
            Self::CalibrationError => calibration::error(side),
            _ => counts::Counts::new(side).metric(self, side),
        }
    }
}

#[cfg(test)]
mod tests;
