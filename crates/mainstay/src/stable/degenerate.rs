//! What a stable fit says about the data: which rows carry it, whether it is the classical fit, and
//! whether `k` is too small to tell the classes apart.

use super::best_intercept::best_intercept;
use super::certificate::Dual;
use super::interior;
use super::problem::{Hyperplanes, Problem, RowLoss, Target};
use super::row_loss::expand;
use super::row_space::Reduced;
use super::smallest_k::{ENOUGH, SmallestK, negligible_ridge};
use super::solution::{Found, Iterate, Solution};
use crate::certificate::Certificate;
use crate::control::Control;
use crate::error::Result;
use crate::linalg::{Dense, Matrix, vector};
use crate::optim::{Bracket, Budget};

/// Part of the total weight that may be rounding of `k`.
const ROUNDING: f64 = 1e-12;
/// Part of the total weight below which the largest useless `k` leaves some that help.
const NEARLY_ALL: f64 = 1e-6;
/// Relative distance by which an advised `k` is above the bound that rounding may have lowered.
const ABOVE: f64 = 1e-9;
/// An advised share of the rows is a multiple of one over this.
const SHARES: f64 = 1e4;
/// Part of a row's weight below which a share is rounding noise of the solver.
const NOISE: f64 = 1e-4;
/// Relative improvement on the best constant that proves that weights are useful.
const CLEARLY_BETTER: f64 = 1e-8;
/// Relative improvement on the best constant below which weights that cost next to nothing do not help.
const HELPS: f64 = 1e-4;
/// Part of the sum of all slopes below which they cancel out in a column.
const CANCELS: f64 = 1e-7;
/// Part of the total weight to which the largest useless `k` of a joint problem is enclosed.
const PRECISION: f64 = 1e-3;
/// Relative gap of the best constant, which decides whether weights improve on it.
const CONSTANT_GAP: f64 = 1e-9;
/// Steps for the best constant at most.
const CONSTANT_STEPS: usize = 1000;
/// Gaps that an inactive row's loss may amount to: interior points leave it one of that order.
const INACTIVE: f64 = 10.0;

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
    if problem.k >= problem.total() * (1.0 - ROUNDING) {
        return true;
    }
    if problem.loss == RowLoss::Logistic {
        return false;
    }
    let Certificate { primal, dual } = solution.certificate;
    let open = (primal - dual).min(tol * primal.max(1.0));
    let room = INACTIVE * open.max(tol * primal);
    if classical_objective(problem, &solution.iterate.hyperplanes) - primal <= room {
        return true;
    }
    if let (Target::Signs(y), RowLoss::Hinge, true) =
        (&problem.target, problem.loss, problem.fit_intercept)
    {
        let mut other = solution.iterate.hyperplanes.clone();
        other.intercept = vec![0.0];
        other.intercept[0] = best_intercept(y, &problem.scores(&other), problem.weights);
        if classical_objective(problem, &other) - dual <= room {
            solution.certificate.primal = problem.objective(&other);
            solution.iterate.hyperplanes = other;
            return true;
        }
    }
    false
}

/// The objective in which every row counts.
fn classical_objective(problem: &Problem<'_>, point: &Hyperplanes) -> f64 {
    let losses = problem.losses_at(point);
    let sum: f64 = losses.iter().zip(problem.weights).map(|(loss, c)| c * loss).sum();
    problem.penalty(point) + problem.scale * sum
}

/// Zero weights with their proof, if `k` of a two-class problem is below `$k^*$`.
///
/// The multipliers behind `$k^*$` add up to `$k^*$` and have `$\sum \beta_i y_i x_i^\top = 0$`; scaled down to `$k$` they are
/// dual feasible here, and at zero scores every loss has one slope for all rows.
pub(super) fn zero_weights(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    smallest_k: &mut Option<SmallestK>,
    budget: &mut Budget<'_>,
) -> Result<Option<Found>> {
    let Target::Signs(y) = &problem.target else { return Ok(None) };
    let Some(known) = SmallestK::of(problem, reduced, smallest_k, budget)? else { return Ok(None) };
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
    let alpha = share.iter().zip(y).map(|(a, y)| -y * slope * a).collect();
    let hyperplanes = best_constant(problem, budget.control())?;
    let (v, dual) = (reduced.constant(&hyperplanes.intercept), Dual { share, alpha });
    let mut found = Bracket::new();
    found.offer_primal(problem.objective(&hyperplanes), || Iterate { v, hyperplanes });
    found.offer_dual(reduced.bound(problem, &dual), || dual);
    Ok(Some(found))
}

