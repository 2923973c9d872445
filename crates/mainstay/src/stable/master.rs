//! A small quadratic program over the simplex: the master problem of the cutting planes.

use crate::linalg::{Cholesky, Dense, vector};

/// maximise $c^\top\pi - \tfrac12 \pi^\top Q \pi$ over $\pi \ge 0$, $\sum \pi = 1$.
///
/// Primal-dual interior point with predictor and corrector; `Q` is positive semidefinite. Each
/// step factors one matrix of the order of `c`.
pub(super) fn maximise_on_simplex(q: &Dense, c: &[f64]) -> Vec<f64> {
    let n = c.len();
    let size = q.max_abs().max(vector::norm_inf(c)).max(f64::MIN_POSITIVE);
    let q = Dense::from_fn(n, n, |i, j| q[(i, j)] / size);
    let c: Vec<f64> = c.iter().map(|v| v / size).collect();

    let mut pi = vec![1.0 / n as f64; n];
    let mut z = vec![1.0; n];
    // Stationarity: Q pi - c - z + tau = 0.
    let mut tau = 0.0;
    for _ in 0..60 {
        let curved = q.mul_vec(&pi);
        let residual: Vec<f64> = (0..n).map(|j| curved[j] - c[j] - z[j] + tau).collect();
        let mu = vector::dot(&pi, &z) / n as f64;
        if mu <= 1e-14 && vector::norm_inf(&residual) <= 1e-12 {
            break;
        }
        let mut matrix = q.clone();
        for j in 0..n {
            matrix[(j, j)] += z[j] / pi[j] + 1e-14;
        }
        let Some(factor) = Cholesky::new(&matrix) else { break };
        let ones = factor.solve(&vec![1.0; n]);
        let spread: f64 = ones.iter().sum();
        let missing = 1.0 - pi.iter().sum::<f64>();
        let direction = |aim: &dyn Fn(usize) -> f64| {
            let rhs: Vec<f64> = (0..n).map(|j| aim(j) / pi[j] - residual[j]).collect();
            let free = factor.solve(&rhs);
            let d_tau = (free.iter().sum::<f64>() - missing) / spread;
            let d_pi: Vec<f64> = (0..n).map(|j| free[j] - d_tau * ones[j]).collect();
            let d_z: Vec<f64> = (0..n).map(|j| (aim(j) - z[j] * d_pi[j]) / pi[j]).collect();
            (d_pi, d_z, d_tau)
        };
        let longest = |x: &[f64], d: &[f64]| {
            x.iter().zip(d).fold(1.0, |s: f64, (x, d)| if *d < 0.0 { s.min(-x / d) } else { s })
        };
        let (a_pi, a_z, _) = direction(&|j| -pi[j] * z[j]);
        let reach = longest(&pi, &a_pi).min(longest(&z, &a_z));
        let after: f64 =
            (0..n).map(|j| (pi[j] + reach * a_pi[j]) * (z[j] + reach * a_z[j])).sum::<f64>()
                / n as f64;
        let goal = (after / mu).powi(3).min(1.0) * mu;
        let (d_pi, d_z, d_tau) = direction(&|j| goal - pi[j] * z[j] - a_pi[j] * a_z[j]);
        let step = (0.995 * longest(&pi, &d_pi).min(longest(&z, &d_z))).min(1.0);
        let moves = step > 1e-12;
        if !moves {
            break;
        }
        vector::axpy(step, &d_pi, &mut pi);
        vector::axpy(step, &d_z, &mut z);
        tau += step * d_tau;
    }
    let total: f64 = pi.iter().sum();
    vector::scale(&mut pi, 1.0 / total);
    pi
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With Q = I the answer is the projection of c onto the simplex.
    #[test]
    fn the_identity_gives_the_projection() {
        let found = maximise_on_simplex(&Dense::identity(3), &[0.9, 0.3, -5.0]);
        for (found, wanted) in found.iter().zip([0.8, 0.2, 0.0]) {
            assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
        }
    }

    #[test]
    fn without_curvature_the_largest_entry_wins() {
        let found = maximise_on_simplex(&Dense::zeros(3, 3), &[1.0, 3.0, 2.0]);
        assert!((found[1] - 1.0).abs() < 1e-9);
    }
}
