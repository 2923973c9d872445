//! `StableSVCCV` and `StableLogisticRegressionCV`: `k` and the regularisation by cross-validation.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::estimator::{
    MultiClass, StableLogisticParams, StableSvcParams, SvmLoss, limits, only, positive,
};
use super::path::{PathSpec, Setting};
use super::problem::K;
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result, require};
use crate::folds::{Split, stratified};
use crate::model::metrics::log_loss;
use crate::model::{Estimator, Fitted, Output};

/// Parameters of [`StableSvcCv`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StableSvcCvParams {
    /// Values of `k` to try, as fractions of the rows.
    pub ks: Vec<f64>,
    /// Values of `C` to try.
    #[serde(rename = "Cs")]
    pub cs: Vec<f64>,
    /// Number of folds.
    pub cv: usize,
    /// Loss of a row.
    pub loss: SvmLoss,
    /// Whether there is a free intercept.
    pub fit_intercept: bool,
    /// Proven relative gap of every fit.
    pub tol: f64,
    /// Iteration limit of every fit.
    pub max_iter: usize,
    /// Seed of the folds.
    pub random_state: Option<u64>,
}

impl Default for StableSvcCvParams {
    fn default() -> Self {
        Self {
            ks: vec![0.2, 0.4, 0.6, 0.8, 1.0],
            cs: vec![0.001, 0.01, 0.1, 1.0, 10.0, 100.0],
            cv: 5,
            loss: SvmLoss::Hinge,
            fit_intercept: true,
            tol: 1e-6,
            max_iter: 1000,
            random_state: None,
        }
    }
}

impl StableSvcCvParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<StableSvcCv> {
        fractions(&self.ks)?;
        grid("Cs", &self.cs)?;
        self.cs.iter().try_for_each(|&c| positive("Cs", c))?;
        require(self.cv >= 2, "cv", self.cv, "at smallest_k 2")?;
        limits(self.tol, self.max_iter)?;
        Ok(StableSvcCv(self))
    }
}

/// [`super::StableSvc`] with `k` and `C` chosen by cross-validated accuracy.
#[derive(Debug, Clone)]
pub struct StableSvcCv(StableSvcCvParams);

impl Estimator for StableSvcCv {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let p = &self.0;
        let path_spec = StableSvcParams {
            loss: p.loss,
            fit_intercept: p.fit_intercept,
            tol: p.tol,
            max_iter: p.max_iter,
            ..StableSvcParams::default()
        }
        .check()?
        .path_spec();
        let search =
            Search { path_spec, ks: &p.ks, strengths: &p.cs, name: "C", strongest_last: false };
        search.fit(data, &stratified(data.labels(), p.cv, 1, p.random_state.unwrap_or(0)), control)
    }
}

/// Parameters of [`StableLogisticCv`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StableLogisticCvParams {
    /// Values of `k` to try, as fractions of the rows.
    pub ks: Vec<f64>,
    /// Values of `alpha` to try.
    pub alphas: Vec<f64>,
    /// Number of folds.
    pub cv: usize,
    /// More than two classes: one problem each, or one for all.
    pub multi_class: MultiClass,
    /// Whether there is a free intercept.
    pub fit_intercept: bool,
    /// Proven relative gap of every fit.
    pub tol: f64,
    /// Iteration limit of every fit.
    pub max_iter: usize,
    /// Seed of the folds.
    pub random_state: Option<u64>,
}

impl Default for StableLogisticCvParams {
    fn default() -> Self {
        Self {
            ks: vec![0.2, 0.4, 0.6, 0.8, 1.0],
            alphas: vec![0.0001, 0.001, 0.01, 0.1, 1.0],
            cv: 5,
            multi_class: MultiClass::Ovr,
            fit_intercept: true,
            tol: 1e-6,
            max_iter: 1000,
            random_state: None,
        }
    }
}

impl StableLogisticCvParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<StableLogisticCv> {
        fractions(&self.ks)?;
        grid("alphas", &self.alphas)?;
        self.alphas.iter().try_for_each(|&alpha| positive("alphas", alpha))?;
        require(self.cv >= 2, "cv", self.cv, "at smallest_k 2")?;
        limits(self.tol, self.max_iter)?;
        Ok(StableLogisticCv(self))
    }
}

/// [`super::StableLogistic`] with `k` and `alpha` chosen by cross-validated log loss.
#[derive(Debug, Clone)]
pub struct StableLogisticCv(StableLogisticCvParams);

impl Estimator for StableLogisticCv {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let p = &self.0;
        let path_spec = StableLogisticParams {
            multi_class: p.multi_class,
            fit_intercept: p.fit_intercept,
            tol: p.tol,
            max_iter: p.max_iter,
            ..StableLogisticParams::default()
        }
        .check()?
        .path_spec();
        let search =
            Search { path_spec, ks: &p.ks, strengths: &p.alphas, name: "alpha", strongest_last: true };
        search.fit(data, &stratified(data.labels(), p.cv, 1, p.random_state.unwrap_or(0)), control)
    }
}

