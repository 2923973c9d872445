//! Quantiles: of a sample, and of Student's distribution.

/// 97.5 % quantile of the normal distribution.
pub(crate) const NORMAL: f64 = 1.959_964;
/// 97.5 % quantiles of Student's distribution with 1, 2, ... degrees of freedom.
const STUDENT: [f64; 20] = [
    12.706_2, 4.302_65, 3.182_45, 2.776_45, 2.570_58, 2.446_91, 2.364_62, 2.306_0, 2.262_16,
    2.228_14, 2.200_99, 2.178_81, 2.160_37, 2.144_79, 2.131_45, 2.119_91, 2.109_82, 2.100_92,
    2.093_02, 2.085_96,
];

/// 97.5 % quantile of Student's distribution; beyond the table by its expansion in one over the degrees of freedom.
pub(crate) fn student(freedom: usize) -> f64 {
    let (z, n) = (NORMAL, freedom as f64);
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n);
    let tail = z + (z.powi(3) + z) / (4.0 * n) + second;
    freedom.checked_sub(1).and_then(|k| STUDENT.get(k)).copied().unwrap_or(tail)
}

/// Of sorted values, linear between neighbours; none of no values.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positions are between 0 and the length"
)]
pub(crate) fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q * last as f64;
    let below = (place.floor() as usize).min(last);
    let above = (below + 1).min(last);
    Some(sorted[below] + (place - below as f64) * (sorted[above] - sorted[below]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.9), Some(3.0));
        assert_eq!(quantile(&[0.0, 1.0, 4.0], 0.75), Some(2.5));
        assert_eq!(quantile(&[0.0, 1.0, 4.0], 1.0), Some(4.0));
        // Published values: 2.0423 for 30 degrees of freedom, 1.9840 for 100.
        assert!((student(30) - 2.0423).abs() < 3e-4 && (student(100) - 1.9840).abs() < 1e-4);
    }
}
