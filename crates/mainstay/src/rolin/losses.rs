//! Eq. (2): the losses as the paper scales them, over whole vectors of margins.

use crate::loss::{Hinge, Logistic, Loss, MarginLoss, ModifiedHuber, SquaredHinge};

/// A loss of Eq. (2): the logistic one in bits (reading R1), the others as they are.
#[derive(Debug, Clone, Copy)]
pub(super) struct PaperLoss(pub(super) Loss);

impl PaperLoss {
    /// 1/ln 2 for the logistic loss.
    pub(super) fn factor(self) -> f64 {
        if self.0 == Loss::Logistic { std::f64::consts::LOG2_E } else { 1.0 }
    }

    /// Mean loss at the margins `base + c * slope`.
    pub(super) fn mean_along(self, base: &[f64], slope: &[f64], c: f64) -> f64 {
        let margins = || base.iter().zip(slope).map(|(b, s)| b + c * s);
        self.mean_of(margins(), base.len())
    }

    /// Mean loss at the given margins.
    pub(super) fn mean(self, margins: &[f64]) -> f64 {
        self.mean_of(margins.iter().copied(), margins.len())
    }

    fn mean_of(self, margins: impl Iterator<Item = f64>, count: usize) -> f64 {
        let sum: f64 = match self.0 {
            Loss::Logistic => logistic_sum(margins),
            Loss::Hinge => margins.map(|m| Hinge.value(m)).sum(),
            Loss::SquaredHinge => margins.map(|m| SquaredHinge.value(m)).sum(),
            Loss::ModifiedHuber => margins.map(|m| ModifiedHuber.value(m)).sum(),
        };
        self.factor() * sum / count.max(1) as f64
    }

    /// Slope and curvature of the mean loss in `c` at the margins `base + c * slope`.
    pub(super) fn derivatives_along(self, base: &[f64], slope: &[f64], c: f64) -> (f64, f64) {
        let (first, second) = match self.0 {
            Loss::Logistic => derivatives(&Logistic, base, slope, c),
            Loss::Hinge => derivatives(&Hinge, base, slope, c),
            Loss::SquaredHinge => derivatives(&SquaredHinge, base, slope, c),
            Loss::ModifiedHuber => derivatives(&ModifiedHuber, base, slope, c),
        };
        let scale = self.factor() / base.len().max(1) as f64;
        (scale * first, scale * second)
    }

    /// Slope and curvature of the mean loss with respect to every margin.
    pub(super) fn weights(self, margins: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let loss = self.0.get();
        let scale = self.factor() / margins.len().max(1) as f64;
        margins
            .iter()
            .map(|&m| (scale * loss.slope(m), scale * loss.curvature(m).unwrap_or(0.0)))
            .unzip()
    }
}

/// Share of rows with a margin that is not positive (the zero-one loss of Eq. (2)).
pub(super) fn zero_one_along(base: &[f64], slope: &[f64], c: f64) -> f64 {
    let wrong = base.iter().zip(slope).filter(|(b, s)| **b + c * **s <= 0.0).count();
    wrong as f64 / base.len().max(1) as f64
}

fn derivatives(loss: &impl MarginLoss, base: &[f64], slope: &[f64], c: f64) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for (b, s) in base.iter().zip(slope) {
        let margin = b + c * s;
        sums.0 += s * loss.slope(margin);
        sums.1 += s * s * loss.curvature(margin).unwrap_or(0.0);
    }
    sums
}

/// $\sum \ln(1 + e^{-m})$ with one logarithm for 32 terms: $q = \prod (1 + e_i) - 1$ is built from
/// positive parts only, so small losses keep their relative accuracy.
fn logistic_sum(margins: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut linear, mut q, mut filled) = (0.0, 0.0, 0.0_f64, 0_u32);
    for m in margins {
        let e = (-m.abs()).exp();
        linear += (-m).max(0.0);
        q += e + q * e;
        filled += 1;
        if filled == 32 {
            sum += q.ln_1p();
            (q, filled) = (0.0, 0);
        }
    }
    sum + linear + q.ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grouped_logarithms_equal_single_ones() {
        for scale in [1e-3, 1.0, 30.0, 1e3] {
            let margins: Vec<f64> = (0..77).map(|i| scale * (f64::from(i) * 0.7).sin()).collect();
            let one_by_one: f64 = margins.iter().map(|&m| Logistic.value(m)).sum();
            let grouped = logistic_sum(margins.iter().copied());
            assert!((grouped - one_by_one).abs() <= 1e-14 * one_by_one);
        }
        let tiny = [40.0; 50];
        let wanted = 50.0 * Logistic.value(40.0);
        assert!((logistic_sum(tiny.into_iter()) - wanted).abs() <= 1e-14 * wanted);
    }
}
