//! The hinge SVM (2) and the hard-margin SVM, the conic SVM's neighbours.

use super::problem::Rows;
use crate::control::Control;
use crate::error::Result;
use crate::linalg::{Cholesky, vector};

/// A hyperplane with its multipliers, in solver units.
#[derive(Debug, Clone)]
pub(super) struct Margin {
    /// The hyperplane.
    pub w: Vec<f64>,
    /// Multipliers, $0 \le h_i \le u_i$.
    pub h: Vec<f64>,
    /// Objective at `w`; infinite while no separating plane is known.
    pub upper: f64,
    /// $2\sum h_i - \|\sum h_i y_i x_i\|^2$.
    pub lower: f64,
    /// Iterations used.
    pub n_iter: usize,
}

/// Interior point for $\min \|w\|^2 + 2\sum u_i (1 - y_i x_i^\top w)_+$; with $u_i = \infty$ every margin must be
/// at least 1.
///
/// Mehrotra's method; eliminating slacks and multipliers leaves $(I + X^\top D X)\,dw = r$, one
/// weighted Gram matrix and one Cholesky factorisation of order p an iteration. Problem (2) with price
/// $\lambda$ and weights $c$ is $u = \lambda c/2$. `unbounded` is the lower bound beyond which the
/// hard-margin problem counts as infeasible.
pub(super) fn margin_svm(
    rows: &Rows<'_>,
    u: &[f64],
    tol: f64,
    unbounded: f64,
    control: &Control,
) -> Result<Margin> {
    let mut it = Iterate::start(rows, u);
    let mut best = Margin {
        w: it.w.clone(),
        h: vec![0.0; u.len()],
        upper: f64::INFINITY,
        lower: f64::NEG_INFINITY,
        n_iter: 0,
    };
    for iter in 0..100 {
        control.check()?;
        best.n_iter = iter;
        best.look(rows, u, &it);
        let gap = best.upper - best.lower;
        let proven = best.upper.is_finite() && gap <= tol * best.upper.max(f64::MIN_POSITIVE);
        if proven || best.lower > unbounded {
            break;
        }
        if !it.advance(rows, u) {
            break;
        }
    }
    Ok(best)
}

impl Margin {
    fn look(&mut self, rows: &Rows<'_>, u: &[f64], it: &Iterate) {
        let margins = it.margins(rows);
        let hard = u.iter().any(|u| u.is_infinite());
        let (value, scale) = if hard {
            let least = margins.iter().fold(f64::INFINITY, |m, v| m.min(*v));
            let scale = if least > 0.0 { 1.0 / least } else { f64::INFINITY };
            (vector::norm_sq(&it.w) * scale * scale, scale)
        } else {
            let losses = margins.iter().zip(u).map(|(m, u)| 2.0 * u * (1.0 - m).max(0.0));
            (vector::norm_sq(&it.w) + losses.sum::<f64>(), 1.0)
        };
        if value < self.upper {
            self.upper = value;
            self.w = it.w.iter().map(|w| w * scale).collect();
        }
        let image = vector::norm_sq(&it.image(rows));
        let sum: f64 = it.h.iter().sum();
        // Any multiple within the box is feasible; the best one is sum / image.
        let room = it.h.iter().zip(u).map(|(h, u)| u / h).fold(f64::INFINITY, f64::min);
        let k = if image > 0.0 { (sum / image).min(room) } else { room.min(1e6) };
        let lower = 2.0 * k * sum - k * k * image;
        if lower > self.lower {
            self.lower = lower;
            self.h = it.h.iter().map(|h| h * k).collect();
        }
    }
}

#[derive(Clone)]
struct Iterate {
    w: Vec<f64>,
    /// Multipliers of the margins.
    h: Vec<f64>,
    /// Slack of the margins.
    s: Vec<f64>,
    /// Violations; partner of u - h.
    xi: Vec<f64>,
}

