//! Bent steps: a step of the interior point method that entries at the boundary do not shorten.
//!
//! With millions of entries some always reach the boundary after a twentieth of a step. Here only the variables that a row
//! or a column has once limit the step; an entry that would go too far goes part of the way. On the primal side that
//! costs a little loss ($\xi$), on the dual side it leaves residuals of the weights' and the rows' equations, which the next
//! direction removes along with the others. The box starts with products of the size of the entries', whatever the dual
//! equations say. Such points prove nothing until their residuals vanish: bounds are those of `certify`.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::block::{Block, Outer, PendingStep};
use super::direction::towards;
use super::interior_point::{Interior, OuterMove, SAFETY, Totals};
use super::normal_equations::System;
use crate::error::Result;
use crate::linalg::vector::vectorized;
use crate::missing::certificate::{Dual, certify};
use crate::missing::problem::RobustHinge;
use crate::optim::{Budget, step};

/// Share of its value that an entry's variable keeps in a step, at least.
const FLOOR: f64 = 0.3;
/// Share of the entries that a step may bend, on either side.
const BENT: f64 = 0.005;
/// Steps are this long, at most; while residuals are removed at the end, a full one.
const LONGEST: f64 = 0.5;
/// Step lengths that are tried, as shares of the longest.
const TRIES: [f64; 6] = [1.0, 0.7, 0.5, 0.35, 0.25, 0.15];
/// A step may be longer than the one before by this factor.
const GROWTH: f64 = 1.6;
/// Share of the way to the boundary that a step takes for the variables that do not bend.
const DAMPING: f64 = 0.9;
/// Share of the mean product that a step aims at.
const CENTRING: f64 = 0.3;
/// The length that a step aims at, at least.
const LEAST_AIM: f64 = 0.1;
/// The weights are judged this many times further out: with many more columns than rows they grow for many steps after
/// their direction leaves no loss.
const LOOKS: [f64; 2] = [1.0, 8.0];
/// Steps, at most.
const STEPS: usize = 100;
/// Steps shorter than this share of a full one lead nowhere.
const SHORTEST: f64 = 1e-4;
/// Share of the gap asked for that the values without residuals have when steps begin to remove these only.
const CLOSE: f64 = 0.7;

impl Interior {
    /// Bent steps until the gap asked for is proven (whether it is, is returned) or they lead nowhere. For problems with
    /// variables at all entries.
    pub(in crate::missing) fn bend(
        &mut self,
        problem: &RobustHinge<'_>,
        budget: &mut Budget<'_>,
    ) -> Result<bool> {
        let (control, limit) = (budget.control(), budget.left());
        // Without loss nothing is left to prove: it is never negative.
        self.best.offer_dual(0.0, || ());
        self.small_multipliers();
        let mut totals = self.totals();
        let (mut aim, mut closing) = ([LONGEST; 2], false);
        for _ in 0..STEPS.min(limit) {
            control.check()?;
            for factor in LOOKS {
                self.evaluate_scaled(problem, factor);
            }
            closing = self.is_close(&totals, budget.tol(), closing);
            if closing {
                self.offer_certified(problem);
            }
            if self.best.gap(1.0) <= SAFETY * budget.tol() {
                return Ok(true);
            }
            control.progress(budget.spent() as u64, limit as u64);
            let Ok(system) = self.factor() else { break };
            budget.take()?;
            self.bent_direction(&system, &totals, aim, closing);
            let longest = (GROWTH * aim[0].max(aim[1])).min(LONGEST);
            let lengths = self.bent_lengths(if closing { 1.0 } else { longest });
            if !(lengths[0] + lengths[1]).is_finite() || lengths[0].max(lengths[1]) < SHORTEST {
                break;
            }
            aim = lengths.map(|length| length.clamp(LEAST_AIM, LONGEST));
            totals = self.advance_bent(lengths);
        }
        Ok(false)
    }

    /// Multipliers of the box whose products are those of the entries.
    fn small_multipliers(&mut self) {
        let (mut sum, mut count) = (0.0, 0);
        for (products, many) in self.scaled.blocks.iter().map(Block::products) {
            sum += products;
            count += many;
        }
        let goal = sum / count as f64;
        self.low = self.scaled.boxes.iter().map(|c| goal / c).collect();
        self.high.clone_from(&self.low);
    }

