//! The end of a fit in memory: rows near the threshold as they are, all others by a model.

use super::ask::{Counting, Point};
use super::continuation::{Goal, Place};
use super::message::NearRows;
use super::newton_step::{Damping, Expansion, newton_step};
use super::problem::Problem;
use super::row_terms::{Losses, share, smoothed_sum};
use crate::linalg::{ARMIJO, Dense, Matrix, vector};
use crate::loss::Loss;

/// Newton steps at most.
const STEPS: usize = 200;
/// A width is done with once a step promises less than this part of the gap.
const SOLVED: f64 = 1e-4;
/// Or less than this part of the objective: rounding hides a smaller fall.
const ROUNDED_FALL: f64 = 1e-13;
/// The smoothing is narrow enough once it leaves less than this part of the gap open.
const NARROW_ENOUGH: f64 = 0.2;
/// It is narrowed until it would leave this part of the gap open.
const NARROW_TO: f64 = 0.15;
/// But by this factor at most.
const NARROW_AT_MOST: f64 = 0.3;
/// Where too few rows hold the weights of a hinge: damping in units of the curvature of a row on the threshold.
const DAMPING: f64 = 2.0;
/// Rounding of the local objective, relative to its size: values that differ by less are the same.
const ROUNDING: f64 = 1e-14;
/// Part of a Newton step below which there is no step down.
const SHORTEST: f64 = 1e-6;

/// Where the rows near the threshold lead.
pub(super) struct Finish {
    pub point: Point,
    pub width: f64,
}

/// The near rows and the model of the rows above.
struct Local<'a> {
    problem: &'a Problem,
    start: &'a Point,
    z: Matrix,
    y: Vec<f64>,
    weights: Vec<f64>,
    above: &'a NearRows,
}

/// Derivatives of the local objective at a point.
struct At {
    matrix: Dense,
    cross: Vec<f64>,
    threshold: f64,
    slope: Vec<f64>,
    share: f64,
    open: f64,
    between: usize,
}

impl<'a> Local<'a> {
    fn new(problem: &'a Problem, start: &'a Point, above: &'a NearRows) -> Self {
        let p = start.v.len();
        let rows: Vec<&[f64]> = above.rows.chunks_exact(p + 2).collect();
        let z: Vec<f64> = rows.iter().flat_map(|r| r[..p].iter().copied()).collect();
        Self {
            problem,
            start,
            z: Dense::from_rows(rows.len(), p, z).into(),
            y: rows.iter().map(|r| r[p]).collect(),
            weights: rows.iter().map(|r| r[p + 1]).collect(),
            above,
        }
    }

    fn losses(&self, point: &Point) -> Losses {
        let scores = self.z.mul_vec(&point.v);
        let margins: Vec<f64> =
            scores.iter().zip(&self.y).map(|(f, y)| y * (f + point.b)).collect();
        Losses::at(self.problem.loss, &margins)
    }

    /// From the start to `point`, the intercept last.
    fn moved(&self, point: &Point) -> Vec<f64> {
        let mut moved: Vec<f64> = point.v.iter().zip(&self.start.v).map(|(a, b)| a - b).collect();
        moved.push(point.b - self.start.b);
        moved
    }

    fn bent(&self, moved: &[f64]) -> Vec<f64> {
        match &self.above.bend {
            Some(bend) => bend.0.mul_vec(moved),
            None => vec![0.0; moved.len()],
        }
    }

    fn value(&self, point: &Point, width: f64) -> f64 {
        let losses = self.losses(point).value;
        let near = smoothed_sum(Counting::Above, &losses, &self.weights, point.theta, width);
        let moved = self.moved(point);
        let far = self.above.value
            + vector::dot(&self.above.slope, &moved)
            + 0.5 * vector::dot(&moved, &self.bent(&moved))
            - self.above.weight * point.theta;
        self.problem.beside_losses(point) + self.problem.scale * (near + far)
    }

