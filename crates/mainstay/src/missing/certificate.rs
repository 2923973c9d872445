//! The bound on the optimum of problem (4), recomputed from the data and the answer.

use super::problem::RobustHinge;
use crate::certificate::Certificate;
use crate::linalg::{Row, vector};

/// A point of the dual of problem (4), not necessarily feasible: [`certify`] repairs it.
#[derive(Debug, Clone, Default)]
pub struct Dual {
    /// One number per row, `$\sigma_i \in [0, \omega_i]$`.
    pub sigma: Vec<f64>,
    /// One number for every nonzero of the features, row by row: `$\tau_e \in [0, \sigma_i]$`.
    pub tau: Vec<f64>,
}

impl Dual {
    /// No dual information at all: the bound 0.
    pub(super) fn zero(problem: &RobustHinge<'_>) -> Self {
        let entries = problem.x.values().iter().filter(|v| **v != 0.0).count();
        Self { sigma: vec![0.0; problem.y.len()], tau: vec![0.0; entries] }
    }
}

/// The objective of `$(w, b)$` and a lower bound on the optimum from `dual`.
///
/// For `$0 \le \sigma_i \le \omega_i$`, `$0 \le \tau_{ij} \le \sigma_i$` with `$\sum_j v_j\tau_{ij} \ge P\sigma_i$`, where
/// `$\tau_{ij} = \sigma_i$` at the zeros of the row, and `$\sum_i y_i\sigma_i = 0$` if there is an intercept, the
/// minimum over the box of `$\sum_{ij}\tau_{ij}(\gamma v_j/P - y_i w_j x_{ij})$` bounds `$\gamma\sum_i\omega_i$` times the optimum
/// from below:
/// ```math
/// \frac{\gamma}{P}\sum_{ij} v_j\tau_{ij} - C\sum_j\Big|\sum_i y_i x_{ij}\tau_{ij}\Big|.
/// ```
/// What `dual` violates is repaired first: classes are balanced by scaling one down, entries clipped, rows
/// that fall short of `$P\sigma_i$` moved towards `$\tau = \sigma$`. What rounding leaves of `$\sum y\sigma$` is charged
/// at the largest intercept an optimum can need, `$\gamma V/P + C\max_i\|x_i\|_1$`.
pub fn certify(problem: &RobustHinge<'_>, w: &[f64], intercept: f64, dual: &Dual) -> Certificate {
    Certificate { primal: problem.accurate_value(w, intercept), dual: bound(problem, dual) }
}

/// The lower bound of [`certify`] alone.
pub(super) fn bound(problem: &RobustHinge<'_>, dual: &Dual) -> f64 {
    let bound = lower_bound(problem, dual);
    // The objective is never negative.
    if bound.is_nan() { 0.0 } else { bound.max(0.0) }
}

fn lower_bound(problem: &RobustHinge<'_>, dual: &Dual) -> f64 {
    let set = problem.deletions;
    let balance = balance(problem, &dual.sigma);
    let mut gradient = vec![0.0; problem.x.ncols()];
    let mut kept = 0.0;
    let mut signed = 0.0;
    let mut longest: f64 = 0.0;
    let mut next = 0;
    let mut tau = Vec::new();
    for (i, &y) in problem.y.iter().enumerate() {
        let row = problem.x.row(i);
        let share = balance[usize::from(y > 0.0)];
        let sigma = share * vector::clip(dual.sigma[i], problem.weights[i]);
        tau.clear();
        let entries = nonzeros(row).count();
        tau.extend(dual.tau[next..next + entries].iter().map(|t| vector::clip(share * t, sigma)));
        next += entries;
        kept += repair(row, sigma, set.values(), (set.total(), set.kept()), &mut tau);
        for ((j, x), t) in nonzeros(row).zip(&tau) {
            gradient[j] += y * x * t;
        }
        signed += y * sigma;
        longest = longest.max(nonzeros(row).map(|(_, x)| x.abs()).sum());
    }
    let mut bound = problem.demand() * kept - problem.c * vector::norm_1(&gradient);
    if problem.fit_intercept {
        let largest = problem.demand() * set.total() + problem.c * longest;
        bound -= signed.abs() * largest;
    }
    bound / problem.weights.iter().sum::<f64>() / problem.margin
}

