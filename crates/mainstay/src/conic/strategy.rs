//! Which solver works on a problem, and what follows if it misses the gap.
//!
//! | problem | stages |
//! | --- | --- |
//! | every row may be disbelieved, or a price so low that this is best | closed form |
//! | no row may be disbelieved (`$\kappa = 0$`) | hard margin |
//! | nearly as many columns as rows, but not very many | interior point |
//! | very many columns, or a budget below one row | low-rank newton, then interior point |
//! | all others | low-rank newton, again from another start, then interior point |

use super::interior::interior_point;
use super::newton::{FactorCache, Start, is_wide, newton};
use super::problem::{Dual, Form, Hyperplane, Rows};
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix, SymmetricEigen, vector};
use crate::optim::hinge_qp::{HARD_MARGIN, HardMargin, HingeQp};
use crate::optim::{Bracket, Budget, Program};

/// Newton iterations before another start is tried; far beyond what a healthy run needs.
const NEWTON_ITERATIONS: usize = 60;
/// Newton iterations from the other start before the interior point takes over.
const SECOND_ITERATIONS: usize = 30;
/// Rows per column up to which they count as few (see [`few_rows`]).
const FEW_PER_COLUMN: usize = 20;
/// A hard margin so narrow (relative to the rows) that the labels count as not separable.
const NARROWEST: f64 = 1e-7;
/// The gap of the hard margin as a part of the one asked for: the price that turns it into a proof of the
/// budget form costs the rest.
const HARD_MARGIN_AIM: f64 = 0.1;
/// Power steps towards the largest eigenvalue.
const POWER_STEPS: usize = 6;
/// Excess over 1 that is not rounding.
const SURELY: f64 = 1e-9;
/// What a hard margin is stretched by, so that rounding leaves every margin at 1 or more.
const STRETCH: f64 = 1e-10;
/// The price that turns a hard margin into a proof of the budget form, in units of its squared multipliers.
const PROOF_PRICE: f64 = 1e12;
/// Rows of a factor shorter than this part of the longest are rounding.
const NEGLIGIBLE: f64 = 1e-5;

/// One problem and the size below which its objective counts as this size in the relative gap.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub rows: Rows<'a>,
    pub form: Form,
    pub floor: f64,
}

/// What was found and how.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    pub plane: Hyperplane,
    pub dual: Dual,
    pub n_iter: usize,
    pub route: Vec<&'static str>,
}

type Proven = Bracket<Hyperplane, Dual>;

/// What earlier fits leave: a hyperplane to start from, and what their steps kept.
pub(super) struct Warm<'a> {
    pub plane: Option<Hyperplane>,
    pub cache: &'a mut FactorCache,
}

/// A solver with its name in the route.
type Stage = (&'static str, fn(&Task<'_>, Warm<'_>, &mut Budget<'_>) -> Result<Proven>);

/// Whether rows are so few that a cold start along few directions, each row counting as one, is the cheaper one. With
/// more rows it often ends at a point that lacks directions, and their late discovery costs more than it saved: at 10,000 rows
/// of 50 standardised columns up to three times as much.
fn few_rows(rows: &Rows<'_>) -> bool {
    rows.x.nrows() <= FEW_PER_COLUMN * rows.x.ncols()
}

const CLOSED_FORM: Stage = ("closed form", |task, _, _| Ok(closed_form(task)));
const MARGIN: Stage = ("hard margin", |task, _, budget| hard_margin(task, budget));
const NEWTON: Stage = ("low-rank newton", |task, warm, budget| {
    let tol = budget.tol();
    let start = warm.plane.map_or(Start::Cold { ample: !few_rows(&task.rows) }, Start::At);
    budget.stage(tol, NEWTON_ITERATIONS, |budget| {
        newton(&task.rows, task.form, start, task.floor, budget, warm.cache)
    })
});
const NEWTON_AGAIN: Stage = ("low-rank newton, other start", |task, warm, budget| {
    let tol = budget.tol();
    // The first start was a neighbour's answer, or cold with the other number of directions.
    let few = few_rows(&task.rows);
    let start = Start::Cold { ample: if warm.plane.is_none() { few } else { !few } };
    budget.stage(tol, SECOND_ITERATIONS, |budget| {
        newton(&task.rows, task.form, start, task.floor, budget, &mut FactorCache::default())
    })
});
const INTERIOR: Stage =
    ("interior point", |task, _, budget| interior_point(&task.rows, task.form, task.floor, budget));

