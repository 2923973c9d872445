//! A comparison under way: its methods, its plan, and one repeat after the other.

use std::sync::atomic::{AtomicU64, Ordering};

use super::extent::{MIN_REPEATS, usual_rows};
use super::outcome::{Cell, MethodInfo};
use super::roster::{on_request, roster};
use crate::control::Control;
use crate::data::{Dataset, Handled};
use crate::error::{Error, Result};
use crate::metrics::Metric;
use crate::model::{Estimator, Fitted};
use crate::stress::{Entrant, JUDGED_BY, Plan, TOO_SLOW, Threat, empty_the_slow};

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
    /// What became of the rows and cells of the user's table.
    pub handled: Handled,
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
    pub(super) subject: Subject,
    pub(super) methods: Vec<MethodInfo>,
    pub(super) entrants: Vec<Entrant>,
    /// Methods whose cells come from elsewhere.
    pub(super) guests: Vec<MethodInfo>,
    pub(super) plan: Plan,
    pub(super) cells: Vec<Cell>,
    pub(super) repeats: usize,
    pub(super) budget: Option<f64>,
    pub(super) metric: Option<Metric>,
    pub(super) few_levels: bool,
    /// Whether the methods are those of the roster.
    pub(super) own_roster: bool,
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
        Ok(Self { own_roster: true, ..Self::with(subject, methods, entrants, plan)? })
    }

    /// Adds a method that takes part on request alone ([`on_request`]).
    pub fn include(&mut self, name: &str) -> Result<()> {
        let (method, entrant) = on_request(name)?;
        if self.methods.iter().any(|m| m.name == method.name) {
            return Err(Error::BadParams(format!("method `{name}` takes part already")));
        }
        self.methods.push(method);
        self.entrants.push(entrant);
        Ok(())
    }

    /// Adds a method of the user, fitted elsewhere to the splits and the damage of this session's plan: its cells, for
    /// every finished repeat.
    pub fn add_guest(&mut self, method: MethodInfo, cells: Vec<Cell>) -> Result<()> {
        let known = self.methods.iter().chain(&self.guests).any(|m| m.name == method.name);
        if known || method.name.is_empty() {
            return Err(Error::BadParams(format!(
                "`{}` cannot be the name of a method: it is empty or taken",
                method.name
            )));
        }
        if let Some(odd) = cells.iter().find(|c| c.method != method.name || !c.is_sound()) {
            return Err(Error::BadData(format!(
                "a cell of `{}` under {} is not one of a fit of `{}`",
                odd.method, odd.threat, method.name
            )));
        }
        self.cells.extend(cells);
        self.guests.push(method);
        Ok(())
    }

    /// Says what became of the rows and cells of the user's table.
    pub fn set_handled(&mut self, handled: Handled) {
        self.subject.handled = handled;
    }

    /// The rows of a repeat to learn from and to be judged on.
    pub fn rows(&self, repeat: usize) -> Result<(Vec<usize>, Vec<usize>)> {
        self.plan.rows(self.subject.data.labels(), repeat)
    }

    /// What is done in every repeat.
    pub fn plan(&self) -> &Plan {
        &self.plan
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
        Ok(Self {
            subject,
            methods,
            entrants,
            guests: Vec::new(),
            plan,
            cells: Vec::new(),
            repeats: 0,
            budget: None,
            metric: None,
            few_levels: false,
            own_roster: false,
        })
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
        let cells = self.one_repeat(expected, known, control, done)?;
        self.cells.extend(cells);
        empty_the_slow(&mut self.cells);
        let slow = |c: &&Cell| c.problem.as_deref() == Some(TOO_SLOW);
        let mut names: Vec<String> =
            self.cells.iter().filter(slow).map(|c| c.method.clone()).collect();
        names.dedup();
        self.repeats += 1;
        self.put_aside(&names, TOO_SLOW)
    }

    /// The cells of the next repeat.
    pub(super) fn one_repeat(
        &mut self,
        expected: usize,
        known: &[Cell],
        control: &Control,
        done: &(dyn Fn(&[Cell]) + Sync),
    ) -> Result<Vec<Cell>> {
        let each = self.fits_each() as u64;
        let total = (expected.max(self.repeats + 1)) as u64 * each;
        let finished = AtomicU64::new(self.repeats as u64 * each);
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
        self.plan.run(data, entrants, self.repeats, known, control, &report)
    }
}

/// Stands in for a method that is left out.
struct LeftOut(&'static str);

impl Estimator for LeftOut {
    fn fit(&self, _: &Dataset, _: &Control) -> Result<Fitted> {
        Err(Error::BadData(self.0.into()))
    }
}
