//! Probabilities for methods whose loss defines none: a map from scores to probabilities, learned on the scores of
//! rows that the scoring model has not seen.

use rayon::prelude::*;
use serde::Deserialize as _;
use serde_json::Value;

use super::{Method, settled};
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged, NanRule};
use crate::error::{Error, Result};
use crate::folds::{Parts, Split, stratified};
use crate::linalg::{Dense, Matrix};
use crate::model::{Estimator, Fitted, Output, PathPoint, ScoreMap, Scored, calibrated};

/// Parts into which rows are dealt; each is scored by a fit to the others.
const FOLDS: usize = 5;
/// Distinct rows from which on the map is isotonic: fewer do not settle so free a form.
const ISOTONIC_FROM: usize = 1000;

/// A method's estimator with calibrated probabilities.
pub(super) struct Calibrate {
    /// The method's name and parameters.
    pub(super) method: &'static str,
    pub(super) params: Value,
    pub(super) inner: Box<dyn Estimator>,
    pub(super) class_weight: ClassWeight,
    pub(super) nan: NanRule,
    /// Whether features are kernel values between rows.
    pub(super) precomputed: bool,
}

/// Takes `calibrate` out of the parameters of a method.
pub(super) fn asked_for(params: &mut Value) -> Result<bool> {
    match params.as_object_mut().and_then(|all| all.remove("calibrate")) {
        None | Some(Value::Null | Value::Bool(false)) => Ok(false),
        Some(Value::Bool(true)) => Ok(true),
        Some(other) => Err(Error::param("calibrate", other, "true or false")),
    }
}

impl Method {
    /// The estimator with probabilities learned on held-out rows.
    pub(crate) fn calibrated(
        &self,
        params: &Value,
        inner: Box<dyn Estimator>,
    ) -> Result<Box<dyn Estimator>> {
        if params.get("cv").is_some_and(|cv| cv.as_array().is_some_and(|a| !a.is_empty())) {
            return Err(Error::param(
                "calibrate",
                true,
                "false where `cv` lists rows: parts of them are fitted too",
            ));
        }
        let class_weight = match params.get("class_weight") {
            Some(given) => ClassWeight::deserialize(given).map_err(|_| {
                Error::param("class_weight", given, "nothing, \"balanced\" or factors")
            })?,
            None => ClassWeight::None,
        };
        let precomputed = params.get("kernel").and_then(Value::as_str) == Some("precomputed");
        let nan = self.nan_rule(params);
        let (method, params) = (self.name, params.clone());
        Ok(Box::new(Calibrate { method, params, inner, class_weight, nan, precomputed }))
    }

    /// Whether the method takes `calibrate`: its loss defines no probabilities, or not always.
    pub(super) fn takes_calibrate(&self) -> bool {
        !["robust-logistic", "stable-logistic", "stable-logistic-cv"].contains(&self.name)
    }
}

impl Estimator for Calibrate {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let fitted = self.inner.fit(data, control)?;
        if fitted.model.gives_probabilities() {
            return Err(Error::param(
                "calibrate",
                true,
                "false where the loss has probabilities of its own",
            ));
        }
        // Equal rows stay together and a weight of 2 is the row twice, here as in the fits.
        let merged = (!self.precomputed).then(|| Merged::new(data));
        let distinct = merged.as_ref().map_or(data.len(), |m| m.data.len());
        let parts = merged.as_ref().and_then(|m| Some(Parts::of(&m.data)?.dataset(&m.data)));
        let deck = match (&merged, &parts) {
            (Some(_), Some(parts)) => Deck::Weighted(parts),
            // Rows that came without weights are fitted as they came.
            (Some(merged), None) if data.weights().is_none() => Deck::Lines(data, merged),
            (Some(merged), None) => Deck::Weighted(&merged.data),
            (None, _) => Deck::Kernel(data),
        };
        let rows = deck.rows();
        let folds = fold_count(rows)?;
        // Where the estimator can fix what it chose on these rows, the folds are fitted with that: scores of other choices have other
        // scales, and no map of one kind onto the others.
        let given = if matches!(deck, Deck::Lines(..)) { data.len() } else { rows.len() };
        let chosen = self.inner.settled(&fitted, given);
        let chosen = chosen.or_else(|| settled(self.method, &self.params, &fitted, given));
        let scoring = chosen.as_deref().unwrap_or(self.inner.as_ref());
        let scores = self.held_out(scoring, &deck, folds, control)?;
        let counted = self.class_weight.applied(rows)?;
        let isotonic = distinct >= ISOTONIC_FROM;
        let (maps, rises): (Vec<ScoreMap>, Vec<bool>) = (0..scores.ncols())
            .map(|k| {
                let class = if scores.ncols() == 1 { 1 } else { k };
                let scored = scored(&counted, &scores, k, class);
                if isotonic {
                    (ScoreMap::isotonic(&scored), true)
                } else {
                    ScoreMap::sigmoid(&scored)
                }
            })
            .unzip();
        Ok(put_on(fitted, maps, &rises, (distinct, folds)))
    }

    fn fit_path(&self, _: &[PathPoint], _: &Dataset, _: &Control) -> Result<Vec<Fitted>> {
        Err(Error::param(
            "calibrate",
            true,
            "false along a path: calibrate the fit that was chosen",
        ))
    }
}

