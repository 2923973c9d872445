//! `mainstay evaluate`: judge a model on labelled rows.

use std::fmt::Write as _;

use mainstay::data::{Column, Encoded, Table, visible};
use mainstay::linalg::Dense;
use mainstay::metrics::{Costs, Evaluation, Judge, Predictions};
use mainstay_io::{Chunk, Input, ModelFile};
use serde_json::{Value, json};

use crate::args::Evaluate;
use crate::console::Console;
use crate::failure::{Ending, Outcome};
use crate::input;
use crate::rows::{self, SelectedRows};
use crate::stream::{Ask, Stream};
use crate::table::Sink;

pub(crate) fn run(args: &Evaluate, console: &Console) -> Outcome {
    let costs = args.cost.as_deref().map(Costs::parse).transpose()?;
    let file = ModelFile::load(&args.model)?;
    console.make_way(&[args.rows.as_deref()]);
    let demo = args.data.is_none().then_some(input::DEMO_TARGET);
    let target = args.target.as_deref().or(demo);
    let ask = Ask {
        file: &file,
        data: args.data.as_deref(),
        reading: &args.reading,
        copied: args.id.iter().map(String::as_str).collect(),
        target: target.or(file.target.as_deref()),
    };
    let mut stream = Stream::open(&ask, console, "judging")?;
    let names: Vec<String> = file.classes.names().iter().map(ToString::to_string).collect();
    let judge = Judge::new(names.len()).with_threshold(args.threshold).with_costs(costs);
    let mut judged = Judged { judge, unlabelled: 0, incomplete: 0 };
    let mut sink = None;
    while let Some(chunk) = stream.next()? {
        let part = judged.labelled(&file, chunk, args, target)?;
        let (truth, rows) = judged.encode(&mut stream, &file, &part, target)?;
        let table = judged.add(&file, &part, (&truth, &rows), &names)?;
        if args.rows.is_some() {
            let sink = match &mut sink {
                Some(sink) => sink,
                None => sink.insert(Sink::new(args.rows.as_deref(), 1, console)?),
            };
            sink.take(0, &table)?;
        }
    }
    let mut notes = stream.notes();
    let (found, more) = judged.finish()?;
    notes.extend(more);
    sink.map_or(Ok(()), |sink| sink.finish(console))?;
    console.print(&text(&found, &names, &notes), &json(&found, &names, &notes))?;
    Ok(Ending::Done)
}

/// What is known of the rows so far.
struct Judged {
    judge: Judge,
    /// Rows left out for want of a label.
    unlabelled: usize,
    /// Rows left out for a missing cell.
    incomplete: usize,
}

impl Judged {
    /// The rows of a chunk, those without a label left out where that is wanted.
    fn labelled(
        &mut self,
        file: &ModelFile,
        mut chunk: Chunk,
        args: &Evaluate,
        target: Option<&str>,
    ) -> Outcome<SelectedRows> {
        rows::set_ids(&mut chunk.rows, &args.id)?;
        let Input::Table(table) = &chunk.rows else {
            return Ok(SelectedRows::new(chunk, None));
        };
        let drops = args.drop_unlabelled || rows::drops(file);
        let Some(name) = target.or(file.target.as_deref()).filter(|_| drops) else {
            return Ok(SelectedRows::new(chunk, None));
        };
        let labels = table.column_or_id(name)?;
        let labelled: Vec<usize> = (0..table.nrows()).filter(|&i| !labels.is_missing(i)).collect();
        if labelled.len() == table.nrows() {
            return Ok(SelectedRows::new(chunk, None));
        }
        self.unlabelled += table.nrows() - labelled.len();
        Ok(SelectedRows::new(chunk, Some(&labelled)))
    }

    /// True classes and features of the rows that are judged.
    fn encode(
        &mut self,
        stream: &mut Stream,
        file: &ModelFile,
        part: &SelectedRows,
        target: Option<&str>,
    ) -> Outcome<(Vec<usize>, Encoded)> {
        let mut truth = file.labels(&part.rows, target).map_err(|e| part.at_place(e))?;
        let rows = stream.encode(file, &part.rows)?;
        if let Some(kept) = &rows.kept {
            self.incomplete += truth.len() - kept.len();
            truth = kept.iter().map(|&i| truth[i]).collect();
        }
        Ok((truth, rows))
    }

