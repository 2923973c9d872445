//! The training rows of a model that is there already, and fitting it again.

use std::path::Path;

use mainstay::data::{Cells, Dataset};
use mainstay::methods;
use mainstay::trust::Refit;
use mainstay_io::{Input, ModelFile};

use crate::args::Reading;
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::input;

/// Fewest refits whose percentiles mean something.
const FEWEST: usize = 20;

/// A number of refits that gives intervals.
pub(crate) fn check_count(flag: &str, count: usize) -> Outcome<usize> {
    if (FEWEST..=100_000).contains(&count) {
        return Ok(count);
    }
    Err(Failure::say(format!("{flag} {count}: must be between {FEWEST} and 100000")))
}

/// How the model of the file was fitted.
pub(crate) fn refit(file: &ModelFile) -> Outcome<Refit<'_>> {
    let training = file.fitted.training.as_ref();
    // Files from before the summary: the command line, which writes encoders, standardises by default.
    let standardized = training.map_or(file.encoder.is_some(), |t| t.standardized);
    let method = methods::find(&file.method)?;
    Ok(Refit::of(&file.fitted.model, method, &file.params, standardized))
}

/// Where the training rows of a model are.
pub(crate) struct Asked<'a> {
    pub(crate) path: &'a Path,
    /// Column of classes, if not the one the model knows.
    pub(crate) target: Option<&'a str>,
    /// Column of row weights.
    pub(crate) weights: Option<&'a str>,
    pub(crate) reading: &'a Reading,
}

/// Labelled rows as the model was fitted on; rows without a label are left out where the fit left out incomplete rows.
pub(crate) fn training_rows(
    file: &ModelFile,
    asked: &Asked<'_>,
    console: &Console,
) -> Outcome<Dataset> {
    let Asked { path, target, weights, reading } = *asked;
    let (mut loaded, notes) = input::read_for(file, Some(path), reading)?;
    for note in &notes {
        console.note(note);
    }
    let unlabelled = drop_unlabelled(file, &mut loaded, target)?;
    if unlabelled > 0 {
        let left_out =
            if unlabelled == 1 { "row has no label and is" } else { "rows have no label and are" };
        console.note(&format!("{}: {unlabelled} {left_out} left out", path.display()));
    }
    let mut labels = file.labels(&loaded, target)?;
    let mut weights = weights.map(|name| row_weights(&loaded, name)).transpose()?;
    let rows = file.encode(&loaded)?;
    if let Some(kept) = &rows.kept {
        labels = kept.iter().map(|&i| labels[i]).collect();
        weights = weights.map(|all| kept.iter().map(|&i| all[i]).collect());
    }
    let mut data =
        refit(file)?.nan_rule().dataset(rows.features, labels, file.classes.names().len())?;
    if let Some(weights) = weights {
        data = data.with_weights(weights)?;
    }
    if let Some(text) = file.fitted.training.as_ref().and_then(|t| t.differs_from(&data)) {
        console.note(&format!("{}: {text}", path.display()));
    }
    Ok(data)
}

/// Leaves out rows without a label, which no fit has learned from; how many there were.
fn drop_unlabelled(file: &ModelFile, loaded: &mut Input, target: Option<&str>) -> Outcome<usize> {
    let (Input::Table(table), Some(name)) = (loaded, target.or(file.target.as_deref())) else {
        return Ok(0);
    };
    let labels = table.column(name)?;
    let labelled: Vec<usize> = (0..table.nrows()).filter(|&i| !labels.is_missing(i)).collect();
    let left_out = table.nrows() - labelled.len();
    if left_out > 0 {
        *table = table.select_rows(&labelled);
    }
    Ok(left_out)
}

/// The numbers of a column.
fn row_weights(rows: &Input, name: &str) -> Outcome<Vec<f64>> {
    let Input::Table(table) = rows else {
        return Err(Failure::say("--weights names a column; a LIBSVM file has none"));
    };
    match &table.column(name)?.cells {
        Cells::Numbers(values) => Ok(values.clone()),
        Cells::Words(_) => {
            Err(Failure::say(format!("column `{name}` holds no numbers: it cannot be --weights")))
        }
    }
}
