//! Parameters and data in, a fitted model out.

use super::average::{Blurred, Expected, Met};
use super::labels::{Correction, Rates};
use super::params::{Protect, RobustLogisticParams, Strength};
use super::training::{InParts, Training, counts, shares};
use super::worst_problem::WorstLoss;
use super::{averaged, tuning, worst};
use crate::control::Control;
use crate::data::{Dataset, Merged};
use crate::error::{Error, Result};
use crate::folds::{Parts, fold_warning};
use crate::linalg::Dense;
use crate::model::{
    BinaryFit, Estimator, Fitted, GaussianLinear, Linear, Link, Model, Output, assemble, each_class,
};
use crate::uncertainty::feature_model::{FeatureModel, Rows, Shrinkage};

/// Logistic regression that is told what may be wrong: labels wrong at known rates, cells missing, cells measured
/// with error.
///
/// ```math
/// \min_{w, b}\ \frac{\alpha}{2}\|w\|^2 + \sum_i s_i\, E\,\varphi\big(y_i (w^\top x_i + b)\big)
/// ```
///
/// over rows `$x_i$` drawn from what is known of them: a Gaussian model of the features, learned from the rows, gives
/// the distribution of missing and inexact cells, and features that will be missing at prediction are lost at
/// random. Convex, with a proven gap, but for `correction = "forward"` and `"averaged"` ([`Correction`]). The intercept is free. Nothing stated and
/// no cell missing, it is the L2-penalised logistic regression.
///
/// Labels: `forward` maximises the likelihood of the observed labels; with `after` they are fitted as they are and `$P(\text{true}) = (P(\text{observed}) -
/// r_0)/(1 - r_0 - r_1)$`, clipped. Predictions average over what is open of a row beyond what the fit has met; a row without
/// any measured feature gets about the base rate.
///
/// ```
/// use mainstay::data::Dataset;
/// use mainstay::linalg::Dense;
/// use mainstay::model::Estimator;
/// use mainstay::robust::RobustLogisticParams;
///
/// let x = Dense::from_fn(40, 2, |i, j| if i == j { f64::NAN } else { ((i * 7 + j * 3) % 11) as f64 });
/// let labels = (0..40).map(|i| usize::from((i * 7) % 11 > 5)).collect();
/// let data = Dataset::with_gaps(x.into(), labels, 2)?;
/// let fitted = RobustLogisticParams::default().check()?.fit(&data, &Default::default())?;
/// assert!(fitted.dual_gap().is_some_and(|gap| gap <= 1e-6));
/// # Ok::<(), mainstay::Error>(())
/// ```
///
/// Parameters are checked; the field is private, so holding one is proof of validity.
#[derive(Debug, Clone)]
pub struct RobustLogistic(RobustLogisticParams);

impl RobustLogistic {
    pub(super) fn new(params: RobustLogisticParams) -> Self {
        Self(params)
    }
}

impl Estimator for RobustLogistic {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let params = &self.0;
        let Learnt { merged, expected, x, model } = Learnt::new(params, data, control)?;
        if params.protect == Protect::Worst {
            return worst::fit(params, data, Learnt { merged, expected, x, model }, control);
        }
        let shares = shares(&merged.data);
        let known = model.posterior(&x, expected.errors.as_ref())?;
        let met = Met::new(&known, &shares, &model, &expected)?;
        let mut rows = Blurred::new(known.mean, &model, &expected)?;
        let centre =
            if params.fit_intercept { rows.mean.means(&shares) } else { vec![0.0; x.ncols()] };
        rows.shift(&centre);
        let rates = params.wrong_labels.rates(data.n_classes())?;
        let labels = merged.data.labels();
        let n_classes = data.n_classes();
        let copies = counts(data, &merged);
        let training = Training {
            params,
            rows: &rows,
            labels,
            shares: &shares,
            copies: &copies,
            rates,
            n_classes,
        };
        let parts = Parts::of(&merged.data).map(|parts| InParts::new(&training, &parts, &merged));
        let in_parts = parts.as_ref().map(|parts| parts.training(&training));
        let dealt = in_parts.as_ref().unwrap_or(&training);
        let stated = Stated { params, rates, errors: expected.shared.as_ref(), met };
        if params.correction == Correction::Averaged {
            let found = averaged::fit(dealt, control)?;
            let fits = each_class(&merged, control, |binary| {
                Ok(training.averaged(binary, &found, &centre))
            })?;
            return finish(&merged, &fits, &stated, model, (found.alpha, Some(found.table)));
        }
        let (alpha, table) = match params.alpha {
            Strength::Fixed(alpha) => (alpha, None),
            Strength::Rule(_) => {
                let (alpha, table) = control.install(|| tuning::choose(dealt, control))?;
                (alpha, Some(table))
            }
        };
        let fits =
            each_class(&merged, control, |binary| training.fit(binary, alpha, &centre, control))?;
        finish(&merged, &fits, &stated, model, (alpha, table))
    }
}

