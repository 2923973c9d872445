//! Labels that are wrong at known rates.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, require};

/// How many labels are wrong.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "must be a share, or a pair of shares by class; \"auto\" is not offered, since an estimate from the rows \
                 cost more than it gained: an audit of the labels estimates how many are wrong"
)]
pub enum WrongLabels {
    /// The same share of the rows of every class.
    Share(f64),
    /// The share of the rows of each of two classes that carry the label of the other.
    Pair([f64; 2]),
}

/// What is done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Correction {
    /// The labels are fitted as they are; the probabilities are corrected afterwards.
    After,
    /// An unbiased estimate of the loss on true labels is minimised.
    Backward,
    /// The likelihood of the observed labels is maximised, which is not convex.
    #[default]
    Forward,
    /// Forward fits under four priors, each calibrated on held-out rows, are averaged.
    Averaged,
}

impl Correction {
    /// What one fit minimises where labels are wrong at `rates`: without any all are the plain convex problem.
    pub(super) fn within(self, rates: Rates) -> Self {
        match self {
            _ if !rates.any() => Self::After,
            Self::Averaged => Self::Forward,
            other => other,
        }
    }
}

/// Shares of wrong labels in one binary problem: of the rows that truly are -1, and of those that truly are +1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Rates {
    pub negative: f64,
    pub positive: f64,
}

impl WrongLabels {
    /// Whether no label is wrong.
    pub(super) fn none(self) -> bool {
        matches!(self, Self::Share(0.0) | Self::Pair([0.0, 0.0]))
    }

    pub(super) fn check(self) -> Result<()> {
        let shares = match self {
            Self::Share(r) => vec![r, r],
            Self::Pair(pair) => pair.to_vec(),
        };
        for r in &shares {
            require((0.0..1.0).contains(r), "wrong_labels", r, "at least 0 and below 1")?;
        }
        let sum: f64 = shares.iter().sum();
        require(
            sum < 1.0,
            "wrong_labels",
            format!("{shares:?}"),
            "shares that add up to less than 1 over two classes: beyond that labels say nothing",
        )
    }

    /// Rates of the problem "one class against the rest". A wrong label of more than two classes is any
    /// other class with equal probability.
    pub(super) fn rates(self, classes: usize) -> Result<Rates> {
        match self {
            Self::Share(r) => {
                let others = (classes - 1) as f64;
                let rates = Rates { negative: r / others, positive: r };
                require(
                    rates.negative + rates.positive < 1.0,
                    "wrong_labels",
                    r,
                    "below one half for two classes, and below 1 - 1/K for K",
                )?;
                Ok(rates)
            }
            Self::Pair([negative, positive]) if classes == 2 => Ok(Rates { negative, positive }),
            Self::Pair(pair) => Err(Error::param(
                "wrong_labels",
                format!("{pair:?}"),
                format!("one share for all: a pair is for two classes, here are {classes}"),
            )),
        }
    }
}

impl Rates {
    pub(super) fn any(self) -> bool {
        self.negative > 0.0 || self.positive > 0.0
    }

    /// The share of wrong labels among rows that truly have the sign of `y`.
    pub(super) fn of(self, y: f64) -> f64 {
        if y > 0.0 { self.positive } else { self.negative }
    }

    /// `$1 - r_- - r_+$`: how much of a difference between classes the labels keep.
    pub(super) fn kept(self) -> f64 {
        1.0 - self.negative - self.positive
    }

    /// The coefficient of `$-m$` in the backward-corrected logistic loss of a row labelled `y`: with
    /// `$\varphi(-m) = \varphi(m) + m$` the unbiased loss of Natarajan, Dhillon, Ravikumar and Tewari (2013), Lemma 1, is
    /// `$\varphi(m) - \frac{r_y}{1 - r_- - r_+} m$`.
    pub(super) fn slope(self, y: f64) -> f64 {
        self.of(y) / self.kept()
    }

    /// The probability that a label is right, from the probability `p` that a model fitted with `correction` gives it.
    pub(super) fn trusted(self, correction: Correction, y: f64, p: f64) -> f64 {
        let p = match correction {
            Correction::After => ((p - self.of(-y)) / self.kept()).clamp(0.0, 1.0),
            Correction::Backward | Correction::Forward | Correction::Averaged => p,
        };
        self.right(y, p)
    }

    /// The probability that a label is right, from the probability `p` that the row truly has it.
    pub(super) fn right(self, y: f64, p: f64) -> f64 {
        let right = (1.0 - self.of(y)) * p;
        let wrong = self.of(-y) * (1.0 - p);
        if right + wrong > 0.0 { right / (right + wrong) } else { 1.0 }
    }
}

/// The corrected loss has no minimum; `positive` is the share of the rows labelled positive.
pub(super) fn no_minimum(positive: f64) -> Error {
    Error::Infeasible(format!(
        "with `wrong_labels` as stated and {:.1} % of the rows labelled positive the corrected loss has no \
         minimum: fewer labels are wrong than stated; lower the rate or use correction=\"after\"",
        100.0 * positive
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::expected_logistic;

    /// Over the labels a true +1 may carry, the corrected loss has the plain loss as its mean.
    #[test]
    fn the_backward_corrected_loss_is_unbiased() {
        let rates = Rates { negative: 0.1, positive: 0.3 };
        let corrected = |y: f64, score: f64| {
            expected_logistic(y * score, 0.0).value - rates.slope(y) * y * score
        };
        for score in [-3.0, -0.2, 0.0, 1.7] {
            for truth in [-1.0, 1.0] {
                let r = rates.of(truth);
                let mean = (1.0 - r) * corrected(truth, score) + r * corrected(-truth, score);
                let plain = expected_logistic(truth * score, 0.0).value;
                assert!((mean - plain).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn rates_that_leave_nothing_are_refused() {
        assert!(WrongLabels::Share(0.5).check().is_err());
        assert!(WrongLabels::Pair([0.7, 0.3]).check().is_err());
        assert!(WrongLabels::Pair([-0.1, 0.3]).check().is_err());
        assert!(WrongLabels::Pair([0.6, 0.3]).check().is_ok());
        assert!(WrongLabels::Pair([0.1, 0.1]).rates(3).is_err());
    }

    #[test]
    fn a_label_is_right_with_bayes_probability() {
        let rates = Rates { negative: 0.2, positive: 0.0 };
        // Labelled +1: 0.5 truly so, 0.5 * 0.2 mislabelled.
        assert!((rates.right(1.0, 0.5) - 0.5 / 0.6).abs() < 1e-15);
        assert_eq!(rates.right(-1.0, 0.5), 1.0);
    }
}
