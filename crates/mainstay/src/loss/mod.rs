//! Margin losses of ROLIN's Eq. (2): one file each.
//!
//! A margin is `m = y (x'w + b)` with `y` in {-1, +1}. The logistic loss here is the natural-log
//! one, as scikit-learn's; the paper's base-2 loss is this one divided by ln 2.

mod expected;
mod hinge;
mod logistic;
mod modified_huber;
pub mod robust;
mod squared_hinge;

pub use expected::{Terms, expected_logistic, expected_probability};
pub use hinge::Hinge;
pub use logistic::Logistic;
pub use modified_huber::ModifiedHuber;
pub use squared_hinge::SquaredHinge;

use serde::{Deserialize, Serialize};

/// A convex, non-increasing margin loss `$\varphi(m)$`.
pub trait MarginLoss: Sync {
    /// Identifier in configuration files, reports and benchmarks.
    fn name(&self) -> &'static str;
    /// `$\varphi(m)$`.
    fn value(&self, margin: f64) -> f64;
    /// One element of `$\partial\varphi(m)$`.
    fn slope(&self, margin: f64) -> f64;
    /// `$\varphi''(m)$` (the limit from the left at a kink of the slope); `None` where the loss is not
    /// smooth enough for Newton's method.
    fn curvature(&self, margin: f64) -> Option<f64>;
    /// `$\varphi^*(-a)$`, or `f64::INFINITY` outside the dual domain.
    fn conjugate(&self, a: f64) -> f64;
    /// Least upper bound of the dual variable `$a = -\varphi'$` (infinite if unbounded).
    fn dual_bound(&self) -> f64;
}

/// The losses by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// `$\ln(1 + e^{-m})$`.
    #[default]
    Logistic,
    /// `$\max(0, 1 - m)$`.
    Hinge,
    /// `$\max(0, 1 - m)^2$`.
    SquaredHinge,
    /// `$\max(0, 1 - m)^2$` for `$m \ge -1$`, `$-4m$` below.
    ModifiedHuber,
}

/// Margin at which the logistic loss is below the rounding error of 1.
pub const CERTAIN: f64 = 40.0;

impl Loss {
    /// A margin that costs nothing (logistic: nothing but rounding): that of every row where only one class is left.
    pub fn free_margin(self) -> f64 {
        if self == Self::Logistic { CERTAIN } else { 1.0 }
    }

    /// The loss itself.
    pub fn get(self) -> &'static dyn MarginLoss {
        match self {
            Self::Logistic => &Logistic,
            Self::Hinge => &Hinge,
            Self::SquaredHinge => &SquaredHinge,
            Self::ModifiedHuber => &ModifiedHuber,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSES: [Loss; 4] =
        [Loss::Logistic, Loss::Hinge, Loss::SquaredHinge, Loss::ModifiedHuber];

    fn margins() -> impl Iterator<Item = f64> {
        (-4000..=4000).map(|k| f64::from(k) / 400.0).chain([-750.0, -1e8, 1e8, 750.0])
    }

    #[test]
    fn slopes_match_central_differences() {
        for loss in LOSSES.map(Loss::get) {
            for m in margins().filter(|m| m.abs() < 20.0) {
                // Off the kinks by more than the step.
                let m = m + 0.3e-3;
                let h = 1e-6;
                let numeric = (loss.value(m + h) - loss.value(m - h)) / (2.0 * h);
                assert!((loss.slope(m) - numeric).abs() <= 1e-6 * (1.0 + numeric.abs()));
                if let Some(curvature) = loss.curvature(m) {
                    let numeric = (loss.slope(m + h) - loss.slope(m - h)) / (2.0 * h);
                    assert!((curvature - numeric).abs() <= 1e-6 * (1.0 + numeric.abs()));
                }
            }
        }
    }

    #[test]
    fn losses_are_convex_decreasing_and_finite() {
        for loss in LOSSES.map(Loss::get) {
            let mut last = f64::NEG_INFINITY;
            for m in margins().take(8001) {
                let slope = loss.slope(m);
                assert!(slope <= 0.0 && slope >= last, "{} at {m}", loss.name());
                assert!(-slope <= loss.dual_bound());
                last = slope;
            }
            assert!(margins().all(|m| loss.value(m).is_finite() && loss.value(m) >= 0.0));
        }
    }

    #[test]
    fn fenchel_young_holds_with_equality_at_the_slope() {
        for loss in LOSSES.map(Loss::get) {
            for m in margins() {
                let a = -loss.slope(m);
                let sum = loss.value(m) + loss.conjugate(a);
                let scale = 1.0 + loss.value(m) + (a * m).abs();
                assert!((sum + a * m).abs() <= 1e-12 * scale, "{} at {m}", loss.name());
                for b in [0.0, 0.1, 0.5, 0.9, 1.0, 2.5, 4.0] {
                    let slack = loss.value(m) + loss.conjugate(b) + b * m;
                    assert!(slack >= -1e-12 * (scale + (b * m).abs()));
                }
            }
            assert!(loss.conjugate(-1e-3).is_infinite());
            if loss.dual_bound().is_finite() {
                assert!(loss.conjugate(loss.dual_bound() * (1.0 + 1e-9)).is_infinite());
            }
        }
    }
}
