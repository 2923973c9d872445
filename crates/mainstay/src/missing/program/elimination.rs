//! The rows' variables, eliminated from the Newton equations row by row.
//!
//! Two halves around the system in the weights: `reduce` carries the right-hand sides over to the weights, `expand`
//! carries the weights' direction back. All loops over entries run on contiguous slices.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::block::{Block, Outer, Pivot, add, pick};
use crate::linalg::vector::dot;

/// The entries of one row.
#[derive(Clone, Copy)]
struct Entries<'a> {
    a: &'a [f64],
    v: &'a [f64],
    /// Direction of the weights.
    w: &'a [f64],
    s: &'a [f64],
    alpha: &'a [f64],
    tau: &'a [f64],
    q: &'a [f64],
    inverse: &'a [f64],
    f: &'a [f64],
}

impl<'a> Entries<'a> {
    /// All slices cut to the same length, which spares checks inside loops.
    #[inline(always)]
    fn cut(self, n: usize) -> Self {
        let cut = |x: &'a [f64]| &x[..n];
        Self {
            a: cut(self.a),
            v: cut(self.v),
            w: cut(self.w),
            s: cut(self.s),
            alpha: cut(self.alpha),
            tau: cut(self.tau),
            q: cut(self.q),
            inverse: cut(self.inverse),
            f: cut(self.f),
        }
    }

    /// `$\kappa$` and `$\rho$` of every entry, from the right-hand sides of its two products.
    #[inline(always)]
    fn sides(
        self,
        (d_lambda, d_sigma): (f64, f64),
        (d_alpha, d_tau): (&[f64], &[f64]),
        target: impl Fn(f64, f64, f64, f64) -> f64,
        kappa: &mut [f64],
        rho: &mut [f64],
    ) {
        let n = kappa.len();
        let Entries { a, v, w, s, alpha, tau, q, inverse, .. } = self.cut(n);
        let (d_alpha, d_tau, rho) = (&d_alpha[..n], &d_tau[..n], &mut rho[..n]);
        for k in 0..n {
            let d_s = a[k] * w[k] - v[k] * d_lambda + d_alpha[k];
            let on_s = target(s[k], d_s, tau[k], d_tau[k]);
            let on_alpha = target(alpha[k], d_alpha[k], q[k], d_sigma - d_tau[k]);
            kappa[k] = (on_s * q[k] - on_alpha * tau[k]) * inverse[k];
            rho[k] = (on_s * alpha[k] + on_alpha * s[k]) * inverse[k];
        }
    }

    /// What the row adds to the weights' right-hand side, for the row's `$(d\lambda, d\sigma)$` = `t`.
    #[inline(always)]
    fn add_to_weights(self, (t1, t2): (f64, f64), kappa: &[f64], out: &mut [f64]) {
        let n = out.len();
        let Entries { a, v, tau, q, inverse, f, .. } = self.cut(n);
        let kappa = &kappa[..n];
        for k in 0..n {
            let curvature = tau[k] * q[k] * inverse[k];
            out[k] = a[k] * (kappa[k] + v[k] * curvature * t1 + f[k] * t2);
        }
    }

    /// `$(u_i^\top dw,\ q_i^\top dw)$`, by way of `room`.
    #[inline(always)]
    fn along(self, room: &mut [f64], other: &mut [f64]) -> (f64, f64) {
        let n = room.len();
        let Entries { a, v, w, tau, q, inverse, f, .. } = self.cut(n);
        let other = &mut other[..n];
        for k in 0..n {
            let aw = a[k] * w[k];
            room[k] = tau[k] * q[k] * inverse[k] * aw;
            other[k] = f[k] * aw;
        }
        (dot(v, room), sum(other))
    }

    /// Turns `$\kappa$` and `$\rho$` into `$d\tau$` and `$d\alpha$`.
    #[inline(always)]
    fn expand(self, (d_lambda, d_sigma): (f64, f64), d_tau: &mut [f64], d_alpha: &mut [f64]) {
        let n = d_tau.len();
        let Entries { a, v, w, s, alpha, tau, q, inverse, f } = self.cut(n);
        let d_alpha = &mut d_alpha[..n];
        for k in 0..n {
            let t = a[k] * w[k] - v[k] * d_lambda;
            let curvature = tau[k] * q[k] * inverse[k];
            let slack = s[k] * alpha[k] * inverse[k];
            d_tau[k] += f[k] * d_sigma - curvature * t;
            d_alpha[k] -= f[k] * t + slack * d_sigma;
        }
    }
}

