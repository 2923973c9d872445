//! `mainstay validate`: how good a method really is on few rows.

use std::fmt::Write as _;

use mainstay::Error;
use mainstay::data::{Column, Dataset, NanRule, Table};
use mainstay::folds::Together;
use mainstay::methods;
use mainstay::metrics::{Interval, Metric};
use mainstay::model::{Estimator, ImputeFirst, StandardizeFirst};
use mainstay::validate::{Outcome as Found, Refit, RowInstability, Validation, ValidationPlan};
use serde_json::{Value, json};

use crate::args::ImputeRule;
use crate::commands::stress::fingerprint;
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};
use crate::input::{self, Labelled, Wanted};
use crate::journal::Journal;
use crate::validate_args::ValidateArgs;
use crate::{groups, measurement, settings, table};

pub(crate) fn run(args: &ValidateArgs, console: &Console) -> Outcome {
    let method = methods::find(&args.method)?;
    let params = settings::parse(method, &args.set, console.seed)?;
    let metric = Metric::find(&args.metric)?;
    if metric == Metric::Cost {
        return Err(Failure::say("--metric cost: costs are not known here; choose another metric"));
    }
    // Wrong parameters should be reported before a large file is read.
    method.estimator(&Value::Object(params.clone()))?;
    console.make_way(&[args.output.as_deref()]);
    let gaussian = args.input.impute == Some(ImputeRule::Gaussian);
    let own_rule = method.nan_rule(&Value::Object(params.clone()));
    let (labelled, together) = rows(args, if gaussian { NanRule::Keep } else { own_rule })?;
    let params = Value::Object(settings::name_classes(params, &labelled.classes)?);
    let plain = method.estimator(&params)?;
    // Every refit learns from its own rows alone how cells are filled.
    let filling = ImputeFirst(plain.as_ref());
    let estimator: &dyn Estimator = if gaussian { &filling } else { plain.as_ref() };
    let plan = plan(args, metric, together.groups, console.seed);
    let identity = json!({"version": env!("CARGO_PKG_VERSION"), "command": "validate", "method": method.name,
                          "params": params, "plan": plan, "gaussian": gaussian, "data": fingerprint(&labelled)});
    let data = &labelled.data;
    let validation = Validation::new(plan, data.labels(), data.n_classes())
        .map_err(|error| named(&error, &labelled))?;
    let output = input::named(args.output.as_deref());
    let journal =
        Journal::open_as(output, &identity, console, "refits", |refit| validation.is_sound(refit))?;
    run_refits(&validation, &journal, estimator, data, console)?;
    let mut found = validation.finish()?;
    found.notes.extend(together.note);
    found.notes.extend(labelled.constant_note());
    let told = Told { found: &found, labelled: &labelled, method: method.name, metric };
    if let Some(path) = &args.output {
        table::write(&told.table()?, Some(path), console)?;
    }
    console.print(&told.text(), &told.json())?;
    journal.close();
    Ok(Ending::Done)
}

/// Does every refit that the journal does not know, and keeps it there.
fn run_refits(
    validation: &Validation,
    journal: &Journal<Refit>,
    estimator: &dyn Estimator,
    data: &Dataset,
    console: &Console,
) -> Outcome<()> {
    journal.known().iter().try_for_each(|refit| validation.add(refit.clone()))?;
    let control = console.control("refits");
    let keep = |refit: &_| journal.add(std::slice::from_ref(refit));
    let ended = validation.run(&StandardizeFirst(estimator), data, &control, &keep);
    ended.map_err(|error| match error {
        Error::Interrupted => journal.resume_hint("interrupted"),
        other => other.into(),
    })
}

/// The labelled rows, and which of them stay together.
fn rows(args: &ValidateArgs, nan: NanRule) -> Outcome<(Labelled, Together)> {
    let loaded = input::read(args.data.as_deref(), &args.input.reading, std::iter::empty())?;
    let grouped = args.input.groups.as_deref();
    let encoding = groups::set_aside(&args.input.encoding, grouped);
    let wanted = Wanted {
        target: args.input.target.as_deref(),
        weights: None,
        encoding: &encoding,
        impute: args.input.impute,
        nan,
        standardise: true,
        errors: measurement::Wanted { columns: &[], scale: 1.0 },
        reading: &args.input.reading,
    };
    let mut labelled = input::learn(loaded, &wanted, args.data.is_none())?;
    let given = groups::take(&mut labelled, grouped, &args.input.encoding)?;
    let together = Together::new(&labelled.data, given.as_deref())?;
    Ok((labelled, together))
}

fn plan(
    args: &ValidateArgs,
    metric: Metric,
    groups: Option<Vec<usize>>,
    seed: Option<u64>,
) -> ValidationPlan {
    ValidationPlan {
        bootstrap: args.bootstrap,
        folds: args.folds,
        repeats: args.repeats,
        curve_repeats: args.curve_repeats,
        metric,
        seed: seed.unwrap_or(0),
        groups,
    }
}

/// Classes are indices inside and names outside.
fn named(error: &Error, labelled: &Labelled) -> Failure {
    let text = error.to_string();
    // One class is named, and once: a name may be another one's index.
    let found = labelled.classes.names().iter().enumerate().find_map(|(k, name)| {
        let index = format!("class {k} has");
        text.contains(&index).then(|| text.replacen(&index, &format!("class {name} has"), 1))
    });
    Failure::say(found.unwrap_or(text))
}

/// What was found, with rows by the names they have in the file.
struct Told<'a> {
    found: &'a Found,
    labelled: &'a Labelled,
    method: &'a str,
    metric: Metric,
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |v| format!("{v:.3}"))
}

