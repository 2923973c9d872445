//! `mainstay audit`: how many labels are wrong, and which.

use std::fmt::Write as _;

use mainstay::audit::{Audit, AuditPlan, AuditRow, tuned_logistic};
use mainstay::data::{Cells, Column, NanRule, Table};
use mainstay::methods;
use mainstay::model::{ImputeFirst, StandardizeFirst};
use serde_json::{Value, json};

use crate::args::ImputeRule;
use crate::audit_args::AuditArgs;
use crate::console::Console;
use crate::failure::{Ending, Outcome};
use crate::input::{self, Labelled, Wanted};
use crate::{groups, measurement, settings, table};

pub(crate) fn run(args: &AuditArgs, console: &Console) -> Outcome {
    let method = args.method.as_deref().map(methods::find).transpose()?;
    let params = method.map(|m| settings::parse(m, &args.set, console.seed)).transpose()?;
    if let (Some(method), Some(params)) = (method, &params) {
        // Wrong parameters should be reported before a large file is read.
        method.estimator(&Value::Object(params.clone()))?;
    }
    console.make_way(&[args.output.as_deref()]);
    let own_rule = method.map_or(NanRule::Refuse, |m| {
        m.nan_rule(&params.clone().map_or(Value::Null, Value::Object))
    });
    let gaussian = args.input.impute == Some(ImputeRule::Gaussian);
    let mut labelled = rows(args, if gaussian { NanRule::Keep } else { own_rule })?;
    let groups = groups::take(&mut labelled, args.input.groups.as_deref(), &args.input.encoding)?;
    let control = console.control("fits");
    if gaussian {
        // Once for all refits: the features' model does not see a label.
        labelled.data = ImputeFirst::fill(&labelled.data, &control)?.1;
    }
    let estimator = match (method, params) {
        (Some(method), Some(params)) => {
            let params = settings::name_classes(params, &labelled.classes)?;
            method.estimator(&Value::Object(params))?
        }
        _ => tuned_logistic(&labelled.data, &control)?,
    };
    let plan = AuditPlan {
        repeats: args.repeats,
        planted: args.planted,
        precision: args.precision,
        seed: console.seed.unwrap_or(0),
        groups,
        ..AuditPlan::default()
    };
    let found = plan.run(&StandardizeFirst(estimator.as_ref()), &labelled.data, &control)?;
    let listing = Listing { found: &found, labelled: &labelled };
    if let Some(path) = &args.output {
        table::write(&listing.table()?, Some(path), console)?;
    }
    console.print(&listing.text(args.show), &listing.json())?;
    Ok(Ending::Done)
}

fn rows(args: &AuditArgs, nan: NanRule) -> Outcome<Labelled> {
    let loaded = input::read(args.data.as_deref(), &args.input.reading, std::iter::empty())?;
    let encoding = groups::set_aside(&args.input.encoding, args.input.groups.as_deref());
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
    input::learn(loaded, &wanted, args.data.is_none())
}

/// What was found, with rows and classes by the names they have in the file.
struct Listing<'a> {
    found: &'a Audit,
    labelled: &'a Labelled,
}

