//! Medians and median deviations.

use crate::linalg::Dense;

/// Location and scale of features that half of the rows cannot move.
pub(super) struct Robust {
    /// The features that vary in more than half of the rows.
    pub features: Vec<usize>,
    medians: Vec<f64>,
    scales: Vec<f64>,
}

impl Robust {
    pub(super) fn learn(x: &Dense, rows: &[usize]) -> Self {
        let mut robust = Self { features: Vec::new(), medians: Vec::new(), scales: Vec::new() };
        for j in 0..x.ncols() {
            let cells = rows.iter().map(|&i| x[(i, j)]).filter(|v| !v.is_nan());
            let (median, scale) = centre(cells.collect());
            if scale > 0.0 && scale.is_finite() {
                robust.features.push(j);
                robust.medians.push(median);
                robust.scales.push(scale);
            }
        }
        robust
    }

    /// The rows in units of the scales; a missing cell is at the median.
    pub(super) fn apply(&self, x: &Dense, rows: &[usize]) -> Dense {
        Dense::from_fn(rows.len(), self.features.len(), |k, j| {
            let v = x[(rows[k], self.features[j])];
            if v.is_nan() { 0.0 } else { (v - self.medians[j]) / self.scales[j] }
        })
    }

    /// The power of ten that makes an extraordinary value of feature `j` an ordinary one.
    pub(super) fn unit_error(&self, j: usize, value: f64) -> Option<f64> {
        let away = |v: f64| ((v - self.medians[j]) / self.scales[j]).abs();
        if value == 0.0 || value.is_nan() || away(value) <= 6.0 {
            return None;
        }
        // Where the median is many scales from 0 a value near 0 is no unit error of anything.
        [0.1, 0.01, 0.001, 10.0, 100.0, 1000.0]
            .into_iter()
            .filter(|factor| away(value * factor) <= 3.0)
            .min_by(|a, b| away(value * a).total_cmp(&away(value * b)))
    }
}

/// Median, and the median distance from it in units of a normal's standard deviation.
pub(super) fn centre(mut values: Vec<f64>) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    values.sort_by(f64::total_cmp);
    let median = quantile(&values, 0.5);
    let mut apart: Vec<f64> = values.iter().map(|v| (v - median).abs()).collect();
    apart.sort_by(f64::total_cmp);
    (median, 1.482_602_218_505_602 * quantile(&apart, 0.5))
}

/// Quantile of sorted values by interpolation.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a position")]
pub(super) fn quantile(sorted: &[f64], level: f64) -> f64 {
    let at = level * (sorted.len() - 1) as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (at - below as f64) * (sorted[above] - sorted[below])
}