fn grid(name: &'static str, values: &[f64]) -> Result<()> {
    require(!values.is_empty(), name, "[]", "at smallest_k one value")
}

fn fractions(ks: &[f64]) -> Result<()> {
    grid("ks", ks)?;
    let fraction = |k: f64| k > 0.0 && k <= 1.0;
    ks.iter().try_for_each(|&k| require(fraction(k), "ks", k, "fractions in (0, 1]"))
}

/// A grid search whose fits are warm-started along the grid, in parallel over folds.
struct Search<'a> {
    path_spec: PathSpec,
    ks: &'a [f64],
    strengths: &'a [f64],
    name: &'static str,
    /// Whether larger strengths mean more regularisation.
    strongest_last: bool,
}

impl Search<'_> {
    fn fit(&self, data: &Dataset, splits: &[Split], control: &Control) -> Result<Fitted> {
        // There and back again: neighbours on the path are neighbours on the grid.
        let mut settings = Vec::with_capacity(self.ks.len() * self.strengths.len());
        for (turn, &k) in self.ks.iter().enumerate() {
            let mut row: Vec<f64> = self.strengths.to_vec();
            if turn % 2 == 1 {
                row.reverse();
            }
            settings
                .extend(row.into_iter().map(|strength| Setting { k: K::Fraction(k), strength }));
        }
        let quiet = control.without_progress();
        let done = std::sync::atomic::AtomicU64::new(0);
        let judge = |split: &Split| -> Result<Vec<f64>> {
            let path = self.path_spec.fit(&settings, &data.select_rows(&split.train), &quiet)?;
            let holdout = data.select_rows(&split.holdout);
            let before = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            control.progress(before + 1, splits.len() as u64 + 1);
            path.iter().map(|fitted| score(fitted, &holdout)).collect()
        };
        let scores: Vec<Vec<f64>> =
            control.install(|| splits.par_iter().map(judge).collect::<Result<_>>())?;
        let folds = splits.len() as f64;
        let mean: Vec<f64> = (0..settings.len())
            .map(|at| scores.iter().map(|fold| fold[at]).sum::<f64>() / folds)
            .collect();
        let spread: Vec<f64> = (0..settings.len())
            .map(|at| {
                let squares = scores.iter().map(|fold| (fold[at] - mean[at]).powi(2)).sum::<f64>();
                (squares / folds).sqrt()
            })
            .collect();
        let best = self.choose(&settings, &mean)?;
        let mut fitted = only(self.path_spec.fit(&[best], data, &quiet)?)?;
        control.progress(splits.len() as u64 + 1, splits.len() as u64 + 1);
        let K::Fraction(k) = best.k else {
            return Err(Error::Numerical("a grid of fractions holds a count".into()));
        };
        let fraction = |s: &Setting| if let K::Fraction(k) = s.k { k } else { f64::NAN };
        fitted = fitted.with("k", k).with(self.name, best.strength).with(
            "cv_results",
            Output::Table(vec![
                ("k".to_owned(), Output::Vector(settings.iter().map(fraction).collect())),
                (
                    self.name.to_owned(),
                    Output::Vector(settings.iter().map(|s| s.strength).collect()),
                ),
                ("mean_score".to_owned(), Output::Vector(mean)),
                ("std_score".to_owned(), Output::Vector(spread)),
            ]),
        );
        Ok(fitted)
    }

    /// The best mean score; among equals the largest `k` (closest to the classical fit), then the
    /// strongest regularisation.
    fn choose(&self, settings: &[Setting], mean: &[f64]) -> Result<Setting> {
        let share = |s: &Setting| if let K::Fraction(k) = s.k { k } else { f64::NAN };
        let strong = |s: &Setting| if self.strongest_last { s.strength } else { -s.strength };
        settings
            .iter()
            .zip(mean)
            .filter(|(_, score)| !score.is_nan())
            .max_by(|(a, x), (b, y)| {
                x.total_cmp(y)
                    .then(share(a).total_cmp(&share(b)))
                    .then(strong(a).total_cmp(&strong(b)))
            })
            .map(|(setting, _)| *setting)
            .ok_or_else(|| Error::Numerical("no setting could be scored".into()))
    }
}

/// Negative log loss where the model gives probabilities, otherwise accuracy.
fn score(fitted: &Fitted, holdout: &Dataset) -> Result<f64> {
    if let Some(probabilities) = fitted.model.probabilities(holdout.features())? {
        return Ok(-log_loss(holdout.labels(), &probabilities));
    }
    let predicted = fitted.model.predict(holdout.features())?;
    let right = predicted.iter().zip(holdout.labels()).filter(|(a, b)| a == b).count();
    Ok(right as f64 / holdout.len().max(1) as f64)
}
