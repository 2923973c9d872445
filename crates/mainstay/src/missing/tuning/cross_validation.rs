//! Budget and box chosen by cross-validation under damage.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::damage::{Damage, Replacement, column_ranges};
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged};
use crate::error::{Error, Result, require};
use crate::folds::{Cv, Dealt, Split};
use crate::missing::estimator::{MissingFeatureSvcParams, check_shared, side_by_side};
use crate::missing::values::Values;
use crate::model::{Estimator, Fitted};
use crate::optim::{Candidates, Collapsed, Rule, Scores, Scoring};
use crate::uncertainty::Attack;

/// Parameters of [`MissingFeatureCv`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MissingFeatureCvParams {
    /// Total value of the features that may go missing, `$N$`.
    pub budget: f64,
    /// Value of every feature, `$v$`.
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
    /// What is measured on the damaged rows; none is [`Scoring::usual`].
    pub scoring: Option<Scoring>,
    /// The best candidate, or the simplest within one standard error of it.
    pub rule: Rule,
    /// How rows are split.
    pub cv: Cv,
    /// Whether there is an intercept.
    pub fit_intercept: bool,
    /// Weight of each class, in the fits and on held-out rows.
    pub class_weight: ClassWeight,
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
            scoring: None,
            rule: Rule::default(),
            cv: Cv::Folds(5),
            fit_intercept: svc.fit_intercept,
            class_weight: svc.class_weight,
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
            class_weight: self.class_weight.clone(),
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
        // The factors of all rows hold in every part.
        let class_weight = self.0.class_weight.settled(data)?;
        let dealt = self.0.cv.deal(data, self.0.random_state.unwrap_or(0))?;
        let weights = class_weight.weights_of(&dealt.data)?;
        let usual = || Scoring::usual(&dealt.data, weights.as_deref(), &dealt.splits);
        let scoring = Some(self.0.scoring.unwrap_or_else(usual));
        let settled = Self(MissingFeatureCvParams { scoring, class_weight, ..self.0.clone() });
        control.install(|| settled.fit_here(data, &dealt, &control.clone().with_threads(0)))
    }
}

impl MissingFeatureCv {
    fn fit_here(&self, data: &Dataset, dealt: &Dealt<'_>, control: &Control) -> Result<Fitted> {
        let Dealt { data: rows, splits } = dealt;
        let params = &self.0;
        let candidates = params.candidates();
        let paths: Vec<&[Candidate]> = candidates.chunk_by(|a, b| a.budget == b.budget).collect();
        let collapsed = Collapsed::new(candidates.len());
        let noted = |found: Vec<Vec<Judged>>, truth: &[usize]| {
            let all = found.into_iter().flatten().enumerate();
            let note = |(k, judged): (usize, Judged)| {
                collapsed.note(k, truth, &judged.intact);
                judged.score
            };
            all.map(note).collect::<Vec<f64>>()
        };
        // One fit after the other where several at once would multiply the memory.
        let scores = if side_by_side(rows) {
            Scores::cross_validate(splits, control, |split| {
                let fold = Fold::new(params, rows, split)?;
                let found = paths.par_iter().map(|path| fold.path(path, control));
                Ok(Some(noted(found.collect::<Result<_>>()?, fold.holdout.labels())))
            })?
        } else {
            let one = |split: &Split| {
                let fold = Fold::new(params, rows, split)?;
                let found = paths.iter().map(|path| fold.path(path, control));
                Ok(noted(found.collect::<Result<_>>()?, fold.holdout.labels()))
            };
            Scores::from_splits(splits.iter().map(one).collect::<Result<_>>()?)?
        };
        let lively = |k: usize| collapsed.is_lively(k, splits.len());
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
}

/// What a candidate makes of held-out rows.
#[derive(Clone)]
struct Judged {
    /// Of the damaged rows.
    score: f64,
    /// What is predicted for the undamaged ones.
    intact: Vec<usize>,
}

/// Rows to fit on, and rows to damage and to judge on.
struct Fold<'a> {
    params: &'a MissingFeatureCvParams,
    train: Dataset,
    /// Merged: copies of a row and its weight get the same damage.
    holdout: Dataset,
    weights: Option<Vec<f64>>,
}

