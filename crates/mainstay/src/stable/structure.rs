//! What a stable fit says about the data: which rows carry it, whether it is the classical fit, and
//! whether `k` is too small to tell the classes apart.

use super::certificate::{Dual, certify};
use super::interior::{self, Limits, Solution};
use super::least::{ENOUGH, LeastHinge, evened, faint};
use super::problem::{Point, Problem, RowLoss, Target};
use super::reduce::Reduced;
use crate::certificate::Certificate;
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
///
/// The intercept of a hinge fit need not be unique: if another one makes the point classical, it is
/// optimal for both and is taken.
pub(super) fn equals_classical(problem: &Problem<'_>, solution: &mut Solution, tol: f64) -> bool {
    if problem.k >= problem.total() * (1.0 - 1e-12) {
        return true;
    }
    if problem.loss == RowLoss::Logistic {
        return false;
    }
    let everything = Problem { k: problem.total(), ..problem.clone() };
    // Interior points leave inactive rows a loss of the order of the gap.
    let Certificate { primal, dual } = solution.certificate;
    let open = (primal - dual).min(tol * primal.max(1.0));
    let room = 10.0 * open.max(tol * primal);
    if everything.objective(&solution.point) - primal <= room {
        return true;
    }
    if let (Target::Signs(y), RowLoss::Hinge, true) =
        (&problem.target, problem.loss, problem.fit_intercept)
    {
        let mut other = solution.point.clone();
        other.intercept = vec![0.0];
        other.intercept[0] = best_intercept(y, &problem.scores(&other), problem.weights);
        if everything.objective(&other) - dual <= room {
            solution.certificate.primal = problem.objective(&other);
            solution.point = other;
            return true;
        }
    }
    false
}

/// A minimiser of $\sum c_i \max(0, 1 - y_i (s_i + b))$ over $b$: the derivative changes by $c_i$ at
/// $b = y_i - s_i$ and starts at minus the weight of the positive rows.
fn best_intercept(y: &[f64], scores: &[f64], weights: &[f64]) -> f64 {
    let mut kinks: Vec<(f64, f64)> =
        y.iter().zip(scores).zip(weights).map(|((y, s), c)| (y - s, *c)).collect();
    kinks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut slope: f64 =
        -y.iter().zip(weights).filter(|(y, _)| **y > 0.0).map(|r| r.1).sum::<f64>();
    for (at, weight) in kinks {
        slope += weight;
        if slope >= 0.0 {
            return at;
        }
    }
    0.0
}

/// Zero weights with their proof, if `k` of a two-class problem is below $k^*$.
///
/// The multipliers behind $k^*$ add up to $k^*$ and have $\sum \beta_i y_i x_i^\top = 0$; scaled down to $k$ they are
/// dual feasible here, and at zero scores every loss has one slope for all rows.
pub(super) fn dead_fit(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    least: &mut Option<LeastHinge>,
    limits: Limits<'_>,
) -> Result<Option<Solution>> {
    let Target::Signs(y) = &problem.target else { return Ok(None) };
    let known = LeastHinge::of(problem, least, limits)?;
    let total: f64 = known.share.iter().sum();
    if problem.k >= known.lower.min(total) {
        return Ok(None);
    }
    let slope = match problem.loss {
        RowLoss::Hinge => 1.0,
        RowLoss::SquaredHinge => 2.0,
        RowLoss::Logistic => 0.5,
    };
    let share: Vec<f64> = known.share.iter().map(|a| a * problem.k / total).collect();
    let pull = share.iter().zip(y).map(|(a, y)| -y * slope * a).collect();
    let point = best_constant(problem, limits)?;
    let dual = Dual { share, pull };
    let certificate = certify(problem, &point, &dual);
    let warm = reduced.constant(&point.intercept);
    Ok(Some(Solution { point, dual, certificate, n_iter: known.n_iter, warm }))
}

