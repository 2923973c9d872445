//! How the metric grows with the rows, and what twice the rows would bring.

use rand::RngExt;

use super::outcome::{Extrapolation, LearningCurve, LearningPoint, MetricRow};
use super::plan::Kind;
use super::session::Finished;
use crate::error::Result;
use crate::folds::generator;
use crate::metrics::{Judged, Metric, Predictions, quantile};

/// Powers of the rows by which a gain may fade, from slow to fast.
const POWERS: [f64; 4] = [0.35, 0.5, 0.7, 1.0];
/// Redraws of the repeats behind the interval.
const DRAWS: usize = 500;

/// Values of one size of training sets, one per repeat.
struct Size {
    rows: usize,
    values: Vec<f64>,
}

/// The curve by the metric of the plan, none without smaller training sets.
pub(super) fn curve(
    finished: &Finished<'_>,
    metrics: &[MetricRow],
) -> Result<Option<LearningCurve>> {
    let mut sizes = smaller(finished)?;
    if sizes.is_empty() {
        return Ok(None);
    }
    sizes.extend(folds(finished)?);
    sizes.sort_by_key(|size| size.rows);
    let metric = finished.plan.metric;
    let points = sizes
        .iter()
        .filter_map(|size| {
            let mut sorted = size.values.clone();
            sorted.sort_by(f64::total_cmp);
            let (low, high) = (quantile(&sorted, 0.025)?, quantile(&sorted, 0.975)?);
            let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
            Some(LearningPoint { rows: size.rows, mean, low, high })
        })
        .collect();
    let now = metrics.iter().find(|row| row.metric == metric);
    let twice = now.and_then(|row| twice(finished, &sizes, row));
    Ok(Some(LearningCurve { metric, points, twice }))
}

fn smaller(finished: &Finished<'_>) -> Result<Vec<Size>> {
    // Groups make training sets of one size differ by a few rows: the mean stands for all.
    let mut sizes: Vec<(usize, usize, Vec<f64>)> = Vec::new();
    for (job, made) in &finished.others {
        let Kind::Curve { size, .. } = job.kind else { continue };
        let truth = finished.labels_of(&job.judged);
        let judged = Judged::new(&truth, finished.n_classes, made)?;
        let Ok(value) = finished.plan.metric.of(&judged) else { continue };
        let place = sizes.iter().position(|(own, _, _)| *own == size).unwrap_or_else(|| {
            sizes.push((size, 0, Vec::new()));
            sizes.len() - 1
        });
        sizes[place].1 += job.train.len();
        sizes[place].2.push(value);
    }
    let mean =
        |(_, rows, values): (usize, usize, Vec<f64>)| Size { rows: rows / values.len(), values };
    Ok(sizes.into_iter().map(mean).collect())
}

/// The folds of the cross-validation are one more size: one value per repeat.
fn folds(finished: &Finished<'_>) -> Result<Option<Size>> {
    let n = finished.labels.len();
    let mut values = Vec::new();
    for parts in finished.repeats() {
        if finished.plan.metric == Metric::Auc {
            values.extend(within_folds(finished, &parts)?);
            continue;
        }
        let owned: Vec<(&[usize], Predictions)> =
            parts.iter().map(|(rows, made)| (*rows, (*made).clone())).collect();
        let pooled = Predictions::pooled(n, &owned)?;
        let judged = Judged::new(finished.labels, finished.n_classes, &pooled)?;
        values.extend(finished.plan.metric.of(&judged).ok());
    }
    let rows = n - n / finished.plan.folds;
    Ok((!values.is_empty()).then_some(Size { rows, values }))
}

/// The mean AUC within the folds of a repeat, by their rows; folds of one class have none. The smaller sizes are values of single
/// fits, and the scores of several fits have no order: judged together the last size would fall below them for that alone.
fn within_folds(
    finished: &Finished<'_>,
    parts: &[(&[usize], &Predictions)],
) -> Result<Option<f64>> {
    let (mut sum, mut count) = (0.0, 0.0);
    for (rows, made) in parts {
        let truth = finished.labels_of(rows);
        let judged = Judged::new(&truth, finished.n_classes, made)?;
        if let Ok(value) = Metric::Auc.of(&judged) {
            sum += rows.len() as f64 * value;
            count += rows.len() as f64;
        }
    }
    Ok((count > 0.0).then(|| sum / count))
}

