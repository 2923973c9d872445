//! Predictor-corrector steps in `$(W, b, \theta)$`.

use super::rows::{Local, Rows};
use super::shrinking::ActiveRows;
use super::system::{System, threshold_coupling};
use crate::error::Result;
use crate::linalg::vector;
use crate::optim::{Budget, step};
use crate::stable::certificate::Dual;
use crate::stable::problem::{Problem, RowLoss};
use crate::stable::row_space::{Features, Reduced};
use crate::stable::solution::{Found, Iterate};

/// The problem as it was asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct FullProblem<'r> {
    pub problem: &'r Problem<'r>,
    pub reduced: &'r Reduced<'r>,
}

/// One run: what it has found, what it may spend, and how rows that left have fared.
#[derive(Debug)]
pub(super) struct Run<'x, 'b> {
    pub found: &'x mut Found,
    pub budget: &'x mut Budget<'b>,
    short_steps: bool,
    /// Whether rows left that should not have.
    pub astray: bool,
    /// How often rows were taken back.
    pub widened: usize,
    /// Steps since the asked gap was reached as far as the barrier can tell.
    late: usize,
}

impl<'x, 'b> Run<'x, 'b> {
    pub(super) fn new(found: &'x mut Found, budget: &'x mut Budget<'b>, short_steps: bool) -> Self {
        Self { found, budget, short_steps, astray: false, widened: 0, late: 0 }
    }

    /// Keeps what was found, forgets how.
    pub(super) fn again(&mut self) {
        (self.astray, self.widened, self.late) = (false, 0, 0);
    }
}

pub(super) struct Iteration<'r, R> {
    pub full: FullProblem<'r>,
    /// The problem over the rows that are still in play.
    pub problem: &'r Problem<'r>,
    pub features: &'r Features,
    /// What the other rows contribute.
    pub active: Option<&'r ActiveRows>,
    /// See [`super::CAUTION`].
    pub caution: f64,
    pub q: usize,
    /// `$2\rho/\lambda$` in reduced units.
    pub ridge: f64,
    pub v: Vec<f64>,
    pub f: Vec<f64>,
    pub theta: f64,
    /// Multiplier of `$\theta \ge 0$`.
    pub t: f64,
    pub rows: R,
    pub local: Local,
    /// Last direction of the scores and of theta.
    pub last: (Vec<f64>, f64),
    /// Which part of the way that was: by how much the mean product fell, relative to itself.
    pub fell: f64,
}

/// Part of the asked gap below which the barrier stays as it is.
const CENTRE_ONLY: f64 = 0.1;
/// Part of the asked gap by which rows that left may spoil the objective.
const ASTRAY: f64 = 0.25;
/// Steps granted beyond the point where the asked gap is reached as far as the barrier can tell.
const EXTRA: usize = 8;
/// The least centring of a corrector.
const LEAST_CENTRING: f64 = 1e-6;
/// The shortest step that leads anywhere.
const LEAST_STEP: f64 = 1e-10;
/// The shortest step that shortening leads to.
const LEAST_SHORTENED: f64 = 1e-6;
/// Part of a mean row's share of `k` that the multiplier of the threshold is at least, so that the start is inside.
const LEAST_SPARE: f64 = 1e-3;
/// Rows: with fewer in play none needs to leave.
const WORTH_SHRINKING: usize = 400;
/// Rows that stay in play at least.
const LEAST_KEPT: usize = 20;
/// Part of the rows in play that stays at most when others leave: otherwise too little is saved.
const MOST_KEPT: f64 = 0.7;

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

