//! `reproduce`: the papers' tables and figures.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;
use mainstay_papers::{Event, Record, Settings, Verdict, experiments};
use serde_json::{Value, json};

use crate::args::Reproduce;
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};

pub(crate) fn run(args: &Reproduce, console: &Console) -> Outcome {
    let Some(name) = args.experiment.as_deref().filter(|_| !args.list) else {
        return list(console);
    };
    let settings = Settings {
        quick: args.quick,
        seed: console.seed.unwrap_or(0),
        data: args.data.clone(),
        output: args.output.clone(),
        command: command(args, name, console),
    };
    if let Some(folder) = args.data.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::say(format!("--data {}: there is no such folder", folder.display())));
    }
    let control = console.control("").without_progress();
    let bar: Mutex<Option<ProgressBar>> = Mutex::new(None);
    let listen = |event: Event<'_>| {
        show(event, console, &mut bar.lock().unwrap_or_else(PoisonError::into_inner));
    };
    let records = mainstay_papers::reproduce(name, &settings, &control, &listen)
        .map_err(|error| Failure::say(error.to_string()))?;
    let place = args.output.display();
    let text = format!("{}\nTables, plots and every number are in {place}\n", lines(&records));
    console.print(&text, &records)?;
    Ok(Ending::Done)
}

/// Moves the bar on, or says what an experiment found.
fn show(event: Event<'_>, console: &Console, bar: &mut Option<ProgressBar>) {
    match event {
        Event::Started(experiment) => *bar = console.bar(experiment.id.to_owned()),
        Event::Progress(done, total) => {
            if let Some(bar) = bar {
                bar.set_length(total);
                bar.set_position(done);
            }
        }
        Event::Finished(record) => {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
            console.note(&line(record));
        }
    }
}

/// One line for every experiment, and what of it was not run.
fn lines(records: &[Record]) -> String {
    let mut text = String::new();
    for record in records {
        let _ = writeln!(text, "{}", line(record));
        for missing in &record.outcome.not_run {
            let _ = writeln!(text, "    not run: {missing}");
        }
    }
    text
}

/// What the pages say the run was made with; folders stand for themselves.
fn command(args: &Reproduce, name: &str, console: &Console) -> String {
    let mut text = format!("mainstay reproduce {name}");
    if args.quick {
        text.push_str(" --quick");
    }
    if args.data.is_some() {
        text.push_str(" --data DIR");
    }
    if let Some(seed) = console.seed {
        let _ = write!(text, " --seed {seed}");
    }
    text
}

fn line(record: &Record) -> String {
    let counts: Vec<String> = Verdict::ALL
        .into_iter()
        .map(|verdict| (record.outcome.count(verdict), verdict.words()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    let counts = if counts.is_empty() { "nothing run".into() } else { counts.join(", ") };
    format!("{:<20} {counts}", record.id)
}

fn list(console: &Console) -> Outcome {
    let all = experiments();
    let mut text = String::new();
    for e in &all {
        let _ = writeln!(text, "{:<20} {}", e.id, e.title);
    }
    text.push_str("\n`all`, or one of rolin, conic, missing, stable, regec, runs several.\n");
    let value: Vec<Value> = all
        .iter()
        .map(|e| json!({"id": e.id, "paper": e.paper.name(), "title": e.title, "what": e.what}))
        .collect();
    console.print(&text, &value)?;
    Ok(Ending::Done)
}
