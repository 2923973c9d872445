//! One primal-dual interior point for all worst-case threats together.
//!
//! Deletions are written with one price and one excess per losable cell, ellipsoids as second-order cones, the worst
//! share of the rows with a threshold and one excess per row, and the logistic loss by its conjugate. Eliminating
//! everything that belongs to one row leaves a system in weights, intercept and threshold, `$O(n p^2)$` a step.
//!
//! S. Mehrotra (1992), *On the implementation of a primal-dual interior point method*, SIAM J. Optim. 2(4), for the
//! steps; Y. Nesterov, M. Todd (1997), *Self-scaled barriers*, Math. Oper. Res. 22(1), for the cones.

mod cells;
mod central;
mod direction;
mod elimination;
mod iterate;
mod rows;
mod weights;

use elimination::Elimination;
use iterate::Iterate;
use rows::Rows;

use super::certificate::lower_bound;
use super::worst_problem::{Multipliers, Plane, WorstCase};
use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::optim::step;
use crate::optim::{Bracket, Budget};

/// What the stage is called in routes.
const NAME: &str = "worst-case interior point";
/// Centring is at most this: a step that gains nothing must still move.
const MOST_CENTRING: f64 = 0.8;
/// Steps shorter than this mean that arithmetic has no more digits to give.
const SHORTEST_STEP: f64 = 1e-7;
/// Steps at least this long, in Newton steps, keep the whole corrector.
const LONG_STEP: f64 = 0.9;
/// Part of the corrector that is tried, at least.
const LEAST_PART: f64 = 0.05;
/// A part of the corrector is taken if it lengthens the step by this factor.
const CLEARLY: f64 = 1.1;
/// Share of the way to the boundary: that of a step of length 0, and what a full step adds.
const NEAREST: (f64, f64) = (0.9, 0.095);

/// Part of the steps that the way with few cells may take, as a quotient. Where losses are saturated over many orders of
/// magnitude it gets lost, and all cells do better.
const FIRST_TRY: (usize, usize) = (2, 5);
/// Complementary products, in gaps asked for, beyond which no gap is worth computing.
const WORTH_A_LOOK: f64 = 30.0;

/// Closes the interval around the optimum until it is `budget.tol()` wide.
///
/// Both classes must be there.
pub(super) fn solve(
    problem: &WorstCase<'_>,
    budget: &mut Budget<'_>,
) -> Result<Bracket<Plane, Multipliers>> {
    let mut bracket = Bracket::new();
    bracket.enter(NAME);
    let mut rows = Rows::new(problem);
    if weights::applies(&rows) {
        let (tol, most) = (budget.tol(), budget.left() / FIRST_TRY.1 * FIRST_TRY.0);
        budget.stage(tol, most, |budget| {
            let at = weights::start(&mut rows, budget)?;
            follow(&mut rows, at, true, budget, &mut bracket)
        })?;
        if bracket.gap(1.0) <= tol || budget.left() == 0 {
            return Ok(bracket);
        }
        rows = Rows::new(problem);
    }
    let at = Iterate::start(&rows);
    follow(&mut rows, at, false, budget, &mut bracket)?;
    Ok(bracket)
}

/// Steps from `at` until the interval is narrow enough or no step is left; with `choosy` cells join as they come near
/// their price.
fn follow(
    rows: &mut Rows<'_>,
    mut at: Iterate,
    choosy: bool,
    budget: &mut Budget<'_>,
    bracket: &mut Bracket<Plane, Multipliers>,
) -> Result<()> {
    let mut short = 0;
    loop {
        let near = at.complementarity(rows).total / rows.k <= WORTH_A_LOOK * budget.tol();
        if near {
            offer(rows, &at, bracket);
        }
        if bracket.gap(1.0) <= budget.tol() {
            return Ok(());
        }
        if short > 2 || !budget.take()? || !advance(rows, &mut at, choosy, &mut short) {
            if !near {
                offer(rows, &at, bracket);
            }
            return Ok(());
        }
    }
}

