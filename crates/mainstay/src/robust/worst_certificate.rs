//! The interval that a point proves about the worst-case problem, from the data and the point alone.

use super::newton::Point;
use super::worst::Worst;
use crate::linalg::vector;
use crate::loss::expected_logistic;

/// A lower bound on the optimum.
///
/// For any $a \in A$, $\pi \in [0, 1]$, $d_i \in \Delta$ and $\|u_i\| \le 1$ with $g = a (\pi + \kappa)$ and $\sum_i g_i
/// y_i = 0$
/// $$F^* \ge \sum_i a_i H(\pi_i) - \frac{1}{2\alpha} \Big\|\sum_i g_i \big(y_i x_i \circ (1 - d_i) - L_i u_i\big)\Big\|^2,$$
/// because $\log(1 + e^{-m}) = \max_\pi H(\pi) - \pi m$ with the entropy $H$, and each margin is a minimum over $d_i$
/// and $u_i$. The multipliers are read off the softened problem at (w, b), where every one is feasible; the heavier
/// class gives way until both balance.
pub(super) fn bound(problem: &Worst<'_>, at: &Point, soft: f64) -> f64 {
    let found = problem.soften(&at.w, at.b, soft);
    let n = problem.y.len();
    let total: f64 = found.weights.iter().sum();
    // Losses without a label correction are positive: less weight than 1 is feasible too.
    let plain = problem.kappas == (0.0, 0.0);
    let scale = if plain { 1.0_f64.min(1.0 / total) } else { 1.0 };
    let a: Vec<f64> = found.weights.iter().map(|v| v * scale).collect();
    let mut pi: Vec<f64> = found.margins.iter().map(|m| -expected_logistic(*m, 0.0).m).collect();
    if problem.intercept && !balance(problem, &a, &mut pi) {
        return f64::NEG_INFINITY;
    }
    let mut pull = vec![0.0; at.w.len()];
    let mut entropy = 0.0;
    for i in 0..n {
        let g = a[i] * (pi[i] + problem.kappa(i));
        entropy += a[i] * mixed(pi[i]);
        vector::axpy(g * problem.y[i], problem.x.row(i), &mut pull);
        if found.deletions.ncols() > 0 {
            let gone = found.deletions.row(i);
            // Rounding may leave the deletions a little over the budget.
            let fit = 1.0_f64.min(problem.budget / gone.iter().sum::<f64>());
            for (d, &j) in gone.iter().zip(problem.deletable) {
                pull[j] -= g * problem.y[i] * problem.x[(i, j)] * d * fit;
            }
        }
        if let Some(axes) = problem.axes_of(i) {
            for (j, l) in axes.iter().enumerate() {
                pull[j] -= g * l * l * at.w[j] / found.lengths[i];
            }
        }
    }
    entropy - vector::norm_sq(&pull) / (2.0 * problem.alpha)
}

/// Lowers the $\pi$ of the heavier class until $\sum_i g_i y_i = 0$; false if that is impossible.
fn balance(problem: &Worst<'_>, a: &[f64], pi: &mut [f64]) -> bool {
    let sums = |sign: f64, pi: &[f64]| {
        let mut sums = (0.0, 0.0);
        for i in (0..a.len()).filter(|&i| problem.y[i] == sign) {
            sums.0 += a[i] * pi[i];
            sums.1 += a[i] * problem.kappa(i);
        }
        sums
    };
    let (up, down) = (sums(1.0, pi), sums(-1.0, pi));
    let (heavy, sign, target) = if up.0 + up.1 > down.0 + down.1 {
        (up, 1.0, down.0 + down.1)
    } else {
        (down, -1.0, up.0 + up.1)
    };
    let wanted = target - heavy.1;
    if wanted < 0.0 {
        return false;
    }
    let factor = if heavy.0 > 0.0 { wanted / heavy.0 } else { 0.0 };
    for i in (0..a.len()).filter(|&i| problem.y[i] == sign) {
        pi[i] *= factor;
    }
    true
}

fn mixed(p: f64) -> f64 {
    let part = |t: f64| if t > 0.0 { -t * t.ln() } else { 0.0 };
    part(p) + part(1.0 - p)
}
