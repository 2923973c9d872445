//! Upper and lower bound on the optimum, from the data and an answer alone.

use super::problem::{Candidate, Problem, in_blocks};
use crate::certificate::Certificate;
use crate::linalg::{Accurate, Compensated};

/// Upper and lower bound on the optimum, from the data and an answer alone.
///
/// With `$\beta_i = s_i a_i$` and `$r_j = \frac{1}{u_j}\sum_i \beta_i y_i x_{ij}$` the dual is
///
/// ```math
/// \max_a\ -\sum_i s_i\,\varphi^*(-a_i) - \sum_j \frac{(|r_j| - \lambda)_+^2}{2\mu}
///   \qquad\text{with}\quad \sum_i \beta_i y_i = 0,
/// ```
///
/// where `$\mu = 0$` asks for `$|r_j| \le \lambda$`. The free intercept is what demands the equality.
/// A candidate is made feasible in three steps: clipped to the domain of `$\varphi^*$`, the heavier
/// class scaled down until both classes balance, and, with an L1 part, all of it scaled down until
/// `$|r_j| \le \lambda$`; where `$\mu > 0$` the point before that last step is feasible too and the
/// better of the two counts. `$a = 0$` is always feasible, so the bound is never below zero but for rounding.
///
/// The objective is that of the returned numbers in the user's units, by compensated sums; the columns are centred
/// for `$r$`, which the equality allows. What rounding may have added to the bound or taken from the objective is
/// taken from the bound (decision 0056). Cost: three passes over the data.
pub(super) fn certify(problem: &Problem<'_>, answer: &Candidate) -> Certificate {
    let rows = problem.x.accurate();
    let (primal, rounding) = problem.objective_on(&rows, &answer.weights, answer.intercept);
    let dual = lower_bound(problem, &rows, &answer.duals);
    Certificate { primal, dual: dual - rounding }
}

/// Part of a row's share in the bound that rounding may have added to it: a few units in the last place times the
/// slope of an entropy, `$\ln(1/\epsilon)$`.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// The best bound that `duals` prove, at least 0.
fn lower_bound(problem: &Problem<'_>, rows: &Accurate<'_>, duals: &[f64]) -> f64 {
    let duals = balanced(problem, duals);
    let signed: Vec<f64> =
        (0..duals.len()).map(|i| problem.shares[i] * duals[i] * problem.y[i]).collect();
    let sums = rows.sums(&signed, true);
    let upper = |((r, error), u): ((&f64, &f64), &f64)| {
        ((r.abs() + error) / u) * (1.0 + 4.0 * f64::EPSILON)
    };
    let r: Vec<f64> = sums.values.iter().zip(&sums.errors).zip(problem.units).map(upper).collect();
    let largest =
        r.iter().fold(0.0, |m: f64, v| if v.is_nan() { f64::INFINITY } else { m.max(*v) });

    // Dual value of `shrink` times the balanced duals.
    let value = |shrink: f64| {
        let (gain, size) = in_blocks(duals.len(), |rows| {
            let (mut gain, mut size) = (Compensated::default(), 0.0);
            for (a, s) in duals[rows.clone()].iter().zip(&problem.shares[rows]) {
                let conjugate = s * problem.loss.conjugate(shrink * a);
                gain.add(-conjugate);
                size += conjugate.abs() + s * a;
            }
            (gain, size)
        });
        let excess: f64 = if problem.l2 > 0.0 {
            r.iter().map(|r| (shrink * r - problem.l1).max(0.0)).map(|e| e * (e / problem.l2)).sum()
        } else {
            0.0
        };
        let terms = (r.len() + 8) as f64 * f64::EPSILON;
        gain.value() - ROUNDING * size - 0.5 * excess * (1.0 + terms)
    };
    let mut dual = if problem.l2 > 0.0 { value(1.0).max(0.0) } else { 0.0 };
    if problem.l1 > 0.0 {
        // A unit in the last place below, so that rounding does not put it above.
        let most = problem.l1 / largest * (1.0 - 2.0 * f64::EPSILON);
        dual = dual.max(value(if largest > problem.l1 { most } else { 1.0 }));
    }
    dual
}

/// `duals` clipped to the domain of the conjugate, the heavier class scaled down to balance.
fn balanced(problem: &Problem<'_>, duals: &[f64]) -> Vec<f64> {
    let bound = problem.loss.dual_bound();
    let clipped = |a: f64| if a.is_finite() { a.clamp(0.0, bound) } else { 0.0 };
    let mut duals: Vec<f64> = duals.iter().map(|a| clipped(*a)).collect();
    let (mut positive, mut negative) = (Compensated::default(), Compensated::default());
    for ((a, s), y) in duals.iter().zip(problem.shares).zip(problem.y) {
        (if *y > 0.0 { &mut positive } else { &mut negative }).add(s * a);
    }
    let (positive, negative) = (positive.value(), negative.value());
    let target = f64::min(positive, negative);
    for (a, y) in duals.iter_mut().zip(problem.y) {
        let sum = if *y > 0.0 { positive } else { negative };
        *a = if target > 0.0 { *a * (target / sum) } else { 0.0 };
    }
    duals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, Matrix};
    use crate::loss::Loss;
    use proptest::prelude::*;

    const LOSSES: [Loss; 4] =
        [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber];

    /// One point at 1 and one at -1 with the hinge and L2 = 1: w = 1, b = 0 costs 1/2, and a = 1 proves it.
    #[test]
    fn the_optimum_of_two_points_is_proven_exactly() {
        let x = Matrix::from(Dense::from_rows(2, 1, vec![1.0, -1.0]));
        let loss = Loss::Hinge.get();
        let problem = Problem {
            x: &x,
            y: &[1.0, -1.0],
            shares: &[0.5, 0.5],
            loss,
            l1: 0.0,
            l2: 1.0,
            units: &[1.0],
        };
        let answer = Candidate { weights: vec![1.0], intercept: 0.0, duals: vec![1.0, 1.0] };
        let Certificate { primal, dual } = certify(&problem, &answer);
        assert_eq!(primal, 0.5);
        assert!((0.5 - 1e-13..=0.5).contains(&dual), "{dual}");
    }

    proptest! {
        /// Weak duality: whatever the duals are, even infeasible ones, the bound is below the objective of
        /// every point.
        #[test]
        fn no_bound_lies_above_any_objective(
            x in prop::collection::vec(-3.0..3.0_f64, 12),
            signs in prop::collection::vec(any::<bool>(), 4),
            weights in prop::collection::vec(-4.0..4.0_f64, 3),
            intercept in -4.0..4.0_f64,
            duals in prop::collection::vec(-0.5..5.0_f64, 4),
            strengths in (0.0..1.0_f64, 0.0..1.0_f64),
            which in 0..4_usize,
        ) {
            let x = Matrix::from(Dense::from_rows(4, 3, x));
            let y: Vec<f64> = signs.iter().map(|s| if *s { 1.0 } else { -1.0 }).collect();
            let (l1, l2) = strengths;
            prop_assume!(l1 + l2 > 1e-3);
            let (l1, l2) = (if l1 < 0.2 { 0.0 } else { l1 }, if l2 < 0.2 && l1 >= 0.2 { 0.0 } else { l2 });
            let problem = Problem {
                x: &x,
                y: &y,
                shares: &[0.1, 0.2, 0.3, 0.4],
                loss: LOSSES[which].get(),
                l1,
                l2,
                units: &[1.0, 0.5, 2.0],
            };
            let found = certify(&problem, &Candidate { weights, intercept, duals });
            prop_assert!(found.dual <= found.primal, "{found:?}");
        }
    }
}
