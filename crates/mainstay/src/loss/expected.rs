//! The logistic loss of a margin that is known up to a normal distribution.

/// Standard deviations of the mixture of normals that stands for the logistic distribution.
///
/// A logistic variable is a normal one of random scale (Andrews and Mallows 1974; Stefanski 1991); these
/// nine scales and weights give `$\log(1 + e^{-m})$` to 5e-10 and its slope to 3e-9 for all `$m$` (found by least
/// squares; the tests check both).
const SCALES: [f64; 9] = [
    0.735_572_421_433_994_4,
    0.946_300_415_419_871_6,
    1.201_876_062_873_746_6,
    1.523_531_754_826_347_2,
    1.931_118_518_324_942,
    2.443_104_493_029_224,
    3.079_353_712_422_044_7,
    3.878_217_916_860_420_7,
    4.956_628_196_020_277,
];
/// Their weights.
const WEIGHTS: [f64; 9] = [
    0.003_456_712_612_086_634_2,
    0.051_994_442_499_859_44,
    0.189_624_264_719_744_47,
    0.302_820_039_141_988_85,
    0.269_374_462_790_304_9,
    0.140_796_951_699_854_84,
    0.038_067_521_578_228_4,
    0.003_804_602_114_345_850_7,
    0.000_061_002_843_586_732_98,
];

/// A function of the mean `$\mu$` and the variance `$v$` of a margin: value and derivatives.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Terms {
    /// `$f$`.
    pub value: f64,
    /// `$f_\mu$`.
    pub m: f64,
    /// `$f_v$`.
    pub v: f64,
    /// `$f_{\mu\mu}$`.
    pub mm: f64,
    /// `$f_{\mu v}$`.
    pub mv: f64,
    /// `$f_{vv}$`.
    pub vv: f64,
}

/// `$E \log(1 + e^{-M})$` for `$M \sim N(\mu, v)$`, with derivatives.
///
/// With the logistic distribution as a mixture of normals the expectation is a sum of terms
/// `$s\,\phi(\mu/s) - \mu\,\Phi(-\mu/s)$`, `$s^2 = \tau^2 + v$`, and by the heat equation
/// `$\partial_v = \tfrac12 \partial_{\mu\mu}$`. With `$v = 0$` it is the loss itself, to the last digit.
pub fn expected_logistic(margin: f64, variance: f64) -> Terms {
    if variance <= 0.0 {
        return exact(margin);
    }
    let mut sum = Terms::default();
    for (scale, weight) in SCALES.iter().zip(&WEIGHTS) {
        let square = scale * scale + variance;
        let s = square.sqrt();
        let z = margin / s;
        let density = (-0.5 * z * z).exp() * (0.5 * std::f64::consts::FRAC_2_SQRT_PI)
            / std::f64::consts::SQRT_2;
        let tail = 0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2);
        let second = density / s;
        sum.value += weight * (s * density - margin * tail);
        sum.m -= weight * tail;
        sum.mm += weight * second;
        sum.mv -= weight * 0.5 * second * z / s;
        sum.vv += weight * 0.25 * second * (z * z - 1.0) / square;
    }
    sum.v = 0.5 * sum.mm;
    sum
}

/// `$E\,\sigma(S)$` for a score `$S \sim N(\mu, v)$`: a probability averaged over what is not known of a row.
pub fn expected_probability(score: f64, variance: f64) -> f64 {
    -expected_logistic(-score, variance).m
}

fn exact(margin: f64) -> Terms {
    let small = (-margin.abs()).exp();
    let value = small.ln_1p() + (-margin).max(0.0);
    // p is the probability of the other class, 1 - p that of the label.
    let p = if margin > 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) };
    let q = if margin > 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
    let mm = p * q;
    let third = mm * (p - q);
    let fourth = mm * (1.0 - 6.0 * mm);
    Terms { value, m: -p, v: 0.5 * mm, mm, mv: 0.5 * third, vv: 0.25 * fourth }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trapezoidal rule on 12 deviations to each side converges geometrically.
    fn quadrature(mean: f64, variance: f64) -> (f64, f64) {
        let (mut loss, mut slope, mut mass) = (0.0, 0.0, 0.0);
        for k in -6000..=6000 {
            let z = f64::from(k) * 0.002;
            let weight = (-0.5 * z * z).exp();
            let terms = exact(mean + variance.sqrt() * z);
            loss += weight * terms.value;
            slope += weight * terms.m;
            mass += weight;
        }
        (loss / mass, slope / mass)
    }

    #[test]
    fn the_mixture_gives_the_expected_loss_and_slope() {
        for variance in [1e-12, 0.01, 0.3, 1.0, 4.0, 30.0, 400.0] {
            for k in -60..=60 {
                let mean = f64::from(k) * 0.5;
                let (loss, slope) = quadrature(mean, variance);
                let found = expected_logistic(mean, variance);
                assert!((found.value - loss).abs() < 1e-9, "{mean} {variance}");
                assert!((found.m - slope).abs() < 5e-9, "{mean} {variance}");
            }
        }
    }

    /// Central differences with a step of 1e-4: their own error is about 1e-8.
    #[test]
    fn derivatives_are_those_of_differences() {
        let h = 1e-4;
        for variance in [0.0, 0.2, 3.0] {
            for k in -8..=8 {
                let mean = f64::from(k) * 0.7;
                let found = expected_logistic(mean, variance);
                let (up, down) =
                    (expected_logistic(mean + h, variance), expected_logistic(mean - h, variance));
                let by_mean = |a: f64, b: f64| (a - b) / (2.0 * h);
                assert!((found.m - by_mean(up.value, down.value)).abs() < 1e-7);
                assert!((found.mm - by_mean(up.m, down.m)).abs() < 1e-7);
                assert!((found.mv - by_mean(up.v, down.v)).abs() < 1e-7);
                if variance > 0.0 {
                    let (up, down) = (
                        expected_logistic(mean, variance + h),
                        expected_logistic(mean, variance - h),
                    );
                    assert!((found.v - by_mean(up.value, down.value)).abs() < 1e-7);
                    assert!((found.vv - by_mean(up.v, down.v)).abs() < 1e-7);
                }
            }
        }
    }

    #[test]
    fn probabilities_of_a_score_and_its_negative_add_up_to_one() {
        for (score, variance) in [(0.0, 2.0), (1.3, 0.0), (-2.0, 0.7), (30.0, 5.0)] {
            let sum =
                expected_probability(score, variance) + expected_probability(-score, variance);
            assert!((sum - 1.0).abs() < 1e-14);
        }
        assert!((expected_probability(0.0, 9.0) - 0.5).abs() < 1e-14);
    }
}
