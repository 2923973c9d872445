//! Wrong labels told from overlapping classes, by the shape of the share of labels over the score.

use super::slope::{SlopePrior, USUAL};
use crate::error::{Error, Result};
use crate::linalg::elementary::exponential;
use crate::linalg::{Cholesky, Dense};

/// Rates stay below one half: beyond it labels say nothing.
const CAP: f64 = 0.49;
/// Exponents of the prior of the rates, a beta distribution with its mode at 2.4 %: few labels are wrong unless the
/// data say otherwise.
const PRIOR: [f64; 2] = [0.2, 7.0];
/// Steps of the fit, at most.
const STEPS: usize = 100;
/// Logit of a rate that is as good as zero.
const NEVER: f64 = -30.0;

/// How labels come about along a score `$s$`: a row is positive with probability `$p(s) = \sigma(a s + b)$`, and then
/// labels are exchanged at a rate for each class,
/// ```math
/// P(\text{labelled positive} \mid s) = r_0 + (1 - r_0 - r_1)\, \sigma(a s + b).
/// ```
///
/// Overlap of the classes makes the curve flat in the middle, wrong labels keep it away from 0 and 1 at the ends: that
/// is what tells them apart. Where no row is sure to belong to its class the two cannot be told apart, and the rates
/// are estimated too low.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flips {
    /// Share of the truly negative rows labelled positive, and of the truly positive rows labelled negative.
    pub rates: [f64; 2],
    /// `$a$`.
    pub slope: f64,
    /// `$b$`.
    pub offset: f64,
}

/// Rows in the units of the fit: scores of unit deviation.
pub(super) struct Rows<'a> {
    pub(super) scores: Vec<f64>,
    pub(super) positive: &'a [bool],
    /// How often each row counts; once where absent.
    pub(super) counts: Option<&'a [f64]>,
    pub(super) slope: SlopePrior,
    pub(super) rates: RateRule,
    /// What is left for odd rows at the two far ends of the scores: the share of truly positive rows where all speaks
    /// for the negative class, and of truly negative ones where all speaks for the positive class.
    pub(super) odd: [f64; 2],
}

/// What is known of the rates before any row is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateRule {
    /// They are small.
    Few,
    /// Nothing.
    Any,
    /// They are zero: no label is wrong.
    Zero,
}

/// Logits of the rates over the cap, logarithm of the slope, offset.
pub(super) type Parameters = [f64; 4];

impl Flips {
    /// The most likely curve for labels `positive` along `scores`, with a weak prior for few wrong labels.
    ///
    /// `counts` says how often each row counts (once where absent).
    pub fn fit(scores: &[f64], positive: &[bool], counts: Option<&[f64]>) -> Result<Self> {
        Self::fit_near(USUAL, scores, positive, counts)
    }

    /// The same with a prior for the slope.
    pub(super) fn fit_near(
        slope: SlopePrior,
        scores: &[f64],
        positive: &[bool],
        counts: Option<&[f64]>,
    ) -> Result<Self> {
        let unit = deviation(scores);
        if !(unit.is_finite() && unit > 0.0) {
            let text = "all rows have the same score: nothing tells a wrong label from a right one";
            return Err(Error::BadData(text.into()));
        }
        let scores = scores.iter().map(|s| s / unit).collect();
        let rows = Rows { scores, positive, counts, slope, rates: RateRule::Few, odd: [0.0; 2] };
        let (point, _) = rows.most_likely();
        let slope = exponential(point[2].min(60.0)) / unit;
        Ok(Self { rates: [rate(point[0]), rate(point[1])], slope, offset: point[3] })
    }

    /// The probability that the label of a row with this score is wrong.
    pub fn wrong(&self, score: f64, positive: bool) -> f64 {
        let p = sigmoid(self.slope * score + self.offset);
        let [r0, r1] = self.rates;
        let (wrong, right) = if positive {
            (r0 * (1.0 - p), (1.0 - r1) * p)
        } else {
            (r1 * p, (1.0 - r0) * (1.0 - p))
        };
        if wrong + right > 0.0 { wrong / (wrong + right) } else { 0.5 }
    }

    /// The logarithm of the odds that it is wrong: finite, and it tells rows apart whose probability is 1 in floating point.
    pub fn suspicion(&self, score: f64, positive: bool) -> f64 {
        let [r0, r1] = self.rates.map(|r| r.max(f64::MIN_POSITIVE));
        let against = self.slope * score + self.offset;
        let (odds, against) =
            if positive { (r0 / (1.0 - r1), against) } else { (r1 / (1.0 - r0), -against) };
        odds.ln() - against
    }