impl Calibrate {
    /// The score of every row from a fit that did not see it.
    fn held_out(
        &self,
        scoring: &dyn Estimator,
        deck: &Deck<'_>,
        folds: usize,
        control: &Control,
    ) -> Result<Dense> {
        let rows = deck.rows();
        let splits = stratified(rows.labels(), folds, 1, 0);
        let quiet = control.without_progress();
        let parts: Vec<Dense> = control.install(|| {
            splits
                .par_iter()
                .map(|split| self.score(scoring, deck.sides(split), &quiet))
                .collect::<Result<_>>()
        })?;
        let width = parts.first().map_or(1, Dense::ncols);
        let mut scores = Dense::zeros(rows.len(), width);
        for (split, part) in splits.iter().zip(&parts) {
            for (k, &i) in split.holdout.iter().enumerate() {
                scores.row_mut(i).copy_from_slice(part.row(k));
            }
        }
        Ok(scores)
    }

    fn score(
        &self,
        scoring: &dyn Estimator,
        (train, holdout): (Dataset, Dataset),
        control: &Control,
    ) -> Result<Dense> {
        let features: Matrix = self.nan.apply(holdout.features().clone());
        scoring.fit(&train, control)?.model.decision(&features)
    }
}

/// Rows as they are dealt to folds.
enum Deck<'a> {
    /// The rows as given, dealt by what is distinct among them.
    Lines(&'a Dataset, &'a Merged),
    /// Distinct rows with their weights, or parts of them.
    Weighted(&'a Dataset),
    /// Rows of a precomputed kernel.
    Kernel(&'a Dataset),
}

impl Deck<'_> {
    /// What is dealt.
    fn rows(&self) -> &Dataset {
        match self {
            Self::Lines(_, merged) => &merged.data,
            Self::Weighted(rows) | Self::Kernel(rows) => rows,
        }
    }

    /// Rows to fit on and rows to score.
    fn sides(&self, split: &Split) -> (Dataset, Dataset) {
        match self {
            Self::Lines(data, Merged { data: rows, position }) => {
                let mut taken = vec![false; rows.len()];
                for &i in &split.train {
                    taken[i] = true;
                }
                let of = |i: &usize| position.at(*i).is_some_and(|k| taken[k]);
                let train: Vec<usize> = (0..data.len()).filter(of).collect();
                (data.select_rows(&train), rows.select_rows(&split.holdout))
            }
            Self::Weighted(rows) => {
                (rows.select_rows(&split.train), rows.select_rows(&split.holdout))
            }
            // Columns are rows too.
            Self::Kernel(data) => {
                let part = |chosen: &[usize]| {
                    let kernel = data.features().select_rows(chosen).select_columns(&split.train);
                    data.select_rows(chosen).replace_features(kernel)
                };
                (part(&split.train), part(&split.holdout))
            }
        }
    }
}

/// The fit with maps on its scores.
fn put_on(
    mut fitted: Fitted,
    maps: Vec<ScoreMap>,
    rises: &[bool],
    (rows, folds): (usize, usize),
) -> Fitted {
    if rises.contains(&false) {
        let text = "calibrate: scores of held-out rows do not rise with the class: probabilities are little more \
                    than shares of the classes";
        fitted.warnings.push(text.into());
    }
    let kind = if matches!(maps[0], ScoreMap::Isotonic { .. }) { "isotonic" } else { "sigmoid" };
    let count = |n: usize| Output::Integer(i64::try_from(n).unwrap_or(i64::MAX));
    let (slopes, offsets): (Vec<f64>, Vec<f64>) = maps
        .iter()
        .filter_map(|map| match map {
            ScoreMap::Sigmoid { slope, offset } => Some((*slope, *offset)),
            ScoreMap::Isotonic { .. } => None,
        })
        .unzip();
    let mut parts = vec![
        ("kind".to_owned(), Output::Text(kind.into())),
        ("rows".to_owned(), count(rows)),
        ("folds".to_owned(), count(folds)),
    ];
    if !slopes.is_empty() {
        parts.push(("slope".to_owned(), slopes.into()));
        parts.push(("offset".to_owned(), offsets.into()));
    }
    fitted.model = calibrated(fitted.model, maps);
    fitted.with("calibration", Output::Parts(parts))
}

