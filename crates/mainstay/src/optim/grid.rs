//! Cross-validation over folds and warm-started paths, with one table of results.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::control::Control;
use crate::error::{Error, Result};
use crate::folds::Split;
use crate::model::Output;

/// Relative difference of two sums of losses or of hits that is rounding: such candidates tie.
pub const TIE: f64 = 1e-12;

/// The top of a grid of strengths; 1 where features without any spread, or beyond all scales, leave none: any grid will do.
pub fn usable_top(top: f64) -> f64 {
    // Ten orders of magnitude below the top are still normal numbers.
    const USABLE: std::ops::Range<f64> = 1e-290..1e300;
    if USABLE.contains(&top) { top } else { 1.0 }
}

/// The settings that compete: one column per parameter, one entry per candidate.
#[derive(Debug, Clone)]
pub struct Candidates {
    columns: Vec<(String, Output)>,
    count: usize,
}

impl Candidates {
    /// `count` candidates whose parameters are still to be named.
    pub fn new(count: usize) -> Self {
        Self { columns: Vec::new(), count }
    }

    /// Adds the parameter `name` with its value for each candidate.
    #[must_use]
    pub fn with(mut self, name: &str, values: impl Into<Output>) -> Self {
        self.columns.push((name.to_owned(), values.into()));
        self
    }

    /// How many compete.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether none competes.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Held-out scores of every candidate on every split; larger is better.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// One row per split, one entry per candidate.
    by_split: Vec<Vec<f64>>,
    means: Vec<f64>,
    deviations: Vec<f64>,
}

/// Whether a split has a say: where nothing could be scored, as on held-out rows of one class, it has none.
fn telling(scores: &[f64]) -> bool {
    scores.iter().any(|score| !score.is_nan())
}

impl Scores {
    /// Judges all candidates on every split, in parallel over splits.
    ///
    /// `judge` fits the path of candidates on the training rows of a split and returns one score per
    /// candidate, or `None` where the split cannot judge (a class is missing from its training rows).
    pub fn cross_validate(
        splits: &[Split],
        control: &Control,
        judge: impl Fn(&Split) -> Result<Option<Vec<f64>>> + Sync,
    ) -> Result<Self> {
        Self::from_splits(Self::on(splits, control, judge)?.into_iter().flatten().collect())
    }

    /// What `judge` says on every split, in parallel.
    pub fn on(
        splits: &[Split],
        control: &Control,
        judge: impl Fn(&Split) -> Result<Option<Vec<f64>>> + Sync,
    ) -> Result<Vec<Option<Vec<f64>>>> {
        let done = AtomicU64::new(0);
        let one = |split: &Split| {
            control.check()?;
            let scores = judge(split)?;
            control.progress(1 + done.fetch_add(1, Ordering::Relaxed), splits.len() as u64);
            Ok(scores)
        };
        control.install(|| splits.par_iter().map(one).collect())
    }

    /// From one row of scores per split.
    pub fn from_splits(by_split: Vec<Vec<f64>>) -> Result<Self> {
        let Some(first) = by_split.first() else {
            let message = "no fold leaves training rows of every class: cross-validation needs more \
                           different rows of each";
            return Err(Error::BadData(message.into()));
        };
        let count = by_split.iter().filter(|scores| telling(scores)).count() as f64;
        let column = |k: usize| {
            by_split.iter().filter(|scores| telling(scores)).map(move |scores| scores[k])
        };
        let means: Vec<f64> = (0..first.len()).map(|k| column(k).sum::<f64>() / count).collect();
        let deviations = means
            .iter()
            .enumerate()
            .map(|(k, mean)| (column(k).map(|s| (s - mean).powi(2)).sum::<f64>() / count).sqrt())
            .collect();
        Ok(Self { by_split, means, deviations })
    }

    /// Where some candidates were given up before the last of `splits`: the scores of each on the
    /// splits looked at, and what is known of its mean. The other scores are not numbers.
    pub fn given_up_early(splits: usize, seen: &[Vec<f64>], means: Vec<f64>) -> Self {
        let score = |k: usize, s: usize| seen[k].get(s).copied().unwrap_or(f64::NAN);
        let by_split: Vec<Vec<f64>> =
            (0..splits).map(|s| (0..seen.len()).map(|k| score(k, s)).collect()).collect();
        let deviation = |(k, mean): (usize, &f64)| {
            let squares = (0..splits).map(|s| (score(k, s) - mean).powi(2));
            (squares.sum::<f64>() / splits as f64).sqrt()
        };
        let deviations = means.iter().enumerate().map(deviation).collect();
        Self { by_split, means, deviations }
    }

