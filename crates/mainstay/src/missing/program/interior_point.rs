//! The interior point method: its iterates, directions and stop.
//!
//! The entries of a block and their directions fit in a processor's own memory, so whatever can be done to a block at
//! once is: a direction takes two passes over the blocks, one before and one after the system in the weights.

use rayon::prelude::*;

use super::block::{Block, Outer, PendingStep};
use super::normal_equations::System;
use super::scaled::Scaled;
use super::step_lengths::{Rates, TRIES};
use crate::control::Control;
use crate::error::Result;
use crate::linalg::vector::{self, vectorized};
use crate::missing::certificate::Dual;
use crate::missing::problem::RobustHinge;
use crate::optim::{Bracket, Budget, step};

/// Share of the mean product that a step aims at, at most: aiming at all of it would keep short steps short.
const MOST_CENTRING: f64 = 0.7;
/// The same, at least: products must not underflow.
const LEAST_CENTRING: f64 = 1e-9;
/// How much longer a step a Gondzio corrector asks for, in units of a full step.
const FURTHER: f64 = 0.7;
/// A Gondzio corrector moves products below this multiple of the mean up to it.
const LOWEST_PRODUCT: f64 = 0.1;
/// The same for products above, down, by at most as much.
const HIGHEST_PRODUCT: f64 = 10.0;
/// No corrector follows steps beyond this share of a full one.
const LONG_ENOUGH: f64 = 0.98;
/// No corrector follows one that made the steps longer by less than this factor.
const WORTH_ANOTHER: f64 = 1.02;
/// Weights of the corrector are tried down to this.
const LEAST_WEIGHT: f64 = 1e-3;
/// Order of the system, in columns or rows, whose factorisation costs as much as one more corrector.
const ORDER_PER_CORRECTOR: usize = 100;
/// Steps shorter than this share of a full one make no progress worth a factorisation.
const SHORTEST: f64 = 1e-7;
/// The answer is evaluated exactly once the gap of the iterates is this many times the one asked for.
const NEAR: f64 = 100.0;
/// Share of the gap asked for that is reached before stopping: the certificate rounds differently.
const SAFETY: f64 = 0.9;
/// Entries are not made inactive before the dual value is this share of the primal one: until then
/// weights change too much.
const CLOSING: f64 = 0.5;

/// The weights with their box, and the rows in blocks.
pub(in crate::missing) struct Interior {
    scaled: Scaled,
    intercept: bool,
    /// Gondzio correctors per factorisation, at most.
    correctors: usize,
    w: Vec<f64>,
    b: f64,
    /// Multipliers of $w \ge -c$ and $w \le c$.
    low: Vec<f64>,
    high: Vec<f64>,
    step: OuterMove,
    trial: OuterMove,
    /// What the blocks' steps are still to be given; they catch up in their next pass.
    pending: PendingStep,
    /// The best weights and intercept, and the best bound, in the solver's units. The dual point itself is
    /// with the blocks.
    best: Bracket<(Vec<f64>, f64), ()>,
}

