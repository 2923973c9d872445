//! The hinge program to the last digit: the interior point finds the active set, linear algebra the rest.

use super::super::budget::Budget;
use super::super::program::Program;
use super::{HingeQp, Run, Shape};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, Matrix, vector};
use crate::loss::Loss;

/// Relative gaps at which the active set is tried: a try costs about as much as an iteration.
const TRIES: [f64; 2] = [1e-6, 1e-10];
/// Relative gap at which it is tried for the last time: what arithmetic allows.
const LAST_TRY: f64 = 1e-15;
/// Objectives below this count as this in both gaps: rounding of the margins shows there.
const FLOOR: f64 = 1e-3;
/// Iterations without a smaller gap that end the approach to [`LAST_TRY`].
const PATIENCE: usize = 5;
/// Iterations in all; a healthy run needs thirty.
const MOST_ITERATIONS: usize = 100;
/// Violation of an optimality condition that rounding may cause.
const TOLERANCE: f64 = 1e-9;

/// Minimises `$\frac1n\sum_i \max(0, 1 - a_i^\top\theta) + \frac{\epsilon}{2}\|\theta\|^2$` over rows `$a_i$`, which
/// carry their labels' signs. With `shares`, which add up to 1, these take the place of `$\frac1n$`.
///
/// The interior point says which margins are below, at or above 1; `$\theta$` is then solved for exactly
/// from these and kept if it satisfies all conditions of optimality. Otherwise the interior point goes as far
/// as arithmetic allows.
pub fn exact_hinge(rows: Dense, shares: Option<&[f64]>, ridge: f64) -> Result<Vec<f64>> {
    let (n, p) = (rows.nrows(), rows.ncols());
    let caps: Vec<f64> = match shares {
        Some(shares) => shares.iter().map(|share| share * n as f64).collect(),
        None => vec![1.0; n],
    };
    let y = vec![1.0; n];
    let shares = shares.map_or_else(|| vec![1.0 / n as f64; n], <[f64]>::to_vec);
    let rows = Matrix::from(rows);
    let (Some(shape), Matrix::Dense(dense)) = (Shape::of(Loss::Hinge), &rows) else {
        return Err(Error::Numerical("the hinge loss is a quadratic program".into()));
    };
    let program = Program {
        z: &rows,
        y: &y,
        shares: &shares,
        loss: Loss::Hinge.get(),
        l1: vec![0.0; p],
        l2: vec![ridge; p],
        intercept: false,
    };
    let qp = HingeQp { program, shape, floor: FLOOR, unbounded: f64::INFINITY };
    let control = Control::new();
    let mut budget = Budget::new(LAST_TRY, MOST_ITERATIONS, &control);
    let mut run = Run::new(&qp, LAST_TRY);
    for gap in TRIES {
        run.until(gap, super::PATIENCE, &mut budget)?;
        if let Some(theta) = polished((dense, &caps), ridge, &run) {
            return Ok(theta);
        }
    }
    run.until(LAST_TRY, PATIENCE, &mut budget)?;
    Ok(polished((dense, &caps), ridge, &run).unwrap_or_else(|| run.into_solution().v))
}

/// Which of the conditions `$a_i = 0$`, `$a_i = 1$`, `$m_i = 1$` a row meets.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Above,
    Below,
    On,
}