impl Iterate {
    fn start(rows: &Rows<'_>, u: &[f64]) -> Self {
        let n = u.len();
        let bounded = u.iter().all(|u| u.is_finite());
        let typical = if bounded { u.iter().fold(f64::INFINITY, |m, v| m.min(*v)) } else { 1.0 };
        let norm = (0..n).map(|i| vector::norm_sq(rows.x.row(i))).sum::<f64>().max(1e-300);
        let size = typical.min(1.0 / norm).max(1e-12 * typical);
        Self {
            w: vec![0.0; rows.x.ncols()],
            h: u.iter().map(|u| if u.is_finite() { size.min(0.5 * u) } else { size }).collect(),
            s: vec![1.0; n],
            xi: vec![2.0; n],
        }
    }

    fn margins(&self, rows: &Rows<'_>) -> Vec<f64> {
        rows.x.mul_vec(&self.w).iter().zip(rows.y).map(|(m, y)| m * y).collect()
    }

    /// $\sum h_i y_i x_i$.
    fn image(&self, rows: &Rows<'_>) -> Vec<f64> {
        let signed: Vec<f64> = self.h.iter().zip(rows.y).map(|(h, y)| h * y).collect();
        rows.x.tr_mul_vec(&signed)
    }

    fn mu(&self, u: &[f64]) -> f64 {
        let mut sum = 0.0;
        let mut count = 0.0;
        for (i, u) in u.iter().enumerate() {
            sum += self.h[i] * self.s[i];
            count += 1.0;
            if u.is_finite() {
                sum += (u - self.h[i]) * self.xi[i];
                count += 1.0;
            }
        }
        sum / count
    }

    fn advance(&mut self, rows: &Rows<'_>, u: &[f64]) -> bool {
        let n = u.len();
        let margins = self.margins(rows);
        let finite = |i: usize| u[i].is_finite();
        let d: Vec<f64> = (0..n)
            .map(|i| {
                let box_part = if finite(i) { self.xi[i] / (u[i] - self.h[i]) } else { 0.0 };
                1.0 / (self.s[i] / self.h[i] + box_part)
            })
            .collect();
        let mut matrix = rows.x.weighted_gram(&d);
        matrix.add_diagonal(1.0);
        let Some(factor) = Cholesky::new(&matrix) else { return false };
        let mut residual = self.image(rows);
        vector::axpy(-1.0, &self.w, &mut residual);
        let lack: Vec<f64> = (0..n)
            .map(|i| {
                let xi = if finite(i) { self.xi[i] } else { 0.0 };
                margins[i] - 1.0 - self.s[i] + xi
            })
            .collect();
        let solve = |mu: f64, predictor: Option<&Step>| {
            let r1 = |i: usize| {
                let second = predictor.map_or(0.0, |p| p.h[i] * p.s[i]);
                mu - self.h[i] * self.s[i] - second
            };
            let r2 = |i: usize| {
                let second = predictor.map_or(0.0, |p| -p.h[i] * p.xi[i]);
                mu - (u[i] - self.h[i]) * self.xi[i] - second
            };
            let pull: Vec<f64> = (0..n)
                .map(|i| {
                    let box_part = if finite(i) { r2(i) / (u[i] - self.h[i]) } else { 0.0 };
                    r1(i) / self.h[i] - box_part - lack[i]
                })
                .collect();
            let signed: Vec<f64> = (0..n).map(|i| rows.y[i] * d[i] * pull[i]).collect();
            let mut rhs = rows.x.tr_mul_vec(&signed);
            vector::axpy(1.0, &residual, &mut rhs);
            let w = factor.solve(&rhs);
            let moved = rows.x.mul_vec(&w);
            let h: Vec<f64> = (0..n).map(|i| d[i] * (pull[i] - rows.y[i] * moved[i])).collect();
            let s = (0..n).map(|i| (r1(i) - self.s[i] * h[i]) / self.h[i]).collect();
            let xi =
                (0..n)
                    .map(|i| {
                        if finite(i) {
                            (r2(i) + self.xi[i] * h[i]) / (u[i] - self.h[i])
                        } else {
                            0.0
                        }
                    })
                    .collect();
            Step { w, h, s, xi }
        };
        let affine = solve(0.0, None);
        let (primal, dual) = self.lengths(u, &affine);
        let mut ahead = self.clone();
        ahead.add(&affine, primal, dual);
        let mu = self.mu(u);
        let centring = (ahead.mu(u) / mu).clamp(0.0, 1.0).powi(3);
        let step = solve(centring * mu, Some(&affine));
        let (primal, dual) = self.lengths(u, &step);
        if primal.is_nan() || dual.is_nan() || primal.max(dual) <= 1e-10 {
            return false;
        }
        self.add(&step, (0.995 * primal).min(1.0), (0.995 * dual).min(1.0));
        self.w.iter().all(|w| w.is_finite())
    }

