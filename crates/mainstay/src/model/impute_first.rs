//! An estimator that fills missing cells from the other features first.

use super::{Estimator, Fitted, GaussianLinear, Linear, Link, Model};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::uncertainty::feature_model::{FeatureModel, Rows, Shrinkage};

/// Fits to rows whose missing cells (NaN) are at their conditional means under a Gaussian model of the features, which
/// becomes part of the model: rows to predict are filled alike, and probabilities of logistic models are averaged over what the
/// other features leave open. Linear models only.
pub struct ImputeFirst<'a>(pub &'a dyn Estimator);

impl Estimator for ImputeFirst<'_> {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let (features, filled) = Self::fill(data, control)?;
        let mut fitted = self.0.fit(&filled, control)?;
        fitted.model = match fitted.model {
            Model::Linear(linear) => {
                let rates = base_rates(data, &linear);
                let model = GaussianLinear::new(linear, features, Vec::new(), [0.0; 2], 0.0);
                Model::GaussianLinear(model.with_base_rates(&rates)?)
            }
            Model::GaussianLinear(model) => Model::GaussianLinear(model),
            _ => {
                return Err(Error::BadData(
                    "filling cells from the other features (gaussian) is for linear models: this method's model has \
                     no hyperplane; fill with means or medians"
                        .into(),
                ));
            }
        };
        Ok(fitted)
    }
}

impl ImputeFirst<'_> {
    /// The model of the features, and the rows with every missing cell at its conditional mean under it. Labels are not
    /// looked at.
    pub fn fill(data: &Dataset, control: &Control) -> Result<(FeatureModel, Dataset)> {
        let x = data.features().to_dense();
        let rows = Rows { x: &x, weights: data.weights(), errors: None };
        let features = FeatureModel::learn(rows, Shrinkage::default(), control)?;
        let filled = features.posterior(&x, None)?.mean;
        Ok((features, data.replace_features(filled.into())))
    }
}

/// Share of the class that each score speaks for; none where scores are not log odds.
fn base_rates(data: &Dataset, linear: &Linear) -> Vec<f64> {
    if linear.link != Link::Logistic {
        return Vec::new();
    }
    let weight = |i: usize| data.weights().map_or(1.0, |w| w[i]);
    let total: f64 = (0..data.len()).map(weight).sum();
    let share = |class: usize| -> f64 {
        (0..data.len()).filter(|&i| data.labels()[i] == class).map(weight).sum::<f64>() / total
    };
    if linear.coef.len() == 1 {
        vec![share(1)]
    } else {
        (0..linear.coef.len()).map(share).collect()
    }
}
