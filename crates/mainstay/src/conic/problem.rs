//! Problem (17) with the indicators eliminated.
//!
//! Write `$V = W - ww^\top \succeq 0$`, `$a_i = (1 - y_i x_i^\top w)_+$`, `$s_i = x_i^\top V x_i$` and `$q_i = s_i +
//! a_i^2$`. For fixed `$(w, V)$` the smallest feasible indicator is `$z_i = a_i^2/q_i$` (0 where `$a_i =
//! 0$`; the term with `$1 - z_i$` never binds), so that (17) becomes
//! ```math
//! \min_{w,\,V \succeq 0} \|w\|^2 + \mathrm{tr}\,V + \lambda \sum_i c_i z_i,
//! ```
//! and Appendix C the same without the last term under `$\sum_i c_i z_i \le \kappa \sum_i c_i$`. Both are
//! convex in `$(w, W)$`.
//!
//! From `$a^2/q = \max_{t \ge 0} 2ta - t^2 q$`: for any `$h \ge 0$` and `$g_i \ge h_i^2/(\lambda c_i)$` with `$S = I -
//! \sum g_i x_i x_i^\top \succ 0$`,
//! ```math
//! \theta(h, g) = \sum_i (2h_i - g_i) - b^\top S^{-1} b, \qquad b = \sum_i (h_i - g_i) y_i x_i
//! ```
//! bounds the first problem from below, and `$\theta - \lambda\kappa\sum c_i$` the second. `$g$` is the paper's
//! `$\gamma$`, and `$S \succeq 0$` its (13). At the optimum `$h_i = \lambda c_i t_i$`, `$g_i = \lambda c_i t_i^2$` with `$t_i = a_i/q_i$`.
//!
//! # Reference
//!
//! Cepeda, Gomez, Han (2024), *Robust support vector machines via conic optimization*, (17), Theorem 2
//! and Appendix C.

use crate::linalg::Dense;
pub(super) use crate::optim::conic_terms::{RowTerms, Rows};

/// Which of the two problems.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// Appendix C with `$\sum c_i z_i \le$` the given budget, `$\kappa \sum c_i$`.
    Budget(f64),
    /// (17) with the given price `$\lambda$` of every unit of `$\sum c_i z_i$`.
    Price(f64),
}

impl Form {
    /// Whether rows of this weight, which no hyperplane gets right, use the budget up.
    pub(super) fn spent_by(self, lost: f64) -> bool {
        matches!(self, Self::Budget(target) if lost >= target)
    }
}

/// A primal point.
#[derive(Debug, Clone)]
pub(super) struct Hyperplane {
    /// `$w$`.
    pub w: Vec<f64>,
    /// `$V = F^\top F$` with one row of `$F$` per direction.
    pub factor: Dense,
}

/// A dual feasible point: the proof.
#[derive(Debug, Clone)]
pub(super) struct Dual {
    /// Multipliers of the margins.
    pub h: Vec<f64>,
    /// The paper's `$\gamma$`, per row (not per unit of weight).
    pub g: Vec<f64>,
    /// `$\lambda$`: the multiplier of the budget, or the given price.
    pub price: f64,
}

impl Dual {
    /// The weakest proof for `n` rows: that the objective is not below minus the price of the budget.
    pub(super) fn trivial(n: usize, form: Form) -> Self {
        let price = match form {
            Form::Budget(_) => 0.0,
            Form::Price(price) => price,
        };
        Self { h: vec![0.0; n], g: vec![0.0; n], price }
    }
}

/// Steps of the search for the factor that meets a budget; ten are the rule.
const ROOT_STEPS: usize = 200;
/// Part of the budget that may be missed: rounding.
const ROOT_ACCURACY: f64 = 1e-14;
/// The longest Newton step in the logarithm of the factor.
const LONGEST_STEP: f64 = 3.0;
/// The step in the logarithm where Newton's leads out of an interval with one open end.
const SEARCH_STEP: f64 = 5.0;
/// A step shorter than this part of the logarithm, which counts as at least the second, changes nothing.
const SHORTEST_STEP: f64 = 1e-16;
const LEAST_LOGARITHM: f64 = 1e-3;
/// Logarithms beyond this leave the range of the numbers.
const LARGEST_LOGARITHM: f64 = 700.0;

/// The factor `$k \ge 0$` with `$\sum c_i a_i^2/(k s_i + a_i^2)$` = `target`: 0 if even `$V = 0$` stays within
/// the target, infinite if no multiple of `$V$` reaches it.
///
/// The sum decreases in `$k$`; safeguarded Newton steps in `$\log k$`.
pub(super) fn retraction(a: &[f64], s: &[f64], c: &[f64], target: f64) -> f64 {
    let mut stuck = 0.0;
    let mut terms = Vec::with_capacity(a.len());
    for ((a, s), c) in a.iter().zip(s).zip(c) {
        if *a > 0.0 {
            let a2 = a * a;
            if *s > 0.0 && s / a2 > 0.0 { terms.push((s / a2, *c)) } else { stuck += c }
        }
    }
    if stuck + terms.iter().map(|(_, c)| c).sum::<f64>() <= target {
        return 0.0;
    }
    if stuck >= target {
        return f64::INFINITY;
    }
    root_of_excess(&terms, stuck - target, target)
}

/// The root `$k$` of `constant` + sum of `$c/(1 + kr)$` over the pairs `$(r, c)$`.
fn root_of_excess(terms: &[(f64, f64)], constant: f64, target: f64) -> f64 {
    let (mut x, mut low, mut high) = (0.0_f64, f64::NEG_INFINITY, f64::INFINITY);
    for _ in 0..ROOT_STEPS {
        let k = x.exp();
        let (mut excess, mut slope) = (constant, 0.0);
        for (ratio, c) in terms {
            let z = c / (1.0 + k * ratio);
            excess += z;
            slope += z * (k * ratio) / (1.0 + k * ratio);
        }
        if excess.abs() <= ROOT_ACCURACY * target {
            break;
        }
        if excess > 0.0 {
            low = x;
        } else {
            high = x;
        }
        let newton = (excess / slope.max(f64::MIN_POSITIVE)).clamp(-LONGEST_STEP, LONGEST_STEP);
        let mut next = x + newton;
        if !(low < next && next < high) {
            next = if low.is_finite() && high.is_finite() {
                f64::midpoint(low, high)
            } else {
                x + SEARCH_STEP * excess.signum()
            };
        }
        if (next - x).abs() <= SHORTEST_STEP * x.abs().max(LEAST_LOGARITHM)
            || x.abs() > LARGEST_LOGARITHM
        {
            break;
        }
        x = next;
    }
    x.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_retraction_meets_the_budget() {
        let a = [1.0, 0.5, 0.0, 2.0, 1e-3];
        let s = [0.2, 1.0, 1.0, 1e-6, 5.0];
        let c = [1.0, 2.0, 1.0, 0.5, 1.0];
        for target in [1e-6, 0.1, 1.0, 3.0, 4.4] {
            let k = retraction(&a, &s, &c, target);
            let sum: f64 =
                (0..5)
                    .map(|i| {
                        if a[i] > 0.0 { c[i] * a[i] * a[i] / (k * s[i] + a[i] * a[i]) } else { 0.0 }
                    })
                    .sum();
            assert!((sum - target).abs() <= 1e-12 * target, "{target}: {sum}");
        }
        assert_eq!(retraction(&a, &s, &c, 4.5), 0.0);
        assert_eq!(retraction(&[1.0], &[0.0], &[1.0], 0.5), f64::INFINITY);
    }
}
