//! Runs the selected experiments and writes their results as Markdown, SVG and JSON.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mainstay::Control;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::experiment::{Experiment, Paper, select};
use crate::outcome::Outcome;
use crate::{markdown, svg};

/// How experiments are run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Fewer repetitions.
    pub quick: bool,
    /// Seed of everything random.
    pub seed: u64,
    /// Folder of the data sets.
    pub data: Option<PathBuf>,
    /// Folder of the results.
    pub output: PathBuf,
    /// What was typed, for the pages.
    pub command: String,
}

/// What happens during a run.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// An experiment begins.
    Started(&'a Experiment),
    /// So many of its repetitions are done.
    Progress(u64, u64),
    /// It ended, with this.
    Finished(&'a Record),
}

/// A finished experiment, as it stands in `results.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which one.
    pub id: String,
    /// Its paper.
    pub paper: Paper,
    /// Its name there.
    pub title: String,
    /// Its protocol.
    pub what: String,
    /// What was typed.
    pub command: String,
    /// Fewer repetitions.
    pub quick: bool,
    /// Seed.
    pub seed: u64,
    /// Version of mainstay.
    pub version: String,
    /// What was found.
    pub outcome: Outcome,
}

/// Runs the experiments called `name` (`all`, a paper, or one) and writes `PAPER.md`, `EXPERIMENT.svg` and `results.json` into
/// the output folder after each; results of other experiments that are there already are kept.
///
/// Finished repetitions are kept in the folder `cache` there: a run that was stopped goes on where it was.
pub fn reproduce(
    name: &str,
    settings: &Settings,
    control: &Control,
    listen: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Vec<Record>> {
    reproduce_these(&select(name)?, settings, control, listen)
}

/// As [`reproduce`], for a list of experiments.
pub fn reproduce_these(
    experiments: &[&Experiment],
    settings: &Settings,
    control: &Control,
    listen: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Vec<Record>> {
    let folder = &settings.output;
    let failed = |source| Error::Folder { name: folder.display().to_string(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    let progress = |done, total| listen(Event::Progress(done, total));
    let context = Context::new(settings, &folder.join("cache"), control, &progress);
    let mut records = Vec::new();
    for experiment in experiments {
        listen(Event::Started(experiment));
        context.close_journals();
        let outcome = match (experiment.run)(&context) {
            Ok(outcome) => outcome,
            Err(error) if error.is_interrupt() => return Err(error),
            Err(Error::NoData(what)) => Outcome { not_run: vec![what], ..Outcome::default() },
            Err(error) => {
                Outcome { not_run: vec![format!("stopped: {error}")], ..Outcome::default() }
            }
        };
        let record = record(experiment, settings, outcome, context.take_missing());
        write(folder, &record)?;
        listen(Event::Finished(&record));
        records.push(record);
    }
    Ok(records)
}

fn record(
    experiment: &Experiment,
    settings: &Settings,
    mut outcome: Outcome,
    missing: Vec<String>,
) -> Record {
    outcome.not_run.extend(missing);
    Record {
        id: experiment.id.into(),
        paper: experiment.paper,
        title: experiment.title.into(),
        what: experiment.what.into(),
        command: settings.command.clone(),
        quick: settings.quick,
        seed: settings.seed,
        version: env!("CARGO_PKG_VERSION").into(),
        outcome,
    }
}

/// Replaces the experiment's entry in `results.json`, its plot, and its paper's page.
fn write(folder: &Path, record: &Record) -> Result<()> {
    let path = folder.join("results.json");
    let mut all: BTreeMap<String, Record> = fs::read_to_string(&path)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    all.insert(record.id.clone(), record.clone());
    let text = serde_json::to_string_pretty(&all)
        .map_err(|e| Error::Folder { name: path.display().to_string(), source: e.into() })?;
    put(&path, &text)?;
    let plot = folder.join(format!("{}.svg", record.id));
    if !record.outcome.charts.is_empty() {
        put(&plot, &svg::render(&record.title, &record.outcome.charts))?;
    }
    let mut of_paper: Vec<&Record> = all.values().filter(|r| r.paper == record.paper).collect();
    let order: Vec<&str> = crate::experiment::experiments().iter().map(|e| e.id).collect();
    of_paper.sort_by_key(|r| (order.iter().position(|id| *id == r.id), r.id.clone()));
    let page = folder.join(format!("{}.md", record.paper.name()));
    put(&page, &markdown::page(record.paper, &of_paper))
}

fn put(path: &Path, text: &str) -> Result<()> {
    Ok(mainstay_io::write_file(path, |out| out.write_all(text.as_bytes()))?)
}
