//! How good predictions are.

use serde::Serialize;

pub use super::judge::Judge;
use crate::error::Result;
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
    /// `confusion[i][j]`: rows of class i predicted as j.
    pub confusion: Vec<Vec<usize>>,
    /// One entry a class.
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
}

impl Evaluation {
    /// Judges `predicted` (class indices) and `scores` (one column for two classes, else one per class)
    /// against `truth`.
    pub fn new(
        truth: &[usize],
        predicted: &[usize],
        scores: &Dense,
        probabilities: Option<&Dense>,
        n_classes: usize,
    ) -> Result<Self> {
        let mut judge = Judge::new(n_classes);
        judge.add(truth, predicted, scores, probabilities)?;
        judge.finish().map(|(found, _)| found)
    }
}

impl ClassEvaluation {
    pub(super) fn new(confusion: &[Vec<usize>], k: usize, auc: Option<f64>) -> Self {
        let ratio = |a: usize, b: usize| (b > 0).then(|| a as f64 / b as f64);
        let total: usize = confusion.iter().flatten().sum();
        let support: usize = confusion[k].iter().sum();
        let called: usize = confusion.iter().map(|row| row[k]).sum();
        let hits = confusion[k][k];
        Self {
            support,
            true_positive_rate: ratio(hits, support),
            false_positive_rate: ratio(called - hits, total - support),
            precision: ratio(hits, called),
            auc,
        }
    }
}

/// Share of rows whose class was predicted.
pub fn accuracy(truth: &[usize], predicted: &[usize]) -> f64 {
    let right = truth.iter().zip(predicted).filter(|(t, p)| t == p).count();
    right as f64 / truth.len() as f64
}

/// Mean of -ln(probability of the true class), probabilities kept away from 0 by 2^-52.
pub fn log_loss(truth: &[usize], probabilities: &Dense) -> f64 {
    mean(&losses(truth, probabilities).collect::<Vec<f64>>())
}

/// -ln(probability of the true class) of every row.
pub(super) fn losses(truth: &[usize], probabilities: &Dense) -> impl Iterator<Item = f64> {
    let chance = |(i, &t): (usize, &usize)| probabilities[(i, t)].clamp(f64::EPSILON, 1.0);
    truth.iter().enumerate().map(chance).map(|p| -p.ln())
}

/// Chance that a positive row scores above a negative one, ties counting half; `None` if one kind
/// is absent.
pub fn auc(scores: &[f64], positive: &[bool]) -> Option<f64> {
    let positives = positive.iter().filter(|&&p| p).count();
    let negatives = positive.len() - positives;
    if positives == 0 || negatives == 0 {
        return None;
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let mut below = 0.0;
    let mut wins = 0.0;
    for tie in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let here = tie.iter().filter(|&&i| positive[i]).count() as f64;
        let others = tie.len() as f64 - here;
        wins += here * (below + others / 2.0);
        below += others;
    }
    Some(wins / (positives as f64 * negatives as f64))
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the definition: compare every positive with every negative.
    #[test]
    fn auc_counts_pairs() {
        let scores = [0.1, 0.4, 0.35, 0.8, 0.4, -0.0, 0.0];
        let positive = [false, false, true, true, true, false, true];
        let mut wins = 0.0;
        for (i, _) in positive.iter().enumerate().filter(|(_, p)| **p) {
            for (j, _) in positive.iter().enumerate().filter(|(_, p)| !**p) {
                wins += match scores[i].partial_cmp(&scores[j]) {
                    Some(std::cmp::Ordering::Greater) => 1.0,
                    Some(std::cmp::Ordering::Equal) => 0.5,
                    _ => 0.0,
                };
            }
        }
        assert_eq!(auc(&scores, &positive), Some(wins / 12.0));
        assert_eq!(auc(&scores, &[true; 7]), None);
    }

    #[test]
    fn rates_come_from_the_confusion_matrix() {
        let scores = Dense::from_rows(4, 1, vec![1.0, -1.0, 2.0, -3.0]);
        let probabilities = Dense::from_rows(4, 2, vec![0.2, 0.8, 0.5, 0.5, 0.1, 0.9, 1.0, 0.0]);
        let found = Evaluation::new(&[1, 1, 0, 0], &[1, 0, 1, 0], &scores, Some(&probabilities), 2)
            .unwrap();
        assert_eq!(found.confusion, vec![vec![1, 1], vec![1, 1]]);
        assert_eq!((found.accuracy, found.balanced_accuracy), (0.5, 0.5));
        assert_eq!(found.per_class[1].false_positive_rate, Some(0.5));
        assert_eq!(found.auc, Some(0.5));
        let expected = -(0.8f64.ln() + 0.5f64.ln() + 0.1f64.ln()) / 4.0;
        assert!((found.log_loss.unwrap() - expected).abs() < 1e-12);
    }
}
