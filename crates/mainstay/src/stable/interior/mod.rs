//! Primal-dual interior point in $(W, b, \theta)$.
//!
//! All that belongs to one row is eliminated in closed form ([`rows`]), so a step costs one weighted
//! Gram matrix of order $q(m+1)$ and a few products with the data. Mehrotra's predictor and
//! corrector share one factorisation. Ten to twenty-five steps are usual, whatever $n$.

mod rows;
mod shares;
mod smooth;
mod split;
mod system;

use rows::{Local, Rows};
use shares::central_slacks;
use smooth::Smooth;
pub(super) use smooth::expand;
use split::Split;
use system::System;

use super::certificate::{Dual, bound, certify};
use super::problem::{Point, Problem, RowLoss, worst_sum};
use super::reduce::Reduced;
use crate::certificate::Certificate;
use crate::control::Control;
use crate::error::Result;
use crate::linalg::vector;

/// When to stop, and whom to listen to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits<'a> {
    pub tol: f64,
    pub max_iter: usize,
    pub control: &'a Control,
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

/// Solves `problem`; `reduced` holds its features. `warm` is the solution of a neighbour; where that
/// start does not lead to the asked gap, a cold one is tried.
pub(super) fn solve(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    warm: Option<&Solution>,
    limits: Limits<'_>,
) -> Result<Solution> {
    let found = solve_from(problem, reduced, warm, limits)?;
    if warm.is_none() || found.certificate.gap() <= limits.tol {
        return Ok(found);
    }
    let cold = solve_from(problem, reduced, None, limits)?;
    Ok(if cold.certificate.gap() <= found.certificate.gap() { cold } else { found })
}

fn solve_from(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    warm: Option<&Solution>,
    limits: Limits<'_>,
) -> Result<Solution> {
    let size = problem.q() * reduced.z.ncols();
    let v = warm.map_or_else(|| vec![0.0; size], |neighbour| neighbour.warm.clone());
    let f = reduced.scores(&v);
    let losses = problem.losses(&f);
    let split = problem.loss == RowLoss::Hinge && problem.q() > 1;
    let pairs = (problem.n() * if split { 2 + 2 * problem.q() } else { 2 }) as f64;
    let mut open = worst_sum(&losses, problem.weights, problem.k).sum;
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
        let theta = central_theta(problem, &lifted, mu);
        let rows = Split::new(problem, &f, theta, &guess, mu);
        Iteration::new(problem, reduced, v, f, theta, rows).run(limits)
    } else {
        let mut rows = Smooth::new(problem);
        let theta = rows.centre(&f, mu);
        let mut iteration = Iteration::new(problem, reduced, v, f, theta, rows);
        iteration.centre(mu, limits)?;
        iteration.run(limits)
    }
}

/// $\sum_j \eta_{ij}$ on the central path for multipliers `a`.
fn lifted_losses(problem: &Problem<'_>, f: &[f64], a: &[f64], mu: f64) -> Vec<f64> {
    let q = problem.q();
    let eta = |i: usize, j: usize| {
        central_slacks(a[i], 1.0 - problem.target.sign(i, j) * f[i * q + j], mu).1
    };
    (0..problem.n()).map(|i| (0..q).map(|j| eta(i, j)).sum()).collect()
}

/// The $\theta$ on the central path over given losses: $\sum a(\theta) + \mu/\theta = k$.
///
/// The left side falls in $\theta$; Illinois' rule of false position finds the root.
fn central_theta(problem: &Problem<'_>, losses: &[f64], mu: f64) -> f64 {
    let rest = |theta: f64| {
        let shares: f64 = losses
            .iter()
            .zip(problem.weights)
            .map(|(l, c)| mu / central_slacks(*c, l - theta, mu).0)
            .sum();
        shares + mu / theta - problem.k
    };
    let mut low = mu / problem.k;
    let mut high = losses.iter().fold(low, |m, l| m.max(*l)).max(2.0 * low);
    let (mut at_low, mut at_high) = (rest(low), rest(high));
    for _ in 0..200 {
        if at_high <= 0.0 {
            break;
        }
        (low, at_low) = (high, at_high);
        high *= 2.0;
        at_high = rest(high);
    }
    for _ in 0..60 {
        let mut middle = (low * at_high - high * at_low) / (at_high - at_low);
        if !(middle > low && middle < high) {
            middle = f64::midpoint(low, high);
        }
        let at = rest(middle);
        // The dual slack t = k - sum a must stay positive: accept from above only.
        if at.abs() <= 1e-2 * mu / middle || high - low <= 1e-14 * high {
            return middle;
        }
        if at > 0.0 {
            (low, at_low) = (middle, at);
            at_high *= 0.5;
        } else {
            (high, at_high) = (middle, at);
            at_low *= 0.5;
        }
    }
    high
}

