//! Objective and lower bound of an answer, from the data alone.

use super::problem::{Answer, Problem};
use crate::certificate::Certificate;
use crate::linalg::vector;

/// The interval that `answer` proves.
///
/// For any $0 \le a \le C$ with $y^\top a = 0$ and any $\|\zeta_j\| \le \sum_{i \in j} m_i a_i$
/// $$D = \sum_i a_i - \tfrac12 \Big\| \sum_i a_i y_i x_i + \sum_j L_j \zeta_j \Big\|^2$$
/// bounds the optimum from below: it is the dual of a plain SVM on points moved inside their
/// ellipsoids. The multipliers of the answer are first moved into this set: clipped, the heavier
/// class scaled down to balance, $\zeta$ shortened.
pub(super) fn certify(problem: &Problem<'_>, answer: &Answer) -> Certificate {
    let pulled = |j: usize| problem.shapes[j].support(&answer.w);
    let rho: Vec<f64> = (0..problem.shapes.len()).map(pulled).collect();
    let scores = problem.x.mul_vec(&answer.w);
    let primal = problem.objective(&answer.w, &scores, answer.b, &problem.spread(&rho));

    let clipped: Vec<f64> =
        answer.a.iter().zip(problem.cap).map(|(a, c)| a.clamp(0.0, *c)).collect();
    let total = |sign: f64| -> f64 {
        clipped.iter().zip(problem.y).filter(|(_, y)| **y == sign).map(|(a, _)| a).sum()
    };
    let (up, down) = (total(1.0), total(-1.0));
    let lighter = up.min(down);
    let scale = |y: f64| {
        let own = if y > 0.0 { up } else { down };
        if own > 0.0 { lighter / own } else { 0.0 }
    };
    let a: Vec<f64> = clipped.iter().zip(problem.y).map(|(a, y)| a * scale(*y)).collect();
    let mut reach = vec![0.0; problem.shapes.len()];
    for (i, &a) in a.iter().enumerate() {
        if problem.multiplier[i] > 0.0 {
            reach[problem.of[i]] += problem.multiplier[i] * a;
        }
    }
    let signed: Vec<f64> = a.iter().zip(problem.y).map(|(a, y)| a * y).collect();
    let mut moved = problem.x.tr_mul_vec(&signed);
    for (j, shape) in problem.shapes.iter().enumerate() {
        let length = vector::norm(answer.zeta.row(j));
        if length > 0.0 {
            shape.push((reach[j] / length).min(1.0), answer.zeta.row(j), &mut moved);
        }
    }
    let dual = a.iter().sum::<f64>() - 0.5 * vector::norm(&moved).powi(2);
    // Zero is a bound too: no term of the objective is negative.
    Certificate { primal, dual: dual.max(0.0) }
}
