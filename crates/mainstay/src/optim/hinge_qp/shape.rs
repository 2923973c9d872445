//! Losses that are quadratic programs.

use crate::loss::{Loss, MarginLoss};

/// A piecewise quadratic loss as `$\min\{\kappa a^2/2 + B\xi\}$` over `$m + \kappa a + \xi \ge 1$`,
/// `$a, \xi \ge 0$`; `$B = \infty$` leaves out `$\xi$`.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub(super) kappa: f64,
    pub(super) bound: f64,
}

/// Every margin must be at least 1 ([`HardMargin`]).
pub const HARD_MARGIN: Shape = Shape { kappa: 0.0, bound: f64::INFINITY };

impl Shape {
    /// `None` for a loss that is not piecewise quadratic.
    pub fn of(loss: Loss) -> Option<Self> {
        match loss {
            Loss::Hinge => Some(Self { kappa: 0.0, bound: 1.0 }),
            Loss::SquaredHinge => Some(Self { kappa: 0.5, bound: f64::INFINITY }),
            Loss::ModifiedHuber => Some(Self { kappa: 0.5, bound: 4.0 }),
            Loss::Logistic => None,
        }
    }

    pub(super) fn is_bounded(self) -> bool {
        self.bound.is_finite()
    }

    pub(super) fn is_hard(self) -> bool {
        self.kappa == 0.0 && !self.is_bounded()
    }
}

/// The loss of [`HARD_MARGIN`]: 0 where the margin is at least 1, infinite elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct HardMargin;

impl MarginLoss for HardMargin {
    fn name(&self) -> &'static str {
        "hard_margin"
    }

    fn value(&self, margin: f64) -> f64 {
        if margin >= 1.0 { 0.0 } else { f64::INFINITY }
    }

    fn slope(&self, margin: f64) -> f64 {
        if margin >= 1.0 { 0.0 } else { f64::NEG_INFINITY }
    }

    fn curvature(&self, _margin: f64) -> Option<f64> {
        None
    }

    fn conjugate(&self, a: f64) -> f64 {
        if a >= 0.0 { -a } else { f64::INFINITY }
    }

    fn dual_bound(&self) -> f64 {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition of the shape: the best a is min(short / kappa, bound), the rest costs B per unit.
    #[test]
    fn shapes_are_the_losses() {
        for loss in [Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber] {
            let Some(Shape { kappa, bound }) = Shape::of(loss) else { unreachable!("{loss:?}") };
            for m in [-5.0, -1.0, 0.0, 0.5, 1.0, 3.0] {
                let short = f64::max(0.0, 1.0 - m);
                let a = if kappa > 0.0 { (short / kappa).min(bound) } else { 0.0 };
                let rest = short - kappa * a;
                let rest_cost = if rest > 0.0 { bound * rest } else { 0.0 };
                let value = loss.get().value(m);
                assert!((0.5 * kappa * a * a + rest_cost - value).abs() < 1e-12, "{loss:?} at {m}");
            }
        }
        assert!(Shape::of(Loss::Logistic).is_none());
    }
}
