//! Scores of held-out rows as log odds of the true label, where labels are wrong at known rates.

use super::average::Blurred;
use super::labels::{Correction, Rates};
use super::newton::{Hyperplane, minimise};
use super::problem::Problem;
use crate::control::Control;
use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::optim::Budget;

/// Penalty of the slope, of scores in units of their deviation: it only keeps scores that separate the labels from an
/// infinite slope.
const RIDGE: f64 = 1e-3;
/// Gap of the fit: differences of losses are compared that are far below a thousandth.
const TOL: f64 = 1e-8;
/// Gap of the convex fit that it starts from.
const START_TOL: f64 = 1e-3;
/// Newton steps; a handful is the rule.
const MOST_STEPS: usize = 100;
/// Where the scores say nothing, the share of a class is taken to be at least this much.
const LEAST_SHARE: f64 = 0.02;

/// Rows with the scores that a fit gave them which had not seen them.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub scores: Vec<f64>,
    /// +1 or -1, as observed.
    pub y: Vec<f64>,
    /// Adding up to 1.
    pub shares: Vec<f64>,
}

/// Log odds are `slope` times the score plus `shift`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calibration {
    /// At least 0.
    pub slope: f64,
    /// 0 without an intercept.
    pub shift: f64,
    /// Mean forward loss of these log odds.
    pub loss: f64,
}

/// Minus the mean log likelihood of the observed labels at the log odds `scores` of the true ones.
pub(super) fn forward_loss(scores: &[f64], y: &[f64], shares: &[f64], rates: Rates) -> f64 {
    let rows = column(scores);
    let problem = forward(&rows, y, shares, (0.0, rates, false));
    problem.value(&[1.0], 0.0)
}

fn column(scores: &[f64]) -> Blurred {
    Blurred::known(Dense::from_rows(scores.len(), 1, scores.to_vec()))
}

fn forward<'a>(
    rows: &'a Blurred,
    y: &'a [f64],
    shares: &'a [f64],
    (alpha, rates, intercept): (f64, Rates, bool),
) -> Problem<'a> {
    let correction = Correction::Forward.within(rates);
    Problem { rows, y, shares, alpha, rates, correction, intercept }
}

