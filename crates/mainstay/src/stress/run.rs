//! Fits on damaged rows, judged on held-out rows.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::runner::Runner;
use super::scene::Scene;
use super::training::few_samples;
use super::{DamagedRows, Threat, spoiled};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result, require};
use crate::folds::{Split, stratified, stratified_groups};
use crate::metrics::Metric;
use crate::model::Estimator;

/// What undamaged cells have in place of a threat.
pub const CLEAN: &str = "clean";

/// Why the cells of a method are empty that went beyond [`Plan::seconds_each`].
pub const TOO_SLOW: &str = "left out: its fits take longer than the time budget allows";

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
    /// The other metrics that are defined here, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<Metric, f64>,
    /// Whether all held-out rows are called the same, though they are not.
    #[serde(default)]
    pub constant: bool,
    /// Why the cell is empty.
    pub problem: Option<String>,
}

impl Cell {
    /// A metric of this cell; absent if the cell is empty or the metric is not defined here.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Accuracy => self.accuracy,
            Metric::LogLoss => self.log_loss,
            other => self.metrics.get(&other).copied(),
        }
    }

    /// Whether the numbers can be those of a fit: a share, and a loss that is not negative. For cells from a file.
    pub fn is_sound(&self) -> bool {
        self.level.is_finite()
            && self.accuracy.is_none_or(|share| (0.0..=1.0).contains(&share))
            && self.log_loss.is_none_or(|loss| loss >= 0.0 && loss.is_finite())
            && self.metrics.values().all(|value| value.is_finite())
            && (self.accuracy.is_some() || self.problem.is_some())
    }
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
    /// Seconds that the fits of one method may take in a repeat; beyond that all its cells stay empty ([`TOO_SLOW`]).
    /// Means something only if the control has a clock.
    pub seconds_each: Option<f64>,
    /// Rows with the same number stay on one side of every split.
    pub groups: Option<Vec<usize>>,
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

/// As [`split_of`]; rows with the same entry of `groups` stay on one side.
pub fn split_together(
    labels: &[usize],
    groups: Option<&[usize]>,
    repeat: usize,
    seed: u64,
) -> Split {
    let Some(groups) = groups else { return split_of(labels, repeat, seed) };
    stratified_groups(labels, groups, 3, 1, seed_of(seed, repeat, None)).swap_remove(0)
}

impl Plan {
    /// All eight threats at their usual levels, sets of at most 1000 rows.
    pub fn usual(seed: u64) -> Self {
        let trials = Threat::ALL.into_iter().map(Trial::usual).collect();
        let (max_training_rows, max_test_rows) = (1000, 1000);
        Self { trials, seed, max_training_rows, max_test_rows, seconds_each: None, groups: None }
    }

    /// The split of a repeat: as [`split_of`], with the groups kept together.
    pub fn split(&self, labels: &[usize], repeat: usize) -> Split {
        split_together(labels, self.groups.as_deref(), repeat, self.seed)
    }

    /// The rows of a repeat to learn from and to be judged on: those of the split, cut to the most there may be, every class
    /// by its share.
    pub fn rows(&self, labels: &[usize], repeat: usize) -> Result<(Vec<usize>, Vec<usize>)> {
        let split = self.split(labels, repeat);
        let seed = seed_of(self.seed, repeat, None);
        Ok((
            cut(labels, &split.train, self.max_training_rows, seed)?,
            cut(labels, &split.holdout, self.max_test_rows, seed)?,
        ))
    }

    /// Merges levels that spoil the same number of `p` features: of 7 features 5, 10 and 20 % all delete one. The level
    /// nearest to the true share stays.
    pub fn merge_levels(&mut self, p: usize) {
        for trial in self.trials.iter_mut().filter(|t| t.threat.counts_features()) {
            let off = |level: f64| (level - spoiled(level, p) as f64 / p.max(1) as f64).abs();
            let mut kept: Vec<f64> = Vec::new();
            for &level in &trial.levels {
                match kept.iter_mut().find(|other| spoiled(**other, p) == spoiled(level, p)) {
                    Some(other) if off(level) < off(*other) => *other = level,
                    Some(_) => {}
                    None => kept.push(level),
                }
            }
            trial.levels = kept;
        }
    }

