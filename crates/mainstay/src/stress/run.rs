//! Fits on damaged rows, judged on held-out rows.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::judged::{adversarial_deletion, corrupted_features, measurement_error};
use super::training::{few_samples, label_noise, outliers, unlucky_split};
use super::{OutlierKind, Part, Threat, missing_features, spoiled};
use crate::control::Control;
use crate::data::{Dataset, Standardize};
use crate::error::{Error, Result, require};
use crate::folds::{Split, stratified};
use crate::linalg::{Dense, Matrix};
use crate::model::metrics::{accuracy, log_loss};
use crate::model::{Estimator, Model};
use crate::uncertainty::{Attack, Deletions};

/// What undamaged cells have in place of a threat.
pub const CLEAN: &str = "clean";

/// Numbers in a split that are held in memory at once, at most.
const LARGEST: usize = 60_000_000;

/// One fit judged once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Which method.
    pub method: String,
    /// Which threat; `clean` for undamaged data.
    pub threat: String,
    /// How much damage.
    pub level: f64,
    /// Which split.
    pub repeat: usize,
    /// Share of held-out rows called right; absent if the cell could not be run.
    pub accuracy: Option<f64>,
    /// Mean log loss (natural log); absent if the method gives no probabilities.
    pub log_loss: Option<f64>,
    /// Why the cell is empty.
    pub problem: Option<String>,
}

/// A method under test.
pub struct Entrant {
    /// Name in the cells.
    pub name: String,
    /// Fitted to standardised training rows.
    pub estimator: Box<dyn Estimator>,
}

/// One threat and how strong it is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What is done.
    pub threat: Threat,
    /// How much of it.
    pub levels: Vec<f64>,
}

impl Trial {
    /// A threat at its usual levels.
    pub fn usual(threat: Threat) -> Self {
        Self { threat, levels: threat.default_levels().to_vec() }
    }
}

/// Which damage is done to which share of the rows; everything is a function of this, the data and the repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The damage. Undamaged cells are always run.
    pub trials: Vec<Trial>,
    /// Seed of splits and damage.
    pub seed: u64,
    /// Longer training sets are cut to this many rows, every class by its share.
    pub max_training_rows: usize,
    /// Longer test sets are cut to this many rows, every class by its share.
    pub max_test_rows: usize,
}

/// The seed of one use in one repeat; uses are 0 for the split and 1 + the threat's position for its damage. Levels
/// share it, so that a higher level damages more of the same.
pub fn seed_of(seed: u64, repeat: usize, threat: Option<Threat>) -> u64 {
    let place = |t: Threat| Threat::ALL.iter().position(|other| *other == t).unwrap_or(0) as u64;
    let purpose = threat.map_or(0, |t| 1 + place(t));
    [repeat as u64, purpose].into_iter().fold(mix(seed), |state, part| mix(state ^ mix(part)))
}

/// The finaliser of splitmix64.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The split of a repeat: two thirds of every class to learn from, one third to be judged on.
pub fn split_of(labels: &[usize], repeat: usize, seed: u64) -> Split {
    stratified(labels, 3, 1, seed_of(seed, repeat, None)).swap_remove(0)
}

/// One fit and the cells it fills.
struct Job {
    entrant: usize,
    /// Damage to the training rows; none serves the clean cell and all damage to test rows.
    damage: Option<(Threat, f64)>,
}

impl Plan {
    /// All eight threats at their usual levels, sets of at most 1000 rows.
    pub fn usual(seed: u64) -> Self {
        let trials = Threat::ALL.into_iter().map(Trial::usual).collect();
        Self { trials, seed, max_training_rows: 1000, max_test_rows: 1000 }
    }

    /// Checks levels, names and sizes before anything is run.
    pub fn check(&self, entrants: &[Entrant], data: &Dataset) -> Result<()> {
        require(self.max_training_rows >= 4, "max_rows", self.max_training_rows, "at least 4")?;
        require(self.max_test_rows >= 1, "max_rows", self.max_test_rows, "at least 1")?;
        for (k, trial) in self.trials.iter().enumerate() {
            trial.levels.iter().try_for_each(|&level| trial.threat.check_level(level))?;
            if self.trials[..k].iter().any(|other| other.threat == trial.threat) {
                return Err(Error::BadParams(format!(
                    "threat `{}` is given twice",
                    trial.threat.name()
                )));
            }
        }
        if entrants.is_empty() {
            return Err(Error::BadParams("there is no method to put to the test".into()));
        }
        for (k, entrant) in entrants.iter().enumerate() {
            if entrants[..k].iter().any(|other| other.name == entrant.name) {
                return Err(Error::BadParams(format!("two methods are called `{}`", entrant.name)));
            }
        }
        let rows = (data.len() - data.len() / 3).min(self.max_training_rows)
            + data.len().div_ceil(3).min(self.max_test_rows);
        if rows.saturating_mul(data.n_features()) > LARGEST {
            return Err(Error::BadData(format!(
                "{rows} rows of {} features are too much to damage in memory: leave out columns or rows",
                data.n_features()
            )));
        }
        Ok(())
    }

