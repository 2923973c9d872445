//! All metrics of a set of predictions at once.

use serde::{Serialize, Serializer};

use super::judged::Judged;
use super::undefined::{Measured, Undefined};
use super::{Metric, probability};
use crate::linalg::Dense;

/// Quality of predictions on labelled rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// Number of rows judged.
    pub rows: usize,
    /// Share of rows whose class was predicted.
    pub accuracy: f64,
    /// Mean over the classes that occur of the share predicted rightly.
    pub balanced_accuracy: f64,
    /// Mean of -ln(probability of the true class); absent where the model gives no probabilities.
    pub log_loss: Option<f64>,
    /// Area under the ROC curve (more than two classes: mean of one-versus-rest); absent where a
    /// class does not occur.
    pub auc: Option<f64>,
    /// Every metric with its value, or why it has none; in files a table of values by name.
    #[serde(serialize_with = "by_name")]
    pub metrics: Vec<Measured>,
    /// Why metrics have no value, by name.
    #[serde(serialize_with = "reasons")]
    pub undefined: Vec<Measured>,
    /// `confusion[i][j]`: rows of class i predicted as j, each counted once whatever its weight.
    pub confusion: Vec<Vec<usize>>,
    /// One entry per class.
    pub per_class: Vec<ClassEvaluation>,
}

/// Quality for one class against the rest; absent where there is nothing to divide by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassEvaluation {
    /// Rows of this class.
    pub support: usize,
    /// Share of the class's rows that were predicted as it (recall).
    pub true_positive_rate: Option<f64>,
    /// Share of the other rows that were predicted as it.
    pub false_positive_rate: Option<f64>,
    /// Share of the rows predicted as it that are of it.
    pub precision: Option<f64>,
    /// Area under the one-versus-rest ROC curve.
    pub auc: Option<f64>,
    /// Every metric of this class against the rest.
    #[serde(serialize_with = "by_name")]
    pub metrics: Vec<Measured>,
}

impl Evaluation {
    /// Judges the rows by everything that is defined.
    pub fn of(judged: &Judged<'_>) -> Self {
        let k = judged.n_classes();
        let mut confusion = vec![vec![0; k]; k];
        for (&t, &p) in judged.truth().iter().zip(judged.predicted()) {
            confusion[t][p] += 1;
        }
        let metrics: Vec<Measured> =
            Metric::ALL.into_iter().map(|m| Measured::new(m, m.of(judged))).collect();
        let columns: Vec<(Metric, Vec<Result<f64, Undefined>>)> =
            Metric::ALL.into_iter().map(|m| (m, m.per_class(judged))).collect();
        let per_class = (0..k)
            .map(|class| {
                let support = confusion[class].iter().sum();
                let own = columns.iter().map(|(m, each)| Measured::new(*m, each[class]));
                ClassEvaluation::new(support, own.collect())
            })
            .collect();
        Self {
            rows: judged.truth().len(),
            // Rows with weight exist, so these two are always defined.
            accuracy: value(&metrics, Metric::Accuracy).unwrap_or(0.0),
            balanced_accuracy: value(&metrics, Metric::BalancedAccuracy).unwrap_or(0.0),
            log_loss: value(&metrics, Metric::LogLoss),
            auc: value(&metrics, Metric::Auc),
            undefined: metrics.iter().filter(|m| m.reason.is_some()).cloned().collect(),
            metrics,
            confusion,
            per_class,
        }
    }

    /// The same with counts of rows that stand behind those judged.
    pub(super) fn with_counts(mut self, rows: usize, confusion: Vec<Vec<usize>>) -> Self {
        for (class, counts) in self.per_class.iter_mut().zip(&confusion) {
            class.support = counts.iter().sum();
        }
        (self.rows, self.confusion) = (rows, confusion);
        self
    }

    /// Replaces the values of some metrics, for all rows (`None`) and for every class against the rest.
    pub(super) fn put(
        &mut self,
        which: impl Fn(Metric) -> bool,
        value_of: impl Fn(Metric, Option<usize>) -> Result<f64, Undefined>,
    ) {
        let replace = |metrics: &mut Vec<Measured>, class: Option<usize>| {
            for found in metrics.iter_mut().filter(|m| which(m.metric)) {
                *found = Measured::new(found.metric, value_of(found.metric, class));
            }
        };
        replace(&mut self.metrics, None);
        for (k, class) in self.per_class.iter_mut().enumerate() {
            replace(&mut class.metrics, Some(k));
            class.auc = value(&class.metrics, Metric::Auc);
        }
        (self.log_loss, self.auc) = (self.get(Metric::LogLoss), self.get(Metric::Auc));
        self.undefined = self.metrics.iter().filter(|m| m.reason.is_some()).cloned().collect();
    }

    /// One metric of them.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        value(&self.metrics, metric)
    }
}

impl ClassEvaluation {
    fn new(support: usize, metrics: Vec<Measured>) -> Self {
        Self {
            support,
            true_positive_rate: value(&metrics, Metric::Sensitivity),
            false_positive_rate: value(&metrics, Metric::Specificity).map(|s| 1.0 - s),
            precision: value(&metrics, Metric::Ppv),
            auc: value(&metrics, Metric::Auc),
            metrics,
        }
    }
}

fn value(metrics: &[Measured], wanted: Metric) -> Option<f64> {
    metrics.iter().find(|m| m.metric == wanted)?.value
}

fn by_name<S: Serializer>(metrics: &[Measured], out: S) -> Result<S::Ok, S::Error> {
    out.collect_map(metrics.iter().map(|m| (m.metric.name(), m.value)))
}

fn reasons<S: Serializer>(metrics: &[Measured], out: S) -> Result<S::Ok, S::Error> {
    out.collect_map(metrics.iter().filter_map(|m| Some((m.metric.name(), m.reason.as_ref()?))))
}

/// Share of rows whose class was predicted.
pub fn accuracy(truth: &[usize], predicted: &[usize]) -> f64 {
    let right = truth.iter().zip(predicted).filter(|(t, p)| t == p).count();
    right as f64 / truth.len() as f64
}

/// Mean of -ln(probability of the true class), probabilities kept away from 0 by 2^-52.
pub fn log_loss(truth: &[usize], probabilities: &Dense) -> f64 {
    let losses = truth.iter().enumerate().map(|(i, &t)| probability::loss(probabilities[(i, t)]));
    losses.sum::<f64>() / truth.len() as f64
}