    /// Judges rows; the table has one line for each.
    fn add(
        &mut self,
        file: &ModelFile,
        part: &SelectedRows,
        (truth, rows): (&[usize], &Encoded),
        names: &[String],
    ) -> Outcome<Table> {
        let made = Predictions::of(&file.fitted.model, &rows.features)?;
        let called = self.judge.add(truth, &made)?;
        let mut columns = rows::names(part, rows, true, &[])?;
        let words = |title: &str, codes: &[usize]| {
            Column::words(title, codes.iter().map(|&k| Some(names[k].as_str())))
        };
        columns.push(words("true", truth));
        columns.push(words("predicted", &called));
        columns.extend(score_columns(&made, names));
        Ok(Table::new(columns)?)
    }

    fn finish(self) -> Outcome<(Evaluation, Vec<String>)> {
        let (found, error) = self.judge.finish()?;
        let left_out = |count: usize, why: &str| {
            (count > 0).then(|| format!("{count} rows {why} were left out"))
        };
        let mut notes: Vec<String> =
            left_out(self.unlabelled, "without a label").into_iter().collect();
        notes.extend(left_out(self.incomplete, "with a missing cell"));
        if error > 0.0 {
            notes.push(format!("so many rows are ranked in groups: every AUC is within {error:.1e} of the exact one"));
        }
        Ok((found, notes))
    }
}

/// Decision values, and probabilities where the model has them.
fn score_columns(made: &Predictions, names: &[String]) -> Vec<Column> {
    let mut columns = Vec::new();
    let scores = made.scores.as_ref();
    for (k, class) in names.iter().enumerate().take(scores.map_or(0, Dense::ncols)) {
        let alone = scores.is_some_and(|s| s.ncols() == 1);
        let name = if alone { "score".into() } else { format!("score_{class}") };
        columns.extend(scores.map(|s| Column::numbers(name, s.column(k))));
    }
    for (k, name) in names.iter().enumerate() {
        columns.extend(
            made.probabilities
                .as_ref()
                .map(|p| Column::numbers(format!("probability_{name}"), p.column(k))),
        );
    }
    columns
}

fn show(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |v| format!("{v:.4}"))
}

fn text(found: &Evaluation, names: &[String], notes: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| visible(name).into_owned()).collect();
    let mut text = String::new();
    let _ = writeln!(text, "{:<22} {}", "rows", found.rows);
    for found in &found.metrics {
        let _ = writeln!(text, "{:<22} {}", found.metric.title(), show(found.value));
    }
    let width = names.iter().map(|n| n.chars().count()).max().unwrap_or(0).max(8);
    let _ = writeln!(
        text,
        "\n{:<width$}  {:>8} {:>8} {:>8} {:>9} {:>8}",
        "class", "rows", "TPR", "FPR", "precision", "AUC"
    );
    for (name, class) in names.iter().zip(&found.per_class) {
        let _ = writeln!(
            text,
            "{name:<width$}  {:>8} {:>8} {:>8} {:>9} {:>8}",
            class.support,
            show(class.true_positive_rate),
            show(class.false_positive_rate),
            show(class.precision),
            show(class.auc)
        );
    }
    let _ = writeln!(text, "\nconfusion (rows: true class, columns: predicted)");
    let header: Vec<String> = names.iter().map(|n| format!("{n:>width$}")).collect();
    let _ = writeln!(text, "{:<width$}  {}", "", header.join(" "));
    for (name, row) in names.iter().zip(&found.confusion) {
        let cells: Vec<String> = row.iter().map(|c| format!("{c:>width$}")).collect();
        let _ = writeln!(text, "{name:<width$}  {}", cells.join(" "));
    }
    for (why, titles) in reasons(found) {
        let _ = writeln!(text, "not defined: {} ({why})", titles.join(", "));
    }
    for note in notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// Metrics without a value by the reason why.
fn reasons(found: &Evaluation) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for metric in &found.undefined {
        let (why, title) = (metric.reason.as_deref().unwrap_or_default(), metric.metric.title());
        match groups.iter_mut().find(|(other, _)| *other == why) {
            Some((_, titles)) => titles.push(title),
            None => groups.push((why, vec![title])),
        }
    }
    groups
}

fn json(found: &Evaluation, names: &[String], notes: &[String]) -> Value {
    let mut value = json!(found);
    value["classes"] = json!(names);
    value["notes"] = json!(notes);
    value
}
