//! Primal-dual interior point in `$(W, b, \theta)$`.
//!
//! All that belongs to one row is eliminated in closed form ([`rows`]), so a step costs one weighted
//! Gram matrix of order `$q(m+1)$` and a few products with the data. Mehrotra's predictor and
//! corrector share one factorisation. Ten to twenty-five steps are usual, whatever `$n$`; rows that
//! cannot cross the threshold any more leave on the way ([`shrinking`]), so that the last steps see few of them.

mod centring;
mod hinge_sum;
mod iteration;
mod rows;
mod shrinking;
mod slacks;
mod smooth;
mod system;

use centring::central_theta;
use hinge_sum::HingeSum;
use iteration::{FullProblem, Iteration, Run};
use slacks::central_slacks;
use smooth::Smooth;
pub(super) use system::System;

use super::problem::{Problem, RowLoss, worst_sum};
use super::row_space::Reduced;
use super::solution::{Found, Start};
use crate::error::Result;
use crate::optim::{Bracket, Budget};

/// How steps are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Whether rows may leave on the way; not worth trying where a negligible ridge lets weights wander.
    pub shrinking: bool,
    /// Whether steps are shortened until the complementarity products do not grow.
    pub short_steps: bool,
}

/// The usual way.
pub(super) const USUAL: Options = Options { shrinking: true, short_steps: false };
/// For weights that wander.
pub(super) const ALL_ROWS: Options = Options { shrinking: false, short_steps: false };
/// For steps that would throw rows far over the kink of a squared hinge.
pub(super) const SHORT_STEPS: Options = Options { shrinking: true, short_steps: true };

/// Steps of one run at most: runs that get there need a tenth of them, others must leave something to the
/// stages that follow.
const STEPS: usize = 300;
/// Powers of ten between the strongest regularisation tried and the asked one.
const CONTINUATION: i32 = 8;
/// Distance from the threshold at which a row leaves, in multiples of the way it has yet to go by its last
/// move and of the usual move. Where rows left that should not have and taking them back did not help, all
/// stay in a second attempt.
const CAUTION: [f64; 2] = [3.0, f64::INFINITY];
/// Part of what is open at the start that the first barrier leaves open.
const FIRST_BARRIER: f64 = 0.3;
/// The least part of the worst losses that counts as open at a neighbour's answer.
const LEAST_OPEN: f64 = 1e-4;
/// The narrowest first barrier, in units of loss times weight.
const LEAST_BARRIER: f64 = 1e-12;

/// A barrier relative to the one before, where every one is solved for.
const NARROWER: f64 = 0.2;
/// Part of the asked gap that a barrier may leave open before a narrower one is pointless.
const NARROW: f64 = 0.01;
/// Rounds of Newton steps on one barrier problem at most.
const MOST_ROUNDS: usize = 20;

/// Solves an auxiliary problem with every row in play: one run, and from easier problems if that does not
/// reach the gap.
pub(super) fn solve(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    options: Options,
    budget: &mut Budget<'_>,
) -> Result<Found> {
    let mut found = Bracket::new();
    solve_from(problem, reduced, None, options, &mut found, budget)?;
    if found.certificate().gap() > budget.tol() {
        solve_by_continuation(problem, reduced, &mut found, budget)?;
    }
    Ok(found)
}

/// From a neighbour; where that does not lead to the asked gap, also from zero weights.
pub(super) fn solve_warm_then_cold(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    neighbour: Option<Start<'_>>,
    options: Options,
    budget: &mut Budget<'_>,
) -> Result<Found> {
    let mut found = Bracket::new();
    solve_from(problem, reduced, neighbour, options, &mut found, budget)?;
    if neighbour.is_some() && found.certificate().gap() > budget.tol() {
        solve_from(problem, reduced, None, options, &mut found, budget)?;
    }
    Ok(found)
}

/// The way from strong regularisation to the asked one, each problem from the answer to the one before.
pub(super) fn solve_by_continuation(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    found: &mut Found,
    budget: &mut Budget<'_>,
) -> Result<()> {
    let mut last: Found = Bracket::new();
    for power in (1..=CONTINUATION).rev() {
        let scale = problem.scale * 10f64.powi(-power);
        let easier = Problem { scale, ..problem.clone() };
        let mut next = Bracket::new();
        solve_from(&easier, reduced, Start::of(&last), SHORT_STEPS, &mut next, budget)?;
        last = next;
    }
    solve_from(problem, reduced, Start::of(&last), SHORT_STEPS, found, budget)
}

/// One run from `start`, or from zero weights. All that it finds is offered to `found`.
pub(super) fn solve_from(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    start: Option<Start<'_>>,
    options: Options,
    found: &mut Found,
    budget: &mut Budget<'_>,
) -> Result<()> {
    budget.stage(budget.tol(), STEPS, |budget| {
        let mut run = Run::new(found, budget, options.short_steps);
        for &caution in &CAUTION[usize::from(!options.shrinking)..] {
            attempt(FullProblem { problem, reduced }, start, caution, &mut run)?;
            if !run.astray {
                break;
            }
            run.again();
        }
        Ok(())
    })
}

