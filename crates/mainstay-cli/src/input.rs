//! From a file and flags to labelled rows.

use std::path::Path;

use mainstay::data::{Cells, Classes, Column, Dataset, Encoded, Encoder, Missing, Table};
use mainstay::linalg::Matrix;
use mainstay_io::{Input, ModelFile, ReadOptions, Source};

use crate::args::{ImputeRule, Reading};
use crate::failure::{Failure, Outcome};
use crate::measurement;

/// Column of the embedded data that holds the classes.
pub(crate) const DEMO_TARGET: &str = "diagnosis";

/// Rows ready to be fitted, and how they were made.
pub(crate) struct Labelled {
    /// Features, classes and weights.
    pub(crate) data: Dataset,
    /// What the classes are called.
    pub(crate) classes: Classes,
    /// How raw columns became features; none for LIBSVM files, which hold features already.
    pub(crate) encoder: Option<Encoder>,
    /// Column the classes came from.
    pub(crate) target: Option<String>,
    /// What the user should know about the data.
    pub(crate) notes: Vec<String>,
    /// Positions of the rows in the file, where some were left out.
    pub(crate) kept: Option<Vec<usize>>,
}

/// What `fit` was told about the data.
pub(crate) struct Wanted<'a> {
    /// Column of classes.
    pub(crate) target: Option<&'a str>,
    /// Column of row weights.
    pub(crate) weights: Option<&'a str>,
    /// Columns to leave out.
    pub(crate) drop: &'a [String],
    /// Rule for missing cells.
    pub(crate) impute: Option<ImputeRule>,
    /// Whether the method takes a missing number as it is.
    pub(crate) allows_nan: bool,
    /// Whether missing cells stay missing.
    pub(crate) keeps_nan: bool,
    /// Whether features are standardised before fitting.
    pub(crate) standardise: bool,
    /// Known errors of the features.
    pub(crate) errors: measurement::Wanted<'a>,
    /// How files are read.
    pub(crate) reading: &'a Reading,
}

/// Reads `path`, or the embedded data if there is none. `text` names columns to keep as words.
pub(crate) fn read<'a>(
    path: Option<&Path>,
    reading: &Reading,
    text: impl Iterator<Item = &'a str>,
) -> Outcome<Input> {
    let delimiter = match reading.delimiter.as_deref() {
        None => None,
        Some("\\t" | "tab") => Some(b'\t'),
        Some(text) => match text.as_bytes() {
            [byte] => Some(*byte),
            _ => return Err(Failure::say(format!("--delimiter {text}: must be one character"))),
        },
    };
    let mut categorical = reading.categorical.clone();
    categorical.extend(text.map(str::to_owned));
    let options = ReadOptions {
        delimiter,
        header: !reading.no_header,
        categorical,
        ..ReadOptions::default()
    };
    let source = match path {
        None => Source::Bytes("demo.csv".into(), mainstay::data::demo().as_bytes().into()),
        Some(path) => Source::new(path),
    };
    let input = mainstay_io::read(&source, &options)?;
    if let Input::Table(table) = &input {
        for name in &reading.categorical {
            table.column(name)?;
        }
    }
    Ok(input)
}

/// Reads rows for a model that is there already.
pub(crate) fn read_for(file: &ModelFile, path: Option<&Path>, reading: &Reading) -> Outcome<Input> {
    read(path, reading, file.encoder.iter().flat_map(Encoder::categorical))
}

/// Makes a data set to learn from.
pub(crate) fn learn(input: Input, wanted: &Wanted<'_>, embedded: bool) -> Outcome<Labelled> {
    match input {
        Input::Sparse(rows) => {
            let columns = !wanted.drop.is_empty() || !wanted.errors.columns.is_empty();
            if columns || wanted.target.is_some() || wanted.weights.is_some() {
                return Err(Failure::say(
                    "--target, --weights, --drop and --error-columns name columns; a LIBSVM file has none",
                ));
            }
            let classes = Classes::learn(&rows.labels)?;
            let codes = classes.codes(&rows.labels)?;
            let data = Dataset::new(Matrix::Sparse(rows.features), codes, classes.names().len())?;
            Ok(Labelled {
                data,
                classes,
                encoder: None,
                target: None,
                notes: Vec::new(),
                kept: None,
            })
        }
        Input::Table(table) => {
            let target = match wanted.target {
                Some(name) => name,
                None if embedded => DEMO_TARGET,
                None => return Err(no_target(&table)),
            };
            learn_table(table, target, wanted)
        }
    }
}