    /// Cells of one repeat and one method.
    pub fn cells_each(&self) -> usize {
        1 + self.trials.iter().map(|t| t.levels.len()).sum::<usize>()
    }

    /// Fits of one repeat and one method; the unit of progress.
    pub fn fits_each(&self) -> usize {
        1 + self.training_damage().count()
    }

    fn training_damage(&self) -> impl Iterator<Item = (Threat, f64)> + '_ {
        let trials = self.trials.iter().filter(|t| t.threat.part() == Part::Training);
        trials.flat_map(|t| t.levels.iter().map(move |&level| (t.threat, level)))
    }

    fn jobs(&self, entrants: usize) -> Vec<Job> {
        (0..entrants)
            .flat_map(|entrant| {
                let damage = std::iter::once(None).chain(self.training_damage().map(Some));
                damage.map(move |damage| Job { entrant, damage })
            })
            .collect()
    }

    /// Runs one repeat: every method on the same split and the same damage, in parallel.
    ///
    /// `done` is called with the cells of every fit as it is finished, in no particular order, and is the only way to
    /// them if the run is interrupted. Fits of which `known` holds every cell are not run again. The result is in order
    /// of methods and of the plan, whatever the number of threads.
    pub fn run(
        &self,
        data: &Dataset,
        entrants: &[Entrant],
        repeat: usize,
        known: &[Cell],
        control: &Control,
        done: &(dyn Fn(&[Cell]) + Sync),
    ) -> Result<Vec<Cell>> {
        self.check(entrants, data)?;
        let scene = Scene::new(self, data, repeat)?;
        // Fits share this pool instead of starting their own.
        let inner = control.without_progress().with_threads(0);
        let mine: Vec<&Cell> = known.iter().filter(|c| c.repeat == repeat).collect();
        let one = |job: &Job| -> Result<Vec<Cell>> {
            let name = &entrants[job.entrant].name;
            let blanks = self.blanks(name, job.damage, repeat);
            let stored = |blank: &Cell| {
                let same = |c: &&&Cell| {
                    c.method == blank.method && c.threat == blank.threat && c.level == blank.level
                };
                mine.iter().find(same).map(|c| (*c).clone())
            };
            if let Some(cells) = blanks.iter().map(stored).collect() {
                return Ok(cells);
            }
            control.check()?;
            let estimator = entrants[job.entrant].estimator.as_ref();
            let work = || scene.cells(estimator, job.damage, blanks.clone(), &inner);
            let cells = match catch_unwind(AssertUnwindSafe(work)) {
                Ok(Err(Error::Interrupted)) => return Err(Error::Interrupted),
                Ok(Ok(cells)) => cells,
                Ok(Err(error)) => fail(&blanks, &error.to_string()),
                Err(_) => fail(&blanks, "the fit stopped with an internal error; please report it"),
            };
            done(&cells);
            Ok(cells)
        };
        let jobs = self.jobs(entrants.len());
        let found: Vec<Result<Vec<Cell>>> =
            control.install(|| jobs.par_iter().with_max_len(1).map(one).collect());
        Ok(found.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }

    /// The cells of a fit, without numbers.
    fn blanks(&self, method: &str, damage: Option<(Threat, f64)>, repeat: usize) -> Vec<Cell> {
        let blank = |threat: &str, level: f64| Cell {
            method: method.into(),
            threat: threat.into(),
            level,
            repeat,
            accuracy: None,
            log_loss: None,
            problem: None,
        };
        if let Some((threat, level)) = damage {
            return vec![blank(threat.name(), level)];
        }
        let judged = self.trials.iter().filter(|t| t.threat.part() == Part::Test);
        let judged = judged.flat_map(|t| t.levels.iter().map(|&l| blank(t.threat.name(), l)));
        std::iter::once(blank(CLEAN, 0.0)).chain(judged).collect()
    }
}

