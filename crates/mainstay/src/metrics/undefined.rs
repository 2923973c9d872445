//! Why a metric has no value.

use serde::Serialize;

use super::Metric;

/// Why a metric has no value on these rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undefined {
    /// The metric orders rows, and there are no scores.
    #[error("the model gives no scores")]
    NoScores,
    /// The metric judges probabilities, and there are none.
    #[error("the model gives no probabilities")]
    NoProbabilities,
    /// A score or probability is not a number.
    #[error("a score or probability is not a number")]
    NotANumber,
    /// There is nothing to tell apart.
    #[error("all rows are of one class")]
    OneClass,
    /// A class does not occur, and the metric divides by its rows.
    #[error("a class has no rows")]
    NoRowsOfClass,
    /// The share of nothing.
    #[error("no row was called so")]
    NoneCalled,
    /// No slope can be found: the probabilities are all the same.
    #[error("all probabilities are the same")]
    OneProbability,
    /// No finite slope is best: the probabilities put every row on its side.
    #[error("the probabilities separate the classes: the slope has no finite value")]
    Separated,
    /// The metric knows a positive and a negative class.
    #[error("it is defined for two classes only")]
    MoreClasses,
    /// Newton steps did not settle.
    #[error("the calibration could not be computed")]
    NotSolved,
}

/// A metric with its value, or with the reason why it has none; for files and tables.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Which metric.
    pub metric: Metric,
    /// Its value.
    pub value: Option<f64>,
    /// Why it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Measured {
    /// What became of `metric`.
    pub fn new(metric: Metric, found: Result<f64, Undefined>) -> Self {
        let reason = found.err().map(|why| why.to_string());
        Self { metric, value: found.ok(), reason }
    }
}