/// Newton's method with a line search on one barrier problem after the other, each a fifth of the one before.
///
/// Slower than predictor and corrector, but every step descends: where rows differ by many orders of magnitude and
/// the curvature of most has vanished, full steps lead astray and never come back.
pub(super) fn solve_by_centring(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    found: &mut Found,
    budget: &mut Budget<'_>,
) -> Result<()> {
    budget.stage(budget.tol(), STEPS, |budget| {
        let tol = budget.tol();
        let mut run = Run::new(found, budget, false);
        let pairs = 2.0 * problem.n() as f64;
        let (mut iteration, mut mu) = zero_start(FullProblem { problem, reduced });
        let mut rounds = 0;
        loop {
            let central = iteration.centre(mu, &mut run)?;
            rounds = if central { 0 } else { rounds + 1 };
            let last = rounds >= MOST_ROUNDS || run.budget.left() == 0;
            if central || last {
                iteration.prove(&mut run);
            }
            let narrow = problem.scale * mu * pairs <= NARROW * tol * run.found.upper().max(1.0);
            if last || run.found.certificate().gap() <= tol || (central && narrow) {
                return Ok(());
            }
            if central {
                mu *= NARROWER;
                iteration.narrow(mu);
            }
        }
    })
}

/// Zero weights, and the first barrier.
fn zero_start(full: FullProblem<'_>) -> (Iteration<'_, Smooth<'_, '_>>, f64) {
    let FullProblem { problem, reduced } = full;
    let v = vec![0.0; problem.q() * reduced.features.z.ncols()];
    let f = reduced.features.scores(&v);
    let worst = worst_sum(&problem.losses(&f), problem.weights, problem.k);
    let mu = (FIRST_BARRIER * worst.sum / (2.0 * problem.n() as f64)).max(LEAST_BARRIER);
    let mut rows = Smooth::new(problem);
    let theta = rows.centre(&f, mu, worst.threshold);
    (Iteration::new(full, v, f, theta, rows), mu)
}

fn attempt(
    full: FullProblem<'_>,
    start: Option<Start<'_>>,
    caution: f64,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let FullProblem { problem, reduced } = full;
    let size = problem.q() * reduced.features.z.ncols();
    let v = start.map_or_else(|| vec![0.0; size], |near| near.iterate.v.clone());
    let f = reduced.features.scores(&v);
    let worst = worst_sum(&problem.losses(&f), problem.weights, problem.k);
    let sums = problem.loss == RowLoss::Hinge && problem.q() > 1;
    let pairs = (problem.n() * if sums { 2 + 2 * problem.q() } else { 2 }) as f64;
    let open = start.map_or(worst.sum, |near| open_at(full, near, worst.sum));
    let mu = (FIRST_BARRIER * open / pairs).max(LEAST_BARRIER);
    if sums {
        // Inner slacks add to the losses; their multipliers are not known yet.
        let guess: Vec<f64> = problem.weights.iter().map(|c| 0.5 * c).collect();
        let lifted = lifted_losses(problem, &f, &guess, mu);
        let theta = central_theta(problem, &lifted, mu, worst.threshold);
        let rows = HingeSum::new(problem, &f, theta, &guess, mu);
        Iteration::new(full, v, f, theta, rows).advance(run)?;
        return Ok(());
    }
    let mut rows = Smooth::new(problem);
    let theta = rows.centre(&f, mu, worst.threshold);
    let mut iteration = Iteration::new(full, v, f, theta, rows);
    iteration.caution = caution;
    iteration.centre(mu, run)?;
    shrinking::finish(iteration, run)
}

/// How far a neighbour's answer is from optimal here, by its own multipliers, at most the `worst` losses.
fn open_at(full: FullProblem<'_>, near: Start<'_>, worst: f64) -> f64 {
    let FullProblem { problem, reduced } = full;
    let primal = reduced.objective(problem, &near.iterate.v, &near.iterate.hyperplanes);
    let proven = reduced.bound(problem, near.dual).max(0.0);
    worst.min((primal - proven) / problem.scale).max(LEAST_OPEN * worst)
}

/// `$\sum_j \eta_{ij}$` on the central path for multipliers `a`.
fn lifted_losses(problem: &Problem<'_>, f: &[f64], a: &[f64], mu: f64) -> Vec<f64> {
    let q = problem.q();
    let eta = |i: usize, j: usize| {
        central_slacks(a[i], 1.0 - problem.target.sign(i, j) * f[i * q + j], mu).1
    };
    (0..problem.n()).map(|i| (0..q).map(|j| eta(i, j)).sum()).collect()
}
