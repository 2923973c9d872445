//! A linear model that knows how its features hang together: rows may lack cells or be inexact.

use serde::{Deserialize, Serialize};

use super::probability_rows::probability_rows;
use super::{Linear, Link, choose};
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix, vector};
use crate::loss::expected_probability;
use crate::uncertainty::feature_model::FeatureModel;

/// Scores and probabilities averaged over what a Gaussian model of the features leaves open of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GaussianLinear {
    /// Scores complete exact rows: positive means that class 1 is the more probable one.
    pub linear: Linear,
    /// How features hang together.
    pub features: FeatureModel,
    /// Standard deviations of the errors of rows to predict, unless stated with them; empty: none.
    pub errors: Vec<f64>,
    /// Shares of the rows of either class whose labels were wrong, where that is corrected afterwards.
    pub wrong_labels: [f64; 2],
    /// Corrected probabilities are at least this far from 0 and 1.
    pub floor: f64,
    /// What a row gets of which nothing is measured, one for each score; empty: what the normal distribution says.
    #[serde(default)]
    pub unmeasured: Vec<Unmeasured>,
    /// Variance of each score that the fit has met already in rows as open as those it was fitted to or told of; only
    /// what is open beyond it is averaged over. Empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub met: Vec<f64>,
}

/// How the log odds of a row of which nothing is measured have to move to be those of the training rows.
///
/// The average of probabilities over a normal distribution of the rows is not the base rate where features are
/// skewed. A row of which a part is measured moves in proportion to the variance that is left open.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Unmeasured {
    /// Variance of its score.
    pub variance: f64,
    /// By how much its log odds move.
    pub shift: f64,
}

impl GaussianLinear {
    /// From a model of the observed labels; its intercepts are moved so that the sign of a score is the prediction.
    pub fn new(
        mut linear: Linear,
        features: FeatureModel,
        errors: Vec<f64>,
        wrong_labels: [f64; 2],
        floor: f64,
    ) -> Self {
        let shift = threshold(wrong_labels);
        linear.intercept.iter_mut().for_each(|b| *b -= shift);
        let (unmeasured, met) = (Vec::new(), Vec::new());
        Self { linear, features, errors, wrong_labels, floor, unmeasured, met }
    }

    /// With the variance that the fit has met, from the weights of every score; before [`Self::with_base_rates`].
    #[must_use]
    pub fn having_met(mut self, variance: impl Fn(&[f64]) -> f64) -> Self {
        self.met = self.linear.coef.iter().map(|w| variance(w)).collect();
        if self.met.iter().all(|v| *v <= 0.0) {
            self.met.clear();
        }
        self
    }

    /// A row of which nothing is measured gets these probabilities of the observed labels, one for each score.
    pub fn with_base_rates(mut self, rates: &[f64]) -> Result<Self> {
        if self.linear.link != Link::Logistic {
            return Ok(self);
        }
        let nothing = Dense::from_rows(1, self.n_features(), vec![f64::NAN; self.n_features()]);
        let (means, variances) = self.moments(&nothing.into(), None)?;
        let shift = threshold(self.wrong_labels);
        let one = |(k, rate): (usize, &f64)| {
            let wanted = (rate / (1.0 - rate)).ln();
            let (variance, now) = (variances[(0, k)], means[(0, k)] + shift);
            let usable = wanted.is_finite() && variance > 0.0;
            let moved = if usable { wanted - averaged(now, variance) } else { 0.0 };
            Unmeasured { variance, shift: moved }
        };
        self.unmeasured = rates.iter().enumerate().map(one).collect();
        Ok(self)
    }

    /// By how much the log odds of a row move whose score has this variance.
    fn moved(&self, k: usize, variance: f64) -> f64 {
        self.unmeasured
            .get(k)
            .filter(|u| u.variance > 0.0)
            .map_or(0.0, |u| u.shift * (variance / u.variance).min(1.0))
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.linear.n_features()
    }

    /// The hyperplane, where it scores complete rows as they are.
    pub(super) fn plain(&self) -> Option<&Linear> {
        self.errors.is_empty().then_some(&self.linear)
    }

