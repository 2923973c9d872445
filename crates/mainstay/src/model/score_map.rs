//! From a score to a probability, learned on scores of held-out rows.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::linalg::ARMIJO;

/// Steps of Newton's method; it converges in far fewer.
const STEPS: usize = 100;
/// Curvature added to both diagonal entries, in units of a row's weight, so that scores all alike have a direction too.
const CURVATURE: f64 = 1e-12;
/// Gain that a step promises, relative to one plus the cross-entropy, below which rounding hides it.
const NO_GAIN: f64 = 1e-14;
/// Part of Newton's step at which halving ends.
const SHORTEST_STEP: f64 = 1e-10;
/// A slope that rises too little to be told from 0, relative to the spread of the scores.
const FLAT: f64 = 1e-6;

/// A function that does not fall, from scores to probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ScoreMap {
    /// `$1/(1 + e^{-(a s + b)})$`.
    Sigmoid {
        /// `$a > 0$`.
        slope: f64,
        /// `$b$`.
        offset: f64,
    },
    /// Straight lines between points, constant beyond the first and the last.
    Isotonic {
        /// Ascending.
        scores: Vec<f64>,
        /// Not falling, between 0 and 1.
        probabilities: Vec<f64>,
    },
}

/// A held-out score, whether its row is of the class, and how much the row counts.
pub type Scored = (f64, bool, f64);

impl ScoreMap {
    /// Platt's sigmoid: the logistic likelihood with targets `$(N_+ + 1)/(N_+ + 2)$` and `$1/(N_- + 2)$` in the place of 1 and
    /// 0, which keeps a few rows from giving certainty. The flag tells whether scores rise with the class; if they do
    /// not the map is all but constant.
    ///
    /// # Reference
    ///
    /// Platt (1999), *Probabilistic Outputs for Support Vector Machines*; Newton's method with halved steps as in Lin,
    /// Lin, Weng (2007), *A Note on Platt's Probabilistic Outputs*, Machine Learning 68.
    pub fn sigmoid(rows: &[Scored]) -> (Self, bool) {
        let total =
            |class: bool| -> f64 { rows.iter().filter(|r| r.1 == class).map(|r| r.2).sum() };
        let (positive, negative) = (total(true), total(false));
        let target = |class: bool| {
            if class { (positive + 1.0) / (positive + 2.0) } else { 1.0 / (negative + 2.0) }
        };
        // Scores of any size: the fit sees them between -1 and 1.
        let size = rows.iter().map(|r| r.0.abs()).fold(0.0, f64::max);
        let unit = if size > 0.0 { size } else { 1.0 };
        let points: Vec<(f64, f64, f64)> =
            rows.iter().map(|&(s, class, w)| (s / unit, target(class), w)).collect();
        let mean = points.iter().map(|(_, t, w)| t * w).sum::<f64>()
            / points.iter().map(|(.., w)| w).sum::<f64>();
        let prior = (mean / (1.0 - mean)).ln();
        let (slope, offset) = newton(&points, prior);
        if slope > FLAT && slope.is_finite() && offset.is_finite() {
            return (Self::Sigmoid { slope: slope / unit, offset }, true);
        }
        (Self::Sigmoid { slope: FLAT / unit, offset: prior }, false)
    }

    /// The isotonic fit in least squares: pools of neighbours whose shares of the class would fall.
    pub fn isotonic(rows: &[Scored]) -> Self {
        let mut sorted = rows.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        // (first score, last score, share, weight); equal scores are one point.
        let mut pools: Vec<(f64, f64, f64, f64)> = Vec::new();
        for (score, class, weight) in sorted {
            let share = f64::from(u8::from(class));
            match pools.last_mut() {
                Some(last) if last.1 == score => {
                    last.2 = (last.2 * last.3 + share * weight) / (last.3 + weight);
                    last.3 += weight;
                }
                _ => pools.push((score, score, share, weight)),
            }
        }
        let mut merged: Vec<(f64, f64, f64, f64)> = Vec::with_capacity(pools.len());
        for pool in pools {
            merged.push(pool);
            while let [.., a, b] = merged.as_slice()
                && a.2 >= b.2
            {
                let weight = a.3 + b.3;
                let share = (a.2 * a.3 + b.2 * b.3) / weight;
                let joined = (a.0, b.1, share, weight);
                merged.truncate(merged.len() - 2);
                merged.push(joined);
            }
        }
        let (mut scores, mut probabilities) = (Vec::new(), Vec::new());
        for (first, last, share, _) in merged {
            scores.push(first);
            probabilities.push(share);
            if last > first {
                scores.push(last);
                probabilities.push(share);
            }
        }
        Self::Isotonic { scores, probabilities }
    }

    /// The probability at a score.
    pub fn probability(&self, score: f64) -> f64 {
        match self {
            Self::Sigmoid { slope, offset } => 1.0 / (1.0 + (-(slope * score + offset)).exp()),
            Self::Isotonic { scores, probabilities } => {
                let above = scores.partition_point(|s| *s < score);
                match (above.checked_sub(1), scores.get(above)) {
                    (None, _) => probabilities[0],
                    (Some(below), None) => probabilities[below],
                    (Some(below), Some(next)) => {
                        let part = (score - scores[below]) / (next - scores[below]);
                        let (a, b) = (probabilities[below], probabilities[above]);
                        (a + part * (b - a)).clamp(a, b)
                    }
                }
            }
        }
    }

