//! Going on without the rows whose fate is settled.
//!
//! A row far below the threshold has multiplier 0, a hinge far above it has its full weight: neither
//! has curvature, so that the rows near the threshold and one linear term are all that is left of the
//! problem. Whenever rows leave, those that left before are looked at again, and come back where they
//! are no longer far. In the end the certificate, which is always computed on all rows, tells whether
//! the others really stayed where they were.

use super::Limits;
use super::iteration::{Iteration, Progress};
use super::rows::{Local, Rows};
use super::smooth::{self, BARRIER, Smooth};
use crate::error::Result;
use crate::stable::certificate::Dual;
use crate::stable::problem::{Problem, RowLoss, Target};

/// What is known of the rows that left.
#[derive(Debug)]
pub(super) struct Part {
    /// The rows in play, as numbered in the whole problem.
    rows: Vec<usize>,
    /// Multipliers of the whole problem; those of the rows in play are to be filled in.
    settled: Dual,
    /// $\sum \alpha_i x_i^\top$ of the rows that left.
    pub pulled: Vec<f64>,
    /// Their losses at zero scores, weighted.
    pub constant: f64,
}

impl Part {
    /// Multipliers of the whole problem from those of the rows in play.
    pub(super) fn complete(&self, mine: &Dual) -> Dual {
        let q = self.settled.pull.len() / self.settled.share.len().max(1);
        let mut dual = self.settled.clone();
        for (at, &i) in self.rows.iter().enumerate() {
            dual.share[i] = mine.share[at];
            dual.pull[i * q..(i + 1) * q].copy_from_slice(&mine.pull[at * q..(at + 1) * q]);
        }
        dual
    }
}

/// How often rows are taken back after the gap seemed reached.
const TAKEN_BACK: usize = 3;

/// Runs to the end, with fewer and fewer rows.
pub(super) fn finish(
    mut outer: Iteration<'_, Smooth<'_, '_>>,
    progress: &mut Progress,
    limits: Limits<'_>,
) -> Result<()> {
    let kept = match outer.advance(progress, limits)? {
        Some(kept) => kept,
        None if progress.astray && progress.widened < TAKEN_BACK => {
            (0..outer.problem.n()).collect()
        }
        None => return Ok(()),
    };
    let back = Back::new(&outer);
    let rows: Vec<usize> =
        kept.iter().map(|&i| outer.part.map_or(i, |part| part.rows[i])).chain(back.rows).collect();
    let (part, above) = leave(&outer, rows);
    let whole = outer.whole.problem;
    let k = whole.k - above;
    let rests = k > 1e-9 * whole.k;
    if !rests {
        outer.caution = f64::INFINITY;
        return if progress.astray { Ok(()) } else { finish(outer, progress, limits) };
    }
    let features = outer.whole.reduced.features.select(&part.rows);
    let weights: Vec<f64> = part.rows.iter().map(|&i| whole.weights[i]).collect();
    let problem =
        Problem { weights: &weights, target: whole.target.select(&part.rows), k, ..whole.clone() };
    let shares = outer.rows.slacks().select(problem.weights, &kept, &back.over, outer.mu());
    let mut inner = Iteration {
        whole: outer.whole,
        problem: &problem,
        features: &features,
        part: Some(&part),
        caution: outer.caution,
        q: outer.q,
        ridge: outer.ridge,
        f: features.scores(&outer.v),
        v: outer.v,
        theta: outer.theta,
        t: outer.t,
        rows: Smooth::with(&problem, shares),
        local: Local::new(weights.len(), outer.q, false),
        last: (Vec::new(), 0.0),
        fell: 0.0,
    };
    if progress.astray {
        // Far along the path already: step back to where the barrier is as wide as the errors.
        progress.astray = false;
        progress.widened += 1;
        let mu = inner.mu().max(0.1 * back.worst);
        inner.theta = inner.rows.centre(&inner.f, mu, inner.theta);
        inner.t = inner.problem.k - inner.rows.share();
        inner.centre(mu, progress, limits)?;
    }
    finish(inner, progress, limits)
}

/// Rows that left but are no longer far from the threshold, or on its other side.
#[derive(Default)]
struct Back {
    rows: Vec<usize>,
    /// By how much their losses exceed the threshold.
    over: Vec<f64>,
    /// The largest distance on the other side, weighted.
    worst: f64,
}

impl Back {
    fn new(outer: &Iteration<'_, Smooth<'_, '_>>) -> Self {
        let mut back = Self::default();
        let Some(part) = outer.part else { return back };
        let (problem, q) = (outer.whole.problem, outer.q);
        let f = outer.whole.reduced.features.scores(&outer.v);
        let losses = smooth::losses(problem, &f);
        let usual = smooth::rms(&smooth::moves(problem, outer.theta, &outer.last));
        let mu = outer.mu();
        let mut plays = vec![false; problem.n()];
        for &i in &part.rows {
            plays[i] = true;
        }
        for i in (0..problem.n()).filter(|&i| !plays[i]) {
            let (c, over) = (problem.weights[i], losses[i] - outer.theta);
            let below = smooth::below(problem, i, &f[i * q..(i + 1) * q], over, outer.theta);
            let far = if part.settled.share[i] > 0.0 { -below } else { below };
            if far < (2.0 * outer.caution * usual).max(BARRIER * mu / c) {
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
fn leave(outer: &Iteration<'_, Smooth<'_, '_>>, rows: Vec<usize>) -> (Part, f64) {
    let (problem, q) = (outer.whole.problem, outer.q);
    let mut settled = Dual { share: vec![0.0; problem.n()], pull: vec![0.0; problem.n() * q] };
    let mut above = 0.0;
    if let (RowLoss::Hinge, Target::Signs(y)) = (problem.loss, &problem.target) {
        let mut side: Vec<bool> = match outer.part {
            None => (0..problem.n()).map(|i| outer.rows.is_above(i)).collect(),
            Some(part) => {
                let mut side: Vec<bool> = part.settled.share.iter().map(|a| *a > 0.0).collect();
                for (at, &i) in part.rows.iter().enumerate() {
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
            (settled.share[i], settled.pull[i]) = (c, -y[i] * c);
            above += c;
        }
    }
    let pulled = outer.whole.reduced.features.pulled(&settled.pull, q);
    (Part { rows, settled, pulled, constant: above }, above)
}