impl<'a> Fold<'a> {
    fn new(params: &'a MissingFeatureCvParams, data: &Dataset, split: &Split) -> Result<Self> {
        let train = data.select_rows(&split.train);
        let holdout = Merged::new(&data.select_rows(&split.holdout)).data;
        let weights = params.class_weight.weights_of(&holdout)?;
        Ok(Self { params, train, holdout, weights })
    }

    /// Judges candidates of one budget whose boxes ascend. The largest box is solved first: where its answer is proved and lies in a
    /// smaller box as well, it is an answer there, with at least the same proof.
    fn path(&self, candidates: &[Candidate], control: &Control) -> Result<Vec<Judged>> {
        let mut known: Option<(Fitted, Judged)> = None;
        let mut found = Vec::with_capacity(candidates.len());
        for candidate in candidates.iter().rev() {
            control.check()?;
            let current = match known.take() {
                Some(known) if self.answers(&known.0, *candidate) => known,
                _ => {
                    let svc = self.params.svc(*candidate).check()?;
                    let fitted = svc.fit(&self.train, control)?;
                    let judged = self.judge(&fitted)?;
                    (fitted, judged)
                }
            };
            found.push(current.1.clone());
            known = Some(current);
        }
        found.reverse();
        Ok(found)
    }

    /// Whether the answer for a larger box is one for this box.
    fn answers(&self, fitted: &Fitted, candidate: Candidate) -> bool {
        let proved = fitted.dual_gap().is_some_and(|gap| gap <= self.params.tol);
        let inside = |w: &f64| w.abs() <= candidate.c;
        proved && fitted.model.linear().is_some_and(|m| m.coef.iter().flatten().all(inside))
    }

    fn judge(&self, fitted: &Fitted) -> Result<Judged> {
        let params = self.params;
        let Some(model) = fitted.model.linear() else {
            return Err(Error::Numerical("a linear model was expected".into()));
        };
        let deletions = match &fitted.values {
            Some(values) => crate::uncertainty::Deletions::new(values.clone(), params.budget)?,
            None => params.values.deletions(&self.train, params.budget)?,
        };
        let ranges = column_ranges(self.train.features());
        let replacement =
            if params.corrupt { Replacement::Noise(&ranges) } else { Replacement::Zero };
        let seed = params.random_state.unwrap_or(0);
        let damage = Damage { deletions: &deletions, attack: params.damage, replacement, seed };
        let (x, truth) = (self.holdout.features(), self.holdout.labels());
        let scores = model.decision(&damage.apply(model, x, truth)?.into());
        let scoring = params.scoring.unwrap_or_default();
        let score = scoring.of(truth, scores, self.weights.as_deref()).unwrap_or(f64::NAN);
        Ok(Judged { score, intact: fitted.model.predict(&x.clone().nan_to_zero())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    /// Noisy labels hold the weights down: boxes of 10 and 100 share an answer, one of 0.01 has its own. Every candidate is judged
    /// as if it had been fitted alone.
    #[test]
    fn an_answer_serves_all_boxes_that_hold_it_and_no_other() {
        let x = Dense::from_fn(60, 2, |i, j| ((1 + 3 * i + 7 * j + i * j) as f64 * 0.47).sin());
        let labels = (0..60).map(|i| usize::from(x[(i, 0)] > 0.0) ^ usize::from(i % 4 == 0));
        let data = Dataset::new(x.clone().into(), labels.collect(), 2).unwrap();
        let params = MissingFeatureCvParams { tol: 1e-8, ..MissingFeatureCvParams::default() };
        let split = Split { train: (0..40).collect(), holdout: (40..60).collect() };
        let fold = Fold::new(&params, &data, &split).unwrap();
        let path = [0.01, 10.0, 100.0].map(|c| Candidate { budget: 0.2, c });
        let control = Control::new();
        let alone =
            |c: &Candidate| params.svc(*c).check().unwrap().fit(&fold.train, &control).unwrap();
        let widest = alone(&path[2]);
        assert!(fold.answers(&widest, path[1]) && !fold.answers(&widest, path[0]));
        let strict = MissingFeatureCvParams { tol: 1e-300, ..params.clone() };
        let fold_of_strict = Fold::new(&strict, &data, &split).unwrap();
        assert!(!fold_of_strict.answers(&widest, path[1]));
        let together = fold.path(&path, &control).unwrap();
        for (candidate, judged) in path.iter().zip(&together) {
            let wanted = fold.judge(&alone(candidate)).unwrap();
            assert_eq!((judged.score, &judged.intact), (wanted.score, &wanted.intact));
        }
    }
}
