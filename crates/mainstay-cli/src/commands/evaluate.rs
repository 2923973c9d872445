//! `mainstay evaluate`: judge a model on labelled rows.

use std::fmt::Write as _;

use mainstay::model::metrics::Evaluation;
use mainstay_io::ModelFile;
use serde_json::{Value, json};

use crate::args::Evaluate;
use crate::console::Console;
use crate::failure::{Ending, Outcome};
use crate::input;

pub(crate) fn run(args: &Evaluate, console: &Console) -> Outcome {
    let file = ModelFile::load(&args.model)?;
    let loaded = input::read_for(&file, args.data.as_deref(), &args.reading)?;
    let demo = args.data.is_none().then_some(input::DEMO_TARGET);
    let mut truth = file.labels(&loaded, args.target.as_deref().or(demo))?;
    let rows = input::encode(&file, &loaded)?;
    let mut notes = input::unseen(&rows.unseen);
    if let Some(kept) = &rows.kept {
        notes.push(format!("{} rows with a missing cell were left out", truth.len() - kept.len()));
        truth = kept.iter().map(|&i| truth[i]).collect();
    }
    let model = &file.fitted.model;
    let scores = model.decision(&rows.features)?;
    let predicted = model.predict(&rows.features)?;
    let probabilities = model.probabilities(&rows.features)?;
    let names: Vec<String> = file.classes.names().iter().map(ToString::to_string).collect();
    let found = Evaluation::new(&truth, &predicted, &scores, probabilities.as_ref(), names.len())?;
    console.print(&text(&found, &names, &notes), &json(&found, &names, &notes))?;
    Ok(Ending::Done)
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
