//! The four numbers every row has: slack and excess of its loss, and their multipliers.

use crate::optim::step::ratio;

/// `$s_i = u_i + \theta - L_i \ge 0$` with multiplier `$a_i$`, and `$u_i \ge 0$` with `$g_i = c_i - a_i$`.
#[derive(Debug)]
pub(super) struct Shares<'a> {
    pub c: &'a [f64],
    pub s: Vec<f64>,
    pub u: Vec<f64>,
    pub a: Vec<f64>,
    pub g: Vec<f64>,
    ds: Vec<f64>,
    du: Vec<f64>,
    da: Vec<f64>,
    cs: Vec<f64>,
    cu: Vec<f64>,
}

impl<'a> Shares<'a> {
    /// Multipliers `a`; slacks at `size`.
    pub(super) fn new(c: &'a [f64], a: Vec<f64>, size: f64) -> Self {
        let n = c.len();
        let g = c.iter().zip(&a).map(|(c, a)| c - a).collect();
        let zero = || vec![0.0; n];
        let at = || vec![size; n];
        Self {
            c,
            s: at(),
            u: at(),
            a,
            g,
            ds: zero(),
            du: zero(),
            da: zero(),
            cs: zero(),
            cu: zero(),
        }
    }

    /// The rows `rows` as they are, followed by others on the central path of `mu`, whose losses exceed
    /// the threshold by `others`; `c` are the weights of both.
    pub(super) fn select<'b>(
        &self,
        c: &'b [f64],
        rows: &[usize],
        others: &[f64],
        mu: f64,
    ) -> Shares<'b> {
        let mut chosen = Shares::new(c, vec![0.0; c.len()], 1.0);
        for (at, &i) in rows.iter().enumerate() {
            (chosen.s[at], chosen.u[at]) = (self.s[i], self.u[i]);
            (chosen.a[at], chosen.g[at]) = (self.a[i], self.g[i]);
        }
        for (at, over) in (rows.len()..c.len()).zip(others) {
            let (s, u) = central_slacks(c[at], *over, mu);
            (chosen.s[at], chosen.u[at]) = (s, u);
            (chosen.a[at], chosen.g[at]) = (mu / s, mu / u);
        }
        chosen
    }

    /// The point of the central path over given losses: `$sa = ug = \mu$`.
    pub(super) fn centre(&mut self, losses: &[f64], theta: f64, mu: f64) {
        for (i, loss) in losses.iter().enumerate() {
            let (s, u) = central_slacks(self.c[i], loss - theta, mu);
            (self.s[i], self.u[i]) = (s, u);
            (self.a[i], self.g[i]) = (mu / s, mu / u);
        }
    }

    /// Restores `$s = u + \theta - L$` for `t` = `$L - \theta$` after a step along a tangent.
    #[inline]
    pub(super) fn restore(&mut self, i: usize, t: f64) {
        (self.s[i], self.u[i]) = restored(self.s[i], self.u[i], t);
    }

    /// The products of row `i` after a step to where its loss exceeds the threshold by `t`.
    #[inline]
    pub(super) fn product_at(&self, i: usize, step: f64, t: f64) -> f64 {
        let (s, u) = restored(self.s[i] + step * self.ds[i], self.u[i] + step * self.du[i], t);
        s * (self.a[i] + step * self.da[i]) + u * (self.g[i] - step * self.da[i])
    }

    /// `$1/D = s/a + u/g$`.
    #[inline]
    pub(super) fn resistance(&self, i: usize) -> f64 {
        self.s[i] / self.a[i] + self.u[i] / self.g[i]
    }

    pub(super) fn products(&self) -> f64 {
        let pairs = self.s.iter().zip(&self.a).chain(self.u.iter().zip(&self.g));
        pairs.map(|(x, z)| x * z).sum()
    }

    pub(super) fn excess(&self) -> f64 {
        self.c.iter().zip(&self.u).map(|(c, u)| c * u).sum()
    }

    /// Sets the targets of row `i`; returns `$\varrho = c_s/a - c_u/g$`.
    #[inline]
    pub(super) fn aim(&mut self, i: usize, mu: f64, second: bool) -> f64 {
        let (mut cs, mut cu) = (mu - self.s[i] * self.a[i], mu - self.u[i] * self.g[i]);
        if second {
            cs -= self.ds[i] * self.da[i];
            cu += self.du[i] * self.da[i];
        }
        (self.cs[i], self.cu[i]) = (cs, cu);
        cs / self.a[i] - cu / self.g[i]
    }

    /// Direction of row `i` given that of its multiplier and `push` = `$\delta\theta - \delta L$`.
    ///
    /// One slack follows from its complementarity product, the other from `$\delta s = \delta u +$`
    /// `push`: the product of the smaller quotient loses fewer digits.
    #[inline]
    pub(super) fn direct(&mut self, i: usize, da: f64, push: f64) {
        self.da[i] = da;
        if self.s[i] * self.g[i] > self.u[i] * self.a[i] {
            self.du[i] = (self.cu[i] + self.u[i] * da) / self.g[i];
            self.ds[i] = self.du[i] + push;
        } else {
            self.ds[i] = (self.cs[i] - self.s[i] * da) / self.a[i];
            self.du[i] = self.ds[i] - push;
        }
    }

    pub(super) fn longest(&self) -> f64 {
        let mut step = f64::INFINITY;
        for i in 0..self.c.len() {
            step = ratio(self.s[i], self.ds[i], step);
            step = ratio(self.u[i], self.du[i], step);
            step = ratio(self.a[i], self.da[i], step);
            step = ratio(self.g[i], -self.da[i], step);
        }
        step
    }

    pub(super) fn products_after(&self, step: f64) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.c.len() {
            sum += (self.s[i] + step * self.ds[i]) * (self.a[i] + step * self.da[i]);
            sum += (self.u[i] + step * self.du[i]) * (self.g[i] - step * self.da[i]);
        }
        sum
    }

    pub(super) fn advance(&mut self, step: f64) {
        for i in 0..self.c.len() {
            self.s[i] += step * self.ds[i];
            self.u[i] += step * self.du[i];
            self.a[i] += step * self.da[i];
            self.g[i] -= step * self.da[i];
        }
    }
}