fn no_target(table: &Table) -> Failure {
    let names: Vec<&str> = table.names().take(20).collect();
    Failure::say(format!("--target COL is needed; the columns are {}", names.join(", ")))
}

fn learn_table(mut table: Table, target: &str, wanted: &Wanted<'_>) -> Outcome<Labelled> {
    let mut labels = table.take(target)?;
    let mut weights = wanted.weights.map(|name| table.take(name)).transpose()?;
    let mut aside = vec![target];
    aside.extend(wanted.weights);
    aside.extend(wanted.drop.iter().map(String::as_str));
    for name in wanted.drop {
        table.take(name)?;
    }
    let errors = wanted.errors.take(&mut table, &aside, wanted.reading)?;
    let missing = match wanted.impute {
        None if wanted.keeps_nan => Missing::Keep,
        // Standardised, the mean is 0: a missing feature contributes nothing.
        None if wanted.allows_nan && wanted.standardise => Missing::Mean,
        None if wanted.allows_nan => Missing::Keep,
        None => Missing::Refuse,
        Some(ImputeRule::Mean) => Missing::Mean,
        Some(ImputeRule::Median) => Missing::Median,
        Some(ImputeRule::MostFrequent) => Missing::MostFrequent,
        Some(ImputeRule::Drop) => Missing::Drop,
    };
    let encoder = Encoder::learn(&table, missing)?;
    let mut encoded = encoder.encode(&table)?;
    let mut notes = encoder.advice(table.nrows());
    if let Some(rows) = &encoded.kept {
        notes.push(format!("{} rows with a missing cell were left out", encoded.dropped(&table)));
        labels = labels.select_rows(rows);
        weights = weights.map(|w| w.select_rows(rows));
    }
    let kept = encoded.kept.take();
    let classes = Classes::learn(&labels)?;
    let codes = classes.codes(&labels)?;
    let count = classes.names().len();
    let mut data = if wanted.keeps_nan {
        Dataset::with_gaps(encoded.features, codes, count)?
    } else if wanted.allows_nan {
        Dataset::with_missing(encoded.features, codes, count)?
    } else {
        Dataset::new(encoded.features, codes, count)?
    };
    if let Some(column) = weights {
        data = data.with_weights(numbers(&column)?)?;
    }
    if let Some(errors) = errors {
        let (kept, rows) = (encoded.kept.as_deref(), data.len());
        data = data.with_uncertainty(errors.axes(&encoder, kept, rows, wanted.errors.scale)?)?;
    }
    let target = Some(target.to_owned());
    Ok(Labelled { data, classes, encoder: Some(encoder), target, notes, kept })
}

fn numbers(column: &Column) -> Outcome<Vec<f64>> {
    match &column.cells {
        Cells::Numbers(values) => Ok(values.clone()),
        Cells::Words(_) => {
            Err(Failure::say(format!("--weights {}: the column must hold numbers", column.name)))
        }
    }
}

/// The features of rows for a model that is there already.
pub(crate) fn encode(file: &ModelFile, input: &Input) -> Outcome<Encoded> {
    let mut encoded = file.encode(input)?;
    if mainstay::methods::find(&file.method)?.zeroes_nan() {
        encoded.features = encoded.features.nan_to_zero();
    }
    Ok(encoded)
}

/// Sentences about categories that the model has never seen.
pub(crate) fn unseen(counts: &[(String, usize)]) -> Vec<String> {
    counts
        .iter()
        .map(|(column, count)| {
            format!("column `{column}`: {count} cells hold a category not seen when fitting; all its indicators are 0")
        })
        .collect()
}