/// Rows, the stated damage, and what the features know about each other.
pub(super) struct Learnt {
    pub merged: Merged,
    pub expected: Expected,
    /// NaN where a cell is missing.
    pub x: Dense,
    pub model: FeatureModel,
}

impl Learnt {
    fn new(params: &RobustLogisticParams, data: &Dataset, control: &Control) -> Result<Self> {
        let merged = Merged::new(&*params.class_weight.applied(data)?);
        let expected = params.expected(&merged.data)?;
        let x = merged.data.features().to_dense();
        if x.data().iter().any(|v| v.abs() > 1e100) {
            let text = "a feature value above 1e100: rescale the features";
            return Err(Error::BadData(text.into()));
        }
        let counts = counts(data, &merged);
        let rows = Rows { x: &x, weights: Some(&counts), errors: expected.errors.as_ref() };
        let shrinkage =
            if params.feature_model { Shrinkage::default() } else { Shrinkage::Fixed(1.0) };
        let model = control.install(|| FeatureModel::learn(rows, shrinkage, control))?;
        Ok(Self { merged, expected, x, model })
    }
}

/// Probability that each label is right; 1 for rows that were left out.
///
/// One-versus-rest problems each judge a label; the one of the label's own class is asked.
fn label_posterior(merged: &Merged, fits: &[BinaryFit]) -> Vec<f64> {
    let own = |k: usize| {
        let class = merged.data.labels()[k];
        let fit = if fits.len() == 1 { &fits[0] } else { &fits[class] };
        fit.row_outputs[0].1[k]
    };
    merged.position.iter().map(|position| position.map_or(1.0, own)).collect()
}

/// What a model has to know of the fit.
pub(super) struct Stated<'a> {
    pub params: &'a RobustLogisticParams,
    pub rates: Rates,
    /// Errors of rows to predict.
    pub errors: Option<&'a Vec<f64>>,
    pub met: Met,
}

/// Puts the answers to the binary problems together.
pub(super) fn finish(
    merged: &Merged,
    fits: &[BinaryFit],
    stated: &Stated<'_>,
    features: FeatureModel,
    (alpha, table): (f64, Option<Output>),
) -> Result<Fitted> {
    let Stated { params, rates, errors, met } = stated;
    let after = params.correction == Correction::After && rates.any();
    let afterwards = if after { [rates.negative, rates.positive] } else { [0.0; 2] };
    let linear = Linear {
        coef: fits.iter().map(|f| f.weights.clone()).collect(),
        intercept: fits.iter().map(|f| f.intercept).collect(),
        link: match params.loss {
            WorstLoss::Logistic => Link::Logistic,
            WorstLoss::Hinge => Link::None,
        },
    };
    let floor = 1.0 / (merged.data.len() as f64 + 2.0);
    let model = GaussianLinear::new(
        linear,
        features,
        errors.cloned().unwrap_or_default(),
        afterwards,
        floor,
    );
    let model = model.having_met(|w| met.variance(w));
    let corrected = (!after && rates.any()).then_some(rates);
    let model = model.with_base_rates(&base_rates(merged, corrected, floor))?;
    let mut fitted = assemble(merged, Model::GaussianLinear(model), params.tol, fits);
    fitted = fitted.with("label_posterior", label_posterior(merged, fits)).with("alpha", alpha);
    if let Some(table) = table {
        fitted.warnings.extend(fold_warning(&merged.data, params.n_folds));
        fitted = fitted.with("cv_results", table);
    }
    Ok(fitted)
}

/// Share of the class that is +1 in each binary problem: of the labels, or, where `rates` of them are wrong, of the true
/// classes, at least `floor` from 0 and 1.
fn base_rates(merged: &Merged, rates: Option<&Rates>, floor: f64) -> Vec<f64> {
    let shares = shares(&merged.data);
    let rate = |class: usize| -> f64 {
        let own = merged.data.labels().iter().zip(&shares).filter(|(label, _)| **label == class);
        own.map(|(_, share)| share).sum()
    };
    let classes = merged.data.n_classes();
    let labelled = if classes == 2 { vec![rate(1)] } else { (0..classes).map(rate).collect() };
    let Some(rates) = rates else { return labelled };
    let own = |share: f64| (share - rates.negative) / rates.kept();
    labelled.into_iter().map(|share| own(share).clamp(floor, 1.0 - floor)).collect()
}