/// One step; `false` where arithmetic gives out. `short` counts steps in a row that were too short to matter.
fn advance(rows: &mut Rows<'_>, at: &mut Iterate, choosy: bool, short: &mut usize) -> bool {
    if choosy {
        let mu = at.complementarity(rows).mean();
        weights::grow(rows, at, mu);
    }
    let Some(system) = Elimination::new(rows, at) else { return false };
    let (chosen, length) = step_from(rows, at, &system);
    if !(length.is_finite() && chosen.is_finite()) {
        return false;
    }
    *short = if length < SHORTEST_STEP { *short + 1 } else { 0 };
    at.add_scaled(length, &chosen);
    at.settle(rows);
    true
}

/// Mehrotra's direction, and how far to go along it.
fn step_from(rows: &Rows<'_>, at: &Iterate, system: &Elimination<'_>) -> (Iterate, f64) {
    let predictor = system.direction(at, 0.0, None);
    let reach = at.longest(rows, &predictor).min(1.0);
    let before = at.complementarity(rows);
    let mut ahead = at.clone();
    ahead.add_scaled(reach, &predictor);
    let left = ahead.complementarity(rows).total;
    let centring = step::centring(left, before.total, 0.0).min(MOST_CENTRING);
    let mut chosen = system.direction(at, centring * before.mean(), Some(&predictor));
    let mut length = at.longest(rows, &chosen);
    if length < LONG_STEP {
        // A corrector that spoils the step is taken in part (Colombo and Gondzio 2008).
        for part in [(reach * reach).max(LEAST_PART), 0.5 * (1.0 + reach * reach)] {
            let mut mixed = predictor.clone();
            mixed.scale(1.0 - part);
            mixed.add_scaled(part, &chosen);
            let longer = at.longest(rows, &mixed);
            if longer > CLEARLY * length {
                (chosen, length) = (mixed, longer);
            }
        }
    }
    // The nearer to a full step, the nearer to the boundary.
    (chosen, (length * (NEAREST.0 + NEAREST.1 * length.min(1.0))).min(1.0))
}

/// Offers what the iterate says about the optimum.
fn offer(rows: &Rows<'_>, at: &Iterate, bracket: &mut Bracket<Plane, Multipliers>) {
    let problem = rows.problem;
    let value = problem.value(&at.w, at.b);
    bracket.offer_primal(value, || Plane { w: at.w.clone(), b: at.b });
    let whole = 1.0 / rows.k;
    let scaled = |v: &[f64]| v.iter().map(|v| v * whole).collect::<Vec<f64>>();
    let deleted = deleted(rows, at);
    let moved = at.cones.as_ref().map(|c| {
        let share = |i: usize, j: usize| -c.z.tail[(i, j)] / c.z.head[i].max(f64::MIN_POSITIVE);
        Dense::from_fn(c.z.len(), at.w.len(), share)
    });
    let mut point = Multipliers { counts: scaled(&at.a), pulls: scaled(&at.g), deleted, moved };
    let bound = lower_bound(problem, &point);
    bracket.offer_dual(bound, || point.clone());
    if let Some(axes) = problem.axes.filter(|_| vector::norm(&at.w) > 0.0) {
        // The error that hurts this plane most often proves more than the iterate's own.
        let count = rows.cones();
        let towards = Dense::from_fn(count, at.w.len(), |i, j| axes.of(i)[j] * at.w[j]);
        let lengths: Vec<f64> = (0..count).map(|i| vector::norm(towards.row(i))).collect();
        point.moved = Some(Dense::from_fn(count, at.w.len(), |i, j| {
            towards[(i, j)] / lengths[i].max(f64::MIN_POSITIVE)
        }));
        let bound = lower_bound(problem, &point);
        bracket.offer_dual(bound, || point);
    }
}

/// How far each losable feature of each row is deleted.
fn deleted(rows: &Rows<'_>, at: &Iterate) -> Option<Dense> {
    let (cells, x, losable) = (rows.cells.as_ref()?, at.deleting.as_ref()?, rows.problem.losable?);
    let mut place = vec![0; rows.signed.ncols()];
    losable.columns.iter().enumerate().for_each(|(k, &j)| place[j] = k);
    let mut deleted = Dense::zeros(rows.len(), losable.columns.len());
    for i in 0..rows.len() {
        let row = deleted.row_mut(i);
        for k in cells.of(i) {
            row[place[cells.feature[k]]] = x.tau[k] / at.g[i].max(f64::MIN_POSITIVE);
        }
    }
    Some(deleted)
}
