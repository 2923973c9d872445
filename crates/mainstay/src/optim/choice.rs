//! By what cross-validated estimators judge their candidates, and which one they take.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::grid::Scores;
use crate::error::{Error, Result};
use crate::linalg::Dense;
use crate::metrics::{accuracy, auc};
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
    /// How good `scores` (one column, or one for each class) are; `None` where the rows cannot tell (an area under the
    /// curve needs both classes).
    pub fn of(self, truth: &[usize], scores: &Dense) -> Option<f64> {
        match self {
            Self::Accuracy => Some(accuracy(truth, &choose(scores))),
            Self::BalancedAccuracy => balanced(truth, &choose(scores)),
            Self::RocAuc => {
                let first = usize::from(scores.ncols() == 1);
                let area = |k: usize| {
                    let positive: Vec<bool> = truth.iter().map(|t| *t == k + first).collect();
                    auc(&scores.column(k), &positive)
                };
                let areas: Vec<f64> = (0..scores.ncols()).filter_map(area).collect();
                mean(&areas)
            }
        }
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn balanced(truth: &[usize], predicted: &[usize]) -> Option<f64> {
    let classes = truth.iter().max().map_or(0, |k| k + 1);
    let recall = |k: usize| {
        let rows: Vec<usize> = (0..truth.len()).filter(|&i| truth[i] == k).collect();
        let right = rows.iter().filter(|&&i| predicted[i] == k).count();
        (!rows.is_empty()).then(|| right as f64 / rows.len() as f64)
    };
    mean(&(0..classes).filter_map(recall).collect::<Vec<f64>>())
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
        let best = best.ok_or_else(|| Error::Numerical("no setting could be scored".into()))?;
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

    /// Three of four right, but one of two of the rarer class; its scores are ranked below one other.
    #[test]
    fn scores_are_judged_as_asked() {
        let scores = Dense::from_rows(6, 1, vec![-2.0, -1.0, -0.5, 0.3, 1.0, -0.7]);
        let truth = [0, 0, 0, 0, 1, 1];
        assert_eq!(Scoring::Accuracy.of(&truth, &scores), Some(4.0 / 6.0));
        assert_eq!(Scoring::BalancedAccuracy.of(&truth, &scores), Some(0.5 * (0.75 + 0.5)));
        // Of the eight pairs, 1.0 beats four and -0.7 two.
        assert_eq!(Scoring::RocAuc.of(&truth, &scores), Some(0.75));
        assert_eq!(Scoring::RocAuc.of(&[0; 6], &scores), None);
    }
}
