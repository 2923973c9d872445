//! `$e^x$` and `$\ln(1+x)$` without branches or calls, so that loops over them use vector registers.

/// `$e^x$` for `$x \le 700$` to about one unit in the last place, without branches or calls:
/// `$x = k \ln 2 + r$`, a Taylor polynomial for `$e^r$` (its remainder is below 1e-17 for
/// `$|r| \le \frac12\ln 2$`), summed over even and odd powers at once, and k put into the exponent. Below
/// -708 it stays at `$e^{-708}$`.
#[inline(always)]
pub(crate) fn exponential(x: f64) -> f64 {
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
    let square = r * r;
    let (mut odd, mut even) = (INVERSE_FACTORIALS[0], INVERSE_FACTORIALS[1]);
    for j in 1..6 {
        odd = odd * square + INVERSE_FACTORIALS[2 * j];
        even = even * square + INVERSE_FACTORIALS[2 * j + 1];
    }
    let sum = (odd * square + INVERSE_FACTORIALS[12]) + even * r;
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    (sum * r + 1.0) * scale
}

/// `$\ln(1+x)$` for `$0 \le x \le 1$` to about two units in the last place: `$2\,\mathrm{artanh}\,u$` with `$u =
/// x/(x+2)$` for small `$x$`, and `$\ln 2 + 2\,\mathrm{artanh}\,u$` with `$u = (x-1)/(x+3)$` for the others, so that
/// `$|u| < 0.172$` and twelve terms of the series suffice.
#[inline(always)]
pub(crate) fn log_one_plus(x: f64) -> f64 {
    const SWITCH: f64 = std::f64::consts::SQRT_2 - 1.0;
    const TERMS: [f64; 12] = [
        2.0 / 23.0,
        2.0 / 21.0,
        2.0 / 19.0,
        2.0 / 17.0,
        2.0 / 15.0,
        2.0 / 13.0,
        2.0 / 11.0,
        2.0 / 9.0,
        2.0 / 7.0,
        2.0 / 5.0,
        2.0 / 3.0,
        2.0,
    ];
    let small = x < SWITCH;
    let base = if small { 0.0 } else { std::f64::consts::LN_2 };
    let u = if small { x } else { x - 1.0 } / if small { x + 2.0 } else { x + 3.0 };
    let square = u * u;
    let mut sum = TERMS[0];
    for term in &TERMS[1..] {
        sum = sum * square + term;
    }
    base + u * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_exponential_is_the_usual_one() {
        for i in 0..=70_000 {
            let x = -f64::from(i) * 0.01;
            let (found, wanted) = (exponential(x), x.exp());
            assert!((found - wanted).abs() <= 1e-15 * wanted, "{x}: {found} {wanted}");
            let (found, wanted) = (exponential(-x * 1e-3), (-x * 1e-3).exp());
            assert!((found - wanted).abs() <= 1e-15 * wanted, "{x}: {found} {wanted}");
        }
        assert!(exponential(-1e300) < 1e-300 && exponential(f64::NEG_INFINITY) < 1e-300);
    }

    #[test]
    fn our_logarithm_is_the_usual_one() {
        for i in 0..=100_000 {
            let x = f64::from(i) * 1e-5;
            for x in [x, x * 1e-8, x * 1e-300] {
                let (found, wanted) = (log_one_plus(x), x.ln_1p());
                assert!((found - wanted).abs() <= 1e-15 * wanted, "{x}: {found} {wanted}");
            }
        }
    }
}