    fn add(&mut self, step: &Step, primal: f64, dual: f64) {
        vector::axpy(primal, &step.w, &mut self.w);
        vector::axpy(primal, &step.s, &mut self.s);
        vector::axpy(primal, &step.xi, &mut self.xi);
        vector::axpy(dual, &step.h, &mut self.h);
    }

    /// Largest steps to the boundary, at most 1/0.995.
    fn lengths(&self, u: &[f64], step: &Step) -> (f64, f64) {
        let (mut primal, mut dual) = (1.0 / 0.995, 1.0 / 0.995);
        for (i, u) in u.iter().enumerate() {
            if step.s[i] < 0.0 {
                primal = f64::min(primal, -self.s[i] / step.s[i]);
            }
            if step.xi[i] < 0.0 {
                primal = f64::min(primal, -self.xi[i] / step.xi[i]);
            }
            if step.h[i] < 0.0 {
                dual = f64::min(dual, -self.h[i] / step.h[i]);
            } else if step.h[i] > 0.0 && u.is_finite() {
                dual = f64::min(dual, (u - self.h[i]) / step.h[i]);
            }
        }
        (primal, dual)
    }
}

struct Step {
    w: Vec<f64>,
    h: Vec<f64>,
    s: Vec<f64>,
    xi: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    fn solve(x: &[f64], y: &[f64], u: f64) -> Margin {
        let x = Dense::from_rows(y.len(), x.len() / y.len(), x.to_vec());
        let ones = vec![1.0; y.len()];
        let rows = Rows { x: &x, y, c: &ones, damping: &[] };
        margin_svm(&rows, &vec![u; y.len()], 1e-10, 1e14, &Control::new()).unwrap()
    }

    /// Points at +-1 leave w^2 + 4u max(0, 1 - w): w = min(1, 2u).
    #[test]
    fn two_points_on_a_line_match_the_closed_form() {
        for u in [0.01, 0.3, 0.5, 2.0, 1e4, f64::INFINITY] {
            let found = solve(&[1.0, -1.0], &[1.0, -1.0], u);
            let w = f64::min(1.0, 2.0 * u);
            assert!((found.w[0] - w).abs() < 1e-5, "{u}: {found:?}");
            assert!(found.upper - found.lower <= 1e-9 * found.upper.max(1.0), "{found:?}");
        }
    }

    #[test]
    fn contradictory_points_have_no_hard_margin() {
        let found = solve(&[1.0, 1.0], &[1.0, -1.0], f64::INFINITY);
        assert!(found.lower > 1e14 && found.upper.is_infinite(), "{found:?}");
    }

    /// The largest margin between (1, 0), (0, 1) and (-1, -1) without intercept: w = (1, 1).
    #[test]
    fn the_hard_margin_is_found() {
        let found = solve(&[1.0, 0.0, 0.0, 1.0, -1.0, -1.0], &[1.0, 1.0, -1.0], f64::INFINITY);
        assert!((found.upper - 2.0).abs() < 1e-8 && found.upper - found.lower < 1e-8);
    }
}
