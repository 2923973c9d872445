//! The share of wrong labels by cross-validation.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::estimator::{ConicParams, ConicSvc, Gamma, GammaRule, KernelKind, check_kappa};
use super::setup::Guide;
use super::strategy::is_crowded;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset};
use crate::error::{Error, Result, require};
use crate::folds::{Cv, Dealt, Split, linear_grid};
use crate::linalg::Dense;
use crate::model::{Estimator, Fitted, Model};
use crate::optim::choice::nothing_scored;
use crate::optim::grid::TIE;
use crate::optim::{Candidates, Collapsed, Rule, Scores, Scoring};

/// Up to this many kappas are so far apart that answers for one predict those for the next badly: all of them are solved on all
/// rows first, and folds start there. Of more only the largest is.
const FEW_KAPPAS: usize = 10;

/// Which budgets compete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Kappas {
    /// This many, equally spaced from 0.005 to 0.5.
    Count(usize),
    /// These.
    Values(Vec<f64>),
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
    /// As in [`ConicParams`]; held-out rows are weighed by it too.
    pub class_weight: ClassWeight,
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
            scoring: Scoring::Accuracy,
            rule: Rule::default(),
            kernel: one.kernel,
            gamma: Gamma::Rule(GammaRule::Scale),
            degree: one.degree,
            coef0: one.coef0,
            fit_intercept: one.fit_intercept,
            class_weight: one.class_weight,
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
        self.cv.check()?;
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
/// held-out rows decides, where rows and classes count by their weights; copies of a row are in one fold. Ties are common, since these are counts: of all tied values, in
/// ascending order, the middle one wins (the lower middle of an even number). The paper does not say how it
/// breaks them; the middle of a plateau is the choice least sensitive to where the plateau ends.
/// Budgets with which all held-out rows get one class in half of the splits are taken only if all are like that.
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

    /// Answers on all rows, from which the fits to those of the `splits` start; none where fits cannot use them, or may end by
    /// `max_iter` before they have left what held-out rows say.
    fn guide(
        &self,
        one: &ConicSvc,
        data: &Dataset,
        splits: &[Split],
        control: &Control,
    ) -> Result<Option<Guide>> {
        let kappas = self.kappas();
        let rows = splits.iter().map(|split| split.train.len()).min().unwrap_or(0);
        let columns = data.n_features() + usize::from(self.params.fit_intercept);
        let open = |k: &usize| kappas[*k] > 0.0 && kappas[*k] < 1.0;
        let mut chosen: Vec<usize> = (0..kappas.len()).filter(open).collect();
        let short = self.params.max_iter < ConicParams::default().max_iter;
        if self.params.kernel != KernelKind::Linear || is_crowded(rows, columns) || short {
            return Ok(None);
        }
        if chosen.len() > FEW_KAPPAS {
            chosen.sort_by(|&a, &b| kappas[b].total_cmp(&kappas[a]));
            chosen.truncate(1);
        }
        let quiet = control.without_progress();
        match control.install(|| Guide::new(one.params(), data, (&kappas, &chosen), &quiet)) {
            Ok(guide) => Ok(Some(guide)),
            Err(Error::Interrupted) => Err(Error::Interrupted),
            // What is wrong with the rows will be said where it matters.
            Err(_) => Ok(None),
        }
    }

    /// One model for every kappa from the training rows of a split, and its held-out rows.
    fn models(
        &self,
        one: &ConicSvc,
        data: &Dataset,
        (split, guide): (&Split, Option<&Guide>),
        control: &Control,
    ) -> Result<(Vec<Model>, Dataset)> {
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
        Ok((one.path_models(&train, &self.kappas(), guide, &quiet)?, holdout))
    }

    /// How every kappa does on the held-out rows.
    fn judge(
        &self,
        models: &[Model],
        holdout: &Dataset,
        one: &ConicSvc,
        collapsed: &Collapsed,
    ) -> Result<Vec<f64>> {
        let weights = one.params().class_weight.weights_of(holdout)?;
        let score = |(k, model): (usize, &Model)| {
            let scores = model.decision(holdout.features())?;
            collapsed.note(k, holdout.labels(), &crate::model::choose(&scores));
            let score = self.params.scoring.of(holdout.labels(), scores, weights.as_deref());
            Ok(score.unwrap_or(f64::NAN))
        };
        models.iter().enumerate().map(score).collect()
    }
}

/// The middle of the positions with the largest score, by ascending `kappas`, among those that are `lively` if any is.
/// None if nothing could be scored.
fn choose(kappas: &[f64], scores: &[f64], lively: impl Fn(usize) -> bool) -> Option<usize> {
    let usable: Vec<usize> = (0..kappas.len()).filter(|&k| !scores[k].is_nan()).collect();
    let any = usable.iter().any(|&k| lively(k));
    let pool: Vec<usize> = usable.into_iter().filter(|&k| lively(k) || !any).collect();
    let best = pool.iter().fold(f64::NEG_INFINITY, |m, &k| m.max(scores[k]));
    let mut tied: Vec<usize> = pool.into_iter().filter(|&k| scores[k] >= best - TIE).collect();
    tied.sort_by(|&i, &j| kappas[i].total_cmp(&kappas[j]));
    tied.get(tied.len().checked_sub(1)? / 2).copied()
}

