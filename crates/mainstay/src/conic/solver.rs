//! Closed cases, then low-rank Newton, then the interior point; and whole paths of budgets.

use super::interior::interior_point;
use super::margin::margin_svm;
use super::newton::{Limits, Start, newton};
use super::problem::{Answer, Dual, Form, Rows};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::linalg::{Dense, Svd, SymmetricEigen, vector};

/// Newton iterations before the interior point takes over; far beyond what a healthy run needs.
const NEWTON_ITERATIONS: usize = 60;
/// A hard margin so narrow (relative to the rows) that the labels count as not separable.
const NARROWEST: f64 = 1e-7;

/// Solves one problem.
pub(super) fn solve(
    rows: &Rows<'_>,
    form: Form,
    start: Option<Start>,
    limits: Limits,
    control: &Control,
) -> Result<Answer> {
    if let Some(answer) = closed_case(rows, form, limits, control)? {
        return Ok(answer);
    }
    let first = Limits { max_iter: limits.max_iter.min(NEWTON_ITERATIONS), ..limits };
    // Nearly as many columns as rows: pinned rows are the rule, and the Hessian is large.
    let crowded = 2 * rows.x.ncols() > rows.x.nrows();
    let mut answer = None;
    if !crowded || start.is_some() {
        answer = newton(rows, form, start, first, control)?;
    }
    let used = answer.as_ref().map_or(0, |a| a.n_iter);
    let left = limits.max_iter.saturating_sub(used);
    if let Some(found) = answer.take_if(|a| a.gap(limits.floor) <= limits.tol || left == 0) {
        return Ok(found);
    }
    let second = interior_point(rows, form, Limits { max_iter: left, ..limits }, control)?;
    Ok(merge(answer, second))
}

/// The better primal point with the better proof.
fn merge(first: Option<Answer>, second: Answer) -> Answer {
    let Some(first) = first else { return second };
    let n_iter = first.n_iter + second.n_iter;
    let (upper, w, factor) = if first.upper <= second.upper {
        (first.upper, first.w, first.factor)
    } else {
        (second.upper, second.w, second.factor)
    };
    let (lower, dual) = if first.lower >= second.lower {
        (first.lower, first.dual)
    } else {
        (second.lower, second.dual)
    };
    Answer { w, factor, dual, n_iter, upper, lower }
}

/// Solves for every budget, from the largest to the smallest, each from the last; answers are in the
/// order given.
///
/// The start is predicted by the secant in the logarithm of the budget through the last two answers,
/// on $w$ and $\sqrt{\kappa}F$ (which tends to a limit), after turning the older $F$ onto the newer one.
pub(super) fn solve_path(
    rows: &Rows<'_>,
    budgets: &[f64],
    limits: Limits,
    control: &Control,
) -> Result<Vec<Answer>> {
    let mut order: Vec<usize> = (0..budgets.len()).collect();
    order.sort_by(|&i, &j| budgets[j].total_cmp(&budgets[i]));
    let mut answers: Vec<Option<Answer>> = vec![None; budgets.len()];
    let mut last: Option<(f64, Start)> = None;
    let mut older: Option<(f64, Start)> = None;
    for (done, &i) in order.iter().enumerate() {
        let budget = budgets[i];
        let start = match (&last, &older) {
            (Some(last), Some(older)) => Some(predict(budget, last, older)),
            (Some((_, start)), None) => Some(start.clone()),
            _ => None,
        };
        let answer = solve(rows, Form::Budget(budget), start, limits, control)?;
        if answer.factor.nrows() > 0 && budget > 0.0 {
            let here = Start { w: answer.w.clone(), factor: answer.factor.clone() };
            older = last.replace((budget, here)).filter(|(b, _)| *b > budget);
        }
        answers[i] = Some(answer);
        control.progress(done as u64 + 1, order.len() as u64);
    }
    Ok(answers.into_iter().flatten().collect())
}

fn predict(budget: f64, last: &(f64, Start), older: &(f64, Start)) -> Start {
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
    Start { w, factor }
}

/// The problems whose solution can be written down, and those that have none.
fn closed_case(
    rows: &Rows<'_>,
    form: Form,
    limits: Limits,
    control: &Control,
) -> Result<Option<Answer>> {
    let (n, p) = (rows.x.nrows(), rows.x.ncols());
    let total: f64 = rows.c.iter().sum();
    let idle = |value: f64, dual: Dual| Answer {
        w: vec![0.0; p],
        factor: Dense::zeros(0, p),
        dual,
        n_iter: 0,
        upper: value,
        lower: value,
    };
    match form {
        Form::Price(price) => {
            // (13) allows gamma = lambda c everywhere: t = 1 proves that w = 0 is optimal.
            let top = SymmetricEigen::values(&rows.x.weighted_gram(rows.c))?;
            let top = top.last().copied().unwrap_or(0.0);
            let all: Vec<f64> = rows.c.iter().map(|c| price * c).collect();
            let idle = idle(price * total, Dual { h: all.clone(), g: all, price });
            Ok((price * top <= 1.0).then_some(idle))
        }
        Form::Budget(target) if target >= total => {
            let zeros = vec![0.0; n];
            Ok(Some(idle(0.0, Dual { h: zeros.clone(), g: zeros, price: 0.0 })))
        }
        Form::Budget(target) => {
            let empty = |i: usize| rows.x.row(i).iter().all(|v| *v == 0.0);
            let lost: f64 = (0..n).filter(|&i| empty(i)).map(|i| rows.c[i]).sum();
            if target > lost {
                return Ok(None);
            }
            if target > 0.0 || lost > 0.0 {
                return Err(Error::Infeasible(format!(
                    "kappa = {}: rows without any nonzero feature are always wrong and weigh {} of the \
                     total; kappa must be larger than that (or set fit_intercept)",
                    target / total,
                    lost / total
                )));
            }
            hard_margin(rows, limits, control).map(Some)
        }
    }
}

/// $\kappa = 0$: $V = 0$ and $w$ the hard-margin SVM, if there is one.
fn hard_margin(rows: &Rows<'_>, limits: Limits, control: &Control) -> Result<Answer> {
    let n = rows.x.nrows();
    let longest = (0..n).map(|i| vector::norm_sq(rows.x.row(i))).fold(0.0, f64::max);
    let unbounded = 1.0 / (NARROWEST * NARROWEST * longest);
    let found = margin_svm(rows, &vec![f64::INFINITY; n], 0.1 * limits.tol, unbounded, control)?;
    if found.upper.is_infinite() || found.lower > unbounded {
        return Err(Error::Infeasible(
            "kappa = 0: the labels are not linearly separable, so no hyperplane has all of them right; \
             every kappa > 0 works (the smallest value that ConicSVCCV tries is 0.005)"
                .into(),
        ));
    }
    // A little longer, so that rounding leaves every margin at 1 or more.
    let w = found.w.iter().map(|w| w * (1.0 + 1e-10)).collect();
    // Any price proves the bound when the budget is 0; a large one makes g vanish.
    let price = 1e12
        * (0..n).map(|i| found.h[i] * found.h[i] / rows.c[i]).sum::<f64>().max(f64::MIN_POSITIVE)
        * longest;
    let g = found.h.iter().zip(rows.c).map(|(h, c)| h * h / (price * c)).collect();
    Ok(Answer {
        w,
        factor: Dense::zeros(0, rows.x.ncols()),
        dual: Dual { h: found.h, g, price },
        n_iter: found.n_iter,
        upper: found.upper,
        lower: found.lower,
    })
}
