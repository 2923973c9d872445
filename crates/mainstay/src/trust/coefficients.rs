//! Weights in the user's units and per standard deviation, odds ratios, and how steady they are.

use serde::{Deserialize, Serialize};

use super::refits::quantile;
use crate::model::{Linear, Link, Model, TrainingSummary};

/// One feature's part in a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// The feature.
    pub feature: String,
    /// Change of the score for one unit of the feature.
    pub weight: f64,
    /// Change of the score for one standard deviation of the training rows.
    pub per_sd: Option<f64>,
    /// Factor on the odds for one unit, where scores are log odds.
    pub odds_ratio: Option<f64>,
    /// Factor on the odds for one standard deviation.
    pub odds_ratio_per_sd: Option<f64>,
    /// What refits make of it.
    pub steadiness: Option<Steadiness>,
}

/// A weight over refits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// 2.5 % of the refits give less.
    pub low: f64,
    /// 2.5 % of the refits give more.
    pub high: f64,
    /// Share of the refits that give the same sign.
    pub same_sign: f64,
}

/// The decision for one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassCoefficients {
    /// The class that a positive score speaks for; of more than two, against the rest.
    pub class: String,
    /// Score of a row of zeros.
    pub intercept: f64,
    /// What refits make of the intercept.
    pub intercept_steadiness: Option<Steadiness>,
    /// Score of the mean training row.
    pub at_the_mean: Option<f64>,
    /// One entry per feature, in their order.
    pub features: Vec<Coefficient>,
}

/// Whether a score is the logarithm of odds.
pub(super) fn log_odds(link: Link) -> bool {
    matches!(link, Link::Logistic | Link::Softmax)
}

/// One entry per hyperplane; none if the model has no hyperplanes. `refits` of the model say how steady each weight is.
pub fn coefficients(
    model: &Model,
    names: &[String],
    classes: &[String],
    training: Option<&TrainingSummary>,
    refits: &[Model],
) -> Vec<ClassCoefficients> {
    let Some(linear) = model.weights() else { return Vec::new() };
    let refits: Vec<Linear> = refits.iter().filter_map(Model::weights).collect();
    let ranges = training.and_then(|t| t.features.as_ref());
    let odds = log_odds(linear.link);
    let one = |k: usize| {
        let (weights, intercept) = (&linear.coef[k], linear.intercept[k]);
        let steady = |value: f64, pick: &dyn Fn(&Linear) -> f64| {
            (!refits.is_empty()).then(|| Steadiness::new(value, refits.iter().map(pick).collect()))
        };
        let feature = |(j, name): (usize, &String)| {
            let weight = weights[j];
            let per_sd = ranges.map(|r| weight * r.deviations[j]);
            Coefficient {
                feature: name.clone(),
                weight,
                per_sd,
                odds_ratio: odds.then(|| weight.exp()),
                odds_ratio_per_sd: per_sd.filter(|_| odds).map(f64::exp),
                steadiness: steady(weight, &|m| m.coef[k][j]),
            }
        };
        let class = if linear.coef.len() == 1 { 1 } else { k };
        let mean = ranges.map(|r| crate::linalg::vector::dot(weights, &r.means) + intercept);
        ClassCoefficients {
            class: classes[class].clone(),
            intercept,
            intercept_steadiness: steady(intercept, &|m| m.intercept[k]),
            at_the_mean: mean,
            features: names.iter().enumerate().map(feature).collect(),
        }
    };
    (0..linear.coef.len()).map(one).collect()
}

impl Steadiness {
    fn new(value: f64, mut values: Vec<f64>) -> Self {
        let sign = |v: f64| v.partial_cmp(&0.0);
        let same = values.iter().filter(|v| sign(**v) == sign(value)).count();
        let same_sign = same as f64 / values.len() as f64;
        values.sort_by(f64::total_cmp);
        Self { low: quantile(&values, 0.025), high: quantile(&values, 0.975), same_sign }
    }
}
