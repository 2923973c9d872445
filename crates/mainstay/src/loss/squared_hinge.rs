//! The squared hinge loss.

use super::MarginLoss;

/// `$\max(0, 1 - m)^2$`.
#[derive(Debug, Clone, Copy)]
pub struct SquaredHinge;

impl MarginLoss for SquaredHinge {
    fn name(&self) -> &'static str {
        "squared_hinge"
    }

    fn value(&self, margin: f64) -> f64 {
        (1.0 - margin).max(0.0).powi(2)
    }

    fn slope(&self, margin: f64) -> f64 {
        -2.0 * (1.0 - margin).max(0.0)
    }

    fn curvature(&self, margin: f64) -> Option<f64> {
        Some(if margin <= 1.0 { 2.0 } else { 0.0 })
    }

    fn conjugate(&self, a: f64) -> f64 {
        if a >= 0.0 { a * a / 4.0 - a } else { f64::INFINITY }
    }

    fn dual_bound(&self) -> f64 {
        f64::INFINITY
    }
}
