//! The bound on the optimum, recomputed from the data, the answer and dual multipliers.

use super::problem::{Hyperplanes, Problem, RowLoss, Target};
use crate::certificate::Certificate;
use crate::linalg::{Dense, thin_qr, vector};

/// A dual point: how much each row counts, and its slopes in the scores times that.
#[derive(Debug, Clone, PartialEq)]
pub struct Dual {
    /// $a$: one number per row.
    pub share: Vec<f64>,
    /// $\alpha$: one number per score, row by row; $\alpha_i / a_i$ is a slope of $L_i$.
    pub alpha: Vec<f64>,
}

/// Part of all flow between classes that may be rounding.
const ROUNDING: f64 = 1e-12;

/// Objective of `point` and the bound that `dual` proves.
pub fn certify(problem: &Problem<'_>, point: &Hyperplanes, dual: &Dual) -> Certificate {
    Certificate { primal: problem.objective(point), dual: bound(problem, dual) }
}

/// A lower bound on the optimum. Any numbers may come in: they are first made dual feasible.
///
/// With $0 \le a \le c$, $\sum a \le k$ and (where $b$ is free) $\sum_i \alpha_i = 0$, Fenchel's
/// inequality $a L(f) \ge \alpha^\top f - a L^*(\alpha/a)$ and the minimum over $W$ give
/// $$-\lambda \sum_i a_i L_i^*(\alpha_i / a_i) - \tfrac{\lambda^2}{4\rho} \|\sum_i \alpha_i x_i^\top\|^2.$$
pub fn bound(problem: &Problem<'_>, dual: &Dual) -> f64 {
    let q = problem.q();
    let Dual { share, alpha } = feasible(problem, dual);
    let rows = share.iter().zip(alpha.chunks_exact(q)).enumerate();
    let gain: f64 = rows.map(|(i, (a, alpha))| conjugate_gain(problem, i, *a, alpha)).sum();
    let norm_sq: f64 = (0..q)
        .map(|j| {
            let column: Vec<f64> = alpha.iter().skip(j).step_by(q).copied().collect();
            vector::norm_sq(&problem.x.tr_mul_vec(&column))
        })
        .sum();
    problem.scale * (gain - problem.scale / (4.0 * problem.ridge) * norm_sq)
}

/// Multipliers are clipped to the domain of the conjugate, and those of the heavier sign are shrunk until all
/// add up to zero; both keep them in that (convex) domain, which contains 0. For squared hinges any $\alpha$ of the
/// right sign will do, and the best shares follow from them ([`cheapest_shares`]).
fn feasible(problem: &Problem<'_>, dual: &Dual) -> Dual {
    let q = problem.q();
    let Dual { mut share, mut alpha } = dual.clone();
    if problem.loss == RowLoss::SquaredHinge {
        clip_signs(problem, &vec![f64::MAX; problem.n()], &mut alpha);
        if problem.fit_intercept {
            balance_signs(q, &mut alpha);
        }
        return Dual { share: cheapest_shares(problem, &alpha), alpha };
    }
    share.iter_mut().zip(problem.weights).for_each(|(a, c)| *a = clip(*a, *c));
    let total: f64 = share.iter().sum();
    if total > problem.k {
        vector::scale(&mut share, problem.k / total);
        vector::scale(&mut alpha, problem.k / total);
    }
    if problem.loss == RowLoss::Logistic && q > 1 {
        clip_softmax(problem, &share, &mut alpha);
        if problem.fit_intercept {
            balance_softmax(problem, &mut alpha);
        }
    } else {
        clip_signs(problem, &share, &mut alpha);
        if problem.fit_intercept {
            balance_signs(q, &mut alpha);
        }
    }
    Dual { share, alpha }
}

/// `v` clipped to `[0, top]`; 0 if it is not a number.
fn clip(v: f64, top: f64) -> f64 {
    if v > 0.0 { v.min(top) } else { 0.0 }
}

/// $-a L^*(\alpha/a)$ of row `i`, written so that nothing divides by zero.
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

/// The shares that take least from the bound of squared hinges: over $0 \le a \le c$ and $\sum a \le k$,
/// $\sum_i \|\alpha_i\|^2 / 4a_i$ is least for $a_i = \min(c_i, \tau \|\alpha_i\|)$.
pub(super) fn cheapest_shares(problem: &Problem<'_>, alpha: &[f64]) -> Vec<f64> {
    let size: Vec<f64> = alpha.chunks_exact(problem.q()).map(vector::norm).collect();
    let rows = || size.iter().zip(problem.weights);
    let mut tau = 0.0;
    // Newton's method from below: rows that count in full at one tau do so at every larger one.
    loop {
        let (mut room, mut open) = (problem.k, 0.0);
        for (size, c) in rows() {
            if tau * size >= *c { room -= c } else { open += size }
        }
        let further = open > 0.0 && room / open > tau;
        if !further {
            return rows().map(|(size, c)| (tau * size).min(*c)).collect();
        }
        tau = room / open;
    }
}