/// The stages for `task`, in order; each but the first works only if the gap is still open.
fn plan(task: &Task<'_>) -> Result<Vec<Stage>> {
    let Task { rows, form, .. } = task;
    let total: f64 = rows.c.iter().sum();
    match *form {
        Form::Price(price) => {
            // (13) allows gamma = lambda c everywhere: t = 1 proves that w = 0 is optimal.
            if !(is_wide(rows) && price * rayleigh(rows) > 1.0 + SURELY) {
                let top = SymmetricEigen::values(&rows.x.weighted_gram(rows.c))?;
                if price * top.last().copied().unwrap_or(0.0) <= 1.0 {
                    return Ok(vec![CLOSED_FORM]);
                }
            }
        }
        Form::Budget(target) if target >= total => return Ok(vec![CLOSED_FORM]),
        Form::Budget(target) => {
            if demands_hard_margin(rows, target, total)? {
                return Ok(vec![MARGIN]);
            }
        }
    }
    // Nearly as many columns as rows: pinned rows are frequent, and an interior point is not slow. With very many
    // columns it is, and newton's products are worth a try.
    let crowded = is_crowded(rows.x.nrows(), rows.x.ncols()) && !is_wide(rows);
    // Where less than one row may be disbelieved, rows are pinned from wherever Newton starts.
    let lightest = rows.c.iter().copied().fold(f64::INFINITY, f64::min);
    let pinned = matches!(*form, Form::Budget(target) if target < lightest);
    Ok(match (crowded, pinned || is_wide(rows)) {
        (true, _) => vec![INTERIOR],
        (_, true) => vec![NEWTON, INTERIOR],
        _ => vec![NEWTON, NEWTON_AGAIN, INTERIOR],
    })
}

/// Whether there are nearly as many columns as rows.
pub(super) fn is_crowded(rows: usize, columns: usize) -> bool {
    2 * columns > rows
}

/// Whether the budget allows for no row at all; an error where it does not even allow for the rows that
/// no hyperplane gets right.
fn demands_hard_margin(rows: &Rows<'_>, target: f64, total: f64) -> Result<bool> {
    let empty = |i: usize| rows.x.row(i).iter().all(|v| *v == 0.0);
    let lost: f64 = (0..rows.x.nrows()).filter(|&i| empty(i)).map(|i| rows.c[i]).sum();
    if target > lost {
        return Ok(false);
    }
    if target > 0.0 || lost > 0.0 {
        return Err(Error::Infeasible(format!(
            "kappa = {}: rows without any nonzero feature are always wrong and weigh {} of the \
             total; kappa must be larger than that (or set fit_intercept)",
            target / total,
            lost / total
        )));
    }
    Ok(true)
}

/// A lower bound on the largest eigenvalue of `$\sum c_i x_i x_i^\top$`: a few power steps from the sum of the rows.
fn rayleigh(rows: &Rows<'_>) -> f64 {
    let mut v = rows.x.tr_mul_vec(rows.c);
    let mut quotient = 0.0;
    for _ in 0..POWER_STEPS {
        let length = vector::norm(&v);
        if length.is_nan() || length <= 0.0 {
            return 0.0;
        }
        vector::scale(&mut v, 1.0 / length);
        let scores = rows.x.mul_vec(&v);
        let weighted: Vec<f64> = scores.iter().zip(rows.c).map(|(s, c)| s * c).collect();
        quotient = vector::dot(&scores, &weighted);
        v = rows.x.tr_mul_vec(&weighted);
    }
    quotient
}

/// Solves one problem, from nothing.
pub(super) fn solve(task: &Task<'_>, budget: &mut Budget<'_>) -> Result<Solution> {
    solve_warm(task, Warm { plane: None, cache: &mut FactorCache::default() }, budget)
}

/// Solves one problem.
pub(super) fn solve_warm(
    task: &Task<'_>,
    warm: Warm<'_>,
    budget: &mut Budget<'_>,
) -> Result<Solution> {
    let Warm { plane, cache } = warm;
    let mut proven = Proven::new();
    let before = budget.spent();
    for (name, run) in plan(task)? {
        proven.enter(name);
        proven.absorb(run(task, Warm { plane: plane.clone(), cache: &mut *cache }, budget)?);
        if proven.gap(task.floor) <= budget.tol() || budget.left() == 0 {
            break;
        }
    }
    let (n, p) = (task.rows.x.nrows(), task.rows.x.ncols());
    let route = proven.route().to_vec();
    let (found, dual) = proven.into_points();
    Ok(Solution {
        plane: found.unwrap_or_else(|| Hyperplane { w: vec![0.0; p], factor: Dense::zeros(0, p) }),
        dual: dual.unwrap_or_else(|| Dual::trivial(n, task.form)),
        n_iter: budget.spent() - before,
        route,
    })
}

