//! How far to go along a Newton direction.

use super::rows::RowsAt;
use super::newton::{NOISE, Newton};
use crate::linalg::vector;
use crate::stable::problem::RowLoss;

/// Weights are held more firmly after a step no longer than this part of Newton's, and less after a whole one.
const SHORT: f64 = 0.25;
const LOOSEN: f64 = 4.0;
const LEAST_HELD: f64 = 0.01;
/// Most trials along a direction, and the part of its slope at which they end.
const SEARCH: usize = 25;
const EXACT: f64 = 0.1;

impl Newton<'_, '_> {
    /// A step along `v`, which moves the scores by `moves`: the whole one if the augmented Lagrangian falls as it should,
    /// otherwise to about its minimum on the way, where rows that must not be passed are between their bounds and hold
    /// the next step. Returns which part of it was taken.
    pub(super) fn descend(&mut self, v: &[f64], moves: &[f64], fall: f64) -> Option<f64> {
        let before = self.value();
        let noise = NOISE * before.abs();
        let old = (self.v.clone(), self.rows.clone());
        // Also false for values that are not numbers.
        let falls = |at: &Self, step: f64| at.value() <= before - 1e-4 * step * fall + noise;
        self.go(&old, v, moves, 1.0);
        if falls(self, 1.0) {
            return Some(1.0);
        }
        let (mut low, mut high) = ((0.0, -fall), (1.0, self.slope_along(v, moves)));
        let is_curved = self.problem.loss != RowLoss::Hinge;
        let mut best = None;
        for count in 0..SEARCH {
            // The slope is piecewise linear: regula falsi, and halves where that does not get far.
            let part = (low.1 / (low.1 - high.1)).clamp(0.01, 0.99);
            let part = if is_curved || count % 3 == 2 || part.is_nan() { 0.5 } else { part };
            let step = low.0 + part * (high.0 - low.0);
            self.go(&old, v, moves, step);
            let slope = self.slope_along(v, moves);
            if falls(self, step) {
                best = Some(step);
                if is_curved || slope.abs() <= EXACT * fall {
                    return best;
                }
            }
            if slope < 0.0 && !is_curved {
                low = (step, slope);
            } else {
                high = (step, slope);
            }
        }
        if let Some(step) = best {
            self.go(&old, v, moves, step);
        } else {
            (self.v, self.rows) = old;
        }
        best
    }

    /// Goes `step` times the direction from `old`.
    fn go(&mut self, old: &(Vec<f64>, RowsAt), v: &[f64], moves: &[f64], step: f64) {
        for ((f, old), move_) in self.rows.scores.iter_mut().zip(&old.1.scores).zip(moves) {
            *f = old + step * move_;
        }
        for ((v, old), move_) in self.v.iter_mut().zip(&old.0).zip(v) {
            *v = old + step * move_;
        }
        self.rows.eval_losses(self.problem);
        self.solve_threshold();
    }

    /// The slope of the augmented Lagrangian along a direction.
    fn slope_along(&self, v: &[f64], moves: &[f64]) -> f64 {
        let m = self.features.m;
        let ridge = self.ridge * vector::dot(&self.v[..m], &v[..m]);
        let rest = self.far_rows.as_ref().map_or(0.0, |rest| vector::dot(&rest.gradient(&self.v), v));
        ridge + rest + vector::dot(&self.rows.alpha(), moves)
    }

    /// Holds the weights more firmly after a short step, less so after a whole one.
    pub(super) fn adapt_damping(&mut self, step: f64) {
        if step <= SHORT {
            self.damping = (LOOSEN * self.damping).clamp(LEAST_HELD, 1.0);
        } else if step == 1.0 {
            self.damping = if self.damping > LEAST_HELD { self.damping / LOOSEN } else { 0.0 };
        }
    }
}
