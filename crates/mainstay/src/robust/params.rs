//! Parameters of the robust logistic regression.

use serde::{Deserialize, Serialize};

use super::average::Expected;
use super::estimator::RobustLogistic;
use super::labels::{Correction, WrongLabels};
use super::worst_problem::WorstLoss;
use crate::data::{ClassWeight, Dataset, RowUncertainty};
use crate::error::{Error, Result, require};
use crate::linalg::Dense;

/// Strength of the penalty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "must be a number or \"cv\"")]
pub enum Strength {
    /// This much.
    Fixed(f64),
    /// Chosen by cross-validation along a warm-started path.
    Rule(StrengthRule),
}

/// Named rules for [`Strength`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StrengthRule {
    /// Cross-validated loss.
    Cv,
}

/// One number for all features, or one for each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "must be a number or one number per feature")]
pub enum PerFeature {
    /// The same for all.
    Same(f64),
    /// One for each feature.
    Each(Vec<f64>),
}

impl PerFeature {
    /// One number for each of `p` features.
    pub(super) fn values(&self, p: usize, name: &'static str) -> Result<Vec<f64>> {
        match self {
            Self::Same(value) => Ok(vec![*value; p]),
            Self::Each(values) if values.len() == p => Ok(values.clone()),
            Self::Each(values) => Err(Error::param(
                name,
                format!("{} numbers", values.len()),
                format!("one number, or one for each of the {p} features"),
            )),
        }
    }

    fn all(&self, holds: impl Fn(f64) -> bool) -> Option<f64> {
        let values = match self {
            Self::Same(value) => std::slice::from_ref(value),
            Self::Each(values) => values,
        };
        values.iter().copied().find(|v| !holds(*v))
    }
}

/// Against what a fit protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protect {
    /// Random damage: the expected loss is minimised.
    #[default]
    Average,
    /// An adversary: the loss under the worst damage within what is stated is minimised.
    Worst,
}

/// Parameters of [`RobustLogistic`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RobustLogisticParams {
    /// Strength of the penalty.
    pub alpha: Strength,
    /// How many labels are wrong.
    pub wrong_labels: WrongLabels,
    /// Standard deviations of the measurement errors of rows to predict; those of training rows come with the data.
    pub errors: Option<PerFeature>,
    /// Expected share of rows in which a feature will be missing at prediction.
    pub missing: PerFeature,
    /// Random damage, or the worst within what is stated: every row anywhere in the ellipsoid with `errors` as
    /// half-axes, and without as many features as `missing` adds up to.
    pub protect: Protect,
    /// With `protect = "worst"`: the share of the rows whose mean loss is minimised, those with the largest losses.
    pub worst_share: f64,
    /// With `protect = "worst"`: the loss of a margin.
    pub loss: WorstLoss,
    /// What is done about wrong labels.
    pub correction: Correction,
    /// Whether features are predicted from each other; otherwise a missing one is at its mean.
    pub feature_model: bool,
    /// Weight of each class.
    pub class_weight: ClassWeight,
    /// Whether there is an intercept.
    pub fit_intercept: bool,
    /// Proven relative gap to reach.
    pub tol: f64,
    /// Iteration limit.
    pub max_iter: usize,
    /// Number of strengths that `alpha = "cv"` tries.
    pub n_alphas: usize,
    /// Folds of the cross-validation.
    pub n_folds: usize,
    /// Seed of the folds; `None` is 0.
    pub random_state: Option<u64>,
}

impl Default for RobustLogisticParams {
    fn default() -> Self {
        Self {
            alpha: Strength::Rule(StrengthRule::Cv),
            wrong_labels: WrongLabels::Share(0.0),
            errors: None,
            missing: PerFeature::Same(0.0),
            protect: Protect::default(),
            worst_share: 1.0,
            loss: WorstLoss::default(),
            correction: Correction::default(),
            feature_model: true,
            class_weight: ClassWeight::None,
            fit_intercept: true,
            tol: 1e-6,
            max_iter: 200,
            n_alphas: 20,
            n_folds: 5,
            random_state: None,
        }
    }
}

