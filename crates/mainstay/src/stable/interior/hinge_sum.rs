//! Rows whose loss is a sum of hinges, one per score: problem (10).

use super::rows::{Local, Rows};
use super::slacks::Shares;
use crate::optim::step::ratio;
use crate::stable::problem::Problem;

/// Units of weight: the least share of a start, so that it is inside.
const LEAST_SHARE: f64 = 1e-12;

/// Rows of (10): `$\eta_{ij} \ge 0$` with multiplier `$\gamma_{ij}$`, `$v_{ij} = \eta_{ij} + y_{ij} f_{ij} -
/// 1 \ge 0$` with `$\beta_{ij} = a_i - \gamma_{ij}$`, and `$L_i = \sum_j \eta_{ij}$`.
///
/// With `$P = \beta/v$`, `$Q = \gamma/\eta$` eliminating `$\eta$` leaves `$r_j = -y_j P/(P+Q)$`, `$B =
/// \mathrm{diag}(PQ/(P+Q))$` and `$1/D = s/a + u/g + \sum_j 1/(P+Q)$`.
#[derive(Debug)]
pub(super) struct HingeSum<'p, 'a> {
    problem: &'p Problem<'a>,
    shares: Shares<'p>,
    eta: Vec<f64>,
    v: Vec<f64>,
    beta: Vec<f64>,
    gamma: Vec<f64>,
    d_eta: Vec<f64>,
    dv: Vec<f64>,
    d_beta: Vec<f64>,
    d_gamma: Vec<f64>,
    /// Targets over their slack: `$c_v/v$` and `$c_\eta/\eta$`.
    to_v: Vec<f64>,
    to_eta: Vec<f64>,
}

impl<'p, 'a> HingeSum<'p, 'a> {
    /// Slacks on the central path over the scores `f`, for multipliers near `a`; `theta` is kept.
    pub(super) fn new(problem: &'p Problem<'a>, f: &[f64], theta: f64, a: &[f64], mu: f64) -> Self {
        let (n, q) = (problem.n(), problem.q());
        let zero = || vec![0.0; n * q];
        let mut rows = Self {
            problem,
            shares: Shares::new(problem.weights, a.to_vec(), 1.0),
            eta: zero(),
            v: zero(),
            beta: zero(),
            gamma: zero(),
            d_eta: zero(),
            dv: zero(),
            d_beta: zero(),
            d_gamma: zero(),
            to_v: zero(),
            to_eta: zero(),
        };
        let mut losses = vec![0.0; n];
        for i in 0..n {
            for j in 0..q {
                let shortfall = 1.0 - problem.target.sign(i, j) * f[i * q + j];
                let (v, eta) = super::slacks::central_slacks(a[i].max(LEAST_SHARE), shortfall, mu);
                rows.v[i * q + j] = v;
                rows.eta[i * q + j] = eta;
                losses[i] += eta;
            }
        }
        rows.shares.centre(&losses, theta, mu);
        for i in 0..n {
            for at in i * q..(i + 1) * q {
                let share = rows.shares.a[i];
                rows.beta[at] = share * rows.eta[at] / (rows.v[at] + rows.eta[at]);
                rows.gamma[at] = share * rows.v[at] / (rows.v[at] + rows.eta[at]);
            }
        }
        rows
    }
}

impl Rows for HingeSum<'_, '_> {
    fn pairs(&self) -> f64 {
        2.0 * (self.problem.n() * (1 + self.problem.q())) as f64
    }

    fn linearize(&mut self, _f: &[f64], _theta: f64, local: &mut Local) {
        let q = self.problem.q();
        let packed = q * (q + 1) / 2;
        local.curve.fill(0.0);
        for i in 0..self.problem.n() {
            let mut resistance = self.shares.resistance(i);
            for j in 0..q {
                let at = i * q + j;
                let y = self.problem.target.sign(i, j);
                let (p, r) = (self.beta[at] / self.v[at], self.gamma[at] / self.eta[at]);
                resistance += 1.0 / (p + r);
                local.alpha[at] = -y * self.beta[at];
                local.slope[at] = -y * p / (p + r);
                local.curve[i * packed + j * (j + 3) / 2] = p * (r / (p + r));
            }
            local.gain[i] = 1.0 / resistance;
        }
    }

