//! Newton's method for smooth problems in the mean and the variance of margins.

use super::certificate::excess;
use super::labels::Correction;
use super::problem::{Problem, State};
use crate::error::Result;
use crate::linalg::{ARMIJO, Cholesky, Dense, TINY, vector};
use crate::optim::Budget;
use crate::optim::step::{MOST_HALVINGS, ROUNDING};

/// With more features than this the Newton system is solved by conjugate gradients: no p x p matrix.
const DIRECT_UP_TO: usize = 800;
/// Values (mean loss per row) below this one are rounded as if they were it.
const LEAST_VALUE: f64 = 1e-3;
/// Curvature of a row's loss below which it is taken as straight: quotients by it would overflow.
const LEAST_CURVATURE: f64 = 1e-290;
/// First shift of the unit diagonal; a hundred times more is tried until the matrix can be factored.
const FIRST_SHIFT: f64 = 1e-14;
/// Residual of the conjugate gradients relative to the gradient, at most and at least.
const COARSEST: f64 = 0.1;
const FINEST: f64 = 1e-8;
/// Products with the Hessian per direction, at most.
const MOST_PRODUCTS: usize = 500;

/// Weights and intercept.
#[derive(Debug, Clone, Default)]
pub(super) struct Hyperplane {
    pub w: Vec<f64>,
    pub b: f64,
}

/// Minimises from `start` until the proven gap is `budget.tol()`.
///
/// With `$a_i = (y_i m_i, y_i)$`, `$t_i = (2 V_i w, 0)$` and the derivatives `$f$` of the loss terms the Hessian is
/// ```math
/// \sum_i f_{\mu\mu} a_i a_i^\top + f_{\mu v}(a_i t_i^\top + t_i a_i^\top) + f_{vv} t_i t_i^\top + 2 f_v V_i + \alpha I,
/// ```
/// `$O(n p^2)$` to form; each step is halved until it lowers the objective enough.
pub(super) fn minimise(
    problem: &Problem<'_>,
    start: &Hyperplane,
    budget: &mut Budget<'_>,
) -> Result<Hyperplane> {
    let mut at = start.clone();
    let mut state = problem.state(&at.w, at.b);
    let convex = problem.correction != Correction::Forward;
    loop {
        let target = 0.5 * budget.tol() * state.value.abs().max(1.0);
        let reached = if convex {
            excess(problem, &state, at.b) <= target
        } else {
            vector::norm_sq(&state.slope) / (2.0 * problem.alpha) + state.tilt.abs() <= target
        };
        if reached || !budget.take()? {
            return Ok(at);
        }
        let step = direction(problem, &state, &at);
        let Some((next, found)) = search(problem, &state, &at, &step) else { return Ok(at) };
        (at, state) = (next, found);
    }
}

/// The first of the steps 1, 1/2, 1/4, ... that gives at least a small part of what the slope promises.
fn search(
    problem: &Problem<'_>,
    state: &State,
    at: &Hyperplane,
    step: &[f64],
) -> Option<(Hyperplane, State)> {
    let p = at.w.len();
    let promised = vector::dot(&state.slope, &step[..p]) + state.tilt * step[p];
    let mut tau = 1.0;
    for _ in 0..MOST_HALVINGS {
        let mut next = at.clone();
        vector::axpy(tau, &step[..p], &mut next.w);
        next.b += tau * step[p];
        let found = problem.state(&next.w, next.b);
        // Near the optimum differences of values are rounding errors: there any descent will do.
        let slack = ROUNDING * state.value.abs().max(LEAST_VALUE);
        if found.value <= state.value + ARMIJO * tau * promised + slack {
            let moved = next.w != at.w || next.b.to_bits() != at.b.to_bits();
            return (promised < 0.0 && moved).then_some((next, found));
        }
        tau *= 0.5;
    }
    None
}

fn direction(problem: &Problem<'_>, state: &State, at: &Hyperplane) -> Vec<f64> {
    let mut downhill: Vec<f64> = state.slope.iter().map(|g| -g).collect();
    downhill.push(-state.tilt);
    let curved = Curvature::new(problem, state, at);
    if at.w.len() <= DIRECT_UP_TO {
        curved.solve(&downhill)
    } else {
        curved.conjugate_gradient(&downhill)
    }
}

/// The Hessian at one point.
struct Curvature<'a> {
    problem: &'a Problem<'a>,
    state: &'a State,
    /// `$2 V_i w$`, where there are variances.
    images: Option<Dense>,
}

impl<'a> Curvature<'a> {
    fn new(problem: &'a Problem<'a>, state: &'a State, at: &Hyperplane) -> Self {
        let images = (!problem.rows.exact()).then(|| {
            let mut images = problem.rows.images(&at.w);
            images.data_mut().iter_mut().for_each(|v| *v *= 2.0);
            images
        });
        Self { problem, state, images }
    }

    /// Factors of `$V_i$` in the Hessian. Below zero (`forward` only) they would make it indefinite.
    fn spreads(&self) -> Vec<f64> {
        self.state.terms.iter().map(|t| 2.0 * t.v.max(0.0)).collect()
    }

    /// Weight of `$t_i t_i^\top$` once `$f_{\mu\mu}(a + (f_{\mu v}/f_{\mu\mu}) t)(\cdot)^\top$` is taken out.
    fn rest(&self, i: usize) -> (f64, f64) {
        let t = &self.state.terms[i];
        if t.mm > LEAST_CURVATURE { (t.mv / t.mm, t.vv - t.mv * t.mv / t.mm) } else { (0.0, 0.0) }
    }

