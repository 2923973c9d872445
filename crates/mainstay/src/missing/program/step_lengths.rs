//! How far a direction can be followed before a variable reaches zero.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::block::{Block, Outer, pick};

/// Weights of the trial direction that are tried at once.
pub(super) const TRIES: usize = 8;

/// For each try the largest relative decrease, at least 1: the step to the boundary is its inverse.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    each: [f64; TRIES],
    /// The smallest of them.
    floor: f64,
}

impl Default for Rates {
    fn default() -> Self {
        Self { each: [1.0; TRIES], floor: 1.0 }
    }
}

impl Rates {
    /// Takes note of a variable at `x > 0` that moves by `step + weight * trial` for the given weights, which ascend.
    #[inline]
    pub(super) fn see(&mut self, x: f64, step: f64, trial: f64, weights: &[f64; TRIES]) {
        // Linear in the weight, so the fastest decrease is at an end. Most variables do not matter.
        let (first, last) = (step + weights[0] * trial, step + weights[TRIES - 1] * trial);
        let limit = -self.floor * x;
        if first < limit || last < limit {
            self.note(x, step, trial, weights);
        }
    }

    #[cold]
    fn note(&mut self, x: f64, step: f64, trial: f64, weights: &[f64; TRIES]) {
        for (rate, weight) in self.each.iter_mut().zip(weights) {
            *rate = rate.max(-(step + weight * trial) / x);
        }
        self.floor = self.each.iter().fold(f64::INFINITY, |m, rate| m.min(*rate));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (rate, found) in self.each.iter_mut().zip(&other.each) {
            *rate = rate.max(*found);
        }
        self.floor = self.each.iter().fold(f64::INFINITY, |m, rate| m.min(*rate));
    }

    /// Step lengths to the boundary, at most 1.
    pub(super) fn lengths(&self) -> [f64; TRIES] {
        self.each.map(|rate| 1.0 / rate)
    }
}

impl Block {
    /// Largest relative decreases, primal and dual, along `step + weight * trial`, for each weight; `step`
    /// and `trial` are the outer directions that go with those of the block.
    #[inline(always)]
    pub(super) fn rates(
        &self,
        step: Outer<'_>,
        trial: Outer<'_>,
        weights: &[f64; TRIES],
    ) -> (Rates, Rates) {
        let (mut primal, mut dual) = (Rates::default(), Rates::default());
        let (one, two) = (&self.step, &self.trial);
        let mut room = [Vec::new(), Vec::new(), Vec::new()];
        let [room_v, room_1, room_2] = &mut room;
        for i in 0..self.y.len() {
            let row = self.starts[i]..self.starts[i + 1];
            let columns = &self.columns[row.clone()];
            let entries = Falling {
                a: &self.a[row.clone()],
                v: pick(step.values, columns, room_v),
                w: [pick(step.w, columns, room_1), pick(trial.w, columns, room_2)],
                lambda: [one.lambda[i], two.lambda[i]],
                sigma: [one.sigma[i], two.sigma[i]],
                alpha: [&one.alpha[row.clone()], &two.alpha[row.clone()]],
                tau: [&one.tau[row.clone()], &two.tau[row.clone()]],
                at: [
                    &self.s[row.clone()],
                    &self.alpha[row.clone()],
                    &self.tau[row.clone()],
                    &self.q[row],
                ],
            };
            if entries.matter(primal.floor, dual.floor, weights) {
                entries.see(&mut primal, &mut dual, weights);
            }
            self.see_row(i, &mut primal, &mut dual, weights);
        }
        (primal, dual)
    }

    /// Takes note of the variables that row `i` has once.
    #[inline(always)]
    fn see_row(&self, i: usize, primal: &mut Rates, dual: &mut Rates, weights: &[f64; TRIES]) {
        let (one, two) = (&self.step, &self.trial);
        primal.see(self.xi[i], one.xi[i], two.xi[i], weights);
        primal.see(self.r[i], one.r[i], two.r[i], weights);
        dual.see(self.sigma[i], one.sigma[i], two.sigma[i], weights);
        dual.see(self.g[i], -one.sigma[i], -two.sigma[i], weights);
        if !self.rigid {
            primal.see(self.lambda[i], one.lambda[i], two.lambda[i], weights);
            dual.see(self.l[i], one.l[i], two.l[i], weights);
        }
    }
}

/// The entries of a row with the directions `step` and `trial`, in pairs.
struct Falling<'a> {
    a: &'a [f64],
    v: &'a [f64],
    w: [&'a [f64]; 2],
    lambda: [f64; 2],
    sigma: [f64; 2],
    alpha: [&'a [f64]; 2],
    tau: [&'a [f64]; 2],
    /// `$s, \alpha, \tau, q$`.
    at: [&'a [f64]; 4],
}

impl Falling<'_> {
    /// Whether any entry falls faster than the rates already known. No branches: most rows do not matter.
    #[expect(clippy::needless_bitwise_bool, reason = "a lazy operator would branch at every entry")]
    #[inline(always)]
    fn matter(&self, primal: f64, dual: f64, weights: &[f64; TRIES]) -> bool {
        let n = self.a.len();
        // Not by `map`, which is not inlined into code for wider vectors.
        let (a, v) = (&self.a[..n], &self.v[..n]);
        let (w1, w2) = (&self.w[0][..n], &self.w[1][..n]);
        let (alpha1, alpha2) = (&self.alpha[0][..n], &self.alpha[1][..n]);
        let (tau1, tau2) = (&self.tau[0][..n], &self.tau[1][..n]);
        let ([lambda1, lambda2], [sigma1, sigma2]) = (self.lambda, self.sigma);
        let (s, alpha) = (&self.at[0][..n], &self.at[1][..n]);
        let (tau, q) = (&self.at[2][..n], &self.at[3][..n]);
        let (first, last) = (weights[0], weights[TRIES - 1]);
        let below = |x: f64, floor: f64, one: f64, two: f64| {
            let limit = -floor * x;
            (one + first * two < limit) | (one + last * two < limit)
        };
        let mut any = false;
        for k in 0..n {
            let s1 = a[k] * w1[k] - v[k] * lambda1 + alpha1[k];
            let s2 = a[k] * w2[k] - v[k] * lambda2 + alpha2[k];
            any |= below(s[k], primal, s1, s2)
                | below(alpha[k], primal, alpha1[k], alpha2[k])
                | below(tau[k], dual, tau1[k], tau2[k])
                | below(q[k], dual, sigma1 - tau1[k], sigma2 - tau2[k]);
        }
        any
    }

    #[cold]
    fn see(&self, primal: &mut Rates, dual: &mut Rates, weights: &[f64; TRIES]) {
        let ([w1, w2], [alpha1, alpha2], [tau1, tau2]) = (self.w, self.alpha, self.tau);
        let ([lambda1, lambda2], [sigma1, sigma2]) = (self.lambda, self.sigma);
        let [s, alpha, tau, q] = self.at;
        for k in 0..self.a.len() {
            let (a, v) = (self.a[k], self.v[k]);
            let s1 = a * w1[k] - v * lambda1 + alpha1[k];
            let s2 = a * w2[k] - v * lambda2 + alpha2[k];
            primal.see(s[k], s1, s2, weights);
            primal.see(alpha[k], alpha1[k], alpha2[k], weights);
            dual.see(tau[k], tau1[k], tau2[k], weights);
            dual.see(q[k], sigma1 - tau1[k], sigma2 - tau2[k], weights);
        }
    }
}