struct Iteration<'r, 'a, R> {
    problem: &'r Problem<'a>,
    reduced: &'r Reduced<'a>,
    q: usize,
    /// $2\rho/\lambda$ in reduced units.
    ridge: f64,
    v: Vec<f64>,
    f: Vec<f64>,
    theta: f64,
    /// Multiplier of $\theta \ge 0$.
    t: f64,
    rows: R,
    local: Local,
    /// Newton steps spent on the start.
    spent: usize,
}

/// A direction of the shared unknowns.
struct Direction {
    v: Vec<f64>,
    f: Vec<f64>,
    theta: f64,
    t: f64,
}

/// Most Newton steps spent on the start.
const CENTRING: usize = 4;

/// Steps granted beyond the point where the asked gap seems reached.
const EXTRA: usize = 8;

impl<'a> Iteration<'_, 'a, Smooth<'_, 'a>> {
    /// Newton's method on the barrier problem of one `mu`, all slacks eliminated exactly.
    ///
    /// No step is cut short by a boundary here, so that a start far from the central path (zero
    /// weights, a neighbour's weights) comes close to it in two or three steps.
    fn centre(&mut self, mu: f64, limits: Limits<'_>) -> Result<()> {
        let enough = 1e-2 * mu * self.rows.pairs();
        let mut merit = self.merit(mu);
        for _ in 0..CENTRING {
            limits.control.check()?;
            self.rows.linearize(&self.f, self.theta, &mut self.local);
            let residual = self.residual();
            let Ok(system) = self.system() else { break };
            let mut rhs: Vec<f64> = residual.iter().map(|r| -r).collect();
            rhs.push(0.0);
            let mut v = system.solve(&rhs);
            v.pop();
            let f = self.reduced.scores(&v);
            let fall = -vector::dot(&residual, &v);
            let (old_v, old_f) = (self.v.clone(), self.f.clone());
            let mut step = 1.0;
            loop {
                vector::axpy(step, &v, &mut self.v);
                vector::axpy(step, &f, &mut self.f);
                self.theta = self.rows.centre(&self.f, mu);
                let new = self.merit(mu);
                if new <= merit - 0.1 * step * fall || step < 1e-3 {
                    merit = new;
                    break;
                }
                step *= 0.5;
                self.v.clone_from(&old_v);
                self.f.clone_from(&old_f);
            }
            self.t = self.problem.k - self.rows.share();
            self.spent += 1;
            if fall <= enough {
                break;
            }
        }
        Ok(())
    }

    fn merit(&self, mu: f64) -> f64 {
        0.5 * self.ridge * self.size() + self.problem.k * self.theta - mu * self.theta.ln()
            + self.rows.barrier(mu)
    }
}

impl<'r, 'a, R: Rows> Iteration<'r, 'a, R> {
    fn new(
        problem: &'r Problem<'a>,
        reduced: &'r Reduced<'a>,
        v: Vec<f64>,
        f: Vec<f64>,
        theta: f64,
        rows: R,
    ) -> Self {
        let (n, q) = (problem.n(), problem.q());
        let split = problem.loss == RowLoss::Hinge && q > 1;
        let t = (problem.k - rows.share()).max(1e-3 * problem.k / n as f64);
        let ridge = 2.0 * reduced.ridge(problem.ridge) / problem.scale;
        let local = Local::new(n, q, split);
        Self { problem, reduced, q, ridge, v, f, theta, t, rows, local, spent: 0 }
    }

    fn run(mut self, limits: Limits<'_>) -> Result<Solution> {
        let mut best: Option<Solution> = None;
        let mut late = 0;
        for iteration in 1..=limits.max_iter {
            limits.control.check()?;
            self.rows.linearize(&self.f, self.theta, &mut self.local);
            let objective = self.objective();
            let open = self.problem.scale * (self.rows.products() + self.theta * self.t);
            // Small objectives are solved to the same relative accuracy where a few more steps do it.
            let goal = limits.tol * if late > EXTRA { objective.max(1.0) } else { objective };
            late += usize::from(open <= limits.tol * objective.max(1.0));
            if open <= 2.0 * goal || iteration == limits.max_iter {
                self.keep(&mut best, iteration);
                let gap = best
                    .as_ref()
                    .map_or(f64::INFINITY, |b| b.certificate.primal - b.certificate.dual);
                if gap <= goal || late > 2 * EXTRA {
                    break;
                }
            }
            if self.step().is_none() {
                break;
            }
        }
        if best.is_none() {
            self.keep(&mut best, limits.max_iter);
        }
        // `keep` always leaves an answer.
        best.ok_or_else(|| crate::error::Error::Numerical("stable fit".into()))
    }

    /// Objective of the barrier's own variables: an upper bound on that of `v`.
    fn objective(&self) -> f64 {
        self.problem.scale
            * (0.5 * self.ridge * self.size() + self.problem.k * self.theta + self.rows.paid())
    }