/// Slacks with `$s = u - t$`: the error is taken from the larger one if that leaves it positive, otherwise
/// added to the other.
#[inline]
fn restored(s: f64, u: f64, t: f64) -> (f64, f64) {
    let error = s - (u - t);
    let shorten_s = error > 0.0 && s > u && s > 2.0 * error;
    let lengthen_s = error < 0.0 && (u <= s || u <= -2.0 * error);
    if error == 0.0 {
        (s, u)
    } else if shorten_s || lengthen_s {
        (u - t, u)
    } else {
        (s, s + t)
    }
}

/// `$s, u > 0$` with `$\mu/s + \mu/u = c$` and `$s = u - t$`.
///
/// The smaller one is `$h - |t|/2 + \sqrt{h^2 + t^2/4}$` with `$h = \mu/c$`, written without cancellation.
#[inline]
pub(super) fn central_slacks(c: f64, t: f64, mu: f64) -> (f64, f64) {
    let h = mu / c;
    let half = 0.5 * t.abs();
    let root = (half * half + h * h).sqrt();
    let small = if half > h { h + h * (h / (root + half)) } else { h + (root - half) };
    let large = small + t.abs();
    if t > 0.0 { (small, large) } else { (large, small) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn central_slacks_solve_their_equations() {
        for c in [0.1, 1.0, 30.0] {
            for t in [-1e6, -3.0, -1e-9, 0.0, 1e-9, 0.5, 40.0, 1e8] {
                for mu in [1e-12, 1e-3, 10.0] {
                    let (s, u) = central_slacks(c, t, mu);
                    assert!(s > 0.0 && u > 0.0);
                    assert!((mu / s + mu / u - c).abs() <= 1e-12 * c, "{c} {t} {mu}");
                    assert!((s - u + t).abs() <= 1e-12 * (s + u));
                }
            }
        }
    }
}
