//! The method of multipliers with semismooth Newton steps in $(W, b)$: for many rows.
//!
//! The inner maximum over shares is softened around reference shares $\bar a$,
//! $$F(w, b) = \tfrac{\rho}{\lambda}\|w\|^2 + \min_{\theta \ge 0} k\theta + \sum_i \max_{0 \le a_i \le c_i}
//! a_i (L_i - \theta) - \tfrac{h}{2c_i}(a_i - \bar a_i)^2,$$
//! minimised by Newton's method, and the maximisers become the next reference (Rockafellar's proximal
//! method on the dual). Unlike a barrier this bends only near the threshold: with losses of density
//! $\delta$ there it is wrong by about $n\delta h^2/24$, so that $h$ may stay so wide that hundreds
//! of rows share the threshold and Newton's model holds. A step costs two products with the data and the
//! Gram matrix of the rows between their bounds; that of the bent losses is kept ([`curvature`]). The
//! first steps are made on a sample: rows come in the order of a hash.
//!
//! Two classes only. Where too many rows share the threshold the steps may not end: the interior point
//! then goes on from there.

mod classical;
mod curvature;
mod near;
mod rows;
mod search;

pub(super) use classical::classical;
use curvature::Hold;
pub(super) use curvature::Kept;
use near::Rest;
use rows::{Reference, RowsAt};

use super::certificate::{Dual, bound};
use super::interior::{Limits, Solution};
use super::problem::{Problem, RowLoss, worst_sum};
use super::reduce::{Features, Reduced};
use crate::certificate::Certificate;
use crate::error::Result;
use crate::linalg::vector;

/// Fewer rows are left to the interior point.
const LEAST_ROWS: usize = 1000;
/// One of so many rows is sampled, and at least so many a column.
const SAMPLE: usize = 8;
const LEAST_SAMPLED: usize = 16;
/// Most Newton steps.
const STEPS: usize = 100;
/// The width shrinks at most by this factor with every change of reference,
const SHRINK: f64 = 0.25;
/// and not below this many times what a step usually changes: rows that jump over the whole width are not in Newton's model.
const MOVES: f64 = 2.0;
/// Rows are set apart again where that made the gap at most this part of what it was.
const HELPED: f64 = 0.1;
/// A certificate that failed is tried again when the gap seems to be this part of what it seemed to be.
const AGAIN: f64 = 0.5;
/// A threshold is sharp if its width is less than this part of it (a row at zero scores loses about 1).
const SHARP: f64 = 0.1;
/// Relative changes of the objective that may be rounding.
const NOISE: f64 = 1e-13;
/// Relative gap asked of the sample.
const ROUGH: f64 = 3e-3;

/// Whether this method is the faster one. Of $p$ features about $p$ rows share the threshold in the end;
/// where these are not few of all, Newton's model changes with every step. That matters most for
/// losses that do not bend, because only such rows hold the weights then.
pub(super) fn suits(problem: &Problem<'_>, reduced: &Reduced<'_>) -> bool {
    let times = if problem.loss == RowLoss::Hinge { 100 } else { 16 };
    let rows = LEAST_ROWS.max(times * reduced.features.z.ncols());
    problem.q() == 1 && problem.n() >= rows
}

/// Solves a two-class `problem`, from the solution of a neighbour if there is one. The asked gap need not
/// be reached; `None` where too many rows share the threshold.
pub(super) fn solve(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    warm: Option<&Solution>,
    limits: Limits<'_>,
) -> Result<Option<Solution>> {
    solve_from(problem, reduced, warm, false, limits)
}

/// The same from an answer to `problem` itself, however many rows share the threshold.
pub(super) fn polish(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    answer: &Solution,
    limits: Limits<'_>,
) -> Result<Option<Solution>> {
    solve_from(problem, reduced, Some(answer), true, limits)
}

