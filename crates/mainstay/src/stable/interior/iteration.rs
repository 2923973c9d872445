//! Predictor-corrector steps in $(W, b, \theta)$.

use super::narrow::Part;
use super::rows::{self, Local, Rows};
use super::system::{System, leaning};
use super::{Limits, Solution};
use crate::certificate::Certificate;
use crate::error::Result;
use crate::linalg::vector;
use crate::stable::certificate::{Dual, bound};
use crate::stable::problem::{Problem, RowLoss};
use crate::stable::reduce::{Features, Reduced};

/// The problem as it was asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole<'r> {
    pub problem: &'r Problem<'r>,
    pub reduced: &'r Reduced<'r>,
}

/// What has been found so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub best: Option<Solution>,
    /// Newton steps spent on the start.
    pub spent: usize,
    /// Whether rows left that should not have.
    pub astray: bool,
    /// How often rows were taken back.
    pub widened: usize,
    steps: usize,
    late: usize,
}

impl Progress {
    /// Keeps the answer, forgets how it was found.
    pub(super) fn again(&mut self) {
        (self.astray, self.widened, self.late) = (false, 0, 0);
    }
}

pub(super) struct Iteration<'r, R> {
    pub whole: Whole<'r>,
    /// The problem over the rows that are still in play.
    pub problem: &'r Problem<'r>,
    pub features: &'r Features,
    /// What the other rows contribute.
    pub part: Option<&'r Part>,
    /// See [`super::CAUTION`].
    pub caution: f64,
    pub q: usize,
    /// $2\rho/\lambda$ in reduced units.
    pub ridge: f64,
    pub v: Vec<f64>,
    pub f: Vec<f64>,
    pub theta: f64,
    /// Multiplier of $\theta \ge 0$.
    pub t: f64,
    pub rows: R,
    pub local: Local,
    /// Last direction of the scores and of theta.
    pub last: (Vec<f64>, f64),
    /// Which part of the way that was: by how much the mean product fell, relative to itself.
    pub fell: f64,
}

/// Part of the asked gap at which the barrier stays as it is.
const HOLD: f64 = 0.1;

/// A direction of the shared unknowns.
struct Direction {
    v: Vec<f64>,
    f: Vec<f64>,
    theta: f64,
    t: f64,
}

impl Direction {
    fn is_finite(&self) -> bool {
        self.v.iter().chain(&self.f).chain([&self.theta, &self.t]).all(|d| d.is_finite())
    }
}

/// Steps granted beyond the point where the asked gap seems reached.
const EXTRA: usize = 8;

impl<'r, R: Rows> Iteration<'r, R> {
    pub(super) fn new(whole: Whole<'r>, v: Vec<f64>, f: Vec<f64>, theta: f64, rows: R) -> Self {
        let Whole { problem, reduced } = whole;
        let (n, q) = (problem.n(), problem.q());
        let split = problem.loss == RowLoss::Hinge && q > 1;
        let t = (problem.k - rows.share()).max(1e-3 * problem.k / n as f64);
        let ridge = 2.0 * reduced.ridge(problem.ridge) / problem.scale;
        let local = Local::new(n, q, split);
        let (part, last) = (None, (Vec::new(), 0.0));
        let caution = f64::INFINITY;
        let features = &reduced.features;
        Self {
            whole,
            problem,
            features,
            part,
            caution,
            q,
            ridge,
            v,
            f,
            theta,
            t,
            rows,
            local,
            last,
            fell: 0.0,
        }
    }

    /// Steps until the gap is reached or nothing moves; pauses with the rows that are still in play
    /// where enough others have settled.
    pub(super) fn advance(
        &mut self,
        progress: &mut Progress,
        limits: Limits<'_>,
    ) -> Result<Option<Vec<usize>>> {
        while progress.steps < limits.max_iter {
            limits.control.check()?;
            progress.steps += 1;
            self.rows.linearize(&self.f, self.theta, &mut self.local);
            let objective = self.objective();
            let open = self.problem.scale * (self.rows.products() + self.theta * self.t);
            // Small objectives are solved to the same relative accuracy where a few more steps do it.
            let late = progress.late > EXTRA;
            let goal = limits.tol * if late { objective.max(1.0) } else { objective };
            progress.late += usize::from(open <= limits.tol * objective.max(1.0));
            if open <= 2.0 * goal || progress.steps == limits.max_iter {
                let primal = self.keep(progress);
                let gap = progress
                    .best
                    .as_ref()
                    .map_or(f64::INFINITY, |b| b.certificate.primal - b.certificate.dual);
                if gap <= goal || progress.late > 2 * EXTRA {
                    return Ok(None);
                }
                // Rows that left count as if they had stayed on their side of the threshold.
                if self.part.is_some() && primal > objective + 0.25 * goal {
                    progress.astray = true;
                    return Ok(None);
                }
            }
            // Where the multipliers do not add up yet, a narrower barrier would only cost digits.
            if self.step(open > HOLD * goal, limits)?.is_none() {
                break;
            }
            if let Some(kept) = self.unsettled() {
                return Ok(Some(kept));
            }
        }
        if progress.best.is_none() {
            self.rows.linearize(&self.f, self.theta, &mut self.local);
            self.keep(progress);
        }
        progress.astray = self.part.is_some() && progress.steps < limits.max_iter;
        Ok(None)
    }

