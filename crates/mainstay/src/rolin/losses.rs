//! Eq. (2): the losses as the paper scales them, over whole vectors of margins.

#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use crate::linalg::vector::vectorized;
use crate::loss::{Hinge, Loss, MarginLoss, ModifiedHuber, SquaredHinge};

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
        let margins = base.iter().zip(slope).map(|(b, s)| b + c * s);
        let sum: f64 = match self.0 {
            Loss::Logistic => vectorized(|| logistic_sum(base, slope, c)),
            Loss::Hinge => margins.map(|m| Hinge.value(m)).sum(),
            Loss::SquaredHinge => margins.map(|m| SquaredHinge.value(m)).sum(),
            Loss::ModifiedHuber => margins.map(|m| ModifiedHuber.value(m)).sum(),
        };
        self.factor() * sum / base.len().max(1) as f64
    }

    /// Mean loss at the given margins.
    pub(super) fn mean(self, margins: &[f64]) -> f64 {
        self.mean_along(margins, margins, 0.0)
    }

    /// Slope and curvature of the mean loss in `c` at the margins `base + c * slope`.
    pub(super) fn derivatives_along(self, base: &[f64], slope: &[f64], c: f64) -> (f64, f64) {
        let (first, second) = match self.0 {
            Loss::Logistic => vectorized(|| logistic_derivatives(base, slope, c)),
            Loss::Hinge => derivatives(&Hinge, base, slope, c),
            Loss::SquaredHinge => derivatives(&SquaredHinge, base, slope, c),
            Loss::ModifiedHuber => derivatives(&ModifiedHuber, base, slope, c),
        };
        let scale = self.factor() / base.len().max(1) as f64;
        (scale * first, scale * second)
    }

    /// Slope and curvature of the mean loss with respect to every margin.
    pub(super) fn weights(self, margins: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let scale = self.factor() / margins.len().max(1) as f64;
        if self.0 == Loss::Logistic {
            let scaled = |&m: &f64| {
                let (slope, curvature) = logistic_slopes(m);
                (scale * slope, scale * curvature)
            };
            return vectorized(|| margins.iter().map(scaled).unzip());
        }
        let loss = self.0.get();
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

/// Margins handled together, so that the compiler can use vector registers.
const LANES: usize = 8;

/// $e^x$ for $x \le 0$ to about one unit in the last place, without branches or calls: $x = k \ln 2 + r$,
/// a Taylor polynomial for $e^r$ (its remainder is below 1e-17 for $|r| \le \frac12\ln 2$), and k put
/// into the exponent. Below -708 it stays at $e^{-708}$.
#[inline(always)]
fn exp_negative(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const INVERSE_FACTORIALS: [f64; 13] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
    ];
    let x = if x > -708.0 { x } else { -708.0 };
    let shifted = x * std::f64::consts::LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    let mut sum = INVERSE_FACTORIALS[0];
    for c in &INVERSE_FACTORIALS[1..] {
        sum = sum * r + c;
    }
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    (sum * r + 1.0) * scale
}

/// $\sum \ln(1 + e^{-m})$ at $m$ = `base + c * slope`, with one logarithm for many terms:
/// $q = \prod (1 + e_i) - 1$ is built from positive parts only, so small losses keep their relative
/// accuracy.
#[inline(always)]
fn logistic_sum(base: &[f64], slope: &[f64], c: f64) -> f64 {
    let logarithm = |q: &[f64; LANES]| q.iter().fold(0.0, |a, b| a + b + a * b).ln_1p();
    let (mut sum, mut linear, mut q) = (0.0, [0.0; LANES], [0.0; LANES]);
    let (base_lanes, base_rest) = base.as_chunks::<LANES>();
    let (slope_lanes, slope_rest) = slope.as_chunks::<LANES>();
    // At most 2^64 a lane: all together stay finite.
    for (base, slope) in base_lanes.chunks(64).zip(slope_lanes.chunks(64)) {
        for (b, s) in base.iter().zip(slope) {
            for l in 0..LANES {
                let m = b[l] + c * s[l];
                let e = exp_negative(-m.abs());
                linear[l] += (-m).max(0.0);
                q[l] += e + q[l] * e;
            }
        }
        sum += logarithm(&q);
        q = [0.0; LANES];
    }
    for (l, (b, s)) in base_rest.iter().zip(slope_rest).enumerate() {
        let m = b + c * s;
        linear[l] += (-m).max(0.0);
        q[l] = exp_negative(-m.abs());
    }
    sum + logarithm(&q) + linear.iter().sum::<f64>()
}

/// Slope and curvature of $\ln(1 + e^{-m})$ from one exponential.
#[inline(always)]
fn logistic_slopes(m: f64) -> (f64, f64) {
    let e = exp_negative(-m.abs());
    let share = 1.0 / (1.0 + e);
    let slope = if m >= 0.0 { -e * share } else { -share };
    (slope, e * share * share)
}

#[inline(always)]
fn logistic_derivatives(base: &[f64], slope: &[f64], c: f64) -> (f64, f64) {
    let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
    let (base_lanes, base_rest) = base.as_chunks::<LANES>();
    let (slope_lanes, slope_rest) = slope.as_chunks::<LANES>();
    for (b, s) in base_lanes.iter().zip(slope_lanes) {
        for l in 0..LANES {
            let (d1, d2) = logistic_slopes(b[l] + c * s[l]);
            first[l] += s[l] * d1;
            second[l] += s[l] * s[l] * d2;
        }
    }
    let mut sums = (first.iter().sum(), second.iter().sum());
    for (b, s) in base_rest.iter().zip(slope_rest) {
        let (d1, d2) = logistic_slopes(b + c * s);
        sums.0 += s * d1;
        sums.1 += s * s * d2;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Logistic;

    #[test]
    fn our_exponential_is_the_usual_one() {
        for i in 0..=70_000 {
            let x = -f64::from(i) * 0.01;
            let (found, wanted) = (exp_negative(x), x.exp());
            assert!((found - wanted).abs() <= 1e-15 * wanted, "{x}: {found} {wanted}");
        }
        assert!(exp_negative(-1e300) < 1e-300 && exp_negative(f64::NEG_INFINITY) < 1e-300);
    }

    #[test]
    fn one_exponential_gives_slope_and_curvature() {
        for m in [-800.0, -30.0, -1.0, 0.0, 0.3, 5.0, 40.0, 900.0] {
            let (slope, curvature) = logistic_slopes(m);
            assert!((slope - Logistic.slope(m)).abs() <= 1e-15);
            assert!((curvature - Logistic.curvature(m).unwrap()).abs() <= 1e-15);
        }
    }

    #[test]
    fn grouped_logarithms_equal_single_ones() {
        for scale in [1e-3, 1.0, 30.0, 1e3] {
            let margins: Vec<f64> = (0..2077).map(|i| scale * (f64::from(i) * 0.7).sin()).collect();
            let one_by_one: f64 = margins.iter().map(|&m| Logistic.value(m)).sum();
            let grouped = logistic_sum(&margins, &margins, 0.0);
            assert!((grouped - one_by_one).abs() <= 1e-13 * one_by_one);
        }
        let tiny = [40.0; 50];
        let wanted = 50.0 * Logistic.value(40.0);
        assert!((logistic_sum(&tiny, &tiny, 0.0) - wanted).abs() <= 1e-14 * wanted);
    }
}
