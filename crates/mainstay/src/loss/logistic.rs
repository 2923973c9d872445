//! The logistic loss.

use super::MarginLoss;

/// `$\ln(1 + e^{-m})$`, computed without overflow.
#[derive(Debug, Clone, Copy)]
pub struct Logistic;

impl MarginLoss for Logistic {
    fn name(&self) -> &'static str {
        "logistic"
    }

    fn value(&self, margin: f64) -> f64 {
        (-margin).max(0.0) + (-margin.abs()).exp().ln_1p()
    }

    fn slope(&self, margin: f64) -> f64 {
        let e = (-margin.abs()).exp();
        if margin >= 0.0 { -e / (1.0 + e) } else { -1.0 / (1.0 + e) }
    }

    fn curvature(&self, margin: f64) -> Option<f64> {
        let e = (-margin.abs()).exp();
        Some(e / ((1.0 + e) * (1.0 + e)))
    }

    fn conjugate(&self, a: f64) -> f64 {
        let entropy = |t: f64| if t > 0.0 { t * t.ln() } else { 0.0 };
        if (0.0..=1.0).contains(&a) { entropy(a) + entropy(1.0 - a) } else { f64::INFINITY }
    }

    fn dual_bound(&self) -> f64 {
        1.0
    }
}
