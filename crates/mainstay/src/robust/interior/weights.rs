//! The first steps: Newton's method in the weights alone, along points of the central path.
//!
//! Far from the optimum a primal-dual step is short, since some of the thousands of cells always blocks it. With everything
//! that belongs to single rows solved for exactly the objective is a smooth function of the weights, and steps are long.

use super::cells::{Cells, dearest, gains};
use super::central;
use super::elimination::{Elimination, residuals};
use super::iterate::Iterate;
use super::rows::Rows;
use crate::error::Result;
use crate::linalg::vector;
use crate::optim::Budget;

/// Complementary products of the first point, of the last, and the factor between.
const FIRST: f64 = 0.1;
const LAST: f64 = 1e-3;
const FACTOR: f64 = 0.1;
/// Cells of a row that are looked at while the weights still move far.
const MOST_CELLS: usize = 5;
/// Decrease that a Newton step promises, per row and in products, below which the next product is due.
const NEAR: f64 = 0.1;
/// A step ends where the slope is at most this part of what it was at its beginning.
const FLATTER: f64 = 0.5;
/// Halvings of a step, at most.
const HALVINGS: usize = 12;
/// Share of the price beyond which a cell gets variables.
const ACTIVE: f64 = 0.8;
/// Share of the price below which a cell loses its variables when the first steps end.
const IDLE: f64 = 0.5;

/// Whether rows can be solved for exactly: no bounds on single deletions, no threshold, no cones of single rows.
pub(super) fn applies(rows: &Rows<'_>) -> bool {
    let shared = rows.problem.axes.is_none() || rows.shared_axes().is_some();
    rows.cells.is_some() && rows.capless() && rows.budget() > 0.0 && !rows.top() && shared
}

/// A point near the central path, with variables for the cells that matter there.
pub(super) fn start(rows: &mut Rows<'_>, budget: &mut Budget<'_>) -> Result<Iterate> {
    let p = rows.signed.ncols();
    let mut mu = FIRST;
    rows.cells = Some(dearest(rows, &vec![0.0; p], MOST_CELLS));
    let mut at = central::point(rows, (&vec![0.0; p], 0.0), mu, 0.5 * rows.k);
    while budget.take()? {
        let Some((next, promised)) = step(rows, &at, mu) else { break };
        at = next;
        if promised < NEAR * mu * rows.k {
            if mu <= LAST * (1.0 + f64::EPSILON) {
                break;
            }
            mu = (mu * FACTOR).max(LAST);
            at = central::point(rows, (&at.w, at.b), mu, vector::sum(&at.g));
        }
    }
    rows.cells = Some(near_the_price(rows, &at));
    Ok(central::point(rows, (&at.w, at.b), mu, vector::sum(&at.g)))
}

/// One Newton step, and the decrease it promised; `None` where arithmetic gives out.
fn step(rows: &mut Rows<'_>, at: &Iterate, mu: f64) -> Option<(Iterate, f64)> {
    let (dw, db, slope) = {
        let system = Elimination::new(rows, at)?;
        let d = system.direction(at, mu, None);
        let slope = vector::dot(&system.rw, &d.w) + system.rb * d.b;
        (d.w, d.b, slope)
    };
    if !(vector::all_finite(&dw) && db.is_finite()) {
        return None;
    }
    let mut length = 1.0;
    for _ in 0..HALVINGS {
        let mut w = at.w.clone();
        vector::axpy(length, &dw, &mut w);
        let b = at.b + length * db;
        rows.cells = Some(dearest(rows, &w, MOST_CELLS));
        let next = central::point(rows, (&w, b), mu, vector::sum(&at.g));
        let (rw, rb, _) = residuals(rows, &next);
        if vector::dot(&rw, &dw) + rb * db <= FLATTER * slope.abs() {
            return Some((next, slope.abs()));
        }
        length *= 0.5;
    }
    None
}

/// The cells whose deletion takes more than a share of the price.
fn near_the_price(rows: &Rows<'_>, at: &Iterate) -> Cells {
    let mut cells = Cells::none();
    for i in 0..rows.len() {
        let least = IDLE * at.deleting.as_ref().map_or(0.0, |d| d.lambda[i]);
        gains(rows, &at.w, i, |j, away, gain| {
            if gain > least {
                cells.push(j, away);
            }
        });
        cells.end_row();
    }
    cells
}

/// Gives variables to cells that have come near the price, and puts their rows on the central path at `mu`.
pub(super) fn grow(rows: &mut Rows<'_>, at: &mut Iterate, mu: f64) {
    let (Some(old), Some(x)) = (&rows.cells, &at.deleting) else { return };
    let mut cells = Cells::none();
    let mut kept: Vec<Option<usize>> = Vec::with_capacity(old.len());
    let mut grown = Vec::new();
    for i in 0..rows.len() {
        let of = old.of(i);
        for k in of.clone() {
            cells.push(old.feature[k], old.away[k]);
            kept.push(Some(k));
        }
        let before = kept.len();
        gains(rows, &at.w, i, |j, away, gain| {
            if gain > ACTIVE * x.lambda[i] && !old.feature[of.clone()].contains(&j) {
                cells.push(j, away);
                kept.push(None);
            }
        });
        if kept.len() > before {
            grown.push(i);
        }
        cells.end_row();
    }
    if grown.is_empty() {
        return;
    }
    let carried = |v: &[f64]| kept.iter().map(|k| k.map_or(0.0, |k| v[k])).collect::<Vec<f64>>();
    let (zeta, slack, tau) = (carried(&x.zeta), carried(&x.slack), carried(&x.tau));
    if let Some(x) = &mut at.deleting {
        (x.zeta, x.slack, x.tau) = (zeta, slack, tau);
    }
    rows.cells = Some(cells);
    let reach = at.cones.as_ref().map_or(0.0, |c| c.k.head[0]);
    for i in grown {
        let m0 = vector::dot(rows.signed.row(i), &at.w) + rows.problem.y[i] * at.b - reach;
        central::settle_row(rows, at, i, m0, mu);
    }
    at.settle(rows);
}