    /// Rows that may still cross the threshold, where they are few enough to go on without the others.
    fn unsettled(&self) -> Option<Vec<usize>> {
        const WORTH: usize = 400;
        let n = self.problem.n();
        if n < WORTH || self.caution.is_infinite() || self.fell <= 0.0 {
            return None;
        }
        // Along the central path a row moves in proportion to the mean product: from its last move follows how far
        // it will still go.
        let (mu, caution, fell) = (self.mu(), self.caution, self.fell);
        let near = super::rows::Near { mu, caution, fell, last: &self.last };
        let kept = self.rows.unsettled(&self.f, self.theta, near)?;
        (kept.len() >= 20 && 10 * kept.len() <= 7 * n).then_some(kept)
    }

    /// The mean complementarity product.
    pub(super) fn mu(&self) -> f64 {
        (self.rows.products() + self.theta * self.t) / (self.rows.pairs() + 1.0)
    }

    /// Objective of the barrier's own variables: an upper bound on that of `v`.
    fn objective(&self) -> f64 {
        let settled =
            self.part.map_or(0.0, |part| part.constant + vector::dot(&part.pulled, &self.v));
        let paid = self.problem.k * self.theta + self.rows.paid() + settled;
        self.problem.scale * (0.5 * self.ridge * self.size() + paid)
    }

    /// $\|W\|^2$ in reduced units.
    pub(super) fn size(&self) -> f64 {
        let Features { z, m, .. } = self.features;
        self.v.chunks_exact(z.ncols()).map(|w| vector::norm_sq(&w[..*m])).sum()
    }

    /// The Newton system, and what `pull` adds up to: both take one pass over the rows.
    pub(super) fn system(&self, pull: &[f64]) -> (Result<System>, Vec<f64>) {
        let gauge = self.problem.loss == RowLoss::Logistic && self.q > 1 && self.features.intercept;
        let lean = leaning(&self.local, self.q);
        let [border, pulled] = self.features.pulled_pair([&lean, pull], self.q);
        let curve = self.t / self.theta;
        let (features, local) = (self.features, &self.local);
        let system = System::new(features, local, &border, self.q, self.ridge, curve, gauge);
        (system, pulled)
    }

    /// Compares the current point and multipliers with the best ones so far, on all rows; returns the
    /// objective of the point.
    fn keep(&mut self, progress: &mut Progress) -> f64 {
        let n_iter = progress.steps + progress.spent;
        let point = self.whole.reduced.point(&self.v);
        if point.coef.iter().flatten().chain(&point.intercept).any(|v| !v.is_finite()) {
            return f64::INFINITY;
        }
        let mine = Dual { share: self.rows.shares().to_vec(), pull: self.local.pull.clone() };
        let dual = self.part.map_or(mine.clone(), |part| part.complete(&mine));
        let primal = self.whole.problem.objective(&point);
        let proven = bound(self.whole.problem, &dual);
        let Some(best) = &mut progress.best else {
            let certificate = Certificate { primal, dual: proven };
            let warm = self.v.clone();
            progress.best = Some(Solution { point, dual, certificate, n_iter, warm });
            return primal;
        };
        best.n_iter = n_iter;
        if primal < best.certificate.primal {
            best.certificate.primal = primal;
            best.point = point;
            best.warm.clone_from(&self.v);
        }
        if proven > best.certificate.dual {
            best.certificate.dual = proven;
            best.dual = dual;
        }
        primal
    }

