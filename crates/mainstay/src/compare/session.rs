//! A comparison under way: its methods, its plan, and the loop over repeats.

use std::sync::atomic::{AtomicU64, Ordering};

use super::advice::{Judge, SURE};
use super::bootstrap::Bootstrap;
use super::constant::{constant_answer, constant_methods};
use super::details::Details;
use super::extent::{Extent, MIN_REPEATS, another_repeat, expected_repeats, usual_rows};
use super::outcome::{Cell, Comparison, MethodInfo, Settings};
use super::roster::roster;
use super::scores::Scores;
use super::summary::{curves, describe, majority, summary};
use super::wording::{Words, sign};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::metrics::Metric;
use crate::model::{Estimator, Fitted};
use crate::stress::{
    Entrant, JUDGED_BY, Plan, TOO_SLOW, Threat, Trial, empty_the_slow, seed_of, usual_metric,
};

/// What the fits of a method may take in a repeat however small the budget: small tables are always done.
const LEAST_SECONDS: f64 = 2.0;

/// Data with the names people know it by.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The rows.
    pub data: Dataset,
    /// File name, or what the user calls it.
    pub name: String,
    /// One name per feature.
    pub features: Vec<String>,
    /// One name per class.
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
    metric: Option<Metric>,
    few_levels: bool,
}

/// Why the cells of a method are empty that the user left out.
pub(super) const LEFT_OUT: &str = "left out on request";

impl Session {
    /// All threats at their usual levels against the [`roster`].
    pub fn new(subject: Subject, seed: u64) -> Result<Self> {
        let p = subject.data.n_features();
        let (methods, entrants) = roster(p)?;
        let mut plan = Plan { max_training_rows: usual_rows(p), ..Plan::usual(seed) };
        plan.merge_levels(p);
        Self::with(subject, methods, entrants, plan)
    }

    /// Uses training sets of at most `rows` rows instead of [`usual_rows`].
    pub fn set_max_rows(&mut self, rows: usize) -> Result<()> {
        self.plan.max_training_rows = rows;
        self.plan.check(&self.entrants, &self.subject.data)
    }

    /// Judges by this metric instead of [`crate::stress::usual_metric`].
    pub fn set_metric(&mut self, metric: Metric) -> Result<()> {
        if !JUDGED_BY.contains(&metric) {
            let names: Vec<&str> = JUDGED_BY.iter().map(|m| m.name()).collect();
            return Err(Error::BadParams(format!(
                "methods cannot be ranked by `{}`; choose one of {}",
                metric.name(),
                names.join(", ")
            )));
        }
        self.metric = Some(metric);
        Ok(())
    }

    /// Runs these threats alone.
    pub fn set_threats(&mut self, threats: &[Threat]) -> Result<()> {
        self.plan.trials.retain(|trial| threats.contains(&trial.threat));
        self.plan.check(&self.entrants, &self.subject.data)
    }

    /// Runs one level of every threat to the training rows, as a run does that is short of time.
    pub fn set_few_levels(&mut self) {
        self.plan.thin();
        self.few_levels = true;
    }

    /// Whether one level of every threat to the training rows was run.
    pub fn few_levels(&self) -> bool {
        self.few_levels
    }

    /// Keeps rows with the same number on one side of every split.
    pub fn set_groups(&mut self, groups: Option<Vec<usize>>) -> Result<()> {
        self.plan.groups = groups;
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
        let (cells, repeats, budget, metric, few_levels) = (Vec::new(), 0, None, None, false);
        Ok(Self { subject, methods, entrants, plan, cells, repeats, budget, metric, few_levels })
    }

    /// Leaves out `names` on request, as a repetition of a run does that left them out for want of time.
    pub fn leave_out(&mut self, names: &[String]) -> Result<()> {
        self.put_aside(names, LEFT_OUT)
    }

    fn put_aside(&mut self, names: &[String], why: &'static str) -> Result<()> {
        for name in names {
            let Some(entrant) = self.entrants.iter_mut().find(|e| e.name == *name) else {
                let known: Vec<&str> = self.methods.iter().map(|m| m.name.as_str()).collect();
                return Err(Error::BadParams(format!(
                    "no method `{name}` takes part; there are {}",
                    known.join(", ")
                )));
            };
            entrant.estimator = Box::new(LeftOut(why));
        }
        Ok(())
    }

