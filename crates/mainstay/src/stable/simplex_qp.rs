//! A small quadratic program over the simplex: the master problem of the cutting planes.

use crate::linalg::{Cholesky, Dense, vector};

/// Steps beyond four per entry after which rounding is given up on.
const STEPS: usize = 20;
/// Part of the largest number by which a slope must be below the others to join.
const SLOPE: f64 = 1e-13;
/// The smallest part of a mixture.
const LEAST_PART: f64 = 1e-14;
/// Part of the diagonal that keeps cuts which depend on one another apart.
const RIDGE: f64 = 1e-13;

/// maximise `$c^\top\pi - \tfrac12 \pi^\top Q \pi$` over `$\pi \ge 0$`, `$\sum \pi = 1$`, from the mixture
/// `start`.
///
/// Active sets in the way of Wolfe's nearest point: the entry with the steepest slope joins the
/// support, the program over the support alone is solved as if its entries could have any sign, and
/// entries that would turn negative leave it. From the last round's answer this takes a few steps,
/// each of the cube of the support; `Q` is positive semidefinite.
pub(super) fn maximise_on_simplex(q: &Dense, c: &[f64], start: &[f64]) -> Vec<f64> {
    let n = c.len();
    let size = q.max_abs().max(vector::norm_inf(c)).max(f64::MIN_POSITIVE);
    let mut pi = start.to_vec();
    let mut support: Vec<usize> = (0..n).filter(|&j| pi[j] > 0.0).collect();
    for _ in 0..STEPS + 4 * n {
        settle(q, c, &mut pi, &mut support);
        let slope: Vec<f64> = (0..n)
            .map(|j| support.iter().map(|&l| q[(j, l)] * pi[l]).sum::<f64>() - c[j])
            .collect();
        let level: f64 = support.iter().map(|&j| pi[j] * slope[j]).sum();
        let steepest =
            (0..n).filter(|j| !support.contains(j)).min_by(|&a, &b| slope[a].total_cmp(&slope[b]));
        match steepest {
            Some(j) if slope[j] < level - SLOPE * size => support.push(j),
            _ => break,
        }
    }
    pi
}

/// Moves to the best mixture of a subset of `support`.
fn settle(q: &Dense, c: &[f64], pi: &mut [f64], support: &mut Vec<usize>) {
    while support.len() > 1 {
        let Some(goal) = unsigned(q, c, support) else { return };
        let reach = support.iter().zip(&goal).fold(1.0, |reach: f64, (&j, goal)| {
            if *goal <= 0.0 { reach.min(pi[j] / (pi[j] - goal)) } else { reach }
        });
        for (&j, goal) in support.iter().zip(&goal) {
            pi[j] += reach * (goal - pi[j]);
        }
        if reach >= 1.0 {
            return;
        }
        let before = support.len();
        support.retain(|&j| {
            let stays = pi[j] > LEAST_PART;
            if !stays {
                pi[j] = 0.0;
            }
            stays
        });
        let total: f64 = support.iter().map(|&j| pi[j]).sum();
        for &j in &*support {
            pi[j] /= total;
        }
        if support.len() == before {
            return;
        }
    }
    if let [only] = support.as_slice() {
        pi[*only] = 1.0;
    }
}

/// The best mixture of `support` whose entries add up to 1 and may have any sign.
fn unsigned(q: &Dense, c: &[f64], support: &[usize]) -> Option<Vec<f64>> {
    let m = support.len();
    // Cuts may depend on one another; a shift of all entries of Q changes nothing on the simplex.
    let shift = support.iter().fold(f64::MIN_POSITIVE, |s, &j| s.max(q[(j, j)]).max(c[j].abs()));
    let ridge = RIDGE * shift * m as f64;
    let matrix = Dense::from_fn(m, m, |a, b| {
        q[(support[a], support[b])] + shift + if a == b { ridge } else { 0.0 }
    });
    let factor = Cholesky::new(&matrix)?;
    let free = factor.solve(&support.iter().map(|&j| c[j]).collect::<Vec<_>>());
    let ones = factor.solve(&vec![1.0; m]);
    let level = (free.iter().sum::<f64>() - 1.0) / ones.iter().sum::<f64>();
    let goal: Vec<f64> = free.iter().zip(&ones).map(|(f, o)| f - level * o).collect();
    goal.iter().all(|v| v.is_finite()).then_some(goal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;

    /// With Q = I the answer is the projection of c onto the simplex.
    #[test]
    fn the_identity_gives_the_projection() {
        let found = maximise_on_simplex(&Dense::identity(3), &[0.9, 0.3, -5.0], &[0.0, 0.0, 1.0]);
        for (found, wanted) in found.iter().zip([0.8, 0.2, 0.0]) {
            assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
        }
    }

    #[test]
    fn without_curvature_the_largest_entry_wins() {
        let found = maximise_on_simplex(&Dense::zeros(3, 3), &[1.0, 3.0, 2.0], &[1.0, 0.0, 0.0]);
        assert!((found[1] - 1.0).abs() < 1e-9);
    }

    /// No direction along the simplex improves the answer: the gradient is smallest on its support.
    #[test]
    fn the_gradient_is_level_on_the_support_and_higher_elsewhere() {
        for seed in 0..50_u32 {
            let n = 2 + seed as usize % 12;
            let noise =
                |i: usize, j: usize| (f64::from(seed) + 7.3 * i as f64 + 3.1 * j as f64).sin();
            // Fewer columns than rows: Q is singular.
            let root = Dense::from_fn(n, 1 + n / 2, noise);
            let q = Matrix::from(root).outer_gram();
            let c: Vec<f64> = (0..n).map(|i| noise(i, 99)).collect();
            let pi = maximise_on_simplex(&q, &c, &vec![1.0 / n as f64; n]);
            let gradient: Vec<f64> = q.mul_vec(&pi).iter().zip(&c).map(|(q, c)| q - c).collect();
            let level = vector::dot(&pi, &gradient);
            assert!((pi.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for (pi, g) in pi.iter().zip(&gradient) {
                assert!(*pi >= 0.0 && *g >= level - 1e-8, "seed {seed}: {pi} {g} {level}");
            }
        }
    }
}
