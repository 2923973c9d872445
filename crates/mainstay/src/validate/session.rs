//! Refits as they come in, from here or from elsewhere, and what they add up to.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::outcome::{MetricRow, Outcome};
use super::plan::{Job, Kind, ValidationPlan};
use super::{calibration, instability, learning, scores};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::linalg::Dense;
use crate::metrics::{Metric, Predictions};
use crate::model::{Estimator, Model};

/// Bootstrap refits below which no optimism is estimated, unless cross-validation was repeated.
const FEWEST_REFITS: usize = 10;

/// What a refit says about the rows it is judged on; written to journals.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Refit {
    /// Which job.
    pub job: usize,
    /// The predicted class of every judged row.
    pub predicted: Vec<usize>,
    /// Scores by rows, one for two classes, else one per class; empty where the classifier has none.
    pub scores: Vec<f64>,
    /// Probabilities by rows, one per class; empty where the classifier has none.
    pub probabilities: Vec<f64>,
    /// Why there are no predictions.
    pub problem: Option<String>,
}

impl Refit {
    /// What `made` says.
    pub fn new(job: usize, made: Predictions) -> Self {
        let flat = |table: Option<Dense>| table.map_or_else(Vec::new, Dense::into_data);
        let (scores, probabilities) = (flat(made.scores), flat(made.probabilities));
        Self { job, predicted: made.predicted, scores, probabilities, problem: None }
    }

    /// A refit that could not be done.
    pub fn failed(job: usize, why: String) -> Self {
        Self { job, problem: Some(why), ..Self::default() }
    }

    fn made(&self, n_classes: usize) -> Predictions {
        let n = self.predicted.len();
        let table = |flat: &Vec<f64>, width: usize| {
            (!flat.is_empty()).then(|| Dense::from_rows(n, width, flat.clone()))
        };
        Predictions {
            predicted: self.predicted.clone(),
            scores: table(&self.scores, if n_classes == 2 { 1 } else { n_classes }),
            probabilities: table(&self.probabilities, n_classes),
        }
    }
}

/// A validation under way.
#[derive(Debug)]
pub struct Validation {
    plan: ValidationPlan,
    labels: Vec<usize>,
    n_classes: usize,
    jobs: Vec<Job>,
    found: Mutex<Vec<Option<Refit>>>,
}

/// Finished refits with their jobs, as the parts of the outcome read them.
pub(super) struct Finished<'a> {
    pub plan: &'a ValidationPlan,
    pub labels: &'a [usize],
    pub n_classes: usize,
    pub all: Predictions,
    pub others: Vec<(&'a Job, Predictions)>,
}

impl Finished<'_> {
    /// Bootstrap refits: how often each row is in the sample, and what is said of all rows.
    pub(super) fn bootstraps(&self) -> Vec<(Vec<f64>, &Predictions)> {
        let counts = |rows: &[usize]| {
            let mut counts = vec![0.0; self.labels.len()];
            for &i in rows {
                counts[i] += 1.0;
            }
            counts
        };
        let own = self.others.iter().filter(|(job, _)| job.kind == Kind::Bootstrap);
        own.map(|(job, made)| (counts(&job.train), made)).collect()
    }

    /// The folds of every complete repeat of the cross-validation.
    pub(super) fn repeats(&self) -> Vec<Vec<(&[usize], &Predictions)>> {
        (0..self.plan.repeats)
            .map(|repeat| {
                let own = self.others.iter().filter(|(j, _)| j.kind == Kind::Fold { repeat });
                own.map(|(job, made)| (job.judged.as_slice(), made)).collect::<Vec<_>>()
            })
            .filter(|folds| {
                let held: usize = folds.iter().map(|(rows, _)| rows.len()).sum();
                held == self.labels.len()
            })
            .collect()
    }

    /// Labels of some rows.
    pub(super) fn labels_of(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().map(|&i| self.labels[i]).collect()
    }
}

impl Validation {
    /// Plans the refits for rows with these class indices.
    pub fn new(plan: ValidationPlan, labels: &[usize], n_classes: usize) -> Result<Self> {
        let jobs = plan.jobs(labels, n_classes)?;
        let found = Mutex::new(vec![None; jobs.len()]);
        Ok(Self { plan, labels: labels.to_vec(), n_classes, jobs, found })
    }

