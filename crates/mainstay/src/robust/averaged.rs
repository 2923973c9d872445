//! `correction = "averaged"`: forward fits under four priors, each calibrated out of fold, their log odds averaged.
//!
//! No single problem is minimised. The steps:
//!
//! 1. *Paths.* The likelihood of the observed labels is maximised along the grid of strengths, with the prior covariance of the
//!    weights proportional to the identity or to the covariance of the rows, and with all rows alike or rows far out
//!    counting less: four paths, fitted on the same folds (three draws) and judged on all held-out rows alike.
//! 2. *Calibration.* At every strength the held-out scores of all folds together get a slope and a shift, again by the
//!    likelihood of the observed labels.
//! 3. *Strength.* Of each path the one halfway between the least held-out loss before and after calibration, fitted to all rows.
//! 4. *Average.* The log odds of the four, weighted by `$\exp(-n\,\ell/2)$` with `$\ell$` the calibrated held-out loss. All
//!    are linear, so that the answer is one hyperplane.
//!
//! Why, and what it is worth: docs/methods/robust-logistic.md and docs/research/stated-damage.md.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::average::Blurred;
use super::calibration::{Calibration, Judged, calibrate, forward_loss};
use super::labels::Correction;
use super::newton::{Hyperplane, minimise};
use super::priors::{Coordinates, Directions, Prior, by_leverage};
use super::problem::Problem;
use super::training::{Training, effective_rows};
use super::tuning::{PATH_TOL, REPEATS, strengths, usable};
use crate::control::Control;
use crate::error::Result;
use crate::folds::{Split, stratified};
use crate::linalg::vector;
use crate::model::Output;
use crate::optim::{Budget, Candidates, Scores};

/// The prior of each path, and whether rows far out count less.
const PATHS: [(Prior, bool); 4] = [
    (Prior::Identity, false),
    (Prior::Identity, true),
    (Prior::Covariance, false),
    (Prior::Covariance, true),
];
/// How fast the weight of a path falls with its held-out loss, per row: half of what a likelihood would have, since the rows
/// that judge the paths have chosen their strengths.
const SHARPNESS: f64 = 0.5;
/// Gap of the convex fits from which the forward fits of a path start.
const START_TOL: f64 = 1e-3;

/// The answer to all binary problems.
pub(super) struct Averaged {
    /// In centred rows, by the class that is +1; none where all rows have one sign.
    pub planes: Vec<(usize, Hyperplane)>,
    /// Newton steps of the fits to all rows.
    pub n_iter: usize,
    /// The strength of the path that counts most.
    pub alpha: f64,
    /// All strengths of all paths.
    pub table: Output,
}

/// What the held-out rows of one split say: a score for every class, strength and row.
struct Held {
    /// Held-out rows.
    rows: Vec<usize>,
    /// Of each binary problem that both signs take part in, one row of scores for each strength.
    scores: Vec<Vec<Vec<f64>>>,
    /// Minus the held-out loss of every strength.
    losses: Vec<f64>,
}

/// One path: its rows as it sees them, and what it came to.
struct Path {
    coordinates: Coordinates,
    rows: Blurred,
    shares: Vec<f64>,
}

/// A path judged on held-out rows.
struct Verdict {
    /// Minus the loss of every strength, one row for each split.
    by_split: Vec<Vec<f64>>,
    /// Loss of every strength once its scores are calibrated.
    calibrated: Vec<f64>,
    /// Of every binary problem at every strength.
    maps: Vec<Vec<Calibration>>,
    /// The strength.
    chosen: usize,
}

/// Fits.
pub(super) fn fit(training: &Training<'_>, control: &Control) -> Result<Averaged> {
    let count = effective_rows(training.shares, training.copies);
    let grid = strengths(training.params, &training.rows.mean, training.shares, count);
    let seed = training.params.random_state.unwrap_or(0);
    let splits = stratified(training.labels, training.params.n_folds, REPEATS, seed);
    along_splits(training, &grid, &splits, control)
}

fn along_splits(
    training: &Training<'_>,
    grid: &[f64],
    splits: &[Split],
    control: &Control,
) -> Result<Averaged> {
    let (rows, shares) = (&training.rows.mean, training.shares);
    let directions = Directions::new(rows, shares)?;
    let work = Work { training, grid, splits, control, done: AtomicU64::new(0) };
    let mut judged = Vec::new();
    for (prior, leverage) in PATHS {
        let coordinates = match &directions {
            Some(directions) => directions.coordinates(rows, prior),
            None => Coordinates { rows: rows.clone(), root: None },
        };
        let shares = if leverage { by_leverage(rows, shares) } else { shares.to_vec() };
        let path = Path { rows: Blurred::known(coordinates.rows.clone()), coordinates, shares };
        let verdict = work.judge(&path)?;
        judged.push((path, verdict));
    }
    work.average(&judged)
}

/// What all paths share.
struct Work<'a> {
    training: &'a Training<'a>,
    grid: &'a [f64],
    splits: &'a [Split],
    control: &'a Control,
    done: AtomicU64,
}

