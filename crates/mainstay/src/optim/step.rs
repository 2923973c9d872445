//! Step lengths and centring of primal-dual interior point methods.
//!
//! S. Mehrotra (1992), *On the implementation of a primal-dual interior point method*, SIAM J. Optim. 2(4).
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use crate::linalg::vector::vectorized;

/// Share of the way to the boundary that a step takes, so that every variable stays positive.
pub const DAMPING: f64 = 0.995;

/// Decreases below this part of the objective are rounding.
pub const ROUNDING: f64 = 1e-15;

/// Halvings of a step before a line search gives up.
pub const MOST_HALVINGS: usize = 50;

/// The largest step at most `limit` along which `x > 0` that moves by `dx` stays nonnegative.
#[inline]
pub fn ratio(x: f64, dx: f64, limit: f64) -> f64 {
    if dx < 0.0 { limit.min(-x / dx) } else { limit }
}

/// [`ratio`] for many variables.
pub fn longest(x: &[f64], dx: &[f64], limit: f64) -> f64 {
    vectorized!(longest_signed(x, dx, 1.0, limit))
}

/// [`longest`] for variables that move by `-dx`, as the slack of an upper bound does.
pub fn longest_against(x: &[f64], dx: &[f64], limit: f64) -> f64 {
    vectorized!(longest_signed(x, dx, -1.0, limit))
}

/// [`ratio`] for variables that move by `sign` times `dx`, eight at a time and without branches: which of them shrink is as
/// good as random.
#[inline(always)]
fn longest_signed(x: &[f64], dx: &[f64], sign: f64, limit: f64) -> f64 {
    let n = if x.len() < dx.len() { x.len() } else { dx.len() };
    let (x_chunks, x_rest) = x[..n].as_chunks::<8>();
    let (dx_chunks, dx_rest) = dx[..n].as_chunks::<8>();
    let mut least = [limit; 8];
    for (c, x) in x_chunks.iter().enumerate() {
        let dx = &dx_chunks[c];
        for k in 0..8 {
            let by = sign * dx[k];
            let until = if by < 0.0 { -x[k] / by } else { limit };
            least[k] = if until < least[k] { until } else { least[k] };
        }
    }
    let mut step = limit;
    for until in &least {
        step = step.min(*until);
    }
    for (k, x) in x_rest.iter().enumerate() {
        step = ratio(*x, sign * dx_rest[k], step);
    }
    step
}

/// A full Newton step, or [`DAMPING`] of the way to the boundary where that is shorter.
pub fn damped(longest: f64) -> f64 {
    (DAMPING * longest).min(1.0)
}

/// Mehrotra's centring: the cube of the part of the complementarity that a pure Newton step leaves,
/// between `least` and 1.
pub fn centring(after: f64, before: f64, least: f64) -> f64 {
    (after / before).clamp(0.0, 1.0).powi(3).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_to_reach_zero_limits_the_step() {
        let (x, dx) = ([1.0, 2.0, 3.0], [-0.5, -4.0, 1.0]);
        assert_eq!(longest(&x, &dx, 1.0), 0.5);
        assert_eq!(longest(&x, &dx, 0.25), 0.25);
        assert_eq!(longest_against(&x, &dx, f64::INFINITY), 3.0);
        assert_eq!(longest(&x, &[0.0; 3], f64::INFINITY), f64::INFINITY);
    }

    /// Whole eights, what is left of them, and entries that are no numbers.
    #[test]
    fn many_variables_are_as_one_after_the_other() {
        for n in [0, 1, 7, 8, 9, 24, 29] {
            let x: Vec<f64> = (0..n).map(|i| 1.5 + f64::from(i * 7 % 11)).collect();
            let mut dx: Vec<f64> = (0..n).map(|i| (f64::from(i) * 1.7).sin() * 9.0).collect();
            if let Some(last) = dx.last_mut() {
                *last = f64::NAN;
            }
            for limit in [f64::INFINITY, 1.0, 1e-3] {
                let each = x.iter().zip(&dx).fold(limit, |step, (x, dx)| ratio(*x, *dx, step));
                let other = x.iter().zip(&dx).fold(limit, |step, (x, dx)| ratio(*x, -*dx, step));
                assert_eq!(longest(&x, &dx, limit).to_bits(), each.to_bits());
                assert_eq!(longest_against(&x, &dx, limit).to_bits(), other.to_bits());
            }
        }
    }

    #[test]
    fn damped_steps_stay_inside_and_are_at_most_newton_steps() {
        assert_eq!(damped(f64::INFINITY), 1.0);
        assert_eq!(damped(0.5), 0.4975);
    }

    #[test]
    fn centring_is_a_cube_within_bounds() {
        assert_eq!(centring(1.0, 2.0, 0.0), 0.125);
        assert_eq!(centring(3.0, 2.0, 0.0), 1.0);
        assert_eq!(centring(-1.0, 2.0, 1e-8), 1e-8);
    }
}
