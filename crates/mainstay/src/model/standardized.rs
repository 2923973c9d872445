//! Models of standardised features, for rows in raw units.

use serde::{Deserialize, Serialize};

use super::{Calibrated, Estimator, Fitted, Linear, Model, ScoreMap};
use crate::control::Control;
use crate::data::{Dataset, Standardize};
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix};

/// A model on standardised features, and how to get there from raw ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standardized {
    /// Subtracted from every feature.
    pub means: Vec<f64>,
    /// Every feature is divided by its scale after centring.
    pub scales: Vec<f64>,
    /// Scores what comes out.
    pub model: Box<Model>,
}

impl Standardized {
    /// Scores of raw rows.
    pub(super) fn decision(&self, x: &Matrix) -> Result<Dense> {
        let scaling = Standardize { means: self.means.clone(), scales: self.scales.clone() };
        self.model.decision(&scaling.apply_stored(x))
    }

    /// Probabilities of raw rows.
    pub(super) fn probabilities(&self, x: &Matrix) -> Result<Option<Dense>> {
        let scaling = Standardize { means: self.means.clone(), scales: self.scales.clone() };
        if x.ncols() != self.means.len() {
            return self.decision(x).map(|_| None);
        }
        self.model.probabilities(&scaling.apply_stored(x))
    }

    /// Hyperplanes on standardised features as hyperplanes on raw ones.
    pub(super) fn raw_units(&self, linear: &Linear) -> Linear {
        let scaling = Standardize { means: self.means.clone(), scales: self.scales.clone() };
        raw_units(linear, &scaling)
    }

    /// Checks lengths and finiteness.
    pub(super) fn validate(&self) -> Result<()> {
        let p = self.model.n_features();
        let usable = self.means.iter().all(|m| m.is_finite())
            && self.scales.iter().all(|s| s.is_finite() && *s > 0.0);
        if self.means.len() != p || self.scales.len() != p || !usable {
            return Err(Error::BadModel(format!(
                "standardised model: {p} finite means and positive scales are needed"
            )));
        }
        if matches!(*self.model, Model::Standardized(_)) {
            return Err(Error::BadModel("standardised model: standardised twice".into()));
        }
        self.model.validate()
    }
}

/// An estimator that standardises the features first, with means and deviations learned on the rows it
/// is fitted to. Sparse features are divided by their deviations but not centred. Measurement errors that come
/// with the rows are scaled alike.
///
/// Linear models come back in the units of the raw features; others stay wrapped in
/// [`Standardized`]. Certificates and named results speak of the standardised problem.
pub struct StandardizeFirst<'a>(pub &'a dyn Estimator);

impl Estimator for StandardizeFirst<'_> {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let scaling = Standardize::learn_stored(data.features(), data.weights());
        let mut scaled = data.replace_features(scaling.apply_stored(data.features()));
        if let Some(errors) = data.uncertainty() {
            scaled = scaled.with_uncertainty(errors.divided(&scaling.scales))?;
        }
        Ok(self.0.fit(&scaled, control)?.in_raw_units(scaling))
    }
}

impl Fitted {
    /// A fit to features standardised by `scaling`, for rows in raw units: linear models in those units, others with
    /// the scaling in front. Certificates and named results still speak of the standardised problem.
    #[must_use]
    pub fn in_raw_units(mut self, scaling: Standardize) -> Self {
        self.training = self.training.map(|training| training.in_raw_units(&scaling));
        self.model = match self.model {
            Model::Linear(linear) => Model::Linear(raw_units(&linear, &scaling)),
            Model::Calibrated(Calibrated { model, maps }) if model.linear().is_some() => {
                calibrated_in_raw_units(*model, maps, scaling)
            }
            model => Model::Standardized(Standardized {
                means: scaling.means,
                scales: scaling.scales,
                model: Box::new(model),
            }),
        };
        self
    }
}

/// Hyperplanes under a map of their scores.
fn calibrated_in_raw_units(model: Model, maps: Vec<ScoreMap>, scaling: Standardize) -> Model {
    let model = match model {
        Model::Linear(linear) => Model::Linear(raw_units(&linear, &scaling)),
        model => {
            let (means, scales) = (scaling.means, scaling.scales);
            let model = Box::new(Model::Calibrated(Calibrated { model: Box::new(model), maps }));
            return Model::Standardized(Standardized { means, scales, model });
        }
    };
    Model::Calibrated(Calibrated { model: Box::new(model), maps })
}

fn raw_units(linear: &Linear, scaling: &Standardize) -> Linear {
    let rows = linear.coef.iter().zip(&linear.intercept);
    let (coef, intercept) = rows.map(|(w, b)| scaling.unscale(w, *b)).unzip();
    Linear { coef, intercept, link: linear.link }
}
