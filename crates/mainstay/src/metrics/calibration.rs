//! Whether probabilities mean what they say.

use super::judged::Judged;
use super::side::Side;
use super::undefined::Undefined;

/// Bins of equal width for the calibration error.
const BINS: usize = 10;
/// Newton steps; a dozen are usual.
const STEPS: usize = 200;
/// A slope so settled is found.
const SETTLED: f64 = 1e-10;

/// Rows whose probability of a class lies in one bin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CalibrationBin {
    /// Their total weight.
    pub weight: f64,
    /// Their mean probability.
    pub probability: f64,
    /// The share of them that are of the class.
    pub share: f64,
}

/// The `count` bins of equal width between probability 0 and 1 for `class`, for a calibration curve; empty bins have
/// weight 0.
pub fn calibration_bins(
    judged: &Judged<'_>,
    class: usize,
    count: usize,
) -> Result<Vec<CalibrationBin>, Undefined> {
    bins(&Side::new(judged, class), count)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of floats saturate, and probabilities are not negative"
)]
fn bins(side: &Side<'_>, count: usize) -> Result<Vec<CalibrationBin>, Undefined> {
    let mut found = vec![CalibrationBin::default(); count.max(1)];
    for (i, p) in side.probabilities()?.into_iter().enumerate() {
        let place = ((p * found.len() as f64) as usize).min(found.len() - 1);
        let (bin, w) = (&mut found[place], side.weight(i));
        bin.weight += w;
        bin.probability += w * p;
        bin.share += if side.positive(i) { w } else { 0.0 };
    }
    for bin in found.iter_mut().filter(|bin| bin.weight > 0.0) {
        bin.probability /= bin.weight;
        bin.share /= bin.weight;
    }
    Ok(found)
}

/// Expected calibration error.
pub(super) fn error(side: &Side<'_>) -> Result<f64, Undefined> {
    let found = bins(side, BINS)?;
    let total: f64 = found.iter().map(|bin| bin.weight).sum();
    let off = found.iter().map(|bin| bin.weight * (bin.probability - bin.share).abs());
    Ok(off.sum::<f64>() / total)
}

/// Logit of the probability, label and weight of every row that counts.
fn logits(side: &Side<'_>) -> Result<Vec<(f64, bool, f64)>, Undefined> {
    side.both_sizes()?;
    let logit = |p: f64| {
        let p = p.clamp(f64::EPSILON, 1.0 - f64::EPSILON);
        (p / (1.0 - p)).ln()
    };
    let p = side.probabilities()?;
    let rows = (0..p.len()).map(|i| (logit(p[i]), side.positive(i), side.weight(i)));
    Ok(rows.filter(|(_, _, w)| *w > 0.0).collect())
}

/// The slope of the logistic regression of the label on the logit.
pub(super) fn slope(side: &Side<'_>) -> Result<f64, Undefined> {
    let rows = logits(side)?;
    let ends = |of: bool| {
        let own = rows.iter().filter(|(_, positive, _)| *positive == of).map(|(x, _, _)| *x);
        own.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let ((low1, high1), (low0, high0)) = (ends(true), ends(false));
    if low1.min(low0) == high1.max(high0) {
        return Err(Undefined::OneProbability);
    }
    if low1 >= high0 || low0 >= high1 {
        return Err(Undefined::Separated);
    }
    // Centred, so that slope and intercept hardly interfere.
    let weight: f64 = rows.iter().map(|(_, _, w)| w).sum();
    let mean = rows.iter().map(|(x, _, w)| w * x).sum::<f64>() / weight;
    let centred: Vec<_> = rows.iter().map(|(x, y, w)| (x - mean, *y, *w)).collect();
    newton([0.0, 0.0], |[a, b]| sums(&centred, |x| a + b * x, true)).map(|[_, b]| b)
}

/// The intercept of the logistic regression of the label on the logit with slope 1.
pub(super) fn intercept(side: &Side<'_>) -> Result<f64, Undefined> {
    let rows = logits(side)?;
    newton([0.0, 0.0], |[a, _]| sums(&rows, |x| a + x, false)).map(|[a, _]| a)
}

/// Logistic loss with its slopes and curvatures in (intercept, slope).
struct Sums {
    loss: f64,
    slope: [f64; 2],
    curvature: [f64; 3],
}

fn sums(rows: &[(f64, bool, f64)], score: impl Fn(f64) -> f64, both: bool) -> Sums {
    let mut found = Sums { loss: 0.0, slope: [0.0; 2], curvature: [0.0, 0.0, 0.0] };
    for &(x, positive, w) in rows {
        let s = score(x);
        let p = 1.0 / (1.0 + (-s).exp());
        let margin = if positive { s } else { -s };
        // ln(1 + exp(-m)) without overflow.
        found.loss += w * ((-margin.abs()).exp().ln_1p() + (-margin).max(0.0));
        let (g, h) = (w * (p - f64::from(u8::from(positive))), w * p * (1.0 - p));
        found.slope[0] += g;
        found.curvature[0] += h;
        if both {
            found.slope[1] += g * x;
            found.curvature[1] += h * x;
            found.curvature[2] += h * x * x;
        }
    }
    if !both {
        found.curvature[2] = 1.0;
    }
    found
}

/// Newton's method with halved steps on a convex function of two variables.
fn newton(start: [f64; 2], at: impl Fn([f64; 2]) -> Sums) -> Result<[f64; 2], Undefined> {
    let (mut point, mut here) = (start, at(start));
    for _ in 0..STEPS {
        let [a, b, c] = here.curvature;
        let determinant = a * c - b * b;
        if !(determinant > 0.0 && determinant.is_finite()) {
            return Err(Undefined::NotSolved);
        }
        let [g0, g1] = here.slope;
        let step = [(c * g0 - b * g1) / determinant, (a * g1 - b * g0) / determinant];
        let mut length = 1.0;
        let (next, there) = loop {
            let next = [point[0] - length * step[0], point[1] - length * step[1]];
            let there = at(next);
            // Near the minimum the losses differ by less than their rounding.
            if there.loss <= here.loss + 1e-10 * (1.0 + here.loss) || length < 1e-9 {
                break (next, there);
            }
            length /= 2.0;
        };
        let scale = 1.0 + next[0].abs().max(next[1].abs());
        let moved = (length * step[0]).abs().max((length * step[1]).abs());
        (point, here) = (next, there);
        if moved <= SETTLED * scale {
            return Ok(point);
        }
    }
    Err(Undefined::NotSolved)
}
