//! The chosen model looked at closely: held-out predictions, refits, weights with intervals.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::metrics::{
    Evaluation, Judged, Metric, Predictions, ThresholdRow, USUAL_THRESHOLDS, pr_curve, roc_curve,
    threshold_table,
};
use crate::model::{Estimator, Model, StandardizeFirst, TrainingSummary};
use crate::trust::{ClassCoefficients, coefficients};
use crate::validate::{CalibrationCurve, Instability, Kind, MetricRow, Validation, ValidationPlan};

/// Bootstrap refits behind intervals of weights, optimism and instability.
const BOOTSTRAP: usize = 60;
/// Folds of the held-out predictions, at most.
const FOLDS: usize = 5;
/// How many times rows are dealt into folds.
const REPEATS: usize = 2;
/// Rows of which the instability is shown.
const SHOWN: usize = 250;

/// Where the probabilities of a model come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbabilitySource {
    /// Its loss defines them.
    Loss,
    /// A sigmoid (isotonic from 1,000 rows on) of its scores, learned on held-out parts of the training rows.
    Calibrated,
    /// There are none.
    None,
}

/// ROC and precision-recall curve of one class against the rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassCurves {
    /// The class; of two the second.
    pub class: String,
    /// Share of its rows.
    pub prevalence: f64,
    /// False positive rate and sensitivity.
    pub roc: Vec<[f64; 2]>,
    /// Area under it.
    pub auc: Option<f64>,
    /// Recall and precision.
    pub pr: Vec<[f64; 2]>,
    /// Average precision.
    pub pr_auc: Option<f64>,
}

/// How far the probability of one row moves between refits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UnstableRow {
    /// By the fit to all rows.
    pub probability: f64,
    /// 2.5 % of the refits give less.
    pub low: f64,
    /// 2.5 % of the refits give more.
    pub high: f64,
}

/// How much answers depend on which rows were drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unsteadiness {
    /// Mean absolute change of a row's probability; absent without probabilities.
    pub mean_absolute_error: Option<f64>,
    /// Mean share of the refits that give a row another class.
    pub flips: f64,
    /// Share of the rows that more than one refit in ten gives another class.
    pub often: f64,
    /// Some rows, by rising probability.
    pub rows: Vec<UnstableRow>,
}

/// The chosen model. Figures of quality are of held-out rows unless they say otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// Its name in the comparison.
    pub method: String,
    /// Rows that were looked at.
    pub rows: usize,
    /// Folds of the held-out predictions.
    pub folds: usize,
    /// How many times rows were dealt into folds; curves and tables are of the first.
    pub repeats: usize,
    /// Bootstrap refits.
    pub refits: usize,
    /// Where probabilities come from.
    pub probabilities: ProbabilitySource,
    /// Every metric that is defined.
    pub metrics: Vec<MetricRow>,
    /// One entry for two classes, else one per class.
    pub curves: Vec<ClassCurves>,
    /// Thresholds on the probability; empty without probabilities and for more than two classes.
    pub thresholds: Vec<ThresholdRow>,
    /// `confusion[i][j]`: held-out rows of class i called j.
    pub confusion: Vec<Vec<usize>>,
    /// Probabilities against what happened.
    pub calibration: Option<CalibrationCurve>,
    /// Over refits.
    pub unsteadiness: Option<Unsteadiness>,
    /// Weights of the fit to all rows, in the units of the data; empty where the model has none.
    pub coefficients: Vec<ClassCoefficients>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// What is looked at.
pub(super) struct Candidate<'a> {
    pub(super) method: &'a str,
    pub(super) estimator: &'a dyn Estimator,
    /// Whether the estimator learns probabilities on held-out rows.
    pub(super) calibrated: bool,
    pub(super) data: &'a Dataset,
    pub(super) features: &'a [String],
    pub(super) classes: &'a [String],
    /// Rows of one group are in one fold.
    pub(super) groups: Option<&'a [usize]>,
    pub(super) seed: u64,
}

