//! The interior point method: its iterates and when it stops. Directions: [`super::direction`].

use rayon::prelude::*;

use super::block::{Block, Outer, PendingStep};
use super::normal_equations::System;
use super::scaled::Scaled;
use crate::error::Result;
use crate::linalg::vector::{self, vectorized};
use crate::missing::certificate::Dual;
use crate::missing::problem::RobustHinge;
use crate::optim::{Bracket, Budget, step};

/// Multipliers of the box start at this, at least.
const LEAST_MULTIPLIER: f64 = 1e-3;
/// Gondzio correctors per factorisation, at least and at most.
const CORRECTORS: (usize, usize) = (2, 5);
/// Order of the system, in columns or rows, whose factorisation costs as much as one more corrector.
const ORDER_PER_CORRECTOR: usize = 100;
/// Steps shorter than this share of a full one make no progress worth a factorisation.
const SHORTEST: f64 = 1e-7;
/// The answer is evaluated exactly once the gap of the iterates is this many times the one asked for.
const NEAR: f64 = 100.0;
/// Share of the gap asked for that is reached before stopping: the certificate rounds differently.
pub(super) const SAFETY: f64 = 0.9;
/// Where every entry has variables, the weights are judged this many times further out as well: with many more columns
/// than rows they grow for dozens of steps after their direction leaves no loss.
const FURTHER_OUT: [f64; 3] = [2.0, 4.0, 8.0];
/// Entries are not made inactive before the dual value is this share of the primal one: until then
/// weights change too much.
const CLOSING: f64 = 0.5;

/// The weights with their box, and the rows in blocks.
pub(in crate::missing) struct Interior {
    pub(super) scaled: Scaled,
    pub(super) intercept: bool,
    /// Gondzio correctors per factorisation, at most.
    pub(super) correctors: usize,
    pub(super) w: Vec<f64>,
    pub(super) b: f64,
    /// Multipliers of `$w \ge -c$` and `$w \le c$`.
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    /// The direction to be taken, and the one being computed.
    pub(super) step: OuterMove,
    pub(super) trial: OuterMove,
    /// What the blocks' steps are still to be given; they catch up in their next pass.
    pub(super) pending: PendingStep,
    /// The best weights and intercept, and the best bound, in the solver's units. The dual point itself is
    /// with the blocks.
    pub(super) best: Bracket<(Vec<f64>, f64), ()>,
}

/// A direction for the weights, the intercept and the multipliers of the box.
#[derive(Debug, Clone)]
pub(super) struct OuterMove {
    pub(super) w: Vec<f64>,
    pub(super) b: f64,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

impl OuterMove {
    pub(super) fn zeros(p: usize) -> Self {
        Self { w: vec![0.0; p], b: 0.0, low: vec![0.0; p], high: vec![0.0; p] }
    }

    pub(super) fn outer<'a>(&'a self, values: &'a [f64]) -> Outer<'a> {
        Outer { values, w: &self.w, b: self.b }
    }
}

/// Sums over the present point.
pub(super) struct Totals {
    pub(super) primal: f64,
    pub(super) dual: f64,
    pub(super) gradient: Vec<f64>,
    pub(super) imbalance: f64,
    pub(super) products: f64,
    pub(super) count: usize,
}

impl Interior {
    pub(in crate::missing) fn new(mut scaled: Scaled, shares: [f64; 2], intercept: bool) -> Self {
        let p = scaled.boxes.len();
        let values = scaled.deletions.values();
        scaled.blocks.par_iter_mut().for_each(|block| block.start(values, shares));
        let mut gradient = vec![0.0; p];
        for block in &scaled.blocks {
            block.totals(values, &mut gradient);
        }
        let rows: usize = scaled.blocks.iter().map(Block::rows).sum();
        let typical = (vector::norm_sq(&gradient) / p as f64).sqrt();
        let base = |g: f64| 0.5 * g.abs().max(typical) + LEAST_MULTIPLIER;
        let low = gradient.iter().map(|&g| base(g) + (-g).max(0.0)).collect();
        let high = gradient.iter().map(|&g| base(g) + g.max(0.0)).collect();
        Self {
            intercept,
            correctors: (CORRECTORS.0 + p.min(rows) / ORDER_PER_CORRECTOR).min(CORRECTORS.1),
            w: vec![0.0; p],
            b: 0.0,
            low,
            high,
            step: OuterMove::zeros(p),
            trial: OuterMove::zeros(p),
            pending: PendingStep::Nothing,
            best: Bracket::new(),
            scaled,
        }
    }

