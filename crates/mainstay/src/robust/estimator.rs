//! Parameters and data in, a fitted model out.

use std::borrow::Cow;

use super::average::{Blurred, Expected, Met};
use super::averaged::{self, Averaged};
use super::certificate::certify;
use super::labels::{Correction, Rates, no_minimum};
use super::newton::{Hyperplane, minimise};
use super::params::{Protect, RobustLogisticParams, Strength};
use super::problem::Problem;
use super::worst_problem::WorstLoss;
use super::{tuning, worst};
use crate::certificate::Certificate;
use crate::control::Control;
use crate::data::{Dataset, Merged};
use crate::error::{Error, Result};
use crate::folds::fold_warning;
use crate::linalg::{Compensated, Dense};
use crate::loss::{CERTAIN, expected_probability};
use crate::model::{
    BinaryFit, BinaryProblem, Estimator, Fitted, GaussianLinear, Linear, Link, Model, Output,
    assemble, each_class,
};
use crate::optim::Budget;
use crate::uncertainty::feature_model::{FeatureModel, Rows, Shrinkage};

/// Rows per unknown of the first fit of very many rows.
const START_ROWS: usize = 20;
/// How many times as many rows there have to be.
const LEAST_STRIDE: usize = 4;
/// Gap of that fit: far below what more rows change.
const START_TOL: f64 = 1e-3;

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
        let training = Training { params, rows: &rows, labels, shares: &shares, rates, n_classes };
        let stated = Stated { params, rates, errors: expected.shared.as_ref(), met };
        if params.correction == Correction::Averaged {
            let found = averaged::fit(&training, control)?;
            let fits = each_class(&merged, control, |binary| {
                Ok(training.averaged(binary, &found, &centre))
            })?;
            return finish(&merged, &fits, &stated, model, (found.alpha, Some(found.table)));
        }
        let (alpha, table) = match params.alpha {
            Strength::Fixed(alpha) => (alpha, None),
            Strength::Rule(_) => {
                let (alpha, table) = control.install(|| tuning::choose(&training, control))?;
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

/// `b` plus `sign` times `$w^\top c$`, rounded once.
pub(super) fn moved(b: f64, w: &[f64], centre: &[f64], sign: f64) -> f64 {
    let mut sum = Compensated::new(b);
    w.iter().zip(centre).for_each(|(w, c)| sum.add_product(sign * w, *c));
    sum.value()
}

/// How often each merged row counts without class weights.
fn counts(data: &Dataset, merged: &Merged) -> Vec<f64> {
    let mut counts = vec![0.0; merged.data.len()];
    for (i, position) in merged.position.iter().enumerate() {
        if let Some(k) = position {
            counts[k] += data.weights().map_or(1.0, |w| w[i]);
        }
    }
    // A class weight of 0 drops rows, a row weight of 0 is dropped before: all counts are positive.
    counts
}

/// Row weights as parts of 1.
pub(super) fn shares(data: &Dataset) -> Vec<f64> {
    let weights = data.weights().map_or_else(|| vec![1.0; data.len()].into(), Cow::Borrowed);
    let largest = weights.iter().fold(0.0, |m: f64, w| m.max(*w));
    let total: f64 = weights.iter().map(|w| w / largest).sum();
    weights.iter().map(|w| w / largest / total).collect()
}

/// Everything a fit needs to know about its rows.
pub(super) struct Training<'a> {
    pub params: &'a RobustLogisticParams,
    pub rows: &'a Blurred,
    pub labels: &'a [usize],
    pub shares: &'a [f64],
    pub rates: Rates,
    pub n_classes: usize,
}

impl Training<'_> {
    /// The class that is +1 in each binary problem.
    pub(super) fn positives(&self) -> std::ops::Range<usize> {
        if self.n_classes == 2 { 1..2 } else { 0..self.n_classes }
    }

    /// Shares of some of the rows, as parts of 1.
    pub(super) fn shares_of(&self, rows: &[usize]) -> Vec<f64> {
        let total: f64 = rows.iter().map(|&i| self.shares[i]).sum();
        rows.iter().map(|&i| self.shares[i] / total).collect()
    }

    pub(super) fn problem<'b>(
        &self,
        rows: &'b Blurred,
        y: &'b [f64],
        shares: &'b [f64],
        alpha: f64,
        rates: Rates,
    ) -> Problem<'b> {
        let correction = self.params.correction.within(rates);
        let intercept = self.params.fit_intercept;
        Problem { rows, y, shares, alpha, rates, correction, intercept }
    }

    /// Refuses label rates with which the corrected loss has no minimum.
    pub(super) fn bounded(&self, problem: &Problem<'_>) -> Result<()> {
        let (up, down) = problem.growth();
        if !self.params.fit_intercept || (up > 0.0 && down > 0.0) {
            return Ok(());
        }
        let (positive, _) = problem.class_shares();
        Err(no_minimum(positive))
    }

    /// Zero weights; of very many rows the optimum of a few, evenly spread, which saves steps over all.
    fn start(&self, problem: &Problem<'_>, budget: &mut Budget<'_>) -> Result<Hyperplane> {
        let (n, p) = (problem.y.len(), self.rows.mean.ncols());
        let zero = Hyperplane { w: vec![0.0; p], b: 0.0 };
        let stride = n / (START_ROWS * (p + 1));
        if stride < LEAST_STRIDE {
            return Ok(zero);
        }
        let few: Vec<usize> = (0..n).step_by(stride).collect();
        let y: Vec<f64> = few.iter().map(|&i| problem.y[i]).collect();
        let (rows, shares) = (self.rows.select(&few), self.shares_of(&few));
        let correction = match problem.correction {
            Correction::Forward => Correction::After,
            other => other,
        };
        let part = Problem { rows: &rows, y: &y, shares: &shares, correction, ..*problem };
        if y.iter().all(|sign| *sign == y[0]) || self.bounded(&part).is_err() {
            return Ok(zero);
        }
        let most = budget.left();
        budget.stage(START_TOL, most, |budget| minimise(&part, &zero, budget))
    }

    /// The minimum.
    pub(super) fn solve(
        &self,
        problem: &Problem<'_>,
        budget: &mut Budget<'_>,
    ) -> Result<Hyperplane> {
        self.bounded(problem)?;
        let mut at = self.start(problem, budget)?;
        if problem.correction == Correction::Forward {
            // The convex problem first: a start from which the likelihood only rises.
            let convex = Problem { correction: Correction::After, ..*problem };
            at = minimise(&convex, &at, budget)?;
        }
        minimise(problem, &at, budget)
    }

    fn fit(
        &self,
        binary: &BinaryProblem<'_>,
        alpha: f64,
        centre: &[f64],
        control: &Control,
    ) -> Result<BinaryFit> {
        let problem = self.problem(self.rows, &binary.y, self.shares, alpha, self.rates);
        let mut budget = Budget::new(self.params.tol, self.params.max_iter, control);
        let one_sign = binary.y.iter().all(|y| *y == binary.y[0]);
        let mut at =
            if one_sign { self.certain(binary.y[0]) } else { self.solve(&problem, &mut budget)? };
        let answer = self.answer(&problem, &mut at, centre, budget.spent());
        let certificate = if one_sign {
            Some(Certificate { primal: problem.value(&at.w, at.b), dual: 0.0 })
        } else {
            certify(&problem, &at.w, at.b)
        };
        Ok(BinaryFit { certificate, ..answer })
    }

    /// The answer to one problem of the average of several fits, which minimises nothing and has no certificate.
    fn averaged(&self, binary: &BinaryProblem<'_>, found: &Averaged, centre: &[f64]) -> BinaryFit {
        let problem = self.problem(self.rows, &binary.y, self.shares, found.alpha, self.rates);
        let own = found.planes.iter().find(|(positive, _)| *positive == binary.positive);
        let mut at = own.map_or_else(|| self.certain(binary.y[0]), |(_, plane)| plane.clone());
        self.answer(&problem, &mut at, centre, found.n_iter)
    }

    /// Where all rows have one sign.
    fn certain(&self, sign: f64) -> Hyperplane {
        let b = if self.params.fit_intercept { CERTAIN * sign } else { 0.0 };
        Hyperplane { w: vec![0.0; self.rows.mean.ncols()], b }
    }

    /// What is returned of `at`, which is rounded as that is; without a certificate.
    fn answer(
        &self,
        problem: &Problem<'_>,
        at: &mut Hyperplane,
        centre: &[f64],
        steps: usize,
    ) -> BinaryFit {
        // What is certified is the intercept as it is returned: far from zero it is rounded noticeably.
        let intercept = moved(at.b, &at.w, centre, -1.0);
        at.b = moved(intercept, &at.w, centre, 1.0);
        BinaryFit {
            intercept,
            weights: at.w.clone(),
            certificate: None,
            n_iter: steps.max(1),
            row_outputs: vec![("label_posterior", self.right(problem, at))],
            outputs: Vec::new(),
            warnings: Vec::new(),
            route: Vec::new(),
            proof: Vec::new(),
        }
    }

    /// The probability that each label is right.
    fn right(&self, problem: &Problem<'_>, at: &Hyperplane) -> Vec<f64> {
        let (margins, variances) = (problem.margins(&at.w, at.b), self.rows.variances(&at.w));
        (0..margins.len())
            .map(|i| {
                let p = expected_probability(margins[i], variances[i]);
                self.rates.trusted(problem.correction, problem.y[i], p)
            })
            .collect()
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