impl Candidate<'_> {
    /// Refits the method and sums up what the refits say.
    pub(super) fn appraise(&self, control: &Control) -> Result<Chosen> {
        let (labels, k) = (self.data.labels(), self.data.n_classes());
        let validation = Validation::new(self.plan()?, labels, k)?;
        let (model, refits) = self.refit(&validation, control)?;
        let outcome = validation.finish()?;
        let held_out = validation.held_out()?.ok_or_else(|| {
            let first = outcome.notes.first().cloned().unwrap_or_default();
            Error::BadData(format!("no row could be predicted by a fit without it ({first})"))
        })?;
        let judged = Judged::new(labels, k, &held_out)?;
        let training = TrainingSummary::learn(self.data)?;
        let names = (self.features, self.classes);
        let thresholds = if k == 2 && held_out.probabilities.is_some() {
            threshold_table(&judged, &USUAL_THRESHOLDS)?
        } else {
            Vec::new()
        };
        Ok(Chosen {
            method: self.method.into(),
            rows: self.data.len(),
            folds: outcome.folds,
            repeats: outcome.repeats,
            refits: outcome.bootstrap,
            probabilities: self.source(&held_out),
            curves: self.curves(&judged),
            thresholds,
            confusion: Evaluation::of(&judged).confusion,
            calibration: outcome.calibration,
            unsteadiness: outcome.instability.as_ref().map(unsteadiness),
            coefficients: coefficients(&model, names.0, names.1, Some(&training), &refits),
            metrics: outcome.metrics.into_iter().filter(|m| m.cross_validated.is_some()).collect(),
            notes: outcome.notes,
        })
    }

    fn plan(&self) -> Result<ValidationPlan> {
        Ok(ValidationPlan {
            bootstrap: BOOTSTRAP,
            folds: self.folds()?,
            repeats: REPEATS,
            curve_repeats: 0,
            metric: Metric::Auc,
            groups: self.groups.map(<[usize]>::to_vec),
            seed: self.seed,
        })
    }

    /// As many folds as the smallest class allows.
    fn folds(&self) -> Result<usize> {
        let mut counts = vec![0_usize; self.data.n_classes()];
        self.data.labels().iter().for_each(|&k| counts[k] += 1);
        let smallest = counts.into_iter().min().unwrap_or(0);
        if smallest < 2 {
            return Err(Error::BadData(
                "a class has a single row: it cannot be both learned from and held out".into(),
            ));
        }
        Ok(smallest.min(FOLDS))
    }

    /// The fit to all rows, and the bootstrap refits.
    fn refit(&self, validation: &Validation, control: &Control) -> Result<(Model, Vec<Model>)> {
        let (whole, refits) = (Mutex::new(None), Mutex::new(Vec::new()));
        let estimator = StandardizeFirst(self.estimator);
        validation.run_keeping(&estimator, self.data, control, &|refit, model| {
            let Some(model) = model else { return };
            match validation.jobs()[refit.job].kind {
                Kind::All => *lock(&whole) = Some(model.clone()),
                Kind::Bootstrap => lock(&refits).push(model.clone()),
                _ => {}
            }
        })?;
        let found = lock(&whole).take();
        let model = found.ok_or_else(|| Error::Numerical("no fit to all rows".into()))?;
        let refits = std::mem::take(&mut *lock(&refits));
        Ok((model, refits))
    }

    fn source(&self, held_out: &Predictions) -> ProbabilitySource {
        match (&held_out.probabilities, self.calibrated) {
            (None, _) => ProbabilitySource::None,
            (Some(_), true) => ProbabilitySource::Calibrated,
            (Some(_), false) => ProbabilitySource::Loss,
        }
    }

    fn curves(&self, judged: &Judged<'_>) -> Vec<ClassCurves> {
        let k = judged.n_classes();
        let labels = judged.truth();
        let (auc, pr_auc) = (Metric::Auc.per_class(judged), Metric::PrAuc.per_class(judged));
        let one = |class: usize| ClassCurves {
            class: self.classes[class].clone(),
            prevalence: labels.iter().filter(|l| **l == class).count() as f64 / labels.len() as f64,
            roc: roc_curve(judged, class).unwrap_or_default(),
            auc: auc[class].ok(),
            pr: pr_curve(judged, class).unwrap_or_default(),
            pr_auc: pr_auc[class].ok(),
        };
        let shown = if k == 2 { 1..2 } else { 0..k };
        shown.map(one).filter(|curves| !curves.roc.is_empty()).collect()
    }
}

