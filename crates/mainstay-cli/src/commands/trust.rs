//! `mainstay trust`: may I believe each prediction?

use std::fmt::Write as _;

use mainstay::certify::Units;
use mainstay::data::{Column, Table};
use mainstay::trust::{Known, RULE, RowTrust, Verdict};
use mainstay_io::{Input, ModelFile};
use serde_json::json;

use crate::console::Console;
use crate::failure::{Ending, Outcome};
use crate::refit::Asked;
use crate::trust_args::Trust;
use crate::{input, refit, rows, table, units};

pub(crate) fn run(args: &Trust, console: &Console) -> Outcome {
    let file = ModelFile::load(&args.model)?;
    let (loaded, notes) = input::read_for(&file, Some(&args.data), &args.reading)?;
    let part = rows::choose(loaded, &args.rows)?;
    let encoded = file.encode(&part.rows)?;
    for note in notes.iter().chain(&input::unseen(&encoded.unseen)) {
        console.note(note);
    }
    let classes: Vec<String> = file.classes.names().iter().map(ToString::to_string).collect();
    let features = file.names_of_features();
    let truth = truth(args, &file, &part.rows, &encoded)?;
    let found = judge(args, &file, &encoded.features, (&features, &classes), console)?;
    for note in &found.notes {
        console.note(note);
    }
    tell(&found, truth.as_deref(), console);
    let mut columns =
        rows::names(&part, &encoded, rows::drops(&file) || !args.rows.row.is_empty(), &[])?;
    columns.extend(columns_of(&found, &features, &classes, args.abstain));
    let table = Table::new(columns)?;
    if console.json() && args.output.is_none() {
        let (coverage, accuracy) = found.coverage(truth.as_deref());
        let mut value = json!(table::object(&table));
        value["coverage"] = json!(coverage);
        value["accuracy_where_it_stands"] = json!(accuracy);
        value["rule"] = json!(RULE);
        value["notes"] = json!(found.notes);
        console.print("", &value)?;
    } else {
        table::write(&table, args.output.as_deref(), console)?;
    }
    Ok(Ending::Done)
}

fn judge(
    args: &Trust,
    file: &ModelFile,
    x: &mainstay::linalg::Matrix,
    (features, classes): (&[String], &[String]),
    console: &Console,
) -> Outcome<RowTrust> {
    let (names, groups) = units::columns(file);
    let errors = match args.errors.as_slice() {
        [] => None,
        given => Some(units::error_sizes(&names, &groups, given, features.len())?),
    };
    let ranges = file.fitted.training.as_ref().and_then(|t| t.features.as_ref());
    let units = match ranges {
        Some(ranges) => {
            let means = units::stand_ins(file)?;
            Some(Units { means, sizes: ranges.deviations.clone(), columns: groups })
        }
        None => None,
    };
    let train = match &args.train {
        Some(path) => {
            let target = args.target.as_deref();
            let weights = args.weights.as_deref();
            let asked = Asked { path, target, weights, reading: &args.reading };
            Some(refit::training_rows(file, &asked, console)?)
        }
        None => None,
    };
    let refits = if train.is_some() { refit::check_count("--refits", args.refits)? } else { 0 };
    let how = refit::refit(file)?;
    let known = Known {
        training: train.as_ref().map(|data| (how, data)),
        refits,
        seed: console.seed.unwrap_or(0),
        errors: errors.as_deref(),
        units: units.as_ref(),
    };
    let control = console.control("fitting again");
    Ok(mainstay::trust::trust(&file.fitted, features, classes, x, &known, &control)?)
}

/// The true classes, if the rows have them.
fn truth(
    args: &Trust,
    file: &ModelFile,
    loaded: &Input,
    encoded: &mainstay::data::Encoded,
) -> Outcome<Option<Vec<usize>>> {
    let labels = match file.labels(loaded, args.target.as_deref()) {
        Ok(labels) => labels,
        // Named for these rows alone, a column that is not there is a slip; beside --train it may be that of those rows.
        Err(problem) if args.target.is_some() && args.train.is_none() => return Err(problem.into()),
        Err(_) => return Ok(None),
    };
    Ok(Some(match &encoded.kept {
        Some(kept) => kept.iter().map(|&i| labels[i]).collect(),
        None => labels,
    }))
}

/// How many rows stand and how right they are, on standard error.
fn tell(found: &RowTrust, truth: Option<&[usize]>, console: &Console) {
    let count = |verdict: Verdict| found.verdict.iter().filter(|v| **v == verdict).count();
    let rows = found.verdict.len();
    let (coverage, accuracy) = found.coverage(truth);
    let mut text = format!(
        "{} of {rows} rows stand ({:.0} %), close calls: {}, unlike the training data: {}",
        count(Verdict::Stands),
        100.0 * coverage,
        count(Verdict::CloseCall),
        count(Verdict::Unlike)
    );
    if let (Some(stands), Some(truth)) = (accuracy, truth) {
        let right = truth.iter().zip(&found.predicted).filter(|(a, b)| a == b).count();
        let _ = write!(
            text,
            "; accuracy {stands:.4} where it stands, {:.4} on all rows",
            right as f64 / rows.max(1) as f64
        );
    }
    console.note(&text);
}

fn columns_of(
    found: &RowTrust,
    features: &[String],
    classes: &[String],
    abstain: bool,
) -> Vec<Column> {
    let stands = |i: usize| found.verdict[i] == Verdict::Stands;
    let predicted = found.predicted.iter().enumerate();
    let shown = predicted.map(|(i, &k)| (!abstain || stands(i)).then_some(classes[k].as_str()));
    let mut columns = vec![Column::words("predicted", shown)];
    columns.push(Column::words("verdict", found.verdict.iter().map(|v| Some(v.words()))));
    columns.extend(found.columns().map(|(name, values)| Column::numbers(name, values.to_vec())));
    let outside: Vec<String> = found
        .outside
        .iter()
        .map(|row| row.iter().map(|&j| features[j].as_str()).collect::<Vec<_>>().join(", "))
        .collect();
    let words = |cells: &[String]| -> Vec<Option<String>> {
        cells.iter().map(|cell| (!cell.is_empty()).then(|| cell.clone())).collect()
    };
    let outside = words(&outside);
    columns.push(Column::words("outside", outside.iter().map(Option::as_deref)));
    for (k, class) in classes.iter().enumerate() {
        columns.extend(
            found.p_values.as_ref().map(|p| Column::numbers(format!("p_{class}"), p.column(k))),
        );
    }
    let reasons = words(&found.reasons);
    columns.push(Column::words("reasons", reasons.iter().map(Option::as_deref)));
    columns
}
