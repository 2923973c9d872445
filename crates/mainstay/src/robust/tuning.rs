//! The strength of the penalty by cross-validation along a warm-started path.

use std::ops::Range;

use super::labels::{Correction, Rates};
use super::newton::{Hyperplane, minimise};
use super::params::RobustLogisticParams;
use super::problem::Problem;
use super::training::{Training, effective_rows};
use crate::control::Control;
use crate::error::Result;
use crate::folds::{Split, geometric_grid, stratified};
use crate::linalg::{Dense, vector};
use crate::model::Output;
use crate::optim::grid::usable_top;
use crate::optim::{Budget, Candidates, Scores, Search};

/// The smallest strength of the grid as a part of the largest.
const DEPTH: f64 = 1e-6;
/// Gap of the fits along the path: far below the differences between candidates.
pub(super) const PATH_TOL: f64 = 1e-5;

/// Where labels are wrong: the smallest strength, as a penalty of all rows together in units of the mean variance of a
/// feature. At 1 the penalty is that of weights expected within one logit per standard deviation. Held-out
/// losses on wrong labels are bounded, so that they hardly tell weaker penalties apart, while a prediction that is sure
/// and wrong costs without bound on true ones (docs/methods/robust-logistic.md).
const LEAST_WITH_WRONG_LABELS: f64 = 1.0;
/// How often the folds are drawn anew where labels are wrong, which makes held-out losses noisy.
pub(super) const REPEATS: usize = 3;

/// The strength with the least held-out loss, and the table of all.
///
/// The loss is the one that is minimised: expected under the stated damage, on the labels as observed (`after`,
/// `forward`) or corrected (`backward`).
pub(super) fn choose(training: &Training<'_>, control: &Control) -> Result<(f64, Output)> {
    let count = effective_rows(training.shares, training.copies);
    let grid = strengths(training.params, &training.rows.mean, training.shares, count);
    let judge = |split: &Split, grid: &[f64]| held_out(training, split, grid, control);
    by_judge(training.params, training.labels, &grid, judge, control)
}

/// The strength that `judge` scores highest on the average of the folds, and the table of all. It is given strengths, largest first.
pub(super) fn by_judge(
    params: &RobustLogisticParams,
    labels: &[usize],
    grid: &[f64],
    judge: impl Fn(&Split, &[f64]) -> Result<Option<Vec<f64>>> + Sync,
    control: &Control,
) -> Result<(f64, Output)> {
    let seed = params.random_state.unwrap_or(0);
    let repeats = if params.wrong_labels.none() { 1 } else { REPEATS };
    let splits = stratified(labels, params.n_folds, repeats, seed);
    let judge = |split: &Split, wanted: &[usize]| {
        judge(split, &wanted.iter().map(|&k| grid[k]).collect::<Vec<f64>>())
    };
    let search = Search::along(grid, control.known("alpha"));
    // The grid falls: of equals the stronger penalty.
    let take = |scores: &Scores| scores.best(|a, b| b.cmp(&a));
    let (scores, best) = search.run(&splits, control, judge, take)?;
    let table = scores.table(Candidates::new(grid.len()).with("alpha", grid.to_vec()));
    Ok((grid[best], table))
}

/// From the mean squared length of a centred row, with which the model is all but constant, downwards; where labels are
/// wrong not as far; `count` says as how many rows they count.
pub(super) fn strengths(
    params: &RobustLogisticParams,
    rows: &Dense,
    shares: &[f64],
    count: f64,
) -> Vec<f64> {
    let length: f64 = (0..rows.nrows()).map(|i| shares[i] * vector::norm_sq(rows.row(i))).sum();
    let top = usable_top(length);
    let mut least = DEPTH * top;
    if !params.wrong_labels.none() || params.correction == Correction::Averaged {
        let variance = length / rows.ncols() as f64;
        least = least.max(LEAST_WITH_WRONG_LABELS * variance / count);
    }
    geometric_grid(top, least.min(top), params.n_alphas)
}

/// Whether the training rows know the classes of the held-out ones, and something else than each of `positives`.
pub(super) fn usable(split: &Split, labels: &[usize], mut positives: Range<usize>) -> bool {
    let seen = |class: usize| split.train.iter().any(|&i| labels[i] == class);
    split.train.len() >= 2
        && !split.holdout.is_empty()
        && split.holdout.iter().all(|&i| seen(labels[i]))
        && positives.all(|class| split.train.iter().any(|&i| labels[i] != class))
}

/// Minus the mean held-out loss of every strength; `None` if the training rows lack a class that the held-out
/// ones have.
fn held_out(
    training: &Training<'_>,
    split: &Split,
    grid: &[f64],
    control: &Control,
) -> Result<Option<Vec<f64>>> {
    let labels = training.labels;
    let seen = |class: usize| split.train.iter().any(|&i| labels[i] == class);
    if !usable(split, labels, training.positives()) {
        return Ok(None);
    }
    let (train, test) = (training.rows.select(&split.train), training.rows.select(&split.holdout));
    let (train_shares, test_shares) =
        (training.shares_of(&split.train), training.shares_of(&split.holdout));
    let mut scores = vec![0.0; grid.len()];
    for class in training.positives() {
        let sign = |i: &usize| if labels[*i] == class { 1.0 } else { -1.0 };
        let y: Vec<f64> = split.train.iter().map(sign).collect();
        let truth: Vec<f64> = split.holdout.iter().map(sign).collect();
        if !seen(class) {
            continue;
        }
        let rates: Rates = training.rates;
        let mut point = Hyperplane { w: vec![0.0; train.mean.ncols()], b: 0.0 };
        for (k, &alpha) in grid.iter().enumerate() {
            let problem = training.problem(&train, &y, &train_shares, alpha, rates);
            if training.bounded(&problem).is_err() {
                return Ok(None);
            }
            let tol = training.params.tol.max(PATH_TOL);
            let mut budget = Budget::new(tol, training.params.max_iter, control);
            point = minimise(&problem, &point, &mut budget)?;
            let judge = Problem { rows: &test, y: &truth, shares: &test_shares, ..problem };
            let penalty = 0.5 * alpha * vector::norm_sq(&point.w);
            scores[k] -= judge.value(&point.w, point.b) - penalty;
        }
    }
    Ok(Some(scores))
}