    /// The dual value of the present point to first order, if its residuals were removed.
    fn without_residual(&self, totals: &Totals) -> f64 {
        let columns = totals.gradient.iter().zip(&self.w).zip(&self.scaled.boxes);
        let left: f64 = columns.map(|((g, w), c)| c * g.abs() - g * w).sum();
        (totals.dual + left) / self.scaled.norm
    }

    /// Whether little but the residuals is left of the gap; `already` if it was so before.
    fn is_close(&self, totals: &Totals, tol: f64, already: bool) -> bool {
        let share = if already { SAFETY } else { CLOSE };
        let upper = self.best.upper();
        upper - self.without_residual(totals) <= share * tol * upper.max(1.0)
    }

    /// Keeps the dual point if what `certify` makes of it is the largest bound so far.
    fn offer_certified(&mut self, problem: &RobustHinge<'_>) {
        let unit = self.scaled.dual_unit;
        let mut dual = Dual::default();
        for block in &self.scaled.blocks {
            dual.sigma.extend(block.sigma.iter().map(|v| v * unit));
            dual.tau.extend(block.tau.iter().map(|v| v * unit));
        }
        let nothing = vec![0.0; self.w.len()];
        let bound = certify(problem, &nothing, 0.0, &dual).dual;
        if self.best.offer_dual(bound, || ()) {
            self.scaled.blocks.iter_mut().for_each(Block::keep);
        }
    }

    /// Towards smaller products with one corrector for steps of lengths `aim`, or, at the end, only towards no residuals.
    fn bent_direction(&mut self, system: &System, totals: &Totals, aim: [f64; 2], closing: bool) {
        let residual: Vec<f64> =
            (0..self.w.len()).map(|j| totals.gradient[j] + self.low[j] - self.high[j]).collect();
        self.step = OuterMove::zeros(self.w.len());
        self.pending = PendingStep::FromZero;
        let share = if closing { 1.0 } else { CENTRING };
        let goal = share * totals.products / totals.count as f64;
        let first = move |x: f64, _: f64, z: f64, _: f64| goal - x * z;
        self.solve(system, &first, Some((&residual, totals.imbalance)), None);
        self.combine(1.0, 1.0);
        if !closing {
            self.solve(system, &towards(goal, (aim[0], aim[1])), None, None);
            self.combine(1.0, 1.0);
        }
    }

    /// The longest primal and dual steps, at most `longest`, that rows allow and that bend few entries.
    fn bent_lengths(&mut self, longest: f64) -> [f64; 2] {
        let pending = std::mem::take(&mut self.pending);
        let outer = self.step.outer(self.scaled.deletions.values());
        let lengths = TRIES.map(|share| share * longest);
        let (mut rows, mut bent, mut entries) = ([longest / DAMPING; 2], [[0; TRIES.len()]; 2], 0);
        for block in &mut self.scaled.blocks {
            let found = vectorized!({
                block.catch_up(pending);
                block.bent(outer, &lengths)
            });
            for (sum, part) in bent.iter_mut().flatten().zip(found.iter().flatten()) {
                *sum += part;
            }
            block.row_lengths(&mut rows);
            entries += block.a.len();
        }
        let most = BENT * entries as f64;
        std::array::from_fn(|side| {
            let fits = (0..TRIES.len()).find(|&k| f64::from(bent[side][k]) <= most);
            lengths[fits.unwrap_or(TRIES.len() - 1)].min(DAMPING * rows[side])
        })
    }

    /// Moves along `step` and returns the sums at the new point.
    fn advance_bent(&mut self, [primal, dual]: [f64; 2]) -> Totals {
        let values = self.scaled.deletions.values().to_vec();
        let moved = std::mem::replace(&mut self.step, OuterMove::zeros(0));
        for (j, c) in self.scaled.boxes.iter().enumerate() {
            let (below, above) = (self.w[j] + c, c - self.w[j]);
            let w = self.w[j] + primal * moved.w[j];
            self.w[j] = w.max(FLOOR * below - c).min(c - FLOOR * above);
            self.low[j] = (self.low[j] + dual * moved.low[j]).max(FLOOR * self.low[j]);
            self.high[j] = (self.high[j] + dual * moved.high[j]).max(FLOOR * self.high[j]);
        }
        self.b += primal * moved.b;
        let (w, b) = (self.w.clone(), self.b);
        self.totals_after(|block| {
            block.advance_bent(Outer { values: &values, w: &w, b }, primal, dual);
        })
    }
}

