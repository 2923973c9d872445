//! The start: slacks on the central path, and Newton's method along it.

use super::iteration::{Iteration, Run};
use super::rows::Rows;
use super::slacks::central_slacks;
use super::smooth::Smooth;
use crate::control::Control;
use crate::error::Result;
use crate::linalg::vector::{self, vectorized};
use crate::stable::problem::Problem;

/// Passes over the rows in search of the threshold at most.
const PASSES: usize = 200;
/// Relative width of a bracket of the threshold that is rounding.
const ROUNDING: f64 = 1e-14;

/// The `$\theta$` on the central path over given losses: `$\sum a(\theta) + \mu/\theta = k$`.
///
/// The left side falls in `$\theta$`, with derivative `$-\sum \mu/(s^2 + u^2) - \mu/\theta^2$`: Newton's
/// method from `guess`, kept in a bracket, needs a handful of passes.
pub(super) fn central_theta(problem: &Problem<'_>, losses: &[f64], mu: f64, guess: f64) -> f64 {
    let (mut low, mut high) = (mu / problem.k, f64::INFINITY);
    let mut theta = guess.max(2.0 * low);
    for pass in 0..PASSES {
        let (value, slope) = theta_equation(problem, losses, mu, theta);
        if value.abs() <= CENTRAL * mu / theta {
            return theta;
        }
        if high.is_finite() && high - low <= ROUNDING * high {
            break;
        }
        if value > 0.0 {
            low = theta;
        } else {
            high = theta;
        }
        let newton = theta - value / slope;
        theta = if newton > low && newton < high && pass % 4 < 3 {
            newton
        } else if high.is_infinite() {
            2.0 * low
        } else if high > 4.0 * low {
            (low * high).sqrt()
        } else {
            f64::midpoint(low, high)
        };
    }
    // From above: the multiplier t = k - sum a must stay positive.
    if high.is_finite() { high } else { theta }
}

/// `$\sum a(\theta) + \mu/\theta - k$` and its derivative.
fn theta_equation(problem: &Problem<'_>, losses: &[f64], mu: f64, theta: f64) -> (f64, f64) {
    let (mut shares, mut slope) = (0.0, 0.0);
    vectorized!({
        for (l, c) in losses.iter().zip(problem.weights) {
            let (s, u) = central_slacks(*c, l - theta, mu);
            shares += mu / s;
            slope += mu / (s * s + u * u);
        }
    });
    (shares + mu / theta - problem.k, -slope - mu / theta / theta)
}

/// Newton steps spent on the start at most.
const CENTRING: usize = 4;
/// Part of the barrier's complementarity to which the start, and the threshold there, are central.
const CENTRAL: f64 = 1e-2;
/// Part of the predicted decrease that a step must achieve.
const SUFFICIENT: f64 = 0.1;
/// The shortest step tried.
const LEAST_STEP: f64 = 1e-6;

impl Iteration<'_, Smooth<'_, '_>> {
    /// Newton's method on the barrier problem of one `mu`, all slacks eliminated exactly.
    ///
    /// No step is cut short by a boundary here, so that a start far from the central path (zero
    /// weights, a neighbour's weights) comes close to it in two or three steps.
    ///
    /// Whether it came as close as [`CENTRAL`] asks.
    pub(super) fn centre(&mut self, mu: f64, run: &mut Run<'_, '_>) -> Result<bool> {
        let enough = CENTRAL * mu * self.rows.pairs();
        let mut merit = self.merit(mu);
        for _ in 0..CENTRING {
            if !run.budget.take()? {
                break;
            }
            let control = run.budget.control();
            self.rows.linearize(&self.f, self.theta, &mut self.local);
            let (system, mut gradient) = self.system(&self.local.alpha);
            vector::axpy(1.0, &self.rest(), &mut gradient);
            control.check()?;
            let Ok(system) = system else { break };
            let mut rhs: Vec<f64> = gradient.iter().map(|r| -r).collect();
            rhs.push(0.0);
            let mut v = system.solve(&rhs);
            v.pop();
            control.check()?;
            let decrease = -vector::dot(&gradient, &v);
            merit = self.descend(&v, mu, merit, decrease, control)?;
            self.t = self.problem.k - self.rows.share();
            if decrease <= enough {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The present point with its slacks and multipliers on the central path of another `mu`.
    pub(super) fn narrow(&mut self, mu: f64) {
        self.theta = self.rows.centre(&self.f, mu, self.theta);
        self.t = self.problem.k - self.rows.share();
    }

    /// A step along `v`, halved until the barrier problem decreases as it should; returns its new value.
    fn descend(
        &mut self,
        v: &[f64],
        mu: f64,
        merit: f64,
        decrease: f64,
        control: &Control,
    ) -> Result<f64> {
        let f = self.features.scores(v);
        let (old_v, old_f) = (self.v.clone(), self.f.clone());
        let mut step = 1.0;
        loop {
            control.check()?;
            vector::axpy(step, v, &mut self.v);
            vector::axpy(step, &f, &mut self.f);
            self.theta = self.rows.centre(&self.f, mu, self.theta);
            let new = self.merit(mu);
            if new <= merit - SUFFICIENT * step * decrease {
                return Ok(new);
            }
            step *= 0.5;
            self.v.clone_from(&old_v);
            self.f.clone_from(&old_f);
            if step < LEAST_STEP {
                // Rounding is all that is left to gain.
                self.theta = self.rows.centre(&self.f, mu, self.theta);
                return Ok(merit);
            }
        }
    }

    fn merit(&self, mu: f64) -> f64 {
        let settled = self.active.map_or(0.0, |active| vector::dot(&active.adjoint, &self.v));
        0.5 * self.ridge * self.size() + self.problem.k * self.theta - mu * self.theta.ln()
            + self.rows.barrier(mu)
            + settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, Matrix};
    use crate::stable::problem::{RowLoss, Target};

    #[test]
    fn the_central_theta_solves_its_equation() {
        let x = Matrix::from(Dense::zeros(5, 1));
        let losses = [0.0, 0.3, 0.9, 2.5, -4.0];
        let weights = [1.0, 2.0, 0.5, 1.0, 3.0];
        for k in [1e-3, 0.7, 3.0, 7.4, 7.5] {
            let problem = Problem {
                x: &x,
                target: Target::Signs(vec![1.0; 5]),
                weights: &weights,
                loss: RowLoss::Hinge,
                k,
                ridge: 1.0,
                scale: 1.0,
                fit_intercept: false,
            };
            for mu in [1e-9, 1e-4, 0.1, 10.0] {
                for guess in [0.0, 1.0, 1e6] {
                    let theta = central_theta(&problem, &losses, mu, guess);
                    let shares: f64 = losses
                        .iter()
                        .zip(&weights)
                        .map(|(l, c)| mu / central_slacks(*c, l - theta, mu).0)
                        .sum();
                    let rest = shares + mu / theta - k;
                    // A share grows by at most c^2 / 8mu for every unit of theta.
                    let blur =
                        3e-14 * theta * weights.iter().map(|c| c * c).sum::<f64>() / (8.0 * mu);
                    assert!(
                        rest.abs() <= 0.1 * mu / theta + 1e-12 + blur,
                        "{k} {mu} {guess}: {rest}"
                    );
                }
            }
        }
    }
}