    /// $\|W\|^2$ in reduced units.
    fn size(&self) -> f64 {
        let columns = self.reduced.z.ncols();
        self.v.chunks_exact(columns).map(|w| vector::norm_sq(&w[..self.reduced.m])).sum()
    }

    fn system(&self) -> Result<System> {
        let gauge = self.problem.loss == RowLoss::Logistic && self.q > 1 && self.reduced.intercept;
        System::new(self.reduced, &self.local, self.q, self.ridge, self.t / self.theta, gauge)
    }

    /// Compares the current point and multipliers with the best ones so far.
    fn keep(&mut self, best: &mut Option<Solution>, n_iter: usize) {
        let n_iter = n_iter + self.spent;
        self.rows.linearize(&self.f, self.theta, &mut self.local);
        let point = self.reduced.point(&self.v);
        if point.coef.iter().flatten().chain(&point.intercept).any(|v| !v.is_finite()) {
            return;
        }
        let dual = Dual { share: self.rows.shares().to_vec(), pull: self.local.pull.clone() };
        let Some(best) = best else {
            let certificate = certify(self.problem, &point, &dual);
            *best = Some(Solution { point, dual, certificate, n_iter, warm: self.v.clone() });
            return;
        };
        best.n_iter = n_iter;
        let primal = self.problem.objective(&point);
        if primal < best.certificate.primal {
            best.certificate.primal = primal;
            best.point = point;
            best.warm.clone_from(&self.v);
        }
        let proven = bound(self.problem, &dual);
        if proven > best.certificate.dual {
            best.certificate.dual = proven;
            best.dual = dual;
        }
    }

    /// Stationarity in $(W, b)$: $\tfrac{2\rho}{\lambda} W + \sum \alpha_i x_i^\top$.
    fn residual(&self) -> Vec<f64> {
        let mut residual = self.reduced.pulled(&self.local.pull, self.q);
        let columns = self.reduced.z.ncols();
        for (r, w) in residual.chunks_exact_mut(columns).zip(self.v.chunks_exact(columns)) {
            vector::axpy(self.ridge, &w[..self.reduced.m], &mut r[..self.reduced.m]);
        }
        residual
    }

    /// One predictor-corrector step; `None` when it leads nowhere.
    fn step(&mut self) -> Option<()> {
        let system = self.system().ok()?;
        let residual = self.residual();
        let open = self.rows.products() + self.theta * self.t;
        let mu = open / (self.rows.pairs() + 1.0);

        let affine = self.direction(&system, &residual, -self.theta * self.t, 0.0, false);
        let reach = self.longest(&affine).min(1.0);
        let after = self.rows.products_after(reach)
            + (self.theta + reach * affine.theta) * (self.t + reach * affine.t);
        let sigma = (after / open).powi(3).clamp(1e-6, 1.0);
        let goal = sigma * mu;
        let product = goal - self.theta * self.t - affine.theta * affine.t;
        let direction = self.direction(&system, &residual, product, goal, true);
        let reach = (0.995 * self.longest(&direction)).min(1.0);
        // Also false for a direction that is not a number.
        let moves = reach > 1e-10;
        if !moves {
            return None;
        }
        self.rows.advance(reach);
        vector::axpy(reach, &direction.v, &mut self.v);
        vector::axpy(reach, &direction.f, &mut self.f);
        self.theta += reach * direction.theta;
        self.t += reach * direction.t;
        Some(())
    }

    fn direction(
        &mut self,
        system: &System,
        residual: &[f64],
        product: f64,
        mu: f64,
        second: bool,
    ) -> Direction {
        let q = self.q;
        self.rows.aim(mu, second, &mut self.local);
        let mut driven: Vec<f64> = self
            .local
            .slope
            .chunks_exact(q)
            .zip(&self.local.drive)
            .flat_map(|(slope, drive)| slope.iter().map(move |r| drive * r))
            .collect();
        if !self.local.extra.is_empty() {
            vector::axpy(1.0, &self.local.extra, &mut driven);
        }
        let mut rhs = self.reduced.pulled(&driven, q);
        for (rhs, residual) in rhs.iter_mut().zip(residual) {
            *rhs = -*rhs - residual;
        }
        let missing = self.problem.k - self.rows.share() - self.t;
        rhs.push(self.local.drive.iter().sum::<f64>() - missing + product / self.theta);
        let mut v = system.solve(&rhs);
        let theta = v.pop().unwrap_or(0.0);
        let f = self.reduced.scores(&v);
        self.rows.direct(&f, theta, &self.local);
        let t = (product - self.t * theta) / self.theta;
        Direction { v, f, theta, t }
    }

    fn longest(&self, direction: &Direction) -> f64 {
        let step = rows::ratio(self.theta, direction.theta, self.rows.longest());
        rows::ratio(self.t, direction.t, step)
    }
}