    /// The refits to be done; a [`Refit`] names its job by the place here.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// The metric of learning curve and headline.
    pub fn metric(&self) -> Metric {
        self.plan.metric
    }

    fn found(&self) -> MutexGuard<'_, Vec<Option<Refit>>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many refits are there.
    pub fn done(&self) -> usize {
        self.found().iter().flatten().count()
    }

    /// Whether the refit of this job is still to be done.
    pub fn open(&self, job: usize) -> bool {
        self.found().get(job).is_some_and(Option::is_none)
    }

    /// Whether a refit fits its job: sizes, classes, probabilities.
    pub fn is_sound(&self, refit: &Refit) -> bool {
        let Some(job) = self.jobs.get(refit.job) else { return false };
        if refit.problem.is_some() {
            return refit.predicted.is_empty();
        }
        let (n, k) = (job.judged.len(), self.n_classes);
        let width = if k == 2 { 1 } else { k };
        refit.predicted.len() == n
            && refit.predicted.iter().all(|class| *class < k)
            && (refit.scores.is_empty() || refit.scores.len() == n * width)
            && (refit.probabilities.is_empty() || refit.probabilities.len() == n * k)
            && refit.scores.iter().all(|s| s.is_finite())
            && refit.probabilities.iter().all(|p| (-1e-9..=1.0 + 1e-9).contains(p))
    }

    /// Takes in a refit that was done elsewhere or earlier.
    pub fn add(&self, refit: Refit) -> Result<()> {
        if !self.is_sound(&refit) {
            return Err(Error::BadData(format!(
                "refit {}: predictions do not fit the rows they are for",
                refit.job
            )));
        }
        let job = refit.job;
        self.found()[job] = Some(refit);
        Ok(())
    }

    /// Does the refits that are still open, in parallel; `done` is told each as it is finished, in no particular order.
    ///
    /// What is finished stays when the run is interrupted. The same bits whatever the number of threads.
    pub fn run(
        &self,
        estimator: &dyn Estimator,
        data: &Dataset,
        control: &Control,
        done: &(dyn Fn(&Refit) + Sync),
    ) -> Result<()> {
        self.run_keeping(estimator, data, control, &|refit, _| done(refit))
    }

    /// As [`Validation::run`]; `done` is told the model of every refit as well, where it could be fitted.
    pub fn run_keeping(
        &self,
        estimator: &dyn Estimator,
        data: &Dataset,
        control: &Control,
        done: &(dyn Fn(&Refit, Option<&Model>) + Sync),
    ) -> Result<()> {
        if data.labels() != self.labels {
            return Err(Error::Mismatch("the plan was made for other rows".into()));
        }
        let inner = control.without_progress().with_threads(0);
        let total = self.jobs.len() as u64;
        let open: Vec<usize> = (0..self.jobs.len()).filter(|&k| self.open(k)).collect();
        let one = |&k: &usize| -> Result<()> {
            control.check()?;
            let (refit, model) = self.refit(k, estimator, data, &inner)?;
            done(&refit, model.as_ref());
            let count = {
                let mut found = self.found();
                found[k] = Some(refit);
                found.iter().flatten().count()
            };
            control.progress(count as u64, total);
            Ok(())
        };
        control.install(|| open.par_iter().try_for_each(one))
    }

    /// Fits to the rows of the `k`-th job and predicts those it is judged on; what goes wrong is recorded in the refit.
    fn refit(
        &self,
        k: usize,
        estimator: &dyn Estimator,
        data: &Dataset,
        control: &Control,
    ) -> Result<(Refit, Option<Model>)> {
        let job = &self.jobs[k];
        let fit = || {
            let model = estimator.fit(&data.select_rows(&job.train), control)?.model;
            let made = Predictions::of(&model, &data.features().select_rows(&job.judged))?;
            Ok((made, model))
        };
        Ok(match fit() {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            // The fit to all rows must work: what is wrong there is wrong with the call.
            Err(error) if job.kind == Kind::All => return Err(error),
            Err(error) => (Refit::failed(k, error.to_string()), None),
            Ok((made, model)) => {
                let refit = Refit::new(k, made);
                if self.is_sound(&refit) {
                    (refit, Some(model))
                } else {
                    (Refit::failed(k, "infinite scores".into()), None)
                }
            }
        })
    }

