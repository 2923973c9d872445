//! How far a candidate's scores can be believed: a scale and a shift learned out of fold, under a
//! prior. This plays the part of `b_max`.

use super::recipe::Group;
use crate::loss::Loss;

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

/// Points of the grid over the logarithm of the scale.
const POINTS: i32 = 25;

/// Minimises over u and t
/// $$\sum_i \frac1R\sum_r \ell\big(y_i(e^u o_{ri} + t)\big) + \frac{(u-m)^2}{2v^2} + \frac{t^2}{2h^2}$$
/// on a grid of u from m - 3v to m + 3v. `scores` holds one row of o for each repetition r.
pub(super) fn calibrate(loss: Loss, scores: &[f64], y: &[f64], prior: &Group) -> Calibration {
    let repeats = (scores.len() / y.len().max(1)).max(1) as f64;
    let signed: Vec<f64> = scores.iter().zip(y.iter().cycle()).map(|(o, y)| o * y).collect();
    let sums = |scale: f64, shift: f64| sums(loss, &signed, y, scale, shift);
    let mut best: Option<(f64, Calibration)> = None;
    let mut shift = 0.0;
    for point in 0..POINTS {
        let away = 6.0 * (f64::from(point) / f64::from(POINTS - 1) - 0.5);
        let scale = (prior.centre + away * prior.spread).exp();
        shift = best_shift(shift, prior.shift, |t| {
            let (_, first, second) = sums(scale, t);
            (first / repeats, second / repeats)
        });
        let total = sums(scale, shift).0 / repeats;
        let objective = total + 0.5 * away * away + 0.5 * (shift / prior.shift).powi(2);
        if best.as_ref().is_none_or(|(least, _)| objective < *least) {
            let loss = total / y.len() as f64;
            best = Some((objective, Calibration { scale, shift, loss, error: 0.0 }));
        }
    }
    let mut found = best.map_or(
        Calibration { scale: 0.0, shift: 0.0, loss: f64::INFINITY, error: 1.0 },
        |(_, found)| found,
    );
    let wrong = signed
        .iter()
        .zip(y.iter().cycle())
        .filter(|(s, y)| found.scale * **s + *y * found.shift <= 0.0)
        .count();
    found.error = wrong as f64 / signed.len().max(1) as f64;
    found
}

/// Sum of losses, and its first and second derivative in the shift.
fn sums(loss: Loss, signed: &[f64], y: &[f64], scale: f64, shift: f64) -> (f64, f64, f64) {
    let loss = loss.get();
    let mut out = (0.0, 0.0, 0.0);
    for (s, y) in signed.iter().zip(y.iter().cycle()) {
        let margin = scale * s + y * shift;
        out.0 += loss.value(margin);
        out.1 += y * loss.slope(margin);
        out.2 += loss.curvature(margin).unwrap_or(0.0);
    }
    out
}

/// The zero of a slope that increases at least as fast as t/h^2: Newton's method with a bracket.
fn best_shift(start: f64, h: f64, slope: impl Fn(f64) -> (f64, f64)) -> f64 {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut t = start;
    for _ in 0..60 {
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
        let step = (first / second).clamp(-1.0, 1.0);
        let mut next = t - step;
        if next <= low || next >= high {
            next = f64::midpoint(low, high);
        }
        let moved = (next - t).abs();
        t = next;
        if moved <= 1e-5 {
            break;
        }
    }
    t
}
