//! Held-out probabilities against what happened, as a smooth curve with a band.

use rand::RngExt;

use super::outcome::{CalibrationCurve, CalibrationPoint};
use super::session::Finished;
use crate::folds::generator;
use crate::metrics::quantile;

/// Points of the curve.
const POINTS: usize = 25;
/// Redraws behind the band.
const DRAWS: usize = 300;
/// Least width of the window.
const NARROWEST: f64 = 0.04;

/// The curve of the mean held-out probability of every row; none for more than two classes or without probabilities.
pub(super) fn curve(finished: &Finished<'_>) -> Option<CalibrationCurve> {
    let n = finished.labels.len();
    let repeats = finished.repeats();
    let mut p = vec![0.0; n];
    for (rows, made) in repeats.iter().flatten() {
        let (2, Some(table)) = (finished.n_classes, &made.probabilities) else { return None };
        for (k, &i) in rows.iter().enumerate() {
            p[i] += table[(k, 1)] / repeats.len() as f64;
        }
    }
    if repeats.is_empty() {
        return None;
    }
    let y: Vec<f64> = finished.labels.iter().map(|&l| f64::from(u8::from(l == 1))).collect();
    Some(smooth(&p, &y, &finished.plan.members(n), finished.plan.seed))
}

/// Width of a Gaussian window for values with the deviation of `p`, by Silverman's rule of thumb.
fn silverman_width(p: &[f64]) -> f64 {
    let n = p.len() as f64;
    let mean = p.iter().sum::<f64>() / n;
    let deviation = (p.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
    1.06 * deviation * n.powf(-0.2)
}

/// Nadaraya and Watson's local mean of `y` over `p` with a Gaussian window of Silverman's width; the band redraws `members`.
fn smooth(p: &[f64], y: &[f64], members: &[Vec<usize>], seed: u64) -> CalibrationCurve {
    let bandwidth = silverman_width(p).max(NARROWEST);
    let low = p.iter().copied().fold(1.0, f64::min);
    let high = p.iter().copied().fold(0.0, f64::max);
    let at: Vec<f64> =
        (0..POINTS).map(|k| low + (high - low) * k as f64 / (POINTS - 1) as f64).collect();
    // The window's weights once for all redraws.
    let window: Vec<Vec<f64>> = at
        .iter()
        .map(|x| p.iter().map(|v| (-0.5 * ((v - x) / bandwidth).powi(2)).exp()).collect())
        .collect();
    let once = vec![1.0; p.len()];
    let mut rng = generator(seed);
    let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); POINTS];
    for _ in 0..DRAWS {
        let mut counts = vec![0.0; p.len()];
        for _ in 0..members.len() {
            for &i in &members[rng.random_range(0..members.len())] {
                counts[i] += 1.0;
            }
        }
        for (values, weights) in drawn.iter_mut().zip(&window) {
            values.extend(local(weights, &counts, y));
        }
    }
    let points = at.iter().zip(&window).zip(&mut drawn).filter_map(|((&x, weights), values)| {
        let observed = local(weights, &once, y)?;
        values.sort_by(f64::total_cmp);
        let (low, high) = (quantile(values, 0.025)?, quantile(values, 0.975)?);
        Some(CalibrationPoint { predicted: x, observed, low, high })
    });
    CalibrationCurve { bandwidth, points: points.collect() }
}

/// Mean of `y` by the weights of a window and how often every row counts.
fn local(weights: &[f64], counts: &[f64], y: &[f64]) -> Option<f64> {
    let (mut up, mut down) = (0.0, 0.0);
    for ((w, c), y) in weights.iter().zip(counts).zip(y) {
        up += w * c * y;
        down += w * c;
    }
    (down > 0.0).then(|| up / down)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels drawn with the stated probabilities lie on the diagonal, within the band almost everywhere.
    #[test]
    fn honest_probabilities_lie_on_the_diagonal() {
        let mut rng = generator(4);
        let p: Vec<f64> = (0..4000).map(|_| rng.random_range(0.0..1.0)).collect();
        let y: Vec<f64> =
            p.iter().map(|v| f64::from(u8::from(rng.random_range(0.0..1.0) < *v))).collect();
        let alone: Vec<Vec<usize>> = (0..4000).map(|i| vec![i]).collect();
        let found = smooth(&p, &y, &alone, 1);
        assert_eq!(found.points.len(), POINTS);
        // The ends are pulled inwards by half a window.
        for point in &found.points[3..POINTS - 3] {
            assert!((point.observed - point.predicted).abs() < 0.06, "{point:?}");
            assert!(point.low <= point.observed && point.observed <= point.high);
            assert!(point.high - point.low < 0.15, "{point:?}");
        }
    }
}
