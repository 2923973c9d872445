//! `mainstay predict`: the class of every row.

use mainstay::data::{Column, Table};
use mainstay_io::ModelFile;

use crate::args::Predict;
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};
use crate::{input, rows, table};

pub(crate) fn run(args: &Predict, console: &Console) -> Outcome {
    let file = ModelFile::load(&args.model)?;
    let (loaded, notes) = input::read_for(&file, Some(&args.data), &args.reading)?;
    let loaded = rows::choose(loaded, &args.rows)?;
    let rows = input::encode(&file, &loaded)?;
    for note in notes.iter().chain(&input::unseen(&rows.unseen)) {
        console.note(note);
    }
    let model = &file.fitted.model;
    let names: Vec<String> = file.classes.names().iter().map(ToString::to_string).collect();
    let predicted = model.predict(&rows.features)?;
    let mut columns = rows::names(&loaded, &rows, !args.rows.row.is_empty(), &args.keep)?;
    columns.push(Column::words("predicted", predicted.iter().map(|&k| Some(names[k].as_str()))));
    if args.scores {
        let scores = model.decision(&rows.features)?;
        for (k, class) in names.iter().enumerate().take(scores.ncols()) {
            let name = if scores.ncols() == 1 { "score".into() } else { format!("score_{class}") };
            columns.push(Column::numbers(name, scores.column(k)));
        }
    }
    if args.proba {
        let Some(probabilities) = model.probabilities(&rows.features)? else {
            return Err(Failure::say(
                "--proba: this model defines no probabilities; fit it with --calibrate, or with --set loss=logistic",
            ));
        };
        for (k, name) in names.iter().enumerate() {
            columns.push(Column::numbers(format!("probability_{name}"), probabilities.column(k)));
        }
    }
    table::write(&Table::new(columns)?, args.output.as_deref(), console)?;
    Ok(Ending::Done)
}
