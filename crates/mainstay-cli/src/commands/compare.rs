//! `mainstay compare`: which threat hurts this data, which method holds, what that costs.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Instant;

use mainstay::Error;
use mainstay::compare::{Comparison, Extent, Session, Subject};
use mainstay::data::{Encoder, shell_word};
use mainstay::folds::Together;
use mainstay::metrics::Metric;
use mainstay::stress::{CLEAN, Threat};
use serde_json::{Value, json};

use crate::args::Compare;
use crate::commands::stress;
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};
use crate::input::{self, Labelled};
use crate::journal::Journal;
use crate::{sampled, table};

pub(crate) fn run(args: &Compare, console: &Console) -> Outcome {
    if !args.expect.is_empty() {
        return super::told::run(args, console);
    }
    let start = Instant::now();
    check(args)?;
    let input = Input::read(args, console)?;
    let identity = input.identity(args, console);
    let (notes, ids) = (input.labelled.notes.clone(), ids(&input.labelled));
    let mut session = input.session(args, console)?;
    let output = args.report.as_deref().or(args.output.as_deref());
    console.make_way(&[args.report.as_deref(), args.output.as_deref()]);
    let journal = Journal::open(input::named(output), &identity, console)?;
    let control = console.control("fits");
    let extent = match args.repeats {
        Some(repeats) => Extent::Repeats(repeats),
        None => Extent::Seconds { budget: args.budget, spent: start.elapsed().as_secs_f64() },
    };
    match session.run(extent, journal.known(), &control, &|found| journal.add(found)) {
        Ok(()) => {}
        Err(Error::Interrupted) => return Err(journal.resume_hint("interrupted")),
        Err(error) => return Err(journal.resume_hint(&error.to_string())),
    }
    let command = command(args, console.seed.unwrap_or(0), &session);
    let mut found = session
        .finish(&command, &control)
        .map_err(|error| journal.resume_hint(&error.to_string()))?;
    found.name_rows(|row| ids.get(&row).cloned());
    write(args, &found, console)?;
    let mut text = text(&found, &notes);
    if let Some(path) = &args.report {
        let _ = writeln!(text, "\nreport: {}", path.display());
    }
    console.print(&text, &found)?;
    journal.close();
    Ok(Ending::Done)
}

fn check(args: &Compare) -> Outcome<()> {
    if args.budget.is_nan() || args.budget <= 0.0 {
        return Err(Failure::say(format!("--budget {}: must be a positive number", args.budget)));
    }
    if args.repeats == Some(0) {
        return Err(Failure::say("--repeats 0: must be at least 1"));
    }
    Ok(())
}

/// What is compared, and how.
struct Input {
    labelled: Labelled,
    groups: Option<Vec<usize>>,
    metric: Option<Metric>,
    threats: Vec<Threat>,
}

impl Input {
    fn read(args: &Compare, console: &Console) -> Outcome<Self> {
        let metric = args.metric.as_deref().map(stress::ranking_metric).transpose()?;
        let threats: Vec<Threat> =
            args.threats.iter().map(|name| Threat::find(name)).collect::<Result<_, _>>()?;
        let (mut labelled, groups) =
            sampled::read(args.data.as_deref(), &args.input, args.sample, console)?;
        let together = Together::new(&labelled.data, groups.as_deref())?;
        labelled.notes.extend(together.note);
        Ok(Self { labelled, groups: together.groups, metric, threats })
    }

    /// What a journal of finished cells must have been made with.
    fn identity(&self, args: &Compare, console: &Console) -> Value {
        json!({
            "command": "compare", "version": env!("CARGO_PKG_VERSION"), "seed": console.seed.unwrap_or(0),
            "data": stress::fingerprint(&self.labelled), "without": args.without, "with": args.with,
            "max_rows": args.max_rows, "few_levels": args.few_levels, "threats": self.threats, "groups": self.groups,
        })
    }

    fn session(self, args: &Compare, console: &Console) -> Outcome<Session> {
        let name = args.data.as_ref().map_or_else(
            || "embedded demo (breast cancer Wisconsin)".into(),
            |path| path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned()),
        );
        let mut session = Session::new(subject(self.labelled, name), console.seed.unwrap_or(0))?;
        if let Some(rows) = args.max_rows {
            session.set_max_rows(rows)?;
        }
        for name in &args.with {
            session.include(name)?;
        }
        session.leave_out(&args.without)?;
        session.set_groups(self.groups)?;
        if let Some(metric) = self.metric {
            session.set_metric(metric)?;
        }
        if !self.threats.is_empty() {
            session.set_threats(&self.threats)?;
        }
        if args.few_levels {
            session.set_few_levels();
        }
        Ok(session)
    }
}

/// The files that were asked for.
fn write(args: &Compare, found: &Comparison, console: &Console) -> Outcome<()> {
    if let Some(path) = &args.output {
        table::write(&stress::tidy(&found.cells)?, Some(path), console)?;
    }
    if let Some(path) = &args.report {
        let options = mainstay_report::Options { tripod: args.tripod };
        let page = mainstay_report::html_with(found, options);
        let page = page.map_err(|e| Failure::say(e.to_string()))?;
        mainstay_io::write_file(path, |out| out.write_all(page.as_bytes()))?;
    }
    Ok(())
}