/// Whether an objective is clearly below that of the best constant: then zero weights are not optimal.
pub(super) fn beats_constant(
    problem: &Problem<'_>,
    objective: f64,
    control: &Control,
) -> Result<bool> {
    let constant = constant_objective(problem, &best_constant(problem, control)?);
    Ok(objective < (1.0 - CLEARLY_BETTER) * constant)
}

/// If zero weights are optimal, makes them exactly so and says which `k` would help.
///
/// Zero weights are optimal for one regularisation if and only if they are for all: the dual point
/// that proves it has `$\sum \alpha_i x_i^\top = 0$`. With two classes such a point exists exactly for
/// `$k \le k^* = \min_{w,b} \sum c_i \max(0, 1 - y_i f_i)$` (linear programming duality), whichever
/// of the losses is used; `smallest_k` remembers `$k^*$` along a path. Nothing is said where the budget ends
/// before it is known.
pub(super) fn report_zero_weights(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    solution: &mut Solution,
    smallest_k: &mut Option<SmallestK>,
    budget: &mut Budget<'_>,
) -> Result<Option<String>> {
    // Long because what is proved and what is advised stand together.
    let constant = best_constant(problem, budget.control())?;
    let objective = problem.objective(&constant);
    // Weights that do better are the proof that zero weights are not optimal.
    if solution.certificate.primal < (1.0 - CLEARLY_BETTER) * objective {
        return Ok(None);
    }
    let useless = match &problem.target {
        Target::Signs(_) => useless_two_classes(problem, reduced, solution, smallest_k, budget)?,
        Target::Classes { .. } => useless_classes(problem, reduced, budget)?,
    };
    let Some(useless) = useless else { return Ok(None) };
    solution.certificate.primal = objective;
    solution.iterate = Iterate { v: reduced.constant(&constant.intercept), hyperplanes: constant };
    let strength = if problem.loss == RowLoss::Logistic { "alpha" } else { "C" };
    let advice = if useless.1 < problem.total() * (1.0 - NEARLY_ALL) {
        advice(useless, problem.total())
    } else if means_are_equal(problem, reduced.normalised_columns()) {
        "no k helps, and no other linear fit: every feature has the same mean in the classes".into()
    } else {
        let other = match problem.loss {
            RowLoss::Hinge => " or `loss` = \"squared_hinge\"",
            RowLoss::SquaredHinge | RowLoss::Logistic => "",
        };
        format!(
            "no k helps while one class outweighs the others: try `class_weight` = \"balanced\"{other} with k = 1.0"
        )
    };
    let k = if problem.k < problem.total() {
        format!("k = {} is so small that", (problem.k * 1e4).round() / 1e4)
    } else {
        "even with every row in the sum".into()
    };
    Ok(Some(format!(
        "{k} zero weights are optimal for every {strength}, so the model is constant; {advice}"
    )))
}

/// Bounds on the largest useless `k` if that of a two-class `problem` is; the proof goes to `solution`.
fn useless_two_classes(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    solution: &mut Solution,
    smallest_k: &mut Option<SmallestK>,
    budget: &mut Budget<'_>,
) -> Result<Option<(f64, f64)>> {
    let proven = zero_weights(problem, reduced, smallest_k, budget)?;
    if let Some(proven) = proven.filter(|p| p.lower() > solution.certificate.dual) {
        solution.certificate = proven.certificate();
        if let (_, Some(dual)) = proven.into_points() {
            solution.dual = dual;
        }
    }
    let Some(known) = SmallestK::of(problem, reduced, smallest_k, budget)? else { return Ok(None) };
    if no_k_helps(problem, reduced, known, budget.control())? {
        return Ok(Some((problem.total(), problem.total())));
    }
    Ok((problem.k <= known.lower).then_some((known.lower, known.upper)))
}

/// Bounds on the largest useless `k` if that of a joint `problem` is.
fn useless_classes(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    budget: &mut Budget<'_>,
) -> Result<Option<(f64, f64)>> {
    let x = reduced.normalised_columns();
    let reduced = Reduced::new(x, problem.fit_intercept)?;
    let same = Problem { x, ..problem.clone() };
    let helps = weights_help(&same, &reduced, problem.k, budget)?;
    if helps || budget.left() == 0 {
        return Ok(None);
    }
    bisect(&same, &reduced, budget).map(Some)
}

