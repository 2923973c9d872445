//! A comparison under way: its methods, its plan, and the loop over repeats.

use std::sync::atomic::{AtomicU64, Ordering};

use super::advice::Judge;
use super::bootstrap::Bootstrap;
use super::details::Details;
use super::outcome::{
    Cell, ClassCount, Comparison, Curve, DataSummary, MethodInfo, Settings, ThreatInfo,
};
use super::roster::roster;
use super::scores::Scores;
use super::survey::survey;
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::model::{Estimator, Fitted};
use crate::stress::{CLEAN, Entrant, Plan, TOO_SLOW, Trial, empty_the_slow, seed_of};

/// Fewest repeats that give intervals.
pub const MIN_REPEATS: usize = 2;
/// More repeats hardly narrow the intervals: the rows stay the same.
pub const MAX_REPEATS: usize = 20;

/// Repeats that the progress expects until the first one has been timed.
const GUESS: usize = 8;

/// What the fits of a method may take in a repeat however small the budget: small tables are always done.
const LEAST_SECONDS: f64 = 2.0;

/// Rows of a training set with `p` features, at most: the more features the fewer, so that hundreds of fits take
/// about a minute.
pub fn usual_rows(p: usize) -> usize {
    (30_000 / p.max(1)).clamp(200, 1000)
}

/// Whether there is time for one more repeat, `done` of them having taken `elapsed` of `budget` seconds: as long
/// as one of the same mean length, and what follows the last one (less than a repeat), end within the budget. At least
/// [`MIN_REPEATS`], at most [`MAX_REPEATS`] are run.
pub fn another_repeat(done: usize, elapsed: f64, budget: f64) -> bool {
    let each = elapsed / done.max(1) as f64;
    done < MIN_REPEATS || (done < MAX_REPEATS && elapsed + 2.0 * each <= budget)
}

/// How many repeats there will be in all if all take as long as the `done` so far, which took `elapsed` seconds.
fn expected_repeats(done: usize, elapsed: f64, budget: f64) -> usize {
    if done == 0 {
        return GUESS;
    }
    let each = elapsed / done as f64;
    let last = (done..MAX_REPEATS).find(|&k| !another_repeat(k, each * k as f64, budget));
    last.unwrap_or(MAX_REPEATS).max(MIN_REPEATS)
}

/// When a comparison has repeats enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Extent {
    /// After this many repeats.
    Repeats(usize),
    /// When another one would not end within so many seconds of the control's clock, of which `spent` are over
    /// already. Methods too slow for that are left out: see [`Session::run`].
    Seconds {
        /// The budget.
        budget: f64,
        /// What reading and preparing took of it.
        spent: f64,
    },
}

/// Data with the names people know it by.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The rows.
    pub data: Dataset,
    /// File name, or what the user calls it.
    pub name: String,
    /// One name a feature.
    pub features: Vec<String>,
    /// One name a class.
    pub classes: Vec<String>,
    /// Number of every row in the user's table, from 1.
    pub rows: Vec<usize>,
}

impl Subject {
    fn check(&self) -> Result<()> {
        let fits = self.features.len() == self.data.n_features()
            && self.classes.len() == self.data.n_classes()
            && self.rows.len() == self.data.len();
        if fits {
            Ok(())
        } else {
            Err(Error::BadData("names of features, classes and rows must fit the data".into()))
        }
    }
}

/// A comparison under way.
pub struct Session {
    subject: Subject,
    methods: Vec<MethodInfo>,
    entrants: Vec<Entrant>,
    plan: Plan,
    cells: Vec<Cell>,
    repeats: usize,
    budget: Option<f64>,
}

impl Session {
    /// All threats at their usual levels against the [`roster`].
    pub fn new(subject: Subject, seed: u64) -> Result<Self> {
        let p = subject.data.n_features();
        let (methods, entrants) = roster(p)?;
        let plan = Plan { max_training_rows: usual_rows(p), ..Plan::usual(seed) };
        Self::with(subject, methods, entrants, plan)
    }

    /// Uses training sets of at most `rows` rows instead of [`usual_rows`].
    pub fn set_max_rows(&mut self, rows: usize) -> Result<()> {
        self.plan.max_training_rows = rows;
        self.plan.check(&self.entrants, &self.subject.data)
    }

