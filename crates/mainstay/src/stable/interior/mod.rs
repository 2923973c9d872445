//! Primal-dual interior point in $(W, b, \theta)$.
//!
//! All that belongs to one row is eliminated in closed form ([`rows`]), so a step costs one weighted
//! Gram matrix of order $q(m+1)$ and a few products with the data. Mehrotra's predictor and
//! corrector share one factorisation. Ten to twenty-five steps are usual, whatever $n$; rows whose
//! fate is settled leave on the way ([`narrow`]), so that the last steps see few of them.

mod centre;
mod iteration;
mod narrow;
mod rows;
mod shares;
mod smooth;
mod split;
mod system;

use centre::central_theta;
use iteration::{Iteration, Progress, Whole};
use shares::central_slacks;
use smooth::Smooth;
pub(super) use smooth::expand;
use split::Split;
pub(super) use system::System;

use super::certificate::{Dual, bound};
use super::problem::{Point, Problem, RowLoss, worst_sum};
use super::reduce::Reduced;
use crate::certificate::Certificate;
use crate::control::Control;
use crate::error::{Error, Result};

/// When to stop, and whom to listen to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits<'a> {
    pub tol: f64,
    pub max_iter: usize,
    /// Whether rows may leave on the way; not worth trying where a faint ridge lets weights wander.
    pub narrow: bool,
    /// Whether steps are shortened until the complementarity products do not grow.
    pub strict: bool,
    pub control: &'a Control,
}

impl Limits<'_> {
    /// What is left of them after `steps`.
    pub(super) fn after(self, steps: usize) -> Self {
        Self { max_iter: self.max_iter.saturating_sub(steps), ..self }
    }
}

/// An answer with its proof.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    pub point: Point,
    pub dual: Dual,
    pub certificate: Certificate,
    pub n_iter: usize,
    /// Reduced weights, from which a neighbouring problem may start.
    pub warm: Vec<f64>,
}

/// Solves `problem`; `reduced` holds its features. `warm` is the solution of a neighbour.
pub(super) fn solve(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    warm: Option<&Solution>,
    limits: Limits<'_>,
) -> Result<Solution> {
    let found = directly(problem, reduced, warm, limits)?;
    insist(problem, reduced, found, limits)
}

/// The usual way; where the start from a neighbour does not lead to the asked gap, also a cold one.
pub(super) fn directly(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    warm: Option<&Solution>,
    limits: Limits<'_>,
) -> Result<Solution> {
    let found = solve_from(problem, reduced, warm, limits)?;
    if warm.is_none() || found.certificate.gap() <= limits.tol {
        return Ok(found);
    }
    Ok(better(found, solve_from(problem, reduced, None, limits)?))
}

/// Where `found` is not good enough (the squared hinge on separable data of large numbers): shorter steps, and then
/// the way from strong regularisation to the asked one.
pub(super) fn insist(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    mut found: Solution,
    limits: Limits<'_>,
) -> Result<Solution> {
    let strict = Limits { strict: true, ..limits };
    if problem.loss == RowLoss::SquaredHinge && found.certificate.gap() > limits.tol {
        found = better(found, solve_from(problem, reduced, None, strict)?);
    }
    if found.certificate.gap() > limits.tol {
        let mut last: Option<Solution> = None;
        for power in (0..=WALK).rev() {
            let scale = problem.scale * 10f64.powi(-power);
            let easier = Problem { scale, ..problem.clone() };
            last = Some(solve_from(&easier, reduced, last.as_ref(), strict)?);
        }
        found = last.into_iter().fold(found, better);
    }
    Ok(found)
}

/// Powers of ten between the strongest regularisation tried and the asked one.
const WALK: i32 = 8;

/// The one with the smaller proven gap.
pub(super) fn better(one: Solution, other: Solution) -> Solution {
    if other.certificate.gap() < one.certificate.gap() { other } else { one }
}

/// Goes on from an answer to `problem` itself.
pub(super) fn sharpen(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    answer: &Solution,
    limits: Limits<'_>,
) -> Result<Solution> {
    solve_from(problem, reduced, Some(answer), limits)
}

/// How far from the threshold a row must be to leave, in multiples of the way it has yet to go by its last move and of
/// the usual move. Where rows left that should not have and taking them back did not help, all stay in a second attempt.
const CAUTION: [f64; 2] = [3.0, f64::INFINITY];

fn solve_from(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    warm: Option<&Solution>,
    limits: Limits<'_>,
) -> Result<Solution> {
    let mut progress = Progress::default();
    for &caution in &CAUTION[usize::from(!limits.narrow)..] {
        attempt(Whole { problem, reduced }, warm, caution, &mut progress, limits)?;
        if !progress.astray {
            break;
        }
        progress.again();
    }
    progress.best.ok_or_else(|| Error::Numerical("the stable fit; rescale the features".into()))
}

fn attempt(
    whole: Whole<'_>,
    warm: Option<&Solution>,
    caution: f64,
    progress: &mut Progress,
    limits: Limits<'_>,
) -> Result<()> {
    let Whole { problem, reduced } = whole;
    let size = problem.q() * reduced.features.z.ncols();
    let v = warm.map_or_else(|| vec![0.0; size], |neighbour| neighbour.warm.clone());
    let f = reduced.features.scores(&v);
    let losses = problem.losses(&f);
    let split = problem.loss == RowLoss::Hinge && problem.q() > 1;
    let pairs = (problem.n() * if split { 2 + 2 * problem.q() } else { 2 }) as f64;
    let worst = worst_sum(&losses, problem.weights, problem.k);
    let mut open = worst.sum;
    if let Some(neighbour) = warm {
        // How far the neighbour is from optimal here, by its own multipliers.
        let primal = problem.objective(&neighbour.point);
        let proven = bound(problem, &neighbour.dual).max(0.0);
        open = open.min((primal - proven) / problem.scale).max(1e-4 * open);
    }
    let mu = (0.3 * open / pairs).max(1e-12);
    if split {
        // Inner slacks add to the losses; their multipliers are not known yet.
        let guess: Vec<f64> = problem.weights.iter().map(|c| 0.5 * c).collect();
        let lifted = lifted_losses(problem, &f, &guess, mu);
        let theta = central_theta(problem, &lifted, mu, worst.threshold);
        let rows = Split::new(problem, &f, theta, &guess, mu);
        Iteration::new(whole, v, f, theta, rows).advance(progress, limits)?;
        return Ok(());
    }
    let mut rows = Smooth::new(problem);
    let theta = rows.centre(&f, mu, worst.threshold);
    let mut iteration = Iteration::new(whole, v, f, theta, rows);
    iteration.caution = caution;
    iteration.centre(mu, progress, limits)?;
    narrow::finish(iteration, progress, limits)
}

/// $\sum_j \eta_{ij}$ on the central path for multipliers `a`.
fn lifted_losses(problem: &Problem<'_>, f: &[f64], a: &[f64], mu: f64) -> Vec<f64> {
    let q = problem.q();
    let eta = |i: usize, j: usize| {
        central_slacks(a[i], 1.0 - problem.target.sign(i, j) * f[i * q + j], mu).1
    };
    (0..problem.n()).map(|i| (0..q).map(|j| eta(i, j)).sum()).collect()
}