    /// Iterates until the gap between the exact objective at the present weights (best intercept) and the
    /// dual value is at most the budget's tolerance times max(1, objective), or the budget is spent.
    pub(in crate::missing) fn run(
        &mut self,
        problem: &RobustHinge<'_>,
        budget: &mut Budget<'_>,
    ) -> Result<()> {
        let (control, limit) = (budget.control(), budget.left());
        // Weights of zero, where it starts, are what every answer must beat.
        self.evaluate(problem);
        if self.eager() {
            // Without loss nothing is left to prove: it is never negative.
            self.best.offer_dual(0.0, || ());
        }
        let mut totals = self.totals();
        while budget.left() > 0 {
            control.check()?;
            if self.proves(problem, &totals, budget) {
                return Ok(());
            }
            control.progress(budget.spent() as u64, limit as u64);
            let Ok(system) = self.factor() else { break };
            budget.take()?;
            let (primal, dual) = self.direction(&system, &totals, control)?;
            if primal.max(dual) < SHORTEST || !(primal + dual).is_finite() {
                break;
            }
            let closing = totals.dual > CLOSING * totals.primal;
            totals = self.advance(primal, dual, self.scaled.may_deactivate && closing);
        }
        self.keep_bound(totals.dual / self.scaled.norm);
        self.evaluate(problem);
        Ok(())
    }

    /// Whether the answer is evaluated after every step: far from the end a step costs much more than a look.
    fn eager(&self) -> bool {
        !self.scaled.may_deactivate
    }

    /// Evaluates the present point where it may be good enough, and says whether the gap is reached.
    fn proves(&mut self, problem: &RobustHinge<'_>, totals: &Totals, budget: &Budget<'_>) -> bool {
        let norm = self.scaled.norm;
        let allowed = budget.tol() * (totals.primal / norm).max(1.0);
        // The exact objective is below that of the iterate, whose slack shrinks with the products.
        let near = (totals.primal - totals.dual) / norm <= NEAR * allowed || budget.left() == 1;
        if near {
            self.keep_bound(totals.dual / norm);
        }
        if !(near || self.eager()) {
            return false;
        }
        self.evaluate(problem);
        self.best.gap(1.0) <= SAFETY * budget.tol()
    }

    /// The best weights, the best intercept and the best dual point, in the user's units.
    pub(in crate::missing) fn finish(self) -> (Vec<f64>, f64, Dual) {
        let Scaled { blocks, weight_units, intercept_unit, dual_unit, .. } = self.scaled;
        let (best, _) = self.best.into_points();
        let (w, b) = best.unwrap_or_else(|| (vec![0.0; weight_units.len()], 0.0));
        let mut dual = Dual::default();
        for block in blocks {
            dual.sigma.extend(block.best_sigma.iter().map(|v| v * dual_unit));
            dual.tau.extend(block.best_tau.iter().map(|v| v * dual_unit));
        }
        (w.iter().zip(&weight_units).map(|(w, unit)| w * unit).collect(), b * intercept_unit, dual)
    }

    /// The sums at the present point.
    pub(super) fn totals(&mut self) -> Totals {
        self.totals_after(|_| ())
    }