/// As many parts as the smallest class allows, so that every fit sees every class.
fn fold_count(rows: &Dataset) -> Result<usize> {
    let mut counts = vec![0_usize; rows.n_classes()];
    for &k in rows.labels() {
        counts[k] += 1;
    }
    let smallest = counts.into_iter().min().unwrap_or(0);
    if smallest < 2 {
        return Err(Error::BadData(
            "calibrate needs two different rows of every class: one to score and one to learn from"
                .into(),
        ));
    }
    Ok(FOLDS.min(smallest))
}

fn scored(rows: &Dataset, scores: &Dense, column: usize, class: usize) -> Vec<Scored> {
    let weight = |i: usize| rows.weights().map_or(1.0, |w| w[i]);
    (0..rows.len()).map(|i| (scores[(i, column)], rows.labels()[i] == class, weight(i))).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;
    use crate::model::{Linear, Link, Model};

    /// Counts its fits; what it would choose can be fixed once.
    struct Counts(&'static AtomicUsize, Option<&'static AtomicUsize>);

    impl Estimator for Counts {
        fn fit(&self, data: &Dataset, _: &Control) -> Result<Fitted> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let coef = vec![vec![1.0; data.n_features()]];
            let linear = Linear { coef, intercept: vec![0.0], link: Link::None };
            Ok(Fitted::new(Model::Linear(linear), 1))
        }

        fn settled(&self, _: &Fitted, _: usize) -> Option<Box<dyn Estimator>> {
            self.1.map(|fits| Box::new(Counts(fits, None)) as Box<dyn Estimator>)
        }
    }

    /// All rows are fitted first, then every part; the parts with what was chosen on all rows, where that can be fixed.
    #[test]
    fn the_parts_are_fitted_with_what_was_chosen_on_all_rows() {
        static TUNED: AtomicUsize = AtomicUsize::new(0);
        static SETTLED: AtomicUsize = AtomicUsize::new(0);
        let x = Dense::from_fn(40, 2, |i, j| ((i * (5 + 2 * j) + j) % 11) as f64 / 5.0 - 1.0);
        let labels = (0..40).map(|i| usize::from(x[(i, 0)] + 0.1 * (i % 7) as f64 > 0.2)).collect();
        let data = Dataset::new(x.into(), labels, 2).unwrap();
        for (settled, fits) in [(None, (1 + FOLDS, 0)), (Some(&SETTLED), (1, FOLDS))] {
            let calibrate = Calibrate {
                method: "l2",
                params: Value::Null,
                inner: Box::new(Counts(&TUNED, settled)),
                class_weight: ClassWeight::None,
                nan: NanRule::Refuse,
                precomputed: false,
            };
            let fitted = calibrate.fit(&data, &Control::new()).unwrap();
            assert!(fitted.model.gives_probabilities());
            let made = (TUNED.swap(0, Ordering::Relaxed), SETTLED.swap(0, Ordering::Relaxed));
            assert_eq!(made, fits);
        }
    }

    /// A search and the method that takes what it chose are calibrated alike.
    #[test]
    fn probabilities_of_a_search_are_those_of_what_it_chose() {
        let x = Dense::from_fn(60, 2, |i, j| ((i * (5 + 2 * j) + j) % 11) as f64 / 5.0 - 1.0);
        let labels = (0..60).map(|i| usize::from(x[(i, 0)] + 0.2 * (i % 7) as f64 > 0.5)).collect();
        let data = Dataset::new(x.into(), labels, 2).unwrap();
        let fit = |name: &str, params: Value| {
            let estimator = super::super::find(name).unwrap().estimator(&params).unwrap();
            estimator.fit(&data, &Control::new()).unwrap()
        };
        let grid =
            json!({"ks": [0.6, 1.0], "Cs": [1e-3, 1e-1, 10.0], "tol": 1e-8, "calibrate": true});
        let search = fit("stable-svm-cv", grid);
        let chosen = |name: &str| match search.outputs.get(name) {
            Some(Output::Number(value)) => *value,
            _ => f64::NAN,
        };
        let (k, c) = (chosen("k"), chosen("C"));
        let single = fit("stable-svm", json!({"k": k, "C": c, "tol": 1e-8, "calibrate": true}));
        let p = |fitted: &Fitted| fitted.model.probabilities(data.features()).unwrap().unwrap();
        for (a, b) in p(&search).data().iter().zip(p(&single).data()) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
}
