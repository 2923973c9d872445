//! Upper and lower bound on the optimum, from the merged sums of one pass and the point it was taken at.

use super::ask::Point;
use super::message::{Side, Sums};
use super::problem::Problem;
use crate::certificate::Certificate;

/// Upper and lower bound on the optimum.
///
/// Any `$\theta \ge 0$` bounds the sum of the `$k$` largest losses from above, so that the objective at the point is at most
/// `primal`. The dual, with shares `$0 \le a_i \le c_i$` and pulls `$\beta_i = a_i s_i$`, is
///
/// ```math
/// \max\ S \sum_i -a_i \varphi^*(-\beta_i / a_i) - \sum_j \frac{(|S r_j| - \lambda_j)_+^2}{4 q_j}
///   \qquad\text{with}\quad r = \sum_i \beta_i y_i z_i,\ \sum a_i \le k,\ \sum_i \beta_i y_i = 0.
/// ```
///
/// Share and pull of a row may be scaled down together: the point stays feasible and what the row gains is scaled by the
/// same factor. Hence the heavier class is scaled until the classes balance, then all rows until `$\sum a_i \le k$`, then
/// all rows by the factor in [0, 1] that proves most, and nothing of it needs another look at the rows.
pub(super) fn certify(problem: &Problem, point: &Point, sums: &Sums) -> Certificate {
    let primal = problem.beside_losses(point) + problem.scale * sums.primal;
    Certificate { primal, dual: bound(problem, &sums.sides).max(0.0) }
}

/// The dual value of the shares and pulls of both classes, made feasible.
pub(super) fn bound(problem: &Problem, [plus, minus]: &[Side; 2]) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;
    use crate::loss::Loss;
    use crate::partitioned::ask::{PassAsk, Question};
    use crate::partitioned::block::Block;
    use crate::partitioned::kernel::look_at;
    use proptest::prelude::*;

    const ROWS: usize = 7;
    const LOSSES: [Loss; 4] =
        [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber];

    /// The objective straight from its definition: losses sorted, the largest counted until `k` is used up.
    fn objective(problem: &Problem, rows: &[(Vec<f64>, f64, f64)], v: &[f64], b: f64) -> f64 {
        let mut losses: Vec<(f64, f64)> = rows
            .iter()
            .map(|(z, y, c)| {
                let score: f64 = z.iter().zip(v).map(|(z, v)| z * v).sum::<f64>() + b;
                (problem.loss.get().value(y * score), *c)
            })
            .collect();
        losses.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut room = if problem.worst { problem.k } else { f64::INFINITY };
        let mut sum = 0.0;
        for (loss, c) in losses {
            sum += loss * c.min(room);
            room = (room - c).max(0.0);
        }
        let ridge: f64 = problem.squares.iter().zip(v).map(|(q, v)| q * v * v).sum();
        let lasso: f64 = problem.lasso.iter().zip(v).map(|(l, v)| l * v.abs()).sum();
        ridge + lasso + problem.scale * sum
    }

    #[derive(Debug, Clone)]
    struct Draw {
        x: Vec<f64>,
        weights: Vec<f64>,
        which: usize,
        flags: (bool, bool, bool),
        k: f64,
        strengths: (f64, f64),
        point: (Vec<f64>, f64, f64, f64),
        other: (Vec<f64>, f64),
    }

    fn draws() -> impl Strategy<Value = Draw> {
        let numbers = || prop::collection::vec(-3.0..3.0_f64, 2);
        let point = (numbers(), -2.0..2.0_f64, 0.0..2.0_f64, 0.01..3.0_f64);
        (
            prop::collection::vec(-3.0..3.0_f64, 2 * ROWS),
            prop::collection::vec(0.0..2.0_f64, ROWS),
            0..4_usize,
            (any::<bool>(), any::<bool>(), any::<bool>()),
            0.05..0.99_f64,
            (0.01..2.0_f64, 0.0..0.5_f64),
            point,
            (numbers(), -2.0..2.0_f64),
        )
            .prop_map(|(x, weights, which, flags, k, strengths, point, other)| Draw {
                x,
                weights,
                which,
                flags,
                k,
                strengths,
                point,
                other,
            })
    }

    impl Draw {
        fn problem(&self) -> Problem {
            let (worst, intercept, lasso) = self.flags;
            let total: f64 = self.weights.iter().sum();
            let (squares, l1) = self.strengths;
            Problem {
                loss: LOSSES[self.which],
                worst,
                k: self.k * total,
                scale: 1.7 / total,
                // A column without ridge has an L1 part.
                squares: vec![squares, if lasso { 0.0 } else { 2.0 * squares }],
                lasso: if lasso { vec![l1, l1 + 0.01] } else { vec![0.0; 2] },
                intercept,
                total,
            }
        }

        fn certificate(&self, problem: &Problem) -> Certificate {
            let labels: Vec<usize> = (0..ROWS).map(|i| i % 2).collect();
            let x = Dense::from_rows(ROWS, 2, self.x.clone());
            let block = Block::new(0, x.into(), labels, Some(self.weights.clone()));
            let (v, b, theta, width) = self.point.clone();
            let b = if problem.intercept { b } else { 0.0 };
            let theta = if problem.worst { theta } else { 0.0 };
            let point = Point { v, b, theta };
            let question = Question {
                positive: 1,
                loss: problem.loss,
                counting: problem.counting(),
                point: point.clone(),
                width,
                back: None,
                near: None,
            };
            let ask = PassAsk {
                factors: vec![1.0; 2],
                means: Vec::new(),
                class_factors: vec![1.0; 2],
                thin: 1,
                questions: vec![question],
            };
            certify(problem, &point, &look_at(&block, &ask).unwrap()[0])
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        /// Weak duality at whatever point the sums were taken: no point is below the bound, and the point itself is
        /// not above its objective.
        #[test]
        fn no_bound_lies_above_any_objective(draw in draws()) {
            prop_assume!(draw.weights.iter().sum::<f64>() > 0.1);
            let problem = draw.problem();
            let found = draw.certificate(&problem);
            prop_assert!(found.dual >= 0.0 && found.dual.is_finite());
            let rows: Vec<(Vec<f64>, f64, f64)> = (0..ROWS)
                .map(|i| {
                    let y = if i % 2 == 1 { 1.0 } else { -1.0 };
                    (draw.x[2 * i..2 * i + 2].to_vec(), y, draw.weights[i])
                })
                .collect();
            let free = f64::from(u8::from(problem.intercept));
            let (v, b, ..) = draw.point;
            let own = objective(&problem, &rows, &v, free * b);
            prop_assert!(own <= found.primal * (1.0 + 1e-12) + 1e-12, "{own} {found:?}");
            let others = [(draw.other.0, draw.other.1), (vec![0.0; 2], 0.0), (v, b)];
            for (v, b) in others {
                let value = objective(&problem, &rows, &v, free * b);
                prop_assert!(found.dual <= value * (1.0 + 1e-12) + 1e-12, "{value} {found:?}");
            }
        }
    }
}