    /// The sums after `change` was made to every block.
    pub(super) fn totals_after(&mut self, change: impl Fn(&mut Block) + Sync) -> Totals {
        let values = self.scaled.deletions.values();
        let p = self.w.len();
        let parts: Vec<_> = self
            .scaled
            .blocks
            .par_iter_mut()
            .map(|block| {
                let mut gradient = vec![0.0; p];
                let (sums, products) = vectorized!({
                    change(block);
                    (block.totals(values, &mut gradient), block.products())
                });
                (gradient, sums, products)
            })
            .collect();
        let mut gradient = vec![0.0; p];
        let mut sums = [0.0; 3];
        let (mut products, mut count) = (0.0, 2 * p);
        for (part, part_sums, (part_products, part_count)) in parts {
            vector::axpy(1.0, &part, &mut gradient);
            vector::axpy(1.0, &part_sums, &mut sums);
            products += part_products;
            count += part_count;
        }
        let mut charge = 0.0;
        for (j, (c, g)) in self.scaled.boxes.iter().zip(&gradient).enumerate() {
            products += (self.w[j] + c) * self.low[j] + (c - self.w[j]) * self.high[j];
            charge += c * g.abs();
        }
        let [primal, kept, imbalance] = sums;
        let imbalance = if self.intercept { imbalance } else { 0.0 };
        Totals { primal, dual: kept - charge, gradient, imbalance, products, count }
    }

    /// Keeps the dual point if its value is the largest so far.
    fn keep_bound(&mut self, value: f64) {
        if self.best.offer_dual(value, || ()) {
            self.scaled.blocks.par_iter_mut().for_each(Block::keep);
        }
    }

    /// Evaluates the present weights exactly, with their best intercept, and keeps them if they are better.
    pub(super) fn evaluate(&mut self, problem: &RobustHinge<'_>) {
        self.evaluate_scaled(problem, 1.0);
        if !self.scaled.may_deactivate {
            for factor in FURTHER_OUT {
                self.evaluate_scaled(problem, factor);
            }
        }
    }

    /// The same for the weights times `factor`, within their box.
    pub(super) fn evaluate_scaled(&mut self, problem: &RobustHinge<'_>, factor: f64) {
        let (blocks, set) = (&self.scaled.blocks, &self.scaled.deletions);
        let inside = |(w, c): (&f64, &f64)| (factor * w).max(-c).min(*c);
        let w: Vec<f64> = self.w.iter().zip(&self.scaled.boxes).map(inside).collect();
        let parts: Vec<Vec<f64>> =
            blocks.par_iter().map(|block| block.shortfalls(&w, set, &mut Vec::new())).collect();
        let shortfalls = parts.concat();
        let scaled = RobustHinge { margin: self.scaled.norm / shortfalls.len() as f64, ..*problem };
        let b = scaled.best_intercept(&shortfalls, factor * self.b);
        let value = scaled.value(&shortfalls, b);
        self.best.offer_primal(value, || (w, b));
    }

    pub(super) fn factor(&mut self) -> Result<System> {
        let values = self.scaled.deletions.values();
        self.scaled.blocks.par_iter_mut().for_each(|block| vectorized!(block.factor(values)));
        let (w, boxes) = (&self.w, &self.scaled.boxes);
        let curvature: Vec<f64> = (0..w.len())
            .map(|j| self.low[j] / (w[j] + boxes[j]) + self.high[j] / (boxes[j] - w[j]))
            .collect();
        System::new(&self.scaled.blocks, values, &curvature, self.intercept)
    }

    /// Moves along `step`, nearly as far as these lengths say, and chooses the active entries anew; returns the sums at
    /// the new point.
    fn advance(&mut self, primal: f64, dual: f64, deactivate: bool) -> Totals {
        let values = self.scaled.deletions.values().to_vec();
        let moved = std::mem::replace(&mut self.step, OuterMove::zeros(0));
        let pending = std::mem::take(&mut self.pending);
        let (primal, dual) = (step::damped(primal), step::damped(dual));
        vector::axpy(primal, &moved.w, &mut self.w);
        self.b += primal * moved.b;
        vector::axpy(dual, &moved.low, &mut self.low);
        vector::axpy(dual, &moved.high, &mut self.high);
        let w = self.w.clone();
        self.totals_after(|block| {
            block.catch_up(pending);
            block.advance(moved.outer(&values), primal, dual);
            block.choose_active(&w, &values, deactivate);
        })
    }
}