impl Work<'_> {
    /// The classes that are +1 in binary problems which both signs take part in.
    fn positives(&self) -> Vec<usize> {
        let labels = self.training.labels;
        let both =
            |class: &usize| labels.iter().any(|l| l == class) && labels.iter().any(|l| l != class);
        self.training.positives().filter(both).collect()
    }

    fn signs(&self, rows: &[usize], positive: usize) -> Vec<f64> {
        let labels = self.training.labels;
        rows.iter().map(|&i| if labels[i] == positive { 1.0 } else { -1.0 }).collect()
    }

    /// Fits `path` on every split and calibrates what it says of the held-out rows.
    fn judge(&self, path: &Path) -> Result<Verdict> {
        let one = |split: &Split| {
            self.control.check()?;
            let held = self.hold_out(path, split)?;
            let total = (PATHS.len() * self.splits.len()) as u64;
            self.control.progress(1 + self.done.fetch_add(1, Ordering::Relaxed), total);
            Ok(held)
        };
        let held: Vec<Option<Held>> =
            self.control.install(|| self.splits.par_iter().map(one).collect::<Result<_>>())?;
        let held: Vec<Held> = held.into_iter().flatten().collect();
        let by_split: Vec<Vec<f64>> = held.iter().map(|h| h.losses.clone()).collect();
        // The grid falls: of equals the stronger penalty.
        let plain = Scores::from_splits(by_split.clone())?.best(|a, b| b.cmp(&a))?;
        let (maps, calibrated) = self.calibrate(&held)?;
        let first_least =
            |best: usize, k: usize| if calibrated[k] < calibrated[best] { k } else { best };
        let least = (0..calibrated.len()).fold(0, first_least);
        Ok(Verdict { by_split, calibrated, maps, chosen: usize::midpoint(plain, least) })
    }

    /// The scores that fits along the grid give the held-out rows of a split; `None` where its training rows lack a class.
    fn hold_out(&self, path: &Path, split: &Split) -> Result<Option<Held>> {
        let training = self.training;
        if !usable(split, training.labels, training.positives()) {
            return Ok(None);
        }
        let (train, test) = (path.rows.select(&split.train), path.rows.select(&split.holdout));
        let shares = parts(&path.shares, &split.train);
        let judging = parts(training.shares, &split.holdout);
        let mut held = Held {
            rows: split.holdout.clone(),
            scores: Vec::new(),
            losses: vec![0.0; self.grid.len()],
        };
        for positive in self.positives() {
            let (y, truth) =
                (self.signs(&split.train, positive), self.signs(&split.holdout, positive));
            let mut scores = Vec::with_capacity(self.grid.len());
            let mut guide = Hyperplane { w: vec![0.0; train.mean.ncols()], b: 0.0 };
            for (k, &alpha) in self.grid.iter().enumerate() {
                let problem = training.problem(&train, &y, &shares, alpha, training.rates);
                let at = self.step(&problem, &mut guide)?;
                let mut found = test.mean.mul_vec(&at.w);
                for score in &mut found {
                    *score += at.b;
                }
                held.losses[k] -= forward_loss(&found, &truth, &judging, training.rates);
                scores.push(found);
            }
            held.scores.push(scores);
        }
        Ok(Some(held))
    }

    /// The forward fit from the convex one of the same strength, which `guide` follows along the path: from the forward fit of a
    /// stronger penalty there may be no way back, where all labels are best explained as wrong ones of one class.
    fn step(&self, problem: &Problem<'_>, guide: &mut Hyperplane) -> Result<Hyperplane> {
        let params = self.training.params;
        let budget = |tol: f64| Budget::new(tol, params.max_iter, self.control);
        let tol = params.tol.max(PATH_TOL);
        if problem.correction == Correction::Forward {
            let convex = Problem { correction: Correction::After, ..*problem };
            *guide = minimise(&convex, guide, &mut budget(START_TOL))?;
            return minimise(problem, guide, &mut budget(tol));
        }
        *guide = minimise(problem, guide, &mut budget(tol))?;
        Ok(guide.clone())
    }

    /// Slope and shift of every binary problem at every strength, and the losses then.
    fn calibrate(&self, held: &[Held]) -> Result<(Vec<Vec<Calibration>>, Vec<f64>)> {
        let training = self.training;
        let rows: Vec<usize> = held.iter().flat_map(|h| h.rows.iter().copied()).collect();
        let shares = parts(training.shares, &rows);
        let mut losses = vec![0.0; self.grid.len()];
        let mut maps = Vec::new();
        for (problem, positive) in self.positives().into_iter().enumerate() {
            let y = self.signs(&rows, positive);
            let one = |k: usize| {
                self.control.check()?;
                let scores = held.iter().flat_map(|h| h.scores[problem][k].iter().copied());
                let judged =
                    Judged { scores: scores.collect(), y: y.clone(), shares: shares.clone() };
                let intercept = training.params.fit_intercept;
                calibrate(&judged, training.rates, intercept, self.control)
            };
            let strengths = (0..self.grid.len()).into_par_iter();
            let found: Vec<Calibration> =
                self.control.install(|| strengths.map(one).collect::<Result<_>>())?;
            losses.iter_mut().zip(&found).for_each(|(loss, own)| *loss += own.loss);
            maps.push(found);
        }
        Ok((maps, losses))
    }

    /// The average of the paths, each fitted to all rows.
    fn average(&self, judged: &[(Path, Verdict)]) -> Result<Averaged> {
        let losses: Vec<f64> =
            judged.iter().map(|(_, verdict)| verdict.calibrated[verdict.chosen]).collect();
        let weights = self.weights(&losses);
        let mut planes = Vec::new();
        let mut n_iter = 0;
        let all: Vec<usize> = (0..self.training.labels.len()).collect();
        for (problem, positive) in self.positives().into_iter().enumerate() {
            let y = self.signs(&all, positive);
            let mut sum = Hyperplane { w: vec![0.0; self.training.rows.mean.ncols()], b: 0.0 };
            for ((path, verdict), weight) in judged.iter().zip(&weights) {
                let (at, steps) = self.refit(path, &y, self.grid[verdict.chosen])?;
                let map = verdict.maps[problem][verdict.chosen];
                vector::axpy(weight * map.slope, &path.coordinates.weights(&at.w), &mut sum.w);
                sum.b += weight * (map.slope * at.b + map.shift);
                n_iter = n_iter.max(steps);
            }
            planes.push((positive, sum));
        }
        let first_most = |best: usize, k: usize| if weights[k] > weights[best] { k } else { best };
        let most = (0..weights.len()).fold(0, first_most);
        let alpha = self.grid[judged[most].1.chosen];
        Ok(Averaged { planes, n_iter, alpha, table: self.table(judged, &weights)? })
    }

    /// `$\exp(-n \ell / 2)$`, adding up to 1, with as many rows as count: those of equal weight all do.
    fn weights(&self, losses: &[f64]) -> Vec<f64> {
        let count = effective_rows(self.training.shares, self.training.copies);
        let least = losses.iter().fold(f64::INFINITY, |least, loss| least.min(*loss));
        let raw: Vec<f64> =
            losses.iter().map(|loss| (-SHARPNESS * count * (loss - least)).exp()).collect();
        let total: f64 = raw.iter().sum();
        raw.into_iter().map(|weight| weight / total).collect()
    }

    fn refit(&self, path: &Path, y: &[f64], alpha: f64) -> Result<(Hyperplane, usize)> {
        let training = Training { rows: &path.rows, shares: &path.shares, ..*self.training };
        let problem = training.problem(&path.rows, y, &path.shares, alpha, training.rates);
        let params = training.params;
        let mut budget = Budget::new(params.tol, params.max_iter, self.control);
        let at = training.solve(&problem, &mut budget)?;
        Ok((at, budget.spent()))
    }

    /// One row for each strength of each path: `score` columns before calibration, the score after it, and its weight in the average.
    fn table(&self, judged: &[(Path, Verdict)], weights: &[f64]) -> Result<Output> {
        let each = self.grid.len();
        let text = |name: &dyn Fn(&(Prior, bool)) -> &'static str| {
            let names = PATHS.iter().flat_map(|path| vec![name(path).to_owned(); each]);
            Output::Texts(names.collect())
        };
        let prior = text(&|(prior, _)| match prior {
            Prior::Identity => "identity",
            Prior::Covariance => "covariance",
        });
        let rows = text(&|(_, leverage)| if *leverage { "leverage" } else { "equal" });
        let candidates = Candidates::new(PATHS.len() * each)
            .with("prior", prior)
            .with("row_weights", rows)
            .with("alpha", self.grid.repeat(PATHS.len()));
        let splits = judged[0].1.by_split.len();
        let joined = |s: usize| judged.iter().flat_map(|(_, v)| v.by_split[s].clone()).collect();
        let table = Scores::from_splits((0..splits).map(joined).collect())?.table(candidates);
        let Output::Table(mut columns) = table else { return Ok(table) };
        let calibrated: Vec<f64> =
            judged.iter().flat_map(|(_, v)| v.calibrated.iter().map(|loss| -loss)).collect();
        let mut counted = vec![0.0; PATHS.len() * each];
        for (k, ((_, verdict), weight)) in judged.iter().zip(weights).enumerate() {
            counted[k * each + verdict.chosen] = *weight;
        }
        columns.push(("calibrated_test_score".into(), calibrated.into()));
        columns.push(("weight".into(), counted.into()));
        Ok(Output::Table(columns))
    }
}

/// The shares of some rows as parts of 1.
fn parts(shares: &[f64], rows: &[usize]) -> Vec<f64> {
    let total: f64 = rows.iter().map(|&i| shares[i]).sum();
    rows.iter().map(|&i| shares[i] / total).collect()
}

#[cfg(test)]
mod tests;
