//! Budget and box chosen by cross-validation under damage.

use std::sync::atomic::{AtomicUsize, Ordering};

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
use crate::optim::{Candidates, Rule, Scores, Scoring};
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
    /// Candidates for C / margin; none is 0.3, 3, 30.
    #[serde(rename = "Cs")]
    pub cs: Option<Vec<f64>>,
    /// Candidates for the budget of the fit; none is 0, a quarter, half and all of `budget`, which is the damage.
    pub budgets: Option<Vec<f64>>,
    /// What is measured on the damaged rows.
    pub scoring: Scoring,
    /// The best candidate, or the simplest within one standard error of it.
    pub rule: Rule,
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
            budgets: None,
            scoring: Scoring::default(),
            rule: Rule::default(),
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
        let candidates = self.candidates();
        require(
            !candidates.is_empty(),
            "Cs",
            "[]",
            "at least one candidate, and one of `budgets`",
        )?;
        for Candidate { budget, c } in candidates {
            check_shared(budget, 1.0, c)?;
            require(c > 0.0, "Cs", c, "positive")?;
        }
        check_shared(self.budget, 1.0, 1.0)?;
        self.cv.check()?;
        self.svc(Candidate { budget: self.budget, c: 1.0 }).check()?;
        Ok(MissingFeatureCv(self))
    }

    /// Candidates, budgets and boxes ascending.
    fn candidates(&self) -> Vec<Candidate> {
        let ascending = |given: &Option<Vec<f64>>, usual: Vec<f64>| {
            let mut values = given.clone().unwrap_or(usual);
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let cs = ascending(&self.cs, vec![0.3, 3.0, 30.0]);
        let parts = [0.0, 0.25, 0.5, 1.0].map(|part| part * self.budget).to_vec();
        let budgets = ascending(&self.budgets, parts);
        budgets
            .iter()
            .flat_map(|&budget| cs.iter().map(move |&c| Candidate { budget, c }))
            .collect()
    }

    fn svc(&self, candidate: Candidate) -> MissingFeatureSvcParams {
        MissingFeatureSvcParams {
            budget: candidate.budget,
            values: self.values.clone(),
            c: candidate.c,
            fit_intercept: self.fit_intercept,
            tol: self.tol,
            max_iter: self.max_iter,
            ..MissingFeatureSvcParams::default()
        }
    }
}

/// What competes.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    budget: f64,
    c: f64,
}

/// [`crate::missing::MissingFeatureSvc`] with its budget and C / margin chosen under the user's own kind of damage.
///
/// `budget` is the damage that is expected; the budget that is fitted against may be smaller, 0 included, since a guard
/// against the worst costs much where damage is random. The direction of the weights depends on `C` and `margin` through
/// their ratio only, so `margin` stays 1. Of equals the smallest budget and then the smallest C win, and the ties are told.
/// Candidates that give one class to all held-out rows in half of the splits are taken only if all do.
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
        let candidates = params.candidates();
        let splits = params.cv.splits(data, params.random_state.unwrap_or(0))?;
        let one = |c: &Candidate, split: &Split| self.judge(data, *c, split, control);
        let collapsed: Vec<AtomicUsize> = candidates.iter().map(|_| AtomicUsize::new(0)).collect();
        let score = |(k, c): (usize, &Candidate), split: &Split| {
            let (score, constant) = one(c, split)?;
            collapsed[k].fetch_add(usize::from(constant), Ordering::Relaxed);
            Ok(score)
        };
        // One fit after the other where several at once would multiply the memory.
        let scores = if side_by_side(data) {
            Scores::cross_validate(&splits, control, |split| {
                let all = candidates.par_iter().enumerate();
                all.map(|c| score(c, split)).collect::<Result<_>>().map(Some)
            })?
        } else {
            let path = |split: &Split| {
                candidates.iter().enumerate().map(|c| score(c, split)).collect::<Result<_>>()
            };
            Scores::from_splits(splits.iter().map(path).collect::<Result<_>>()?)?
        };
        let lively = |k: usize| 2 * collapsed[k].load(Ordering::Relaxed) < splits.len();
        // Candidates are in ascending order: of equals the smallest wins.
        let best = scores.take(params.rule, lively, |a, b| b.cmp(&a))?;
        self.finish(data, &candidates, best, &scores, control)
    }

    /// The fit to all rows, with what is known about the choice.
    fn finish(
        &self,
        data: &Dataset,
        candidates: &[Candidate],
        best: usize,
        scores: &Scores,
        control: &Control,
    ) -> Result<Fitted> {
        let chosen = candidates[best];
        let fitted = self.0.svc(chosen).check()?.fit(data, control)?;
        let tied = |k: &usize| {
            candidates[*k].budget == chosen.budget && scores.means()[*k] == scores.means()[best]
        };
        let ties = (0..candidates.len()).filter(tied).map(|k| candidates[k].c);
        let named = Candidates::new(candidates.len())
            .with("budget", candidates.iter().map(|c| c.budget).collect::<Vec<f64>>())
            .with("C", candidates.iter().map(|c| c.c).collect::<Vec<f64>>());
        Ok(fitted
            .with("budget", chosen.budget)
            .with("C", chosen.c)
            .with("tied_Cs", ties.collect::<Vec<f64>>())
            .with("cv_results", scores.table(named)))
    }

    /// The score of the damaged held-out rows, and whether all undamaged ones get one class.
    fn judge(
        &self,
        data: &Dataset,
        candidate: Candidate,
        split: &Split,
        control: &Control,
    ) -> Result<(f64, bool)> {
        control.check()?;
        let params = &self.0;
        let train = data.select_rows(&split.train);
        let fitted = params.svc(candidate).check()?.fit(&train, control)?;
        let Some(model) = fitted.model.linear() else {
            return Err(Error::Numerical("a linear model was expected".into()));
        };
        let deletions = match &fitted.values {
            Some(values) => crate::uncertainty::Deletions::new(values.clone(), params.budget)?,
            None => params.values.deletions(&train, params.budget)?,
        };
        let ranges = column_ranges(train.features());
        let replacement =
            if params.corrupt { Replacement::Noise(&ranges) } else { Replacement::Zero };
        let seed = params.random_state.unwrap_or(0);
        let damage = Damage { deletions: &deletions, attack: params.damage, replacement, seed };
        let holdout = data.select_rows(&split.holdout);
        let truth = holdout.labels();
        let score = if params.scoring == Scoring::Accuracy {
            damage.accuracy(model, holdout.features(), truth)?
        } else {
            let damaged = damage.apply(model, holdout.features(), truth)?;
            params.scoring.of(truth, &model.decision(&damaged.into())).unwrap_or(f64::NAN)
        };
        let intact = fitted.model.predict(&holdout.features().clone().nan_to_zero())?;
        Ok((score, intact.iter().all(|class| *class == intact[0])))
    }
}
