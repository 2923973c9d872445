//! The hinge loss on the reliable subspace: a quadratic program with few variables.

use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, vector};

/// Minimises $\frac1n\sum_i \max(0, 1 - a_i^\top\theta) + \frac{\epsilon}{2}\|\theta\|^2$.
///
/// Times n and with $\rho = \epsilon n$: slacks $\xi, s \ge 0$ with $A\theta + \xi - s = 1$,
/// multipliers $0 \le \alpha \le 1$, $\rho\theta = A^\top\alpha$, $s\alpha = 0$, $\xi(1-\alpha) = 0$.
/// A primal-dual interior point method (Mehrotra's predictor and corrector; one Cholesky factor of
/// order k + 1 an iteration) finds which constraints are active; the answer is then solved for
/// exactly from these, and kept if it satisfies all conditions.
pub(super) fn minimise(rows: &Dense, ridge: f64) -> Result<Vec<f64>> {
    let rho = ridge * rows.nrows() as f64;
    let point = interior_point(rows, rho)?;
    Ok(polish(rows, rho, &point).unwrap_or(point.theta))
}

struct Point {
    theta: Vec<f64>,
    alpha: Vec<f64>,
    xi: Vec<f64>,
    s: Vec<f64>,
}

impl Point {
    /// Both products of complementary variables, row by row.
    fn products(&self) -> (Vec<f64>, Vec<f64>) {
        let rows = || 0..self.s.len();
        (
            rows().map(|i| self.s[i] * self.alpha[i]).collect(),
            rows().map(|i| self.xi[i] * (1.0 - self.alpha[i])).collect(),
        )
    }

    /// Mean of all products.
    fn mu(&self) -> f64 {
        let (with_s, with_xi) = self.products();
        let sum: f64 = with_s.iter().zip(&with_xi).map(|(a, b)| a + b).sum();
        sum / (2 * with_s.len()) as f64
    }

    fn plus(&self, step: f64, d: &Self) -> Self {
        let moved = |v: &[f64], d: &[f64]| v.iter().zip(d).map(|(v, d)| v + step * d).collect();
        Self {
            theta: moved(&self.theta, &d.theta),
            alpha: moved(&self.alpha, &d.alpha),
            xi: moved(&self.xi, &d.xi),
            s: moved(&self.s, &d.s),
        }
    }

    /// Largest step in (0, 1] along `d` that keeps everything inside its bounds.
    fn room(&self, d: &Self) -> f64 {
        let least = |v: &[f64], d: &[f64], step: f64| {
            let limits = v.iter().zip(d).filter(|(_, d)| **d < 0.0).map(|(v, d)| -v / d);
            limits.fold(step, f64::min)
        };
        let rest: Vec<f64> = self.alpha.iter().map(|a| 1.0 - a).collect();
        let back: Vec<f64> = d.alpha.iter().map(|a| -a).collect();
        let step = least(&self.alpha, &d.alpha, least(&rest, &back, 1.0));
        least(&self.xi, &d.xi, least(&self.s, &d.s, step))
    }
}

/// The linearised conditions at a point, factored.
struct System<'a> {
    rows: &'a Dense,
    at: &'a Point,
    primal_residual: Vec<f64>,
    dual_residual: Vec<f64>,
    stiffness: Vec<f64>,
}

impl<'a> System<'a> {
    fn new(rows: &'a Dense, rho: f64, at: &'a Point) -> Self {
        let fitted = rows.mul_vec(&at.theta);
        let mut dual_residual = rows.tr_mul_vec(&at.alpha);
        vector::scale(&mut dual_residual, -1.0);
        vector::axpy(rho, &at.theta, &mut dual_residual);
        let each = || 0..rows.nrows();
        let primal_residual = each().map(|i| fitted[i] + at.xi[i] - at.s[i] - 1.0).collect();
        let softness = |i: usize| at.xi[i] / (1.0 - at.alpha[i]) + at.s[i] / at.alpha[i];
        let stiffness = each().map(|i| softness(i).recip()).collect();
        Self { rows, at, primal_residual, dual_residual, stiffness }
    }

    fn error(&self) -> f64 {
        vector::norm_inf(&self.dual_residual).max(vector::norm_inf(&self.primal_residual))
    }

    fn factor(&self, rho: f64) -> Option<Cholesky> {
        let mut normal = self.rows.weighted_gram(&self.stiffness);
        normal.add_diagonal(rho);
        Cholesky::new(&normal)
    }