fn span(value: Option<f64>, interval: Option<Interval>) -> String {
    match (value, interval) {
        (Some(v), Some(i)) => format!("{v:.3} [{:.3}, {:.3}]", i.low, i.high),
        (value, _) => number(value),
    }
}

impl Told<'_> {
    fn text(&self) -> String {
        let found = self.found;
        let mut text = format!(
            "{}: {}\n\n{} rows, {} bootstrap refits, {} times {}-fold cross-validation{}\n\n",
            self.method,
            found.headline(self.metric),
            found.rows,
            found.bootstrap,
            found.repeats,
            found.folds,
            self.positive()
        );
        let _ = writeln!(
            text,
            "{:<22} {:>8} {:>9}  {:<22} {:<22}",
            "metric", "apparent", "optimism", "corrected [95 %]", "cross-validated [95 %]"
        );
        for row in &found.metrics {
            let _ = writeln!(
                text,
                "{:<22} {:>8} {:>9}  {:<22} {:<22}{}",
                row.metric.title(),
                number(row.apparent),
                number(row.optimism),
                span(row.corrected, row.corrected_interval),
                span(row.cross_validated, row.cross_validated_interval),
                row.problem.as_ref().map_or_else(String::new, |why| format!("  ({why})"))
            );
        }
        self.refits(&mut text);
        self.curves(&mut text);
        for note in self.labelled.notes.iter().chain(&found.notes) {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }

    /// The class that sensitivity, PPV and the like speak of, where there are two.
    fn positive(&self) -> String {
        match self.labelled.classes.names() {
            [_, positive] => format!("; `{positive}` is the positive class"),
            _ => String::new(),
        }
    }

    /// What refits say of the model as a whole.
    fn refits(&self, text: &mut String) {
        let found = self.found;
        if let Some(factor) = found.shrinkage {
            let _ = writeln!(
                text,
                "\nshrinkage factor {factor:.3}: {}",
                if factor < 0.9995 {
                    "multiply scores by it to undo what is overfitted"
                } else {
                    "scores need not be scaled down"
                }
            );
        }
        if let Some(all) = &found.instability {
            if let Some(error) = all.mean_absolute_error {
                let _ = writeln!(
                    text,
                    "instability: in a refit the probability of a row is off by {error:.3} on average"
                );
            }
            let _ = writeln!(
                text,
                "instability: a refit changes {:.1} % of the predictions",
                100.0 * all.flips
            );
        }
    }

    fn curves(&self, text: &mut String) {
        let found = self.found;
        if let Some(curve) = &found.calibration {
            let _ = writeln!(text, "\n{:<10} {:>8}  [95 %]   held out", "predicted", "observed");
            for p in curve.points.iter().step_by(4) {
                let _ = writeln!(
                    text,
                    "{:<10.3} {:>8.3}  [{:.3}, {:.3}]",
                    p.predicted, p.observed, p.low, p.high
                );
            }
        }
        if let Some(curve) = &found.learning {
            let _ =
                writeln!(text, "\n{:<10} {:>8}  95 % of the repeats", "rows", curve.metric.title());
            for p in &curve.points {
                // Not of one kind with the sizes above: all rows are judged in every repeat, so that the range is narrower.
                let last = p.rows == found.rows - found.rows / found.folds;
                let how = if last { "  the folds of the cross-validation" } else { "" };
                let (rows, mean, low, high) = (p.rows, p.mean, p.low, p.high);
                let _ = writeln!(text, "{rows:<10} {mean:>8.3}  [{low:.3}, {high:.3}]{how}");
            }
            if let Some(t) = &curve.twice {
                let _ = writeln!(
                    text,
                    "{:<10} {:>8.3}  ± {:.3}, expected: a gain of {:.3} ± {:.3}",
                    t.rows, t.expected, t.plus_minus, t.gain, t.gain_plus_minus
                );
            }
        }
    }

    /// One line for every row.
    fn table(&self) -> Outcome<Table> {
        let Some(all) = &self.found.instability else {
            return Err(Failure::say("-o: no bootstrap refit was finished"));
        };
        let rows = &all.rows;
        let names = self.labelled.classes.names();
        let labels = self.labelled.data.labels();
        let words: Vec<String> = rows.iter().map(|r| names[labels[r.row]].to_string()).collect();
        let order: Vec<usize> = rows.iter().map(|r| r.row).collect();
        let numbers = |name: &str, of: &dyn Fn(&RowInstability) -> Option<f64>| {
            Column::numbers(name, rows.iter().map(|r| of(r).unwrap_or(f64::NAN)).collect())
        };
        let mut columns = vec![numbers("row", &|r| Some(self.labelled.row_number(r.row) as f64))];
        columns.extend(self.labelled.ids.iter().map(|id| id.select_rows(&order)));
        columns.push(Column::words("label", words.iter().map(|w| Some(w.as_str()))));
        columns.push(numbers("probability", &|r| r.probability));
        columns.push(numbers("low", &|r| r.low));
        columns.push(numbers("high", &|r| r.high));
        columns.push(numbers("mean_absolute_error", &|r| r.mean_absolute_error));
        columns.push(numbers("flips", &|r| Some(r.flips)));
        Ok(Table::new(columns)?)
    }

    fn json(&self) -> Value {
        let mut value = json!(self.found);
        value["method"] = json!(self.method);
        value["headline"] = json!(self.found.headline(self.metric));
        if let Some(rows) = value["instability"]["rows"].as_array_mut() {
            for (k, row) in rows.iter_mut().enumerate() {
                row["row"] = json!(self.labelled.row_number(k));
            }
        }
        let notes = self.labelled.notes.iter().chain(&self.found.notes);
        value["notes"] = json!(notes.collect::<Vec<_>>());
        value
    }
}
