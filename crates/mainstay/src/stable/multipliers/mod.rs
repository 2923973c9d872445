//! The method of multipliers with semismooth Newton steps in `$(W, b)$`: for many rows.
//!
//! The inner maximum over shares is smoothed around reference shares `$\bar a$`,
//! ```math
//! F(w, b) = \tfrac{\rho}{\lambda}\|w\|^2 + \min_{\theta \ge 0} k\theta + \sum_i \max_{0 \le a_i \le c_i}
//! a_i (L_i - \theta) - \tfrac{h}{2c_i}(a_i - \bar a_i)^2,
//! ```
//! minimised by Newton's method ([`newton`]), and the maximisers become the next reference (Rockafellar's
//! proximal method on the dual). Unlike a barrier this changes the problem only near the threshold: with
//! losses of density `$\delta$` there it is wrong by about `$n\delta h^2/24$`, so that `$h$` may stay so wide
//! that hundreds of rows share the threshold and Newton's model holds. A step costs two products with the
//! data and the Gram matrix of the rows between their bounds; that of the curved losses is kept
//! ([`gram_cache`]). The first steps are made on a sample. The last ones
//! are made on the rows near the threshold ([`threshold_band`]).
//!
//! Two classes only. Where most rows share the threshold the steps may not end: the interior point then
//! goes on from there.

mod classical;
mod gram_cache;
mod line_search;
mod newton;
mod rows;
mod threshold_band;

pub(super) use classical::solve as solve_classical;
pub(super) use gram_cache::GramCache;
use newton::{Newton, NewtonStart};

use super::problem::{Problem, RowLoss};
use super::row_space::{Features, Reduced};
use super::solution::{Found, Start};
use crate::data::sampled_rows;
use crate::error::Result;
use crate::optim::Budget;

/// Rows: problems with fewer are left to the interior point.
const LEAST_ROWS: usize = 1000;
/// Rows per column: fewer are left to the interior point. Losses without curvature need more, because only
/// the rows on the threshold determine the weights then.
const LEAST_ROWS_PER_COLUMN: usize = 16;
const LEAST_ROWS_PER_COLUMN_HINGE: usize = 100;
/// Rows per sampled row.
const SAMPLE: usize = 8;
/// Rows per column that a sample has at least.
const LEAST_SAMPLED_PER_COLUMN: usize = 16;
/// Rows per sampled row below which a sample of a curved loss is not worth its steps.
const LEAST_SAMPLE_RATIO: usize = 3;
/// Relative gap asked of a sample, whose answer differs from that of all rows by more than this anyway.
const SAMPLE_GAP: f64 = 3e-3;
/// Width of the smoothing, in units of loss, when a neighbour's answer is the start.
const WARM_WIDTH: f64 = 0.05;
/// Width of the smoothing, in units of loss, at zero weights: the loss of every row there.
const COLD_WIDTH: f64 = 1.0;

/// Whether this method is the faster one. With `$p$` features about `$p$` rows share the threshold in the end;
/// where these are not few of all, Newton's model changes with every step.
pub(super) fn suits(problem: &Problem<'_>, reduced: &Reduced<'_>) -> bool {
    let hinge = problem.loss == RowLoss::Hinge;
    let times = if hinge { LEAST_ROWS_PER_COLUMN_HINGE } else { LEAST_ROWS_PER_COLUMN };
    problem.q() == 1 && problem.n() >= LEAST_ROWS.max(times * reduced.features.z.ncols())
}

/// Solves a two-class `problem`, from the solution of a neighbour if there is one. The asked gap need not
/// be reached; `false` where most rows share the threshold, and nothing was found.
pub(super) fn solve(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    neighbour: Option<Start<'_>>,
    found: &mut Found,
    budget: &mut Budget<'_>,
) -> Result<bool> {
    let ridge = 2.0 * reduced.ridge(problem.ridge) / problem.scale;
    let start = match neighbour {
        Some(near) => {
            Some(NewtonStart { v: near.iterate.v.clone(), width: WARM_WIDTH, theta: None })
        }
        None => start_on_sample(problem, &reduced.features, ridge, budget)?,
    };
    let Some(start) = start else { return Ok(false) };
    let mut newton = Newton::new(problem, &reduced.features, ridge, start);
    if let Some(near) = neighbour {
        newton.set_reference(&near.dual.share);
    }
    finish(newton, reduced, found, budget)
}

/// Newton steps on all rows, and in turn on those near the threshold, until the gap is proven.
fn finish(
    mut newton: Newton<'_, '_>,
    reduced: &Reduced<'_>,
    found: &mut Found,
    budget: &mut Budget<'_>,
) -> Result<bool> {
    let (tol, mut reached) = (budget.tol(), false);
    let mut proven = |newton: &Newton<'_, '_>| {
        newton.offer(reduced, found);
        reached = found.certificate().gap() <= tol;
        reached
    };
    newton.rounds = threshold_band::ROUNDS;
    newton.run(tol, budget, &mut proven)?;
    while let Some(rows) = newton.band.take() {
        newton.run_on_band(&rows, budget)?;
        newton.run(tol, budget, &mut proven)?;
    }
    if !reached && !newton.crowded {
        newton.offer(reduced, found);
    }
    Ok(!newton.crowded)
}

/// A start from some of the rows; `None` where most of them share the threshold.
fn start_on_sample(
    problem: &Problem<'_>,
    features: &Features,
    ridge: f64,
    budget: &mut Budget<'_>,
) -> Result<Option<NewtonStart>> {
    let columns = features.z.ncols();
    let some = (problem.n() / SAMPLE).max(LEAST_SAMPLED_PER_COLUMN * columns).max(LEAST_ROWS / 2);
    // Where losses have no curvature, the fit of a small sample is far from that of all rows.
    let times = if problem.loss == RowLoss::Hinge { SAMPLE } else { LEAST_SAMPLE_RATIO };
    if times * some > problem.n() {
        return Ok(Some(NewtonStart { v: vec![0.0; columns], width: COLD_WIDTH, theta: None }));
    }
    let rows = sampled_rows(problem.n(), some);
    let weights: &[f64] = &rows.iter().map(|&i| problem.weights[i]).collect::<Vec<f64>>();
    let fraction = weights.iter().sum::<f64>() / problem.total();
    let sample = Problem {
        weights,
        target: problem.target.select(&rows),
        k: fraction * problem.k,
        scale: problem.scale / fraction,
        ..problem.clone()
    };
    let (features, ridge) = (features.select(&rows), ridge * fraction);
    let Some(start) = start_on_sample(&sample, &features, ridge, budget)? else {
        return Ok(None);
    };
    let mut newton = Newton::new(&sample, &features, ridge, start);
    newton.run(SAMPLE_GAP, budget, |_| true)?;
    Ok((!newton.crowded).then(|| newton.into_start()))
}