    /// Mean score of every candidate.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Standard error of every mean over the splits.
    pub fn standard_errors(&self) -> Vec<f64> {
        let splits = self.by_split.iter().filter(|scores| telling(scores)).count() as f64;
        self.deviations.iter().map(|d| d / (splits - 1.0).max(1.0).sqrt()).collect()
    }

    /// The candidate with the largest mean score; among equals the one that `prefer` puts last.
    pub fn best(&self, prefer: impl Fn(usize, usize) -> std::cmp::Ordering) -> Result<usize> {
        let usable = (0..self.means.len()).filter(|&k| !self.means[k].is_nan());
        let order = |&a: &usize, &b: &usize| {
            self.means[a].total_cmp(&self.means[b]).then_with(|| prefer(a, b))
        };
        let best = usable.max_by(order);
        best.ok_or_else(super::choice::nothing_scored)
    }

    /// `cv_results_` in scikit-learn's words: `param_*`, `split*_test_score`, `mean_test_score`,
    /// `std_test_score`, `rank_test_score`. Python adds `params`.
    pub fn table(&self, candidates: Candidates) -> Output {
        let named = |(name, column)| (format!("param_{name}"), column);
        let mut table: Vec<(String, Output)> = candidates.columns.into_iter().map(named).collect();
        for (s, scores) in self.by_split.iter().enumerate() {
            table.push((format!("split{s}_test_score"), scores.clone().into()));
        }
        table.push(("mean_test_score".into(), self.means.clone().into()));
        table.push(("std_test_score".into(), self.deviations.clone().into()));
        table.push(("rank_test_score".into(), self.ranks().into()));
        Output::Table(table)
    }

    /// 1 for the largest mean; equal means share the better rank; what is not a number comes last.
    fn ranks(&self) -> Vec<i64> {
        let key = |v: &f64| if v.is_nan() { f64::NEG_INFINITY } else { *v };
        let mut sorted: Vec<f64> = self.means.iter().map(key).collect();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let above = |v: &f64| sorted.partition_point(|other| *other > key(v));
        self.means.iter().map(|v| i64::try_from(1 + above(v)).unwrap_or(i64::MAX)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores() -> Scores {
        let by_split = vec![vec![0.5, 0.75, 1.0], vec![0.5, 0.75, 0.5]];
        Scores::from_splits(by_split).unwrap_or_else(|e| unreachable!("{e}"))
    }

    #[test]
    fn the_table_speaks_scikit_learns_words() {
        let found = scores();
        let Output::Table(table) = found.table(Candidates::new(3).with("C", vec![1.0, 2.0, 3.0]))
        else {
            unreachable!("a table was asked for");
        };
        let names: Vec<&str> = table.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "param_C",
            "split0_test_score",
            "split1_test_score",
            "mean_test_score",
            "std_test_score",
            "rank_test_score",
        ];
        assert_eq!(names, expected);
        assert_eq!(table[3].1, Output::Vector(vec![0.5, 0.75, 0.75]));
        assert_eq!(table[4].1, Output::Vector(vec![0.0, 0.0, 0.25]));
        assert_eq!(table[5].1, Output::Integers(vec![3, 1, 1]));
    }

    #[test]
    fn ties_are_decided_by_the_preference() {
        let found = scores();
        assert_eq!(found.best(|a, b| a.cmp(&b)).ok(), Some(2));
        assert_eq!(found.best(|a, b| b.cmp(&a)).ok(), Some(1));
    }

    #[test]
    fn candidates_given_up_early_keep_what_is_known_of_them() {
        let found = Scores::given_up_early(2, &[vec![-1.0, -2.0], vec![-7.0]], vec![-1.5, -5.0]);
        assert_eq!((found.means(), found.ranks()), (&[-1.5, -5.0][..], vec![1, 2]));
        assert_eq!((found.deviations[0], found.by_split[0][1]), (0.5, -7.0));
        assert!(found.deviations[1].is_nan() && found.by_split[1][1].is_nan());
    }

    #[test]
    fn candidates_without_a_score_never_win() {
        let found = Scores::from_splits(vec![vec![f64::NAN, -3.0]]);
        assert_eq!(found.and_then(|s| s.best(|a, b| a.cmp(&b))).ok(), Some(1));
        let silent = vec![vec![f64::NAN; 2], vec![0.5, 0.75], vec![0.7, 0.25]];
        let found = Scores::from_splits(silent).unwrap_or_else(|e| unreachable!("{e}"));
        assert_eq!(found.means(), [0.6, 0.5]);
        // Deviations .1 and .25 of two splits: the mean has the error of one difference.
        assert!(
            found.standard_errors().iter().zip([0.1, 0.25]).all(|(a, b)| (a - b).abs() < 1e-15)
        );
        assert!(Scores::from_splits(Vec::new()).is_err());
    }
}
