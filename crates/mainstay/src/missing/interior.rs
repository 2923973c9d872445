//! The point of the interior point method, and its step.
//!
//! The entries of a block and their directions fit in a processor's own memory, so whatever can be done to a block at
//! once is: a direction takes two passes over the blocks, one before and one after the system in the weights.

use rayon::prelude::*;

use super::block::{Block, Lack, Outer};
use super::lengths::{Rates, TRIES};
use super::problem::RobustHinge;
use super::scaled::Scaled;
use super::system::System;
use crate::control::Control;
use crate::error::Result;
use crate::linalg::vector::{self, vectorized};

/// Share of the way to the boundary that a step takes.
const DAMPING: f64 = 0.995;
/// Share of the mean product that a step aims at, at most.
const CENTRING: f64 = 0.7;
/// How much longer a step a Gondzio corrector asks for.
const FURTHER: f64 = 0.7;

/// The weights with their box, and the rows in blocks.
pub(super) struct Interior {
    pub scaled: Scaled,
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
    /// What the blocks' steps lack; they catch up in their next pass.
    lack: Lack,
    /// The best point seen, in the solver's units: (objective, weights, intercept).
    pub best: (f64, Vec<f64>, f64),
    /// The largest dual value kept.
    pub bound: f64,
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
pub(super) struct Totals {
    pub primal: f64,
    pub dual: f64,
    gradient: Vec<f64>,
    imbalance: f64,
    products: f64,
    count: usize,
}

impl Interior {
    pub(super) fn new(mut scaled: Scaled, shares: [f64; 2], intercept: bool) -> Self {
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
            correctors: (2 + p.min(rows) / 100).min(5),
            w: vec![0.0; p],
            b: 0.0,
            low,
            high,
            step: OuterMove::zeros(p),
            trial: OuterMove::zeros(p),
            lack: Lack::Nothing,
            best: (f64::INFINITY, vec![0.0; p], 0.0),
            bound: f64::NEG_INFINITY,
            scaled,
        }
    }

    /// The sums at the present point.
    pub(super) fn totals(&mut self) -> Totals {
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
    pub(super) fn keep_bound(&mut self, value: f64) {
        if value > self.bound {
            self.bound = value;
            self.scaled.blocks.par_iter_mut().for_each(Block::keep);
        }
    }

    /// Evaluates the present weights exactly, with their best intercept, and keeps them if they are better.
    pub(super) fn judge(&mut self, problem: &RobustHinge<'_>) {
        let (blocks, set) = (&self.scaled.blocks, &self.scaled.deletions);
        let parts: Vec<Vec<f64>> = blocks
            .par_iter()
            .map(|block| block.shortfalls(&self.w, set, &mut Vec::new()))
            .collect();
        let shortfalls = parts.concat();
        let scaled = RobustHinge { margin: self.scaled.norm / shortfalls.len() as f64, ..*problem };
        let b = scaled.best_intercept(&shortfalls, self.b);
        let value = scaled.value(&shortfalls, b);
        if value < self.best.0 {
            self.best = (value, self.w.clone(), b);
        }
    }

    pub(super) fn factor(&mut self) -> Result<System> {
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
    pub(super) fn direction(
        &mut self,
        system: &System,
        totals: &Totals,
        control: &Control,
    ) -> Result<(f64, f64)> {
        let residual: Vec<f64> =
            (0..self.w.len()).map(|j| totals.gradient[j] + self.low[j] - self.high[j]).collect();
        self.step = OuterMove::zeros(self.w.len());
        self.lack = Lack::Everything;
        let predictor = |x: f64, _: f64, z: f64, _: f64| -x * z;
        let lengths =
            self.solve(system, &predictor, Some((&residual, totals.imbalance)), &[1.0; TRIES]);
        self.combine(1.0, 1.0);
        let (mut primal, mut dual) = (lengths.0[0], lengths.1[0]);

        let left = (1.0 - primal).max(1.0 - dual);
        let goal = left.powi(3).clamp(1e-9, CENTRING) * totals.products / totals.count as f64;
        let weights = spread((primal * dual).max(1e-3), 1.0);
        let (primals, duals) =
            self.solve(system, &move |_, dx, _, dz| goal - dx * dz, None, &weights);
        let (at_primal, at_dual) = (longest(&primals), longest(&duals));
        self.combine(weights[at_primal], weights[at_dual]);
        (primal, dual) = (primals[at_primal], duals[at_dual]);

        for _ in 0..self.correctors {
            control.check()?;
            if primal.min(dual) > 0.98 {
                break;
            }
            let (aim_primal, aim_dual) = ((primal + FURTHER).min(1.0), (dual + FURTHER).min(1.0));
            let centre = move |x: f64, dx: f64, z: f64, dz: f64| {
                let product = (x + aim_primal * dx) * (z + aim_dual * dz);
                (product.clamp(0.1 * goal, 10.0 * goal) - product).max(-10.0 * goal)
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
            if gain < 1.02 {
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
        let lack = std::mem::take(&mut self.lack);
        let parts: Vec<(Vec<f64>, f64)> = self
            .scaled
            .blocks
            .par_iter_mut()
            .map(|block| {
                let mut rhs = vec![0.0; p];
                let rhs_b = vectorized(|| {
                    block.catch_up(lack);
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
        self.lack = Lack::Trial { primal, dual };
        vector::axpy(primal, &self.trial.w, &mut self.step.w);
        self.step.b += primal * self.trial.b;
        vector::axpy(dual, &self.trial.low, &mut self.step.low);
        vector::axpy(dual, &self.trial.high, &mut self.step.high);
    }

    /// Moves along `step`, nearly as far as these lengths say, and looks again at what is contested; returns the sums at
    /// the new point.
    pub(super) fn advance(&mut self, primal: f64, dual: f64, settle: bool) -> Totals {
        let values = self.scaled.deletions.values().to_vec();
        let step = std::mem::replace(&mut self.step, OuterMove::zeros(0));
        let lack = std::mem::take(&mut self.lack);
        let (primal, dual) = (DAMPING * primal, DAMPING * dual);
        vector::axpy(primal, &step.w, &mut self.w);
        self.b += primal * step.b;
        vector::axpy(dual, &step.low, &mut self.low);
        vector::axpy(dual, &step.high, &mut self.high);
        let w = self.w.clone();
        self.totals_after(|block| {
            block.catch_up(lack);
            block.advance(step.outer(&values), primal, dual);
            block.contest(&w, &values, settle);
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
