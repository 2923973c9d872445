//! Newton's method for smooth losses with an L2 penalty.

use super::solution::{Solution, target};
use crate::error::Result;
use crate::linalg::vector;
use crate::optim::normal_equations::NormalEquations;
use crate::optim::step::ROUNDING;
use crate::optim::{Budget, Program};

/// Iterations without a decrease that rounding cannot explain, after which the fit ends.
const MOST_STALLS: usize = 2;
/// Slope along the step, as a part of that at its start, at which the line search ends.
const FLAT: f64 = 0.1;
/// Trials of the line search; bisection of all floats takes 60.
const MOST_TRIALS: usize = 60;
/// Curvature that the intercept has at least.
const LEAST_CURVATURE: f64 = 1e-12;
/// Inner iterations of one solution by conjugate gradients.
const MOST_INNER: usize = 1000;
/// Residual of the conjugate gradients relative to the gradient, at most.
const COARSEST: f64 = 0.1;

/// How the Newton system is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Steps {
    /// By factorisation, `$O(np^2 + p^3)$` per iteration.
    Direct,
    /// By conjugate gradients, for problems large in both directions: a pass over the data for
    /// every inner iteration, no matrix formed.
    ConjugateGradient,
}

/// Newton's method for a smooth loss with an L2 penalty.
///
/// At margins `$m$` with `$a = -\varphi'(m)$` and `$d = s\,\varphi''(m)$` the step solves
///
/// ```math
/// \begin{pmatrix} Z^\top D Z + M & Z^\top d\\ d^\top Z & \mathbf 1^\top d\end{pmatrix}
///   \begin{pmatrix}\Delta v\\ \Delta b\end{pmatrix}
///   = \begin{pmatrix} Z^\top(s a y) - M v\\ (s a)^\top y\end{pmatrix},
/// ```
///
/// followed by a line search to nearly the minimum. For piecewise quadratic losses this is the
/// semismooth Newton method, which ends after finitely many steps.
pub(super) fn newton(
    program: &Program<'_>,
    start: Option<(&[f64], f64)>,
    steps: Steps,
    budget: &mut Budget<'_>,
) -> Result<Solution> {
    let p = program.z.ncols();
    let (mut v, mut b) = start.map_or((vec![0.0; p], 0.0), |(v, b)| (v.to_vec(), b));
    let mut margins = program.margins(&v, b);
    let mut stalls = 0;
    loop {
        let here = program.first_order(&margins, &v, b);
        let done = here.gap <= target(budget, here.value) || stalls >= MOST_STALLS;
        if done || !budget.take()? {
            return Ok(Solution::new(v, b, here.duals));
        }
        let mut downhill: Vec<f64> = (0..p).map(|j| here.r[j] - program.l2[j] * v[j]).collect();
        downhill.push(here.imbalance);
        let curvature = program.curvature(&margins);
        let step = match steps {
            Steps::Direct => NormalEquations::new(program.z, &curvature, &program.l2, true, true)
                .solve(&downhill),
            Steps::ConjugateGradient => conjugate_gradient(program, &curvature, &downhill, budget)?,
        };
        let (dv, db) = (&step[..p], step[p]);
        let slope = -vector::dot(&downhill, &step);
        let along = Line { margins: &margins, along: &program.margins(dv, db), v: &v, dv };
        let tau = along.search(program, slope);
        vector::axpy(tau, dv, &mut v);
        b += tau * db;
        // Recomputed, not updated: rounding errors must not add up.
        margins = program.margins(&v, b);
        let gained = here.value - program.value(&margins, &v);
        stalls = if gained <= ROUNDING * here.value.abs() { stalls + 1 } else { 0 };
    }
}

/// A point and a direction.
struct Line<'a> {
    margins: &'a [f64],
    /// What the direction does to the margins.
    along: &'a [f64],
    v: &'a [f64],
    dv: &'a [f64],
}

impl Line<'_> {
    /// The step length at which the slope along the step is a tenth of what it was, or less.
    fn search(&self, program: &Program<'_>, slope: f64) -> f64 {
        let weighted = |a: &[f64], b: &[f64]| -> f64 {
            (0..a.len()).map(|j| program.l2[j] * a[j] * b[j]).sum()
        };
        let (linear, quadratic) = (weighted(self.v, self.dv), weighted(self.dv, self.dv));
        // First and second derivative along the step.
        let derivatives = |tau: f64| {
            let (mut first, mut second) = (linear + tau * quadratic, quadratic);
            for ((m, f), s) in self.margins.iter().zip(self.along).zip(program.shares) {
                let at = m + tau * f;
                first += s * f * program.loss.slope(at);
                second += s * f * f * program.loss.curvature(at).unwrap_or(0.0);
            }
            (first, second)
        };
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut tau = 1.0;
        for _ in 0..MOST_TRIALS {
            let (first, second) = derivatives(tau);
            if first.abs() <= FLAT * slope.abs() {
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
}

/// Solves the Newton system roughly, preconditioned by its diagonal.
///
/// The residual is reduced by a factor that tightens with the gradient, so the outer iteration
/// stays superlinear.
fn conjugate_gradient(
    program: &Program<'_>,
    curvature: &[f64],
    downhill: &[f64],
    budget: &Budget<'_>,
) -> Result<Vec<f64>> {
    // The intercept has no penalty: where no row is curved the system would be singular.
    let lift = (LEAST_CURVATURE - curvature.iter().sum::<f64>()).max(0.0);
    let diagonal = diagonal(program, curvature, lift);
    let preconditioned =
        |r: &[f64]| -> Vec<f64> { r.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
    let mut x = vec![0.0; downhill.len()];
    let mut residual = downhill.to_vec();
    let mut z = preconditioned(&residual);
    let mut direction = z.clone();
    let mut rho = vector::dot(&residual, &z);
    let start = rho.sqrt();
    let target = start * start.sqrt().min(COARSEST);
    for _ in 0..MOST_INNER {
        budget.control().check()?;
        if rho.sqrt() <= target {
            break;
        }
        let image = apply(program, curvature, lift, &direction);
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

/// The diagonal of the Newton system.
fn diagonal(program: &Program<'_>, curvature: &[f64], lift: f64) -> Vec<f64> {
    let mut diagonal = program.l2.clone();
    for (row, d) in program.z.rows().zip(curvature) {
        for (j, v) in row.entries() {
            diagonal[j] += d * v * v;
        }
    }
    diagonal.push(curvature.iter().sum::<f64>() + lift);
    diagonal
}

/// The matrix of the Newton system, with `lift` more curvature of the intercept, times `x`.
fn apply(program: &Program<'_>, curvature: &[f64], lift: f64, x: &[f64]) -> Vec<f64> {
    let p = program.z.ncols();
    let mut scores = program.z.mul_vec(&x[..p]);
    for (s, d) in scores.iter_mut().zip(curvature) {
        *s = d * (*s + x[p]);
    }
    let mut out = program.z.tr_mul_vec(&scores);
    for j in 0..p {
        out[j] += program.l2[j] * x[j];
    }
    out.push(scores.iter().sum::<f64>() + lift * x[p]);
    out
}
