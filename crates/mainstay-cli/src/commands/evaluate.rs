//! `mainstay evaluate`: judge a model on labelled rows.

use std::fmt::Write as _;

use mainstay::data::{Column, Missing, Table};
use mainstay::linalg::Dense;
use mainstay::metrics::{Evaluation, Judged, Predictions};
use mainstay_io::{Input, ModelFile};
use serde_json::{Value, json};

use crate::args::Evaluate;
use crate::console::Console;
use crate::failure::{Ending, Outcome};
use crate::{input, rows, table};

pub(crate) fn run(args: &Evaluate, console: &Console) -> Outcome {
    let file = ModelFile::load(&args.model)?;
    console.make_way(&[args.rows.as_deref()]);
    let (mut loaded, mut notes) = input::read_for(&file, args.data.as_deref(), &args.reading)?;
    let demo = args.data.is_none().then_some(input::DEMO_TARGET);
    let target = args.target.as_deref().or(demo);
    if let Input::Table(table) = &mut loaded {
        table.set_ids(&args.id)?;
        let drops = file.encoder.as_ref().is_some_and(|e| e.missing() == Missing::Drop);
        if let Some(name) =
            target.or(file.target.as_deref()).filter(|_| args.drop_unlabelled || drops)
        {
            let labels = table.column(name)?;
            let labelled: Vec<usize> =
                (0..table.nrows()).filter(|&i| !labels.is_missing(i)).collect();
            if labelled.len() < table.nrows() {
                let count = table.nrows() - labelled.len();
                notes.push(format!("{count} rows without a label were left out"));
                *table = table.select_rows(&labelled);
            }
        }
    }
    let mut truth = file.labels(&loaded, target)?;
    let rows = input::encode(&file, &loaded)?;
    notes.extend(input::unseen(&rows.unseen));
    if let Some(kept) = &rows.kept {
        notes.push(format!("{} rows with a missing cell were left out", truth.len() - kept.len()));
        truth = kept.iter().map(|&i| truth[i]).collect();
    }
    let model = &file.fitted.model;
    let made = Predictions::of(model, &rows.features)?;
    let names: Vec<String> = file.classes.names().iter().map(ToString::to_string).collect();
    let found = Evaluation::of(&Judged::new(&truth, names.len(), &made)?);
    if let Some(path) = &args.rows {
        let mut columns = rows::names(&loaded, &rows, true, &[])?;
        let words =
            |codes: &[usize]| -> Vec<String> { codes.iter().map(|&k| names[k].clone()).collect() };
        let column = |title: &str, cells: &[String]| {
            Column::words(title, cells.iter().map(|cell| Some(cell.as_str())))
        };
        columns.push(column("true", &words(&truth)));
        columns.push(column("predicted", &words(&made.predicted)));
        columns.extend(score_columns(&made, &names));
        table::write(&Table::new(columns)?, Some(path), console)?;
    }
    console.print(&text(&found, &names, &notes), &json(&found, &names, &notes))?;
    Ok(Ending::Done)
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
            made.probabilities.as_ref().map(|p| Column::numbers(format!("probability_{name}"), p.column(k))),
        );
    }
    columns
}

fn show(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |v| format!("{v:.4}"))
}

fn text(found: &Evaluation, names: &[String], notes: &[String]) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "rows               {}", found.rows);
    let _ = writeln!(text, "accuracy           {:.4}", found.accuracy);
    let _ = writeln!(text, "balanced accuracy  {:.4}", found.balanced_accuracy);
    let _ = writeln!(text, "log loss           {}", show(found.log_loss));
    let _ = writeln!(text, "AUC                {}", show(found.auc));
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
    for note in notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn json(found: &Evaluation, names: &[String], notes: &[String]) -> Value {
    let mut value = json!(found);
    value["classes"] = json!(names);
    value["notes"] = json!(notes);
    value
}
