//! What a stable fit says about the data: which rows carry it, whether it is the classical fit, and
//! whether `k` is too small to tell the classes apart.

use super::certificate::Dual;
use super::interior::{self, Limits, Solution};
use super::problem::{Point, Problem, RowLoss, Target, worst_sum};
use super::reduce::Reduced;
use crate::error::Result;
use crate::linalg::{Dense, Matrix, vector};

/// Shares below this part of a row's weight are rounding noise of the solver.
const NOISE: f64 = 1e-4;

/// How much each row counts in the worst case, noise removed.
pub(super) fn cleaned_shares(dual: &Dual, weights: &[f64]) -> Vec<f64> {
    let clean = |(a, c): (&f64, &f64)| {
        if *a <= NOISE * c {
            0.0
        } else if *a >= (1.0 - NOISE) * c {
            *c
        } else {
            *a
        }
    };
    dual.share.iter().zip(weights).map(clean).collect()
}

/// Whether the answer also solves the classical problem, in which every row counts.
///
/// For the summed losses the classical objective is never below the stable one; where both agree at
/// the stable optimum (no row beyond the worst `k` has a loss), that point is optimal for both.
/// Averaged logistic losses are positive, so there only `k` = everything is classical.
pub(super) fn equals_classical(problem: &Problem<'_>, solution: &Solution, tol: f64) -> bool {
    if problem.k >= problem.total() * (1.0 - 1e-12) {
        return true;
    }
    if problem.loss == RowLoss::Logistic {
        return false;
    }
    let losses = problem.losses(&problem.scores(&solution.point));
    let all: f64 = losses.iter().zip(problem.weights).map(|(l, c)| l * c).sum();
    let rest = all - worst_sum(&losses, problem.weights, problem.k).sum;
    // Interior points leave inactive rows a loss of the order of the gap.
    problem.scale * rest <= 10.0 * tol * solution.certificate.primal.max(1.0)
}

/// If zero weights are optimal, makes them exactly so and says which `k` would help.
///
/// Zero weights are optimal for one regularisation if and only if they are for all: the dual point
/// that proves it has $\sum \alpha_i x_i^\top = 0$. With two classes such a point exists exactly for
/// $k \le k^* = \min_{w,b} \sum c_i \max(0, 1 - y_i f_i)$ (linear programming duality), whichever
/// of the losses is used.
pub(super) fn expose_dead_fit(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    solution: &mut Solution,
    limits: Limits<'_>,
) -> Result<Option<String>> {
    let constant = best_constant(problem, limits)?;
    let objective = problem.objective(&constant);
    if !(objective - solution.certificate.dual <= 1e-5 * objective) {
        return Ok(None);
    }
    let (dead, smallest) = match &problem.target {
        Target::Signs(_) => {
            let smallest = least_hinge(problem, reduced, limits)?;
            (problem.k <= smallest * (1.0 - 1e-6), smallest)
        }
        Target::Classes { .. } => {
            if usable(problem, reduced, problem.k, limits)? {
                (false, 0.0)
            } else {
                (true, bisect(problem, reduced, limits)?)
            }
        }
    };
    if !dead {
        return Ok(None);
    }
    solution.certificate.primal = objective;
    solution.point = constant;
    let total = problem.total();
    let strength = if problem.loss == RowLoss::Logistic { "alpha" } else { "C" };
    let advice = if smallest < total * (1.0 - 1e-6) {
        format!(
            "the smallest usable k is {} (a fraction of {:.4})",
            smallest.floor() + 1.0,
            ((smallest / total) * 1e4).ceil() / 1e4
        )
    } else {
        "no k helps: the features do not tell the classes apart better than a constant".to_owned()
    };
    Ok(Some(format!(
        "k = {} is so small that zero weights are optimal for every {strength}, so the model is \
         constant; {advice}",
        (problem.k * 1e4).round() / 1e4
    )))
}

/// The best point without weights: the same problem with one row a class and no features.
fn best_constant(problem: &Problem<'_>, limits: Limits<'_>) -> Result<Point> {
    let q = problem.q();
    let p = problem.x.ncols();
    let mut point = Point { coef: vec![vec![0.0; p]; q], intercept: vec![0.0; q] };
    if !problem.fit_intercept {
        return Ok(point);
    }
    let classes = q.max(2);
    let mut weights = vec![0.0; classes];
    for (i, c) in problem.weights.iter().enumerate() {
        weights[problem.target.label(i)] += c;
    }
    let present: Vec<usize> = (0..classes).filter(|&j| weights[j] > 0.0).collect();
    weights.retain(|c| *c > 0.0);
    let target = match problem.target {
        Target::Signs(_) => {
            Target::Signs(present.iter().map(|&j| if j == 1 { 1.0 } else { -1.0 }).collect())
        }
        Target::Classes { count, .. } => Target::Classes { labels: present, count },
    };
    let x = Matrix::from(Dense::zeros(weights.len(), 1));
    let small = Problem { x: &x, target, weights: &weights, ..problem.clone() };
    let reduced = Reduced::new(&x, true)?;
    let found = interior::solve(&small, &reduced, None, Limits { tol: 1e-9, ..limits })?;
    point.intercept = found.point.intercept;
    Ok(point)
}

/// A ridge too weak to matter, in the units of the features.
fn faint(problem: &Problem<'_>, reduced: &Reduced<'_>) -> f64 {
    let size = vector::norm_sq(reduced.z.values()) / problem.n() as f64;
    1e-8 * size.max(f64::MIN_POSITIVE) / reduced.ridge(1.0)
}

/// The smallest total hinge loss of any hyperplane.
fn least_hinge(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    limits: Limits<'_>,
) -> Result<f64> {
    let hinge = Problem {
        loss: RowLoss::Hinge,
        k: problem.total(),
        ridge: faint(problem, reduced),
        scale: 1.0,
        ..problem.clone()
    };
    let found = interior::solve(&hinge, reduced, None, limits)?;
    let losses = hinge.losses(&hinge.scores(&found.point));
    Ok(losses.iter().zip(hinge.weights).map(|(l, c)| l * c).sum())
}

/// Whether weights help at `k` when they cost next to nothing.
fn usable(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    k: f64,
    limits: Limits<'_>,
) -> Result<bool> {
    let free = Problem { k, ridge: faint(problem, reduced), scale: 1.0 / k, ..problem.clone() };
    let constant = free.objective(&best_constant(&free, limits)?);
    let found = interior::solve(&free, reduced, None, limits)?;
    Ok(found.certificate.primal < (1.0 - 1e-4) * constant)
}

/// The largest useless `k`, to a thousandth of the total weight.
fn bisect(problem: &Problem<'_>, reduced: &Reduced<'_>, limits: Limits<'_>) -> Result<f64> {
    let total = problem.total();
    if !usable(problem, reduced, total, limits)? {
        return Ok(total);
    }
    let (mut low, mut high) = (problem.k, total);
    while high - low > 1e-3 * total {
        let middle = f64::midpoint(low, high);
        if usable(problem, reduced, middle, limits)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(low)
}