    fn products(&self) -> f64 {
        let inner: f64 = (0..self.eta.len())
            .map(|at| self.v[at] * self.beta[at] + self.eta[at] * self.gamma[at])
            .sum();
        self.shares.products() + inner
    }

    fn share(&self) -> f64 {
        self.shares.a.iter().sum()
    }

    fn excess(&self) -> f64 {
        self.shares.excess()
    }

    fn aim(&mut self, mu: f64, second: bool, local: &mut Local) {
        let q = self.problem.q();
        for i in 0..self.problem.n() {
            let mut drive = self.shares.aim(i, mu, second);
            for j in 0..q {
                let at = i * q + j;
                let mut cv = mu - self.v[at] * self.beta[at];
                let mut ce = mu - self.eta[at] * self.gamma[at];
                if second {
                    cv -= self.dv[at] * self.d_beta[at];
                    ce -= self.d_eta[at] * self.d_gamma[at];
                }
                let (p, r) = (self.beta[at] / self.v[at], self.gamma[at] / self.eta[at]);
                let (to_v, to_eta) = (cv / self.v[at], ce / self.eta[at]);
                (self.to_v[at], self.to_eta[at]) = (to_v, to_eta);
                drive += (to_v + to_eta) / (p + r);
                // c_v/v - P(c_v/v + c_eta/eta)/(P + Q), without the difference.
                let y = self.problem.target.sign(i, j);
                local.extra[at] = -y * (r * to_v - p * to_eta) / (p + r);
            }
            local.drive[i] = local.gain[i] * drive;
        }
    }

    fn direct(&mut self, df: &[f64], dtheta: f64, local: &Local) {
        let q = self.problem.q();
        for i in 0..self.problem.n() {
            let pushed: f64 =
                (i * q..(i + 1) * q).map(|at| local.slope[at] * df[at]).sum::<f64>() - dtheta;
            let da = local.drive[i] + local.gain[i] * pushed;
            let mut d_loss = 0.0;
            for j in 0..q {
                let at = i * q + j;
                let moved = self.problem.target.sign(i, j) * df[at];
                let (p, r) = (self.beta[at] / self.v[at], self.gamma[at] / self.eta[at]);
                let aim = self.to_v[at] + self.to_eta[at] - da;
                self.d_eta[at] = (aim - p * moved) / (p + r);
                self.dv[at] = (aim + r * moved) / (p + r);
                if p > r {
                    self.d_gamma[at] = self.to_eta[at] - r * self.d_eta[at];
                    self.d_beta[at] = da - self.d_gamma[at];
                } else {
                    self.d_beta[at] = self.to_v[at] - p * self.dv[at];
                    self.d_gamma[at] = da - self.d_beta[at];
                }
                d_loss += self.d_eta[at];
            }
            self.shares.direct(i, da, dtheta - d_loss);
        }
    }

    fn longest(&self) -> f64 {
        let mut step = self.shares.longest();
        for at in 0..self.eta.len() {
            step = ratio(self.eta[at], self.d_eta[at], step);
            step = ratio(self.v[at], self.dv[at], step);
            step = ratio(self.beta[at], self.d_beta[at], step);
            step = ratio(self.gamma[at], self.d_gamma[at], step);
        }
        step
    }

    fn products_after(&self, step: f64) -> f64 {
        let mut sum = self.shares.products_after(step);
        for at in 0..self.eta.len() {
            sum += (self.v[at] + step * self.dv[at]) * (self.beta[at] + step * self.d_beta[at]);
            sum +=
                (self.eta[at] + step * self.d_eta[at]) * (self.gamma[at] + step * self.d_gamma[at]);
        }
        sum
    }

    fn advance(&mut self, step: f64) {
        self.shares.advance(step);
        for at in 0..self.eta.len() {
            self.eta[at] += step * self.d_eta[at];
            self.v[at] += step * self.dv[at];
            self.beta[at] += step * self.d_beta[at];
            self.gamma[at] += step * self.d_gamma[at];
        }
    }

    fn shares(&self) -> &[f64] {
        &self.shares.a
    }
}