/// Which `k` to take where the largest useless one lies between `low` and `high`.
fn advice((low, high): (f64, f64), total: f64) -> String {
    // Above the largest useless one, and above what rounding makes of it.
    let above = |k: f64| (k * (1.0 + ABOVE)).floor() + 1.0;
    let share = |k: f64| above(k / total * SHARES) / SHARES;
    if above(low) >= above(high) {
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
/// At the best constant curved losses have one slope per row: weights help unless these cancel out in every column.
fn no_k_helps(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    known: &SmallestK,
    control: &Control,
) -> Result<bool> {
    if problem.loss == RowLoss::Hinge {
        return Ok(known.no_k_helps(problem));
    }
    let everything = Problem { k: problem.total(), ..problem.clone() };
    let constant = best_constant(&everything, control)?;
    let mut alpha = vec![0.0; problem.n()];
    for (i, (alpha, c)) in alpha.iter_mut().zip(problem.weights).enumerate() {
        let slope = std::slice::from_mut(alpha);
        expand(problem, i, &constant.intercept, 0.0, slope, &mut [0.0]);
        *alpha *= c;
    }
    let sums = reduced.normalised_columns().tr_mul_vec(&alpha);
    Ok(vector::norm_inf(&sums) <= CANCELS * vector::norm_1(&alpha))
}

/// Whether every feature has the same mean in all classes: then no weights for the classes make weights of the features
/// better than none.
fn means_are_equal(problem: &Problem<'_>, x: &Matrix) -> bool {
    let mut totals = vec![0.0; problem.q().max(2)];
    for (i, c) in problem.weights.iter().enumerate() {
        totals[problem.target.label(i)] += c;
    }
    let all: f64 = totals.iter().sum();
    let agrees = |class: usize| {
        let rest = all - totals[class];
        let share = |(i, c): (usize, &f64)| {
            if problem.target.label(i) == class { c / totals[class] } else { -c / rest }
        };
        let shares: Vec<f64> = problem.weights.iter().enumerate().map(share).collect();
        vector::norm_inf(&x.tr_mul_vec(&shares)) <= CANCELS * vector::norm_1(&shares)
    };
    (0..totals.len()).filter(|&class| totals[class] > 0.0 && totals[class] < all).all(agrees)
}

/// The best hyperplanes without weights: the same problem with one row per class and no features, whose steps
/// cost next to nothing and are not counted.
fn best_constant(problem: &Problem<'_>, control: &Control) -> Result<Hyperplanes> {
    let q = problem.q();
    let p = problem.x.ncols();
    let mut constant = Hyperplanes { coef: vec![vec![0.0; p]; q], intercept: vec![0.0; q] };
    if !problem.fit_intercept {
        return Ok(constant);
    }
    let (target, weights) = one_row_per_class(problem);
    let x = Matrix::from(Dense::zeros(weights.len(), 1));
    let small = Problem { x: &x, target, weights: &weights, ..*problem };
    let reduced = Reduced::new(&x, true)?;
    let mut budget = Budget::new(CONSTANT_GAP, CONSTANT_STEPS, control);
    let found = interior::solve(&small, &reduced, interior::USUAL, &mut budget)?;
    constant.intercept = Solution::new(found)?.iterate.hyperplanes.intercept;
    Ok(constant)
}

/// What the classes that occur ask of the scores, and their weights.
fn one_row_per_class(problem: &Problem<'_>) -> (Target, Vec<f64>) {
    let classes = problem.q().max(2);
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
    (target, weights)
}

/// The objective of hyperplanes without weights: rows of a class have the same loss.
fn constant_objective(problem: &Problem<'_>, constant: &Hyperplanes) -> f64 {
    let (target, weights) = one_row_per_class(problem);
    let x = Matrix::from(Dense::zeros(weights.len(), problem.x.ncols()));
    Problem { x: &x, target, weights: &weights, ..*problem }.objective(constant)
}

/// Whether weights help at `k` when they cost next to nothing.
fn weights_help(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    k: f64,
    budget: &mut Budget<'_>,
) -> Result<bool> {
    let ridge = negligible_ridge(problem, reduced);
    let free = Problem { k, ridge, scale: 1.0 / k, ..problem.clone() };
    let constant = free.objective(&best_constant(&free, budget.control())?);
    let (tol, left) = (budget.tol().min(ENOUGH), budget.left());
    let found = budget
        .stage(tol, left, |budget| interior::solve(&free, reduced, interior::ALL_ROWS, budget))?;
    Ok(found.upper() < (1.0 - HELPS) * constant)
}

/// Bounds on the largest useless `k`, a thousandth of the total weight apart if the budget allows.
fn bisect(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    budget: &mut Budget<'_>,
) -> Result<(f64, f64)> {
    let total = problem.total();
    if !weights_help(problem, reduced, total, budget)? {
        let low = if budget.left() > 0 { total } else { problem.k };
        return Ok((low, total));
    }
    let (mut low, mut high) = (problem.k, total);
    while high - low > PRECISION * total {
        let middle = f64::midpoint(low, high);
        if weights_help(problem, reduced, middle, budget)? {
            high = middle;
        } else if budget.left() > 0 {
            low = middle;
        } else {
            break;
        }
    }
    Ok((low, high))
}