fn solve_from(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    warm: Option<&Solution>,
    patient: bool,
    limits: Limits<'_>,
) -> Result<Option<Solution>> {
    let features = &reduced.features;
    let ridge = 2.0 * reduced.ridge(problem.ridge) / problem.scale;
    let mut spent = 0;
    let start = match warm {
        Some(neighbour) => Some(Start { v: neighbour.warm.clone(), width: 0.05, theta: None }),
        None => sampled(problem, features, ridge, &mut spent, limits)?,
    };
    let Some(start) = start else { return Ok(None) };
    let mut newton = Newton::new(problem, features, ridge, start);
    newton.patient = patient;
    if let Some(neighbour) = warm {
        newton.reference.share.clone_from(&neighbour.dual.share);
        newton.weigh();
    }
    let mut done = None;
    let mut certified = |newton: &Newton<'_, '_>| {
        let found = newton.certified(reduced);
        let reached = found.certificate.gap() <= limits.tol;
        done = reached.then_some(found);
        reached
    };
    newton.rounds = near::ROUNDS;
    let mut steps = spent + newton.run(limits.tol, limits.after(spent), &mut certified)?;
    while let Some(rows) = newton.near.take() {
        steps += newton.run_near(&rows, limits.after(steps))?;
        steps += newton.run(limits.tol, limits.after(steps), &mut certified)?;
    }
    if newton.crowded {
        return Ok(None);
    }
    let mut found = done.unwrap_or_else(|| newton.certified(reduced));
    found.n_iter = steps;
    Ok(Some(found))
}

/// Where to start from.
struct Start {
    v: Vec<f64>,
    width: f64,
    theta: Option<f64>,
}

/// A start from some of the rows; `None` where too many of them share the threshold.
fn sampled(
    problem: &Problem<'_>,
    features: &Features,
    ridge: f64,
    spent: &mut usize,
    limits: Limits<'_>,
) -> Result<Option<Start>> {
    let columns = features.z.ncols();
    let some = (problem.n() / SAMPLE).max(LEAST_SAMPLED * columns).max(LEAST_ROWS / 2);
    // Where losses do not bend, the fit of a small sample is far from that of all rows.
    let times = if problem.loss == RowLoss::Hinge { SAMPLE } else { 3 };
    if times * some > problem.n() {
        return Ok(Some(Start { v: vec![0.0; columns], width: 1.0, theta: None }));
    }
    let rows: Vec<usize> = (0..some).collect();
    let weights = &problem.weights[..some];
    let part = weights.iter().sum::<f64>() / problem.total();
    let sample = Problem {
        weights,
        target: problem.target.select(&rows),
        k: part * problem.k,
        scale: problem.scale / part,
        ..problem.clone()
    };
    let features = features.select(&rows);
    let Some(start) = sampled(&sample, &features, ridge * part, spent, limits)? else {
        return Ok(None);
    };
    let mut newton = Newton::new(&sample, &features, ridge * part, start);
    *spent += newton.run(ROUGH, limits.after(*spent), |_| true)?;
    let start =
        Start { v: newton.v, width: newton.reference.width, theta: Some(newton.rows.theta) };
    Ok((!newton.crowded).then_some(start))
}

/// What there is to know before a step.
struct Standing {
    objective: f64,
    /// What the softened maximum leaves open.
    open: f64,
    /// The relative gap, by all appearances.
    seems: f64,
    /// How much the shares of the rows between their bounds give way.
    gain: Vec<f64>,
    /// The gradient.
    residual: Vec<f64>,
    /// What ties it to the threshold.
    border: Vec<f64>,
}

