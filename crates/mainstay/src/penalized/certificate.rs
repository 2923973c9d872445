use super::problem::{Answer, Problem};
use crate::certificate::Certificate;

/// Upper and lower bound on the optimum, from the data and an answer alone.
///
/// With $\beta_i = s_i a_i$ and $r_j = \frac{1}{u_j}\sum_i \beta_i y_i x_{ij}$ the dual is
///
/// $$\max_a\ -\sum_i s_i\,\varphi^*(-a_i) - \sum_j \frac{(|r_j| - \lambda)_+^2}{2\mu}
///   \qquad\text{with}\quad \sum_i \beta_i y_i = 0,$$
///
/// where $\mu = 0$ asks for $|r_j| \le \lambda$. The free intercept is what demands the equality.
/// A candidate is made feasible in three steps: clipped to the domain of $\varphi^*$, the heavier
/// class scaled down until both classes balance, and, with an L1 part, all of it scaled down until
/// $|r_j| \le \lambda$; where $\mu > 0$ the point before that last step is feasible too and the
/// better of the two counts. $a = 0$ is always feasible, so the bound is never below zero.
/// Cost: two passes over the data.
pub(super) fn certify(problem: &Problem<'_>, answer: &Answer) -> Certificate {
    let primal = problem.objective(&answer.weights, answer.intercept);
    let duals = balanced(problem, &answer.duals);
    let pull: Vec<f64> =
        (0..duals.len()).map(|i| problem.shares[i] * duals[i] * problem.y[i]).collect();
    let mut r = problem.x.tr_mul_vec(&pull);
    for (r, u) in r.iter_mut().zip(problem.units) {
        *r = (*r / u).abs();
    }
    let largest =
        r.iter().fold(0.0, |m: f64, v| if v.is_nan() { f64::INFINITY } else { m.max(*v) });

    // Dual value of `shrink` times the balanced duals.
    let value = |shrink: f64| {
        let conjugate: f64 = duals
            .iter()
            .zip(problem.shares)
            .map(|(a, s)| s * problem.loss.conjugate(shrink * a))
            .sum();
        let excess: f64 = if problem.l2 > 0.0 {
            r.iter().map(|r| (shrink * r - problem.l1).max(0.0)).map(|e| e * (e / problem.l2)).sum()
        } else {
            0.0
        };
        -conjugate - 0.5 * excess
    };
    let mut dual = 0.0_f64;
    if problem.l2 > 0.0 {
        dual = dual.max(value(1.0));
    }
    if problem.l1 > 0.0 {
        dual = dual.max(value(if largest > problem.l1 { problem.l1 / largest } else { 1.0 }));
    }
    Certificate { primal, dual }
}

/// `duals` clipped to the domain of the conjugate, the heavier class scaled down to balance.
fn balanced(problem: &Problem<'_>, duals: &[f64]) -> Vec<f64> {
    let bound = problem.loss.dual_bound();
    let clipped = |a: f64| if a.is_finite() { a.clamp(0.0, bound) } else { 0.0 };
    let mut duals: Vec<f64> = duals.iter().map(|a| clipped(*a)).collect();
    let (mut positive, mut negative) = (0.0, 0.0);
    for ((a, s), y) in duals.iter().zip(problem.shares).zip(problem.y) {
        *(if *y > 0.0 { &mut positive } else { &mut negative }) += s * a;
    }
    let target = f64::min(positive, negative);
    for (a, y) in duals.iter_mut().zip(problem.y) {
        let sum = if *y > 0.0 { positive } else { negative };
        *a = if target > 0.0 { *a * (target / sum) } else { 0.0 };
    }
    duals
}
