//! The bound on the optimum, recomputed from the data, the answer and dual multipliers.

use std::borrow::Cow;

use super::feasible::feasible;
use super::problem::{Hyperplanes, Problem, RowLoss, Target, worst_threshold};
use crate::certificate::Certificate;
use crate::linalg::{Accurate, Compensated, Scores, vector};

/// A dual point: how much each row counts, and its slopes in the scores times that.
#[derive(Debug, Clone, PartialEq)]
pub struct Dual {
    /// `$a$`: one number per row.
    pub share: Vec<f64>,
    /// `$\alpha$`: one number per score, row by row; `$\alpha_i / a_i$` is a slope of `$L_i$`.
    pub alpha: Vec<f64>,
}

/// Part of a row's term in the bound that rounding may have added to it: a few units in the last place times the
/// slope of an entropy, `$\ln(1/\epsilon)$`.
const IN_TERMS: f64 = 64.0 * f64::EPSILON;

/// What rounding may add to a loss without being looked at more closely: far below any gap that is asked for.
const NOT_NOTICED: f64 = 1e-12;

/// Objective of `point`, at these very numbers in the user's units, and a bound that `dual` proves.
///
/// What rounding may have taken from the objective or added to the bound is taken from the bound.
pub fn certify(problem: &Problem<'_>, point: &Hyperplanes, dual: &Dual) -> Certificate {
    let rows = problem.x.accurate();
    let (primal, rounding) = objective(problem, &rows, point);
    // Zero is a bound too: no term of the objective is negative.
    Certificate { primal, dual: careful_bound(problem, &rows, dual).max(0.0) - rounding }
}

/// The objective and by how much rounding may have lowered it.
///
/// `$k\theta + \sum c_i \max(0, L_i - \theta)$` is at least the sum of the worst losses for every `$\theta \ge 0$`.
fn objective(problem: &Problem<'_>, rows: &Accurate<'_>, point: &Hyperplanes) -> (f64, f64) {
    let (losses, most) = losses(problem, rows, point);
    let threshold = worst_threshold(&losses, problem.weights, problem.k).max(0.0);
    let (mut sum, mut rounding) = (Compensated::new(problem.k * threshold), 0.0);
    for ((loss, most), c) in losses.iter().zip(&most).zip(problem.weights) {
        let over = (loss - threshold).max(0.0);
        sum.add(c * over);
        rounding += c * (most * (1.0 + 8.0 * f64::EPSILON) - threshold - over).max(0.0);
    }
    let objective = problem.penalty(point) + problem.scale * sum.value();
    let terms = (problem.x.ncols() * problem.q() + 8) as f64 * f64::EPSILON;
    (objective, problem.scale * rounding + terms * objective)
}

/// The loss of every row, and the most that it may be where its scores are rounded.
fn losses(problem: &Problem<'_>, rows: &Accurate<'_>, point: &Hyperplanes) -> (Vec<f64>, Vec<f64>) {
    let planes = || point.coef.iter().zip(&point.intercept);
    let mut scores: Vec<Scores> = planes().map(|(w, b)| rows.scores(w, *b)).collect();
    let away = |i: usize, j: usize, (f, error): (f64, f64)| {
        f - problem.target.sign(i, j) * (error + 2.0 * f64::EPSILON * (1.0 + f.abs()))
    };
    if scores.len() > 1 {
        let row = |i: usize| scores.iter().map(move |of| (of.values[i], of.errors[i]));
        let moved = |i: usize| row(i).enumerate().map(move |(j, f)| away(i, j, f));
        let losses = (0..problem.n())
            .map(|i| problem.row_loss(i, &row(i).map(|(f, _)| f).collect::<Vec<f64>>()));
        let most = (0..problem.n()).map(|i| problem.row_loss(i, &moved(i).collect::<Vec<f64>>()));
        return (losses.collect(), most.collect());
    }
    // In place of the score and its error: rows may be many.
    let Some(Scores { mut values, mut errors }) = scores.pop() else {
        return (Vec::new(), Vec::new());
    };
    for (i, (value, error)) in values.iter_mut().zip(&mut errors).enumerate() {
        let moved = away(i, 0, (*value, *error));
        let (loss, way) = (problem.row_loss(i, &[*value]), (moved - *value).abs());
        // The slopes of these losses are at most 1.
        let gentle = problem.loss != RowLoss::SquaredHinge && way <= NOT_NOTICED;
        let most = if gentle { loss + way } else { problem.row_loss(i, &[moved]) };
        (*value, *error) = (loss, most);
    }
    (values, errors)
}

