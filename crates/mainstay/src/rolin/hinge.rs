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

/// Largest step in (0, 1] that keeps `v + step * dv` positive, held back a little.
fn room(v: &[f64], dv: &[f64]) -> f64 {
    v.iter().zip(dv).fold(1.0, |step, (v, d)| if *d < 0.0 { f64::min(step, -v / d) } else { step })
}

fn interior_point(rows: &Dense, rho: f64) -> Result<Point> {
    let n = rows.nrows();
    let mut p = Point {
        theta: vec![0.0; rows.ncols()],
        alpha: vec![0.5; n],
        xi: vec![1.0; n],
        s: vec![1.0; n],
    };
    for _ in 0..100 {
        let fitted = rows.mul_vec(&p.theta);
        let mut dual_residual = rows.tr_mul_vec(&p.alpha);
        vector::scale(&mut dual_residual, -1.0);
        vector::axpy(rho, &p.theta, &mut dual_residual);
        let primal_residual: Vec<f64> =
            (0..n).map(|i| fitted[i] + p.xi[i] - p.s[i] - 1.0).collect();
        let mu = (0..n).map(|i| p.s[i] * p.alpha[i] + p.xi[i] * (1.0 - p.alpha[i])).sum::<f64>()
            / (2 * n) as f64;
        let error = vector::norm_inf(&dual_residual).max(vector::norm_inf(&primal_residual));
        if mu <= 1e-15 && error <= 1e-12 {
            break;
        }
        let stiffness: Vec<f64> =
            (0..n).map(|i| 1.0 / (p.xi[i] / (1.0 - p.alpha[i]) + p.s[i] / p.alpha[i])).collect();
        let mut normal = rows.weighted_gram(&stiffness);
        normal.add_diagonal(rho);
        let Some(factor) = Cholesky::new(&normal) else {
            // Rounding has the last word: the point is as good as arithmetic allows.
            if mu <= 1e-8 {
                break;
            }
            return Err(Error::Numerical("hinge fit on the top components".into()));
        };
        let direction = |comp_s: &[f64], comp_xi: &[f64]| {
            let target: Vec<f64> = (0..n)
                .map(|i| {
                    -primal_residual[i] + comp_xi[i] / (1.0 - p.alpha[i]) - comp_s[i] / p.alpha[i]
                })
                .collect();
            let weighted: Vec<f64> = (0..n).map(|i| stiffness[i] * target[i]).collect();
            let mut rhs = rows.tr_mul_vec(&weighted);
            vector::axpy(-1.0, &dual_residual, &mut rhs);
            let d_theta = factor.solve(&rhs);
            let moved = rows.mul_vec(&d_theta);
            let d_alpha: Vec<f64> = (0..n).map(|i| stiffness[i] * (target[i] - moved[i])).collect();
            let d_s: Vec<f64> =
                (0..n).map(|i| (-comp_s[i] - p.s[i] * d_alpha[i]) / p.alpha[i]).collect();
            let d_xi: Vec<f64> =
                (0..n).map(|i| (-comp_xi[i] + p.xi[i] * d_alpha[i]) / (1.0 - p.alpha[i])).collect();
            Point { theta: d_theta, alpha: d_alpha, xi: d_xi, s: d_s }
        };
        let step_of = |d: &Point| {
            let rest: Vec<f64> = p.alpha.iter().map(|a| 1.0 - a).collect();
            let back: Vec<f64> = d.alpha.iter().map(|a| -a).collect();
            [room(&p.alpha, &d.alpha), room(&rest, &back), room(&p.xi, &d.xi), room(&p.s, &d.s)]
                .into_iter()
                .fold(1.0, f64::min)
        };
        let comp_s: Vec<f64> = (0..n).map(|i| p.s[i] * p.alpha[i]).collect();
        let comp_xi: Vec<f64> = (0..n).map(|i| p.xi[i] * (1.0 - p.alpha[i])).collect();
        let predictor = direction(&comp_s, &comp_xi);
        let step = step_of(&predictor);
        let mu_after = (0..n)
            .map(|i| {
                let alpha = p.alpha[i] + step * predictor.alpha[i];
                (p.s[i] + step * predictor.s[i]) * alpha
                    + (p.xi[i] + step * predictor.xi[i]) * (1.0 - alpha)
            })
            .sum::<f64>()
            / (2 * n) as f64;
        let centre = mu * (mu_after / mu).powi(3);
        let comp_s: Vec<f64> =
            (0..n).map(|i| comp_s[i] + predictor.s[i] * predictor.alpha[i] - centre).collect();
        let comp_xi: Vec<f64> =
            (0..n).map(|i| comp_xi[i] - predictor.xi[i] * predictor.alpha[i] - centre).collect();
        let corrector = direction(&comp_s, &comp_xi);
        let step = 0.995 * step_of(&corrector);
        if !step.is_finite() || step < 1e-13 {
            break;
        }
        vector::axpy(step, &corrector.theta, &mut p.theta);
        vector::axpy(step, &corrector.alpha, &mut p.alpha);
        vector::axpy(step, &corrector.xi, &mut p.xi);
        vector::axpy(step, &corrector.s, &mut p.s);
        // A multiplier rounded onto its bound would stop the method.
        for i in 0..n {
            p.alpha[i] = p.alpha[i].clamp(1e-300, 1.0 - f64::EPSILON);
        }
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