fn subject(labelled: Labelled, name: String) -> Subject {
    let p = labelled.data.n_features();
    let named = labelled.encoder.as_ref().map(Encoder::feature_names);
    let rows = labelled.kept.map_or_else(
        || (1..=labelled.data.len()).collect(),
        |kept| kept.iter().map(|i| i + 1).collect(),
    );
    Subject {
        features: named.unwrap_or_else(|| (0..p).map(|j| format!("x{j}")).collect()),
        classes: labelled.classes.names().iter().map(ToString::to_string).collect(),
        data: labelled.data,
        name,
        rows,
        handled: labelled.handled,
    }
}

/// What identifies every row, by its number in the file: the identifiers of `--id`, apart by commas.
fn ids(labelled: &Labelled) -> HashMap<usize, String> {
    if labelled.ids.is_empty() {
        return HashMap::new();
    }
    let words = |i: usize| labelled.ids.iter().filter_map(|id| id.text(i)).collect::<Vec<_>>();
    (0..labelled.data.len()).map(|i| (labelled.row_number(i), words(i).join(", "))).collect()
}

/// What to type to get the same numbers again.
fn command(args: &Compare, seed: u64, session: &Session) -> String {
    let mut words = vec!["mainstay".to_owned(), "compare".into()];
    words.extend(args.data.as_ref().map(|path| shell_word(&path.to_string_lossy())));
    if let Some(target) = &args.input.target {
        words.extend(["--target".into(), shell_word(target)]);
    }
    words.extend(input::flags(&args.input).iter().map(|word| shell_word(word)));
    words.extend(args.with.iter().map(|name| format!("--with {name}")));
    words.extend(session.left_out().into_iter().map(|name| format!("--without {name}")));
    words.extend(args.max_rows.map(|rows| format!("--max-rows {rows}")));
    words.extend(session.few_levels().then(|| "--few-levels".to_owned()));
    words.extend(args.threats.iter().map(|name| format!("--threat {name}")));
    words.extend(args.metric.iter().map(|name| format!("--metric {name}")));
    words.extend(args.sample.map(|rows| format!("--sample {rows}")));
    words.push(format!("--repeats {} --seed {seed}", session.repeats()));
    words.join(" ")
}

fn text(found: &Comparison, notes: &[String]) -> String {
    let mut text = String::new();
    let data = &found.data;
    let classes: Vec<String> =
        data.classes.iter().map(|c| format!("{} ({})", c.label, c.rows)).collect();
    let _ = writeln!(
        text,
        "{}: {} rows, {} features, classes {}\n",
        data.name,
        data.rows,
        data.features.len(),
        classes.join(", ")
    );
    let _ = writeln!(text, "{}\n", found.advice.headline);
    for sentence in &found.advice.sentences {
        let _ = writeln!(text, "- {sentence}");
    }
    let warnings: Vec<&String> = notes.iter().chain(&data.warnings).collect();
    if !warnings.is_empty() {
        text.push_str("\nAbout the data:\n");
        for warning in warnings {
            let _ = writeln!(text, "- {warning}");
        }
    }
    text.push('\n');
    text.push_str(&scoreboard(found));
    let _ = writeln!(text, "\nrepeat with: {}", found.settings.command);
    text
}

/// The metric, averaged over the levels of a threat: one line per method, one column per threat.
fn scoreboard(found: &Comparison) -> String {
    let metric = found.settings.metric;
    let threats: Vec<&str> =
        std::iter::once(CLEAN).chain(found.threats.iter().map(|t| t.name.as_str())).collect();
    let splits = match found.settings.repeats {
        1 => "1 split".to_owned(),
        many => format!("{many} splits"),
    };
    let mut text = format!(
        "{}, mean over {splits} and the levels of a threat (- : could not be run)\n\n{:<20}",
        if metric == Metric::Accuracy { "Accuracy in %" } else { metric.title() },
        ""
    );
    for threat in &threats {
        let _ = write!(text, " {:>11}", threat.split('_').next().unwrap_or(threat));
    }
    text.push('\n');
    for method in &found.methods {
        let _ = write!(text, "{:<20}", method.name);
        for threat in &threats {
            let shown = match (mean_over_levels(found, &method.name, threat), metric) {
                (None, _) => "-".into(),
                (Some(mean), Metric::Accuracy) => format!("{:.1}", 100.0 * mean),
                (Some(mean), _) => format!("{mean:.3}"),
            };
            let _ = write!(text, " {shown:>11}");
        }
        if found.constant.contains(&method.name) {
            text.push_str("  constant: calls all rows the same in most splits");
        }
        text.push('\n');
    }
    text
}

/// Absent unless every level has a number.
fn mean_over_levels(found: &Comparison, method: &str, threat: &str) -> Option<f64> {
    let curve = found.curves.iter().find(|c| c.method == method && c.threat == threat)?;
    let means: Option<Vec<f64>> = curve.points.iter().map(|p| p.value.map(|a| a.mean)).collect();
    let means = means.filter(|m| !m.is_empty())?;
    Some(means.iter().sum::<f64>() / means.len() as f64)
}