    /// A score beyond which the probability is above one half; infinite if it always or never is.
    pub fn threshold(&self) -> f64 {
        match self {
            Self::Sigmoid { slope, offset } => -offset / slope,
            Self::Isotonic { scores, probabilities } => {
                match probabilities.partition_point(|p| *p <= 0.5) {
                    0 => f64::NEG_INFINITY,
                    end if end == scores.len() => f64::INFINITY,
                    above => {
                        let (a, b) = (probabilities[above - 1], probabilities[above]);
                        let (s, t) = (scores[above - 1], scores[above]);
                        (s + (0.5 - a) / (b - a) * (t - s)).clamp(s, t)
                    }
                }
            }
        }
    }

    /// Checks a map that came from outside.
    pub(super) fn validate(&self) -> Result<()> {
        let good = match self {
            Self::Sigmoid { slope, offset } => {
                slope.is_finite() && *slope > 0.0 && offset.is_finite()
            }
            Self::Isotonic { scores, probabilities } => {
                !scores.is_empty()
                    && scores.len() == probabilities.len()
                    && scores.iter().all(|s| s.is_finite())
                    && scores.windows(2).all(|pair| pair[0] < pair[1])
                    && probabilities.iter().all(|p| (0.0..=1.0).contains(p))
                    && probabilities.windows(2).all(|pair| pair[0] <= pair[1])
            }
        };
        if good { Ok(()) } else { Err(Error::BadModel("calibration: a map falls".into())) }
    }
}

/// Newton's direction in slope and offset, and the rate at which the cross-entropy changes along it.
fn newton_direction(points: &[(f64, f64, f64)], a: f64, b: f64) -> ((f64, f64), f64) {
    let (mut ga, mut gb, mut haa, mut hab, mut hbb) = (0.0, 0.0, CURVATURE, 0.0, CURVATURE);
    for &(s, t, w) in points {
        let p = 1.0 / (1.0 + (-(a * s + b)).exp());
        let (d, h) = (w * (p - t), w * p * (1.0 - p));
        ga += d * s;
        gb += d;
        haa += h * s * s;
        hab += h * s;
        hbb += h;
    }
    let det = haa * hbb - hab * hab;
    let (da, db) = ((hab * gb - hbb * ga) / det, (hab * ga - haa * gb) / det);
    ((da, db), ga * da + gb * db)
}

/// Slope and offset of the smallest cross-entropy; convex in both.
fn newton(points: &[(f64, f64, f64)], prior: f64) -> (f64, f64) {
    let loss = |a: f64, b: f64| -> f64 {
        let one = |&(s, t, w): &(f64, f64, f64)| {
            let m = a * s + b;
            // log(1 + e^m) - t m without overflow.
            w * (m.max(0.0) + (-m.abs()).exp().ln_1p() - t * m)
        };
        points.iter().map(one).sum()
    };
    let (mut a, mut b) = (0.0, prior);
    let mut value = loss(a, b);
    for _ in 0..STEPS {
        let ((da, db), slope) = newton_direction(points, a, b);
        if !slope.is_finite() {
            break;
        }
        if slope > -NO_GAIN * (1.0 + value) {
            // So near that a full step squares the error, and that rounding hides what it gains.
            (a, b) = (a + da, b + db);
            break;
        }
        let mut step = 1.0;
        while step > SHORTEST_STEP
            && loss(a + step * da, b + step * db) > value + ARMIJO * step * slope
        {
            step /= 2.0;
        }
        (a, b) = (a + step * da, b + step * db);
        value = loss(a, b);
    }
    (a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores 1 and -1 only: the best sigmoid passes through the mean targets there. Three of four rows at 1 and one of
    /// four at -1 are positive: N+ = N- = 4, targets 5/6 and 1/6, means 2/3 and 1/3, so that a = ln 2 and b = 0.
    #[test]
    fn a_sigmoid_through_two_scores_matches_the_closed_form() {
        let rows: Vec<Scored> =
            (0..8).map(|i| if i < 4 { (1.0, i < 3, 1.0) } else { (-1.0, i == 4, 1.0) }).collect();
        let (map, rises) = ScoreMap::sigmoid(&rows);
        let ScoreMap::Sigmoid { slope, offset } = map else { panic!() };
        assert!(rises);
        assert!((slope - 2.0_f64.ln()).abs() < 1e-9 && offset.abs() < 1e-9, "{slope} {offset}");
    }

    #[test]
    fn scores_that_fall_with_the_class_give_all_but_its_share() {
        let rows: Vec<Scored> = (0..10).map(|i| (f64::from(i), i < 5, 1.0)).collect();
        let (map, rises) = ScoreMap::sigmoid(&rows);
        assert!(!rises);
        assert!((map.probability(3.0) - 0.5).abs() < 1e-4);
        assert!(map.validate().is_ok());
    }

    /// Classes 0 1 0 1 1 at 1 to 5: the pool of 2 and 3 has the share 1/2.
    #[test]
    fn neighbours_that_would_fall_are_pooled() {
        let rows: Vec<Scored> =
            [0, 1, 0, 1, 1].iter().zip(1..).map(|(&y, s)| (f64::from(s), y == 1, 1.0)).collect();
        let map = ScoreMap::isotonic(&rows);
        for (score, p) in [(0.0, 0.0), (1.0, 0.0), (1.5, 0.25), (2.0, 0.5), (3.0, 0.5), (9.0, 1.0)]
        {
            assert!((map.probability(score) - p).abs() < 1e-15, "{score}");
        }
        assert_eq!(map.threshold(), 3.0);
        assert!(map.validate().is_ok());
    }
}
