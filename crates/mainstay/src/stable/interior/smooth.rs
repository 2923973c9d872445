//! Rows whose loss is smooth in the scores, or linear where it counts.

use super::centring::central_theta;
use super::rows::{Local, Near, Rows};
use super::slacks::Shares;
use crate::linalg::vector;
use crate::stable::problem::{Problem, RowLoss};
use crate::stable::row_loss::expand;

/// A row leaves at this many times the width of the barrier from the threshold, where its multiplier is
/// that part from its bound.
pub(super) const BARRIER: f64 = 50.0;

/// Rows with `$u_i + \theta \ge L_i(f_i)$` taken as a convex constraint.
///
/// The two-class hinge enters as `$1 - yf$`: the constraint `$u_i + \theta \ge 0$` that is missing then
/// follows from `$u, \theta \ge 0$`. The squared hinge is once differentiable, which suffices.
#[derive(Debug)]
pub(super) struct Smooth<'p, 'a> {
    problem: &'p Problem<'a>,
    shares: Shares<'p>,
}

impl<'p, 'a> Smooth<'p, 'a> {
    pub(super) fn new(problem: &'p Problem<'a>) -> Self {
        let half = problem.weights.iter().map(|c| 0.5 * c).collect();
        Self { problem, shares: Shares::new(problem.weights, half, 1.0) }
    }

    /// Rows with given slacks and multipliers.
    pub(super) fn with(problem: &'p Problem<'a>, shares: Shares<'p>) -> Self {
        Self { problem, shares }
    }

    /// Slacks and multipliers.
    pub(super) fn slacks(&self) -> &Shares<'p> {
        &self.shares
    }

    /// Whether the loss of row `i` is above the threshold.
    pub(super) fn is_above(&self, i: usize) -> bool {
        self.shares.u[i] > self.shares.s[i]
    }

    /// Puts all slacks and multipliers on the central path of `mu` over the scores `f`; returns theta,
    /// searched from `guess`.
    pub(super) fn centre(&mut self, f: &[f64], mu: f64, guess: f64) -> f64 {
        let problem = self.problem;
        let losses = losses(problem, f);
        let theta = central_theta(problem, &losses, mu, guess);
        self.shares.centre(&losses, theta, mu);
        theta
    }

    /// `$\sum c u - \mu \ln s - \mu \ln u$`.
    pub(super) fn barrier(&self, mu: f64) -> f64 {
        let logs: f64 = self.shares.s.iter().zip(&self.shares.u).map(|(s, u)| (s * u).ln()).sum();
        self.shares.excess() - mu * logs
    }
}

/// Losses as they enter here: the two-class hinge without its zero part.
pub(super) fn losses(problem: &Problem<'_>, f: &[f64]) -> Vec<f64> {
    if problem.loss == RowLoss::Hinge {
        f.iter().enumerate().map(|(i, f)| 1.0 - problem.target.sign(i, 0) * f).collect()
    } else {
        problem.losses(f)
    }
}

impl Rows for Smooth<'_, '_> {
    fn pairs(&self) -> f64 {
        2.0 * self.problem.n() as f64
    }

    fn linearize(&mut self, f: &[f64], theta: f64, local: &mut Local) {
        let q = self.problem.q();
        let packed = q * (q + 1) / 2;
        for i in 0..self.problem.n() {
            let row = i * q..(i + 1) * q;
            let a = self.shares.a[i];
            let slope = &mut local.slope[row.clone()];
            let curve = &mut local.curve[i * packed..(i + 1) * packed];
            let loss = expand(self.problem, i, &f[row.clone()], a, slope, curve);
            for (alpha, slope) in local.alpha[row].iter_mut().zip(slope) {
                *alpha = a * *slope;
            }
            self.shares.restore(i, loss - theta);
            local.gain[i] = 1.0 / self.shares.resistance(i);
        }
    }

    fn products(&self) -> f64 {
        self.shares.products()
    }

    fn share(&self) -> f64 {
        self.shares.a.iter().sum()
    }

    fn excess(&self) -> f64 {
        self.shares.excess()
    }

    fn aim(&mut self, mu: f64, second: bool, local: &mut Local) {
        for i in 0..self.problem.n() {
            local.drive[i] = local.gain[i] * self.shares.aim(i, mu, second);
        }
    }

    fn direct(&mut self, df: &[f64], dtheta: f64, local: &Local) {
        let q = self.problem.q();
        for (i, df) in df.chunks_exact(q).enumerate() {
            let slope = &local.slope[i * q..(i + 1) * q];
            let push = dtheta - slope.iter().zip(df).map(|(r, d)| r * d).sum::<f64>();
            self.shares.direct(i, local.drive[i] - local.gain[i] * push, push);
        }
    }

    fn longest(&self) -> f64 {
        self.shares.longest()
    }

    fn products_after(&self, step: f64) -> f64 {
        self.shares.products_after(step)
    }

    /// Rows beyond the kink of the square have no curvature: nothing in the Newton system keeps a step
    /// from throwing them far back over it.
    fn products_at(&self, step: f64, f: &[f64], theta: f64) -> Option<f64> {
        if self.problem.loss != RowLoss::SquaredHinge {
            return None;
        }
        let q = self.problem.q();
        let product = |(i, f): (usize, &[f64])| {
            self.shares.product_at(i, step, self.problem.row_loss(i, f) - theta)
        };
        Some(f.chunks_exact(q).enumerate().map(product).sum())
    }

    fn advance(&mut self, step: f64) {
        self.shares.advance(step);
    }

    fn shares(&self) -> &[f64] {
        &self.shares.a
    }

    fn unsettled(&self, f: &[f64], theta: f64, near: Near<'_>) -> Option<Vec<usize>> {
        let q = self.problem.q();
        let moves = moves(self.problem, theta, near.last);
        let usual = rms(&moves);
        let far = |i: usize| {
            let need = near.caution * (moves[i] / near.fell + usual);
            let need = need.max(BARRIER * near.mu / self.problem.weights[i]);
            let over = self.shares.u[i] - self.shares.s[i];
            let below = below(self.problem, i, &f[i * q..(i + 1) * q], over, theta);
            below > need || (self.problem.loss == RowLoss::Hinge && -below > need)
        };
        Some((0..self.problem.n()).filter(|&i| !far(i)).collect())
    }
}

/// Bounds on how much the last direction changes the rows' distances from the threshold.
pub(super) fn moves(problem: &Problem<'_>, theta: f64, (df, dtheta): &(Vec<f64>, f64)) -> Vec<f64> {
    // Slopes are at most 1 but for the square, whose rows below the threshold have 2 sqrt(theta).
    let slope = if problem.loss == RowLoss::SquaredHinge { 1.0 + 2.0 * theta.sqrt() } else { 1.0 };
    df.chunks_exact(problem.q())
        .map(|df| dtheta.abs() + slope * df.iter().map(|d| d.abs()).sum::<f64>())
        .collect()
}

/// Root mean square.
pub(super) fn rms(values: &[f64]) -> f64 {
    (vector::norm_sq(values) / values.len().max(1) as f64).sqrt()
}

/// How far row `i` is below the threshold when its loss exceeds it by `over`; without any loss the way
/// to the kink of the square counts as well.
pub(super) fn below(problem: &Problem<'_>, i: usize, f: &[f64], over: f64, theta: f64) -> f64 {
    if problem.loss != RowLoss::SquaredHinge || -over < theta {
        return -over;
    }
    let spare = |j: usize| problem.target.sign(i, j) * f[j] - 1.0;
    (0..f.len()).map(spare).fold(f64::INFINITY, f64::min).max(0.0) - over
}
