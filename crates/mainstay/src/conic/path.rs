//! Whole paths of budgets, each fit started from what the ones before it predict.

use super::newton::{FactorCache, objective};
use super::problem::{Form, Hyperplane, Rows};
use super::strategy::{Solution, Task, Warm, leading, solve_warm};
use crate::control::Control;
use crate::error::Result;
use crate::linalg::{Dense, Svd, vector};
use crate::optim::Budget;

/// Answers through which the start of the next fit is extrapolated. More of them follow the path more closely until a
/// row begins or ceases to have a loss, where its third derivative jumps.
const HISTORY: usize = 4;

/// A step in the logarithm of the budget of more than this many times the last one is predicted from two answers only.
const FAR: f64 = 2.0;

/// An answer on the path: its budget and its hyperplane.
type Place = (f64, Hyperplane);

/// What is solved along a path.
pub(super) struct PathProblem<'a> {
    pub rows: Rows<'a>,
    /// Budgets `$\kappa\sum c_i$`.
    pub targets: Vec<f64>,
    /// As in [`Task`].
    pub floor: f64,
    /// For every budget a point to start from, where one is known from elsewhere; may be shorter.
    pub guides: Vec<Option<Hyperplane>>,
}

/// Solves for every budget of `problem`, from the largest to the smallest, each from what the last ones predict (or from its
/// guide, if that is better) and with all of `budget`; answers are in the order given.
pub(super) fn solve_path(
    problem: &PathProblem<'_>,
    budget: &Budget<'_>,
    control: &Control,
) -> Result<Vec<Solution>> {
    let PathProblem { rows, targets, floor, guides } = problem;
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_by(|&i, &j| targets[j].total_cmp(&targets[i]));
    let mut found: Vec<Option<Solution>> = vec![None; targets.len()];
    let mut places: Vec<Place> = Vec::with_capacity(HISTORY + 1);
    let mut cache =
        if targets.len() > 1 { FactorCache::along_a_path() } else { FactorCache::default() };
    for (done, &i) in order.iter().enumerate() {
        let target = targets[i];
        let task = Task { rows: *rows, form: Form::Budget(target), floor: *floor };
        let guide = guides.get(i).cloned().flatten();
        let plane = better(&task, predict(target, &places), guide);
        let warm = Warm { plane, cache: &mut cache };
        let solution = solve_warm(&task, warm, &mut budget.clone())?;
        let Hyperplane { w, factor } = &solution.plane;
        if factor.nrows() > 0 && target > 0.0 {
            places.retain(|(at, _)| *at > target);
            places.push((target, Hyperplane { w: w.clone(), factor: leading(factor) }));
            if places.len() > HISTORY {
                places.remove(0);
            }
        }
        found[i] = Some(solution);
        control.progress(done as u64 + 1, order.len() as u64);
    }
    Ok(found.into_iter().flatten().collect())
}

/// The one of two starts with the smaller objective, if they are two.
fn better(task: &Task<'_>, a: Option<Hyperplane>, b: Option<Hyperplane>) -> Option<Hyperplane> {
    let (Some(one), Some(other)) = (&a, &b) else { return a.or(b) };
    let value = |plane| objective(&task.rows, task.form, plane).unwrap_or(f64::INFINITY);
    if value(other) < value(one) { b } else { a }
}

/// The start for `budget`: the polynomial in the logarithm of the budget through the last answers whose factors have
/// as many rows as the last one.
///
/// It is drawn through `$w$` and `$\sqrt{\kappa}F$` (which tends to a limit), after every older `$F$` has been turned onto the last.
fn predict(budget: f64, places: &[Place]) -> Option<Hyperplane> {
    let ((last_budget, last), older) = places.split_last()?;
    // A polynomial that is followed far beyond its points leads astray; a line less so.
    let far = older.last().is_some_and(|(previous, _)| {
        (last_budget / budget).ln() > FAR * (previous / last_budget).ln()
    });
    let alike = older.iter().rev().take_while(|(_, old)| old.factor.nrows() == last.factor.nrows());
    let alike = alike.take(if far { 1 } else { HISTORY });
    let mut through: Vec<Place> = vec![(*last_budget, last.clone())];
    for (at, old) in alike {
        let Some(turned) = turned_onto(&last.factor, &old.factor) else { break };
        through.push((*at, Hyperplane { w: old.w.clone(), factor: turned }));
    }
    let p = last.w.len();
    let mut out = Hyperplane { w: vec![0.0; p], factor: Dense::zeros(last.factor.nrows(), p) };
    for (k, (at, place)) in through.iter().enumerate() {
        let others = through.iter().enumerate().filter(|(l, _)| *l != k);
        // Lagrange's polynomial that is 1 here and 0 at the others.
        let share: f64 =
            others.map(|(_, (other, _))| (budget / other).ln() / (at / other).ln()).product();
        vector::axpy(share, &place.w, &mut out.w);
        let scale = share * (at / budget).sqrt();
        vector::axpy(scale, place.factor.data(), out.factor.data_mut());
    }
    Some(out)
}

/// `$Q F$` with the rotation `$Q$` that brings `older` closest to `last` (Procrustes).
fn turned_onto(last: &Dense, older: &Dense) -> Option<Dense> {
    let svd = Svd::new(&last.mul_tr(older)).ok()?;
    Some(svd.u.mul_tr(&svd.v).mul(older))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `$w = (l, l^3)$` and `$\sqrt\kappa F = (1, l^2)$` with `$l = \ln\kappa$`, older factors with the other sign.
    #[test]
    fn a_cubic_path_is_predicted_exactly_whatever_the_signs_of_the_factors() {
        let at = |budget: f64, sign: f64| {
            let (l, root) = (budget.ln(), sign / budget.sqrt());
            let factor = Dense::from_rows(1, 2, vec![root, root * l * l]);
            (budget, Hyperplane { w: vec![l, l.powi(3)], factor })
        };
        let places = [at(8.0, -1.0), at(5.0, 1.0), at(4.0, -1.0), at(3.5, 1.0)];
        let (Some(found), (_, wanted)) = (predict(3.1, &places), at(3.1, 1.0)) else {
            unreachable!("there are places");
        };
        let pairs = found.w.iter().zip(&wanted.w);
        for (a, b) in pairs.chain(found.factor.data().iter().zip(wanted.factor.data())) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
        assert!(predict(1.0, &[]).is_none());
    }
}
