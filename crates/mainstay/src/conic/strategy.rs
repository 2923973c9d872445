//! Which solver works on a problem, what follows if it misses the gap, and whole paths of budgets.
//!
//! | problem | stages |
//! | --- | --- |
//! | every row may be disbelieved, or a price so low that this is best | closed form |
//! | no row may be disbelieved ($\kappa = 0$) | hard margin |
//! | nearly as many columns as rows, kernels | interior point |
//! | all others | low-rank newton, then interior point |

use super::interior::interior_point;
use super::newton::newton;
use super::problem::{Dual, Form, Hyperplane, Rows};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix, Svd, SymmetricEigen, vector};
use crate::optim::hinge_qp::{HARD_MARGIN, HardMargin, HingeQp};
use crate::optim::{Bracket, Budget, Program};

/// Newton iterations before the interior point takes over; far beyond what a healthy run needs.
const NEWTON_ITERATIONS: usize = 60;
/// A hard margin so narrow (relative to the rows) that the labels count as not separable.
const NARROWEST: f64 = 1e-7;
/// The gap of the hard margin as a part of the one asked for: the price that turns it into a proof of the
/// budget form costs the rest.
const HARD_MARGIN_AIM: f64 = 0.1;
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

/// A solver with its name in the route. It may start from a hyperplane.
type Stage = (&'static str, fn(&Task<'_>, Option<Hyperplane>, &mut Budget<'_>) -> Result<Proven>);

const CLOSED_FORM: Stage = ("closed form", |task, _, _| Ok(closed_form(task)));
const MARGIN: Stage = ("hard margin", |task, _, budget| hard_margin(task, budget));
const NEWTON: Stage = ("low-rank newton", |task, start, budget| {
    let tol = budget.tol();
    budget.stage(tol, NEWTON_ITERATIONS, |budget| {
        newton(&task.rows, task.form, start, task.floor, budget)
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
            let top = SymmetricEigen::values(&rows.x.weighted_gram(rows.c))?;
            if price * top.last().copied().unwrap_or(0.0) <= 1.0 {
                return Ok(vec![CLOSED_FORM]);
            }
        }
        Form::Budget(target) if target >= total => return Ok(vec![CLOSED_FORM]),
        Form::Budget(target) => {
            if demands_hard_margin(rows, target, total)? {
                return Ok(vec![MARGIN]);
            }
        }
    }
    // Nearly as many columns as rows: pinned rows are the rule, and the Hessian is large.
    let crowded = 2 * rows.x.ncols() > rows.x.nrows();
    Ok(if crowded { vec![INTERIOR] } else { vec![NEWTON, INTERIOR] })
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

/// Solves one problem.
pub(super) fn solve(
    task: &Task<'_>,
    mut start: Option<Hyperplane>,
    budget: &mut Budget<'_>,
) -> Result<Solution> {
    let mut proven = Proven::new();
    let before = budget.spent();
    for (name, run) in plan(task)? {
        proven.enter(name);
        proven.absorb(run(task, start.take(), budget)?);
        if proven.gap(task.floor) <= budget.tol() || budget.left() == 0 {
            break;
        }
    }
    let (n, p) = (task.rows.x.nrows(), task.rows.x.ncols());
    let route = proven.route().to_vec();
    let (plane, dual) = proven.into_points();
    Ok(Solution {
        plane: plane.unwrap_or_else(|| Hyperplane { w: vec![0.0; p], factor: Dense::zeros(0, p) }),
        dual: dual.unwrap_or_else(|| Dual::trivial(n, task.form)),
        n_iter: budget.spent() - before,
        route,
    })
}

/// Solves for every budget $\kappa\sum c_i$ of `targets`, from the largest to the smallest, each from the
/// last and with all of `budget`; answers are in the order given.
///
/// The start is predicted by the secant in the logarithm of the budget through the last two answers,
/// on $w$ and $\sqrt{\kappa}F$ (which tends to a limit), after turning the older $F$ onto the newer one.
pub(super) fn solve_path(
    rows: &Rows<'_>,
    targets: &[f64],
    floor: f64,
    budget: &Budget<'_>,
    control: &Control,
) -> Result<Vec<Solution>> {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_by(|&i, &j| targets[j].total_cmp(&targets[i]));
    let mut found: Vec<Option<Solution>> = vec![None; targets.len()];
    let mut last: Option<(f64, Hyperplane)> = None;
    let mut older: Option<(f64, Hyperplane)> = None;
    for (done, &i) in order.iter().enumerate() {
        let target = targets[i];
        let start = match (&last, &older) {
            (Some(last), Some(older)) => Some(predict(target, last, older)),
            (Some((_, start)), None) => Some(start.clone()),
            _ => None,
        };
        let task = Task { rows: *rows, form: Form::Budget(target), floor };
        let solution = solve(&task, start, &mut budget.clone())?;
        let Hyperplane { w, factor } = &solution.plane;
        if factor.nrows() > 0 && target > 0.0 {
            let here = Hyperplane { w: w.clone(), factor: leading(factor) };
            older = last.replace((target, here)).filter(|(b, _)| *b > target);
        }
        found[i] = Some(solution);
        control.progress(done as u64 + 1, order.len() as u64);
    }
    Ok(found.into_iter().flatten().collect())
}

/// The rows that matter: an interior point's factor has full rank, most of it rounding.
pub(super) fn leading(factor: &Dense) -> Dense {
    let lengths: Vec<f64> = (0..factor.nrows()).map(|k| vector::norm(factor.row(k))).collect();
    let longest = lengths.iter().fold(0.0, |m: f64, v| m.max(*v));
    let kept: Vec<usize> =
        (0..lengths.len()).filter(|&k| lengths[k] > NEGLIGIBLE * longest).collect();
    factor.select_rows(&kept)
}

fn predict(budget: f64, last: &(f64, Hyperplane), older: &(f64, Hyperplane)) -> Hyperplane {
    let ((last_budget, last), (older_budget, older)) = (last, older);
    let shrink = (last_budget / budget).sqrt();
    if last.factor.nrows() != older.factor.nrows() {
        return last.clone();
    }
    // The rotation Q that brings the older factor closest to the last one (Procrustes).
    let Ok(svd) = Svd::new(&last.factor.mul_tr(&older.factor)) else { return last.clone() };
    let turned = svd.u.mul_tr(&svd.v).mul(&older.factor);
    let ahead = (budget / last_budget).ln() / (last_budget / older_budget).ln();
    let w = last.w.iter().zip(&older.w).map(|(a, b)| a + ahead * (a - b)).collect();
    let back = (older_budget / last_budget).sqrt();
    let mut factor = last.factor.clone();
    for (f, t) in factor.data_mut().iter_mut().zip(turned.data()) {
        *f = shrink * (*f + ahead * (*f - back * t));
    }
    Hyperplane { w, factor }
}

/// $w = 0$, $V = 0$: every row is disbelieved, and the price of that is the optimum.
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

/// $\kappa = 0$: $V = 0$ and $w$ the hard-margin SVM, if there is one.
///
/// The hinge program minimises $\|w\|^2/(2n)$ over rows with shares $1/n$, so that its duals are the
/// multipliers $h$ of $\min \|w\|^2$ and its objective is that divided by $2n$.
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
    // A little longer, so that rounding leaves every margin at 1 or more.
    let w = found.v.iter().map(|w| w * (1.0 + 1e-10)).collect();
    let factor = Dense::zeros(0, p);
    proven.offer_primal(2.0 * found.upper / share, || Hyperplane { w, factor });
    proven.offer_dual(2.0 * found.lower / share, || hard_margin_proof(rows, found.duals, longest));
    Ok(proven)
}

/// Any price proves the bound when the budget is 0; a large one makes $g$ vanish.
fn hard_margin_proof(rows: &Rows<'_>, h: Vec<f64>, longest: f64) -> Dual {
    let squares = h.iter().zip(rows.c).map(|(h, c)| h * h / c).sum::<f64>();
    let price = 1e12 * squares.max(f64::MIN_POSITIVE) * longest;
    let g = h.iter().zip(rows.c).map(|(h, c)| h * h / (price * c)).collect();
    Dual { h, g, price }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(x: &[f64], y: &[f64], form: Form) -> (Vec<&'static str>, f64) {
        let x = Dense::from_rows(y.len(), x.len() / y.len(), x.to_vec());
        let (c, damping) = (vec![1.0; y.len()], vec![1.0; x.ncols()]);
        let rows = Rows { x: &x, y, c: &c, damping: &damping };
        let control = Control::new();
        let mut budget = Budget::new(1e-6, 200, &control);
        let found = solve(&Task { rows, form, floor: 1.0 }, None, &mut budget);
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
}
