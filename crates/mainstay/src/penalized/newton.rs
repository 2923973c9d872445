use super::scaled::Scaled;
use super::solution::{Budget, Solution};
use crate::error::Result;
use crate::linalg::{Cholesky, Dense, vector};

/// Newton's method for a smooth loss with an L2 penalty.
///
/// At margins $m$ with $a = -\varphi'(m)$ and $d = s\,\varphi''(m)$ the step solves
///
/// $$\begin{pmatrix} Z^\top D Z + M & Z^\top d\\ d^\top Z & \mathbf 1^\top d\end{pmatrix}
///   \begin{pmatrix}\Delta v\\ \Delta b\end{pmatrix}
///   = \begin{pmatrix} Z^\top(s a y) - M v\\ (s a)^\top y\end{pmatrix},$$
///
/// followed by a line search to nearly the minimum. For piecewise quadratic losses this is the
/// semismooth Newton method, which ends after finitely many steps. An iteration costs
/// $O(np^2 + p^3)$.
pub(super) fn newton(
    problem: &Scaled<'_>,
    start: Option<(&[f64], f64)>,
    budget: &Budget<'_>,
) -> Result<Solution> {
    let (n, p) = (problem.z.nrows(), problem.z.ncols());
    let (mut v, mut b) = start.map_or((vec![0.0; p], 0.0), |(v, b)| (v.to_vec(), b));
    let mut margins = margins_at(problem, &v, b);
    let mut n_iter = 0;
    let mut stalls = 0;
    loop {
        budget.control.check()?;
        let duals: Vec<f64> = margins.iter().map(|m| -problem.loss.slope(*m)).collect();
        let pull: Vec<f64> = (0..n).map(|i| problem.shares[i] * duals[i] * problem.y[i]).collect();
        let mut downhill = problem.z.tr_mul_vec(&pull);
        for j in 0..p {
            downhill[j] -= problem.l2[j] * v[j];
        }
        downhill.push(pull.iter().sum());
        let value = objective(problem, &margins, &v);
        let done = estimate(problem, &downhill, &margins) <= budget.target(value);
        if done || n_iter >= budget.max_iter || stalls >= 2 {
            return Ok(Solution { v, b, duals, n_iter });
        }
        n_iter += 1;

        let curvature: Vec<f64> = margins
            .iter()
            .zip(problem.shares)
            .map(|(m, s)| s * problem.loss.curvature(*m).unwrap_or(0.0))
            .collect();
        let step = step(problem, &curvature, &downhill);
        let (dv, db) = (&step[..p], step[p]);
        let slopes = margins_at(problem, dv, db);
        let tau = line_search(problem, &margins, &slopes, &v, dv);
        vector::axpy(tau, dv, &mut v);
        b += tau * db;
        // Recomputed, not updated: rounding errors must not add up.
        margins = margins_at(problem, &v, b);
        let gained = value - objective(problem, &margins, &v);
        stalls = if gained <= 1e-15 * value.abs() { stalls + 1 } else { 0 };
    }
}

/// $y_i(z_i^\top v + b)$.
pub(super) fn margins_at(problem: &Scaled<'_>, v: &[f64], b: f64) -> Vec<f64> {
    let mut margins = problem.z.mul_vec(v);
    for (m, y) in margins.iter_mut().zip(problem.y) {
        *m = y * (*m + b);
    }
    margins
}

/// Mean loss plus L2 penalty.
fn objective(problem: &Scaled<'_>, margins: &[f64], v: &[f64]) -> f64 {
    let loss: f64 =
        margins.iter().zip(problem.shares).map(|(m, s)| s * problem.loss.value(*m)).sum();
    loss + 0.5 * v.iter().zip(&problem.l2).map(|(v, mu)| mu * v * v).sum::<f64>()
}

/// What the gradient costs in the certificate: g_j^2 / (2 mu_j) a column, and the balancing of the
/// classes, which moves the dual value by about the margins times the imbalance.
fn estimate(problem: &Scaled<'_>, downhill: &[f64], margins: &[f64]) -> f64 {
    let p = problem.l2.len();
    let columns: f64 =
        downhill[..p].iter().zip(&problem.l2).map(|(g, mu)| 0.5 * g * (g / mu)).sum();
    let size: f64 = margins.iter().zip(problem.shares).map(|(m, s)| s * m.abs()).sum();
    columns + downhill[p].abs() * (1.0 + size)
}

/// Solves the Newton system; a diagonal that rounding made indefinite is lifted.
fn step(problem: &Scaled<'_>, curvature: &[f64], downhill: &[f64]) -> Vec<f64> {
    let p = problem.l2.len();
    let gram = problem.z.weighted_gram(curvature);
    let cross = problem.z.tr_mul_vec(curvature);
    let mut system = Dense::zeros(p + 1, p + 1);
    for j in 0..p {
        system.row_mut(j)[..p].copy_from_slice(gram.row(j));
        system[(j, j)] += problem.l2[j];
        system[(p, j)] = cross[j];
    }
    system[(p, p)] = curvature.iter().sum();
    solve_lifted(&system, downhill)
}

/// Solves `system x = rhs`, its lower triangle read, lifting the diagonal if it is not definite.
pub(super) fn solve_lifted(system: &Dense, rhs: &[f64]) -> Vec<f64> {
    let order = system.nrows();
    let size = (0..order).fold(0.0, |m: f64, j| m.max(system[(j, j)])).min(1e12).max(1e-12);
    let mut lift = 0.0;
    loop {
        let mut lifted = system.clone();
        lifted.add_diagonal(lift);
        match Cholesky::new(&lifted) {
            Some(factor) => {
                let x = factor.solve(rhs);
                if x.iter().all(|v| v.is_finite()) {
                    return x;
                }
            }
            None if lift > 1e6 * size => return rhs.to_vec(),
            None => {}
        }
        lift = if lift == 0.0 { 1e-14 * size } else { 10.0 * lift };
        if lift > 1e8 * size {
            return rhs.to_vec();
        }
    }
}

/// The step length at which the slope along the step is a tenth of what it was, or less.
fn line_search(
    problem: &Scaled<'_>,
    margins: &[f64],
    slopes: &[f64],
    v: &[f64],
    dv: &[f64],
) -> f64 {
    let weighted =
        |a: &[f64], b: &[f64]| -> f64 { (0..a.len()).map(|j| problem.l2[j] * a[j] * b[j]).sum() };
    let (linear, quadratic) = (weighted(v, dv), weighted(dv, dv));
    // First and second derivative along the step.
    let derivatives = |tau: f64| {
        let (mut first, mut second) = (linear + tau * quadratic, quadratic);
        for ((m, f), s) in margins.iter().zip(slopes).zip(problem.shares) {
            let at = m + tau * f;
            first += s * f * problem.loss.slope(at);
            second += s * f * f * problem.loss.curvature(at).unwrap_or(0.0);
        }
        (first, second)
    };
    let start = derivatives(0.0).0.abs();
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut tau = 1.0;
    for _ in 0..60 {
        let (first, second) = derivatives(tau);
        if first.abs() <= 0.1 * start {
            break;
        }
        *(if first < 0.0 { &mut low } else { &mut high }) = tau;
        let newton = tau - first / second;
        tau = if newton > low && newton < high && newton.is_finite() {
            newton
        } else if high.is_finite() {
            f64::midpoint(low, high)
        } else {
            2.0 * tau
        };
    }
    tau
}