/// If zero weights are optimal, makes them exactly so and says which `k` would help.
///
/// Zero weights are optimal for one regularisation if and only if they are for all: the dual point
/// that proves it has $\sum \alpha_i x_i^\top = 0$. With two classes such a point exists exactly for
/// $k \le k^* = \min_{w,b} \sum c_i \max(0, 1 - y_i f_i)$ (linear programming duality), whichever
/// of the losses is used; `least` remembers $k^*$ along a path.
pub(super) fn expose_dead_fit(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    solution: &mut Solution,
    least: &mut Option<LeastHinge>,
    limits: Limits<'_>,
) -> Result<Option<String>> {
    let constant = best_constant(problem, limits)?;
    let objective = problem.objective(&constant);
    // Weights that do better are the proof that zero weights are not optimal.
    if solution.certificate.primal < (1.0 - 1e-8) * objective {
        return Ok(None);
    }
    let (dead, smallest) = match &problem.target {
        Target::Signs(_) => {
            let proven = dead_fit(problem, reduced, least, limits)?;
            if let Some(proven) = proven.filter(|p| p.certificate.dual > solution.certificate.dual)
            {
                (solution.dual, solution.certificate) = (proven.dual, proven.certificate);
            }
            let known = LeastHinge::of(problem, least, limits)?;
            if hopeless(problem, known, limits)? {
                (true, (problem.total(), problem.total()))
            } else {
                (problem.k <= known.lower, (known.lower, known.upper))
            }
        }
        Target::Classes { .. } => {
            let x = evened(problem);
            let even = Reduced::new(&x, problem.fit_intercept)?;
            let same = Problem { x: &x, ..problem.clone() };
            if usable(&same, &even, problem.k, limits)? {
                (false, (0.0, 0.0))
            } else {
                (true, bisect(&same, &even, limits)?)
            }
        }
    };
    if !dead {
        return Ok(None);
    }
    solution.certificate.primal = objective;
    solution.warm = reduced.constant(&constant.intercept);
    solution.point = constant;
    let strength = if problem.loss == RowLoss::Logistic { "alpha" } else { "C" };
    let advice = advice(smallest, problem.total());
    Ok(Some(format!(
        "k = {} is so small that zero weights are optimal for every {strength}, so the model is \
         constant; {advice}",
        (problem.k * 1e4).round() / 1e4
    )))
}

/// Which `k` to take where the largest useless one lies between `low` and `high`.
fn advice((low, high): (f64, f64), total: f64) -> String {
    // Above the largest useless one, and above what rounding makes of it.
    let above = |k: f64| (k * (1.0 + 1e-9)).floor() + 1.0;
    let share = |k: f64| above(k / total * 1e4) / 1e4;
    if high >= total * (1.0 - 1e-6) {
        "no k helps: the features do not tell the classes apart better than a constant".to_owned()
    } else if above(low) >= above(high) {
        format!("the smallest usable k is {} (a fraction of {:.4})", above(high), share(high))
    } else {
        format!(
            "the smallest usable k is between {} and {} (a fraction of {:.4})",
            above(low),
            above(high),
            share(high)
        )
    }
}

/// Whether even the classical fit does nothing with the features.
///
/// At the best constant losses that bend have one slope a row: weights help unless these cancel out in every column.
fn hopeless(problem: &Problem<'_>, known: &LeastHinge, limits: Limits<'_>) -> Result<bool> {
    if problem.loss == RowLoss::Hinge {
        return Ok(known.hopeless(problem));
    }
    let everything = Problem { k: problem.total(), ..problem.clone() };
    let constant = best_constant(&everything, limits)?;
    let mut pull = vec![0.0; problem.n()];
    for (i, (pull, c)) in pull.iter_mut().zip(problem.weights).enumerate() {
        interior::expand(
            problem,
            i,
            &constant.intercept,
            0.0,
            std::slice::from_mut(pull),
            &mut [0.0],
        );
        *pull *= c;
    }
    let pulled = evened(problem).tr_mul_vec(&pull);
    Ok(vector::norm_inf(&pulled) <= 1e-7 * vector::norm_1(&pull))
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

/// Whether weights help at `k` when they cost next to nothing.
fn usable(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    k: f64,
    limits: Limits<'_>,
) -> Result<bool> {
    let free = Problem { k, ridge: faint(problem, reduced), scale: 1.0 / k, ..problem.clone() };
    let constant = free.objective(&best_constant(&free, limits)?);
    let limits = Limits { tol: limits.tol.min(ENOUGH), narrow: false, ..limits };
    let found = interior::solve(&free, reduced, None, limits)?;
    Ok(found.certificate.primal < (1.0 - 1e-4) * constant)
}

/// Bounds on the largest useless `k`, a thousandth of the total weight apart.
fn bisect(problem: &Problem<'_>, reduced: &Reduced<'_>, limits: Limits<'_>) -> Result<(f64, f64)> {
    let total = problem.total();
    if !usable(problem, reduced, total, limits)? {
        return Ok((total, total));
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
    Ok((low, high))
}