impl Listing<'_> {
    fn class(&self, k: usize) -> String {
        self.labelled.classes.names().get(k).map_or_else(String::new, ToString::to_string)
    }

    /// All rows, most suspicious first.
    fn table(&self) -> Outcome<Table> {
        let rows = &self.found.rows;
        let order: Vec<usize> = rows.iter().map(|r| r.row).collect();
        let words = |name: &str, of: &dyn Fn(&AuditRow) -> usize| {
            let names: Vec<String> = rows.iter().map(|r| self.class(of(r))).collect();
            Column::words(name, names.iter().map(|n| Some(n.as_str())))
        };
        let numbers = |name: &str, of: &dyn Fn(&AuditRow) -> f64| {
            Column::numbers(name, rows.iter().map(of).collect())
        };
        let mut columns = vec![numbers("row", &|r| self.labelled.row_number(r.row) as f64)];
        columns.extend(self.labelled.ids.iter().map(|id| id.select_rows(&order)));
        columns.push(words("label", &|r| r.label));
        columns.push(words("looks_like", &|r| r.looks_like));
        columns.push(numbers("wrong", &|r| r.wrong));
        columns.push(numbers("stability", &|r| r.stability));
        columns.push(numbers("flagged", &|r| f64::from(u8::from(r.flagged))));
        Ok(Table::new(columns)?)
    }

    fn text(&self, show: usize) -> String {
        let found = self.found;
        let mut text = found.headline() + "\n";
        let planted = &found.planted;
        let _ = writeln!(
            text,
            "of {} labels flipped on purpose, {} times, {:.0} % were found; the estimate rose by {:.0} % of their number",
            planted.rows,
            planted.rounds,
            100.0 * planted.found,
            100.0 * planted.response.max(0.0)
        );
        self.shares(&mut text);
        self.list(&mut text, show);
        for note in self.labelled.notes.iter().chain(&found.notes) {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }

    /// What to expect of every class, and of the first rows of the list.
    fn shares(&self, text: &mut String) {
        let found = self.found;
        let _ = writeln!(
            text,
            "\n{:<12} {:>6} {:>14} {:>8}",
            "labelled", "rows", "expected wrong", "flagged"
        );
        for c in &found.classes {
            let name = self.class(c.class);
            let _ = writeln!(
                text,
                "{name:<12} {:>6} {:>14.1} {:>8}",
                c.rows, c.expected_wrong, c.flagged
            );
        }
        let _ = writeln!(
            text,
            "\n{:<12} {:>14} {:>10} {:>18}",
            "first rows", "expected wrong", "share", "planted among them"
        );
        for t in &found.top {
            let _ = writeln!(
                text,
                "{:<12} {:>14.1} {:>8.0} % {:>16.0} %",
                t.rows,
                t.expected_wrong,
                100.0 * t.precision,
                100.0 * t.recall
            );
        }
    }

    /// The rows worth a look, one per line.
    fn list(&self, text: &mut String, show: usize) {
        let flagged = self.found.flagged;
        if flagged == 0 {
            return;
        }
        let ids = &self.labelled.ids;
        let _ = write!(text, "\n{:>6}", "row");
        for id in ids {
            let _ = write!(text, "  {:<12}", id.name);
        }
        let _ = writeln!(
            text,
            "  {:<12} {:<12} {:>6} {:>10}",
            "label", "looks like", "wrong", "stability"
        );
        for r in self.found.rows.iter().take(flagged.min(show)) {
            let _ = write!(text, "{:>6}", self.labelled.row_number(r.row));
            for id in ids {
                let _ = write!(text, "  {:<12}", cell(id, r.row));
            }
            let (label, other) = (self.class(r.label), self.class(r.looks_like));
            let _ =
                writeln!(text, "  {label:<12} {other:<12} {:>6.2} {:>10.2}", r.wrong, r.stability);
        }
        if flagged > show {
            let _ = writeln!(text, "... and {} more (--show, or -o for all rows)", flagged - show);
        }
    }

    fn json(&self) -> Value {
        let mut value = json!(self.found);
        value["headline"] = json!(self.found.headline());
        value["rows"] = self
            .found
            .rows
            .iter()
            .map(|r| {
                let mut entry = json!({
                    "row": self.labelled.row_number(r.row), "label": self.class(r.label),
                    "looks_like": self.class(r.looks_like), "wrong": r.wrong,
                    "stability": r.stability, "flagged": r.flagged,
                });
                for id in &self.labelled.ids {
                    entry["id"][&id.name] = json!(cell(id, r.row));
                }
                entry
            })
            .collect();
        for (k, class) in self.found.classes.iter().enumerate() {
            value["classes"][k]["class"] = json!(self.class(class.class));
        }
        let notes = self.labelled.notes.iter().chain(&self.found.notes);
        value["notes"] = json!(notes.collect::<Vec<_>>());
        value
    }
}

/// A cell of an identifier as text.
fn cell(column: &Column, row: usize) -> String {
    match &column.cells {
        Cells::Numbers(values) => values[row].to_string(),
        Cells::Words(words) => words.get(row).unwrap_or_default().to_owned(),
    }
}
