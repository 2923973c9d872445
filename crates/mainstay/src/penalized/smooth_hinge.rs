//! The hinge for problems too large to factor: Newton's method on ever sharper corners.

use super::newton::{Steps, newton};
use super::solution::Solution;
use crate::error::Result;
use crate::loss::MarginLoss;
use crate::optim::{Budget, Program};

/// Width of the first corner, in units of the margin.
const FIRST_WIDTH: f64 = 0.1;
/// Each corner as a part of the one before.
const SHARPER: f64 = 0.2;
/// The last corner as a part of the gap to reach: half of it is what rounding the corner costs.
const LAST_WIDTH: f64 = 0.5;
/// The last width relative to the one that suffices, so that rounding does not ask for another stage.
const JUST_BELOW: f64 = 0.8;

/// The hinge by Newton's method on ever sharper corners, each started from the last.
pub(super) fn rounded_hinge(
    program: &Program<'_>,
    start: Option<(&[f64], f64)>,
    budget: &mut Budget<'_>,
) -> Result<Solution> {
    let tol = budget.tol();
    let mut from = start.map(|(v, b)| (v.to_vec(), b));
    let mut width = FIRST_WIDTH;
    loop {
        let smooth = SmoothHinge { width };
        let rounded = Program { loss: &smooth, ..program.clone() };
        let from_here = from.as_ref().map(|(v, b)| (v.as_slice(), *b));
        let found = budget.stage(tol.max(width), usize::MAX, |budget| {
            newton(&rounded, from_here, Steps::ConjugateGradient, budget)
        })?;
        if width <= LAST_WIDTH * tol || budget.left() == 0 {
            return Ok(found);
        }
        from = Some((found.v, found.b));
        width = (SHARPER * width).max(JUST_BELOW * LAST_WIDTH * tol);
    }
}

/// The hinge with its corner rounded over a width `width` below 1. Its dual is the hinge's less `width` `$a^2/2$`, so a minimiser's duals certify the hinge
/// problem to within `width`/2.
#[derive(Debug, Clone, Copy)]
pub(super) struct SmoothHinge {
    pub width: f64,
}

impl MarginLoss for SmoothHinge {
    fn name(&self) -> &'static str {
        "hinge"
    }

    fn value(&self, margin: f64) -> f64 {
        let short = 1.0 - margin;
        if short <= 0.0 {
            0.0
        } else if short < self.width {
            short * short / (2.0 * self.width)
        } else {
            short - 0.5 * self.width
        }
    }

    fn slope(&self, margin: f64) -> f64 {
        -((1.0 - margin) / self.width).clamp(0.0, 1.0)
    }

    fn curvature(&self, margin: f64) -> Option<f64> {
        let short = 1.0 - margin;
        Some(if short >= 0.0 && short < self.width { 1.0 / self.width } else { 0.0 })
    }

    fn conjugate(&self, a: f64) -> f64 {
        if (0.0..=1.0).contains(&a) { 0.5 * self.width * a * a - a } else { f64::INFINITY }
    }

    fn dual_bound(&self) -> f64 {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounded loss is below the hinge by at most half its width, and above its conjugate's tangents.
    #[test]
    fn rounding_costs_half_the_width_at_most() {
        let loss = SmoothHinge { width: 0.2 };
        for k in -30..30 {
            let m = f64::from(k) / 10.0;
            let lost = (1.0 - m).max(0.0) - loss.value(m);
            assert!((-1e-15..=0.1 + 1e-15).contains(&lost), "{m}: {lost}");
            let a = -loss.slope(m);
            assert!((loss.value(m) + loss.conjugate(a) + a * m).abs() < 1e-12, "{m}");
        }
    }
}