    /// One level, the middle one, of every threat to the training rows: each of their levels is a fit, others cost little.
    pub fn thin(&mut self) {
        for trial in self.trials.iter_mut().filter(|t| t.threat.part() == DamagedRows::Training) {
            trial.levels = trial.levels.get(trial.levels.len() / 2).copied().into_iter().collect();
        }
    }

    /// Checks levels, names and sizes before anything is run.
    pub fn check(&self, entrants: &[Entrant], data: &Dataset) -> Result<()> {
        require(self.max_training_rows >= 4, "max_rows", self.max_training_rows, "at least 4")?;
        require(self.max_test_rows >= 1, "max_rows", self.max_test_rows, "at least 1")?;
        if self.groups.as_ref().is_some_and(|groups| groups.len() != data.len()) {
            return Err(Error::BadData("there must be one group for every row".into()));
        }
        self.check_groups(data)?;
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

    /// Refuses groups with which no split has two classes on both sides.
    fn check_groups(&self, data: &Dataset) -> Result<()> {
        let Some(groups) = &self.groups else { return Ok(()) };
        let mut first = vec![None; data.n_classes()];
        let mut spread = vec![false; data.n_classes()];
        for (&label, &group) in data.labels().iter().zip(groups) {
            spread[label] |= *first[label].get_or_insert(group) != group;
        }
        let whole = (0..data.n_classes()).find(|&class| !spread[class]);
        match whole {
            Some(class) if spread.iter().filter(|spread| **spread).count() < 2 => {
                Err(Error::BadData(format!(
                    "class {class} has all its rows in one group: no split can fit to some of them and judge others; use smaller groups"
                )))
            }
            _ => Ok(()),
        }
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
        let trials = self.trials.iter().filter(|t| t.threat.part() == DamagedRows::Training);
        trials.flat_map(|t| t.levels.iter().map(move |&level| (t.threat, level)))
    }

    /// Runs one repeat: every method on the same split and the same damage, in parallel.
    ///
    /// `done` is called with the cells of every fit as it is finished, in no particular order, and is the only way to
    /// them if the run is interrupted. Fits of which `known` holds every cell are not run again. The result is in order
    /// of methods and of the plan, whatever the number of threads. Under threats that only leave rows out a method
    /// tunes itself by cross-validation at the middle level; if it can ([`Estimator::settled`]) the fits at the other levels use
    /// that.
    /// Under wrong labels and outliers a method may begin its search near what it chose for the rows as they are, or at the middle
    /// level ([`Estimator::retuning`]).
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
        let runner = Runner::new(self, &scene, entrants, (repeat, known), (control, done));
        let mut cells = runner.cells()?;
        empty_the_slow(&mut cells);
        Ok(cells)
    }

    /// The cells of a fit, without numbers.
    pub(super) fn blanks(
        &self,
        method: &str,
        damage: Option<(Threat, f64)>,
        repeat: usize,
    ) -> Vec<Cell> {
        let blank = |threat: &str, level: f64| Cell {
            method: method.into(),
            threat: threat.into(),
            level,
            repeat,
            accuracy: None,
            log_loss: None,
            metrics: BTreeMap::new(),
            constant: false,
            problem: None,
        };
        if let Some((threat, level)) = damage {
            return vec![blank(threat.name(), level)];
        }
        let judged = self.trials.iter().filter(|t| t.threat.part() == DamagedRows::Test);
        let judged = judged.flat_map(|t| t.levels.iter().map(|&l| blank(t.threat.name(), l)));
        std::iter::once(blank(CLEAN, 0.0)).chain(judged).collect()
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

/// A method that is too slow for some cells has none: what is left of it could not be compared fairly.
pub(crate) fn empty_the_slow(cells: &mut [Cell]) {
    let slow: BTreeSet<String> = cells
        .iter()
        .filter(|c| c.problem.as_deref() == Some(TOO_SLOW))
        .map(|c| c.method.clone())
        .collect();
    for cell in cells.iter_mut().filter(|c| slow.contains(&c.method)) {
        (cell.accuracy, cell.log_loss, cell.problem) = (None, None, Some(TOO_SLOW.into()));
        (cell.metrics, cell.constant) = (BTreeMap::new(), false);
    }
}