    /// Other methods or threats. The first method is the baseline unless it cannot be run.
    pub fn with(
        subject: Subject,
        methods: Vec<MethodInfo>,
        entrants: Vec<Entrant>,
        plan: Plan,
    ) -> Result<Self> {
        subject.check()?;
        plan.check(&entrants, &subject.data)?;
        if methods.len() != entrants.len()
            || methods.iter().zip(&entrants).any(|(m, e)| m.name != e.name)
        {
            return Err(Error::BadParams("every method needs its description".into()));
        }
        Ok(Self { subject, methods, entrants, plan, cells: Vec::new(), repeats: 0, budget: None })
    }

    /// Leaves out `names`, as a repetition of a run does that left them out for want of time.
    pub fn leave_out(&mut self, names: &[String]) -> Result<()> {
        for name in names {
            let Some(entrant) = self.entrants.iter_mut().find(|e| e.name == *name) else {
                let known: Vec<&str> = self.methods.iter().map(|m| m.name.as_str()).collect();
                return Err(Error::BadParams(format!(
                    "no method `{name}` takes part; there are {}",
                    known.join(", ")
                )));
            };
            entrant.estimator = Box::new(LeftOut);
        }
        Ok(())
    }

    /// Runs repeats until `extent` is reached; finished ones count. `known` and `done` are those of [`Plan::run`].
    /// If it fails the session keeps the repeats that were finished before.
    ///
    /// Under a budget a method is left out whose fits take so much of it that the rest could not end in time: in one
    /// of [`MIN_REPEATS`] repeats, half as much again as its fair share (and at least two seconds).
    pub fn run(
        &mut self,
        extent: Extent,
        known: &[Cell],
        control: &Control,
        done: &(dyn Fn(&[Cell]) + Sync),
    ) -> Result<()> {
        match extent {
            Extent::Repeats(repeats) => {
                while self.repeats < repeats {
                    self.next_repeat(repeats, known, control, done)?;
                }
                Ok(())
            }
            Extent::Seconds { budget, spent } => {
                let clock = || {
                    control.now().ok_or_else(|| {
                        Error::BadParams("a budget of seconds needs a control with a clock".into())
                    })
                };
                let start = clock()? - spent;
                self.set_budget(budget);
                let before = self.repeats;
                loop {
                    let timed = self.repeats - before;
                    let expected = expected_repeats(timed, clock()? - start, budget);
                    self.next_repeat(before + expected, known, control, done)?;
                    if !another_repeat(timed + 1, clock()? - start, budget) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The budget that [`Session::next_repeat`] leaves slow methods out for; [`Session::run`] sets it.
    pub fn set_budget(&mut self, seconds: f64) {
        self.budget = Some(seconds);
    }

    /// Methods that have no cells: left out for want of time, or by [`Session::leave_out`].
    pub fn left_out(&self) -> Vec<&str> {
        let gone = |m: &&MethodInfo| {
            let slow = |c: &Cell| c.method == m.name && c.problem.as_deref() == Some(TOO_SLOW);
            self.cells.iter().any(slow)
        };
        self.methods.iter().filter(gone).map(|m| m.name.as_str()).collect()
    }

    /// Number of fits in a repeat; the unit of progress.
    pub fn fits_each(&self) -> usize {
        self.entrants.len() * self.plan.fits_each()
    }

    /// Repeats that are finished.
    pub fn repeats(&self) -> usize {
        self.repeats
    }

    /// Cells that are finished.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Runs the next repeat. `expected` repeats in all are assumed for the progress; `known` and `done` are those
    /// of [`Plan::run`]. If it fails the session is as it was before.
    pub fn next_repeat(
        &mut self,
        expected: usize,
        known: &[Cell],
        control: &Control,
        done: &(dyn Fn(&[Cell]) + Sync),
    ) -> Result<()> {
        let each = self.fits_each() as u64;
        let before = self.repeats as u64 * each;
        let total = (expected.max(self.repeats + 1)) as u64 * each;
        let finished = AtomicU64::new(before);
        let report = |cells: &[Cell]| {
            done(cells);
            // Never quite the end: what follows the fits takes time as well.
            let now = finished.fetch_add(1, Ordering::Relaxed) + 1;
            control.progress(now.min(total - 1), total);
        };
        self.plan.seconds_each = self.budget.map(|seconds| {
            let parts = MIN_REPEATS * self.entrants.len();
            (1.5 * seconds * control.n_threads() as f64 / parts as f64).max(LEAST_SECONDS)
        });
        let (data, entrants) = (&self.subject.data, &self.entrants);
        let cells = self.plan.run(data, entrants, self.repeats, known, control, &report)?;
        self.cells.extend(cells);
        empty_the_slow(&mut self.cells);
        let slow: Vec<String> = self.left_out().into_iter().map(Into::into).collect();
        self.repeats += 1;
        self.leave_out(&slow)
    }

    /// Sums up the finished repeats.
    pub fn finish(&self, command: &str, control: &Control) -> Result<Comparison> {
        let Self { subject, methods, entrants, plan, cells, repeats, budget } = self;
        let repeats = *repeats;
        if repeats == 0 {
            return Err(Error::BadParams(
                "no repeat has been run: there is nothing to sum up".into(),
            ));
        }
        let n = subject.data.len();
        let test = n.div_ceil(3).min(plan.max_test_rows) as f64;
        let train = (n - n / 3).min(plan.max_training_rows) as f64;
        let bootstrap = Bootstrap::new(repeats, test / train, seed_of(plan.seed, usize::MAX, None));
        let scores = Scores::new(cells, &plan.trials, repeats);
        let judge = Judge {
            methods,
            trials: &plan.trials,
            scores: &scores,
            bootstrap: &bootstrap,
            majority: majority(subject),
        };
        let advice = judge.advise(cells, repeats);
        let curves = curves(methods, &plan.trials, &scores, &bootstrap);
        let details = Details::new(subject, entrants, methods, plan, &advice, control)?;
        let threats = plan.trials.iter().map(describe).collect();
        let data = summary(subject, plan);
        control.progress(1, 1);
        Ok(Comparison {
            data,
            settings: Settings {
                version: env!("CARGO_PKG_VERSION").into(),
                seed: plan.seed,
                repeats,
                budget_seconds: *budget,
                command: command.into(),
            },
            methods: methods.clone(),
            threats,
            curves,
            cells: cells.clone(),
            advice,
            coefficients: details.coefficients,
            suspects: details.suspects,
            suspects_not_run: details.suspects_not_run,
            worst_rows: details.worst_rows,
            radii: details.radii,
        })
    }
}

/// Stands in for a method that is left out.
struct LeftOut;

impl Estimator for LeftOut {
    fn fit(&self, _: &Dataset, _: &Control) -> Result<Fitted> {
        Err(Error::BadData(TOO_SLOW.into()))
    }
}

/// The largest class and its share of the rows.
fn majority(subject: &Subject) -> (&str, f64) {
    let labels = subject.data.labels();
    let share =
        |k: usize| labels.iter().filter(|label| **label == k).count() as f64 / labels.len() as f64;
    let each = subject.classes.iter().enumerate().map(|(k, name)| (name.as_str(), share(k)));
    each.fold(("", 0.0), |best, next| if next.1 > best.1 { next } else { best })
}

fn curves(
    methods: &[MethodInfo],
    trials: &[Trial],
    scores: &Scores<'_>,
    bootstrap: &Bootstrap,
) -> Vec<Curve> {
    let names = std::iter::once(CLEAN).chain(trials.iter().map(|t| t.threat.name()));
    names.flat_map(|t| methods.iter().map(move |m| scores.curve(&m.name, t, bootstrap))).collect()
}

fn describe(trial: &Trial) -> ThreatInfo {
    ThreatInfo {
        name: trial.threat.name().into(),
        title: trial.threat.title().into(),
        explanation: trial.threat.explanation().into(),
        unit: trial.threat.unit().into(),
        levels: trial.levels.clone(),
    }
}

fn summary(subject: &Subject, plan: &Plan) -> DataSummary {
    let data = &subject.data;
    let mut warnings = survey(data, &subject.features, &subject.classes);
    let train = data.len() - data.len().div_ceil(3);
    if train > plan.max_training_rows {
        warnings.push(format!(
            "Training sets were cut to {} of about {train} rows to keep the comparison short: with all rows, methods \
             that need many samples do better than shown here.",
            plan.max_training_rows
        ));
    }
    let rows = |k: usize| data.labels().iter().filter(|label| **label == k).count();
    let classes = subject.classes.iter().enumerate();
    DataSummary {
        name: subject.name.clone(),
        rows: data.len(),
        features: subject.features.clone(),
        classes: classes
            .map(|(k, label)| ClassCount { label: label.clone(), rows: rows(k) })
            .collect(),
        warnings,
    }
}
