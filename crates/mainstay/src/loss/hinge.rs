//! The hinge loss.

use super::MarginLoss;

/// `$\max(0, 1 - m)$`.
#[derive(Debug, Clone, Copy)]
pub struct Hinge;

impl MarginLoss for Hinge {
    fn name(&self) -> &'static str {
        "hinge"
    }

    fn value(&self, margin: f64) -> f64 {
        (1.0 - margin).max(0.0)
    }

    fn slope(&self, margin: f64) -> f64 {
        if margin < 1.0 { -1.0 } else { 0.0 }
    }

    fn curvature(&self, _margin: f64) -> Option<f64> {
        None
    }

    fn conjugate(&self, a: f64) -> f64 {
        if (0.0..=1.0).contains(&a) { -a } else { f64::INFINITY }
    }

    fn dual_bound(&self) -> f64 {
        1.0
    }
}
