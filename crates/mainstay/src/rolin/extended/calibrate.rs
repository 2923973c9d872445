//! How far a candidate's scores can be believed: a scale and a shift learned out of fold, under a
//! prior. This plays the part of `b_max`.

use super::constants::FamilyConstants;
use crate::loss::Loss;
use crate::rolin::shared::losses::PaperLoss;
use crate::rolin::shared::row_weights::RowWeights;

/// Scale, shift and what they lead to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calibration {
    pub(super) scale: f64,
    pub(super) shift: f64,
    /// Mean out-of-fold loss of the calibrated scores, without the prior's terms.
    pub(super) loss: f64,
    /// Share of rows on the wrong side, likewise.
    pub(super) error: f64,
}

impl Calibration {
    /// Scores believed as they are.
    pub(super) fn none(loss: Loss, scores: &[f64], y: &[f64], weights: &RowWeights) -> Self {
        let margins: Vec<f64> = scores.iter().zip(y.iter().cycle()).map(|(o, y)| o * y).collect();
        let shares = repeated_shares(weights, margins.len());
        let loss = PaperLoss::of(loss).on(shares.as_deref());
        Self {
            scale: 1.0,
            shift: 0.0,
            loss: loss.mean(&margins) / loss.factor(),
            error: loss.wrong_along(&margins, &margins, 0.0),
        }
    }
}

/// Shares of the rows in all repetitions together, `count` scores, where rows do not count alike.
fn repeated_shares(weights: &RowWeights, count: usize) -> Option<Vec<f64>> {
    weights.shares().map(|shares| {
        let repetitions = (count / shares.len().max(1)).max(1) as f64;
        shares.iter().map(|share| share / repetitions).cycle().take(count).collect()
    })
}

/// Points of the grid over the logarithm of the scale.
const POINTS: i32 = 50;
/// The first of them, in spreads from the centre.
const FIRST: f64 = -3.0;
/// From one to the next, in spreads: the last is 9.25 above the centre.
const SPACING: f64 = 0.25;
/// Newton steps on the shift, at most.
const MAX_STEPS: usize = 60;
/// Longest step of the shift, in units of the score: far out the logistic loss has no curvature.
const LONGEST: f64 = 1.0;
/// Steps shorter than this are the last: the loss is flat to ten digits there.
const SHORTEST: f64 = 1e-5;

/// Minimises over u and t, u on a grid,
/// ```math
/// \sum_i \frac1R\sum_r \ell\big(y_i(e^u o_{ri} + t)\big) + \rho\Big(\frac{u-m}{v}\Big) + \frac{t^2}{2h^2},
/// ```
/// where `$\rho(a)$` is `$a^2/2$` up to 1 and `$a - \frac12$` beyond: separable rows may earn a large scale.
/// `scores` holds one row of o for each repetition r.
pub(super) fn calibrate(
    loss: Loss,
    scores: &[f64],
    (y, weights): (&[f64], &RowWeights),
    prior: &FamilyConstants,
) -> Calibration {
    // Long because the search along the grid ends by what it has found.
    let labels: Vec<f64> = y.iter().copied().cycle().take(scores.len()).collect();
    let signed: Vec<f64> = scores.iter().zip(&labels).map(|(o, y)| o * y).collect();
    // Means over rows and repetitions, in nats -> sums over rows.
    let shares = repeated_shares(weights, scores.len());
    let loss = PaperLoss::of(loss).on(shares.as_deref());
    let rows = weights.total() / loss.factor();
    let mut best: Option<(f64, Calibration)> = None;
    let (mut shifts, mut last) = (Vec::new(), f64::INFINITY);
    for point in 0..POINTS {
        let away = SPACING * f64::from(point) + FIRST;
        let scale = (prior.centre + away * prior.spread).exp();
        let base: Vec<f64> = signed.iter().map(|s| scale * s).collect();
        let shift = best_shift(foreseen(&shifts), prior.shift, |t| {
            let (first, second) = loss.derivatives_along(&base, &labels, t);
            (first * rows, second * rows)
        });
        shifts.push(shift);
        let total = loss.mean_along(&base, &labels, shift) * rows;
        let fitted = total + 0.5 * (shift / prior.shift).powi(2);
        let objective = fitted + penalty(away);
        if best.as_ref().is_none_or(|(least, _)| objective < *least) {
            let loss = total / weights.total();
            best = Some((objective, Calibration { scale, shift, loss, error: 0.0 }));
        }
        // Without the prior of the scale, the least over shifts is convex in the scale: where it rises it goes on rising. That
        // prior rises from the centre on, and losses are not negative.
        let least = best.as_ref().map_or(f64::INFINITY, |(least, _)| *least);
        if away >= 0.0 && (fitted > last || penalty(away + SPACING) >= least) {
            break;
        }
        last = fitted;
    }
    let mut found = best.map_or(
        Calibration { scale: 0.0, shift: 0.0, loss: f64::INFINITY, error: 1.0 },
        |(_, found)| found,
    );
    let margins: Vec<f64> =
        signed.iter().zip(&labels).map(|(s, y)| found.scale * s + y * found.shift).collect();
    found.error = loss.wrong_along(&margins, &margins, 0.0);
    found
}

