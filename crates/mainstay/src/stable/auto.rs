//! `k = "auto"`: the smallest worst case that costs nothing measurable on held-out rows.

use super::estimator::only;
use super::path::{PathSpec, Setting};
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged};
use crate::error::Result;
use crate::folds::{Dealt, Split};
use crate::model::Fitted;
use crate::optim::{Candidates, Rule, Scores};
use crate::uncertainty::K;

/// Fractions that compete. Below a fifth hardly any set has a usable fit.
const FRACTIONS: [f64; 9] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2];
/// Folds of the cross-validation that chooses the fraction.
const FOLDS: usize = 5;
/// Gap of the fits that compete: far below the differences between candidates.
const PATH_TOL: f64 = 1e-4;

/// A fit with `k` chosen, and the table of what competed.
///
/// Each fraction is fitted to five folds; the smallest one whose held-out score (minus the log loss, or accuracy
/// without probabilities) is within one standard error of the best is taken. Fractions with which a fold's model
/// gives all held-out rows one class are left out, and so is one with which the fit to all rows uses no feature: then
/// the next larger one is taken. Equal rows are merged first, so that a weight of 2 is the row twice here, too.
pub(super) fn fit(
    spec: &PathSpec,
    strength: f64,
    data: &Dataset,
    control: &Control,
) -> Result<Fitted> {
    let merged = Merged::new(&*spec.class_weight.applied(data)?).data;
    let plain = PathSpec { class_weight: ClassWeight::None, ..spec.clone() };
    let rough = PathSpec { tol: spec.tol.max(PATH_TOL), ..plain };
    let settings = FRACTIONS.map(|k| Setting { k: K::Fraction(k), strength });
    let quiet = control.without_progress();
    let Dealt { data: rows, splits } = Dealt::new(&merged, FOLDS, 1, 0);
    let judge = |split: &Split| {
        let train = rows.select_rows(&split.train);
        if train.labels().iter().all(|label| *label == train.labels()[0]) {
            return Ok(None);
        }
        let path = rough.fit(&settings, &train, &quiet)?;
        let holdout = rows.select_rows(&split.holdout);
        path.iter().map(|fitted| score(fitted, &holdout)).collect::<Result<_>>().map(Some)
    };
    let scores = Scores::cross_validate(&splits, control, judge)?;
    // Nothing can be scored where no fraction tells the classes apart: the classical fit then says so.
    let mut chosen = scores.take(Rule::OneSe, |_| true, |a, b| a.cmp(&b)).unwrap_or(0);
    loop {
        let fitted = only(spec.fit(&settings[chosen..=chosen], data, control)?)?;
        let idle =
            fitted.model.linear().is_some_and(|m| m.coef.iter().flatten().all(|w| *w == 0.0));
        if chosen == 0 || !idle {
            let table =
                scores.table(Candidates::new(FRACTIONS.len()).with("k", FRACTIONS.to_vec()));
            return Ok(fitted.with("k", FRACTIONS[chosen]).with("cv_results", table));
        }
        chosen -= 1;
    }
}

/// How well the held-out rows are told apart; NaN where they are not.
fn score(fitted: &Fitted, holdout: &Dataset) -> Result<f64> {
    let predicted = fitted.model.predict(holdout.features())?;
    let mixed = holdout.labels().iter().any(|label| *label != holdout.labels()[0]);
    if mixed && predicted.iter().all(|class| *class == predicted[0]) {
        return Ok(f64::NAN);
    }
    let weight = |i: usize| holdout.weights().map_or(1.0, |w| w[i]);
    let total: f64 = (0..holdout.len()).map(weight).sum();
    let value: f64 = match fitted.model.probabilities(holdout.features())? {
        Some(p) => (0..holdout.len())
            .map(|i| weight(i) * p[(i, holdout.labels()[i])].max(f64::EPSILON).ln())
            .sum(),
        None => {
            (0..holdout.len()).filter(|&i| predicted[i] == holdout.labels()[i]).map(weight).sum()
        }
    };
    Ok(value / total)
}