impl Estimator for ConicSvcCv {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let kappas = self.kappas();
        if self.params.kernel == KernelKind::Precomputed {
            // A wrong shape is reported for the whole matrix, not for the first fold.
            super::estimator::check_precomputed(data.features())?;
        }
        let seed = self.params.random_state.unwrap_or(0);
        let Dealt { data: rows, splits } = if self.params.kernel == KernelKind::Precomputed {
            // Columns are rows, too: they stay as they are.
            Dealt { data: Cow::Borrowed(data), splits: self.params.cv.splits(data, seed)? }
        } else {
            self.params.cv.deal(data, seed)?
        };
        let class_weight = self.params.class_weight.settled(data)?;
        let one = ConicParams { class_weight, ..self.one.params().clone() }.check()?;
        let collapsed = Collapsed::new(kappas.len());
        let guide = self.guide(&one, &rows, &splits, control)?;
        let scores = Scores::cross_validate(&splits, control, |split| {
            let split = (split, guide.as_ref());
            let (models, holdout) = self.models(&one, &rows, split, control)?;
            self.judge(&models, &holdout, &one, &collapsed).map(Some)
        })?;
        let lively = |k: usize| collapsed.is_lively(k, splits.len());
        let best = match self.params.rule {
            Rule::Min => choose(&kappas, scores.means(), lively).ok_or_else(nothing_scored)?,
            Rule::OneSe => {
                scores.take(Rule::OneSe, lively, |a, b| kappas[a].total_cmp(&kappas[b]))?
            }
        };
        let known = match guide.as_ref().filter(|_| matches!(rows, Cow::Borrowed(_))) {
            Some(guide) => guide.fitted((best, kappas[best]), data, control)?,
            None => None,
        };
        let fitted = if let Some(fitted) = known {
            fitted
        } else {
            let chosen = ConicParams { kappa: Some(kappas[best]), ..one.params().clone() };
            chosen.check()?.fit(data, control)?
        };
        let table = scores.table(Candidates::new(kappas.len()).with("kappa", kappas.clone()));
        Ok(fitted.with("kappa", kappas[best]).with("cv_results", table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Outliers, make_outliers};
    use crate::linalg::vector;

    #[test]
    fn ties_go_to_the_middle_in_ascending_order() {
        let all = |_: usize| true;
        assert_eq!(choose(&[0.4, 0.1, 0.2, 0.3], &[0.9, 0.9, 0.9, 0.8], all), Some(2));
        assert_eq!(choose(&[0.1, 0.2], &[0.0, 0.0], all), Some(0));
        assert_eq!(choose(&[0.1, 0.2], &[0.8, 0.9], all), Some(1));
        assert_eq!(choose(&[0.1, 0.2], &[0.8, 0.9], |k| k == 0), Some(0));
        assert_eq!(choose(&[0.1, 0.2], &[0.8, 0.9], |_| false), Some(1));
        assert_eq!(choose(&[0.1, 0.2], &[f64::NAN, 0.5], all), Some(1));
        assert_eq!(choose(&[0.1, 0.2], &[f64::NAN, f64::NAN], all), None);
    }

    /// Folds that start from answers on all rows end where those that start from nothing end: few kappas and many, wide
    /// and narrow gaps.
    #[test]
    fn guided_folds_have_the_same_models() {
        let kappas: Vec<f64> = (1..=12).map(|k| 0.04 * f64::from(k)).collect();
        let control = Control::new();
        for (kind, seed) in [(Outliers::Spread, 0), (Outliers::Clustered, 5)] {
            let data = make_outliers(90, 8, 0.5, kind, 0.1, seed).unwrap();
            for kappas in [Kappas::Values(vec![0.4, 0.2, 0.05]), Kappas::Values(kappas.clone())] {
                let params = ConicCvParams { kappas, tol: 1e-8, ..Default::default() };
                let cv = params.check().unwrap();
                let splits = Cv::Folds(3).splits(&data, 0).unwrap();
                let guide = cv.guide(&cv.one, &data, &splits, &control).unwrap();
                assert!(guide.is_some());
                for split in &splits {
                    let models = |guide| cv.models(&cv.one, &data, (split, guide), &control);
                    let (guided, alone) = (models(guide.as_ref()).unwrap(), models(None).unwrap());
                    for (a, b) in guided.0.iter().zip(&alone.0) {
                        let (a, b) = (a.linear().unwrap(), b.linear().unwrap());
                        let size = vector::norm(&b.coef[0]);
                        for (a, b) in a.coef[0].iter().zip(&b.coef[0]) {
                            assert!((a - b).abs() <= 1e-4 * size, "{kind:?}: {a} {b}");
                        }
                    }
                }
            }
        }
    }

    /// Kernels have no features to start in, and with nearly as many columns as rows the solver takes no start.
    #[test]
    fn there_is_no_guide_where_fits_cannot_use_one() {
        let data = make_outliers(20, 8, 0.5, Outliers::Spread, 0.1, 0).unwrap();
        let splits = Cv::Folds(3).splits(&data, 0).unwrap();
        for kernel in [KernelKind::Linear, KernelKind::Rbf] {
            let cv = ConicCvParams { kernel, ..Default::default() }.check().unwrap();
            assert!(cv.guide(&cv.one, &data, &splits, &Control::new()).unwrap().is_none());
        }
        // Few steps might leave folds at the answer on all rows, which knows the held-out ones.
        let data = make_outliers(90, 8, 0.5, Outliers::Spread, 0.1, 0).unwrap();
        let cv = ConicCvParams { max_iter: 5, ..Default::default() }.check().unwrap();
        assert!(cv.guide(&cv.one, &data, &splits, &Control::new()).unwrap().is_none());
    }
}
