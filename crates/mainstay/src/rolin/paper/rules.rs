//! The selection rules of Algorithm 2, on a table of losses per split: they know nothing about the
//! estimator that was judged.

use serde::{Deserialize, Serialize};

use crate::error::{Result, require};

/// Training losses up to here count as zero in the loss ratio (reading R6).
const ZERO_LOSS: f64 = 1e-12;

/// The three thresholds of Algorithm 2 (`$\Theta_{ratio}, \Theta_{slack}, \Theta_{gain}$`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Above this ratio of holdout to training loss the average holdout loss is not believed.
    pub ratio: f64,
    /// Candidates this much (relatively) above the cheapest one compete on their worst split.
    pub slack: f64,
    /// A candidate replaces the baseline only if it is this much (relatively) cheaper.
    pub gain: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { ratio: 5.0, slack: 0.1, gain: 0.05 }
    }
}

/// What the splits say about one candidate (lines 34-37).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Mean holdout loss.
    pub loss_avg: f64,
    /// Largest holdout loss.
    pub loss_max: f64,
    /// Mean of holdout over training loss; NaN where it was not needed.
    pub loss_ratio: f64,
    /// What candidates are ranked by: the mean holdout loss, or the largest if the ratio is too high.
    pub cost: f64,
}

/// Who wins line 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// This one of the candidates.
    Candidate(usize),
    /// This one of the baseline settings.
    Baseline(usize),
}

/// Mean over splits of holdout loss over training loss (line 36): 0/0 is 1, x/0 is infinite.
pub fn loss_ratio(train: &[f64], holdout: &[f64]) -> f64 {
    let ratio = |(&train, &holdout): (&f64, &f64)| match (train <= ZERO_LOSS, holdout <= ZERO_LOSS)
    {
        (true, true) => 1.0,
        (true, false) => f64::INFINITY,
        (false, _) => holdout / train,
    };
    train.iter().zip(holdout).map(ratio).sum::<f64>() / train.len().max(1) as f64
}