/// Hinges and the two-class logistic loss: $\beta = -y\alpha$ in $[0, a]$.
fn clip_signs(problem: &Problem<'_>, a: &[f64], alpha: &mut [f64]) {
    for (i, alpha) in alpha.chunks_exact_mut(problem.q()).enumerate() {
        for (j, v) in alpha.iter_mut().enumerate() {
            let sign = problem.target.sign(i, j);
            *v = -sign * clip(-sign * *v, a[i]);
        }
    }
}

/// Softmax: $\alpha_i = a_i(\pi - e_y)$ with $\pi$ in the simplex.
fn clip_softmax(problem: &Problem<'_>, a: &[f64], alpha: &mut [f64]) {
    // Nothing can flow back from a class without rows.
    let mut present = vec![false; problem.q()];
    (0..problem.n()).for_each(|i| present[problem.target.label(i)] = true);
    for (i, alpha) in alpha.chunks_exact_mut(problem.q()).enumerate() {
        let own = problem.target.label(i);
        let mut moved = 0.0;
        for (j, v) in alpha.iter_mut().enumerate().filter(|(j, _)| *j != own) {
            *v = if present[j] { clip(*v, a[i]) } else { 0.0 };
            moved += *v;
        }
        let shrink = if moved > a[i] { a[i] / moved } else { 1.0 };
        vector::scale(alpha, shrink);
        alpha[own] = -moved * shrink;
    }
}

/// For every score, shrinks the multipliers of the heavier sign so that all add up to zero.
fn balance_signs(q: usize, alpha: &mut [f64]) {
    for j in 0..q {
        let (mut up, mut down) = (0.0, 0.0);
        for v in alpha.iter().skip(j).step_by(q) {
            if *v > 0.0 { up += v } else { down -= v }
        }
        let (shrink_up, shrink_down) = if up > down { (down / up, 1.0) } else { (1.0, up / down) };
        for v in alpha.iter_mut().skip(j).step_by(q) {
            *v *= if *v > 0.0 { shrink_up } else { shrink_down };
        }
    }
    // 0/0 when all multipliers of a score are zero.
    for v in alpha.iter_mut().filter(|v| v.is_nan()) {
        *v = 0.0;
    }
}

/// Shrinks the multipliers of all rows of a class together so that those of every score add up to zero.
///
/// The mass that rows of class $l$ move to class $j$ is a flow $N_{lj}$; factors $\tau$ with
/// $\sum_l \tau_l N_{lj} = \tau_j \sum_l N_{jl}$ make it a circulation. They are the stationary
/// measure of a Markov chain on the classes, close to 1 near the optimum.
fn balance_softmax(problem: &Problem<'_>, alpha: &mut [f64]) {
    let q = problem.q();
    let mut flow = Dense::zeros(q, q);
    for (i, alpha) in alpha.chunks_exact(q).enumerate() {
        vector::axpy(1.0, alpha, flow.row_mut(problem.target.label(i)));
    }
    let tau = stationary(&flow);
    let mut left = vec![0.0; q];
    for (i, alpha) in alpha.chunks_exact_mut(q).enumerate() {
        vector::scale(alpha, tau[problem.target.label(i)]);
        vector::axpy(1.0, alpha, &mut left);
    }
    // More than rounding left over (classes that exchange nothing): only zero multipliers add up.
    let balanced = vector::norm_1(&left) <= ROUNDING * vector::norm_1(flow.data());
    if !balanced {
        alpha.fill(0.0);
    }
}

/// $\tau \ge 0$, largest entry 1, with $\tau^\top F = 0$ for a matrix whose rows sum to zero and
/// whose entries off the diagonal are not negative.
fn stationary(flow: &Dense) -> Vec<f64> {
    let q = flow.nrows();
    // The left null vector is the last column of Q in F = QR when F has rank q - 1.
    let (basis, _) = thin_qr(flow);
    let mut tau = basis.column(q - 1);
    let top = tau.iter().fold(0.0, |m: f64, v| if v.abs() > m.abs() { *v } else { m });
    for v in &mut tau {
        *v = if top == 0.0 { 1.0 } else { (*v / top).max(0.0) };
    }
    tau
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::Matrix;
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