/// The rows that matter: an interior point's factor has full rank, most of it rounding.
pub(super) fn leading(factor: &Dense) -> Dense {
    let lengths: Vec<f64> = (0..factor.nrows()).map(|k| vector::norm(factor.row(k))).collect();
    let longest = lengths.iter().fold(0.0, |m: f64, v| m.max(*v));
    let kept: Vec<usize> =
        (0..lengths.len()).filter(|&k| lengths[k] > NEGLIGIBLE * longest).collect();
    factor.select_rows(&kept)
}

/// `$w = 0$`, `$V = 0$`: every row is disbelieved, and the price of that is the optimum.
fn closed_form(task: &Task<'_>) -> Proven {
    let Task { rows, form, .. } = task;
    let p = rows.x.ncols();
    let (value, each) = match *form {
        Form::Budget(_) => (0.0, 0.0),
        Form::Price(price) => (price * rows.c.iter().sum::<f64>(), price),
    };
    let all: Vec<f64> = rows.c.iter().map(|c| each * c).collect();
    let mut proven = Proven::new();
    proven.offer_primal(value, || Hyperplane { w: vec![0.0; p], factor: Dense::zeros(0, p) });
    proven.offer_dual(value, || Dual { h: all.clone(), g: all, price: each });
    proven
}

/// `$\kappa = 0$`: `$V = 0$` and `$w$` the hard-margin SVM, if there is one.
///
/// The hinge program minimises `$\|w\|^2/(2n)$` over rows with shares `$1/n$`, so that its duals are the
/// multipliers `$h$` of `$\min \|w\|^2$` and its objective is that divided by `$2n$`.
fn hard_margin(task: &Task<'_>, budget: &mut Budget<'_>) -> Result<Proven> {
    let rows = &task.rows;
    let (n, p) = (rows.x.nrows(), rows.x.ncols());
    let share = 1.0 / n as f64;
    let longest = (0..n).map(|i| vector::norm_sq(rows.x.row(i))).fold(0.0, f64::max);
    let unbounded = 1.0 / (NARROWEST * NARROWEST * longest);
    let (z, shares) = (Matrix::from(rows.x.clone()), vec![share; n]);
    let program = Program {
        z: &z,
        y: rows.y,
        shares: &shares,
        loss: &HardMargin,
        l1: vec![0.0; p],
        l2: vec![share; p],
        intercept: false,
    };
    let floor = f64::MIN_POSITIVE;
    let qp = HingeQp { program, shape: HARD_MARGIN, floor, unbounded: 0.5 * share * unbounded };
    let tol = HARD_MARGIN_AIM * budget.tol();
    let found = budget.stage(tol, usize::MAX, |budget| qp.solve(budget))?;
    if found.upper.is_infinite() && budget.left() == 0 {
        let message = "kappa = 0: no separating hyperplane was found; raise max_iter";
        return Err(Error::Numerical(message.into()));
    }
    if found.upper.is_infinite() || found.lower > qp.unbounded {
        return Err(Error::Infeasible(
            "kappa = 0: the labels are not linearly separable, so no hyperplane has all of them right; \
             every kappa > 0 works (the smallest value that ConicSVCCV tries is 0.005)"
                .into(),
        ));
    }
    let mut proven = Proven::new();
    let w = found.v.iter().map(|w| w * (1.0 + STRETCH)).collect();
    let factor = Dense::zeros(0, p);
    proven.offer_primal(2.0 * found.upper / share, || Hyperplane { w, factor });
    proven.offer_dual(2.0 * found.lower / share, || hard_margin_proof(rows, found.duals, longest));
    Ok(proven)
}