    /// Runs repeats until `extent` is reached; finished ones count. `known` and `done` are those of [`Plan::run`].
    /// If it fails the session keeps the repeats that were finished before.
    ///
    /// Under a budget the first repeat runs one level of every threat to the training rows. The others follow if all levels
    /// leave time for [`SURE`] repeats, so that levels are given up before repeats are. A method is left out whose fits take
    /// so much of the budget that the rest could not end in time: in one of [`MIN_REPEATS`] repeats, half as much again as
    /// its fair share (and at least two seconds).
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
                let (trials, fits) = (self.plan.trials.clone(), self.plan.fits_each());
                let fresh = before == 0 && !self.few_levels;
                if fresh {
                    self.plan.thin();
                    self.few_levels = self.plan.fits_each() < fits;
                }
                loop {
                    let timed = self.repeats - before;
                    let expected = expected_repeats(timed, clock()? - start, budget);
                    self.next_repeat(before + expected, known, control, done)?;
                    let share = fits as f64 / self.plan.fits_each() as f64;
                    let each = (clock()? - start) * share;
                    let enough = expected_repeats(1, each, budget) >= SURE;
                    if fresh && timed == 0 && self.few_levels && enough {
                        self.add_levels(trials.clone(), known, control, done)?;
                    }
                    if !another_repeat(timed + 1, clock()? - start, budget) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Runs the first repeat again with the levels of `trials`; cells that are there already stay.
    fn add_levels(
        &mut self,
        trials: Vec<Trial>,
        known: &[Cell],
        control: &Control,
        done: &(dyn Fn(&[Cell]) + Sync),
    ) -> Result<()> {
        let cells = std::mem::take(&mut self.cells);
        let thin = std::mem::replace(&mut self.plan.trials, trials);
        self.repeats = 0;
        let finished = self.next_repeat(1, &[known, &cells].concat(), control, done);
        if finished.is_ok() {
            self.few_levels = false;
        } else {
            (self.cells, self.plan.trials, self.repeats) = (cells, thin, 1);
        }
        finished
    }

    /// The budget that [`Session::next_repeat`] leaves slow methods out for; [`Session::run`] sets it.
    pub fn set_budget(&mut self, seconds: f64) {
        self.budget = Some(seconds);
    }

    /// Methods that have no cells: left out for want of time, or by [`Session::leave_out`].
    pub fn left_out(&self) -> Vec<&str> {
        let gone = |m: &&MethodInfo| {
            let out = |c: &Cell| matches!(c.problem.as_deref(), Some(TOO_SLOW | LEFT_OUT));
            self.cells.iter().any(|c| c.method == m.name && out(c))
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
        let slow = |c: &&Cell| c.problem.as_deref() == Some(TOO_SLOW);
        let mut names: Vec<String> =
            self.cells.iter().filter(slow).map(|c| c.method.clone()).collect();
        names.dedup();
        self.repeats += 1;
        self.put_aside(&names, TOO_SLOW)
    }

    /// Sums up the finished repeats.
    pub fn finish(&self, command: &str, control: &Control) -> Result<Comparison> {
        let Self { subject, methods, entrants, plan, cells, repeats, budget, metric, few_levels } =
            self;
        let labels = subject.data.labels();
        let metric = metric.unwrap_or_else(|| usual_metric(labels, cells));
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
        let scores = Scores::new(cells, &plan.trials, repeats, metric);
        let constant = constant_methods(methods, cells);
        let floor = constant_answer(metric, labels, subject.data.n_classes());
        let judge = Judge {
            methods,
            trials: &plan.trials,
            scores: &scores,
            bootstrap: &bootstrap,
            majority: majority(subject),
            constant: floor,
            constants: &constant,
            words: Words { metric, repeats },
        };
        let mut advice = judge.advise(cells, repeats);
        if *few_levels {
            advice.sentences.push(
                "Of every threat to the training rows one level was run, to have time for more splits.".into(),
            );
        }
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
                metric,
                command: command.into(),
            },
            methods: methods.clone(),
            threats,
            curves,
            constant,
            constant_answer: floor.map(|good| sign(metric) * good),
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
struct LeftOut(&'static str);

impl Estimator for LeftOut {
    fn fit(&self, _: &Dataset, _: &Control) -> Result<Fitted> {
        Err(Error::BadData(self.0.into()))
    }
}
