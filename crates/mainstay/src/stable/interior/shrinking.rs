//! Going on without the rows whose fate is settled.
//!
//! A row far below the threshold has multiplier 0, a hinge far above it has its full weight: neither
//! has curvature, so that the rows near the threshold and one linear term are all that is left of the
//! problem. Whenever rows leave, those that left before are looked at again, and come back where they
//! are no longer far. In the end the certificate, which is always computed on all rows, tells whether
//! the others really stayed where they were.

use super::iteration::{Iteration, Run};
use super::rows::{Local, Rows};
use super::smooth::{self, BARRIER, Smooth};
use crate::error::Result;
use crate::stable::certificate::Dual;
use crate::stable::problem::{Problem, RowLoss, Target};
use crate::stable::row_space::Features;

/// What is known of the rows that left.
#[derive(Debug)]
pub(super) struct ActiveRows {
    /// The rows in play, as numbered in the whole problem.
    rows: Vec<usize>,
    /// Multipliers of the whole problem; those of the rows in play are to be filled in.
    settled: Dual,
    /// `$\sum \alpha_i x_i^\top$` of the rows that left.
    pub adjoint: Vec<f64>,
    /// Their losses at zero scores, weighted.
    pub constant: f64,
}

impl ActiveRows {
    /// Multipliers of the whole problem from those of the rows in play.
    pub(super) fn complete(&self, mine: &Dual) -> Dual {
        let q = self.settled.alpha.len() / self.settled.share.len().max(1);
        let mut dual = self.settled.clone();
        for (at, &i) in self.rows.iter().enumerate() {
            dual.share[i] = mine.share[at];
            dual.alpha[i * q..(i + 1) * q].copy_from_slice(&mine.alpha[at * q..(at + 1) * q]);
        }
        dual
    }
}

/// How often rows are taken back after the barrier said that the gap is reached.
const TAKEN_BACK: usize = 3;
/// Part of `k` that must be left for the rows in play.
const LEAST_K: f64 = 1e-9;
/// Part of the worst error of a row that left which the barrier is widened to.
const STEP_BACK: f64 = 0.1;
/// Multiples of the caution at which rows come back: twice what they left at, so that they do not alternate.
const COME_BACK: f64 = 2.0;

/// Runs to the end, with fewer and fewer rows.
pub(super) fn finish(
    mut outer: Iteration<'_, Smooth<'_, '_>>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let kept = match outer.advance(run)? {
        Some(kept) => kept,
        None if run.astray && run.widened < TAKEN_BACK => (0..outer.problem.n()).collect(),
        None => return Ok(()),
    };
    let back = Returning::new(&outer);
    let in_full = |&i: &usize| outer.active.map_or(i, |active| active.rows[i]);
    let rows: Vec<usize> = kept.iter().map(in_full).chain(back.rows).collect();
    let (active, above) = leave(&outer, rows);
    let full = outer.full.problem;
    let k = full.k - above;
    let enough = k > LEAST_K * full.k;
    if !enough {
        outer.caution = f64::INFINITY;
        return if run.astray { Ok(()) } else { finish(outer, run) };
    }
    let features = outer.full.reduced.features.select(&active.rows);
    let weights: Vec<f64> = active.rows.iter().map(|&i| full.weights[i]).collect();
    let problem =
        Problem { weights: &weights, target: full.target.select(&active.rows), k, ..full.clone() };
    let shares = outer.rows.slacks().select(problem.weights, &kept, &back.over, outer.mu());
    let rows = Smooth::with(&problem, shares);
    let mut inner = restricted(outer, &problem, &features, &active, rows);
    if run.astray {
        step_back(&mut inner, back.worst, run)?;
    }
    finish(inner, run)
}

/// The same point of the problem over the rows in play.
fn restricted<'s>(
    outer: Iteration<'s, Smooth<'s, 's>>,
    problem: &'s Problem<'s>,
    features: &'s Features,
    active: &'s ActiveRows,
    rows: Smooth<'s, 's>,
) -> Iteration<'s, Smooth<'s, 's>> {
    Iteration {
        problem,
        features,
        active: Some(active),
        f: features.scores(&outer.v),
        rows,
        local: Local::new(problem.n(), outer.q, false),
        last: (Vec::new(), 0.0),
        fell: 0.0,
        ..outer
    }
}

/// Far along the path already: back to where the barrier is as wide as the errors.
fn step_back(
    inner: &mut Iteration<'_, Smooth<'_, '_>>,
    worst: f64,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    run.astray = false;
    run.widened += 1;
    let mu = inner.mu().max(STEP_BACK * worst);
    inner.theta = inner.rows.centre(&inner.f, mu, inner.theta);
    inner.t = inner.problem.k - inner.rows.share();
    inner.centre(mu, run)?;
    Ok(())
}

/// Rows that left but are no longer far from the threshold, or on its other side.
#[derive(Default)]
struct Returning {
    rows: Vec<usize>,
    /// By how much their losses exceed the threshold.
    over: Vec<f64>,
    /// The largest distance on the other side, weighted.
    worst: f64,
}

impl Returning {
    fn new(outer: &Iteration<'_, Smooth<'_, '_>>) -> Self {
        let mut back = Self::default();
        let Some(active) = outer.active else { return back };
        let (problem, q) = (outer.full.problem, outer.q);
        let f = outer.full.reduced.features.scores(&outer.v);
        let losses = smooth::losses(problem, &f);
        let usual = smooth::rms(&smooth::moves(problem, outer.theta, &outer.last));
        let mu = outer.mu();
        let mut plays = vec![false; problem.n()];
        for &i in &active.rows {
            plays[i] = true;
        }
        for i in (0..problem.n()).filter(|&i| !plays[i]) {
            let (c, over) = (problem.weights[i], losses[i] - outer.theta);
            let below = smooth::below(problem, i, &f[i * q..(i + 1) * q], over, outer.theta);
            let far = if active.settled.share[i] > 0.0 { -below } else { below };
            if far < (COME_BACK * outer.caution * usual).max(BARRIER * mu / c) {
                back.rows.push(i);
                back.over.push(over);
                back.worst = back.worst.max(-far * c);
            }
        }
        back
    }
}

/// Settles all rows of the whole problem but `rows`; also returns the weight of those above the
/// threshold.
fn leave(outer: &Iteration<'_, Smooth<'_, '_>>, rows: Vec<usize>) -> (ActiveRows, f64) {
    let (problem, q) = (outer.full.problem, outer.q);
    let mut settled = Dual { share: vec![0.0; problem.n()], alpha: vec![0.0; problem.n() * q] };
    let mut above = 0.0;
    if let (RowLoss::Hinge, Target::Signs(y)) = (problem.loss, &problem.target) {
        let mut side: Vec<bool> = match outer.active {
            None => (0..problem.n()).map(|i| outer.rows.is_above(i)).collect(),
            Some(active) => {
                let mut side: Vec<bool> = active.settled.share.iter().map(|a| *a > 0.0).collect();
                for (at, &i) in active.rows.iter().enumerate() {
                    side[i] = outer.rows.is_above(at);
                }
                side
            }
        };
        for &i in &rows {
            side[i] = false;
        }
        for i in (0..problem.n()).filter(|&i| side[i]) {
            let c = problem.weights[i];
            (settled.share[i], settled.alpha[i]) = (c, -y[i] * c);
            above += c;
        }
    }
    let adjoint = outer.full.reduced.features.adjoint(&settled.alpha, q);
    (ActiveRows { rows, settled, adjoint, constant: above }, above)
}
