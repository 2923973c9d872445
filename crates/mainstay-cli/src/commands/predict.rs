//! `mainstay predict`: the class of every row.

use mainstay::data::{Column, Encoded, Table};
use mainstay_io::ModelFile;

use crate::args::Predict;
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};
use crate::rows::{self, Chosen, SelectedRows};
use crate::stream::{Ask, Stream};
use crate::table::Sink;

pub(crate) fn run(args: &Predict, console: &Console) -> Outcome {
    let file = ModelFile::load(&args.model)?;
    let mut chosen = Chosen::new(&args.rows)?;
    let copied: Vec<String> =
        chosen.columns().map(str::to_owned).chain(args.keep.iter().cloned()).collect();
    let ask = Ask {
        file: &file,
        data: Some(&args.data),
        reading: &args.reading,
        copied: copied.iter().map(String::as_str).collect(),
        target: None,
    };
    let mut stream = Stream::open(&ask, console, "predicting")?;
    let mut sink = None;
    while let Some(chunk) = stream.next()? {
        for (list, part) in chosen.of(chunk)? {
            let encoded = stream.encode(&file, &part.rows)?;
            let table = predicted(&file, args, &part, &encoded)?;
            // Made late: what cannot be read leaves no output.
            let sink = match &mut sink {
                Some(sink) => sink,
                None => {
                    sink.insert(Sink::new(args.output.as_deref(), args.rows.row.len(), console)?)
                }
            };
            sink.take(list, &table)?;
        }
        if chosen.complete() {
            break;
        }
    }
    chosen.check_found(stream.rows())?;
    stream.notes().iter().for_each(|note| console.note(note));
    sink.map_or(Ok(()), |sink| sink.finish(console))?;
    Ok(Ending::Done)
}

/// What is written about some rows.
fn predicted(
    file: &ModelFile,
    args: &Predict,
    part: &SelectedRows,
    rows: &Encoded,
) -> Outcome<Table> {
    let model = &file.fitted.model;
    let names: Vec<String> = file.classes.names().iter().map(ToString::to_string).collect();
    let predicted = model.predict(&rows.features)?;
    let numbered = rows::drops(file) || !args.rows.row.is_empty();
    let mut columns = rows::names(part, rows, numbered, &args.keep)?;
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
    Ok(Table::new(columns)?)
}
