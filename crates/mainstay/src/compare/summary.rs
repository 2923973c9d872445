//! The parts of a finished comparison that need no judgement.

use super::bootstrap::Bootstrap;
use super::duplicates::Duplicates;
use super::outcome::{ClassCount, Curve, DataSummary, MethodInfo, ThreatInfo};
use super::scores::Scores;
use super::session::Subject;
use super::survey::survey;
use crate::stress::{CLEAN, Plan, Trial};

/// The largest class.
pub(super) fn majority(subject: &Subject) -> &str {
    let labels = subject.data.labels();
    let size = |k: usize| labels.iter().filter(|label| **label == k).count();
    let each = subject.classes.iter().enumerate().map(|(k, name)| (name.as_str(), size(k)));
    each.fold(("", 0), |best, next| if next.1 > best.1 { next } else { best }).0
}

pub(super) fn curves(
    methods: &[MethodInfo],
    trials: &[Trial],
    scores: &Scores<'_>,
    bootstrap: &Bootstrap,
) -> Vec<Curve> {
    let names = std::iter::once(CLEAN).chain(trials.iter().map(|t| t.threat.name()));
    names.flat_map(|t| methods.iter().map(move |m| scores.curve(&m.name, t, bootstrap))).collect()
}

pub(super) fn describe(trial: &Trial) -> ThreatInfo {
    ThreatInfo {
        name: trial.threat.name().into(),
        title: trial.threat.title().into(),
        explanation: trial.threat.explanation().into(),
        unit: trial.threat.unit().into(),
        levels: trial.levels.clone(),
    }
}

pub(super) fn summary(subject: &Subject, plan: &Plan) -> DataSummary {
    let data = &subject.data;
    let mut warnings = survey(data, &subject.features, &subject.classes);
    let train = data.len() - data.len().div_ceil(3);
    if train > plan.max_training_rows {
        warnings.push(format!(
            "Training sets were cut to {} of about {train} rows to keep the comparison short: with all rows, methods \
             that need many samples do better than shown here.",
            plan.max_training_rows
        ));
    }
    let rows = |k: usize| data.labels().iter().filter(|label| **label == k).count();
    let classes = subject.classes.iter().enumerate();
    DataSummary {
        name: subject.name.clone(),
        rows: data.len(),
        features: subject.features.clone(),
        classes: classes
            .map(|(k, label)| ClassCount { label: label.clone(), rows: rows(k) })
            .collect(),
        warnings,
        handled: subject.handled.clone(),
        duplicates: Duplicates::count(data),
    }
}