/// A curve `$c + a m^{-b}$` through the means, `$b$` from a grid, is carried on from the rows there are to twice as many. The gain is
/// redrawn over the repeats and over the powers, because few sizes do not tell them apart; what it is added to is the
/// value that is expected now, with its own interval.
fn twice(finished: &Finished<'_>, sizes: &[Size], now: &MetricRow) -> Option<Extrapolation> {
    let n = finished.labels.len();
    let better = if now.metric.higher_is_better()? { 1.0 } else { -1.0 };
    let (value, span) = now.expected()?;
    let span = span?;
    if sizes.len() < 3 || sizes.iter().any(|size| size.values.len() < 2) {
        return None;
    }
    let mut rng = generator(finished.plan.seed ^ 0x7477_6963_6500);
    let mut gains = Vec::with_capacity(DRAWS);
    for draw in 0..DRAWS {
        let means: Vec<f64> = sizes
            .iter()
            .map(|size| {
                let k = size.values.len();
                (0..k).map(|_| size.values[rng.random_range(0..k)]).sum::<f64>() / k as f64
            })
            .collect();
        let slope = slope(sizes, &means, POWERS[draw % POWERS.len()])?;
        let power = |rows: f64| rows.powf(-POWERS[draw % POWERS.len()]);
        // More rows do not make a sound method worse: a fall is noise.
        gains.push((better * slope * (power(2.0 * n as f64) - power(n as f64))).max(0.0));
    }
    gains.sort_by(f64::total_cmp);
    let gain = up_to_the_end(value, better, gains.iter().sum::<f64>() / gains.len() as f64);
    let gain_plus_minus = (quantile(&gains, 0.975)? - quantile(&gains, 0.025)?) / 2.0;
    let present = (span.high - span.low) / 2.0;
    Some(Extrapolation {
        rows: 2 * n,
        expected: if better > 0.0 { (value + gain).min(1.0) } else { (value - gain).max(0.0) },
        plus_minus: present.hypot(gain_plus_minus),
        gain: better * gain,
        gain_plus_minus,
    })
}

/// All metrics that more rows can raise end at 1, all that they can lower at 0: no gain leads farther.
fn up_to_the_end(value: f64, better: f64, gain: f64) -> f64 {
    gain.min(if better > 0.0 { 1.0 - value } else { value })
}

/// `$a$` of the least squares line through the means over `$m^{-b}$`.
fn slope(sizes: &[Size], means: &[f64], power: f64) -> Option<f64> {
    let x: Vec<f64> = sizes.iter().map(|size| (size.rows as f64).powf(-power)).collect();
    let k = x.len() as f64;
    let (mx, my) = (x.iter().sum::<f64>() / k, means.iter().sum::<f64>() / k);
    let down: f64 = x.iter().map(|v| (v - mx) * (v - mx)).sum();
    let up: f64 = x.iter().zip(means).map(|(v, y)| (v - mx) * (y - my)).sum();
    (down > 0.0).then(|| up / down)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means that follow 0.9 - 2/m exactly have the slope -2 in 1/m.
    #[test]
    fn the_slope_of_an_exact_curve_is_found() {
        let size = |rows: usize| Size { rows, values: vec![0.0] };
        let sizes = [size(20), size(35), size(80)];
        let means: Vec<f64> = sizes.iter().map(|s| 0.9 - 2.0 / s.rows as f64).collect();
        assert!((slope(&sizes, &means, 1.0).unwrap() + 2.0).abs() < 1e-12);
    }

    /// An accuracy of 0.98 can gain 0.02, a loss of 0.03 can fall by 0.03; what does not reach the end is left as it is.
    #[test]
    fn a_gain_leads_to_the_best_value_and_no_farther() {
        assert!((up_to_the_end(0.98, 1.0, 0.05) - 0.02).abs() < 1e-12);
        assert_eq!(up_to_the_end(0.03, -1.0, 0.05), 0.03);
        assert_eq!((up_to_the_end(0.7, 1.0, 0.05), up_to_the_end(0.3, -1.0, 0.05)), (0.05, 0.05));
    }
}