/// Sum in eight strands, which the compiler can keep in vector registers.
#[inline(always)]
fn sum(a: &[f64]) -> f64 {
    let (chunks, rest) = a.as_chunks::<8>();
    let mut strands = [0.0; 8];
    for chunk in chunks {
        for k in 0..8 {
            strands[k] += chunk[k];
        }
    }
    strands.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

/// Memory for the entries of one row.
#[derive(Default)]
struct Room {
    values: Vec<f64>,
    w: Vec<f64>,
    one: Vec<f64>,
    two: Vec<f64>,
}

/// The first `n` places of `room`, which grows if it must; what they hold is to be overwritten.
fn fit(room: &mut Vec<f64>, n: usize) -> &mut [f64] {
    if room.len() < n {
        room.resize(n, 0.0);
    }
    &mut room[..n]
}

impl Pivot {
    /// `$(d\lambda, d\sigma)$` for these right-hand sides.
    fn solve(&self, on_lambda: f64, on_sigma: f64) -> (f64, f64) {
        (
            (self.h * on_lambda - self.g * on_sigma) / self.det,
            (self.g * on_lambda + self.a * on_sigma) / self.det,
        )
    }
}

impl Block {
    /// Sets up the row systems at the present point.
    #[inline(always)]
    pub(super) fn factor(&mut self, values: &[f64]) {
        let mut room = Room::default();
        for i in 0..self.rows() {
            let row = self.starts[i]..self.starts[i + 1];
            let n = row.len();
            let v = &pick(values, &self.columns[row.clone()], &mut room.values)[..n];
            let (shares, slacks) = (fit(&mut room.one, n), fit(&mut room.two, n));
            let (s, alpha) = (&self.s[row.clone()][..n], &self.alpha[row.clone()][..n]);
            let (tau, q) = (&self.tau[row.clone()][..n], &self.q[row.clone()][..n]);
            let (inverse, f) = (&mut self.inverse[row.clone()][..n], &mut self.f[row.clone()][..n]);
            for k in 0..n {
                inverse[k] = 1.0 / (tau[k] * alpha[k] + q[k] * s[k]);
            }
            for k in 0..n {
                f[k] = tau[k] * alpha[k] * inverse[k];
                slacks[k] = s[k] * alpha[k] * inverse[k];
                shares[k] = tau[k] * q[k] * inverse[k] * v[k] * v[k];
            }
            let h = sum(slacks) + self.r[i] / self.sigma[i] + self.xi[i] / self.g[i];
            let mut pivot = Pivot { h, top: usize::MAX, ..Pivot::default() };
            if self.rigid {
                (pivot.a, pivot.g, pivot.rest) = (1.0, 0.0, 1.0);
            } else {
                let top = (0..n).fold(0, |top, k| if shares[k] > shares[top] { k } else { top });
                let largest = if n > 0 { std::mem::take(&mut shares[top]) } else { 0.0 };
                if largest > 0.0 {
                    pivot.top = row.start + top;
                }
                pivot.rest = sum(shares) + self.l[i] / self.lambda[i];
                pivot.a = pivot.rest + largest;
                pivot.g = dot(v, f) - self.need[i];
            }
            pivot.det = pivot.a * pivot.h + pivot.g * pivot.g;
            self.pivots[i] = pivot;
        }
    }

    /// The entries of row `i`; `values` and `w` are room for what it shares with all rows.
    #[inline(always)]
    fn entries<'a>(
        &'a self,
        i: usize,
        outer: Outer<'a>,
        values: &'a mut Vec<f64>,
        w: &'a mut Vec<f64>,
    ) -> Entries<'a> {
        let row = self.starts[i]..self.starts[i + 1];
        let columns = &self.columns[row.clone()];
        Entries {
            a: &self.a[row.clone()],
            v: pick(outer.values, columns, values),
            w: pick(outer.w, columns, w),
            s: &self.s[row.clone()],
            alpha: &self.alpha[row.clone()],
            tau: &self.tau[row.clone()],
            q: &self.q[row.clone()],
            inverse: &self.inverse[row.clone()],
            f: &self.f[row],
        }
    }

    /// First half of a solve: reduces the right-hand sides `target(x, dx, z, dz)` of the products `$xz$`, with
    /// the directions of `step` as `$dx$` and `$dz$`, to the weights (added to `rhs`) and the intercept (returned); what is left
    /// of the rows' equations counts if `residual`.
    #[inline(always)]
    pub(super) fn reduce(
        &mut self,
        outer: Outer<'_>,
        target: impl Fn(f64, f64, f64, f64) -> f64,
        rhs: &mut [f64],
        residual: bool,
    ) -> f64 {
        // Long because the sides of a row's equations are made and eliminated in one pass over its entries.
        let Room { mut values, mut w, mut one, .. } = Room::default();
        let mut trial = std::mem::take(&mut self.trial);
        let step = &self.step;
        let mut rhs_b = 0.0;
        for i in 0..self.rows() {
            let row = self.starts[i]..self.starts[i + 1];
            let (rho, kappa) = (&mut trial.alpha[row.clone()], &mut trial.tau[row.clone()]);
            let (d_lambda, d_sigma) = (step.lambda[i], step.sigma[i]);
            let columns = &self.columns[row.clone()];
            let entries = self.entries(i, outer, &mut values, &mut w);
            let moves = (&step.alpha[row.clone()], &step.tau[row]);
            entries.sides((d_lambda, d_sigma), moves, &target, kappa, rho);
            let on_xi = target(self.xi[i], step.xi[i], self.g[i], -d_sigma);
            let on_r = target(self.r[i], step.r[i], self.sigma[i], d_sigma);
            let mut on_lambda = 0.0;
            if !self.rigid {
                on_lambda = target(self.lambda[i], d_lambda, self.l[i], step.l[i]) / self.lambda[i]
                    - dot(entries.v, kappa);
                on_lambda -= if residual { self.short[i] } else { 0.0 };
            }
            let on_sigma = on_r / self.sigma[i] + sum(rho) - on_xi / self.g[i];
            trial.lambda[i] = on_lambda;
            trial.sigma[i] = on_sigma;
            trial.xi[i] = on_xi;
            let t = self.pivots[i].solve(on_lambda, on_sigma);
            let added = fit(&mut one, columns.len());
            entries.add_to_weights(t, kappa, added);
            add(1.0, added, columns, rhs);
            let (inactive, columns) = self.inactive(i);
            add(t.1, inactive, columns, rhs);
            rhs_b += self.y[i] * t.1;
        }
        self.trial = trial;
        rhs_b
    }

    /// Second half of a solve: the rows' part of `trial`, given that of the weights and the intercept.
    #[inline(always)]
    pub(super) fn expand(&mut self, outer: Outer<'_>, residual: bool) {
        let Room { mut values, mut w, mut one, mut two } = Room::default();
        let mut trial = std::mem::take(&mut self.trial);
        for i in 0..self.rows() {
            let row = self.starts[i]..self.starts[i + 1];
            let entries = self.entries(i, outer, &mut values, &mut w);
            let n = row.len();
            let (along_u, along_q) = entries.along(fit(&mut one, n), fit(&mut two, n));
            let (inactive, columns) = self.inactive(i);
            let linear = dot(inactive, pick(outer.w, columns, &mut one)) + self.y[i] * outer.b;
            let (d_lambda, d_sigma) = self.pivots[i]
                .solve(trial.lambda[i] + along_u, trial.sigma[i] - (along_q + linear));
            let (d_alpha, d_tau) = (&mut trial.alpha[row.clone()], &mut trial.tau[row]);
            entries.expand((d_lambda, d_sigma), d_tau, d_alpha);
            let (sum_tau, sum_alpha) = (dot(entries.v, d_tau), sum(d_alpha));
            let d_xi = (trial.xi[i] + self.xi[i] * d_sigma) / self.g[i];
            trial.xi[i] = d_xi;
            trial.lambda[i] = d_lambda;
            trial.sigma[i] = d_sigma;
            let short = if residual { self.short[i] } else { 0.0 };
            trial.l[i] = if self.rigid { 0.0 } else { sum_tau - self.need[i] * d_sigma + short };
            trial.r[i] = self.need[i] * d_lambda - sum_alpha + linear + d_xi;
        }
        self.trial = trial;
    }
}