/// Where the best shifts at equally spaced scales lead: the parabola through the last three of them is a nearer start than
/// the last one.
fn foreseen(shifts: &[f64]) -> f64 {
    match shifts {
        [] => 0.0,
        [.., a, b, c] => 3.0 * (c - b) + a,
        [.., last] => *last,
    }
}

/// `$\rho$`.
fn penalty(away: f64) -> f64 {
    if away > 1.0 { away - 0.5 } else { 0.5 * away * away }
}

/// The zero of a slope that increases at least as fast as t/h^2: Newton's method with a bracket.
fn best_shift(start: f64, h: f64, slope: impl Fn(f64) -> (f64, f64)) -> f64 {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut t = start;
    for _ in 0..MAX_STEPS {
        let (first, second) = slope(t);
        let (first, second) = (first + t / (h * h), second + 1.0 / (h * h));
        if first == 0.0 {
            break;
        }
        if first > 0.0 {
            high = t;
        } else {
            low = t;
        }
        let step = (first / second).clamp(-LONGEST, LONGEST);
        let mut next = t - step;
        if next <= low || next >= high {
            next = f64::midpoint(low, high);
        }
        if !next.is_finite() {
            // The step was too small to leave `t`.
            break;
        }
        let moved = (next - t).abs();
        t = next;
        if moved <= SHORTEST {
            break;
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rolin::ExtendedConstants;

    /// Every scale of the grid with every shift of a fine one.
    #[test]
    fn no_scale_and_shift_are_better() {
        let scores: Vec<f64> = (0..24).map(|i| (f64::from(i) * 1.7).sin()).collect();
        let noisy: Vec<f64> = (0..12).map(|i| if i % 5 < 2 { 1.0 } else { -1.0 }).collect();
        let clear: Vec<f64> = scores[..12].iter().map(|s| s.signum()).collect();
        let repeated: Vec<f64> = scores[..12].iter().chain(&scores[..12]).copied().collect();
        let prior = ExtendedConstants::default().robust;
        for (scores, y) in [(&scores, &noisy), (&repeated, &clear)] {
            let objective = |away: f64, t: f64| {
                let scale = (prior.centre + away * prior.spread).exp();
                let loss = |i: usize| (-y[i % 12] * (scale * scores[i] + t)).exp().ln_1p();
                let penalty = if away > 1.0 { away - 0.5 } else { 0.5 * away * away };
                (0..24).map(loss).sum::<f64>() / 2.0 + penalty + 0.5 * (t / prior.shift).powi(2)
            };
            let mut least = f64::INFINITY;
            for point in 0..POINTS {
                for step in -4000..4000 {
                    let away = 0.25 * f64::from(point) - 3.0;
                    least = least.min(objective(away, 0.001 * f64::from(step)));
                }
            }
            let found = calibrate(Loss::Logistic, scores, (y, &RowWeights::equal(12)), &prior);
            let away = (found.scale.ln() - prior.centre) / prior.spread;
            let reached = objective(away, found.shift);
            assert!(reached <= least + 1e-6, "{reached} {least}");
        }
    }
}