/// Any price proves the bound when the budget is 0; a large one makes `$g$` vanish.
fn hard_margin_proof(rows: &Rows<'_>, h: Vec<f64>, longest: f64) -> Dual {
    let squares = h.iter().zip(rows.c).map(|(h, c)| h * h / c).sum::<f64>();
    let price = PROOF_PRICE * squares.max(f64::MIN_POSITIVE) * longest;
    let g = h.iter().zip(rows.c).map(|(h, c)| h * h / (price * c)).collect();
    Dual { h, g, price }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::linalg::PivotedCholesky;

    fn route(x: &[f64], y: &[f64], form: Form) -> (Vec<&'static str>, f64) {
        let x = Dense::from_rows(y.len(), x.len() / y.len(), x.to_vec());
        let (c, damping) = (vec![1.0; y.len()], vec![1.0; x.ncols()]);
        let rows = Rows { x: &x, y, c: &c, damping: &damping };
        let control = Control::new();
        let mut budget = Budget::new(1e-6, 200, &control);
        let found = solve(&Task { rows, form, floor: 1.0 }, &mut budget);
        found.map_or((Vec::new(), f64::NAN), |f| (f.route, f.plane.w[0]))
    }

    /// Two points at +-1 on a line.
    const LINE: ([f64; 2], [f64; 2]) = ([1.0, -1.0], [1.0, -1.0]);

    #[test]
    fn what_can_be_written_down_is() {
        let (x, y) = LINE;
        assert_eq!(route(&x, &y, Form::Budget(2.0)), (vec!["closed form"], 0.0));
        // The largest eigenvalue of the rows' Gram matrix is 2.
        assert_eq!(route(&x, &y, Form::Price(0.49)), (vec!["closed form"], 0.0));
    }

    #[test]
    fn no_budget_goes_to_the_hard_margin() {
        let (x, y) = LINE;
        let (route, w) = route(&x, &y, Form::Budget(0.0));
        assert_eq!(route, ["hard margin"]);
        assert!((w - 1.0).abs() < 1e-6, "{w}");
    }

    /// As many columns as rows.
    #[test]
    fn crowded_rows_go_to_the_interior_point_alone() {
        let (x, y) = ([1.0, 0.2, -0.3, 1.0], [1.0, -1.0]);
        assert_eq!(route(&x, &y, Form::Budget(0.5)).0, ["interior point"]);
    }

    #[test]
    fn ordinary_rows_are_solved_by_newton_alone() {
        let x: Vec<f64> = (0..40).map(|i| (f64::from(i) * 1.3).sin() + 0.1).collect();
        let y: Vec<f64> =
            (0..20).map(|i| if x[2 * i] + 0.3 * x[2 * i + 1] > 0.2 { 1.0 } else { -1.0 }).collect();
        assert_eq!(route(&x, &y, Form::Budget(2.0)).0, ["low-rank newton"]);
    }

    /// An RBF kernel's factor has as many columns as rows. Both solvers prove their gap, and they agree.
    #[test]
    fn very_many_columns_are_solved_by_newtons_products_as_by_the_interior_point() {
        let n = 270;
        // Uniform in [-2, 2], for all that matters.
        let at = |i: usize, j: usize| {
            4.0 * (((i * 131 + j * 17) as f64).sin() * 43_758.545_3).fract().abs() - 2.0
        };
        let distance =
            |i: usize, k: usize| (0..4).map(|j| (at(i, j) - at(k, j)).powi(2)).sum::<f64>();
        let gram = Dense::from_fn(n, n, |i, k| (-0.25 * distance(i, k)).exp() + 1.0);
        let Ok(factor) = PivotedCholesky::new(&gram, 1e-13) else { unreachable!("a kernel") };
        let x = factor.factor;
        assert!(x.ncols() > 250, "{}", x.ncols());
        let y: Vec<f64> = (0..n)
            .map(|i| if at(i, 0) * at(i, 1) + 0.3 * at(i, 2) > 0.0 { 1.0 } else { -1.0 })
            .collect();
        let (c, damping) = (vec![1.0; n], vec![1.0; x.ncols()]);
        let rows = Rows { x: &x, y: &y, c: &c, damping: &damping };
        let control = Control::new();
        for form in [Form::Budget(27.0), Form::Budget(1.5), Form::Price(1.0)] {
            let task = Task { rows, form, floor: 1.0 };
            let mut budget = Budget::new(1e-7, 200, &control);
            let Ok(by_newton) = (NEWTON.1)(
                &task,
                Warm { plane: None, cache: &mut FactorCache::default() },
                &mut budget,
            ) else {
                unreachable!("finite numbers");
            };
            let Ok(by_interior) = interior_point(&rows, form, 1.0, &mut budget) else {
                unreachable!("finite numbers");
            };
            assert!(by_newton.gap(1.0) <= 1e-7, "{form:?}: {}", by_newton.gap(1.0));
            let (a, b) = (by_newton.upper(), by_interior.upper());
            assert!((a - b).abs() <= 2e-7 * a.max(1.0), "{form:?}: {a} {b}");
        }
    }
}
