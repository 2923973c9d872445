use crate::uncertainty::{Deletions, Gain};

/// Some consecutive rows of the program, with their variables: the unit of parallel work.
///
/// For row $i$ with nonzeros $e = (i, j)$, $a_e = y_i x_{ij}$, in the solver's units (see `scaled.rs`):
/// $$s_e = a_e w_j - v_j(\lambda_i + 1) + \alpha_e \ge 0 \quad (\tau_e), \qquad
///   r_i = P_i\lambda_i - \textstyle\sum_e\alpha_e + y_i b + \xi_i - V^0_i \ge 0 \quad (\sigma_i),$$
/// with multipliers in brackets, and on the dual side
/// $$q_e = \sigma_i - \tau_e \ge 0, \qquad l_i = \textstyle\sum_e v_j\tau_e - P_i\sigma_i \ge 0, \qquad
///   g_i = \omega_i - \sigma_i \ge 0.$$
/// At the zeros of a row $\alpha_{ij} = v_j(\lambda_i + 1)$ holds at the optimum; they are substituted out:
/// $V^0_i$ is their value and $P_i = P - V^0_i$.
///
/// Without a budget (`rigid`) entries of positive value cannot be deleted. Such an entry keeps
/// $s = q = 0$, $\tau = \sigma$ and a free $\alpha = v - aw$; the formulas below then hold with $F = 1$ and
/// $1/(\tau\alpha + qs)$ replaced by 0, and $\lambda$ does not exist.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    pub a: Vec<f64>,
    pub y: Vec<f64>,
    pub weight: Vec<f64>,
    /// $P_i$ and $V^0_i$.
    pub need: Vec<f64>,
    pub zeros: Vec<f64>,
    pub rigid: bool,

    pub s: Vec<f64>,
    pub alpha: Vec<f64>,
    pub tau: Vec<f64>,
    pub q: Vec<f64>,
    pub lambda: Vec<f64>,
    pub l: Vec<f64>,
    pub xi: Vec<f64>,
    pub g: Vec<f64>,
    pub r: Vec<f64>,
    pub sigma: Vec<f64>,

    /// $1/(\tau\alpha + qs)$ and $F = \tau\alpha/(\tau\alpha + qs)$.
    pub inverse: Vec<f64>,
    pub f: Vec<f64>,
    pub pivots: Vec<Pivot>,

    /// The dual point with the largest value so far.
    pub best_tau: Vec<f64>,
    pub best_sigma: Vec<f64>,

    /// The direction to be taken.
    pub step: Move,
    /// The direction being computed.
    pub trial: Move,
}

/// The 2 x 2 system $\begin{pmatrix} A & G\\ -G & H\end{pmatrix}$ that couples a row's $\lambda$ and $\sigma$.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pivot {
    pub a: f64,
    pub g: f64,
    pub h: f64,
    pub det: f64,
    /// The entry with the largest share of $A$, and $A$ without it.
    pub top: usize,
    pub rest: f64,
}

/// A direction for the variables of a block. $ds$, $dq$ and $dg$ follow from the others.
#[derive(Debug, Default)]
pub(super) struct Move {
    pub alpha: Vec<f64>,
    pub tau: Vec<f64>,
    pub lambda: Vec<f64>,
    pub l: Vec<f64>,
    pub xi: Vec<f64>,
    pub r: Vec<f64>,
    pub sigma: Vec<f64>,
}

impl Move {
    pub(super) fn zeros(entries: usize, rows: usize) -> Self {
        Self {
            alpha: vec![0.0; entries],
            tau: vec![0.0; entries],
            lambda: vec![0.0; rows],
            l: vec![0.0; rows],
            xi: vec![0.0; rows],
            r: vec![0.0; rows],
            sigma: vec![0.0; rows],
        }
    }
}

