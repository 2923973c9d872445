//! `mainstay stress`: damage data on purpose and see which methods hold.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use mainstay::data::{Column, Dataset, NanRule, Table};
use mainstay::folds::Together;
use mainstay::methods;
use mainstay::metrics::Metric;
use mainstay::stress::{CLEAN, Cell, Entrant, JUDGED_BY, Plan, Threat, Trial, usual_metric};
use mainstay::{Control, Error};
use serde_json::{Map, Value, json};

use crate::args::Stress;
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};
use crate::input::{self, Labelled, Wanted};
use crate::journal::Journal;
use crate::measurement;
use crate::{groups, settings, table};

pub(crate) fn run(args: &Stress, console: &Console) -> Outcome {
    let entrants = entrants(args, console)?;
    let mut plan = plan(args, console)?;
    let metric = args.metric.as_deref().map(ranking_metric).transpose()?;
    if args.repeats == 0 {
        return Err(Failure::say("--repeats 0: must be at least 1"));
    }
    let (mut labelled, groups) = read(args.data.as_deref(), &args.input)?;
    let together = Together::new(&labelled.data, groups.as_deref())?;
    labelled.notes.extend(together.note);
    plan.groups = together.groups;
    if args.levels.is_empty() {
        plan.merge_levels(labelled.data.n_features());
    }
    for note in &labelled.notes {
        console.note(note);
    }
    plan.check(&entrants, &labelled.data)?;
    let identity = json!({
        "version": env!("CARGO_PKG_VERSION"), "methods": args.methods, "set": args.set,
        "trials": plan.trials, "seed": plan.seed, "max_rows": args.max_rows,
        "data": fingerprint(&labelled), "groups": plan.groups,
    });
    console.make_way(&[args.output.as_deref()]);
    let journal = Journal::open(input::named(args.output.as_deref()), &identity, console)?;
    let control = console.control("fits");
    let cells = all_repeats(&plan, (&labelled.data, &entrants), args.repeats, &journal, &control)?;
    let metric = metric.unwrap_or_else(|| usual_metric(labelled.data.labels(), &cells));
    if let Some(path) = &args.output {
        table::write(&tidy(&cells)?, Some(path), console)?;
    }
    let found = json!({"metric": metric, "cells": cells});
    console.print(&summary(&cells, &plan, metric), &found)?;
    journal.close();
    Ok(Ending::Done)
}

/// The cells of all repeats; what is finished is in the journal if a repeat fails or is interrupted.
fn all_repeats(
    plan: &Plan,
    (data, entrants): (&Dataset, &[Entrant]),
    repeats: usize,
    journal: &Journal,
    control: &Control,
) -> Outcome<Vec<Cell>> {
    let each = (entrants.len() * plan.fits_each()) as u64;
    let total = each * repeats as u64;
    let finished = AtomicU64::new(0);
    let mut cells = Vec::new();
    for repeat in 0..repeats {
        finished.store(repeat as u64 * each, Ordering::Relaxed);
        let done = |found: &[Cell]| {
            journal.add(found);
            control.progress((finished.fetch_add(1, Ordering::Relaxed) + 1).min(total), total);
        };
        match plan.run(data, entrants, repeat, journal.known(), control, &done) {
            Ok(found) => cells.extend(found),
            Err(Error::Interrupted) => return Err(journal.resume_hint("interrupted")),
            Err(error) => return Err(journal.resume_hint(&error.to_string())),
        }
    }
    control.progress(total, total);
    Ok(cells)
}

fn entrants(args: &Stress, console: &Console) -> Outcome<Vec<Entrant>> {
    let mut own: Vec<Vec<String>> = vec![Vec::new(); args.methods.len()];
    for setting in &args.set {
        let place = args.methods.iter().position(|name| {
            setting.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'))
        });
        match place {
            Some(k) => own[k].push(setting[args.methods[k].len() + 1..].to_owned()),
            // A setting without a method is for all of them.
            None => own.iter_mut().for_each(|list| list.push(setting.clone())),
        }
    }
    let mut entrants = Vec::new();
    for (name, settings) in args.methods.iter().zip(&own) {
        let method = methods::find(name)?;
        let params: Map<String, Value> = settings::parse(method, settings, console.seed)?;
        let estimator = method.estimator(&Value::Object(params))?;
        entrants.push(Entrant { name: name.clone(), estimator });
    }
    Ok(entrants)
}

fn plan(args: &Stress, console: &Console) -> Outcome<Plan> {
    let threats: Vec<Threat> = if args.threats.is_empty() {
        Threat::ALL.to_vec()
    } else {
        args.threats.iter().map(|name| Threat::find(name)).collect::<Result<_, _>>()?
    };
    if !args.levels.is_empty() && threats.len() != 1 {
        return Err(Failure::say(
            "--levels mean something else for every threat: give exactly one --threat with them",
        ));
    }
    let trial = |threat: Threat| match args.levels.as_slice() {
        [] => Trial::usual(threat),
        levels => Trial { threat, levels: levels.to_vec() },
    };
    Ok(Plan {
        trials: threats.into_iter().map(trial).collect(),
        seed: console.seed.unwrap_or(0),
        max_training_rows: args.max_rows,
        max_test_rows: args.max_rows,
        seconds_each: None,
        groups: None,
    })
}

/// The metric called `name`, if methods can be ranked by it.
pub(crate) fn ranking_metric(name: &str) -> Outcome<Metric> {
    let metric = Metric::find(name)?;
    if !JUDGED_BY.contains(&metric) {
        let names: Vec<&str> = JUDGED_BY.iter().map(|m| m.name()).collect();
        let names = names.join(", ");
        return Err(Failure::say(format!(
            "--metric {name}: methods cannot be ranked by it; choose one of {names}"
        )));
    }
    Ok(metric)
}