/// [`bound`], less what rounding may have added to it.
fn careful_bound(problem: &Problem<'_>, rows: &Accurate<'_>, dual: &Dual) -> f64 {
    let q = problem.q();
    let Dual { share, alpha } = feasible(problem, dual);
    let (mut gain, mut size) = (Compensated::default(), 0.0);
    for (i, (a, alpha)) in share.iter().zip(alpha.chunks_exact(q)).enumerate() {
        let own = conjugate_gain(problem, i, *a, alpha);
        gain.add(own);
        let steep: f64 = alpha.iter().map(|v| v.abs()).sum();
        // Squared hinges: what is taken off may be as large as what is left.
        size += own.abs() + if own < steep { 2.0 * steep - own } else { steep };
    }
    let mut norm_sq = 0.0;
    for j in 0..q {
        let column = column(&alpha, j, q);
        norm_sq += rows.sums(&column, problem.fit_intercept).longest().powi(2);
        if problem.fit_intercept {
            let mut left = Compensated::default();
            for v in column.iter() {
                left.add(*v);
            }
            size += left.value().abs() / f64::EPSILON;
        }
    }
    let lost = problem.scale / (4.0 * problem.ridge) * norm_sq * (1.0 + 16.0 * f64::EPSILON);
    problem.scale * (gain.value() - IN_TERMS * size - lost)
}

/// The multipliers of score `j` of `q`.
fn column(alpha: &[f64], j: usize, q: usize) -> Cow<'_, [f64]> {
    if q == 1 {
        return Cow::Borrowed(alpha);
    }
    alpha.iter().skip(j).step_by(q).copied().collect()
}

/// A lower bound on the optimum. Any numbers may come in: they are first made dual feasible.
///
/// With `$0 \le a \le c$`, `$\sum a \le k$` and (where `$b$` is free) `$\sum_i \alpha_i = 0$`, Fenchel's
/// inequality `$a L(f) \ge \alpha^\top f - a L^*(\alpha/a)$` and the minimum over `$W$` give
/// ```math
/// -\lambda \sum_i a_i L_i^*(\alpha_i / a_i) - \tfrac{\lambda^2}{4\rho} \|\sum_i \alpha_i x_i^\top\|^2.
/// ```
pub fn bound(problem: &Problem<'_>, dual: &Dual) -> f64 {
    let q = problem.q();
    let Dual { share, alpha } = feasible(problem, dual);
    let rows = share.iter().zip(alpha.chunks_exact(q)).enumerate();
    let gain: f64 = rows.map(|(i, (a, alpha))| conjugate_gain(problem, i, *a, alpha)).sum();
    let norm_sq: f64 =
        (0..q).map(|j| vector::norm_sq(&problem.x.tr_mul_vec(&column(&alpha, j, q)))).sum();
    problem.scale * (gain - problem.scale / (4.0 * problem.ridge) * norm_sq)
}