/// What all rows share: values of the features, and a direction for the weights and the intercept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outer<'a> {
    pub values: &'a [f64],
    pub w: &'a [f64],
    pub b: f64,
}

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
    pub(super) fn rows(&self) -> usize {
        self.y.len()
    }

    /// Complementary products and how many there are.
    pub(super) fn products(&self) -> (f64, usize) {
        let mut sum = 0.0;
        for e in 0..self.a.len() {
            sum += self.s[e] * self.tau[e] + self.alpha[e] * self.q[e];
        }
        for i in 0..self.rows() {
            sum += self.xi[i] * self.g[i] + self.r[i] * self.sigma[i];
            if !self.rigid {
                sum += self.lambda[i] * self.l[i];
            }
        }
        let soft = self.q.iter().filter(|q| **q > 0.0).count();
        let per_row = if self.rigid { 2 } else { 3 };
        (sum, 2 * soft + per_row * self.rows())
    }

    /// Sets up the row systems at the present point; returns nothing that depends on a right-hand side.
    pub(super) fn factor(&mut self, values: &[f64]) {
        for i in 0..self.rows() {
            let mut pivot = Pivot { top: usize::MAX, ..Pivot::default() };
            let mut top = 0.0;
            for e in self.starts[i]..self.starts[i + 1] {
                let v = values[self.columns[e] as usize];
                if self.rigid && v > 0.0 {
                    self.inverse[e] = 0.0;
                    self.f[e] = 1.0;
                    continue;
                }
                let kept = self.tau[e] * self.alpha[e];
                let inverse = 1.0 / (kept + self.q[e] * self.s[e]);
                self.inverse[e] = inverse;
                self.f[e] = kept * inverse;
                pivot.h += self.s[e] * self.alpha[e] * inverse;
                pivot.g += v * self.f[e];
                let share = self.tau[e] * self.q[e] * inverse * v * v;
                if share > top {
                    pivot.rest += top;
                    (top, pivot.top) = (share, e);
                } else {
                    pivot.rest += share;
                }
            }
            pivot.h += self.r[i] / self.sigma[i] + self.xi[i] / self.g[i];
            if self.rigid {
                (pivot.a, pivot.g, pivot.rest) = (1.0, 0.0, 1.0);
            } else {
                pivot.rest += self.l[i] / self.lambda[i];
                pivot.a = pivot.rest + top;
                pivot.g -= self.need[i];
            }
            pivot.det = pivot.a * pivot.h + pivot.g * pivot.g;
            self.pivots[i] = pivot;
        }
    }

    /// First half of a solve: reduces the right-hand sides `target(x, dx, z, dz)` of the products $xz$, with
    /// the directions of `step` as $dx$ and $dz$, to the weights (added to `rhs`) and the intercept (returned).
    pub(super) fn reduce(
        &mut self,
        outer: Outer<'_>,
        target: impl Fn(f64, f64, f64, f64) -> f64,
        rhs: &mut [f64],
    ) -> f64 {
        let (step, trial) = (&self.step, &mut self.trial);
        let mut rhs_b = 0.0;
        for i in 0..self.y.len() {
            let (d_lambda, d_sigma) = (step.lambda[i], step.sigma[i]);
            let (mut sum_kappa, mut sum_rho) = (0.0, 0.0);
            let row = self.starts[i]..self.starts[i + 1];
            let (columns, a) = (&self.columns[row.clone()], &self.a[row.clone()]);
            let (s, alpha) = (&self.s[row.clone()], &self.alpha[row.clone()]);
            let (tau, q) = (&self.tau[row.clone()], &self.q[row.clone()]);
            let (inverse, f) = (&self.inverse[row.clone()], &self.f[row.clone()]);
            let (d_alphas, d_taus) = (&step.alpha[row.clone()], &step.tau[row.clone()]);
            let (rhos, kappas) = (&mut trial.alpha[row.clone()], &mut trial.tau[row]);
            for k in 0..columns.len() {
                let j = columns[k] as usize;
                let v = outer.values[j];
                let d_s = a[k] * outer.w[j] - v * d_lambda + d_alphas[k];
                let on_s = target(s[k], d_s, tau[k], d_taus[k]);
                let on_alpha = target(alpha[k], d_alphas[k], q[k], d_sigma - d_taus[k]);
                kappas[k] = (on_s * q[k] - on_alpha * tau[k]) * inverse[k];
                rhos[k] = (on_s * alpha[k] + on_alpha * s[k]) * inverse[k];
                sum_kappa += v * kappas[k];
                sum_rho += rhos[k];
            }
            let pivot = &self.pivots[i];
            let on_xi = target(self.xi[i], step.xi[i], self.g[i], -d_sigma);
            let on_r = target(self.r[i], step.r[i], self.sigma[i], d_sigma);
            let on_lambda = if self.rigid {
                0.0
            } else {
                let on_lambda = target(self.lambda[i], d_lambda, self.l[i], step.l[i]);
                on_lambda / self.lambda[i] - sum_kappa
            };
            let on_sigma = on_r / self.sigma[i] + sum_rho - on_xi / self.g[i];
            trial.lambda[i] = on_lambda;
            trial.sigma[i] = on_sigma;
            trial.xi[i] = on_xi;
            let t1 = (pivot.h * on_lambda - pivot.g * on_sigma) / pivot.det;
            let t2 = (pivot.g * on_lambda + pivot.a * on_sigma) / pivot.det;
            for k in 0..columns.len() {
                let j = columns[k] as usize;
                let curvature = tau[k] * q[k] * inverse[k];
                let pull = outer.values[j] * curvature * t1 + f[k] * t2;
                rhs[j] += a[k] * (kappas[k] + pull);
            }
            rhs_b += self.y[i] * t2;
        }
        rhs_b
    }

    /// Second half of a solve: the rows' part of `trial`, given that of the weights and the intercept.
    pub(super) fn expand(&mut self, outer: Outer<'_>) {
        let trial = &mut self.trial;
        for i in 0..self.y.len() {
            let row = self.starts[i]..self.starts[i + 1];
            let (columns, a) = (&self.columns[row.clone()], &self.a[row.clone()]);
            let (s, alpha) = (&self.s[row.clone()], &self.alpha[row.clone()]);
            let (tau, q) = (&self.tau[row.clone()], &self.q[row.clone()]);
            let (inverse, f) = (&self.inverse[row.clone()], &self.f[row.clone()]);
            let (d_alphas, d_taus) = (&mut trial.alpha[row.clone()], &mut trial.tau[row]);
            let (mut along_u, mut along_q) = (0.0, self.y[i] * outer.b);
            for k in 0..columns.len() {
                let j = columns[k] as usize;
                let aw = a[k] * outer.w[j];
                along_u += outer.values[j] * tau[k] * q[k] * inverse[k] * aw;
                along_q += f[k] * aw;
            }
            let pivot = &self.pivots[i];
            let (on_lambda, on_sigma) = (trial.lambda[i] + along_u, trial.sigma[i] - along_q);
            let d_lambda = (pivot.h * on_lambda - pivot.g * on_sigma) / pivot.det;
            let d_sigma = (pivot.g * on_lambda + pivot.a * on_sigma) / pivot.det;
            let (mut sum_tau, mut sum_alpha) = (0.0, 0.0);
            for k in 0..columns.len() {
                let j = columns[k] as usize;
                let v = outer.values[j];
                let t = a[k] * outer.w[j] - v * d_lambda;
                let curvature = tau[k] * q[k] * inverse[k];
                let slack = s[k] * alpha[k] * inverse[k];
                d_taus[k] += f[k] * d_sigma - curvature * t;
                d_alphas[k] -= f[k] * t + slack * d_sigma;
                sum_tau += v * d_taus[k];
                sum_alpha += d_alphas[k];
            }
            let d_xi = (trial.xi[i] + self.xi[i] * d_sigma) / self.g[i];
            trial.xi[i] = d_xi;
            trial.lambda[i] = d_lambda;
            trial.sigma[i] = d_sigma;
            trial.l[i] = if self.rigid { 0.0 } else { sum_tau - self.need[i] * d_sigma };
            trial.r[i] = self.need[i] * d_lambda - sum_alpha + self.y[i] * outer.b + d_xi;
        }
    }

    /// Largest relative decreases, primal and dual, along `step + weight * trial`, for each weight; `step`
    /// and `trial` are the outer directions that go with those of the block.
    pub(super) fn rates(
        &self,
        step: Outer<'_>,
        trial: Outer<'_>,
        weights: &[f64; TRIES],
    ) -> (Rates, Rates) {
        let (mut primal, mut dual) = (Rates::default(), Rates::default());
        for i in 0..self.y.len() {
            let row = self.starts[i]..self.starts[i + 1];
            let (one, two) = (&self.step, &self.trial);
            let (columns, a) = (&self.columns[row.clone()], &self.a[row.clone()]);
            let (s, alpha) = (&self.s[row.clone()], &self.alpha[row.clone()]);
            let (tau, q) = (&self.tau[row.clone()], &self.q[row.clone()]);
            let (alpha1, alpha2) = (&one.alpha[row.clone()], &two.alpha[row.clone()]);
            let (tau1, tau2) = (&one.tau[row.clone()], &two.tau[row]);
            let (lambda1, lambda2) = (one.lambda[i], two.lambda[i]);
            let (sigma1, sigma2) = (one.sigma[i], two.sigma[i]);
            for k in 0..columns.len() {
                let j = columns[k] as usize;
                let v = step.values[j];
                if self.rigid && v > 0.0 {
                    continue;
                }
                let s1 = a[k] * step.w[j] - v * lambda1 + alpha1[k];
                let s2 = a[k] * trial.w[j] - v * lambda2 + alpha2[k];
                primal.see(s[k], s1, s2, weights);
                primal.see(alpha[k], alpha1[k], alpha2[k], weights);
                dual.see(tau[k], tau1[k], tau2[k], weights);
                dual.see(q[k], sigma1 - tau1[k], sigma2 - tau2[k], weights);
            }
            primal.see(self.xi[i], one.xi[i], two.xi[i], weights);
            primal.see(self.r[i], one.r[i], two.r[i], weights);
            dual.see(self.sigma[i], sigma1, sigma2, weights);
            dual.see(self.g[i], -sigma1, -sigma2, weights);
            if !self.rigid {
                primal.see(self.lambda[i], lambda1, lambda2, weights);
                dual.see(self.l[i], one.l[i], two.l[i], weights);
            }
        }
        (primal, dual)
    }

    /// Complementary products after steps of these lengths along `step`.
    pub(super) fn products_at(&self, outer: Outer<'_>, primal: f64, dual: f64) -> f64 {
        let step = &self.step;
        let mut sum = 0.0;
        let mut add = |x: f64, dx: f64, z: f64, dz: f64| sum += (x + primal * dx) * (z + dual * dz);
        for i in 0..self.rows() {
            for e in self.starts[i]..self.starts[i + 1] {
                let j = self.columns[e] as usize;
                let d_s = self.a[e] * outer.w[j] - outer.values[j] * step.lambda[i] + step.alpha[e];
                add(self.s[e], d_s, self.tau[e], step.tau[e]);
                add(self.alpha[e], step.alpha[e], self.q[e], step.sigma[i] - step.tau[e]);
            }
            add(self.xi[i], step.xi[i], self.g[i], -step.sigma[i]);
            add(self.r[i], step.r[i], self.sigma[i], step.sigma[i]);
            if !self.rigid {
                add(self.lambda[i], step.lambda[i], self.l[i], step.l[i]);
            }
        }
        sum
    }

    /// `step` += weight * `trial`, with a weight of its own for either side.
    pub(super) fn combine(&mut self, primal: f64, dual: f64) {
        let (one, two) = (&mut self.step, &self.trial);
        let add = |x: &mut [f64], y: &[f64], weight: f64| {
            if weight != 0.0 {
                crate::linalg::vector::axpy(weight, y, x);
            }
        };
        add(&mut one.alpha, &two.alpha, primal);
        add(&mut one.lambda, &two.lambda, primal);
        add(&mut one.xi, &two.xi, primal);
        add(&mut one.r, &two.r, primal);
        add(&mut one.tau, &two.tau, dual);
        add(&mut one.sigma, &two.sigma, dual);
        add(&mut one.l, &two.l, dual);
    }

    /// Moves along `step`.
    pub(super) fn advance(&mut self, outer: Outer<'_>, primal: f64, dual: f64) {
        let step = &self.step;
        for i in 0..self.y.len() {
            for e in self.starts[i]..self.starts[i + 1] {
                let j = self.columns[e] as usize;
                let d_s = self.a[e] * outer.w[j] - outer.values[j] * step.lambda[i] + step.alpha[e];
                self.s[e] += primal * d_s;
                self.alpha[e] += primal * step.alpha[e];
                self.tau[e] += dual * step.tau[e];
                self.q[e] += dual * (step.sigma[i] - step.tau[e]);
            }
            self.lambda[i] += primal * step.lambda[i];
            self.xi[i] += primal * step.xi[i];
            self.r[i] += primal * step.r[i];
            self.sigma[i] += dual * step.sigma[i];
            self.g[i] -= dual * step.sigma[i];
            self.l[i] += dual * step.l[i];
        }
    }

    /// Adds $\sum_e a_e\tau_e$ to the columns and returns ($\sum_i\omega_i\xi_i$, $\sum_e v_j\tau_e + \sum_i V^0_i\sigma_i$,
    /// $\sum_i y_i\sigma_i$).
    pub(super) fn totals(&self, values: &[f64], gradient: &mut [f64]) -> [f64; 3] {
        let mut totals = [0.0; 3];
        for i in 0..self.rows() {
            for e in self.starts[i]..self.starts[i + 1] {
                let j = self.columns[e] as usize;
                gradient[j] += self.a[e] * self.tau[e];
                totals[1] += values[j] * self.tau[e];
            }
            totals[0] += self.weight[i] * self.xi[i];
            totals[1] += self.zeros[i] * self.sigma[i];
            totals[2] += self.y[i] * self.sigma[i];
        }
        totals
    }

    /// The rows' losses at `w` before intercept and hinge, by the fractional adversary itself.
    pub(super) fn shortfalls(&self, w: &[f64], set: &Deletions, items: &mut Vec<Gain>) -> Vec<f64> {
        let row = |i: usize, items: &mut Vec<Gain>| {
            items.clear();
            let mut score = 0.0;
            for e in self.starts[i]..self.starts[i + 1] {
                let feature = self.columns[e] as usize;
                let aw = self.a[e] * w[feature];
                score += aw;
                let gain = aw - set.values()[feature];
                if gain > 0.0 {
                    items.push(Gain { feature, gain });
                }
            }
            set.total() - score + set.fractional(items)
        };
        (0..self.rows()).map(|i| row(i, items)).collect()
    }
}