struct Newton<'r, 'a> {
    problem: &'r Problem<'a>,
    features: &'r Features,
    /// $2\rho/\lambda$ in reduced units.
    ridge: f64,
    v: Vec<f64>,
    rows: RowsAt,
    reference: Reference,
    kept: Kept,
    /// Whether most rows share the threshold although it is sharp, as where zero weights are optimal:
    /// every step would cost a whole Gram matrix.
    crowded: bool,
    /// Whether to go on nevertheless.
    patient: bool,
    /// How many rows more hold every weight. A column with entries in few rows (a rare category) is held by nothing
    /// while none of these is between its bounds: Newton's model would then send its weight far away.
    held: f64,
    /// What rows that are not here add.
    rest: Option<Rest>,
    /// How often to stop as soon as few rows are near the threshold,
    rounds: usize,
    /// and these rows.
    near: Option<Vec<usize>>,
    /// The gap before they were set apart.
    seems: f64,
    /// How a round with such rows alone moved the scores, and the gap before it.
    last_round: Option<(Vec<f64>, f64)>,
}

impl<'r, 'a> Newton<'r, 'a> {
    fn new(problem: &'r Problem<'a>, features: &'r Features, ridge: f64, start: Start) -> Self {
        let even = (problem.k / problem.total()).min(0.5);
        let reference = Reference {
            share: problem.weights.iter().map(|c| even * c).collect(),
            width: start.width,
        };
        let mut rows = RowsAt::new(problem.n());
        rows.scores = features.scores(&start.v);
        rows.look(problem);
        let guess = start
            .theta
            .unwrap_or_else(|| worst_sum(&rows.loss, problem.weights, problem.k).threshold);
        rows.weigh(problem, &reference, guess);
        Self {
            problem,
            features,
            ridge,
            v: start.v,
            rows,
            reference,
            kept: Kept::new(features),
            crowded: false,
            patient: false,
            held: 0.0,
            rest: None,
            rounds: 0,
            near: None,
            seems: f64::INFINITY,
            last_round: None,
        }
    }

    /// Newton steps until the relative gap seems to be `tol` and `stop` agrees; returns their number.
    fn run(
        &mut self,
        tol: f64,
        limits: Limits<'_>,
        mut stop: impl FnMut(&Self) -> bool,
    ) -> Result<usize> {
        let mut asked = tol;
        let most = STEPS.min(limits.max_iter);
        for steps in 0..most {
            limits.control.check()?;
            let here = self.standing();
            if here.seems <= asked {
                if stop(self) || here.seems <= 0.01 * tol {
                    return Ok(steps);
                }
                asked = AGAIN * here.seems;
            }
            if let Some((moves, before)) = self.last_round.take() {
                // Where setting rows apart did not help it will not do so again.
                self.rounds *= usize::from(here.seems <= HELPED * before);
                if self.few_near(&moves, here.seems) {
                    return Ok(steps);
                }
            }
            let Some(v) = self.direction(&here) else { return Ok(steps) };
            limits.control.check()?;
            let moves = self.features.scores(&v);
            let usual = (vector::norm_sq(&moves) / moves.len() as f64).sqrt();
            if steps == 0 && self.rest.is_none() && usual > 2.0 * self.reference.width {
                // Newton's model holds where few rows reach or leave a bound.
                self.reference.width = usual.min(1.0);
                self.weigh();
                continue;
            }
            let fall = -vector::dot(&here.residual, &v);
            let Some(step) = self.descend(&v, &moves, fall) else { return Ok(steps) };
            if here.gain.iter().any(|gain| *gain > 0.0) {
                self.hold(step);
            }
            let enough = 0.25 * tol * here.objective;
            if here.open <= enough && fall <= NOISE * here.objective {
                return Ok(steps);
            }
            if fall <= here.open && here.open > enough {
                self.change_reference(enough / here.open, usual);
                if self.crowded || self.few_near(&moves, here.seems) {
                    return Ok(steps + 1);
                }
            }
        }
        Ok(most)
    }

    fn standing(&self) -> Standing {
        let (paid, open) = self.rows.paid(self.problem.weights);
        let objective = self.apart() + self.problem.k * self.rows.theta + paid;
        let gain = self.rows.gain(self.problem, self.reference.width);
        let (residual, border, still) = self.residual(&gain);
        Standing { objective, open, seems: (open + still) / objective, gain, residual, border }
    }