    /// Newton's direction towards residuals of zero, and products that are smaller by `with_s` and `with_xi`.
    fn direction(&self, factor: &Cholesky, with_s: &[f64], with_xi: &[f64]) -> Point {
        let (p, each) = (self.at, || 0..self.rows.nrows());
        let pull = |i: usize| with_xi[i] / (1.0 - p.alpha[i]) - with_s[i] / p.alpha[i];
        let target: Vec<f64> = each().map(|i| pull(i) - self.primal_residual[i]).collect();
        let weighted: Vec<f64> = each().map(|i| self.stiffness[i] * target[i]).collect();
        let mut theta = self.rows.tr_mul_vec(&weighted);
        vector::axpy(-1.0, &self.dual_residual, &mut theta);
        factor.solve_in_place(&mut theta);
        let moved = self.rows.mul_vec(&theta);
        let alpha: Vec<f64> = each().map(|i| self.stiffness[i] * (target[i] - moved[i])).collect();
        let s = each().map(|i| (-with_s[i] - p.s[i] * alpha[i]) / p.alpha[i]).collect();
        let xi = each().map(|i| (p.xi[i] * alpha[i] - with_xi[i]) / (1.0 - p.alpha[i])).collect();
        Point { theta, alpha, xi, s }
    }

    /// Mehrotra's direction: what is left of the products after the plain one tells how far to aim.
    fn corrected(&self, factor: &Cholesky, mu: f64) -> Point {
        let (mut with_s, mut with_xi) = self.at.products();
        let plain = self.direction(factor, &with_s, &with_xi);
        let mu_after = self.at.plus(self.at.room(&plain), &plain).mu();
        let centre = mu * (mu_after / mu).powi(3);
        for i in 0..with_s.len() {
            with_s[i] += plain.s[i] * plain.alpha[i] - centre;
            with_xi[i] -= plain.xi[i] * plain.alpha[i] + centre;
        }
        self.direction(factor, &with_s, &with_xi)
    }
}

fn interior_point(rows: &Dense, rho: f64) -> Result<Point> {
    let n = rows.nrows();
    let theta = vec![0.0; rows.ncols()];
    let mut p = Point { theta, alpha: vec![0.5; n], xi: vec![1.0; n], s: vec![1.0; n] };
    for _ in 0..100 {
        let system = System::new(rows, rho, &p);
        let mu = p.mu();
        // On separable rows nothing but the ridge is left of the objective.
        let value = p.xi.iter().sum::<f64>() + 0.5 * rho * vector::norm_sq(&p.theta);
        if mu <= 1e-15 * value.min(1.0) && system.error() <= 1e-12 {
            break;
        }
        let Some(factor) = system.factor(rho) else {
            // Rounding has the last word: the point is as good as arithmetic allows.
            if mu <= 1e-8 {
                break;
            }
            return Err(Error::Numerical("hinge fit on the top components".into()));
        };
        let direction = system.corrected(&factor, mu);
        // Held back a little from the bounds.
        let step = 0.995 * p.room(&direction);
        if !step.is_finite() || step < 1e-13 {
            break;
        }
        p = p.plus(step, &direction);
        // A multiplier rounded onto its bound would stop the method.
        p.alpha.iter_mut().for_each(|a| *a = a.clamp(1e-300, 1.0 - f64::EPSILON));
    }
    Ok(p)
}

/// Solves the optimality conditions for the active set the interior point suggests; `None` if the
/// result violates one of them.
fn polish(rows: &Dense, rho: f64, point: &Point) -> Option<Vec<f64>> {
    const TOLERANCE: f64 = 1e-9;
    let n = rows.nrows();
    let at_zero = |i: usize| point.alpha[i] < point.s[i];
    let at_one = |i: usize| 1.0 - point.alpha[i] < point.xi[i];
    let free: Vec<usize> = (0..n).filter(|&i| !at_zero(i) && !at_one(i)).collect();
    let ones: Vec<f64> = (0..n).map(|i| f64::from(u8::from(at_one(i) && !at_zero(i)))).collect();
    let pushed = rows.tr_mul_vec(&ones);
    let mut theta = pushed.clone();
    if !free.is_empty() {
        let on = rows.select_rows(&free);
        let factor = Cholesky::new(&on.outer_gram())?;
        let rhs: Vec<f64> = on.mul_vec(&pushed).iter().map(|v| rho - v).collect();
        let mut alpha = factor.solve(&rhs);
        // One refinement: theta is a small difference of large terms over rho.
        let left = |alpha: &[f64]| {
            let back = on.tr_mul_vec(alpha);
            on.mul_vec(&back)
        };
        let residual: Vec<f64> = left(&alpha).iter().zip(&rhs).map(|(l, r)| r - l).collect();
        vector::axpy(1.0, &factor.solve(&residual), &mut alpha);
        if alpha.iter().any(|a| !(-TOLERANCE..=1.0 + TOLERANCE).contains(a)) {
            return None;
        }
        vector::axpy(1.0, &on.tr_mul_vec(&alpha), &mut theta);
    }
    vector::scale(&mut theta, 1.0 / rho);
    let margins = rows.mul_vec(&theta);
    let good = (0..n).all(|i| {
        if at_zero(i) {
            margins[i] >= 1.0 - TOLERANCE
        } else if at_one(i) {
            margins[i] <= 1.0 + TOLERANCE
        } else {
            (margins[i] - 1.0).abs() <= TOLERANCE
        }
    });
    good.then_some(theta)
}
