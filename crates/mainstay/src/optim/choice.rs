//! By what cross-validated estimators judge their candidates, and which one they take.

use std::cmp::Ordering;
use std::sync::atomic::{self, AtomicUsize};

use serde::{Deserialize, Serialize};

use super::grid::Scores;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::folds::Split;
use crate::linalg::Dense;
use crate::metrics::{DOMINANT, Judged, Metric, Predictions};
use crate::model::choose;

/// Which of the candidates is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The one with the least held-out error.
    #[default]
    Min,
    /// The simplest one whose held-out error is within one standard error of the least.
    OneSe,
}

/// What is measured on held-out rows; larger is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scoring {
    /// Share of the rows that are right.
    #[default]
    Accuracy,
    /// Mean over the classes of the share of their rows that are right.
    BalancedAccuracy,
    /// Area under the receiver operating characteristic; more than two classes: the mean of one against the rest.
    RocAuc,
}

impl Scoring {
    /// What is measured unless the user says it, each row counting as often as its weight says: the accuracy, but where one class has
    /// most of the rows the balanced accuracy, by which no constant answer wins. Where no held-out rows are of two classes that says
    /// nothing, and the accuracy stays.
    pub fn usual(data: &Dataset, weights: Option<&[f64]>, splits: &[Split]) -> Self {
        let labels = data.labels();
        let tells =
            |split: &Split| split.holdout.windows(2).any(|pair| labels[pair[0]] != labels[pair[1]]);
        let mut totals = vec![0.0; data.n_classes()];
        for (i, &label) in data.labels().iter().enumerate() {
            totals[label] += weights.map_or(1.0, |w| w[i]);
        }
        let (sum, most) = totals.iter().fold((0.0, 0.0_f64), |(s, m), t| (s + t, m.max(*t)));
        let lopsided = most >= DOMINANT * sum;
        if lopsided && splits.iter().any(tells) { Self::BalancedAccuracy } else { Self::Accuracy }
    }

    /// How good `scores` (one column, or one for each class) are, each row counting as often as its weight says; `None`
    /// where the rows cannot tell: an area under the curve and balanced accuracy need rows of two classes.
    pub fn of(self, truth: &[usize], scores: Dense, weights: Option<&[f64]>) -> Option<f64> {
        let n_classes = scores.ncols().max(2);
        let predicted = choose(&scores);
        let made = Predictions { predicted, scores: Some(scores), probabilities: None };
        let judged = weigh(Judged::new(truth, n_classes, &made).ok()?, weights)?;
        match self {
            Self::Accuracy => Metric::Accuracy.of(&judged).ok(),
            // The recall of the only class there is would be won by a constant answer.
            Self::BalancedAccuracy => {
                let several = truth.windows(2).any(|pair| pair[0] != pair[1]);
                several.then(|| Metric::BalancedAccuracy.of(&judged).ok()).flatten()
            }
            Self::RocAuc if n_classes == 2 => Metric::Auc.of(&judged).ok(),
            // Classes that are absent here say nothing.
            Self::RocAuc => {
                let areas: Vec<f64> =
                    Metric::Auc.per_class(&judged).into_iter().flatten().collect();
                (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64)
            }
        }
    }
}

fn weigh<'a>(judged: Judged<'a>, weights: Option<&'a [f64]>) -> Option<Judged<'a>> {
    match weights {
        Some(weights) => judged.with_weights(weights).ok(),
        None => Some(judged),
    }
}

/// On how many splits each candidate gives all held-out rows one class. Where one class is rare such a candidate may have
/// the best accuracy, and nothing to say: it should win only if all are like that.
#[derive(Debug)]
pub struct Collapsed(Vec<AtomicUsize>);

impl Collapsed {
    /// Nothing is known about the `candidates` yet.
    pub fn new(candidates: usize) -> Self {
        Self((0..candidates).map(|_| AtomicUsize::new(0)).collect())
    }

    /// Notes what candidate `k` predicts for the held-out rows of one split. Where these are of one class, so should the
    /// predictions be.
    pub fn note(&self, k: usize, truth: &[usize], predicted: &[usize]) {
        let differ = |list: &[usize]| list.windows(2).any(|pair| pair[0] != pair[1]);
        let collapsed = differ(truth) && !differ(predicted);
        self.0[k].fetch_add(usize::from(collapsed), atomic::Ordering::Relaxed);
    }

    /// Whether candidate `k` tells rows apart on more than half of the `splits`.
    pub fn is_lively(&self, k: usize, splits: usize) -> bool {
        2 * self.0[k].load(atomic::Ordering::Relaxed) < splits
    }
}