    /// Newton's direction; `None` where rounding leaves none.
    fn direction(&mut self, here: &Standing) -> Option<Vec<f64>> {
        let hold = Hold { ridge: self.ridge, width: self.reference.width, rows: self.held };
        let bent = (here.gain.as_slice(), here.border.as_slice());
        let system = self.kept.system(self.problem, self.features, &self.rows, hold, bent).ok()?;
        let mut v = system.solve(&here.residual);
        vector::scale(&mut v, -1.0);
        Some(v)
    }

    /// The present shares become the reference, unless rows turn out to be crowded. What is open falls with the
    /// square of the width and is to fall to the part `wanted`; `usual` is what a step changes.
    fn change_reference(&mut self, wanted: f64, usual: f64) {
        self.crowded = !self.patient
            && self.reference.width < SHARP * self.rows.theta.min(1.0)
            && 2 * self.rows.between(self.problem.weights) > self.problem.n();
        if self.crowded {
            return;
        }
        self.reference.share.clone_from(&self.rows.share);
        let width = self.reference.width;
        let floor = (SHRINK * width).max(MOVES * usual).min(width);
        self.reference.width = (wanted.sqrt() * width).max(floor);
        self.weigh();
    }

    /// Whether few rows are near the threshold, after a step that moved the scores by `moves`: it is their turn then.
    fn few_near(&mut self, moves: &[f64], seems: f64) -> bool {
        self.near = self.rows_near(moves);
        if self.near.is_some() {
            self.seems = seems;
        }
        self.near.is_some()
    }

    fn weigh(&mut self) {
        let guess = self.rows.theta;
        self.rows.weigh(self.problem, &self.reference, guess);
    }

    /// What does not depend on the rows here: the ridge, and other rows.
    fn apart(&self) -> f64 {
        let size = vector::norm_sq(&self.v[..self.features.m]);
        0.5 * self.ridge * size + self.rest.as_ref().map_or(0.0, |rest| rest.value(&self.v))
    }

    fn value(&self) -> f64 {
        self.apart() + self.rows.value
    }

    /// The gradient, $\tfrac{2\rho}{\lambda} w + Z^\top \alpha$, and $Z^\top (D L')$ for $D$ = `gain`; and what the
    /// gradient takes from the bound. Pulls that do not add up are balanced by shrinking one side, which matters in
    /// second order only.
    fn residual(&self, gain: &[f64]) -> (Vec<f64>, Vec<f64>, f64) {
        let steep: Vec<f64> = gain.iter().zip(&self.rows.slope).map(|(d, s)| d * s).collect();
        let pull = self.rows.pull();
        let [mut residual, border] = self.features.z.tr_mul_pair([&pull, &steep]);
        let m = self.features.m;
        vector::axpy(self.ridge, &self.v[..m], &mut residual[..m]);
        if let Some(rest) = &self.rest {
            vector::axpy(1.0, &rest.gradient(&self.v), &mut residual);
        }
        let mut still = vector::norm_sq(&residual[..m]) / (2.0 * self.ridge);
        if let Some(rest) = residual.get(m).filter(|rest| **rest != 0.0) {
            let side = 0.5 * pull.iter().map(|v| v.abs()).sum::<f64>();
            still += rest * rest / side.max(rest.abs());
        }
        (residual, border, still)
    }

    fn certified(&self, reduced: &Reduced<'_>) -> Solution {
        let point = reduced.point(&self.v);
        let dual = Dual { share: self.rows.share.clone(), pull: self.rows.pull() };
        let certificate = Certificate {
            primal: self.problem.objective(&point),
            dual: bound(self.problem, &dual),
        };
        Solution { point, dual, certificate, n_iter: 0, warm: self.v.clone() }
    }
}
