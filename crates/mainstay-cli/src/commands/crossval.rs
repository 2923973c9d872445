//! K-fold cross-validation for `fit --cv`: held-out predictions of all folds, judged together.

use std::fmt::Write as _;

use mainstay::folds::{self, Split, Together};
use mainstay::metrics::{Interval, Judged, Metric, Predictions, intervals, usual_redraws};
use mainstay::model::Estimator;
use mainstay::{Control, Error};
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Outcome};
use crate::input::Labelled;

/// What is reported, in this order.
const SHOWN: [Metric; 4] =
    [Metric::Accuracy, Metric::BalancedAccuracy, Metric::Auc, Metric::LogLoss];

/// Metrics of the held-out predictions.
pub(crate) struct Folds {
    count: usize,
    found: Vec<(Metric, Result<f64, String>, Option<Interval>)>,
    /// What the user should know about the splits.
    pub(crate) note: Option<String>,
}

/// Fits `estimator` to all folds but one, `k` times, and judges the held-out rows together.
pub(crate) fn cross_validate(
    estimator: &dyn Estimator,
    labelled: &Labelled,
    (k, groups): (usize, Option<&[usize]>),
    seed: u64,
    control: &Control,
) -> Outcome<Folds> {
    let data = &labelled.data;
    let n = data.len();
    if k < 2 || k > n {
        return Err(Failure::say(format!("--cv {k}: must be between 2 and the {n} rows")));
    }
    let together = Together::new(data, groups)?;
    let splits = match &together.groups {
        Some(groups) => folds::stratified_groups(data.labels(), groups, k, 1, seed),
        None => folds::stratified(data.labels(), k, 1, seed),
    };
    if splits.len() < k && groups.is_some() {
        let count = splits.len();
        return Err(Failure::say(format!("--cv {k}: there are only {count} groups to hold out")));
    }
    check_classes(labelled, &splits, groups.is_some())?;
    let mut parts = Vec::with_capacity(splits.len());
    for (done, split) in splits.iter().enumerate() {
        let fitted = estimator.fit(&data.select_rows(&split.train), control)?;
        let held_out = data.features().select_rows(&split.holdout);
        parts.push((&split.holdout[..], Predictions::of(&fitted.model, &held_out)?));
        control.progress(done as u64 + 1, splits.len() as u64);
    }
    let made = Predictions::pooled(n, &parts)?;
    let mut judged = Judged::new(data.labels(), data.n_classes(), &made)?;
    if let Some(weights) = data.weights() {
        judged = judged.with_weights(weights)?;
    }
    let redrawn = intervals(&judged, &SHOWN, together.groups.as_deref(), usual_redraws(n), seed)?;
    let found = SHOWN.into_iter().zip(redrawn);
    let found = found.map(|(m, i)| (m, m.of(&judged).map_err(|why| why.to_string()), i));
    Ok(Folds { count: splits.len(), found: found.collect(), note: together.note })
}

/// Every fold must leave something of every class to learn from.
fn check_classes(labelled: &Labelled, splits: &[Split], grouped: bool) -> Outcome<()> {
    let data = &labelled.data;
    let occurs = |rows: &[usize], k: usize| rows.iter().any(|&i| data.labels()[i] == k);
    for k in (0..data.n_classes()).filter(|k| data.labels().contains(k)) {
        if splits.iter().all(|split| occurs(&split.train, k)) {
            continue;
        }
        let why = if grouped {
            "all its rows are in one group (or in groups of one fold)"
        } else {
            "it has one row only, or all its rows are the same"
        };
        let name = labelled.classes.names().get(k).map_or_else(String::new, ToString::to_string);
        return Err(Error::BadData(format!(
            "--cv: a fold leaves no row of class `{name}` to learn from: {why}"
        ))
        .into());
    }
    Ok(())
}

impl Folds {
    /// One line for people.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (metric, value, interval) in &self.found {
            let Ok(value) = value else { continue };
            let comma = if text.is_empty() { "" } else { ", " };
            let title =
                if *metric == Metric::BalancedAccuracy { "balanced" } else { metric.title() };
            let _ = write!(text, "{comma}{title} {value:.4}");
            if let Some(Interval { low, high }) = interval {
                let _ = write!(text, " ({low:.3} to {high:.3})");
            }
        }
        let _ = write!(text, "; all {} folds together, 95 % intervals over rows", self.count);
        text
    }

    /// The same for machines.
    pub(crate) fn json(&self) -> Value {
        let mut value = Map::new();
        value.insert("folds".into(), json!(self.count));
        let (mut ranges, mut reasons) = (Map::new(), Map::new());
        for (metric, found, interval) in &self.found {
            let name = metric.name().to_owned();
            if let Err(why) = found {
                reasons.insert(name.clone(), json!(why));
            }
            ranges.insert(name.clone(), json!(interval));
            value.insert(name, json!(found.as_ref().ok()));
        }
        value.insert("intervals".into(), Value::Object(ranges));
        value.insert("undefined".into(), Value::Object(reasons));
        Value::Object(value)
    }
}
