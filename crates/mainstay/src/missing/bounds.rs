//! What the paper proves about the error on new rows.

use super::problem::RobustHinge;
use crate::error::{Error, Result, require};
use crate::linalg::vector;
use crate::uncertainty::gains;

/// What rounding may add to a norm, as a share of its limit.
const ROUNDING: f64 = 1e-9;
/// Bisections of an interval in [0, 1]: more than it takes to leave no number inside.
const HALVINGS: usize = 200;

/// Theorem 2: with probability `$1 - \delta$` over the sample, the error of `$w$` under the adversary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RiskBound {
    /// Share of the rows with positive loss (10) at margin `$\gamma$` under the exact adversary.
    pub empirical: f64,
    /// The bound: the largest `$\epsilon$` with `$\mathrm{KL}(\mathrm{empirical}\,\|\,\epsilon) \le B$`.
    pub bound: f64,
    /// The closed form above it: empirical `$+ \sqrt{2\,\mathrm{empirical}\,B} + 2B$`, at most 1.
    pub closed_form: f64,
    /// `$B = \big(\ln(m/\delta) + \sum_j [\ln(4PC/(\gamma v_j))]_+\big)/(m - 1)$`.
    pub complexity: f64,
}

/// Theorem 2 for the weights `w`, on rows that were drawn independently.
///
/// The paper prints the term `$2B$` under the root, where it does not belong; logarithms are clipped at 0, since the part
/// of the box that counts is never larger than the box. The theorem assumes no intercept, `$\|x\|_\infty \le 1$`, positive
/// values, `$\|w\|_\infty \le C$`, and `$v$`, `$\gamma$`, `$C$`, `$N$` fixed before the rows were seen. The first four are checked; the last
/// is the caller's to check.
pub fn risk_bound(problem: &RobustHinge<'_>, w: &[f64], delta: f64) -> Result<RiskBound> {
    require(delta > 0.0 && delta < 1.0, "delta", delta, "in (0, 1)")?;
    let fails = |what: &str| Err(Error::BadData(format!("Theorem 2 does not apply: {what}")));
    if problem.fit_intercept {
        return fails("it assumes no intercept; fit with fit_intercept=False");
    }
    if let Some(j) = problem.deletions.values().iter().position(|v| *v == 0.0) {
        return fails(&format!("it assumes positive values, but that of feature {j} is 0"));
    }
    let largest = vector::norm_inf(problem.x.values());
    if largest > 1.0 {
        return fails(&format!("it assumes |x| <= 1, but the largest feature is {largest}"));
    }
    if vector::norm_inf(w) > problem.c * (1.0 + ROUNDING) {
        return fails("the weights are outside the box");
    }
    let m = problem.y.len();
    if m < 2 {
        return fails("it needs at least two rows");
    }
    let empirical = gamma_loss(problem, w)?;
    let set = problem.deletions;
    let volume: f64 = set
        .values()
        .iter()
        .map(|v| (4.0 * set.kept() * problem.c / (problem.margin * v)).ln().max(0.0))
        .sum();
    let complexity = ((m as f64 / delta).ln() + volume) / (m - 1) as f64;
    let closed_form = empirical + (2.0 * empirical * complexity).sqrt() + 2.0 * complexity;
    Ok(RiskBound {
        empirical,
        bound: kl_inverse(empirical, complexity),
        closed_form: closed_form.min(1.0),
        complexity,
    })
}

/// Share of rows with positive loss (10): some allowed deletion leaves less than `$\gamma V(J)/P$`.
fn gamma_loss(problem: &RobustHinge<'_>, w: &[f64]) -> Result<f64> {
    let demand = problem.demand();
    let set = problem.deletions;
    let mut items = Vec::new();
    let mut wrong = 0usize;
    for (i, &y) in problem.y.iter().enumerate() {
        let row = problem.x.row(i);
        gains(row, w, y, demand, set.values(), &mut items);
        let intact = demand * set.total() - y * row.dot(w);
        let surely_fine = intact + set.fractional(&mut items) <= 0.0;
        if surely_fine {
            continue;
        }
        let chosen = set.reaching(&mut items, (-intact).next_up());
        if !chosen.proven && intact + chosen.gain <= 0.0 {
            return Err(Error::Numerical(format!(
                "row {i}: the exact worst deletion was not found; use values with fewer digits"
            )));
        }
        wrong += usize::from(intact + chosen.gain > 0.0);
    }
    Ok(wrong as f64 / problem.y.len() as f64)
}

/// The largest `$\epsilon$` with `$\mathrm{KL}(p\,\|\,\epsilon) \le$` `bound`, by bisection.
pub fn kl_inverse(p: f64, bound: f64) -> f64 {
    let divergence = |e: f64| {
        let part = |p: f64, e: f64| if p == 0.0 { 0.0 } else { p * (p / e).ln() };
        part(p, e) + part(1.0 - p, 1.0 - e)
    };
    let (mut low, mut high) = (p, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if divergence(middle) <= bound {
            low = middle;
        } else {
            high = middle;
        }
    }
    // The upper end errs on the safe side.
    high
}

/// Theorem 3: the least margin `$\gamma$` with which protection against deletion is protection against corruption
/// (deleted features replaced by independent noise of mean 0 on [-1, 1]) up to a probability `epsilon`:
/// `$C\sqrt{2N\ln(1/\epsilon)}$`. (The paper prints `$C\sqrt{N\ln(1/\epsilon)/2}$`; Hoeffding's inequality with intervals of
/// width `$2C$` gives the former.) Assumes features in [-1, 1] with mean 0, values 1 and no intercept.
pub fn corruption_margin(c: f64, budget: f64, epsilon: f64) -> Result<f64> {
    require(epsilon > 0.0 && epsilon < 1.0, "epsilon", epsilon, "in (0, 1)")?;
    Ok(c * (2.0 * budget * (1.0 / epsilon).ln()).sqrt())
}

/// Theorem 4: after `$m$` rows with `$\|x\|_1 \le 1$` the perceptron's mean loss, in units of `$\gamma$`, exceeds that of the best
/// fixed hypothesis in the cube by at most `$\frac{C}{\gamma}\sqrt{2(n+1)/m}$`.
pub fn regret_bound(c: f64, margin: f64, n_features: usize, rounds: u64) -> f64 {
    c / margin * (2.0 * (n_features + 1) as f64 / rounds as f64).sqrt()
}

/// Corollary 1: with probability `$1 - \delta$` the averaged hypothesis has an expected loss (12) above the least in the
/// cube by at most `$(3C + \phi)\sqrt{2(n + 1 + \ln(2/\delta))/m}$`, `$\phi = \gamma V/P$`.
pub fn average_bound(problem: &RobustHinge<'_>, delta: f64) -> Result<f64> {
    require(delta > 0.0 && delta < 1.0, "delta", delta, "in (0, 1)")?;
    for (i, row) in problem.x.rows().enumerate() {
        let length: f64 = row.entries().map(|(_, x)| x.abs()).sum();
        if length > 1.0 + ROUNDING {
            return Err(Error::BadData(format!(
                "Corollary 1 does not apply: it assumes that absolute features sum to at most 1 in every row, but in row \
                 {i} they sum to {length}"
            )));
        }
    }
    let n = problem.x.ncols() as f64;
    let phi = problem.demand() * problem.deletions.total();
    let m = problem.y.len() as f64;
    Ok((3.0 * problem.c + phi) * (2.0 * (n + 1.0 + (2.0 / delta).ln()) / m).sqrt())
}