/// The map of scores to log odds that makes the observed labels most likely,
/// ```math
/// \min_{a \ge 0,\, b}\ \frac{\rho}{2} a^2 - \sum_i s_i \log\big(r_{-y_i} + (1 - r_0 - r_1)\,
///   \sigma(y_i(a u_i + b))\big),
/// ```
/// with `$u$` the scores in units of their deviation and `$\rho$` = `RIDGE`: Platt's sigmoid for labels that are wrong at known
/// rates. Held-out scores that tell the classes apart the wrong way round (`$a < 0$`) say nothing; the log odds are those of the
/// classes then.
pub(super) fn calibrate(
    judged: &Judged,
    rates: Rates,
    intercept: bool,
    control: &Control,
) -> Result<Calibration> {
    let Judged { scores, y, shares } = judged;
    let mean = if intercept { vector::dot(scores, shares) } else { 0.0 };
    let spread: f64 = scores.iter().zip(shares).map(|(z, s)| s * (z - mean).powi(2)).sum();
    let deviation = if spread > 0.0 { spread.sqrt() } else { 1.0 };
    let units: Vec<f64> = scores.iter().map(|z| (z - mean) / deviation).collect();
    let rows = column(&units);
    let problem = forward(&rows, y, shares, (RIDGE, rates, intercept));
    let (up, down) = problem.class_shares();
    let mut at = Hyperplane { w: vec![0.0], b: 0.0 };
    if up > 0.0 && down > 0.0 {
        let convex = Problem { correction: Correction::After, ..problem };
        at = minimise(&convex, &at, &mut Budget::new(START_TOL, MOST_STEPS, control))?;
        at = minimise(&problem, &at, &mut Budget::new(TOL, MOST_STEPS, control))?;
    }
    if at.w[0] <= 0.0 {
        let share = ((up - rates.negative) / rates.kept()).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
        let b = if intercept { (share / (1.0 - share)).ln() } else { 0.0 };
        at = Hyperplane { w: vec![0.0], b };
    }
    let loss = Problem { alpha: 0.0, ..problem }.value(&at.w, at.b);
    let slope = at.w[0] / deviation;
    Ok(Calibration { slope, shift: at.b - slope * mean, loss })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores in two overlapping groups, some of whose labels are wrong.
    fn judged(sign: f64) -> Judged {
        let scores: Vec<f64> =
            (0..60).map(|i| 3.0 + sign * f64::from((i * 17) % 60 - 30) / 4.0).collect();
        let label = |i: i32| {
            let high = (i * 17) % 60 + (i * 7) % 20 > 40;
            if high == (i % 6 != 0) { 1.0 } else { -1.0 }
        };
        let total: f64 = (0..60).map(|i| f64::from(1 + i % 3)).sum();
        Judged {
            scores,
            y: (0..60).map(label).collect(),
            shares: (0..60).map(|i| f64::from(1 + i % 3) / total).collect(),
        }
    }

    fn penalised(judged: &Judged, rates: Rates, slope: f64, shift: f64) -> f64 {
        let mean = vector::dot(&judged.scores, &judged.shares);
        let square = |(z, s): (&f64, &f64)| s * (z - mean).powi(2);
        let variance: f64 = judged.scores.iter().zip(&judged.shares).map(square).sum();
        let odds: Vec<f64> = judged.scores.iter().map(|z| slope * z + shift).collect();
        forward_loss(&odds, &judged.y, &judged.shares, rates)
            + 0.5 * RIDGE * slope * slope * variance
    }

    #[test]
    fn no_slope_and_shift_of_a_grid_make_the_labels_more_likely() {
        let judged = judged(1.0);
        for rates in [
            Rates::default(),
            Rates { negative: 0.15, positive: 0.15 },
            Rates { negative: 0.0, positive: 0.2 },
        ] {
            let found = calibrate(&judged, rates, true, &Control::new()).unwrap();
            assert!(found.slope > 0.0);
            let own = penalised(&judged, rates, found.slope, found.shift);
            for a in 0..120 {
                for b in -120..=120 {
                    let (a, b) = (f64::from(a) / 40.0, f64::from(b) / 10.0);
                    let other = penalised(&judged, rates, a, b);
                    assert!(own <= other + 1e-8, "{rates:?}: {own} {other} at {a} {b}");
                }
            }
        }
    }

    #[test]
    fn the_loss_is_minus_the_log_likelihood_of_the_observed_label() {
        let rates = Rates { negative: 0.1, positive: 0.3 };
        let sigma = 1.0 / (1.0 + (-0.7_f64).exp());
        let own = -(0.1 + 0.6 * sigma).ln() * 0.25 - (1.0 - (0.1 + 0.6 * sigma)).ln() * 0.75;
        let found = forward_loss(&[0.7, 0.7], &[1.0, -1.0], &[0.25, 0.75], rates);
        assert!((found - own).abs() < 1e-14);
    }

    #[test]
    fn scores_that_point_the_wrong_way_or_nowhere_give_the_share_of_the_class() {
        let rates = Rates { negative: 0.1, positive: 0.1 };
        let reversed = judged(-1.0);
        let flat = Judged { scores: vec![2.0; 60], ..judged(1.0) };
        for judged in [reversed, flat] {
            let found = calibrate(&judged, rates, true, &Control::new()).unwrap();
            let up: f64 = judged
                .y
                .iter()
                .zip(&judged.shares)
                .filter(|(y, _)| **y > 0.0)
                .map(|(_, s)| s)
                .sum();
            let share = (up - 0.1) / 0.8;
            let odds = (share / (1.0 - share)).ln();
            assert!((found.slope * 2.0 + found.shift - odds).abs() < 1e-6, "{found:?}");
        }
    }
}
