//! The share of wrong labels by cross-validation.

use serde::{Deserialize, Serialize};

use super::estimator::{ConicParams, ConicSvc, Gamma, GammaRule, KernelKind, check_kappa};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result, require};
use crate::folds::{Split, linear_grid, stratified};
use crate::linalg::Dense;
use crate::model::{Estimator, Fitted};
use crate::optim::{Candidates, Rule, Scores, Scoring};

/// Which budgets compete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Kappas {
    /// This many, equally spaced from 0.005 to 0.5.
    Count(usize),
    /// These.
    Values(Vec<f64>),
}

/// How rows are split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cv {
    /// Stratified folds.
    Folds(usize),
    /// Pairs of (rows to fit on, rows to judge on).
    Splits(Vec<(Vec<usize>, Vec<usize>)>),
}

/// Parameters of [`ConicSvcCv`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConicCvParams {
    /// Budgets to choose from.
    pub kappas: Kappas,
    /// Splits.
    pub cv: Cv,
    /// What is measured on held-out rows.
    pub scoring: Scoring,
    /// The best budget, or the largest within one standard error of it.
    pub rule: Rule,
    /// Kernel.
    pub kernel: KernelKind,
    /// Its width.
    pub gamma: Gamma,
    /// Its degree.
    pub degree: u32,
    /// Its constant.
    pub coef0: f64,
    /// Add a constant feature.
    pub fit_intercept: bool,
    /// Proven relative gap to reach in every fit.
    pub tol: f64,
    /// Iteration limit of every fit.
    pub max_iter: usize,
    /// Seed of the folds; none is 0.
    pub random_state: Option<u64>,
}

impl Default for ConicCvParams {
    fn default() -> Self {
        let one = ConicParams::default();
        Self {
            kappas: Kappas::Count(100),
            cv: Cv::Folds(5),
            scoring: Scoring::default(),
            rule: Rule::default(),
            kernel: one.kernel,
            gamma: Gamma::Rule(GammaRule::Scale),
            degree: one.degree,
            coef0: one.coef0,
            fit_intercept: one.fit_intercept,
            tol: one.tol,
            max_iter: one.max_iter,
            random_state: None,
        }
    }
}

impl ConicCvParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<ConicSvcCv> {
        match &self.kappas {
            Kappas::Count(count) => {
                require((1..=100_000).contains(count), "kappas", count, "between 1 and 100000")?;
            }
            Kappas::Values(values) => {
                require(!values.is_empty(), "kappas", "[]", "at least one value")?;
                values.iter().try_for_each(|&kappa| check_kappa(kappa))?;
            }
        }
        match &self.cv {
            Cv::Folds(folds) => require(*folds >= 2, "cv", folds, "at least 2")?,
            Cv::Splits(splits) => {
                let full = splits.iter().all(|(train, test)| !train.is_empty() && !test.is_empty());
                require(
                    full && !splits.is_empty(),
                    "cv",
                    "splits",
                    "pairs of non-empty row lists",
                )?;
            }
        }
        let one = ConicParams {
            kernel: self.kernel,
            gamma: self.gamma,
            degree: self.degree,
            coef0: self.coef0,
            fit_intercept: self.fit_intercept,
            tol: self.tol,
            max_iter: self.max_iter,
            ..ConicParams::default()
        }
        .check()?;
        Ok(ConicSvcCv { params: self, one })
    }
}

/// [`ConicSvc`] with `kappa` chosen by cross-validated misclassification, or another score.
///
/// Every split's path of fits is warm-started and certified. The mean over splits of the score of the
/// held-out rows decides. Ties are common, since these are counts: of all tied values, in
/// ascending order, the middle one wins (the lower middle of an even number). The paper does not say how it
/// breaks them; the middle of a plateau is the choice least sensitive to where the plateau ends.
#[derive(Debug, Clone)]
pub struct ConicSvcCv {
    params: ConicCvParams,
    one: ConicSvc,
}

impl ConicSvcCv {
    /// The budgets, as given.
    pub fn kappas(&self) -> Vec<f64> {
        match &self.params.kappas {
            Kappas::Count(count) => linear_grid(0.005, 0.5, *count),
            Kappas::Values(values) => values.clone(),
        }
    }

