//! A direction of the interior point method: predictor, weighted corrector, Gondzio correctors.
//!
//! The entries of a block and their directions fit in a processor's own memory, so whatever can be done to a block at
//! once is: a direction takes two passes over the blocks, one before and one after the system in the weights.

use rayon::prelude::*;

use super::block::{Block, PendingStep};
use super::interior_point::{Interior, OuterMove, Totals};
use super::normal_equations::System;
use super::step_lengths::{Rates, TRIES};
use crate::control::Control;
use crate::error::Result;
use crate::linalg::vector::{self, vectorized};
use crate::optim::step;

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

/// Step lengths to the boundary, primal and dual, for each weight that was tried.
type Lengths = ([f64; TRIES], [f64; TRIES]);

impl Interior {
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
        self.pending = PendingStep::FromZero;
        let predictor = |x: f64, _: f64, z: f64, _: f64| -x * z;
        let lengths = self.solve(
            system,
            &predictor,
            Some((&residual, totals.imbalance)),
            Some(&[1.0; TRIES]),
        );
        self.combine(1.0, 1.0);
        let (primal, dual) = (lengths.0[0], lengths.1[0]);

        let left = (1.0 - primal).max(1.0 - dual);
        let centring = step::centring(left, 1.0, LEAST_CENTRING).min(MOST_CENTRING);
        let goal = centring * totals.products / totals.count as f64;
        let weights = spread((primal * dual).max(LEAST_WEIGHT), 1.0);
        let (primals, duals) =
            self.solve(system, &move |_, dx, _, dz| goal - dx * dz, None, Some(&weights));
        let (at_primal, at_dual) = (longest(&primals), longest(&duals));
        self.combine(weights[at_primal], weights[at_dual]);
        self.correct(system, goal, (primals[at_primal], duals[at_dual]), control)
    }

    /// Gondzio's correctors: products that a longer step would leave far from `goal` are moved towards it.
    fn correct(
        &mut self,
        system: &System,
        goal: f64,
        (mut primal, mut dual): (f64, f64),
        control: &Control,
    ) -> Result<(f64, f64)> {
        for _ in 0..self.correctors {
            control.check()?;
            if primal.min(dual) > LONG_ENOUGH {
                break;
            }
            let (aim_primal, aim_dual) = ((primal + FURTHER).min(1.0), (dual + FURTHER).min(1.0));
            let centre = towards(goal, (aim_primal, aim_dual));
            let weights = spread(1.0 / TRIES as f64, 1.0);
            let (primals, duals) = self.solve(system, &centre, None, Some(&weights));
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

    /// Solves for `trial`. The right-hand side of a product `$xz$` is `target(x, dx, z, dz)` with `step` as
    /// `$(dx, dz)$`; `residual` is what is left of the dual equations of the weights and the intercept.
    ///
    /// Returns the step lengths to the boundary, at most 1, along `step + weight * trial` for each weight, if there are
    /// any.
    pub(super) fn solve(
        &mut self,
        system: &System,
        target: &(impl Fn(f64, f64, f64, f64) -> f64 + Sync),
        residual: Option<(&[f64], f64)>,
        weights: Option<&[f64; TRIES]>,
    ) -> Lengths {
        let (mut rhs, rhs_b) = self.reduce_blocks(target, residual);
        let boxes = &self.scaled.boxes;
        let (step, trial) = (&self.step, &mut self.trial);
        for (j, c) in boxes.iter().enumerate() {
            let (below, above) = (self.w[j] + c, c - self.w[j]);
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
        self.expand_blocks(weights, residual.is_some())
    }

    /// First pass over the blocks: their part of the right-hand sides of the weights and the intercept.
    fn reduce_blocks(
        &mut self,
        target: &(impl Fn(f64, f64, f64, f64) -> f64 + Sync),
        residual: Option<(&[f64], f64)>,
    ) -> (Vec<f64>, f64) {
        let p = self.w.len();
        let outer = self.step.outer(self.scaled.deletions.values());
        let pending = std::mem::take(&mut self.pending);
        let one = |block: &mut Block| {
            let mut rhs = vec![0.0; p];
            let rhs_b = vectorized!({
                block.catch_up(pending);
                block.reduce(outer, target, &mut rhs, residual.is_some())
            });
            (rhs, rhs_b)
        };
        let parts: Vec<(Vec<f64>, f64)> = self.scaled.blocks.par_iter_mut().map(one).collect();
        let (mut rhs, mut rhs_b) = residual.map_or((vec![0.0; p], 0.0), |(r, b)| (r.to_vec(), b));
        for (part, part_b) in parts {
            vector::axpy(1.0, &part, &mut rhs);
            rhs_b += part_b;
        }
        (rhs, rhs_b)
    }

    /// Second pass over the blocks: their part of `trial`, and how far one can go.
    fn expand_blocks(&mut self, weights: Option<&[f64; TRIES]>, residual: bool) -> Lengths {
        let values = self.scaled.deletions.values();
        let (one, two) = (self.step.outer(values), self.trial.outer(values));
        let parts: Vec<(Rates, Rates)> = self
            .scaled
            .blocks
            .par_iter_mut()
            .map(|block| {
                vectorized!({
                    block.expand(two, residual);
                    weights.map_or_else(Default::default, |weights| block.rates(one, two, weights))
                })
            })
            .collect();
        let (mut primal, mut dual) = (Rates::default(), Rates::default());
        for (part_primal, part_dual) in parts {
            primal.merge(&part_primal);
            dual.merge(&part_dual);
        }
        let (step, trial) = (&self.step, &self.trial);
        let boxes = self.scaled.boxes.iter().enumerate();
        for ((j, c), weights) in boxes.filter_map(|at| weights.map(|weights| (at, weights))) {
            primal.see(self.w[j] + c, step.w[j], trial.w[j], weights);
            primal.see(c - self.w[j], -step.w[j], -trial.w[j], weights);
            dual.see(self.low[j], step.low[j], trial.low[j], weights);
            dual.see(self.high[j], step.high[j], trial.high[j], weights);
        }
        (primal.lengths(), dual.lengths())
    }

    /// `step` += weight * `trial`, with a weight of its own for either side.
    pub(super) fn combine(&mut self, primal: f64, dual: f64) {
        self.pending = PendingStep::Trial { primal, dual };
        vector::axpy(primal, &self.trial.w, &mut self.step.w);
        self.step.b += primal * self.trial.b;
        vector::axpy(dual, &self.trial.low, &mut self.step.low);
        vector::axpy(dual, &self.trial.high, &mut self.step.high);
    }
}

/// The right-hand sides of Gondzio's corrector: products that steps of these lengths would leave far from `goal` are moved
/// towards it.
fn towards(goal: f64, (primal, dual): (f64, f64)) -> impl Fn(f64, f64, f64, f64) -> f64 + Sync {
    move |x, dx, z, dz| {
        let product = (x + primal * dx) * (z + dual * dz);
        let (low, high) = (LOWEST_PRODUCT * goal, HIGHEST_PRODUCT * goal);
        (product.max(low).min(high) - product).max(-high)
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