/// Solves the optimality conditions for the active set that the iterate suggests; `None` if the result
/// violates one of them.
fn polished((rows, caps): (&Dense, &[f64]), ridge: f64, run: &Run<'_, '_>) -> Option<Vec<f64>> {
    let (n, at) = (rows.nrows(), &run.iterate);
    let side = |i: usize| {
        if at.a[i] < at.t[i] {
            Side::Above
        } else if at.g[i] < at.xi[i] {
            Side::Below
        } else {
            Side::On
        }
    };
    let sides: Vec<Side> = (0..n).map(side).collect();
    // n ridge theta = sum of the rows below 1, and a part of each of those at 1.
    let part = |(side, cap): (&Side, &f64)| if *side == Side::Below { *cap } else { 0.0 };
    let below: Vec<f64> = sides.iter().zip(caps).map(part).collect();
    let mut theta = rows.tr_mul_vec(&below);
    let scale = ridge * n as f64;
    let on: Vec<usize> = (0..n).filter(|&i| sides[i] == Side::On).collect();
    if !on.is_empty() {
        let caps: Vec<f64> = on.iter().map(|&i| caps[i]).collect();
        let on = rows.select_rows(&on);
        let parts = parts_at_one(&on, &caps, &theta, scale)?;
        vector::axpy(1.0, &on.tr_mul_vec(&parts), &mut theta);
    }
    vector::scale(&mut theta, 1.0 / scale);
    let margins = rows.mul_vec(&theta);
    let good = margins.iter().zip(&sides).all(|(m, side)| match side {
        Side::Above => *m >= 1.0 - TOLERANCE,
        Side::Below => *m <= 1.0 + TOLERANCE,
        Side::On => (m - 1.0).abs() <= TOLERANCE,
    });
    good.then_some(theta)
}

/// The multipliers between 0 and `caps` that put all rows `on` at margin 1.
fn parts_at_one(on: &Dense, caps: &[f64], pushed: &[f64], scale: f64) -> Option<Vec<f64>> {
    let factor = Cholesky::new(&on.outer_gram())?;
    let rhs: Vec<f64> = on.mul_vec(pushed).iter().map(|v| scale - v).collect();
    let mut parts = factor.solve(&rhs);
    // One refinement: theta is a small difference of large terms over the ridge.
    let image = on.mul_vec(&on.tr_mul_vec(&parts));
    let residual: Vec<f64> = image.iter().zip(&rhs).map(|(l, r)| r - l).collect();
    vector::axpy(1.0, &factor.solve(&residual), &mut parts);
    let fits = |(a, cap): (&f64, &f64)| (-TOLERANCE..=cap + TOLERANCE).contains(a);
    parts.iter().zip(caps).all(fits).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows at 1 and 3 on a line: ridge theta^2/2 + the mean of the hinges. From theta = 1 on nothing is
    /// lost; below 1/3 both rows pull with slope 2, between with slope 1/2.
    #[test]
    fn a_line_is_solved_to_the_last_digit() {
        for (ridge, theta) in [(0.1, 1.0), (0.5, 1.0), (1.0, 0.5), (2.0, 1.0 / 3.0), (10.0, 0.2)] {
            let found = exact_hinge(Dense::from_rows(2, 1, vec![1.0, 3.0]), None, ridge);
            let found = found.map_or(f64::NAN, |t| t[0]);
            assert!((found - theta).abs() < 1e-14, "ridge = {ridge}: {found}");
        }
    }

    /// Subgradients of any minimiser: ridge theta is a mean of rows with parts in [0, 1] that fit the
    /// margins. Rows that appear twice have no unique parts, so the polish fails there and the interior
    /// point answers.
    #[test]
    fn the_optimality_conditions_hold() {
        for copies in [1, 2] {
            for (n, p, ridge) in [(12, 3, 1e-2), (40, 6, 1e-3), (9, 8, 1e-6)] {
                let entry =
                    |i: usize, j: usize| ((7 * i + 5 * j + i * j) as f64 * 0.37).sin() + 0.2;
                let rows = Dense::from_fn(copies * n, p, |i, j| entry(i % n, j));
                let theta = exact_hinge(rows.clone(), None, ridge).unwrap_or_default();
                let value = |theta: &[f64]| {
                    let margins = rows.mul_vec(theta);
                    let losses: f64 = margins.iter().map(|m| (1.0 - m).max(0.0)).sum();
                    losses / (copies * n) as f64 + 0.5 * ridge * vector::norm_sq(theta)
                };
                // No small move in any direction of a fine star improves it.
                for k in 0..200 {
                    let size = 1e-4 / f64::from(1 + k % 3);
                    let moved: Vec<f64> = theta
                        .iter()
                        .enumerate()
                        .map(|(j, t)| t + size * (f64::from(k) * 1.7 + 2.3 * j as f64).sin())
                        .collect();
                    assert!(value(&moved) >= value(&theta) - 1e-12, "{copies} {n} {p}");
                }
            }
        }
    }
}