impl RobustLogisticParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<RobustLogistic> {
        if let Strength::Fixed(alpha) = self.alpha {
            require(alpha > 0.0 && alpha.is_finite(), "alpha", alpha, "positive and finite")?;
        }
        self.wrong_labels.check()?;
        let good = |e: f64| e >= 0.0 && e.is_finite();
        if let Some(bad) = self.errors.as_ref().and_then(|errors| errors.all(good)) {
            return Err(Error::param("errors", bad, "finite and not negative"));
        }
        if let Some(bad) = self.missing.all(|q| (0.0..1.0).contains(&q)) {
            return Err(Error::param("missing", bad, "a share of at least 0 and below 1"));
        }
        self.check_worst()?;
        self.check_averaged()?;
        require(self.tol > 0.0 && self.tol < 1.0, "tol", self.tol, "in (0, 1)")?;
        require(self.max_iter > 0, "max_iter", self.max_iter, "at least 1")?;
        require(self.n_alphas > 0, "n_alphas", self.n_alphas, "at least 1")?;
        require(self.n_folds > 1, "n_folds", self.n_folds, "at least 2")?;
        Ok(RobustLogistic::new(self))
    }

    /// What goes with `protect = "worst"` only, and what does not go with it.
    fn check_worst(&self) -> Result<()> {
        let good = self.worst_share > 0.0 && self.worst_share <= 1.0;
        require(good, "worst_share", self.worst_share, "above 0 and at most 1")?;
        let hinge = self.loss == WorstLoss::Hinge;
        match self.protect {
            Protect::Average => {
                let rule = "1 unless protect=\"worst\": the average is over all rows";
                require(self.worst_share >= 1.0, "worst_share", self.worst_share, rule)?;
                let rule = "\"logistic\" unless protect=\"worst\"";
                require(!hinge, "loss", "hinge", rule)
            }
            Protect::Worst if self.wrong_labels.none() => Ok(()),
            Protect::Worst => {
                let rule = "0 with loss=\"hinge\", whose label correction is not convex";
                require(!hinge, "wrong_labels", "above 0", rule)?;
                let rule = "\"after\" or \"backward\" with protect=\"worst\" and wrong labels: forward \
                            correction is not convex, and nothing could be proven";
                require(self.correction != Correction::Forward, "correction", "forward", rule)
            }
        }
    }

    /// What does not go with `correction = "averaged"`.
    fn check_averaged(&self) -> Result<()> {
        if self.correction != Correction::Averaged {
            return Ok(());
        }
        let refuse = |name, given: &str, rule: &str| Err(Error::param(name, given, rule));
        if self.protect == Protect::Worst {
            let rule =
                "\"after\" or \"backward\" with protect=\"worst\": no worst case is averaged";
            return refuse("correction", "averaged", rule);
        }
        if let Strength::Fixed(alpha) = self.alpha {
            let rule = "\"cv\" with correction=\"averaged\", whose fits each choose their own; a number goes with \"forward\"";
            return refuse("alpha", &alpha.to_string(), rule);
        }
        if self.errors.as_ref().is_some_and(|errors| errors.all(|e| e == 0.0).is_some()) {
            let rule = "None with correction=\"averaged\", which averages over labels alone; take \"forward\"";
            return refuse("errors", "above 0", rule);
        }
        if self.missing.all(|q| q == 0.0).is_some() {
            let rule = "0 with correction=\"averaged\", which averages over labels alone; take \"forward\"";
            return refuse("missing", "above 0", rule);
        }
        Ok(())
    }

    /// The stated damage for rows of `data`.
    pub(super) fn expected(&self, data: &Dataset) -> Result<Expected> {
        let p = data.n_features();
        let shared = match &self.errors {
            Some(errors) => {
                Some(errors.values(p, "errors")?).filter(|e| e.iter().any(|v| *v > 0.0))
            }
            None => None,
        };
        let errors = match data.uncertainty() {
            Some(RowUncertainty::Axes(axes)) => Some(axes.clone()),
            Some(RowUncertainty::Radii(radii)) => {
                Some(Dense::from_fn(data.len(), p, |i, _| radii[i]))
            }
            Some(_) => {
                return Err(Error::BadData(
                    "errors: one standard deviation per row or per cell is needed, not matrices"
                        .into(),
                ));
            }
            None => None,
        };
        let missing = self.missing.values(p, "missing")?;
        let missing = missing.iter().any(|q| *q > 0.0).then_some(missing);
        Ok(Expected { errors, missing, shared })
    }
}
