//! How steep the curve of labels may be: what held-out scores support.

use super::flips::{deviation, sigmoid};

/// What is expected of the logarithm of the slope, in scores of unit deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SlopePrior {
    pub(super) centre: f64,
    pub(super) spread: f64,
}

/// Where nothing is known: a deviation of the score is worth about two logits.
pub(super) const USUAL: SlopePrior = SlopePrior { centre: 0.7, spread: 1.5 };
/// Spread of the logarithm around what held-out scores support.
const SPREAD: f64 = 0.7;
/// Wrong labels flatten the slope that is seen: the true one is steeper by about this, as a logarithm.
const STEEPER: f64 = 0.3;
/// The least slope, in logits per deviation, so that scores that tell nothing have a logarithm.
const LEAST: f64 = 0.02;
/// Penalty on the squared slope, of the mean loss: keeps it finite where held-out scores separate the classes.
const RIDGE: f64 = 1e-4;
/// Steps of the fit, at most.
const STEPS: usize = 50;
/// The longest step, in logits.
const LONGEST: f64 = 2.0;

impl SlopePrior {
    /// Around the slope with which held-out scores predict the labels, for scores of deviation `unit`. Without it, scores that
    /// tell nothing pass for a steep curve whose rarer labels are all wrong.
    pub(super) fn supported(held_out: &[f64], positive: &[bool], unit: f64) -> Self {
        let own = deviation(held_out);
        if !(own.is_finite() && own > 0.0) {
            return USUAL;
        }
        let scores: Vec<f64> = held_out.iter().map(|s| s / own).collect();
        let slope = plain_slope(&scores, positive) / own * unit;
        Self { centre: slope.max(LEAST).ln() + STEEPER, spread: SPREAD }
    }
}

/// The slope of a logistic regression of the labels on the scores, by Newton's steps.
fn plain_slope(scores: &[f64], positive: &[bool]) -> f64 {
    let n = scores.len() as f64;
    let (mut slope, mut offset) = (0.0, 0.0);
    for _ in 0..STEPS {
        let (mut gradient, mut curve) = ([RIDGE * slope, 0.0], [RIDGE, 0.0, RIDGE]);
        for (s, label) in scores.iter().zip(positive) {
            let p = sigmoid(slope * s + offset);
            let (pull, weight) = ((p - f64::from(u8::from(*label))) / n, p * (1.0 - p) / n);
            gradient = [gradient[0] + pull * s, gradient[1] + pull];
            curve = [curve[0] + weight * s * s, curve[1] + weight * s, curve[2] + weight];
        }
        let area = curve[0] * curve[2] - curve[1] * curve[1];
        let along = (curve[2] * gradient[0] - curve[1] * gradient[1]) / area;
        let across = (curve[0] * gradient[1] - curve[1] * gradient[0]) / area;
        slope -= along.clamp(-LONGEST, LONGEST);
        offset -= across.clamp(-LONGEST, LONGEST);
        if along.abs().max(across.abs()) < 1e-9 {
            break;
        }
    }
    slope
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two values of the score: the slope is the difference of the logits of the shares, 3/4 and 1/4, over that of the scores.
    #[test]
    fn the_slope_of_two_values_is_that_of_their_logits() {
        let scores = [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0];
        let positive = [true, true, true, false, false, false, false, true];
        // The penalty moves the optimum by its gradient over the curvature 3/16.
        let expected = 3.0_f64.ln();
        let off = 2.0 * RIDGE * expected / (3.0 / 16.0);
        assert!((plain_slope(&scores, &positive) - expected).abs() < off);
    }

    #[test]
    fn scores_that_tell_nothing_support_no_slope() {
        let scores: Vec<f64> = (0..40).map(|i| f64::from(i / 4)).collect();
        let positive: Vec<bool> = (0..40).map(|i| i % 4 == 0).collect();
        let prior = SlopePrior::supported(&scores, &positive, 1.0);
        assert!(prior.centre < USUAL.centre - 3.0, "{prior:?}");
    }
}