/// Mean and largest entry.
pub fn average_and_largest(losses: &[f64]) -> (f64, f64) {
    let mean = losses.iter().sum::<f64>() / losses.len().max(1) as f64;
    (mean, losses.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

impl Thresholds {
    /// Checks the domains.
    pub fn check(self) -> Result<Self> {
        require(self.ratio >= 1.0, "theta_ratio", self.ratio, "at least 1")?;
        let not_negative = |v: f64| v >= 0.0 && v.is_finite();
        require(not_negative(self.slack), "theta_slack", self.slack, "finite and not negative")?;
        require((0.0..=1.0).contains(&self.gain), "theta_gain", self.gain, "between 0 and 1")?;
        Ok(self)
    }

    /// Lines 34-37: `judged` are the holdout losses that count, `train` and `holdout` the fitting
    /// losses whose ratio warns of overfitting (the same numbers unless the scoring differs).
    pub fn judge(&self, judged: &[f64], train: &[f64], holdout: &[f64]) -> Judgement {
        let (loss_avg, loss_max) = average_and_largest(judged);
        let loss_ratio = loss_ratio(train, holdout);
        let cost = if loss_ratio <= self.ratio { loss_avg } else { loss_max };
        Judgement { loss_avg, loss_max, loss_ratio, cost }
    }

    /// Lines 24-26: among the nearly cheapest, the one whose cost and worst split together are
    /// least. The first one wins a tie; candidates with an undefined cost do not compete.
    pub fn choose(&self, candidates: &[Judgement]) -> Option<usize> {
        let cheapest = candidates[first_least(candidates, |c| c.cost)?].cost;
        let limit = (1.0 + self.slack) * cheapest;
        first_least(candidates, |c| if c.cost <= limit { c.cost + c.loss_max } else { f64::NAN })
    }

    /// Line 9: the baseline stays unless the candidates' choice is cheaper by the gain (reading R12:
    /// equality keeps the baseline).
    pub fn choose_against(
        &self,
        candidates: &[Judgement],
        baseline: &[Judgement],
    ) -> Option<Choice> {
        match (self.choose(candidates), self.choose(baseline)) {
            (Some(c), Some(b)) => {
                let better = candidates[c].cost < (1.0 - self.gain) * baseline[b].cost;
                Some(if better { Choice::Candidate(c) } else { Choice::Baseline(b) })
            }
            (Some(c), None) => Some(Choice::Candidate(c)),
            (None, b) => b.map(Choice::Baseline),
        }
    }
}

/// The candidate with the least mean holdout loss; the first wins a tie.
pub fn choose_standard(candidates: &[Judgement]) -> Option<usize> {
    first_least(candidates, |c| c.loss_avg)
}

/// The first candidate (they are ordered from most to least regularised) whose mean holdout loss is
/// within one standard deviation of the least one; `losses[c]` are candidate `c`'s on every split.
///
/// The least loss is a mean over splits, so its standard deviation is that of the losses over the root
/// of their number (Hastie, Tibshirani, Friedman 2009, section 7.10).
pub fn choose_one_sd(candidates: &[Judgement], best_losses: &[f64]) -> Option<usize> {
    let best = candidates[choose_standard(candidates)?].loss_avg;
    let count = best_losses.len() as f64;
    let variance = best_losses.iter().map(|l| (l - best).powi(2)).sum::<f64>();
    let deviation = (variance / (count - 1.0).max(1.0) / count.max(1.0)).sqrt();
    candidates.iter().position(|c| c.loss_avg <= best + deviation)
}

/// Position of the first least value; NaN and infinity do not compete unless nothing else is there.
fn first_least(candidates: &[Judgement], value: impl Fn(&Judgement) -> f64) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (i, candidate) in candidates.iter().enumerate() {
        let v = value(candidate);
        if !v.is_nan() && best.is_none_or(|(_, least)| v < least) {
            best = Some((i, v));
        }
    }
    best.map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(loss_avg: f64, loss_max: f64, cost: f64) -> Judgement {
        Judgement { loss_avg, loss_max, loss_ratio: 1.0, cost }
    }

    #[test]
    fn ratios_of_nothing_follow_the_reading() {
        assert_eq!(loss_ratio(&[0.0, 1e-13], &[0.0, 1e-13]), 1.0);
        assert_eq!(loss_ratio(&[0.0, 1.0], &[0.5, 1.0]), f64::INFINITY);
        assert_eq!(loss_ratio(&[0.5, 1.0], &[1.0, 4.0]), 3.0);
    }

    #[test]
    fn a_high_ratio_makes_the_worst_split_the_cost() {
        let rules = Thresholds::default();
        assert_eq!(rules.judge(&[1.0, 3.0], &[1.0, 1.0], &[1.0, 3.0]).cost, 2.0);
        assert_eq!(rules.judge(&[1.0, 3.0], &[0.1, 0.1], &[1.0, 3.0]).cost, 3.0);
    }

    #[test]
    fn slack_prefers_the_better_worst_case_and_the_first_of_equals() {
        let rules = Thresholds::default();
        let table =
            [judgement(1.0, 9.0, 1.0), judgement(1.05, 2.0, 1.05), judgement(1.05, 2.0, 1.05)];
        assert_eq!(rules.choose(&table), Some(1));
        assert_eq!(choose_standard(&table), Some(0));
        assert_eq!(rules.choose(&[]), None);
    }

    #[test]
    fn the_baseline_stays_unless_beaten_by_the_gain() {
        let rules = Thresholds { gain: 0.5, ..Thresholds::default() };
        let base = [judgement(1.0, 1.0, 1.0)];
        let equal = [judgement(0.5, 0.5, 0.5)];
        let better = [judgement(0.49, 0.5, 0.49)];
        assert_eq!(rules.choose_against(&equal, &base), Some(Choice::Baseline(0)));
        assert_eq!(rules.choose_against(&better, &base), Some(Choice::Candidate(0)));
        assert_eq!(rules.choose_against(&better, &[]), Some(Choice::Candidate(0)));
    }

    #[test]
    fn one_standard_deviation_takes_the_most_regularised() {
        let table = [judgement(1.2, 2.0, 1.2), judgement(1.1, 2.0, 1.1), judgement(1.0, 2.0, 1.0)];
        // Standard deviation of the mean of (0.7, 1.3): 0.6 / 2 = 0.3.
        assert_eq!(choose_one_sd(&table, &[0.7, 1.3]), Some(0));
        assert_eq!(choose_one_sd(&table, &[0.85, 1.15]), Some(1));
        assert_eq!(choose_one_sd(&table, &[1.0, 1.0]), Some(2));
    }
}
