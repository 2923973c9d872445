//! Step lengths and centring of primal-dual interior point methods.
//!
//! S. Mehrotra (1992), *On the implementation of a primal-dual interior point method*, SIAM J. Optim. 2(4).

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
    x.iter().zip(dx).fold(limit, |step, (x, dx)| ratio(*x, *dx, step))
}

/// [`longest`] for variables that move by `-dx`, as the slack of an upper bound does.
pub fn longest_against(x: &[f64], dx: &[f64], limit: f64) -> f64 {
    x.iter().zip(dx).fold(limit, |step, (x, dx)| ratio(*x, -*dx, step))
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
