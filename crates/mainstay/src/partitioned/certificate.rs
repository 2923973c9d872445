//! Upper and lower bound on the optimum, from the merged sums of one pass and the point it was taken at.

use super::ask::Point;
use super::message::Sums;
use super::problem::Problem;
use crate::certificate::Certificate;

/// Upper and lower bound on the optimum.
///
/// Any $\theta \ge 0$ bounds the sum of the $k$ largest losses from above, so that the objective at the point is at most
/// `primal`. The dual, with shares $0 \le a_i \le c_i$ and pulls $\beta_i = a_i s_i$, is
///
/// $$\max\ S \sum_i -a_i \varphi^*(-\beta_i / a_i)
///   - \sum_j \frac{(|S \sum_i \beta_i y_i z_{ij}| - \lambda_j)_+^2}{4 q_j}
///   \qquad\text{with}\quad \sum a_i \le k,\ \sum_i \beta_i y_i = 0.$$
///
/// Share and pull of a row may be scaled down together: the point stays feasible and what the row gains is scaled by the
/// same factor. Hence the heavier class is scaled until the classes balance, then all rows until $\sum a_i \le k$, then
/// all rows by the factor in [0, 1] that proves most, and nothing of it needs another look at the rows.
pub(super) fn certify(problem: &Problem, point: &Point, sums: &Sums) -> Certificate {
    let primal = problem.apart(point) + problem.scale * sums.primal;
    Certificate { primal, dual: bound(problem, sums).max(0.0) }
}

fn bound(problem: &Problem, sums: &Sums) -> f64 {
    let [plus, minus] = &sums.sides;
    let (up, down) = if problem.intercept {
        if plus.pull <= 0.0 || minus.pull <= 0.0 {
            return 0.0;
        }
        ((minus.pull / plus.pull).min(1.0), (plus.pull / minus.pull).min(1.0))
    } else {
        (1.0, 1.0)
    };
    let gain = problem.scale * (up * plus.gain + down * minus.gain);
    let pulled: Vec<f64> = plus
        .pulled
        .iter()
        .zip(&minus.pulled)
        .map(|(p, m)| (problem.scale * (up * p + down * m)).abs())
        .collect();
    let shares = up * plus.share + down * minus.share;
    let mut most = if problem.worst && shares > problem.k { problem.k / shares } else { 1.0 };
    for ((r, q), l) in pulled.iter().zip(&problem.squares).zip(&problem.lasso) {
        if *q == 0.0 && *r * most > *l {
            most = l / r;
        }
    }
    let value = |part: f64| {
        let terms = pulled.iter().zip(&problem.squares).zip(&problem.lasso);
        let taken = |((r, q), l): ((&f64, &f64), &f64)| {
            let beyond = part * r - l;
            if beyond > 0.0 && *q > 0.0 { beyond * (beyond / (4.0 * q)) } else { 0.0 }
        };
        part * gain - terms.map(taken).sum::<f64>()
    };
    best_part(most, value)
}

/// The largest value of a concave function on [0, most], to within what matters: any part proves something.
fn best_part(most: f64, value: impl Fn(f64) -> f64) -> f64 {
    const THIRDS: usize = 80;
    let (mut low, mut high) = (0.0, most);
    let mut best = value(most);
    for _ in 0..THIRDS {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        let (at_left, at_right) = (value(left), value(right));
        best = best.max(at_left).max(at_right);
        if at_left < at_right { low = left } else { high = right }
    }
    if best.is_finite() { best } else { 0.0 }
}
