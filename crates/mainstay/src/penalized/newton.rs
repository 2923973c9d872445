use super::scaled::{Point, Scaled};
use super::solution::{Budget, Solution};
use super::system::System;
use crate::error::Result;
use crate::linalg::vector;

/// How the Newton system is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Steps {
    /// By factorisation, $O(np^2 + p^3)$ an iteration.
    Direct,
    /// By conjugate gradients, for problems large in both directions: a pass over the data for
    /// every inner iteration, no matrix formed.
    ConjugateGradient,
}

/// Newton's method for a smooth loss with an L2 penalty.
///
/// At margins $m$ with $a = -\varphi'(m)$ and $d = s\,\varphi''(m)$ the step solves
///
/// $$\begin{pmatrix} Z^\top D Z + M & Z^\top d\\ d^\top Z & \mathbf 1^\top d\end{pmatrix}
///   \begin{pmatrix}\Delta v\\ \Delta b\end{pmatrix}
///   = \begin{pmatrix} Z^\top(s a y) - M v\\ (s a)^\top y\end{pmatrix},$$
///
/// followed by a line search to nearly the minimum. For piecewise quadratic losses this is the
/// semismooth Newton method, which ends after finitely many steps.
pub(super) fn newton(
    problem: &Scaled<'_>,
    start: Option<(&[f64], f64)>,
    steps: Steps,
    budget: &Budget<'_>,
) -> Result<Solution> {
    let p = problem.z.ncols();
    let (mut v, mut b) = start.map_or((vec![0.0; p], 0.0), |(v, b)| (v.to_vec(), b));
    let mut margins = problem.margins(&v, b);
    let mut n_iter = 0;
    let mut stalls = 0;
    loop {
        budget.control.check()?;
        let duals = problem.duals(&margins);
        let pull = problem.pull(&duals);
        let r = problem.z.tr_mul_vec(&pull);
        let imbalance = pull.iter().sum();
        let gap =
            problem.gap(&Point { margins: &margins, v: &v, b, duals: &duals, r: &r, imbalance });
        let value = problem.value(&margins, &v);
        if gap <= budget.target(value) || n_iter >= budget.max_iter || stalls >= 2 {
            return Ok(Solution::new(v, b, duals, n_iter));
        }
        n_iter += 1;

        let mut downhill: Vec<f64> = (0..p).map(|j| r[j] - problem.l2[j] * v[j]).collect();
        downhill.push(imbalance);
        let curvature: Vec<f64> = margins
            .iter()
            .zip(problem.shares)
            .map(|(m, s)| s * problem.loss.curvature(*m).unwrap_or(0.0))
            .collect();
        let step = match steps {
            Steps::Direct => System::new(problem.z, &curvature, &problem.l2, true).solve(&downhill),
            Steps::ConjugateGradient => conjugate_gradient(problem, &curvature, &downhill, budget)?,
        };
        let (dv, db) = (&step[..p], step[p]);
        let slope = -vector::dot(&downhill, &step);
        let along = problem.margins(dv, db);
        let tau = line_search(problem, &margins, &along, &v, dv, slope);
        vector::axpy(tau, dv, &mut v);
        b += tau * db;
        // Recomputed, not updated: rounding errors must not add up.
        margins = problem.margins(&v, b);
        let gained = value - problem.value(&margins, &v);
        stalls = if gained <= 1e-15 * value.abs() { stalls + 1 } else { 0 };
    }
}

/// The step length at which the slope along the step is a tenth of what it was, or less.
fn line_search(
    problem: &Scaled<'_>,
    margins: &[f64],
    along: &[f64],
    v: &[f64],
    dv: &[f64],
    slope: f64,
) -> f64 {
    let weighted =
        |a: &[f64], b: &[f64]| -> f64 { (0..a.len()).map(|j| problem.l2[j] * a[j] * b[j]).sum() };
    let (linear, quadratic) = (weighted(v, dv), weighted(dv, dv));
    // First and second derivative along the step.
    let derivatives = |tau: f64| {
        let (mut first, mut second) = (linear + tau * quadratic, quadratic);
        for ((m, f), s) in margins.iter().zip(along).zip(problem.shares) {
            let at = m + tau * f;
            first += s * f * problem.loss.slope(at);
            second += s * f * f * problem.loss.curvature(at).unwrap_or(0.0);
        }
        (first, second)
    };
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut tau = 1.0;
    for _ in 0..60 {
        let (first, second) = derivatives(tau);
        if first.abs() <= 0.1 * slope.abs() {
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

/// Solves the Newton system roughly, preconditioned by its diagonal.
///
/// The residual is reduced by a factor that tightens with the gradient, so the outer iteration
/// stays superlinear.
fn conjugate_gradient(
    problem: &Scaled<'_>,
    curvature: &[f64],
    downhill: &[f64],
    budget: &Budget<'_>,
) -> Result<Vec<f64>> {
    let p = problem.z.ncols();
    let mut diagonal = problem.l2.clone();
    for (row, d) in problem.z.rows().zip(curvature) {
        for (j, v) in row.entries() {
            diagonal[j] += d * v * v;
        }
    }
    diagonal.push(curvature.iter().sum::<f64>().max(1e-12));
    let apply = |x: &[f64]| {
        let mut scores = problem.z.mul_vec(&x[..p]);
        for (s, d) in scores.iter_mut().zip(curvature) {
            *s = d * (*s + x[p]);
        }
        let mut out = problem.z.tr_mul_vec(&scores);
        for j in 0..p {
            out[j] += problem.l2[j] * x[j];
        }
        out.push(scores.iter().sum());
        out
    };
    let preconditioned =
        |r: &[f64]| -> Vec<f64> { r.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
    let mut x = vec![0.0; p + 1];
    let mut residual = downhill.to_vec();
    let mut z = preconditioned(&residual);
    let mut direction = z.clone();
    let mut rho = vector::dot(&residual, &z);
    let start = rho.sqrt();
    let target = start * start.sqrt().min(0.1);
    for _ in 0..1000 {
        budget.control.check()?;
        if rho.sqrt() <= target {
            break;
        }
        let image = apply(&direction);
        let curved = vector::dot(&direction, &image);
        if curved <= 0.0 || !curved.is_finite() {
            break;
        }
        vector::axpy(rho / curved, &direction, &mut x);
        vector::axpy(-rho / curved, &image, &mut residual);
        z = preconditioned(&residual);
        let next = vector::dot(&residual, &z);
        vector::scale(&mut direction, next / rho);
        vector::axpy(1.0, &z, &mut direction);
        rho = next;
    }
    if x.iter().all(|v| *v == 0.0) { Ok(preconditioned(downhill)) } else { Ok(x) }
}
