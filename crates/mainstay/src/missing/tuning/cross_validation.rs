//! The box chosen by cross-validated accuracy under damage.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::damage::{Damage, Replacement, column_ranges};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result, require};
use crate::folds::{Split, stratified};
use crate::missing::estimator::{MissingFeatureSvcParams, check_shared, side_by_side};
use crate::missing::values::Values;
use crate::model::{Estimator, Fitted};
use crate::optim::{Candidates, Scores};
use crate::uncertainty::Attack;

/// How rows are split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cv {
    /// Stratified folds.
    Folds(usize),
    /// Pairs of (rows to fit on, rows to judge on).
    Splits(Vec<(Vec<usize>, Vec<usize>)>),
}

impl Cv {
    fn check(&self) -> Result<()> {
        match self {
            Self::Folds(folds) => require(*folds >= 2, "cv", folds, "at least 2 folds"),
            Self::Splits(splits) => {
                let full = splits.iter().all(|(fit, judge)| !fit.is_empty() && !judge.is_empty());
                let rule = "pairs of row lists that are not empty";
                require(full && !splits.is_empty(), "cv", "splits", rule)
            }
        }
    }

    fn splits(&self, data: &Dataset, seed: u64) -> Result<Vec<Split>> {
        let splits: Vec<Split> = match self {
            Self::Folds(folds) => stratified(data.labels(), *folds, 1, seed),
            Self::Splits(splits) => splits
                .iter()
                .map(|(train, holdout)| Split { train: train.clone(), holdout: holdout.clone() })
                .collect(),
        };
        for split in &splits {
            let mut rows = split.train.iter().chain(&split.holdout);
            if let Some(row) = rows.find(|row| **row >= data.len()) {
                let rule = format!("row positions below {}", data.len());
                return Err(Error::param("cv", row, rule));
            }
        }
        Ok(splits)
    }
}

/// Parameters of [`MissingFeatureCv`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MissingFeatureCvParams {
    /// Total value of the features that may go missing, $N$.
    pub budget: f64,
    /// Value of every feature, $v$.
    pub values: Values,
    /// How held-out rows are damaged.
    pub damage: Attack,
    /// Whether damaged features become noise instead of zero.
    pub corrupt: bool,
    /// Candidates for C / margin; none is 0.1, 0.3, 1, 3, 10, 30, 100.
    #[serde(rename = "Cs")]
    pub cs: Option<Vec<f64>>,
    /// How rows are split.
    pub cv: Cv,
    /// Whether there is an intercept.
    pub fit_intercept: bool,
    /// Seed of the folds and of random damage; none is 0.
    pub random_state: Option<u64>,
    /// Proven relative gap of every fit.
    pub tol: f64,
    /// Iteration limit of every fit.
    pub max_iter: usize,
}

impl Default for MissingFeatureCvParams {
    fn default() -> Self {
        let svc = MissingFeatureSvcParams::default();
        Self {
            budget: svc.budget,
            values: svc.values,
            damage: Attack::Greedy,
            corrupt: false,
            cs: None,
            cv: Cv::Folds(5),
            fit_intercept: svc.fit_intercept,
            random_state: None,
            tol: svc.tol,
            max_iter: svc.max_iter,
        }
    }
}

impl MissingFeatureCvParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<MissingFeatureCv> {
        let cs = self.candidates();
        require(!cs.is_empty(), "Cs", "[]", "at least one candidate")?;
        for c in cs {
            check_shared(self.budget, 1.0, c)?;
            require(c > 0.0, "Cs", c, "positive")?;
        }
        self.cv.check()?;
        self.svc(1.0).check()?;
        Ok(MissingFeatureCv(self))
    }

    /// Candidates, ascending.
    fn candidates(&self) -> Vec<f64> {
        let grid = vec![0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
        let mut cs = self.cs.clone().unwrap_or(grid);
        cs.sort_by(f64::total_cmp);
        cs
    }

    fn svc(&self, c: f64) -> MissingFeatureSvcParams {
        MissingFeatureSvcParams {
            budget: self.budget,
            values: self.values.clone(),
            c,
            fit_intercept: self.fit_intercept,
            tol: self.tol,
            max_iter: self.max_iter,
            ..MissingFeatureSvcParams::default()
        }
    }
}

/// [`crate::missing::MissingFeatureSvc`] with C / margin chosen by cross-validated accuracy under the user's own kind of damage.
///
/// The direction of the weights depends on `C` and `margin` through their ratio only, so `margin` stays 1. Of equally
/// accurate candidates the smallest wins: a tighter box spreads the weights more evenly.
#[derive(Debug, Clone)]
pub struct MissingFeatureCv(MissingFeatureCvParams);

impl Estimator for MissingFeatureCv {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        control.install(|| self.fit_here(data, &control.clone().with_threads(0)))
    }
}

impl MissingFeatureCv {
    fn fit_here(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let params = &self.0;
        if data.weights().is_some() {
            return Err(Error::BadData("the cross-validated fit knows no sample weights".into()));
        }
        let cs = params.candidates();
        let splits = params.cv.splits(data, params.random_state.unwrap_or(0))?;
        let one = |c: &f64, split: &Split| self.judge(data, *c, split, control);
        // One fit after the other where several at once would multiply the memory.
        let scores = if side_by_side(data) {
            Scores::cross_validate(&splits, control, |split| {
                cs.par_iter().map(|c| one(c, split)).collect::<Result<_>>().map(Some)
            })?
        } else {
            let path = |split: &Split| cs.iter().map(|c| one(c, split)).collect::<Result<_>>();
            Scores::from_splits(splits.iter().map(path).collect::<Result<_>>()?)?
        };
        // Of equally accurate candidates the smallest wins.
        let best = scores.best(|a, b| b.cmp(&a))?;
        let fitted = params.svc(cs[best]).check()?.fit(data, control)?;
        let table = scores.table(Candidates::new(cs.len()).with("C", cs.clone()));
        Ok(fitted.with("C", cs[best]).with("cv_results", table))
    }

    /// Accuracy on the damaged held-out rows.
    fn judge(&self, data: &Dataset, c: f64, split: &Split, control: &Control) -> Result<f64> {
        control.check()?;
        let params = &self.0;
        let train = data.select_rows(&split.train);
        let fitted = params.svc(c).check()?.fit(&train, control)?;
        let Some(model) = fitted.model.linear() else {
            return Err(Error::Numerical("a linear model was expected".into()));
        };
        let deletions = match &fitted.values {
            Some(values) => crate::uncertainty::Deletions::new(values.clone(), params.budget)?,
            None => params.values.deletions(&train, params.budget)?,
        };
        let ranges = column_ranges(train.features());
        let damage = Damage {
            deletions: &deletions,
            attack: params.damage,
            replacement: if params.corrupt {
                Replacement::Noise(&ranges)
            } else {
                Replacement::Zero
            },
            seed: params.random_state.unwrap_or(0),
        };
        let holdout = data.select_rows(&split.holdout);
        damage.accuracy(model, holdout.features(), holdout.labels())
    }
}