/// `$-a L^*(\alpha/a)$` of row `i`, written so that nothing divides by zero.
fn conjugate_gain(problem: &Problem<'_>, i: usize, a: f64, alpha: &[f64]) -> f64 {
    if a <= 0.0 {
        return 0.0;
    }
    let entropy = |t: f64| if t > 0.0 { -t * t.ln() } else { 0.0 };
    let beta = |j: usize| -problem.target.sign(i, j) * alpha[j];
    match (problem.loss, &problem.target) {
        (RowLoss::Hinge, _) => (0..alpha.len()).map(beta).sum(),
        (RowLoss::SquaredHinge, _) => {
            (0..alpha.len()).map(|j| beta(j) - beta(j) * beta(j) / (4.0 * a)).sum()
        }
        (RowLoss::Logistic, Target::Signs(_)) => {
            let share = (beta(0) / a).min(1.0);
            a * (entropy(share) + entropy(1.0 - share))
        }
        (RowLoss::Logistic, Target::Classes { labels, .. }) => {
            let others = (0..alpha.len()).filter(|&j| j != labels[i]);
            let moved: f64 = others.clone().map(|j| alpha[j] / a).sum();
            let spread: f64 = others.map(|j| entropy(alpha[j] / a)).sum();
            a * (spread + entropy((1.0 - moved).max(0.0)))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::{Dense, Matrix};
    use crate::stable::feasible::cheapest_shares;
    use crate::stable::row_loss::expand;

    /// Numbers from which a problem, a primal and a dual point are made.
    #[derive(Debug, Clone)]
    struct Draw {
        /// Rows, columns, and one score or one per class.
        shape: (usize, usize, usize),
        loss: RowLoss,
        fit_intercept: bool,
        /// `k` as a fraction, ridge, scale.
        strengths: (f64, f64, f64),
        numbers: Vec<f64>,
        weights: Vec<f64>,
    }

    fn draws() -> impl Strategy<Value = Draw> {
        let loss =
            prop_oneof![Just(RowLoss::Hinge), Just(RowLoss::SquaredHinge), Just(RowLoss::Logistic)];
        let shape = (2..9_usize, 1..4_usize, prop_oneof![Just(1_usize), Just(3)]);
        let strengths = (0.05..1.0, 0.01..10.0, 0.01..10.0);
        let weights = prop::collection::vec(0.1..3.0, 9);
        let numbers = prop::collection::vec(-3.0..3.0, 200);
        (shape, loss, any::<bool>(), strengths, numbers, weights).prop_map(
            |(shape, loss, fit_intercept, strengths, numbers, weights)| {
                let weights = weights[..shape.0].to_vec();
                Draw { shape, loss, fit_intercept, strengths, numbers, weights }
            },
        )
    }

    impl Draw {
        fn features(&self) -> Matrix {
            let (n, p, _) = self.shape;
            Dense::from_fn(n, p, |i, j| self.numbers[i * p + j]).into()
        }

        fn problem<'a>(&'a self, x: &'a Matrix) -> Problem<'a> {
            let (n, _, q) = self.shape;
            let target = if q == 1 {
                Target::Signs((0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect())
            } else {
                Target::Classes { labels: (0..n).map(|i| i % q).collect(), count: q }
            };
            let (fraction, ridge, scale) = self.strengths;
            Problem {
                x,
                target,
                weights: &self.weights,
                loss: self.loss,
                k: fraction * self.weights.iter().sum::<f64>(),
                ridge,
                scale,
                fit_intercept: self.fit_intercept,
            }
        }

        fn hyperplanes(&self) -> Hyperplanes {
            let (_, p, q) = self.shape;
            let tail = &self.numbers[100..];
            let coef = (0..q).map(|j| tail[j * p..(j + 1) * p].to_vec()).collect();
            let free = if self.fit_intercept { 1.0 } else { 0.0 };
            Hyperplanes { coef, intercept: (0..q).map(|j| free * tail[30 + j]).collect() }
        }

        /// Shares between their bounds and the slopes at some hyperplanes, which need not balance.
        fn tangent(&self, problem: &Problem<'_>) -> Dual {
            let (n, _, q) = self.shape;
            let share: Vec<f64> =
                (0..n).map(|i| problem.weights[i] * (0.5 + self.numbers[150 + i] / 6.0)).collect();
            let f = problem.scores(&self.hyperplanes());
            let (mut alpha, mut curve) = (vec![0.0; n * q], vec![0.0; q * (q + 1) / 2]);
            for (i, alpha) in alpha.chunks_exact_mut(q).enumerate() {
                expand(problem, i, &f[i * q..(i + 1) * q], 0.0, alpha, &mut curve);
                vector::scale(alpha, share[i]);
            }
            Dual { share, alpha }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        /// Weak duality: whatever multipliers come in, the bound is below the objective of every point.
        #[test]
        fn no_multipliers_prove_more_than_any_point_attains(draw in draws()) {
            let x = draw.features();
            let problem = draw.problem(&x);
            let (n, _, q) = draw.shape;
            let wild = Dual {
                share: draw.numbers[60..60 + n].to_vec(),
                alpha: draw.numbers[70..70 + n * q].to_vec(),
            };
            let zero = Hyperplanes { coef: vec![vec![0.0; x.ncols()]; q], intercept: vec![0.0; q] };
            for dual in [wild, draw.tangent(&problem)] {
                let proven = bound(&problem, &dual);
                prop_assert!(proven.is_finite());
                for point in [&zero, &draw.hyperplanes()] {
                    let objective = problem.objective(point);
                    prop_assert!(proven <= objective * (1.0 + 1e-12) + 1e-12, "{proven} {objective}");
                    let Certificate { primal, dual } = certify(&problem, point, &dual);
                    prop_assert!(dual <= primal, "{dual} {primal}");
                    let size = objective.abs().max(1.0);
                    prop_assert!((primal - objective).abs() <= 1e-12 * size, "{primal} {objective}");
                    prop_assert!(dual >= proven - 1e-9 * size, "{dual} {proven}");
                }
            }
        }

        /// What is made feasible is feasible: shares between their bounds and at most `k` in all, and
        /// multipliers of every score that add up to zero where the intercept is free.
        #[test]
        fn multipliers_are_made_feasible(draw in draws()) {
            let x = draw.features();
            let problem = draw.problem(&x);
            let q = draw.shape.2;
            let Dual { share, alpha } = feasible(&problem, &draw.tangent(&problem));
            let inside = share.iter().zip(problem.weights).all(|(a, c)| (0.0..=*c).contains(a));
            prop_assert!(inside && share.iter().sum::<f64>() <= problem.k * (1.0 + 1e-12));
            for j in (0..q).filter(|_| problem.fit_intercept) {
                let sum: f64 = alpha.iter().skip(j).step_by(q).sum();
                prop_assert!(sum.abs() <= 1e-11 * (1.0 + vector::norm_1(&alpha)), "{sum}");
            }
        }
    }

    /// One row of each class at x = +-1, k = 1, C = 1, no intercept: w^2 + max(0, 1 - w) is least at w = 1/2, where
    /// it is 3/4, and the multipliers that prove it are 1/2 each.
    #[test]
    fn the_bound_is_tight_at_the_closed_form_of_two_rows() {
        let x = Matrix::from(Dense::from_rows(2, 1, vec![1.0, -1.0]));
        let problem = Problem {
            x: &x,
            target: Target::Signs(vec![1.0, -1.0]),
            weights: &[1.0; 2],
            loss: RowLoss::Hinge,
            k: 1.0,
            ridge: 1.0,
            scale: 1.0,
            fit_intercept: false,
        };
        let dual = Dual { share: vec![0.5; 2], alpha: vec![-0.5, 0.5] };
        let point = Hyperplanes { coef: vec![vec![0.5]], intercept: vec![0.0] };
        assert!((bound(&problem, &dual) - 0.75).abs() <= 1e-15);
        assert!((problem.objective(&point) - 0.75).abs() <= 1e-15);
    }

    /// Multipliers 3 and 1 and no rows to spare: shares 3/4 and 1/4 of `k` while the first is below its weight, which takes
    /// (3 + 1)^2 / 4k; then the first counts in full and the second has the rest.
    #[test]
    fn the_cheapest_shares_match_the_closed_form() {
        let x = Matrix::from(Dense::zeros(3, 1));
        for (k, wanted) in [
            (0.8, [0.6, 0.2, 0.0]),
            (1.5, [1.0, 0.5, 0.0]),
            (2.0, [1.0, 1.0, 0.0]),
            (3.0, [1.0, 1.0, 0.0]),
        ] {
            let problem = Problem {
                x: &x,
                target: Target::Signs(vec![1.0, -1.0, 1.0]),
                weights: &[1.0; 3],
                loss: RowLoss::SquaredHinge,
                k,
                ridge: 1.0,
                scale: 1.0,
                fit_intercept: false,
            };
            let found = cheapest_shares(&problem, &[-3.0, 1.0, 0.0]);
            for (found, wanted) in found.iter().zip(wanted) {
                assert!((found - wanted).abs() <= 1e-15, "{k}: {found} {wanted}");
            }
            // Whatever the shares that come in, the bound is the one of the best.
            let taken = 9.0 / (4.0 * wanted[0]) + 1.0 / (4.0 * wanted[1]);
            let dual = Dual { share: vec![1.0; 3], alpha: vec![-3.0, 1.0, 0.0] };
            assert!((bound(&problem, &dual) - (4.0 - taken)).abs() <= 1e-14);
        }
    }
}