    /// Mean of the raw score of every row, and the variance that is open beyond what the fit has met (row, class).
    fn moments(&self, x: &Matrix, errors: Option<&Dense>) -> Result<(Dense, Dense)> {
        let known = match errors {
            None if self.errors.is_empty() => None,
            None => Some(Dense::from_rows(1, self.errors.len(), self.errors.clone())),
            Some(errors) => Some(errors.clone()),
        };
        if known.is_none() && vector::all_finite(x.values()) {
            let means = self.linear.decision(x);
            let zeros = Dense::zeros(means.nrows(), means.ncols());
            return Ok((means, zeros));
        }
        let found = self.features.posterior(&x.to_dense(), known.as_ref())?;
        let means = self.linear.decision(&found.mean.into());
        let forms: Vec<Vec<f64>> = found
            .scatters
            .iter()
            .map(|scatter| self.linear.coef.iter().map(|w| scatter.form(w)).collect())
            .collect();
        let met = |k: usize| self.met.get(k).copied().unwrap_or(0.0);
        let variances = Dense::from_fn(means.nrows(), means.ncols(), |i, k| {
            (forms[found.group[i]][k] - met(k)).max(0.0)
        });
        Ok((means, variances))
    }

    /// Scores of rows with cells missing (NaN) and `errors` (one row for each, or one for all): the log odds of
    /// the averaged probability, less those at which both classes are equally probable.
    pub fn decision(&self, x: &Matrix, errors: Option<&Dense>) -> Result<Dense> {
        let (means, variances) = self.moments(x, errors)?;
        let shift = threshold(self.wrong_labels);
        Ok(Dense::from_fn(means.nrows(), means.ncols(), |i, k| {
            let (score, variance) = (means[(i, k)], variances[(i, k)]);
            if variance > 0.0 && self.linear.link == Link::Logistic {
                averaged(score + shift, variance) - shift + self.moved(k, variance)
            } else {
                score
            }
        }))
    }

    /// Class probabilities of such rows, one column for each class.
    pub fn probabilities(&self, x: &Matrix, errors: Option<&Dense>) -> Result<Dense> {
        let scores = self.decision(x, errors)?;
        if self.linear.link != Link::Logistic {
            let none = || Error::Mismatch("this model gives no probabilities".into());
            return self.linear.link.probabilities(&scores).ok_or_else(none);
        }
        let (shift, chosen) = (threshold(self.wrong_labels), choose(&scores));
        let [negative, positive] = self.wrong_labels;
        let corrected = |score: f64| {
            let p = 1.0 / (1.0 + (-(score + shift)).exp());
            if negative + positive > 0.0 {
                let p = (p - negative) / (1.0 - negative - positive);
                p.clamp(self.floor.min(0.5), 1.0 - self.floor.min(0.5))
            } else {
                p
            }
        };
        let classes = self.linear.n_classes();
        Ok(probability_rows(&scores, &chosen, classes, |scores, k, _| corrected(scores[k])))
    }

    /// Checks lengths and finiteness.
    pub(super) fn validate(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::BadModel(format!("model with missing cells: {what}")));
        let p = self.linear.n_features();
        let [negative, positive] = self.wrong_labels;
        if self.features.n_features() != p || !(self.errors.is_empty() || self.errors.len() == p) {
            return bad("weights, feature model and errors differ in length");
        }
        if !self.errors.iter().all(|e| e.is_finite() && *e >= 0.0) {
            return bad("an error is negative or not finite");
        }
        if !(negative >= 0.0 && positive >= 0.0 && negative + positive < 1.0) {
            return bad("label rates must not be negative and add up to less than 1");
        }
        if !(self.floor >= 0.0 && self.floor <= 1.0) {
            return bad("the floor of probabilities must be between 0 and 1");
        }
        let finite = |u: &Unmeasured| u.variance.is_finite() && u.shift.is_finite();
        let count = self.unmeasured.len();
        if (count != 0 && count != self.linear.coef.len()) || !self.unmeasured.iter().all(finite) {
            return bad("one finite shift for each score is needed, or none");
        }
        let known = self.met.iter().all(|v| v.is_finite() && *v >= 0.0);
        if !known || !(self.met.is_empty() || self.met.len() == self.linear.coef.len()) {
            return bad("one variance for each score is needed, or none");
        }
        self.features.validate()?;
        self.linear.validate()
    }
}

/// Log odds of the observed label at which both true classes are equally probable.
fn threshold([negative, positive]: [f64; 2]) -> f64 {
    ((1.0 + negative - positive) / (1.0 - negative + positive)).ln()
}

/// Log odds of `$E\,\sigma(S)$`, `$S \sim N(\mu, v)$`.
fn averaged(score: f64, variance: f64) -> f64 {
    let (p, q) = (expected_probability(score, variance), expected_probability(-score, variance));
    // In the tails of the normal nothing is left; the order of the scores must not be lost there.
    if p > 1e-12 && q > 1e-12 {
        (p / q).ln()
    } else {
        score / (1.0 + std::f64::consts::PI * variance / 8.0).sqrt()
    }
}