    fn matrix(&self) -> Dense {
        let (problem, rows) = (self.problem, self.problem.rows);
        let (n, p) = (rows.mean.nrows(), rows.mean.ncols());
        let curvature: Vec<f64> = self.state.terms.iter().map(|t| t.mm).collect();
        let mut matrix = Dense::zeros(p + 1, p + 1);
        let mut tilted = Dense::zeros(n, p + 1);
        for i in 0..n {
            let (y, ratio) = (problem.y[i], self.rest(i).0);
            let out = tilted.row_mut(i);
            out[..p].copy_from_slice(rows.mean.row(i));
            out[p] = 1.0;
            if let Some(images) = &self.images {
                vector::axpy(y * ratio, images.row(i), &mut out[..p]);
            }
        }
        tilted.add_weighted_gram(0..n, &curvature, &mut matrix);
        if let Some(images) = &self.images {
            let rest: Vec<f64> = (0..n).map(|i| self.rest(i).1).collect();
            let mut square = Dense::zeros(p, p);
            images.add_weighted_gram(0..n, &rest, &mut square);
            rows.add_spread(&self.spreads(), &mut square);
            for j in 0..p {
                for k in 0..=j {
                    matrix[(j, k)] += square[(j, k)];
                }
            }
        }
        (0..p).for_each(|j| matrix[(j, j)] += problem.alpha);
        matrix
    }

    fn solve(&self, downhill: &[f64]) -> Vec<f64> {
        scaled_solution(self.matrix(), downhill, self.problem.intercept)
    }

    /// The Hessian times `d`.
    fn apply(&self, d: &[f64]) -> Vec<f64> {
        let (problem, rows) = (self.problem, self.problem.rows);
        let p = d.len() - 1;
        let along = problem.margins(&d[..p], d[p]);
        let beside = self.images.as_ref().map(|images| images.mul_vec(&d[..p]));
        let terms = &self.state.terms;
        let side = |i: usize| beside.as_ref().map_or(0.0, |b| b[i]);
        let pull: Vec<f64> = (0..terms.len())
            .map(|i| problem.y[i] * (terms[i].mm * along[i] + terms[i].mv * side(i)))
            .collect();
        let mut out = rows.mean.tr_mul_vec(&pull);
        vector::axpy(problem.alpha, &d[..p], &mut out);
        if let Some(images) = &self.images {
            let push: Vec<f64> =
                (0..terms.len()).map(|i| terms[i].mv * along[i] + terms[i].vv * side(i)).collect();
            vector::axpy(1.0, &images.tr_mul_vec(&push), &mut out);
            vector::axpy(1.0, &rows.spread(&self.spreads(), &d[..p]), &mut out);
        }
        out.push(if problem.intercept { pull.iter().sum() } else { d[p] });
        out
    }

    /// Until the residual is a small part of the gradient, the smaller the nearer the optimum.
    fn conjugate_gradient(&self, downhill: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; downhill.len()];
        let mut r = downhill.to_vec();
        if !self.problem.intercept {
            r[downhill.len() - 1] = 0.0;
        }
        let start = vector::norm(&r);
        let goal = start * start.sqrt().clamp(FINEST, COARSEST);
        let mut d = r.clone();
        let mut square = vector::norm_sq(&r);
        for _ in 0..MOST_PRODUCTS {
            let image = self.apply(&d);
            let curvature = vector::dot(&d, &image);
            if curvature <= 0.0 {
                break;
            }
            let step = square / curvature;
            vector::axpy(step, &d, &mut x);
            vector::axpy(-step, &image, &mut r);
            let next = vector::norm_sq(&r);
            if next.sqrt() <= goal {
                break;
            }
            let ratio = next / square;
            d.iter_mut().zip(&r).for_each(|(d, r)| *d = r + ratio * *d);
            square = next;
        }
        if x.iter().all(|v| *v == 0.0) { downhill.to_vec() } else { x }
    }
}

/// Solves the Newton system in `$(w, b)$` of which `matrix` has the lower triangle, scaled to a unit diagonal; what rounding
/// makes indefinite gets a little more.
pub(super) fn scaled_solution(mut matrix: Dense, downhill: &[f64], intercept: bool) -> Vec<f64> {
    let order = matrix.nrows();
    if !intercept {
        (0..order).for_each(|j| matrix[(order - 1, j)] = 0.0);
        matrix[(order - 1, order - 1)] = 1.0;
    }
    let scale: Vec<f64> = (0..order).map(|j| matrix[(j, j)].max(TINY).sqrt().recip()).collect();
    for j in 0..order {
        for k in 0..=j {
            matrix[(j, k)] *= scale[j] * scale[k];
        }
    }
    let right: Vec<f64> = downhill.iter().zip(&scale).map(|(d, s)| d * s).collect();
    let mut extra = FIRST_SHIFT;
    while extra < 1.0 {
        matrix.add_diagonal(extra);
        if let Some(factor) = Cholesky::new(&matrix) {
            let solved = factor.solve(&right);
            return solved.iter().zip(&scale).map(|(x, s)| x * s).collect();
        }
        extra *= 100.0;
    }
    right.iter().zip(&scale).map(|(x, s)| x * s).collect()
}
