//! The few statistics that tables are made of.

/// The mean; NaN of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation with divisor n - 1, as papers print it; 0 of a single value.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    (squares / (values.len().max(2) - 1) as f64).sqrt()
}

/// Mean without the `share` lowest and the `share` highest values (rounded down).
pub(crate) fn trimmed(values: &[f64], share: f64) -> f64 {
    let sorted = sorted(values);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let cut = (share * sorted.len() as f64) as usize;
    mean(&sorted[cut..sorted.len() - cut])
}

/// The quantile `q` in [0, 1], linear between order statistics; NaN of nothing.
pub(crate) fn quantile(values: &[f64], q: f64) -> f64 {
    let sorted = sorted(values);
    if sorted.is_empty() {
        return f64::NAN;
    }
    let place = q * (sorted.len() - 1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    let below = place as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Column `k` of repetitions.
pub(crate) fn column(rows: &[Vec<f64>], k: usize) -> Vec<f64> {
    rows.iter().map(|row| row.get(k).copied().unwrap_or(f64::NAN)).collect()
}

/// Distribution function of the standard normal.
///
/// Within 6 of the centre by its power series `$\tfrac12 + \varphi(x)\sum_k x^{2k+1}/(2k+1)!!$`, beyond by the first
/// terms of the tail: absolute error below 1e-12.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if x.abs() > 6.0 {
        let tail = density / x.abs() * (1.0 - 1.0 / (x * x));
        return if x > 0.0 { 1.0 - tail } else { tail };
    }
    let (mut term, mut sum, mut k) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() && k < 400.0 {
        term *= x * x / (2.0 * k + 1.0);
        sum += term;
        k += 1.0;
    }
    0.5 + density * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_match_their_definitions() {
        let values = [4.0, 1.0, 3.0, 2.0, 100.0];
        assert_eq!(mean(&values), 22.0);
        assert_eq!(deviation(&[1.0, 3.0]), 2f64.sqrt());
        assert_eq!(deviation(&[7.0]), 0.0);
        assert_eq!(trimmed(&values, 0.2), 3.0);
        assert_eq!(quantile(&values, 0.5), 3.0);
        assert_eq!(quantile(&values, 0.125), 1.5);
        assert!(quantile(&[], 0.5).is_nan());
    }

    /// Tabulated values, and symmetry.
    #[test]
    fn the_normal_distribution_is_right() {
        for (x, p) in [(0.0, 0.5), (-1.0, 0.158_655_253_931), (-2.5, 0.006_209_665_326)] {
            assert!((normal_cdf(x) - p).abs() < 1e-12);
        }
        for k in -80..=80 {
            let x = f64::from(k) / 10.0;
            assert!((normal_cdf(x) + normal_cdf(-x) - 1.0).abs() < 1e-12);
        }
    }
}
