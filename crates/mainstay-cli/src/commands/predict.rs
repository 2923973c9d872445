//! `mainstay predict`: the class of every row.

use std::io::Write as _;

use mainstay::data::{Cells, Column, Table};
use mainstay_io::ModelFile;

use crate::args::Predict;
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};
use crate::input;

pub(crate) fn run(args: &Predict, console: &Console) -> Outcome {
    let file = ModelFile::load(&args.model)?;
    let loaded = input::read_for(&file, Some(&args.data), &args.reading)?;
    let rows = file.encode(&loaded)?;
    for note in input::unseen(&rows.unseen) {
        console.note(&note);
    }
    let model = &file.fitted.model;
    let names: Vec<String> = file.classes.names().iter().map(ToString::to_string).collect();
    let predicted = model.predict(&rows.features)?;
    let mut columns = Vec::new();
    if let Some(kept) = &rows.kept {
        columns.push(Column::numbers("row", kept.iter().map(|&i| i as f64).collect()));
    }
    columns.push(Column::words("predicted", predicted.iter().map(|&k| Some(names[k].as_str()))));
    if args.scores {
        let scores = model.decision(&rows.features)?;
        for k in 0..scores.ncols() {
            let name =
                if scores.ncols() == 1 { "score".into() } else { format!("score_{}", names[k]) };
            columns.push(Column::numbers(name, scores.column(k)));
        }
    }
    if args.proba {
        let Some(probabilities) = model.probabilities(&rows.features)? else {
            return Err(Failure::say(
                "--proba: this model defines no probabilities; fit it with loss=logistic or loss=modified_huber",
            ));
        };
        for (k, name) in names.iter().enumerate() {
            columns.push(Column::numbers(format!("probability_{name}"), probabilities.column(k)));
        }
    }
    write(args, console, &Table::new(columns)?)?;
    Ok(Ending::Done)
}

fn write(args: &Predict, console: &Console, table: &Table) -> Outcome<()> {
    if let Some(path) = &args.output {
        return Ok(mainstay_io::write_file(path, |out| mainstay_io::write_csv(out, table))?);
    }
    if console.json() {
        let object: serde_json::Map<String, serde_json::Value> = table
            .columns()
            .iter()
            .map(|column| {
                let cells = match &column.cells {
                    Cells::Numbers(values) => serde_json::json!(values),
                    Cells::Words(words) => {
                        (0..words.len()).map(|i| words.get(i)).collect::<Vec<_>>().into()
                    }
                };
                (column.name.clone(), cells)
            })
            .collect();
        return console.print("", &object);
    }
    let mut out = std::io::stdout().lock();
    mainstay_io::write_csv(&mut out, table)?;
    Ok(out.flush()?)
}