    fn splits(&self, data: &Dataset) -> Result<Vec<Split>> {
        let splits = match &self.params.cv {
            Cv::Folds(folds) => {
                stratified(data.labels(), *folds, 1, self.params.random_state.unwrap_or(0))
            }
            Cv::Splits(splits) => {
                let n = data.len();
                if let Some(row) =
                    splits.iter().flat_map(|(a, b)| a.iter().chain(b)).find(|r| **r >= n)
                {
                    return Err(Error::param("cv", row, format!("row positions below {n}")));
                }
                let split = |(train, holdout): &(Vec<usize>, Vec<usize>)| Split {
                    train: train.clone(),
                    holdout: holdout.clone(),
                };
                splits.iter().map(split).collect()
            }
        };
        for split in &splits {
            let first = data.labels()[split.train[0]];
            if split.train.iter().all(|&i| data.labels()[i] == first) {
                return Err(Error::BadData(
                    "cv: the rows to fit on in one split are all of one class; use fewer folds"
                        .into(),
                ));
            }
        }
        Ok(splits)
    }

    /// How every kappa does on the held-out rows.
    fn held_out(&self, data: &Dataset, split: &Split, control: &Control) -> Result<Vec<f64>> {
        let (train, holdout) = if self.params.kernel == KernelKind::Precomputed {
            let k = data.features().to_dense();
            let part = |rows: &[usize]| {
                let columns = &split.train;
                let values =
                    Dense::from_fn(rows.len(), columns.len(), |i, j| k[(rows[i], columns[j])]);
                data.select_rows(rows).replace_features(values.into())
            };
            (part(&split.train), part(&split.holdout))
        } else {
            (data.select_rows(&split.train), data.select_rows(&split.holdout))
        };
        let quiet = control.without_progress();
        let fits = self.one.path(&train, &self.kappas(), &quiet)?;
        fits.iter()
            .map(|fitted| {
                let scores = fitted.model.decision(holdout.features())?;
                Ok(self.params.scoring.of(holdout.labels(), &scores).unwrap_or(f64::NAN))
            })
            .collect()
    }
}

/// Mean accuracies that differ by less are ties: they are sums of counts.
const TIE: f64 = 1e-12;

/// The middle of the positions with the largest score, by ascending `kappas`.
fn choose(kappas: &[f64], scores: &[f64]) -> usize {
    let best = scores.iter().fold(f64::NEG_INFINITY, |m, s| m.max(*s));
    let mut tied: Vec<usize> = (0..kappas.len()).filter(|&k| scores[k] >= best - TIE).collect();
    tied.sort_by(|&i, &j| kappas[i].total_cmp(&kappas[j]));
    tied[(tied.len() - 1) / 2]
}

impl Estimator for ConicSvcCv {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let kappas = self.kappas();
        if self.params.kernel == KernelKind::Precomputed {
            // A wrong shape is reported for the whole matrix, not for the first fold.
            super::estimator::check_precomputed(data.features())?;
        }
        let splits = self.splits(data)?;
        let scores = Scores::cross_validate(&splits, control, |split| {
            self.held_out(data, split, control).map(Some)
        })?;
        let best = match self.params.rule {
            Rule::Min => choose(&kappas, scores.means()),
            Rule::OneSe => {
                scores.take(Rule::OneSe, |_| true, |a, b| kappas[a].total_cmp(&kappas[b]))?
            }
        };
        let chosen = ConicParams { kappa: Some(kappas[best]), ..self.one.params().clone() };
        let fitted = chosen.check()?.fit(data, control)?;
        let table = scores.table(Candidates::new(kappas.len()).with("kappa", kappas.clone()));
        Ok(fitted.with("kappa", kappas[best]).with("cv_results", table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_middle_in_ascending_order() {
        assert_eq!(choose(&[0.4, 0.1, 0.2, 0.3], &[0.9, 0.9, 0.9, 0.8]), 2);
        assert_eq!(choose(&[0.1, 0.2], &[0.0, 0.0]), 0);
        assert_eq!(choose(&[0.1, 0.2], &[0.8, 0.9]), 1);
    }
}
