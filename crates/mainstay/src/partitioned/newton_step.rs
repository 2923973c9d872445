//! Newton's step in weights, intercept and threshold.

use super::ask::Point;
use super::problem::Problem;
use crate::linalg::{Cholesky, Dense, vector};

/// The first shift of the diagonal, beside its largest entry: rounding.
const SHIFT: f64 = 1e-13;
/// By how much a shift that did not make the matrix regular grows.
const SHIFT_GROWTH: f64 = 100.0;
/// Shifts tried at most.
const SHIFTS: usize = 30;
/// Sweeps of coordinate descent at most.
const SWEEPS: usize = 2000;
/// Change of a variable, beside the largest, at which coordinate descent stops.
const SMALL: f64 = 1e-13;

/// Slopes and curvatures of the losses at a point, summed over rows.
pub(super) struct Expansion<'a> {
    /// Order p + 1, the intercept last.
    pub curvature: &'a Dense,
    /// Mixed derivative with the threshold, negated.
    pub cross: &'a [f64],
    /// Second derivative in the threshold.
    pub threshold: f64,
    /// Slope in weights and intercept.
    pub slope: Vec<f64>,
    /// `$\sum a_i$`.
    pub share: f64,
}

/// Levenberg's damping, for weights that no row holds: this much of the diagonal of the Gram matrix.
#[derive(Clone, Copy)]
pub(super) struct Damping<'a> {
    pub strength: f64,
    pub gram: &'a Dense,
}

/// A step and by how much the model falls along it.
pub(super) struct Step {
    pub to: Point,
    pub fall: f64,
}

/// Minimises the quadratic model of the smoothed objective, with its L1 part as it is and `$\theta \ge 0$`.
pub(super) fn newton_step(
    problem: &Problem,
    point: &Point,
    sums: &Expansion<'_>,
    damping: Damping<'_>,
) -> Step {
    let p = point.v.len();
    let (matrix, mut slope) = assemble(problem, point, sums);
    let free =
        problem.worst && sums.threshold > 0.0 && !(point.theta <= 0.0 && slope[p + 1] >= 0.0);
    let gradient = slope.clone();
    let mut step = solve(problem, point, &matrix, &slope, (p + 1 + usize::from(free), damping));
    if free && point.theta + step[p + 1] < 0.0 {
        // Onto the bound, and Newton along it.
        for i in 0..=p {
            slope[i] -= matrix[(i, p + 1)] * point.theta;
        }
        step = solve(problem, point, &matrix, &slope, (p + 1, damping));
        step[p + 1] = -point.theta;
    }
    let moved: Vec<f64> = point.v.iter().zip(&step).map(|(v, d)| v + d).collect();
    let lasso = problem.lasso_at(&moved) - problem.lasso_at(&point.v);
    let fall = -vector::dot(&gradient, &step) - lasso;
    Step { to: Point { v: step[..p].to_vec(), b: step[p], theta: step[p + 1] }, fall }
}

/// Second and first derivatives of the smooth part of the objective, of order p + 2.
fn assemble(problem: &Problem, point: &Point, sums: &Expansion<'_>) -> (Dense, Vec<f64>) {
    let p = point.v.len();
    let scale = problem.scale;
    let mut matrix = Dense::zeros(p + 2, p + 2);
    let mut slope = vec![0.0; p + 2];
    for i in 0..=p {
        for j in 0..=p {
            matrix[(i, j)] = scale * sums.curvature[(i, j)];
        }
        slope[i] = scale * sums.slope[i];
        matrix[(i, p + 1)] = -scale * sums.cross[i];
        matrix[(p + 1, i)] = -scale * sums.cross[i];
    }
    for j in 0..p {
        matrix[(j, j)] += 2.0 * problem.squares[j];
        slope[j] += 2.0 * problem.squares[j] * point.v[j];
    }
    if !problem.intercept {
        for i in 0..p + 2 {
            matrix[(p, i)] = 0.0;
            matrix[(i, p)] = 0.0;
        }
        matrix[(p, p)] = 1.0;
        slope[p] = 0.0;
    }
    matrix[(p + 1, p + 1)] = scale * sums.threshold;
    slope[p + 1] = if problem.worst { scale * (problem.k - sums.share) } else { 0.0 };
    (matrix, slope)
}

/// The minimiser of the model in its first `order` variables; the others do not move.
fn solve(
    problem: &Problem,
    point: &Point,
    matrix: &Dense,
    slope: &[f64],
    (order, damping): (usize, Damping<'_>),
) -> Vec<f64> {
    let mut step = vec![0.0; slope.len()];
    let found = with_regular(matrix, order, damping, |system, factor| {
        if problem.sparse() {
            coordinate_descent(problem, point, system, &slope[..order])
        } else {
            factor.solve(&slope[..order]).into_iter().map(|d| -d).collect()
        }
    });
    step[..order].copy_from_slice(&found);
    step
}

/// Solves a positive semidefinite system, moved a little where it is singular; zero if that is hopeless.
pub(super) fn solve_regular(matrix: &Dense, target: &[f64]) -> Vec<f64> {
    let damping = Damping { strength: 0.0, gram: matrix };
    with_regular(matrix, target.len(), damping, |_, factor| factor.solve(target))
}

/// What `work` makes of the first `order` variables of `matrix`, with as much added to its diagonal as makes it regular.
fn with_regular(
    matrix: &Dense,
    order: usize,
    damping: Damping<'_>,
    work: impl Fn(&Dense, &Cholesky) -> Vec<f64>,
) -> Vec<f64> {
    let largest = (0..order).fold(0.0, |m: f64, i| m.max(matrix[(i, i)].abs()));
    let mut shift = SHIFT * largest + f64::MIN_POSITIVE;
    for _ in 0..SHIFTS {
        let held = |i: usize| if i < damping.gram.nrows() { damping.gram[(i, i)] } else { 1.0 };
        let system = Dense::from_fn(order, order, |i, j| {
            matrix[(i, j)] + if i == j { shift + damping.strength * held(i) } else { 0.0 }
        });
        if let Some(factor) = Cholesky::new(&system) {
            let found = work(&system, &factor);
            if vector::all_finite(&found) {
                return found;
            }
        }
        shift *= SHIFT_GROWTH;
    }
    vec![0.0; order]
}

/// Minimises `$g^\top d + \frac12 d^\top H d + \sum_j \lambda_j |v_j + d_j|$` one variable at a time; intercept and threshold
/// have no L1 part.
fn coordinate_descent(problem: &Problem, point: &Point, h: &Dense, g: &[f64]) -> Vec<f64> {
    let (order, p) = (g.len(), point.v.len());
    let mut d = vec![0.0; order];
    let mut slope = g.to_vec();
    for _ in 0..SWEEPS {
        let mut largest = 0.0_f64;
        let mut size = 0.0_f64;
        for j in 0..order {
            let bend = h[(j, j)];
            let mut to = d[j] - slope[j] / bend;
            if j < p {
                let (v, keep) = (point.v[j], problem.lasso[j] / bend);
                to = (v + to).signum() * ((v + to).abs() - keep).max(0.0) - v;
            }
            let change = to - d[j];
            if change != 0.0 {
                vector::axpy(change, h.row(j), &mut slope);
                d[j] = to;
                largest = largest.max(change.abs() * bend.sqrt());
            }
            size = size.max(to.abs() * bend.sqrt());
        }
        if largest <= SMALL * size.max(1.0) {
            break;
        }
    }
    d
}
