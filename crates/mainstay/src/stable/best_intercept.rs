//! The intercept that makes the sum of all hinge losses smallest, without an order of all rows.

/// Bits of a number that its bin does not tell: 2^16 bins hold numbers that agree in sign, exponent and four digits.
const BIN: u32 = 48;

/// A minimiser of `$\sum c_i \max(0, 1 - y_i (s_i + b))$` over `$b$`: the derivative changes by `$c_i$` at
/// `$b = y_i - s_i$` and starts at minus the weight of the positive rows.
///
/// Weights are added up in bins of the first digits; only the rows of the bin in which the derivative changes its sign are
/// put into order.
pub(super) fn best_intercept(y: &[f64], scores: &[f64], weights: &[f64]) -> f64 {
    let kinks = || y.iter().zip(scores).zip(weights).map(|((y, s), c)| (y - s, *c));
    let mut bins = vec![0.0; 1 << (u64::BITS - BIN)];
    for (kink, c) in kinks() {
        bins[bin(kink)] += c;
    }
    let positive = y.iter().zip(weights).filter(|(y, _)| **y > 0.0);
    let mut slope: f64 = -positive.map(|row| row.1).sum::<f64>();
    for (here, weight) in bins.into_iter().enumerate().filter(|(_, weight)| *weight > 0.0) {
        if slope + weight < 0.0 {
            slope += weight;
            continue;
        }
        let mut some: Vec<(f64, f64)> = kinks().filter(|(kink, _)| bin(*kink) == here).collect();
        some.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for (kink, c) in some {
            slope += c;
            if slope >= 0.0 {
                return kink;
            }
        }
    }
    0.0
}

/// The bin of a number: larger numbers have no lower bin.
fn bin(number: f64) -> usize {
    let bits = number.to_bits();
    let ordered = if number.is_sign_negative() { !bits } else { bits | 1 << (u64::BITS - 1) };
    usize::try_from(ordered >> BIN).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum is straight between the kinks, so that one of these is best; scores with ties, both signs and values a digit
    /// apart, weights that are sums of powers of two.
    #[test]
    fn no_kink_is_better() {
        for seed in 0..20_u32 {
            let score = |i: u32| match (i + seed) % 4 {
                0 => 0.5,
                1 => f64::from(i % 3) * f64::EPSILON,
                _ => (f64::from(i * i + seed) * 0.37).sin() * 10f64.powi((i % 5).cast_signed() - 2),
            };
            let scores: Vec<f64> = (0..301).map(score).collect();
            let sign = |i: u32| if (i * i + seed) % 7 < 3 { 1.0 } else { -1.0 };
            let y: Vec<f64> = (0..301).map(sign).collect();
            let weights: Vec<f64> = (0..301).map(|i| f64::from((i + seed) % 4) * 0.25).collect();
            let value = |b: f64| -> f64 {
                let rows = y.iter().zip(&scores).zip(&weights);
                rows.map(|((y, s), c)| c * (1.0 - y * (s + b)).max(0.0)).sum()
            };
            let found = value(best_intercept(&y, &scores, &weights));
            for (y, s) in y.iter().zip(&scores) {
                assert!(found <= value(y - s) * (1.0 + 1e-13), "seed {seed}: {found}");
            }
        }
    }

    #[test]
    fn larger_numbers_have_no_lower_bin() {
        let numbers = [f64::NEG_INFINITY, -1e300, -2.0, -1.0, -1e-300, -0.0, 0.0, 1e-300, 1.0, 3.0];
        assert!(numbers.windows(2).all(|pair| bin(pair[0]) <= bin(pair[1])));
        assert!(bin(-1.0) < bin(0.0) && bin(0.0) < bin(1.0) && bin(1.0) < bin(2.0));
    }
}