#[derive(Debug, Clone)]
struct OuterMove {
    w: Vec<f64>,
    b: f64,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl OuterMove {
    fn zeros(p: usize) -> Self {
        Self { w: vec![0.0; p], b: 0.0, low: vec![0.0; p], high: vec![0.0; p] }
    }

    fn outer<'a>(&'a self, values: &'a [f64]) -> Outer<'a> {
        Outer { values, w: &self.w, b: self.b }
    }
}

/// Sums over the present point.
struct Totals {
    primal: f64,
    dual: f64,
    gradient: Vec<f64>,
    imbalance: f64,
    products: f64,
    count: usize,
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
        // A corrector is two passes over the entries; a factorisation costs as much as one for every hundred of its order.
        let rows: usize = scaled.blocks.iter().map(Block::rows).sum();
        let typical = (vector::norm_sq(&gradient) / p as f64).sqrt();
        let base = |g: f64| 0.5 * g.abs().max(typical) + 1e-3;
        let low = gradient.iter().map(|&g| base(g) + (-g).max(0.0)).collect();
        let high = gradient.iter().map(|&g| base(g) + g.max(0.0)).collect();
        Self {
            intercept,
            correctors: (2 + p.min(rows) / ORDER_PER_CORRECTOR).min(5),
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
        let mut totals = self.totals();
        while budget.left() > 0 {
            control.check()?;
            let norm = self.scaled.norm;
            let allowed = budget.tol() * (totals.primal / norm).max(1.0);
            // The exact objective is below that of the iterate, whose slack shrinks with the products.
            if (totals.primal - totals.dual) / norm <= NEAR * allowed || budget.left() == 1 {
                self.keep_bound(totals.dual / norm);
                self.evaluate(problem);
                if self.best.gap(1.0) <= SAFETY * budget.tol() {
                    return Ok(());
                }
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
    fn totals(&mut self) -> Totals {
        self.totals_after(|_| ())
    }

    /// The sums after `change` was made to every block.
    fn totals_after(&mut self, change: impl Fn(&mut Block) + Sync) -> Totals {
        let values = self.scaled.deletions.values();
        let p = self.w.len();
        let parts: Vec<_> = self
            .scaled
            .blocks
            .par_iter_mut()
            .map(|block| {
                let mut gradient = vec![0.0; p];
                let (sums, products) = vectorized(|| {
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
    fn evaluate(&mut self, problem: &RobustHinge<'_>) {
        let (blocks, set) = (&self.scaled.blocks, &self.scaled.deletions);
        let parts: Vec<Vec<f64>> = blocks
            .par_iter()
            .map(|block| block.shortfalls(&self.w, set, &mut Vec::new()))
            .collect();
        let shortfalls = parts.concat();
        let scaled = RobustHinge { margin: self.scaled.norm / shortfalls.len() as f64, ..*problem };
        let b = scaled.best_intercept(&shortfalls, self.b);
        let value = scaled.value(&shortfalls, b);
        self.best.offer_primal(value, || (self.w.clone(), b));
    }

    fn factor(&mut self) -> Result<System> {
        let values = self.scaled.deletions.values();
        self.scaled.blocks.par_iter_mut().for_each(|block| vectorized(|| block.factor(values)));
        let (w, boxes) = (&self.w, &self.scaled.boxes);
        let curvature: Vec<f64> = (0..w.len())
            .map(|j| self.low[j] / (w[j] + boxes[j]) + self.high[j] / (boxes[j] - w[j]))
            .collect();
        System::new(&self.scaled.blocks, values, &curvature, self.intercept)
    }

    /// Predictor, weighted corrector, Gondzio correctors; returns the step lengths.
    ///
    /// The corrector aims at the cube of what the predictor leaves, as usual, but never at the whole mean product: that
    /// would keep short steps short.
    fn direction(
        &mut self,
        system: &System,
        totals: &Totals,
        control: &Control,
    ) -> Result<(f64, f64)> {
        let residual: Vec<f64> =
            (0..self.w.len()).map(|j| totals.gradient[j] + self.low[j] - self.high[j]).collect();
        self.step = OuterMove::zeros(self.w.len());
        self.pending = PendingStep::FromZero;
        let predictor = |x: f64, _: f64, z: f64, _: f64| -x * z;
        let lengths =
            self.solve(system, &predictor, Some((&residual, totals.imbalance)), &[1.0; TRIES]);
        self.combine(1.0, 1.0);
        let (mut primal, mut dual) = (lengths.0[0], lengths.1[0]);

        let left = (1.0 - primal).max(1.0 - dual);
        let centring = step::centring(left, 1.0, LEAST_CENTRING).min(MOST_CENTRING);
        let goal = centring * totals.products / totals.count as f64;
        let weights = spread((primal * dual).max(LEAST_WEIGHT), 1.0);
        let (primals, duals) =
            self.solve(system, &move |_, dx, _, dz| goal - dx * dz, None, &weights);
        let (at_primal, at_dual) = (longest(&primals), longest(&duals));
        self.combine(weights[at_primal], weights[at_dual]);
        (primal, dual) = (primals[at_primal], duals[at_dual]);

        for _ in 0..self.correctors {
            control.check()?;
            if primal.min(dual) > LONG_ENOUGH {
                break;
            }
            let (aim_primal, aim_dual) = ((primal + FURTHER).min(1.0), (dual + FURTHER).min(1.0));
            let centre = move |x: f64, dx: f64, z: f64, dz: f64| {
                let product = (x + aim_primal * dx) * (z + aim_dual * dz);
                let (low, high) = (LOWEST_PRODUCT * goal, HIGHEST_PRODUCT * goal);
                (product.clamp(low, high) - product).max(-high)
            };
            let weights = spread(1.0 / TRIES as f64, 1.0);
            let (primals, duals) = self.solve(system, &centre, None, &weights);
            let (at_primal, at_dual) = (longest(&primals), longest(&duals));
            let (better_primal, better_dual) = (primals[at_primal] > primal, duals[at_dual] > dual);
            let gain = (primals[at_primal] / primal).max(duals[at_dual] / dual);
            self.combine(
                if better_primal { weights[at_primal] } else { 0.0 },
                if better_dual { weights[at_dual] } else { 0.0 },
            );
            primal = primal.max(primals[at_primal]);
            dual = dual.max(duals[at_dual]);
            if gain < WORTH_ANOTHER {
                break;
            }
        }
        Ok((primal, dual))
    }

    /// Solves for `trial`. The right-hand side of a product $xz$ is `target(x, dx, z, dz)` with `step` as
    /// $(dx, dz)$; `residual` is what is left of the dual equations of the weights and the intercept.
    ///
    /// Returns the step lengths to the boundary, at most 1, primal and dual, along `step + weight * trial` for
    /// each weight.
    fn solve(
        &mut self,
        system: &System,
        target: &(impl Fn(f64, f64, f64, f64) -> f64 + Sync),
        residual: Option<(&[f64], f64)>,
        weights: &[f64; TRIES],
    ) -> ([f64; TRIES], [f64; TRIES]) {
        let p = self.w.len();
        let values = self.scaled.deletions.values();
        let boxes = &self.scaled.boxes;
        let outer = self.step.outer(values);
        let pending = std::mem::take(&mut self.pending);
        let parts: Vec<(Vec<f64>, f64)> = self
            .scaled
            .blocks
            .par_iter_mut()
            .map(|block| {
                let mut rhs = vec![0.0; p];
                let rhs_b = vectorized(|| {
                    block.catch_up(pending);
                    block.reduce(outer, target, &mut rhs)
                });
                (rhs, rhs_b)
            })
            .collect();
        let (mut rhs, mut rhs_b) = residual.map_or((vec![0.0; p], 0.0), |(r, b)| (r.to_vec(), b));
        for (part, part_b) in parts {
            vector::axpy(1.0, &part, &mut rhs);
            rhs_b += part_b;
        }
        let (step, trial) = (&self.step, &mut self.trial);
        for j in 0..p {
            let (below, above) = (self.w[j] + boxes[j], boxes[j] - self.w[j]);
            trial.low[j] = target(below, step.w[j], self.low[j], step.low[j]);
            trial.high[j] = target(above, -step.w[j], self.high[j], step.high[j]);
            rhs[j] += trial.low[j] / below - trial.high[j] / above;
        }
        trial.b = system.solve(&mut rhs, rhs_b);
        trial.w = rhs;
        for (j, c) in boxes.iter().enumerate() {
            let (below, above) = (self.w[j] + c, c - self.w[j]);
            trial.low[j] = (trial.low[j] - self.low[j] * trial.w[j]) / below;
            trial.high[j] = (trial.high[j] + self.high[j] * trial.w[j]) / above;
        }
        let (one, two) = (self.step.outer(values), self.trial.outer(values));
        let parts: Vec<(Rates, Rates)> = self
            .scaled
            .blocks
            .par_iter_mut()
            .map(|block| {
                vectorized(|| {
                    block.expand(two);
                    block.rates(one, two, weights)
                })
            })
            .collect();
        let (mut primal, mut dual) = (Rates::default(), Rates::default());
        for (part_primal, part_dual) in parts {
            primal.merge(&part_primal);
            dual.merge(&part_dual);
        }
        for j in 0..self.w.len() {
            let c = self.scaled.boxes[j];
            let (step, trial) = (&self.step, &self.trial);
            primal.see(self.w[j] + c, step.w[j], trial.w[j], weights);
            primal.see(c - self.w[j], -step.w[j], -trial.w[j], weights);
            dual.see(self.low[j], step.low[j], trial.low[j], weights);
            dual.see(self.high[j], step.high[j], trial.high[j], weights);
        }
        (primal.lengths(), dual.lengths())
    }

    /// `step` += weight * `trial`, with a weight of its own for either side.
    fn combine(&mut self, primal: f64, dual: f64) {
        self.pending = PendingStep::Trial { primal, dual };
        vector::axpy(primal, &self.trial.w, &mut self.step.w);
        self.step.b += primal * self.trial.b;
        vector::axpy(dual, &self.trial.low, &mut self.step.low);
        vector::axpy(dual, &self.trial.high, &mut self.step.high);
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

/// Equally spaced weights from `first` to `last`.
fn spread(first: f64, last: f64) -> [f64; TRIES] {
    std::array::from_fn(|k| first + (last - first) * (k as f64 / (TRIES - 1) as f64))
}

/// Index of the largest length; the first of equals.
fn longest(lengths: &[f64; TRIES]) -> usize {
    (1..TRIES).fold(0, |best, k| if lengths[k] > lengths[best] { k } else { best })
}
