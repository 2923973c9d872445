//! `StableSVCCV` and `StableLogisticRegressionCV`: `k` and the regularisation by cross-validation.

use serde::{Deserialize, Serialize};

use super::estimator::{
    MultiClass, StableLogisticParams, StableSvcParams, SvmLoss, limits, only, positive,
};
use super::path::{PathSpec, Setting};
use super::problem::RowLoss;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset};
use crate::error::{Result, require};
use crate::folds::{Cv, Dealt};
use crate::metrics::{Judged, Metric, Predictions};
use crate::model::{Estimator, Fitted};
use crate::optim::{Candidates, Collapsed, Rule, Scores, Scoring};
use crate::uncertainty::K;

/// Parameters of [`StableSvcCv`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StableSvcCvParams {
    /// Values of `k` to try, as fractions of the rows.
    pub ks: Vec<f64>,
    /// Values of `C` to try.
    #[serde(rename = "Cs")]
    pub cs: Vec<f64>,
    /// Number of folds, or the splits.
    pub cv: Cv,
    /// The best candidate, or the simplest within one standard error of it.
    pub rule: Rule,
    /// Loss of a row.
    pub loss: SvmLoss,
    /// Whether there is a free intercept.
    pub fit_intercept: bool,
    /// Weight of each class, in the fits and on held-out rows.
    pub class_weight: ClassWeight,
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
            cv: Cv::Folds(5),
            rule: Rule::default(),
            loss: SvmLoss::Hinge,
            fit_intercept: true,
            class_weight: ClassWeight::None,
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
        self.cv.check()?;
        limits(self.tol, self.max_iter)?;
        Ok(StableSvcCv(self))
    }
}

/// [`super::StableSvc`] with `k` and `C` chosen by cross-validated accuracy, where one class has most of the rows by the balanced
/// accuracy ([`Scoring::usual`]). Candidates that give one class to all held-out
/// rows in half of the splits are taken only if all do.
#[derive(Debug, Clone)]
pub struct StableSvcCv(StableSvcCvParams);

impl Estimator for StableSvcCv {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let p = &self.0;
        let path_spec = StableSvcParams {
            loss: p.loss,
            fit_intercept: p.fit_intercept,
            class_weight: p.class_weight.settled(data)?,
            tol: p.tol,
            max_iter: p.max_iter,
            ..StableSvcParams::default()
        }
        .check()?
        .path_spec();
        let search = Search {
            path_spec,
            ks: &p.ks,
            strengths: &p.cs,
            name: "C",
            strongest_last: false,
            rule: p.rule,
        };
        search.fit(data, &p.cv.deal(data, p.random_state.unwrap_or(0))?, control)
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
    /// Number of folds, or the splits.
    pub cv: Cv,
    /// The best candidate, or the simplest within one standard error of it.
    pub rule: Rule,
    /// More than two classes: one problem each, or one for all.
    pub multi_class: MultiClass,
    /// Whether there is a free intercept.
    pub fit_intercept: bool,
    /// Weight of each class, in the fits and on held-out rows.
    pub class_weight: ClassWeight,
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
            cv: Cv::Folds(5),
            rule: Rule::default(),
            multi_class: MultiClass::Ovr,
            fit_intercept: true,
            class_weight: ClassWeight::None,
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
        self.cv.check()?;
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
            class_weight: p.class_weight.settled(data)?,
            tol: p.tol,
            max_iter: p.max_iter,
            ..StableLogisticParams::default()
        }
        .check()?
        .path_spec();
        let search = Search {
            path_spec,
            ks: &p.ks,
            strengths: &p.alphas,
            name: "alpha",
            strongest_last: true,
            rule: p.rule,
        };
        search.fit(data, &p.cv.deal(data, p.random_state.unwrap_or(0))?, control)
    }
}

fn grid(name: &'static str, values: &[f64]) -> Result<()> {
    require(!values.is_empty(), name, "[]", "at least one value")
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
    rule: Rule,
}

impl Search<'_> {
    fn fit(&self, data: &Dataset, dealt: &Dealt<'_>, control: &Control) -> Result<Fitted> {
        let Dealt { data: rows, splits } = dealt;
        let grid = self.grid();
        let settings: Vec<Setting> =
            grid.iter().map(|&(k, strength)| Setting { k: K::Fraction(k), strength }).collect();
        let (quiet, collapsed) = (control.without_progress(), Collapsed::new(grid.len()));
        let all = self.path_spec.class_weight.weights_of(rows)?;
        let scoring = Scoring::usual(rows, all.as_deref(), splits);
        let scores = Scores::cross_validate(splits, control, |split| {
            let path = self.path_spec.fit(&settings, &rows.select_rows(&split.train), &quiet)?;
            let holdout = rows.select_rows(&split.holdout);
            let weights = self.path_spec.class_weight.weights_of(&holdout)?;
            let score = |(k, fitted): (usize, &Fitted)| {
                let made = Predictions::of(&fitted.model, holdout.features())?;
                collapsed.note(k, holdout.labels(), &made.predicted);
                score(made, scoring, &holdout, weights.as_deref())
            };
            path.iter().enumerate().map(score).collect::<Result<_>>().map(Some)
        })?;
        // Among equals the largest `k` (closest to the classical fit), then the strongest regularisation.
        let strong = |at: usize| if self.strongest_last { grid[at].1 } else { -grid[at].1 };
        let simpler = |a: usize, b: usize| {
            grid[a].0.total_cmp(&grid[b].0).then(strong(a).total_cmp(&strong(b)))
        };
        // A log loss knows what a constant class is worth; an accuracy does not.
        let probable = self.path_spec.loss == RowLoss::Logistic;
        let lively = |k: usize| probable || collapsed.is_lively(k, splits.len());
        let best = scores.take(self.rule, lively, simpler)?;
        let fitted = only(self.path_spec.fit(&[settings[best]], data, &quiet)?)?;
        let (k, strength) = grid[best];
        let (ks, strengths): (Vec<f64>, Vec<f64>) = grid.into_iter().unzip();
        let candidates = Candidates::new(ks.len()).with("k", ks).with(self.name, strengths);
        Ok(fitted
            .with("k", k)
            .with(self.name, strength)
            .with("cv_results", scores.table(candidates)))
    }

    /// `k` and strength of every candidate, there and back again: neighbours on the path are neighbours on
    /// the grid.
    fn grid(&self) -> Vec<(f64, f64)> {
        let row = |(turn, &k): (usize, &f64)| {
            let mut row: Vec<(f64, f64)> = self.strengths.iter().map(|&s| (k, s)).collect();
            if turn % 2 == 1 {
                row.reverse();
            }
            row
        };
        self.ks.iter().enumerate().flat_map(row).collect()
    }
}

/// Negative log loss where there are probabilities, otherwise what `scoring` says; rows count by their `weights`.
fn score(
    made: Predictions,
    scoring: Scoring,
    holdout: &Dataset,
    weights: Option<&[f64]>,
) -> Result<f64> {
    if made.probabilities.is_none() {
        let score = made.scores.and_then(|s| scoring.of(holdout.labels(), s, weights));
        return Ok(score.unwrap_or(f64::NAN));
    }
    let mut judged = Judged::new(holdout.labels(), holdout.n_classes(), &made)?;
    if let Some(weights) = weights {
        judged = judged.with_weights(weights)?;
    }
    Ok(Metric::LogLoss.of(&judged).map_or(f64::NAN, |value| -value))
}
