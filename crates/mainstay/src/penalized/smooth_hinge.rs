use crate::loss::MarginLoss;

/// The hinge with its corner rounded over a width `width` below 1, for problems too large to
/// factor. Its dual is the hinge's less `width` $a^2/2$, so a minimiser's duals certify the hinge
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