    pub(super) fn point(&self, unit: f64) -> Parameters {
        let logit = |r: f64| {
            let share = (r / CAP).clamp(1e-6, 1.0 - 1e-6);
            (share / (1.0 - share)).ln()
        };
        [logit(self.rates[0]), logit(self.rates[1]), (self.slope * unit).ln(), self.offset]
    }
}

pub(super) fn deviation(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt()
}

pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exponential((-x).clamp(-700.0, 700.0)))
}

pub(super) fn rate(t: f64) -> f64 {
    CAP * sigmoid(t)
}

/// Fisher scoring with the damping of Levenberg and Marquardt: every accepted step lowers the objective.
fn descend(rows: &Rows<'_>, start: Parameters) -> (Parameters, f64) {
    let mut at = start;
    let (mut value, mut gradient, mut information) = rows.expand(&at);
    let mut damping = 1e-3;
    for _ in 0..STEPS {
        let mut damped = information.clone();
        for j in 0..4 {
            damped[(j, j)] += damping * (1e-6 + information[(j, j)]);
        }
        let Some(factor) = Cholesky::new(&damped) else {
            damping *= 10.0;
            continue;
        };
        let step = factor.solve(&gradient);
        let mut next = at;
        for j in 0..4 {
            next[j] = (at[j] - step[j].clamp(-2.0, 2.0)).clamp(-30.0, 30.0);
        }
        let found = rows.expand(&next);
        if found.0 <= value {
            let gain = value - found.0;
            (at, damping) = (next, (damping / 5.0).max(1e-9));
            (value, gradient, information) = found;
            if gain <= 1e-9 * (1.0 + value.abs()) {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    (at, value)
}

impl Rows<'_> {
    /// The best point from two starts, and minus the logarithm of its likelihood and prior.
    pub(super) fn most_likely(&self) -> (Parameters, f64) {
        let from = |rate: f64| descend(self, [rate, rate, self.slope.centre, 0.0]);
        if self.rates == RateRule::Zero {
            return from(NEVER);
        }
        let (few, many) = (from(-3.0), from(-1.0));
        if many.1 < few.1 { many } else { few }
    }

    /// Minus the logarithm of likelihood and prior, its gradient and the information matrix.
    pub(super) fn expand(&self, at: &Parameters) -> (f64, Vec<f64>, Dense) {
        // Long because value, gradient and information are sums over the same terms of a row.
        let (r0, r1) = (rate(at[0]), rate(at[1]));
        let slope = exponential(at[2]);
        let kept = 1.0 - r0 - r1;
        let usual = 1.0 - self.odd[0] - self.odd[1];
        let chain = [r0 * (1.0 - r0 / CAP), r1 * (1.0 - r1 / CAP)];
        let (mut value, mut gradient) = (0.0, vec![0.0; 4]);
        let mut information = Dense::zeros(4, 4);
        for (i, (&s, &positive)) in self.scores.iter().zip(self.positive).enumerate() {
            let count = self.counts.map_or(1.0, |c| c[i]);
            if count == 0.0 {
                continue;
            }
            let sure = sigmoid(slope * s + at[3]);
            let p = self.odd[0] + usual * sure;
            let q = (r0 + kept * p).clamp(1e-12, 1.0 - 1e-12);
            let bend = kept * usual * sure * (1.0 - sure);
            let along = [(1.0 - p) * chain[0], -p * chain[1], bend * slope * s, bend];
            value -= count * if positive { q.ln() } else { (1.0 - q).ln() };
            let pull = count * (q - f64::from(u8::from(positive))) / (q * (1.0 - q));
            let weight = count / (q * (1.0 - q));
            for j in 0..4 {
                gradient[j] += pull * along[j];
                for k in 0..=j {
                    information[(j, k)] += weight * along[j] * along[k];
                }
            }
        }
        match self.rates {
            RateRule::Few => {
                for (j, r) in [r0, r1].into_iter().enumerate() {
                    let [low, high] = PRIOR;
                    value -= low * r.ln() + high * (1.0 - r).ln();
                    gradient[j] += chain[j] * (high / (1.0 - r) - low / r);
                    let curve = low / (r * r) + high / ((1.0 - r) * (1.0 - r));
                    information[(j, j)] += chain[j] * chain[j] * curve;
                }
            }
            RateRule::Any => {}
            RateRule::Zero => {
                gradient[..2].fill(0.0);
                for (j, k) in [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1)] {
                    information[(j, k)] = 0.0;
                }
            }
        }
        let SlopePrior { centre, spread } = self.slope;
        let off = (at[2] - centre) / (spread * spread);
        value += 0.5 * off * (at[2] - centre);
        gradient[2] += off;
        information[(2, 2)] += 1.0 / (spread * spread);
        information.mirror_lower();
        (value, gradient, information)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folds::generator;
    use rand::RngExt;

    fn sample(
        n: usize,
        rates: [f64; 2],
        slope: f64,
        seed: u64,
    ) -> (Vec<f64>, Vec<bool>, Vec<bool>) {
        let mut rng = generator(seed);
        let (mut scores, mut labels, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..n {
            let s = rng.random_range(-4.0..4.0);
            let truth = rng.random_range(0.0..1.0) < sigmoid(slope * s);
            let flipped = rng.random_range(0.0..1.0) < rates[usize::from(truth)];
            scores.push(s);
            labels.push(truth != flipped);
            wrong.push(flipped);
        }
        (scores, labels, wrong)
    }

    /// 4000 rows drawn from the model itself: standard errors of the rates are about 0.01.
    #[test]
    fn rates_that_made_the_labels_are_found_again() {
        for (rates, seed) in [([0.05, 0.2], 1), ([0.2, 0.02], 2), ([0.1, 0.1], 3)] {
            let (scores, labels, wrong) = sample(4000, rates, 2.0, seed);
            let found = Flips::fit(&scores, &labels, None).unwrap();
            for (r, truth) in found.rates.iter().zip(rates) {
                assert!((r - truth).abs() < 0.03, "{found:?}");
            }
            assert!((found.slope - 2.0).abs() < 0.5, "{found:?}");
            let expected: f64 = scores.iter().zip(&labels).map(|(s, l)| found.wrong(*s, *l)).sum();
            let truth = wrong.iter().filter(|w| **w).count() as f64;
            assert!((expected - truth).abs() < 0.15 * truth, "{expected} {truth}");
        }
    }

    /// Bayes by hand: p = 1/2 at score 0, so a positive label is wrong with r0 / (r0 + 1 - r1).
    #[test]
    fn a_label_is_wrong_with_bayes_probability() {
        let flips = Flips { rates: [0.2, 0.1], slope: 1.0, offset: 0.0 };
        assert!((flips.wrong(0.0, true) - 0.2 / 1.1).abs() < 1e-15);
        assert!((flips.wrong(0.0, false) - 0.1 / 0.9).abs() < 1e-15);
        assert!(flips.wrong(-9.0, true) > 0.99 && flips.wrong(9.0, true) < 0.01);
    }

    #[test]
    fn a_row_that_counts_twice_is_the_row_twice() {
        let (scores, labels, _) = sample(300, [0.1, 0.1], 1.5, 5);
        let counts: Vec<f64> = (0..300).map(|i| f64::from(i % 3)).collect();
        let (mut all, mut signs) = (Vec::new(), Vec::new());
        for i in 0..300 {
            for _ in 0..i % 3 {
                all.push(scores[i]);
                signs.push(labels[i]);
            }
        }
        let a = Flips::fit(&scores, &labels, Some(&counts)).unwrap();
        let b = Flips::fit(&all, &signs, None).unwrap();
        // Units differ, and with them the prior of the slope, whose pull on 300 rows is small.
        assert!((a.rates[0] - b.rates[0]).abs() < 2e-3 && (a.rates[1] - b.rates[1]).abs() < 2e-3);
    }

    /// The same ranking as the probabilities, and numbers where these are 1 in floating point.
    #[test]
    fn suspicion_is_the_logit_of_the_probability() {
        let flips = Flips { rates: [0.2, 0.1], slope: 2.0, offset: 0.5 };
        for (score, positive) in [(0.3, true), (-1.5, true), (0.9, false), (-2.0, false)] {
            let q = flips.wrong(score, positive);
            assert!((flips.suspicion(score, positive) - (q / (1.0 - q)).ln()).abs() < 1e-12);
        }
        assert!(flips.suspicion(-90.0, true) > flips.suspicion(-80.0, true));
        assert!(Flips { rates: [0.0; 2], ..flips }.suspicion(0.0, true).is_finite());
    }

    #[test]
    fn equal_scores_are_refused() {
        assert!(Flips::fit(&[1.0; 4], &[true, false, true, false], None).is_err());
    }
}
