//! How far to go along a Newton direction.

use super::newton::{NOISE, Newton};
use super::rows::RowsAt;
use crate::linalg::{ARMIJO, vector};
use crate::stable::problem::RowLoss;

/// Part of Newton's step: after one no longer than this weights are damped more.
const SHORT: f64 = 0.25;
/// Factor by which the damping grows after a short step and falls after a whole one.
const ADAPT: f64 = 4.0;
/// Rows: less damping is none.
const LEAST_DAMPING: f64 = 0.01;
/// Rows: the most damping.
const MOST_DAMPING: f64 = 1.0;
/// Trials along a direction at most.
const TRIALS: usize = 25;
/// Part of a bracket from its ends that a trial stays away.
const EDGE: f64 = 0.01;
/// Part of the first slope along a direction at which an exact search ends.
const FLAT: f64 = 0.1;

impl Newton<'_, '_> {
    /// A step along `v`, which moves the scores by `moves`: the whole one if the augmented Lagrangian falls as it should,
    /// otherwise to about its minimum on the way, where rows that must not be passed are between their bounds and hold
    /// the next step. Returns which part of it was taken.
    pub(super) fn descend(&mut self, v: &[f64], moves: &[f64], decrease: f64) -> Option<f64> {
        let before = self.value();
        let noise = NOISE * before.abs();
        let old = (self.v.clone(), self.rows.clone());
        // Also false for values that are not numbers.
        let falls = |at: &Self, step: f64| at.value() <= before - ARMIJO * step * decrease + noise;
        self.go(&old, v, moves, 1.0);
        if falls(self, 1.0) {
            return Some(1.0);
        }
        let (mut low, mut high) = ((0.0, -decrease), (1.0, self.slope_along(v, moves)));
        let is_curved = self.problem.loss != RowLoss::Hinge;
        let mut best = None;
        for count in 0..TRIALS {
            // The slope is piecewise linear: regula falsi, and halves where that does not get far.
            let part = (low.1 / (low.1 - high.1)).clamp(EDGE, 1.0 - EDGE);
            let part = if is_curved || count % 3 == 2 || part.is_nan() { 0.5 } else { part };
            let step = low.0 + part * (high.0 - low.0);
            self.go(&old, v, moves, step);
            let slope = self.slope_along(v, moves);
            if falls(self, step) {
                best = Some(step);
                if is_curved || slope.abs() <= FLAT * decrease {
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
        let rest =
            self.far_rows.as_ref().map_or(0.0, |rest| vector::dot(&rest.gradient(&self.v), v));
        ridge + rest + vector::dot(&self.rows.alpha(), moves)
    }

    /// Damps the weights more after a short step, less after a whole one.
    pub(super) fn adapt_damping(&mut self, step: f64) {
        if step <= SHORT {
            self.damping = (ADAPT * self.damping).clamp(LEAST_DAMPING, MOST_DAMPING);
        } else if step == 1.0 {
            self.damping = if self.damping > LEAST_DAMPING { self.damping / ADAPT } else { 0.0 };
        }
    }
}
