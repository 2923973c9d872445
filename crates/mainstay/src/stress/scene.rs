//! The rows of one repeat, their damage, and what becomes of a method fitted to them.

use super::judgement;
use super::run::{Cell, Plan, seed_of};
use super::runner::{Chosen, Done};
use super::test_damage::{adversarial_deletion, corrupted_features, measurement_error};
use super::training::{few_samples, label_noise, outliers, unlucky_split};
use super::{DamagedRows, OutlierKind, Threat, missing_features, spoiled};
use crate::control::Control;
use crate::data::{Dataset, Standardize};
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix};
use crate::metrics::{Judged, Predictions};
use crate::model::{Estimator, Model};
use crate::uncertainty::{Attack, Deletions};

/// The rows of one repeat, in the units of the data.
pub(super) struct Scene {
    train: Dense,
    labels: Vec<usize>,
    test: Dense,
    truth: Vec<usize>,
    n_classes: usize,
    seed: u64,
    repeat: usize,
}

impl Scene {
    pub(super) fn new(plan: &Plan, data: &Dataset, repeat: usize) -> Result<Self> {
        let (train, test) = plan.rows(data.labels(), repeat)?;
        let part = |rows: &[usize]| data.features().select_rows(rows).to_dense();
        let labels = |rows: &[usize]| rows.iter().map(|&i| data.labels()[i]).collect();
        Ok(Self {
            train: part(&train),
            labels: labels(&train),
            test: part(&test),
            truth: labels(&test),
            n_classes: data.n_classes(),
            seed: plan.seed,
            repeat,
        })
    }

    /// The cells of a fit, and what it chose.
    pub(super) fn cells(
        &self,
        estimator: &dyn Estimator,
        damage: Option<(Threat, f64)>,
        mut blanks: Vec<Cell>,
        control: &Control,
    ) -> Result<Done> {
        let (x, labels) = self.training_rows(damage)?;
        let (fit, chosen) = Fit::new(x, &labels, self, estimator, control)?;
        for cell in &mut blanks {
            control.check()?;
            let threat = Threat::find(&cell.threat).ok().filter(|t| t.part() == DamagedRows::Test);
            let judged = match threat {
                None => fit.judge(&fit.test, cell),
                Some(threat) => fit.damaged(threat, cell.level).and_then(|x| fit.judge(&x, cell)),
            };
            match judged {
                Ok(()) => {}
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => cell.problem = Some(error.to_string()),
            }
        }
        Ok((blanks, Some(chosen)))
    }

    fn training_rows(&self, damage: Option<(Threat, f64)>) -> Result<(Dense, Vec<usize>)> {
        let Some((threat, level)) = damage else {
            return Ok((self.train.clone(), self.labels.clone()));
        };
        let seed = seed_of(self.seed, self.repeat, Some(threat));
        let (x, labels, classes) = (&self.train, &self.labels, self.n_classes);
        let keep = |rows: Vec<usize>| {
            (x.select_rows(&rows), rows.iter().map(|&i| labels[i]).collect::<Vec<_>>())
        };
        match threat {
            Threat::FewSamples => Ok(keep(few_samples(labels, level, seed)?)),
            Threat::UnluckySplit => Ok(keep(unlucky_split(x, labels, level, seed)?)),
            Threat::LabelNoise => Ok((x.clone(), label_noise(labels, classes, level, seed)?)),
            Threat::Outliers => outliers(x, labels, classes, level, OutlierKind::Both, seed),
            _ => Ok((x.clone(), labels.clone())),
        }
    }
}

/// A model on standardised features, and the standardised rows to judge it on.
struct Fit<'a> {
    scene: &'a Scene,
    model: Model,
    /// Classes that occur in the training rows; the model knows them by their position.
    present: Vec<usize>,
    test: Dense,
}

impl<'a> Fit<'a> {
    fn new(
        x: Dense,
        labels: &[usize],
        scene: &'a Scene,
        estimator: &dyn Estimator,
        control: &Control,
    ) -> Result<(Self, Chosen)> {
        let present: Vec<usize> = (0..scene.n_classes).filter(|k| labels.contains(k)).collect();
        if present.len() < 2 {
            let text = "the training rows are all of one class (of the split, or after the damage)";
            return Err(Error::BadData(text.into()));
        }
        let x = Matrix::Dense(x);
        let scaling = Standardize::learn(&x, None);
        let place = |label: &usize| present.iter().position(|k| k == label).unwrap_or(0);
        let codes = labels.iter().map(place).collect();
        let data = Dataset::new(scaling.apply(&x).into(), codes, present.len())?;
        let fitted = estimator.fit(&data, control)?;
        let settled = estimator.settled(&fitted, data.len());
        let chosen = Chosen { settled, retuning: estimator.retuning(&fitted) };
        let test = scaling.apply(&Matrix::Dense(scene.test.clone()));
        Ok((Self { scene, model: fitted.model, present, test }, chosen))
    }

    fn damaged(&self, threat: Threat, level: f64) -> Result<Dense> {
        let p = self.test.ncols();
        let unit = Standardize { means: vec![0.0; p], scales: vec![1.0; p] };
        let seed = seed_of(self.scene.seed, self.scene.repeat, Some(threat));
        match threat {
            Threat::MissingFeatures => {
                missing_features(&self.test, &unit, level, seed).map(|x| self.as_the_model_sees(x))
            }
            Threat::CorruptedFeatures => corrupted_features(&self.test, &unit, level, seed),
            Threat::MeasurementError => measurement_error(&self.test, &unit, level, seed),
            Threat::AdversarialDeletion => {
                let Some(linear) = self.model.linear() else {
                    return Err(Error::BadData(
                        "the adversary needs one weight per feature; this model is not linear"
                            .into(),
                    ));
                };
                let place = |k: &usize| self.present.iter().position(|other| other == k);
                let labels: Vec<Option<usize>> = self.scene.truth.iter().map(place).collect();
                let set = Deletions::new(vec![1.0; p], spoiled(level, p) as f64)?;
                let damaged =
                    adversarial_deletion(&self.test, &labels, linear, &unit, &set, Attack::Exact);
                damaged.map(|x| self.as_the_model_sees(x))
            }
            _ => Ok(self.test.clone()),
        }
    }

    /// Deleted cells are at their means; a model that fills missing cells its own way sees that they are missing.
    fn as_the_model_sees(&self, damaged: Dense) -> Dense {
        if !self.model.fills_cells() {
            return damaged;
        }
        let x = &self.test;
        Dense::from_fn(x.nrows(), x.ncols(), |i, j| {
            if damaged[(i, j)] == x[(i, j)] { x[(i, j)] } else { f64::NAN }
        })
    }

    /// Fills the cell with every metric that is defined.
    fn judge(&self, x: &Dense, cell: &mut Cell) -> Result<()> {
        let truth = &self.scene.truth;
        if truth.is_empty() {
            return Err(Error::BadData("no row is left to be judged".into()));
        }
        let made = Predictions::of(&self.model, &Matrix::Dense(x.clone()))?;
        let made = judgement::in_all_classes(made, &self.present, self.scene.n_classes);
        judgement::fill(cell, &Judged::new(truth, self.scene.n_classes, &made)?);
        Ok(())
    }
}