fn fail(blanks: &[Cell], why: &str) -> Vec<Cell> {
    blanks.iter().map(|c| Cell { problem: Some(why.into()), ..c.clone() }).collect()
}

/// The rows of one repeat, in the units of the data.
struct Scene {
    train: Dense,
    labels: Vec<usize>,
    test: Dense,
    truth: Vec<usize>,
    n_classes: usize,
    seed: u64,
    repeat: usize,
}

impl Scene {
    fn new(plan: &Plan, data: &Dataset, repeat: usize) -> Result<Self> {
        let split = split_of(data.labels(), repeat, plan.seed);
        let seed = seed_of(plan.seed, repeat, None);
        let train = cut(data.labels(), &split.train, plan.max_training_rows, seed)?;
        let test = cut(data.labels(), &split.holdout, plan.max_test_rows, seed)?;
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

    fn cells(
        &self,
        estimator: &dyn Estimator,
        damage: Option<(Threat, f64)>,
        mut blanks: Vec<Cell>,
        control: &Control,
    ) -> Result<Vec<Cell>> {
        let (x, labels) = self.training_rows(damage)?;
        let fit = Fit::new(x, &labels, self, estimator, control)?;
        for cell in &mut blanks {
            control.check()?;
            let threat = Threat::find(&cell.threat).ok().filter(|t| t.part() == Part::Test);
            let judged = match threat {
                None => fit.judge(&fit.test),
                Some(threat) => fit.damaged(threat, cell.level).and_then(|x| fit.judge(&x)),
            };
            match judged {
                Ok((accuracy, log_loss)) => {
                    (cell.accuracy, cell.log_loss) = (Some(accuracy), log_loss);
                }
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => cell.problem = Some(error.to_string()),
            }
        }
        Ok(blanks)
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

/// At most `limit` of the rows, every class by its share.
fn cut(labels: &[usize], rows: &[usize], limit: usize, seed: u64) -> Result<Vec<usize>> {
    if rows.len() <= limit {
        return Ok(rows.to_vec());
    }
    let own: Vec<usize> = rows.iter().map(|&i| labels[i]).collect();
    let kept = few_samples(&own, 1.0 - limit as f64 / rows.len() as f64, seed)?;
    Ok(kept.into_iter().map(|i| rows[i]).collect())
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
    ) -> Result<Self> {
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
        let model = estimator.fit(&data, control)?.model;
        let test = scaling.apply(&Matrix::Dense(scene.test.clone()));
        Ok(Self { scene, model, present, test })
    }

    fn damaged(&self, threat: Threat, level: f64) -> Result<Dense> {
        let p = self.test.ncols();
        let unit = Standardize { means: vec![0.0; p], scales: vec![1.0; p] };
        let seed = seed_of(self.scene.seed, self.scene.repeat, Some(threat));
        match threat {
            Threat::MissingFeatures => missing_features(&self.test, &unit, level, seed),
            Threat::CorruptedFeatures => corrupted_features(&self.test, &unit, level, seed),
            Threat::MeasurementError => measurement_error(&self.test, &unit, level, seed),
            Threat::AdversarialDeletion => {
                let Some(linear) = self.model.linear() else {
                    return Err(Error::BadData(
                        "the adversary needs one weight a feature; this model is not linear".into(),
                    ));
                };
                let place = |k: &usize| self.present.iter().position(|other| other == k);
                let labels: Vec<Option<usize>> = self.scene.truth.iter().map(place).collect();
                let set = Deletions::new(vec![1.0; p], spoiled(level, p) as f64)?;
                adversarial_deletion(&self.test, &labels, linear, &unit, &set, Attack::Exact)
            }
            _ => Ok(self.test.clone()),
        }
    }

    /// Accuracy and, where there are probabilities, log loss.
    fn judge(&self, x: &Dense) -> Result<(f64, Option<f64>)> {
        let truth = &self.scene.truth;
        if truth.is_empty() {
            return Err(Error::BadData("no row is left to be judged".into()));
        }
        let x = Matrix::Dense(x.clone());
        let codes = self.model.predict(&x)?;
        let predicted: Vec<usize> = codes.iter().map(|&k| self.present[k]).collect();
        let probabilities = self.model.probabilities(&x)?.map(|found| {
            let mut all = Dense::zeros(found.nrows(), self.scene.n_classes);
            for i in 0..found.nrows() {
                for (place, &k) in self.present.iter().enumerate() {
                    all[(i, k)] = found[(i, place)];
                }
            }
            log_loss(truth, &all)
        });
        Ok((accuracy(truth, &predicted), probabilities))
    }
}
