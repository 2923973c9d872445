//! The modified Huber loss.

use super::MarginLoss;

/// `$\max(0, 1 - m)^2$` for `$m \ge -1$` and `$-4m$` below: squared hinge that grows only linearly.
#[derive(Debug, Clone, Copy)]
pub struct ModifiedHuber;

impl MarginLoss for ModifiedHuber {
    fn name(&self) -> &'static str {
        "modified_huber"
    }

    fn value(&self, margin: f64) -> f64 {
        if margin >= -1.0 { (1.0 - margin).max(0.0).powi(2) } else { -4.0 * margin }
    }

    fn slope(&self, margin: f64) -> f64 {
        -2.0 * (1.0 - margin).clamp(0.0, 2.0)
    }

    fn curvature(&self, margin: f64) -> Option<f64> {
        Some(if margin > -1.0 && margin <= 1.0 { 2.0 } else { 0.0 })
    }

    fn conjugate(&self, a: f64) -> f64 {
        if (0.0..=4.0).contains(&a) { a * a / 4.0 - a } else { f64::INFINITY }
    }

    fn dual_bound(&self) -> f64 {
        4.0
    }
}
