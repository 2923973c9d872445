//! What a cell is judged by.

use super::run::Cell;
use crate::linalg::Dense;
use crate::metrics::{DOMINANT, Judged, Metric, Predictions};

/// The metrics that every cell holds: those that have a better and a worse and need no settings.
pub const JUDGED_BY: [Metric; 14] = [
    Metric::Accuracy,
    Metric::BalancedAccuracy,
    Metric::Auc,
    Metric::PrAuc,
    Metric::LogLoss,
    Metric::Brier,
    Metric::BrierSkill,
    Metric::CalibrationError,
    Metric::Sensitivity,
    Metric::Specificity,
    Metric::Ppv,
    Metric::Npv,
    Metric::F1,
    Metric::Mcc,
];

/// The metric that suits the data: accuracy while the largest class holds less than 65 % of the rows, otherwise log
/// loss if every method gives probabilities, otherwise AUC.
pub fn usual_metric(labels: &[usize], cells: &[Cell]) -> Metric {
    let mut counts = vec![0_usize; labels.iter().max().map_or(0, |m| m + 1)];
    for &k in labels {
        counts[k] += 1;
    }
    let largest = counts.into_iter().max().unwrap_or(0);
    if (largest as f64) < DOMINANT * labels.len() as f64 {
        return Metric::Accuracy;
    }
    let mut judged = cells.iter().filter(|c| c.accuracy.is_some()).peekable();
    let probable = judged.peek().is_some() && judged.all(|c| c.log_loss.is_some());
    if probable { Metric::LogLoss } else { Metric::Auc }
}

/// Fills the numbers of a cell.
pub(super) fn fill(cell: &mut Cell, judged: &Judged<'_>) {
    cell.accuracy = Metric::Accuracy.of(judged).ok();
    cell.log_loss = Metric::LogLoss.of(judged).ok();
    let rest = JUDGED_BY.into_iter().filter(|m| !matches!(m, Metric::Accuracy | Metric::LogLoss));
    cell.metrics = rest.filter_map(|m| Some((m, m.of(judged).ok()?))).collect();
    let same = |values: &[usize]| values.windows(2).all(|pair| pair[0] == pair[1]);
    cell.constant = same(judged.predicted()) && !same(judged.truth());
}

/// Predictions of a model that knows the classes `present` alone, in terms of all of them: the others have the
/// probability 0 and the lowest score.
pub(super) fn in_all_classes(made: Predictions, present: &[usize], all: usize) -> Predictions {
    if present.len() == all {
        return made;
    }
    let rows = made.predicted.len();
    let spread = |found: &Dense, absent: f64| {
        let mut wide = Dense::from_fn(rows, all, |_, _| absent);
        for i in 0..rows {
            match (found.ncols(), present) {
                (1, [first, second]) => {
                    (wide[(i, *first)], wide[(i, *second)]) = (-found[(i, 0)], found[(i, 0)]);
                }
                _ => present.iter().enumerate().for_each(|(k, &c)| wide[(i, c)] = found[(i, k)]),
            }
        }
        wide
    };
    Predictions {
        predicted: made.predicted.iter().map(|&k| present[k]).collect(),
        scores: made.scores.as_ref().map(|s| spread(s, f64::NEG_INFINITY)),
        probabilities: made.probabilities.as_ref().map(|p| spread(p, 0.0)),
    }
}