impl<'r, R: Rows> Iteration<'r, R> {
    pub(super) fn new(
        full: FullProblem<'r>,
        v: Vec<f64>,
        f: Vec<f64>,
        theta: f64,
        rows: R,
    ) -> Self {
        let FullProblem { problem, reduced } = full;
        let (n, q) = (problem.n(), problem.q());
        let split = problem.loss == RowLoss::Hinge && q > 1;
        let t = (problem.k - rows.share()).max(LEAST_SPARE * problem.k / n as f64);
        let ridge = 2.0 * reduced.ridge(problem.ridge) / problem.scale;
        let local = Local::new(n, q, split);
        let (active, last) = (None, (Vec::new(), 0.0));
        let caution = f64::INFINITY;
        let features = &reduced.features;
        Self {
            full,
            problem,
            features,
            active,
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
    pub(super) fn advance(&mut self, run: &mut Run<'_, '_>) -> Result<Option<Vec<usize>>> {
        let tol = run.budget.tol();
        loop {
            run.budget.control().check()?;
            self.rows.linearize(&self.f, self.theta, &mut self.local);
            let objective = self.objective();
            let open = self.problem.scale * (self.rows.products() + self.theta * self.t);
            // Small objectives are solved to the same relative accuracy where a few more steps do it.
            let late = run.late > EXTRA;
            let goal = tol * if late { objective.max(1.0) } else { objective };
            run.late += usize::from(open <= tol * objective.max(1.0));
            if open <= 2.0 * goal && self.ends(run, objective, goal) {
                return Ok(None);
            }
            // Where the multipliers do not add up yet, a narrower barrier would only cost digits.
            let narrower = open > CENTRE_ONLY * goal;
            if !run.budget.take()? || self.step(narrower, run)?.is_none() {
                break;
            }
            if let Some(kept) = self.unsettled() {
                return Ok(Some(kept));
            }
        }
        self.prove(run);
        run.astray = self.active.is_some() && run.budget.left() > 0;
        Ok(None)
    }

    /// Whether the run ends where the barrier says that the gap is `goal`: because it is proven, because
    /// more steps did not prove it, or because rows left that should not have.
    fn ends(&self, run: &mut Run<'_, '_>, objective: f64, goal: f64) -> bool {
        let primal = self.offer(run);
        if run.found.upper() - run.found.lower() <= goal || run.late > 2 * EXTRA {
            return true;
        }
        // Rows that left count as if they had stayed on their side of the threshold.
        run.astray = self.active.is_some() && primal > objective + ASTRAY * goal;
        run.astray
    }

    /// Rows that may still cross the threshold, where they are few enough to go on without the others.
    fn unsettled(&self) -> Option<Vec<usize>> {
        let n = self.problem.n();
        if n < WORTH_SHRINKING || self.caution.is_infinite() || self.fell <= 0.0 {
            return None;
        }
        // Along the central path a row moves in proportion to the mean product: from its last move follows how far
        // it will still go.
        let (mu, caution, fell) = (self.mu(), self.caution, self.fell);
        let near = super::rows::Near { mu, caution, fell, last: &self.last };
        let kept = self.rows.unsettled(&self.f, self.theta, near)?;
        (kept.len() >= LEAST_KEPT && kept.len() as f64 <= MOST_KEPT * n as f64).then_some(kept)
    }

    /// The mean complementarity product.
    pub(super) fn mu(&self) -> f64 {
        (self.rows.products() + self.theta * self.t) / (self.rows.pairs() + 1.0)
    }

    /// Objective of the barrier's own variables: an upper bound on that of `v`.
    fn objective(&self) -> f64 {
        let settled = self
            .active
            .map_or(0.0, |active| active.constant + vector::dot(&active.adjoint, &self.v));
        let excess = self.problem.k * self.theta + self.rows.excess() + settled;
        self.problem.scale * (0.5 * self.ridge * self.size() + excess)
    }

    /// `$\|W\|^2$` in reduced units.
    pub(super) fn size(&self) -> f64 {
        let Features { z, m, .. } = self.features;
        self.v.chunks_exact(z.ncols()).map(|w| vector::norm_sq(&w[..*m])).sum()
    }

    /// The Newton system, and what `alpha` adds up to: both take one pass over the rows.
    pub(super) fn system(&self, alpha: &[f64]) -> (Result<System>, Vec<f64>) {
        let gauge = self.problem.loss == RowLoss::Logistic && self.q > 1 && self.features.intercept;
        let coupling = threshold_coupling(&self.local, self.q);
        let [border, adjoint] = self.features.adjoint_pair([&coupling, alpha], self.q);
        let curve = self.t / self.theta;
        let (features, local) = (self.features, &self.local);
        let system = System::new(features, local, &border, self.q, self.ridge, curve, gauge);
        (system, adjoint)
    }

    /// Offers the current point and the multipliers that belong to it.
    pub(super) fn prove(&mut self, run: &mut Run<'_, '_>) {
        self.rows.linearize(&self.f, self.theta, &mut self.local);
        self.offer(run);
    }

    /// Offers the current point and multipliers, recomputed on all rows; returns the objective of the point.
    fn offer(&self, run: &mut Run<'_, '_>) -> f64 {
        let FullProblem { problem, reduced } = self.full;
        let hyperplanes = reduced.hyperplanes(&self.v);
        if !hyperplanes.is_finite() {
            return f64::INFINITY;
        }
        let primal = reduced.objective(problem, &self.v, &hyperplanes);
        run.found.offer_primal(primal, || Iterate { v: self.v.clone(), hyperplanes });
        let mine = Dual { share: self.rows.shares().to_vec(), alpha: self.local.alpha.clone() };
        let dual = self.active.map_or_else(|| mine.clone(), |active| active.complete(&mine));
        run.found.offer_dual(reduced.bound(problem, &dual), || dual);
        primal
    }

    /// Stationarity in `$(W, b)$` without the rows in play: `$\tfrac{2\rho}{\lambda} W$` and the part of
    /// the rows that left.
    pub(super) fn rest(&self) -> Vec<f64> {
        let Features { z, m, .. } = self.features;
        let mut rest =
            self.active.map_or_else(|| vec![0.0; self.v.len()], |active| active.adjoint.clone());
        for (r, w) in rest.chunks_exact_mut(z.ncols()).zip(self.v.chunks_exact(z.ncols())) {
            vector::axpy(self.ridge, &w[..*m], &mut r[..*m]);
        }
        rest
    }

    /// One step, to a narrower barrier or along the present one; `None` when it leads nowhere.
    fn step(&mut self, narrower: bool, run: &Run<'_, '_>) -> Result<Option<()>> {
        let (mu, control) = (self.mu(), run.budget.control());
        let aim = if narrower { 0.0 } else { mu };
        let driven = self.driven(aim, false);
        let (system, adjoint) = self.system(&driven);
        let Ok(system) = system else { return Ok(None) };
        control.check()?;
        let rest = self.rest();
        let open = mu * (self.rows.pairs() + 1.0);

        let product = aim - self.theta * self.t;
        let mut direction = self.direction(&system, adjoint, &rest, product);
        if narrower {
            // Mehrotra's corrector.
            let reach = self.longest(&direction).min(1.0);
            let after = self.rows.products_after(reach)
                + (self.theta + reach * direction.theta) * (self.t + reach * direction.t);
            let sigma = step::centring(after, open, LEAST_CENTRING);
            let product = sigma * mu - self.theta * self.t - direction.theta * direction.t;
            control.check()?;
            let driven = self.driven(sigma * mu, true);
            let adjoint = self.features.adjoint(&driven, self.q);
            direction = self.direction(&system, adjoint, &rest, product);
        }
        let mut reach = step::damped(self.longest(&direction));
        if run.short_steps {
            reach = self.bounded(&direction, reach, open);
        }
        if reach <= LEAST_STEP || !direction.is_finite() {
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

    /// The rows' `$\alpha$` where every product is aimed at `mu`, before the scores move.
    fn driven(&mut self, mu: f64, second: bool) -> Vec<f64> {
        let q = self.q;
        self.rows.aim(mu, second, &mut self.local);
        let mut driven = self.local.alpha.clone();
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
        while reach > LEAST_SHORTENED {
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
        let longest = step::ratio(self.theta, direction.theta, self.rows.longest());
        step::ratio(self.t, direction.t, longest)
    }
}