    /// Stationarity in $(W, b)$ without the rows in play: $\tfrac{2\rho}{\lambda} W$ and the pull of
    /// the rows that left.
    pub(super) fn rest(&self) -> Vec<f64> {
        let Features { z, m, .. } = self.features;
        let mut rest =
            self.part.map_or_else(|| vec![0.0; self.v.len()], |part| part.pulled.clone());
        for (r, w) in rest.chunks_exact_mut(z.ncols()).zip(self.v.chunks_exact(z.ncols())) {
            vector::axpy(self.ridge, &w[..*m], &mut r[..*m]);
        }
        rest
    }

    /// One step, to a narrower barrier or along the present one; `None` when it leads nowhere.
    fn step(&mut self, narrower: bool, limits: Limits<'_>) -> Result<Option<()>> {
        let mu = self.mu();
        let aim = if narrower { 0.0 } else { mu };
        let driven = self.driven(aim, false);
        let (system, pulled) = self.system(&driven);
        let Ok(system) = system else { return Ok(None) };
        limits.control.check()?;
        let rest = self.rest();
        let open = mu * (self.rows.pairs() + 1.0);

        let product = aim - self.theta * self.t;
        let mut direction = self.direction(&system, pulled, &rest, product);
        if narrower {
            // Mehrotra's corrector.
            let reach = self.longest(&direction).min(1.0);
            let after = self.rows.products_after(reach)
                + (self.theta + reach * direction.theta) * (self.t + reach * direction.t);
            let sigma = (after / open).powi(3).clamp(1e-6, 1.0);
            let product = sigma * mu - self.theta * self.t - direction.theta * direction.t;
            limits.control.check()?;
            let driven = self.driven(sigma * mu, true);
            let pulled = self.features.pulled(&driven, self.q);
            direction = self.direction(&system, pulled, &rest, product);
        }
        let mut reach = (0.995 * self.longest(&direction)).min(1.0);
        if limits.strict {
            reach = self.bounded(&direction, reach, open);
        }
        if reach <= 1e-10 || !direction.is_finite() {
            return Ok(None);
        }
        self.rows.advance(reach);
        vector::axpy(reach, &direction.v, &mut self.v);
        vector::axpy(reach, &direction.f, &mut self.f);
        self.theta += reach * direction.theta;
        self.t += reach * direction.t;
        self.last = (direction.f, direction.theta);
        self.fell = 1.0 - self.mu() / mu;
        Ok(Some(()))
    }

    /// The rows' pulls where every product is aimed at `mu`, before the scores move.
    fn driven(&mut self, mu: f64, second: bool) -> Vec<f64> {
        let q = self.q;
        self.rows.aim(mu, second, &mut self.local);
        let mut driven = self.local.pull.clone();
        let slopes = self.local.slope.chunks_exact(q).zip(&self.local.drive);
        for (driven, (slope, drive)) in driven.chunks_exact_mut(q).zip(slopes) {
            vector::axpy(*drive, slope, driven);
        }
        if !self.local.extra.is_empty() {
            vector::axpy(1.0, &self.local.extra, &mut driven);
        }
        driven
    }

    /// The direction for the last aim; `rhs` is what [`Iteration::driven`] adds up to.
    fn direction(
        &mut self,
        system: &System,
        mut rhs: Vec<f64>,
        rest: &[f64],
        product: f64,
    ) -> Direction {
        for (rhs, rest) in rhs.iter_mut().zip(rest) {
            *rhs = -*rhs - rest;
        }
        let missing = self.problem.k - self.rows.share() - self.t;
        rhs.push(self.local.drive.iter().sum::<f64>() - missing + product / self.theta);
        let mut v = system.solve(&rhs);
        let theta = v.pop().unwrap_or(0.0);
        let f = self.features.scores(&v);
        self.rows.direct(&f, theta, &self.local);
        let t = (product - self.t * theta) / self.theta;
        Direction { v, f, theta, t }
    }

    /// Shortens a step until the complementarity products do not grow.
    fn bounded(&self, direction: &Direction, mut reach: f64, open: f64) -> f64 {
        while reach > 1e-6 {
            let mut f = self.f.clone();
            vector::axpy(reach, &direction.f, &mut f);
            let theta = self.theta + reach * direction.theta;
            let edge = theta * (self.t + reach * direction.t);
            match self.rows.products_at(reach, &f, theta) {
                Some(products) if products + edge > open => reach *= 0.5,
                _ => break,
            }
        }
        reach
    }

    fn longest(&self, direction: &Direction) -> f64 {
        let step = rows::ratio(self.theta, direction.theta, self.rows.longest());
        rows::ratio(self.t, direction.t, step)
    }
}