/// Why no candidate has a score.
pub(crate) fn nothing_scored() -> Error {
    let text = "no setting could be scored: held-out rows are of one class, or scores are not numbers; use fewer folds or another scoring";
    Error::BadData(text.into())
}

impl Scores {
    /// The candidate that `rule` takes among those that are `allowed` (among all, if none is). `simpler` puts the
    /// simplest candidate last: it breaks ties, and decides within one standard error of the best.
    pub fn take(
        &self,
        rule: Rule,
        allowed: impl Fn(usize) -> bool,
        simpler: impl Fn(usize, usize) -> Ordering,
    ) -> Result<usize> {
        let means = self.means();
        let usable: Vec<usize> = (0..means.len()).filter(|&k| !means[k].is_nan()).collect();
        let picked: Vec<usize> = usable.iter().copied().filter(|&k| allowed(k)).collect();
        let pool = if picked.is_empty() { usable } else { picked };
        let order =
            |&a: &usize, &b: &usize| means[a].total_cmp(&means[b]).then_with(|| simpler(a, b));
        let best = pool.iter().copied().max_by(order);
        let best = best.ok_or_else(nothing_scored)?;
        if rule == Rule::Min {
            return Ok(best);
        }
        let least = means[best] - self.standard_errors()[best];
        let near = pool.into_iter().filter(|&k| means[k] >= least);
        let order = |&a: &usize, &b: &usize| simpler(a, b).then(means[a].total_cmp(&means[b]));
        Ok(near.max_by(order).unwrap_or(best))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_standard_error_rule_takes_the_simplest_of_the_near_best() {
        // Means 0.5, 0.8, 0.82; the standard error of the best is 0.04: the second is near, the first is not.
        let scores = Scores::from_splits(vec![vec![0.5, 0.8, 0.78], vec![0.5, 0.8, 0.86]]);
        let scores = scores.unwrap_or_else(|e| panic!("{e}"));
        let take = |rule, last: usize| scores.take(rule, |k| k < last, |a, b| b.cmp(&a)).ok();
        assert_eq!(take(Rule::Min, 3), Some(2));
        assert_eq!(take(Rule::OneSe, 3), Some(1));
        assert_eq!(take(Rule::Min, 1), Some(0));
        assert_eq!(take(Rule::Min, 0), Some(2));
    }

    /// Seven of ten rows are of one class; with weights it is 5.5 of 8.5.
    #[test]
    fn where_one_class_has_most_of_the_rows_accuracy_does_not_decide() {
        let labels = vec![0, 0, 0, 0, 0, 0, 0, 1, 1, 1];
        let data = Dataset::new(Dense::zeros(10, 1).into(), labels, 2);
        let data = data.unwrap_or_else(|e| panic!("{e}"));
        let splits = |holdout: Vec<usize>| [Split { train: vec![0, 9], holdout }];
        let both = splits(vec![1, 2, 8]);
        assert_eq!(Scoring::usual(&data, None, &both), Scoring::BalancedAccuracy);
        assert_eq!(Scoring::usual(&data, None, &splits(vec![1, 2, 3])), Scoring::Accuracy);
        let mut weights = vec![1.0; 10];
        weights[0] = 0.0;
        weights[1] = 0.5;
        assert_eq!(Scoring::usual(&data, Some(&weights), &both), Scoring::Accuracy);
    }

    /// Three of four right, but one of two of the rarer class; its scores are ranked below one other.
    #[test]
    fn scores_are_judged_as_asked() {
        let scores = Dense::from_rows(6, 1, vec![-2.0, -1.0, -0.5, 0.3, 1.0, -0.7]);
        let truth = [0, 0, 0, 0, 1, 1];
        let of = |scoring: Scoring, weights| scoring.of(&truth, scores.clone(), weights);
        assert_eq!(of(Scoring::Accuracy, None), Some(4.0 / 6.0));
        assert_eq!(of(Scoring::BalancedAccuracy, None), Some(0.5 * (0.75 + 0.5)));
        // Of the eight pairs, 1.0 beats four and -0.7 two.
        assert_eq!(of(Scoring::RocAuc, None), Some(0.75));
        assert_eq!(Scoring::RocAuc.of(&[0; 6], scores.clone(), None), None);
        // The wrong row of the rarer class twice: 4 of 7, 0.75 and 1 of 3, 4 + 2 * 2 of 12 pairs.
        let twice = [1.0, 1.0, 1.0, 1.0, 1.0, 2.0];
        assert_eq!(of(Scoring::Accuracy, Some(&twice)), Some(4.0 / 7.0));
        assert_eq!(of(Scoring::BalancedAccuracy, Some(&twice)), Some(0.5 * (0.75 + 1.0 / 3.0)));
        assert_eq!(of(Scoring::RocAuc, Some(&twice)), Some(8.0 / 12.0));
    }
}