impl Block {
    /// Shortens `longest` (primal, dual) to what the variables allow that rows have once.
    fn row_lengths(&self, longest: &mut [f64; 2]) {
        let d = &self.step;
        let [primal, dual] = longest;
        for i in 0..self.rows() {
            *primal = step::ratio(self.lambda[i], d.lambda[i], *primal);
            *primal = step::ratio(self.xi[i], d.xi[i], *primal);
            *primal = step::ratio(self.r[i], d.r[i], *primal);
            *dual = step::ratio(self.sigma[i], d.sigma[i], *dual);
            *dual = step::ratio(self.g[i], -d.sigma[i], *dual);
            *dual = step::ratio(self.l[i], d.l[i], *dual);
        }
    }

    /// How many entries steps of these lengths would bend, primal and dual.
    #[inline(always)]
    fn bent(&self, outer: Outer<'_>, lengths: &[f64; TRIES.len()]) -> [[u32; TRIES.len()]; 2] {
        let d = &self.step;
        let mut counts = [[0; TRIES.len()]; 2];
        let may = 1.0 - FLOOR;
        for i in 0..self.rows() {
            for e in self.starts[i]..self.starts[i + 1] {
                let j = self.columns[e] as usize;
                let d_s = self.a[e] * outer.w[j] - outer.values[j] * d.lambda[i] + d.alpha[e];
                // Largest relative decreases.
                let primal = (-d_s / self.s[e]).max(-d.alpha[e] / self.alpha[e]);
                let dual = (-d.tau[e] / self.tau[e]).max((d.tau[e] - d.sigma[i]) / self.q[e]);
                for (k, length) in lengths.iter().enumerate() {
                    counts[0][k] += u32::from(length * primal > may);
                    counts[1][k] += u32::from(length * dual > may);
                }
            }
        }
        counts
    }

    /// Moves along `step` to the weights and the intercept in `outer`; entries that would lose more than they may lose
    /// what they may.
    #[inline(always)]
    fn advance_bent(&mut self, outer: Outer<'_>, primal: f64, dual: f64) {
        for i in 0..self.rows() {
            let d_sigma = dual * self.step.sigma[i];
            self.sigma[i] += d_sigma;
            self.g[i] -= d_sigma;
            self.lambda[i] += primal * self.step.lambda[i];
            let (sum_alpha, kept) = self.bend_row(i, outer, primal, dual);
            self.l[i] += dual * self.step.l[i];
            self.short[i] = kept - self.need[i] * self.sigma[i] - self.l[i];
            let base =
                self.need[i] * self.lambda[i] - sum_alpha + self.y[i] * outer.b - self.zeros[i];
            // What bent entries took from the row's slack is given back as loss.
            let xi = self.xi[i] + primal * self.step.xi[i];
            self.r[i] = (base + xi).max(FLOOR * self.r[i]);
            self.xi[i] = (self.r[i] - base).max(xi);
        }
    }

    /// The entries of row `i`; returns $(\sum_e\alpha_e, \sum_e v_j\tau_e)$.
    #[inline(always)]
    fn bend_row(&mut self, i: usize, outer: Outer<'_>, primal: f64, dual: f64) -> (f64, f64) {
        let row = self.starts[i]..self.starts[i + 1];
        let n = row.len();
        let (price, sigma) = (self.lambda[i] + 1.0, self.sigma[i]);
        let (columns, a) = (&self.columns[row.clone()][..n], &self.a[row.clone()][..n]);
        let d_alpha = &self.step.alpha[row.clone()][..n];
        let d_tau = &self.step.tau[row.clone()][..n];
        let (s, alpha) = (&mut self.s[row.clone()][..n], &mut self.alpha[row.clone()][..n]);
        let (tau, q) = (&mut self.tau[row.clone()][..n], &mut self.q[row][..n]);
        let (mut sum_alpha, mut kept) = (0.0, 0.0);
        for k in 0..n {
            let j = columns[k] as usize;
            // How much more than its price the entry would have to be worth: alpha - s.
            let distance = outer.values[j] * price - a[k] * outer.w[j];
            let least = (FLOOR * alpha[k]).max(distance + FLOOR * s[k]);
            alpha[k] = (alpha[k] + primal * d_alpha[k]).max(least);
            s[k] = alpha[k] - distance;
            sum_alpha += alpha[k];
            let most = sigma - FLOOR * q[k];
            tau[k] = (tau[k] + dual * d_tau[k]).max(FLOOR * tau[k]).min(most);
            q[k] = sigma - tau[k];
            kept += outer.values[j] * tau[k];
        }
        (sum_alpha, kept)
    }
}
