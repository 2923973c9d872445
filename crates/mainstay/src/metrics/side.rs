//! One class against the rest.

use super::judged::{Costs, Judged};
use super::undefined::Undefined;

/// The rows as one class against the rest.
pub(super) struct Side<'a> {
    judged: &'a Judged<'a>,
    class: usize,
}

impl<'a> Side<'a> {
    pub(super) fn new(judged: &'a Judged<'a>, class: usize) -> Self {
        Self { judged, class }
    }

    pub(super) fn len(&self) -> usize {
        self.judged.truth().len()
    }

    pub(super) fn weight(&self, i: usize) -> f64 {
        self.judged.weight(i)
    }

    pub(super) fn positive(&self, i: usize) -> bool {
        self.judged.truth()[i] == self.class
    }

    pub(super) fn called(&self, i: usize) -> bool {
        self.judged.predicted()[i] == self.class
    }

    /// The threshold as seen from this side: class 0 is called above `1 - t` where class 1 is called from `t` on.
    pub(super) fn threshold(&self) -> f64 {
        let threshold = self.judged.threshold();
        if self.is_negative() { 1.0 - threshold } else { threshold }
    }

    /// Whether this is the negative one of two classes, whose side mirrors the other.
    fn is_negative(&self) -> bool {
        self.judged.n_classes() == 2 && self.class == 0
    }

    /// Costs as seen from this side.
    pub(super) fn costs(&self) -> Costs {
        let costs = self.judged.costs();
        if self.is_negative() {
            return Costs {
                false_positive: costs.false_negative,
                false_negative: costs.false_positive,
            };
        }
        costs
    }

    /// Scores that are larger where the class is likelier.
    pub(super) fn scores(&self) -> Result<Vec<f64>, Undefined> {
        let scores = self.judged.scores().ok_or(Undefined::NoScores)?;
        let (column, sign) = match (scores.ncols(), self.class) {
            (1, 0) => (0, -1.0),
            (1, _) => (0, 1.0),
            (_, class) => (class, 1.0),
        };
        let found: Vec<f64> = (0..self.len()).map(|i| sign * scores[(i, column)]).collect();
        if found.iter().any(|s| s.is_nan()) { Err(Undefined::NotANumber) } else { Ok(found) }
    }

    /// Probabilities of the class.
    pub(super) fn probabilities(&self) -> Result<Vec<f64>, Undefined> {
        let all = self.judged.probabilities().ok_or(Undefined::NoProbabilities)?;
        let found: Vec<f64> = (0..self.len()).map(|i| all[(i, self.class)]).collect();
        if found.iter().any(|p| p.is_nan()) { Err(Undefined::NotANumber) } else { Ok(found) }
    }

    /// Total weight of the positive and of the negative rows.
    pub(super) fn sizes(&self) -> (f64, f64) {
        (0..self.len()).fold((0.0, 0.0), |(positive, negative), i| {
            let w = self.weight(i);
            if self.positive(i) { (positive + w, negative) } else { (positive, negative + w) }
        })
    }

    /// As [`Side::sizes`], if both kinds occur.
    pub(super) fn both_sizes(&self) -> Result<(f64, f64), Undefined> {
        let (positive, negative) = self.sizes();
        if positive > 0.0 && negative > 0.0 {
            Ok((positive, negative))
        } else {
            Err(Undefined::OneClass)
        }
    }

    /// Weighted mean of a function of the label and the probability of the class.
    pub(super) fn mean(&self, of: impl Fn(bool, f64) -> f64) -> Result<f64, Undefined> {
        let p = self.probabilities()?;
        let (positive, negative) = self.sizes();
        let total: f64 = (0..p.len()).map(|i| self.weight(i) * of(self.positive(i), p[i])).sum();
        Ok(total / (positive + negative))
    }
}