/// Reads labelled rows and their groups; a missing cell is refused unless a rule is given.
pub(crate) fn read(
    path: Option<&Path>,
    from: &crate::args::Labels,
) -> Outcome<(Labelled, Option<Vec<usize>>)> {
    refuse_gaussian(from)?;
    let encoding = groups::set_aside(&from.encoding, from.groups.as_deref());
    let loaded = input::read(path, &from.reading, std::iter::empty())?;
    let mut labelled = input::learn(loaded, &wanted(from, &encoding), path.is_none())?;
    let groups = groups::take(&mut labelled, from.groups.as_deref(), &from.encoding)?;
    Ok((labelled, groups))
}

/// Methods that are compared fill cells each in its own way.
pub(crate) fn refuse_gaussian(from: &crate::args::Labels) -> Outcome<()> {
    if from.impute == Some(crate::args::ImputeRule::Gaussian) {
        return Err(Failure::say(
            "--impute gaussian: only for `fit`, `validate` and `audit`; here use mean or median",
        ));
    }
    Ok(())
}

/// What the flags say about the columns.
pub(crate) fn wanted<'a>(
    from: &'a crate::args::Labels,
    encoding: &'a crate::args::Encoding,
) -> Wanted<'a> {
    Wanted {
        target: from.target.as_deref(),
        weights: None,
        encoding,
        impute: from.impute,
        nan: NanRule::Refuse,
        standardise: true,
        errors: measurement::Wanted { columns: &[], scale: 1.0 },
        reading: &from.reading,
    }
}

/// Tells data sets apart: sizes, labels and a sum over the features.
pub(crate) fn fingerprint(labelled: &Labelled) -> Value {
    let data = &labelled.data;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bits: u64| hash = (hash ^ bits).wrapping_mul(0x0100_0000_01b3).rotate_left(17);
    for (row, &label) in data.features().rows().zip(data.labels()) {
        add(label as u64);
        for (j, v) in row.entries() {
            add(j as u64);
            add(v.to_bits());
        }
    }
    json!({"rows": data.len(), "features": data.n_features(), "hash": format!("{hash:016x}")})
}

/// One row per cell.
pub(crate) fn tidy(cells: &[Cell]) -> Outcome<Table> {
    let number = |of: fn(&Cell) -> Option<f64>| -> Vec<f64> {
        cells.iter().map(|c| of(c).unwrap_or(f64::NAN)).collect()
    };
    Ok(Table::new(vec![
        Column::words("method", cells.iter().map(|c| Some(c.method.as_str()))),
        Column::words("threat", cells.iter().map(|c| Some(c.threat.as_str()))),
        Column::numbers("level", number(|c| Some(c.level))),
        Column::numbers("repeat", number(|c| Some(c.repeat as f64))),
        Column::numbers("accuracy", number(|c| c.accuracy)),
        Column::numbers("log_loss", number(|c| c.log_loss)),
        Column::numbers("auc", number(|c| c.value(Metric::Auc))),
        Column::numbers("balanced_accuracy", number(|c| c.value(Metric::BalancedAccuracy))),
        Column::numbers("brier", number(|c| c.value(Metric::Brier))),
        Column::words("problem", cells.iter().map(|c| c.problem.as_deref())),
    ])?)
}

/// Mean of the metric, one line per threat and level, one column per method.
pub(crate) fn summary(cells: &[Cell], plan: &Plan, metric: Metric) -> String {
    let mut names: Vec<&str> = Vec::new();
    for cell in cells {
        if !names.contains(&cell.method.as_str()) {
            names.push(&cell.method);
        }
    }
    let mut text = format!("mean {} on held-out rows\n\n", metric.title());
    let _ = write!(text, "{:<28} {:>6}", "threat", "level");
    for name in &names {
        let _ = write!(text, "  {name:>8}");
    }
    text.push('\n');
    let trials = plan.trials.iter().flat_map(|t| t.levels.iter().map(|l| (t.threat.name(), *l)));
    for (threat, level) in std::iter::once((CLEAN, 0.0)).chain(trials) {
        let _ = write!(text, "{threat:<28} {level:>6}");
        for name in &names {
            let own: Vec<f64> = cells
                .iter()
                .filter(|c| c.method == *name && c.threat == threat && c.level == level)
                .filter_map(|c| c.value(metric))
                .collect();
            let width = name.len().max(8);
            if own.is_empty() {
                let _ = write!(text, "  {:>width$}", "-");
            } else {
                let _ = write!(text, "  {:>width$.4}", own.iter().sum::<f64>() / own.len() as f64);
            }
        }
        text.push('\n');
    }
    for name in names.iter().filter(|name| constant(cells, name)) {
        let _ =
            writeln!(text, "constant: {name} calls all held-out rows the same on undamaged data");
    }
    empty_cells(cells, &mut text);
    text
}

/// Why cells are empty: the first few reasons.
fn empty_cells(cells: &[Cell], text: &mut String) {
    const SHOWN: usize = 5;
    let mut problems: Vec<String> = cells
        .iter()
        .filter_map(|c| Some(format!("{}, {}: {}", c.method, c.threat, c.problem.as_ref()?)))
        .collect();
    problems.dedup();
    problems.sort();
    problems.dedup();
    for problem in problems.iter().take(SHOWN) {
        let _ = writeln!(text, "empty: {problem}");
    }
}

/// Whether a method calls all held-out rows the same in most splits of undamaged data.
fn constant(cells: &[Cell], method: &str) -> bool {
    let own =
        || cells.iter().filter(|c| c.method == method && c.threat == CLEAN && c.accuracy.is_some());
    2 * own().filter(|c| c.constant).count() > own().count()
}
