//! Scores of every row by fits that have seen it and by fits that have not.

use rayon::prelude::*;

use super::flips::{Flips, deviation};
use super::posterior::{Posterior, Story};
use super::slope::SlopePrior;
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::folds;
use crate::linalg::Dense;
use crate::model::{Estimator, choose};

/// Splits and their seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Splits<'a> {
    pub folds: usize,
    pub repeats: usize,
    pub seed: u64,
    /// Rows with the same entry are on one side of every split.
    pub groups: Option<&'a [usize]>,
}

impl Splits<'_> {
    fn of(&self, labels: &[usize]) -> Result<Vec<folds::Split>> {
        let (count, repeats, seed) = (self.folds, self.repeats, self.seed);
        match self.groups {
            Some(groups) => folds::learnable_groups(labels, groups, count, repeats, seed),
            None => Ok(folds::stratified(labels, count, repeats, seed)),
        }
    }
}

/// Scores of all rows, one column for two classes, otherwise one per class.
pub(super) struct Scores {
    /// By the fit to all rows.
    pub seen: Dense,
    /// By fits that left the row out, one table per repeat.
    pub held_out: Vec<Dense>,
}

impl Scores {
    /// Fits to all rows and to the training part of every split; `done` is called after each.
    pub(super) fn new(
        estimator: &dyn Estimator,
        data: &Dataset,
        splits: Splits<'_>,
        control: &Control,
        done: &(dyn Fn() + Sync),
    ) -> Result<Self> {
        let all = splits.of(data.labels())?;
        let inner = control.without_progress().with_threads(0);
        let seen = estimator.fit(data, &inner)?.model.decision(data.features())?;
        done();
        let found: Result<Vec<Dense>> = all
            .par_iter()
            .map(|split| {
                control.check()?;
                let fitted = estimator.fit(&data.select_rows(&split.train), &inner)?;
                let scores = fitted.model.decision(&data.features().select_rows(&split.holdout));
                done();
                scores
            })
            .collect();
        let found = found?;
        let per_repeat = all.len() / splits.repeats.max(1);
        let mut held_out = Vec::with_capacity(splits.repeats);
        for (parts, scores) in all.chunks(per_repeat).zip(found.chunks(per_repeat)) {
            let mut table = Dense::zeros(data.len(), seen.ncols());
            for (split, part) in parts.iter().zip(scores) {
                for (k, &i) in split.holdout.iter().enumerate() {
                    table.row_mut(i).copy_from_slice(part.row(k));
                }
            }
            held_out.push(table);
        }
        Ok(Self { seen, held_out })
    }

    /// The mean of the score by the fit that saw the row and of those that did not: the first is steadier, the second
    /// is not pulled towards a wrong label, and together they rank better than each alone.
    pub(super) fn mean(&self) -> Dense {
        let repeats = self.held_out.len() as f64;
        Dense::from_fn(self.seen.nrows(), self.seen.ncols(), |i, k| {
            let fresh: f64 = self.held_out.iter().map(|t| t[(i, k)]).sum();
            0.5 * (self.seen[(i, k)] + fresh / repeats)
        })
    }
}

impl Scores {
    /// The curves of labels along the mean scores, no steeper than held-out scores support, with everything that the rows
    /// leave possible: few rows do not settle the curve.
    pub(super) fn curves(&self, mean: &Dense, labels: &[usize]) -> Result<Curves> {
        let repeats = self.held_out.len() as f64;
        let (mut modes, mut slopes, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..mean.ncols() {
            let positive = Curves::positive(mean, labels, k);
            let fresh = |i: usize| self.held_out.iter().map(|t| t[(i, k)]).sum::<f64>() / repeats;
            let held_out: Vec<f64> = (0..labels.len()).map(fresh).collect();
            let scores = mean.column(k);
            let slope = SlopePrior::supported(&held_out, &positive, deviation(&scores));
            let mode = Flips::fit_near(slope, &scores, &positive, None)?;
            all.push(Posterior::new(&mode, slope, &scores, (&positive, mean.ncols()))?);
            modes.push(mode);
            slopes.push(slope);
        }
        Ok(Curves { modes, slopes, all })
    }
}

/// The curves of labels for two classes, for more those of each class against the rest.
pub(super) struct Curves {
    /// The most likely ones.
    pub(super) modes: Vec<Flips>,
    /// What was expected of their slopes.
    pub(super) slopes: Vec<SlopePrior>,
    /// With all others that the rows leave possible.
    all: Vec<Posterior>,
}

impl Curves {
    /// Whether each row is labelled with the class that is positive in column `k`.
    pub(super) fn positive(scores: &Dense, labels: &[usize], k: usize) -> Vec<bool> {
        labels.iter().map(|&l| l == Self::class(scores, k)).collect()
    }

    /// The class that is positive in column `k`.
    fn class(scores: &Dense, k: usize) -> usize {
        if scores.ncols() == 1 { 1 } else { k }
    }

    /// The probability that each label is wrong, by one of the stories. That of single labels is stated by the careful one
    /// ([`Story::SomeOdd`]).
    pub(super) fn wrong(&self, story: Story, scores: &Dense, labels: &[usize]) -> Vec<f64> {
        each_label(scores, labels, |k, score, positive| self.all[k].wrong(story, score, positive))
    }

    /// How many labels are wrong by each of the stories.
    pub(super) fn totals(&self, scores: &Dense, labels: &[usize]) -> [f64; 2] {
        Story::BOTH.map(|story| self.wrong(story, scores, labels).iter().sum())
    }
}

/// What `of` says of every label: it is handed the column that speaks of it, the score there and whether the label is positive.
pub(super) fn each_label(
    scores: &Dense,
    labels: &[usize],
    mut of: impl FnMut(usize, f64, bool) -> f64,
) -> Vec<f64> {
    let one = |(i, &label): (usize, &usize)| {
        let (k, positive) = if scores.ncols() == 1 { (0, label == 1) } else { (label, true) };
        of(k, scores[(i, k)], positive)
    };
    labels.iter().enumerate().map(one).collect()
}

/// What each row looks like: the class of its score, or the best of the others where the label is doubted.
pub(super) fn looks_like(scores: &Dense, labels: &[usize], wrong: &[f64]) -> Vec<usize> {
    let chosen = choose(scores);
    let other = |i: usize| {
        let label = labels[i];
        if scores.ncols() == 1 {
            return 1 - label;
        }
        let row = scores.row(i);
        let best = (0..row.len()).filter(|k| *k != label);
        best.fold(usize::from(label == 0), |best, k| if row[k] > row[best] { k } else { best })
    };
    (0..labels.len()).map(|i| if wrong[i] > 0.5 { other(i) } else { chosen[i] }).collect()
}