/// Factors that make the two classes weigh the same (negative first).
fn balance(problem: &RobustHinge<'_>, sigma: &[f64]) -> [f64; 2] {
    if !problem.fit_intercept {
        return [1.0; 2];
    }
    let mut sums = [0.0; 2];
    for ((&y, &weight), &s) in problem.y.iter().zip(problem.weights).zip(sigma) {
        sums[usize::from(y > 0.0)] += vector::clip(s, weight);
    }
    let least = sums[0].min(sums[1]);
    sums.map(|sum| if sum > 0.0 { least / sum } else { 0.0 })
}

/// Moves `tau` towards `sigma` until the row keeps its value; returns `$\sum_j v_j\tau_j$` over the whole row.
fn repair(
    row: Row<'_>,
    sigma: f64,
    values: &[f64],
    (total, kept): (f64, f64),
    tau: &mut [f64],
) -> f64 {
    let mut have = 0.0;
    let mut most = 0.0;
    for ((j, _), t) in nonzeros(row).zip(&*tau) {
        have += values[j] * t;
        most += values[j];
    }
    let zeros = (total - most).max(0.0);
    let missing = (kept - zeros) * sigma - have;
    if missing > 0.0 {
        let room = most * sigma - have;
        let share = if room > missing { missing / room } else { 1.0 };
        have = 0.0;
        // Entries of value 0 cannot help and stay.
        for ((j, _), t) in nonzeros(row).zip(tau).filter(|((j, _), _)| values[*j] > 0.0) {
            *t += share * (sigma - *t);
            have += values[j] * *t;
        }
    }
    have + zeros * sigma
}

fn nonzeros(row: Row<'_>) -> impl Iterator<Item = (usize, f64)> + '_ {
    row.entries().filter(|(_, x)| *x != 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, Matrix};
    use crate::uncertainty::Deletions;
    use proptest::prelude::*;

    const ROWS: usize = 5;
    const COLUMNS: usize = 4;
    const ENTRIES: usize = ROWS * COLUMNS;

    /// Small integers, many of them 0: ties and zeros are where a bound would go wrong.
    fn entries() -> impl Strategy<Value = Vec<i8>> {
        prop::collection::vec(-2..=2i8, ENTRIES)
    }

    fn shares(count: usize) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(0.0..=1.0, count)
    }

    /// A point of the box, a point of the dual, and the problem's numbers, all as shares of their limits.
    type Case = (Vec<i8>, [Vec<f64>; 5], (f64, f64, f64, bool));

    fn cases() -> impl Strategy<Value = Case> {
        let vectors =
            [shares(ROWS), shares(COLUMNS), shares(COLUMNS), shares(ROWS), shares(ENTRIES)];
        (entries(), vectors, (0.0..0.95, -6.0..3.0, -3.0..3.0, any::<bool>()))
    }

    proptest! {
        /// `$D(\sigma, \tau) \le P(w, b)$` for every point of the box and every dual point.
        #[test]
        fn no_dual_point_is_above_a_primal_one(
            (x, [omega, values, w, sigma, tau], (spent, log_c, intercept, fit_intercept)) in cases(),
        ) {
            let x = Matrix::from(Dense::from_fn(ROWS, COLUMNS, |i, j| f64::from(x[i * COLUMNS + j])));
            let y: Vec<f64> = (0..ROWS).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
            let omega: Vec<f64> = omega.iter().map(|o| 0.1 + o).collect();
            // The first has none: it may always be deleted.
            let values: Vec<f64> = (0..COLUMNS).map(|j| if j == 0 { 0.0 } else { 0.1 + values[j] }).collect();
            let budget = spent * values.iter().sum::<f64>();
            let deletions = Deletions::new(values, budget).unwrap();
            let c = f64::exp(log_c);
            let problem = RobustHinge {
                x: &x,
                y: &y,
                weights: &omega,
                deletions: &deletions,
                margin: 0.7,
                c,
                fit_intercept,
            };
            let w: Vec<f64> = w.iter().map(|share| c * (2.0 * share - 1.0)).collect();
            let b = if fit_intercept { intercept } else { 0.0 };
            let sigma: Vec<f64> = sigma.iter().zip(&omega).map(|(s, o)| s * o).collect();
            let mut full = Dual::default();
            let mut random = Dual { sigma: sigma.clone(), tau: Vec::new() };
            full.sigma.clone_from(&sigma);
            for (i, s) in sigma.iter().enumerate() {
                for (j, _) in nonzeros(x.row(i)) {
                    full.tau.push(*s);
                    random.tau.push(s * tau[i * COLUMNS + j]);
                }
            }
            for dual in [full, random] {
                let found = certify(&problem, &w, b, &dual);
                prop_assert!(found.dual <= found.primal * (1.0 + 1e-12) + 1e-12, "{found:?}");
            }
        }
    }
}
