//! Bent steps: a step of the interior point method that entries at the boundary do not shorten.
//!
//! With millions of entries some always reach the boundary after a twentieth of a step. Here only the variables that a row
//! or a column has once limit the step; an entry that would go too far goes part of the way. On the primal side that
//! costs a little loss (`$\xi$`), on the dual side it leaves residuals of the weights' and the rows' equations, which the next
//! direction removes along with the others. The box starts with products of the size of the entries', whatever the dual
//! equations say. Such points prove nothing: bounds are those that `certify` finds for their projections ([`super::projection`]).
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::block::{Block, Outer, PendingStep, pick};
use super::interior_point::{Interior, OuterMove, SAFETY, Totals};
use super::normal_equations::System;
use super::projection::Projection;
use crate::error::Result;
use crate::linalg::vector::{self, vectorized};
use crate::missing::certificate::bound;
use crate::missing::problem::RobustHinge;
use crate::optim::{Budget, step};

/// How freely steps bend.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// Share of its value that an entry's variable keeps in a step, at least.
    floor: f64,
    /// Share of the entries that a step may bend, on either side.
    bent: f64,
    /// Steps are this long, at most.
    longest: f64,
}

/// Far from the optimum, where a direction that bends many entries leads away from it.
const FAR: Pace = Pace { floor: 0.3, bent: 0.005, longest: 0.5 };
/// Near it.
const NEAR: Pace = Pace { floor: 0.1, bent: 0.05, longest: 0.7 };
/// Near is where the values without residuals are within this share of each other.
const NEARBY: f64 = 0.2;
/// Step lengths that are tried, as shares of the longest.
const TRIES: [f64; 6] = [1.0, 0.7, 0.5, 0.35, 0.25, 0.15];
/// A step may be longer than the one before by this factor, or than [`LEAST_BASIS`] where that is larger.
const GROWTH: f64 = 1.6;
const LEAST_BASIS: f64 = 0.1;
/// Share of the way to the boundary that a step takes for the variables that do not bend.
const DAMPING: f64 = 0.9;
/// Share of the mean product that a step aims at.
const CENTRING: f64 = 0.3;
/// The weights are judged this many times further out: with many more columns than rows they grow for many steps after
/// their direction leaves no loss.
const LOOKS: [f64; 2] = [1.0, 8.0];
/// Steps, at most.
const STEPS: usize = 100;
/// Steps shorter than this share of a full one lead nowhere.
const SHORTEST: f64 = 1e-4;
/// Share of the gap asked for that is left between the values without residuals when the first proof is tried.
const CLOSE: f64 = 0.8;

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
        let (mut totals, mut basis) = (self.totals(), FAR.longest);
        for _ in 0..STEPS.min(limit) {
            control.check()?;
            for factor in LOOKS {
                self.evaluate_scaled(problem, factor);
            }
            if self.is_close(&totals, budget.tol()) {
                self.offer_projection(problem, budget.tol());
            }
            if self.best.gap(1.0) <= SAFETY * budget.tol() {
                return Ok(true);
            }
            control.progress(budget.spent() as u64, limit as u64);
            let Ok(system) = self.factor() else { break };
            budget.take()?;
            self.bent_direction(&system, &totals);
            let pace = self.pace(&totals);
            let lengths = self.bent_lengths(pace, (GROWTH * basis).min(pace.longest));
            if !(lengths[0] + lengths[1]).is_finite() || lengths[0].max(lengths[1]) < SHORTEST {
                break;
            }
            basis = lengths[0].max(lengths[1]).clamp(LEAST_BASIS, pace.longest);
            totals = self.advance_bent(pace, lengths);
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

    fn pace(&self, totals: &Totals) -> Pace {
        let upper = self.best.upper();
        if upper - self.without_residual(totals) <= NEARBY * upper { NEAR } else { FAR }
    }

    /// Whether little but the residuals is left of the gap.
    fn is_close(&self, totals: &Totals, tol: f64) -> bool {
        let upper = self.best.upper();
        upper - self.without_residual(totals) <= CLOSE * tol * upper.max(1.0)
    }

    /// Removes the residuals of the dual point and keeps it if what `certify` will make of it is the largest bound so far.
    fn offer_projection(&mut self, problem: &RobustHinge<'_>, tol: f64) {
        let sums: Vec<f64> =
            self.high.iter().zip(&self.low).map(|(high, low)| high - low).collect();
        let mut point = Projection::new(&self.scaled, &sums, self.intercept);
        point.run(tol * self.best.upper().max(1.0) * self.scaled.norm);
        let (sigma, tau) = point.into_parts();
        let dual = self.scaled.dual_point(&sigma, &tau);
        if self.best.offer_dual(bound(problem, &dual), || ()) {
            self.scaled.keep(&sigma, &tau);
        }
    }

    /// Towards smaller products and no residuals.
    ///
    /// No corrector: entries that bend undo what it gains.
    fn bent_direction(&mut self, system: &System, totals: &Totals) {
        let residual: Vec<f64> =
            (0..self.w.len()).map(|j| totals.gradient[j] + self.low[j] - self.high[j]).collect();
        self.step = OuterMove::zeros(self.w.len());
        let goal = CENTRING * totals.products / totals.count as f64;
        let first = move |x: f64, _: f64, z: f64, _: f64| goal - x * z;
        self.solve(system, &first, Some((&residual, totals.imbalance)), None);
        std::mem::swap(&mut self.step, &mut self.trial);
        self.pending = PendingStep::Swapped;
    }

    /// The longest primal and dual steps, at most `longest`, that rows allow and that bend few entries.
    fn bent_lengths(&mut self, pace: Pace, longest: f64) -> [f64; 2] {
        let pending = std::mem::take(&mut self.pending);
        let outer = self.step.outer(self.scaled.deletions.values());
        let lengths = TRIES.map(|share| share * longest);
        let (mut rows, mut bent, mut entries) = ([longest / DAMPING; 2], [[0; TRIES.len()]; 2], 0);
        for block in &mut self.scaled.blocks {
            let found = vectorized!({
                block.catch_up(pending);
                block.bent(outer, pace, &lengths)
            });
            for (sum, part) in bent.iter_mut().flatten().zip(found.iter().flatten()) {
                *sum += part;
            }
            block.row_lengths(&mut rows);
            entries += block.a.len();
        }
        let most = pace.bent * entries as f64;
        std::array::from_fn(|side| {
            let fits = (0..TRIES.len()).find(|&k| f64::from(bent[side][k]) <= most);
            lengths[fits.unwrap_or(TRIES.len() - 1)].min(DAMPING * rows[side])
        })
    }

    /// Moves along `step` and returns the sums at the new point.
    fn advance_bent(&mut self, pace: Pace, [primal, dual]: [f64; 2]) -> Totals {
        let floor = pace.floor;
        let values = self.scaled.deletions.values().to_vec();
        let moved = std::mem::replace(&mut self.step, OuterMove::zeros(0));
        for (j, c) in self.scaled.boxes.iter().enumerate() {
            let (below, above) = (self.w[j] + c, c - self.w[j]);
            let w = self.w[j] + primal * moved.w[j];
            self.w[j] = w.max(floor * below - c).min(c - floor * above);
            self.low[j] = (self.low[j] + dual * moved.low[j]).max(floor * self.low[j]);
            self.high[j] = (self.high[j] + dual * moved.high[j]).max(floor * self.high[j]);
        }
        self.b += primal * moved.b;
        let (w, b) = (self.w.clone(), self.b);
        self.totals_after(|block| {
            block.advance_bent(Outer { values: &values, w: &w, b }, pace, [primal, dual]);
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
    fn bent(
        &self,
        outer: Outer<'_>,
        pace: Pace,
        lengths: &[f64; TRIES.len()],
    ) -> [[u32; TRIES.len()]; 2] {
        let mut counts = [[0; TRIES.len()]; 2];
        let mut falls = [Vec::new(), Vec::new()];
        let (mut room_v, mut room_w) = (Vec::new(), Vec::new());
        for i in 0..self.rows() {
            let columns = &self.columns[self.starts[i]..self.starts[i + 1]];
            let v = pick(outer.values, columns, &mut room_v);
            let w = pick(outer.w, columns, &mut room_w);
            let [primal, dual] = &mut falls;
            self.falls(i, (v, w), primal, dual);
            for (counts, falls) in counts.iter_mut().zip(&falls) {
                for (count, length) in counts.iter_mut().zip(lengths) {
                    let most = (1.0 - pace.floor) / length;
                    *count += falls.iter().map(|fall| u32::from(*fall > most)).sum::<u32>();
                }
            }
        }
        counts
    }

    /// Largest relative decreases, primal and dual, of the entries of row `i` along a full step; `v` and `w` are the values
    /// of its features and the direction of their weights.
    #[inline(always)]
    fn falls(
        &self,
        i: usize,
        (v, w): (&[f64], &[f64]),
        primal: &mut Vec<f64>,
        dual: &mut Vec<f64>,
    ) {
        let row = self.starts[i]..self.starts[i + 1];
        let n = row.len();
        let (d_lambda, d_sigma) = (self.step.lambda[i], self.step.sigma[i]);
        let d_alpha = &self.step.alpha[row.clone()][..n];
        let d_tau = &self.step.tau[row.clone()][..n];
        let (a, v, w) = (&self.a[row.clone()][..n], &v[..n], &w[..n]);
        let (s, alpha) = (&self.s[row.clone()][..n], &self.alpha[row.clone()][..n]);
        let (tau, q) = (&self.tau[row.clone()][..n], &self.q[row][..n]);
        primal.resize(n, 0.0);
        dual.resize(n, 0.0);
        let (primal, dual) = (&mut primal[..n], &mut dual[..n]);
        for k in 0..n {
            let d_s = a[k] * w[k] - v[k] * d_lambda + d_alpha[k];
            primal[k] = (-d_s / s[k]).max(-d_alpha[k] / alpha[k]);
            dual[k] = (-d_tau[k] / tau[k]).max((d_tau[k] - d_sigma) / q[k]);
        }
    }

    /// Moves along `step` to the weights and the intercept in `outer`; entries that would lose more than they may lose
    /// what they may.
    #[inline(always)]
    fn advance_bent(&mut self, outer: Outer<'_>, pace: Pace, [primal, dual]: [f64; 2]) {
        let mut room = [Vec::new(), Vec::new()];
        for i in 0..self.rows() {
            let d_sigma = dual * self.step.sigma[i];
            self.sigma[i] += d_sigma;
            self.g[i] -= d_sigma;
            self.lambda[i] += primal * self.step.lambda[i];
            let (sum_alpha, kept) = self.bend_row(i, outer, (pace.floor, primal, dual), &mut room);
            self.l[i] += dual * self.step.l[i];
            self.short[i] = kept - self.need[i] * self.sigma[i] - self.l[i];
            let base =
                self.need[i] * self.lambda[i] - sum_alpha + self.y[i] * outer.b - self.zeros[i];
            // What bent entries took from the row's slack is given back as loss.
            let xi = self.xi[i] + primal * self.step.xi[i];
            self.r[i] = (base + xi).max(pace.floor * self.r[i]);
            self.xi[i] = (self.r[i] - base).max(xi);
        }
    }

    /// The entries of row `i`; returns `$(\sum_e\alpha_e, \sum_e v_j\tau_e)$`.
    #[inline(always)]
    fn bend_row(
        &mut self,
        i: usize,
        outer: Outer<'_>,
        (floor, primal, dual): (f64, f64, f64),
        [room_v, room_w]: &mut [Vec<f64>; 2],
    ) -> (f64, f64) {
        let row = self.starts[i]..self.starts[i + 1];
        let n = row.len();
        let (price, sigma) = (self.lambda[i] + 1.0, self.sigma[i]);
        let columns = &self.columns[row.clone()];
        let v = &pick(outer.values, columns, room_v)[..n];
        let w = &pick(outer.w, columns, room_w)[..n];
        let a = &self.a[row.clone()][..n];
        let d_alpha = &self.step.alpha[row.clone()][..n];
        let d_tau = &self.step.tau[row.clone()][..n];
        let (s, alpha) = (&mut self.s[row.clone()][..n], &mut self.alpha[row.clone()][..n]);
        let (tau, q) = (&mut self.tau[row.clone()][..n], &mut self.q[row][..n]);
        for k in 0..n {
            // How much more than its price the entry would have to be worth: alpha - s.
            let distance = v[k] * price - a[k] * w[k];
            let least = (floor * alpha[k]).max(distance + floor * s[k]);
            alpha[k] = (alpha[k] + primal * d_alpha[k]).max(least);
            s[k] = alpha[k] - distance;
            let most = sigma - floor * q[k];
            tau[k] = (tau[k] + dual * d_tau[k]).max(floor * tau[k]).min(most);
            q[k] = sigma - tau[k];
        }
        (vector::sum(alpha), vector::dot(v, tau))
    }
}