    /// Held-out predictions of all rows, in their order: those of the first repeat of the cross-validation that is complete.
    pub fn held_out(&self) -> Result<Option<Predictions>> {
        let found = self.found();
        for repeat in 0..self.plan.repeats {
            let own = self.jobs.iter().zip(found.iter());
            let own = own.filter(|(job, _)| job.kind == Kind::Fold { repeat });
            let made = |refit: &Option<Refit>| {
                refit.as_ref().filter(|r| r.problem.is_none()).map(|r| r.made(self.n_classes))
            };
            let parts: Option<Vec<(&[usize], Predictions)>> =
                own.map(|(job, refit)| Some((job.judged.as_slice(), made(refit)?))).collect();
            if let Some(parts) = parts {
                return Predictions::pooled(self.labels.len(), &parts).map(Some);
            }
        }
        Ok(None)
    }

    /// What the refits so far add up to: all of them, or those before a run was stopped.
    pub fn finish(&self) -> Result<Outcome> {
        let found = self.found();
        let few = || Error::BadData("too few refits are finished to conclude anything".into());
        let usable = |k: usize| found[k].as_ref().filter(|refit| refit.problem.is_none());
        let all = usable(0).ok_or_else(few)?.made(self.n_classes);
        let others: Vec<(&Job, Predictions)> = (1..self.jobs.len())
            .filter_map(|k| Some((&self.jobs[k], usable(k)?.made(self.n_classes))))
            .collect();
        let mut notes = notes(&found);
        let (plan, labels, n_classes) = (&self.plan, self.labels.as_slice(), self.n_classes);
        let finished = Finished { plan, labels, n_classes, all, others };
        let (bootstrap, repeats) = (finished.bootstraps().len(), finished.repeats().len());
        if bootstrap < FEWEST_REFITS && repeats == 0 {
            return Err(few());
        }
        let metrics = scores::table(&finished)?;
        let headlined = metrics.iter().find(|row| row.metric == plan.metric);
        notes.extend(headlined.and_then(MetricRow::doubt));
        notes.extend(constant(&finished.all).map(str::to_owned));
        let slope = metrics.iter().find(|row| row.metric == Metric::CalibrationSlope);
        let shrinkage =
            slope.and_then(|row| row.corrected.or(row.cross_validated)).map(|s| s.clamp(0.0, 1.0));
        let learning = learning::curve(&finished, &metrics)?;
        Ok(Outcome {
            rows: labels.len(),
            classes: n_classes,
            bootstrap,
            repeats,
            folds: plan.folds,
            shrinkage,
            calibration: calibration::curve(&finished),
            instability: instability::of(&finished),
            learning,
            metrics,
            notes,
        })
    }
}

/// What to say of a fit to all rows that answers one class: its accuracy and F1 may look good.
fn constant(all: &Predictions) -> Option<&'static str> {
    let first = all.predicted.first()?;
    all.predicted.iter().all(|class| class == first).then_some(
        "the fit to all rows predicts one class for all of them: its accuracy, sensitivity, specificity, PPV, NPV, F1 and MCC \
         are those of a constant answer; class weights (`class_weight` = \"balanced\") or another threshold may help",
    )
}

/// What the reader must know about refits that failed or were not done.
fn notes(found: &[Option<Refit>]) -> Vec<String> {
    let mut notes = Vec::new();
    let problems: Vec<&String> =
        found.iter().flatten().filter_map(|refit| refit.problem.as_ref()).collect();
    if let Some(first) = problems.first() {
        notes.push(format!("{} refits failed and are left out: {first}", problems.len()));
    }
    let open = found.iter().filter(|f| f.is_none()).count();
    if open > 0 {
        notes.push(format!("{open} of {} refits were not done", found.len()));
    }
    notes
}