fn lock<T>(place: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    place.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn unsteadiness(found: &Instability) -> Unsteadiness {
    let often = found.rows.iter().filter(|r| r.flips > 0.1).count() as f64;
    let mut rows: Vec<UnstableRow> = found
        .rows
        .iter()
        .filter_map(|r| {
            Some(UnstableRow { probability: r.probability?, low: r.low?, high: r.high? })
        })
        .collect();
    rows.sort_by(|a, b| a.probability.total_cmp(&b.probability));
    let every = rows.len().div_ceil(SHOWN).max(1);
    Unsteadiness {
        mean_absolute_error: found.mean_absolute_error,
        flips: found.flips,
        often: often / found.rows.len().max(1) as f64,
        rows: rows.into_iter().step_by(every).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folds::generator;
    use crate::linalg::Dense;
    use crate::methods;
    use rand::RngExt;
    use serde_json::json;

    fn appraised(data: &Dataset, method: &str, params: &serde_json::Value) -> Result<Chosen> {
        let estimator = methods::find(method)?.estimator(params)?;
        let names = |letter: &str, n: usize| (0..n).map(|k| format!("{letter}{k}")).collect();
        let (features, classes): (Vec<String>, Vec<String>) =
            (names("f", data.n_features()), names("c", data.n_classes()));
        let candidate = Candidate {
            method,
            estimator: estimator.as_ref(),
            calibrated: params.get("calibrate").is_some(),
            data,
            features: &features,
            classes: &classes,
            groups: None,
            seed: 1,
        };
        candidate.appraise(&Control::new())
    }

    /// Features that say nothing about labels drawn by coin.
    fn noise(n: usize, p: usize) -> Dataset {
        let mut rng = generator(5);
        let x = Dense::from_fn(n, p, |_, _| rng.random_range(-1.0..1.0));
        let labels = (0..n).map(|_| usize::from(rng.random_range(0.0..1.0) < 0.5)).collect();
        Dataset::new(x.into(), labels, 2).unwrap()
    }

    /// A nearly free fit of 30 weights to 60 coin tosses looks perfect on its own rows; nothing here may.
    #[test]
    fn figures_are_of_rows_that_the_fit_has_not_seen() {
        let found = appraised(&noise(60, 30), "l2", &json!({"alpha": 1e-4})).unwrap();
        let auc = found.curves[0].auc.unwrap();
        assert!((0.2..0.8).contains(&auc), "{auc}");
        let right: usize = (0..2).map(|k| found.confusion[k][k]).sum();
        assert_eq!(found.confusion.iter().flatten().sum::<usize>(), 60);
        assert!((12..=48).contains(&right), "{right}");
        let apparent = found.metrics.iter().find(|m| m.metric == Metric::Auc).unwrap();
        assert!(apparent.apparent.unwrap() > 0.95);
        assert!((apparent.cross_validated.unwrap() - 0.5).abs() < 0.3);
        assert_eq!(found.thresholds.len(), USUAL_THRESHOLDS.len());
        assert_eq!(found.probabilities, ProbabilitySource::Loss);
        assert_eq!(found.coefficients[0].features.len(), 30);
        assert!(found.coefficients[0].features.iter().all(|f| f.steadiness.is_some()));
        // Fits to redrawn coin tosses hardly agree.
        assert!(found.unsteadiness.unwrap().mean_absolute_error.unwrap() > 0.1);
        let text = serde_json::to_string(&found.curves).unwrap();
        assert_eq!(serde_json::from_str::<Vec<ClassCurves>>(&text).unwrap(), found.curves);
    }

    #[test]
    fn scores_without_probabilities_are_calibrated_or_have_no_thresholds() {
        let data = noise(50, 3);
        let plain = json!({"loss": "hinge", "alpha": 0.1});
        let bare = appraised(&data, "l2", &plain).unwrap();
        assert_eq!(bare.probabilities, ProbabilitySource::None);
        assert!(bare.thresholds.is_empty() && bare.calibration.is_none());
        assert!(!bare.curves[0].roc.is_empty());
        let mut calibrated = plain;
        calibrated["calibrate"] = json!(true);
        let found = appraised(&data, "l2", &calibrated).unwrap();
        assert_eq!(found.probabilities, ProbabilitySource::Calibrated);
        assert!(!found.thresholds.is_empty());
    }

    #[test]
    fn a_class_of_one_row_is_refused_and_small_classes_have_fewer_folds() {
        let with = |rare: usize| {
            let x = Dense::from_fn(30, 2, |i, j| ((i * 5 + j * 3) % 7) as f64);
            let labels = (0..30).map(|i| usize::from(i < rare)).collect();
            Dataset::new(x.into(), labels, 2).unwrap()
        };
        let told = appraised(&with(1), "l2", &json!({"alpha": 0.1})).unwrap_err().to_string();
        assert!(told.contains("single row"), "{told}");
        assert_eq!(appraised(&with(3), "l2", &json!({"alpha": 0.1})).unwrap().folds, 3);
    }
}