    fn expand(&self, point: &Point, width: f64) -> At {
        let losses = self.losses(point);
        let n = self.y.len();
        let (mut pulls, mut bends, mut cross) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        let (mut threshold, mut total, mut open) = (0.0, self.above.weight, 0.0);
        let mut between = 0;
        for i in 0..n {
            let (c, slope) = (self.weights[i], losses.slope[i]);
            let t = losses.value[i] - point.theta;
            let (a, _) = share(Counting::Above, losses.value[i], point.theta, width);
            pulls[i] = -self.y[i] * a * c * slope;
            bends[i] = a * c * losses.bend[i];
            total += a * c;
            open += c * t.max(0.0) - a * c * t;
            if a > 0.0 && a < 1.0 {
                bends[i] += c / width * slope * slope;
                cross[i] = -self.y[i] * c / width * slope;
                threshold += c / width;
                between += 1;
            }
        }
        let moved = self.moved(point);
        let mut slope = self.weighted(&pulls);
        vector::axpy(1.0, &self.above.slope, &mut slope);
        vector::axpy(1.0, &self.bent(&moved), &mut slope);
        let matrix = self.gram(&bends);
        let cross = self.weighted(&cross);
        At { matrix, cross, threshold, slope, share: total, open, between }
    }

    fn weighted(&self, r: &[f64]) -> Vec<f64> {
        let mut out = self.z.tr_mul_vec(r);
        out.push(r.iter().sum());
        out
    }

    fn gram(&self, weights: &[f64]) -> Dense {
        let p = self.z.ncols();
        let gram = self.z.weighted_gram(weights);
        let sums = self.weighted(weights);
        Dense::from_fn(p + 1, p + 1, |i, j| {
            let bent = self.above.bend.as_ref().map_or(0.0, |b| b.0[(i, j)]);
            bent + if i == p {
                sums[j]
            } else if j == p {
                sums[i]
            } else {
                gram[(i, j)]
            }
        })
    }
}

/// Newton's method with an ever narrower smoothing on the near rows.
pub(super) fn finish(
    problem: &Problem,
    start: &Place,
    near: &NearRows,
    gram: &Dense,
    goal: Goal,
) -> Finish {
    let local = Local::new(problem, &start.point, near);
    let (mut point, mut width) = (start.point.clone(), start.width);
    for _ in 0..STEPS {
        let at = local.expand(&point, width);
        let few = problem.loss == Loss::Hinge && at.between < point.v.len() + 2;
        let strength = if few { DAMPING * problem.scale / width } else { 0.0 };
        let expansion = Expansion {
            curvature: &at.matrix,
            cross: &at.cross,
            threshold: at.threshold,
            slope: at.slope,
            share: at.share,
        };
        let step = newton_step(problem, &point, &expansion, Damping { strength, gram });
        let before = local.value(&point, width);
        let Some(next) = descend(&local, &point, &step.to, (step.fall, before, width)) else {
            break;
        };
        point = next;
        let small = SOLVED * goal.tol * goal.scale;
        if step.fall <= small || step.fall <= ROUNDED_FALL * before.abs() {
            let open = problem.scale * at.open;
            if open <= NARROW_ENOUGH * goal.tol * goal.scale {
                break;
            }
            let part = (NARROW_TO * goal.tol * goal.scale / open).sqrt();
            width *= part.max(NARROW_AT_MOST);
        }
    }
    Finish { point, width }
}

/// The first of the point one step on, half a step on, ... that is low enough.
fn descend(
    local: &Local<'_>,
    point: &Point,
    step: &Point,
    (fall, before, width): (f64, f64, f64),
) -> Option<Point> {
    let mut length = 1.0;
    while length > SHORTEST {
        let next = point.moved(step, length);
        let found = local.value(&next, width);
        if found <= before - ARMIJO * length * fall + ROUNDING * before.abs() {
            return Some(next);
        }
        length *= 0.5;
    }
    None
}
