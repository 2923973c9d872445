//! From a file and flags to labelled rows.

use std::path::Path;

use mainstay::data::{
    Classes, Column, Dataset, Encoder, EncoderOptions, Gaps, Handled, Missing, NanRule,
    Preparation, Table, unlike_classes,
};
use mainstay::linalg::Matrix;
use mainstay_io::{ChunkSize, Input, ModelFile, ReadOptions, Source};

use crate::args::{Encoding, ImputeRule, Labels, Reading};
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
    /// Positions of the rows in the file, counted from 0; none for LIBSVM files, of which all are taken.
    pub(crate) kept: Option<Vec<usize>>,
    /// What identifies the rows.
    pub(crate) ids: Vec<Column>,
    /// What became of the rows and cells of the file.
    pub(crate) handled: Handled,
}

impl Labelled {
    /// The number of row `i` of the data in its file, counted from 1.
    pub(crate) fn row_number(&self, i: usize) -> usize {
        self.kept.as_ref().map_or(i, |kept| kept[i]) + 1
    }

    /// What to say where a constant answer has an accuracy that is hard to beat.
    pub(crate) fn constant_note(&self) -> Option<String> {
        let mut counts = vec![0_usize; self.data.n_classes()];
        self.data.labels().iter().for_each(|&k| counts[k] += 1);
        let (largest, rows) = counts.into_iter().enumerate().max_by_key(|(_, rows)| *rows)?;
        let share = rows as f64 / self.data.len().max(1) as f64;
        let name = self.classes.names().get(largest)?.to_string();
        (share >= mainstay::metrics::DOMINANT).then(|| {
            format!(
                "always answering `{name}` is right for {:.1} % of the rows: read every accuracy against that",
                100.0 * share
            )
        })
    }
}

/// What `fit` was told about the data.
pub(crate) struct Wanted<'a> {
    /// Column of classes.
    pub(crate) target: Option<&'a str>,
    /// Column of row weights.
    pub(crate) weights: Option<&'a str>,
    /// How columns become features.
    pub(crate) encoding: &'a Encoding,
    /// Rule for missing cells.
    pub(crate) impute: Option<ImputeRule>,
    /// What the method makes of a missing number.
    pub(crate) nan: NanRule,
    /// Whether features are standardised before fitting.
    pub(crate) standardise: bool,
    /// Known errors of the features.
    pub(crate) errors: measurement::Wanted<'a>,
    /// How files are read.
    pub(crate) reading: &'a Reading,
}

/// Words for "no value" as given.
fn gaps(reading: &Reading) -> Gaps {
    let words = reading.na.iter().flat_map(|words| words.split(',').map(str::to_owned));
    match (&reading.na, reading.no_default_na) {
        (None, false) => Gaps::default(),
        (Some(_), false) => Gaps::also(words),
        (_, true) => Gaps::new(words),
    }
}

pub(crate) fn options(reading: &Reading) -> Outcome<ReadOptions> {
    let delimiter = match reading.delimiter.as_deref() {
        None => None,
        Some("\\t" | "tab") => Some(b'\t'),
        Some(text) => match text.as_bytes() {
            [byte] => Some(*byte),
            _ => return Err(Failure::say(format!("--delimiter {text}: must be one character"))),
        },
    };
    let decimal_comma = match reading.decimal.as_deref() {
        None => None,
        Some(",") => Some(true),
        Some(".") => Some(false),
        Some(text) => return Err(Failure::say(format!("--decimal {text}: must be `.` or `,`"))),
    };
    Ok(ReadOptions {
        format: None,
        delimiter,
        header: !reading.no_header,
        categorical: reading.categorical.clone(),
        gaps: gaps(reading),
        decimal_comma,
        sheet: reading.sheet.clone(),
    })
}

/// A file, or the embedded data.
pub(crate) fn source(path: Option<&Path>) -> Source {
    match path {
        None => Source::Bytes("demo.csv".into(), mainstay::data::demo().as_bytes().into()),
        Some(path) => Source::new(path),
    }
}

/// How much of a file is in memory at a time; `MAINSTAY_CHUNK`, a number of bytes, serves tests.
pub(crate) fn chunk_size() -> ChunkSize {
    let wanted = std::env::var("MAINSTAY_CHUNK").ok().and_then(|text| text.parse().ok());
    wanted.map_or_else(ChunkSize::default, |bytes| ChunkSize { bytes, cells: bytes })
}

/// Reads `path`, or the embedded data if there is none. `text` names columns to keep as words.
pub(crate) fn read<'a>(
    path: Option<&Path>,
    reading: &Reading,
    text: impl Iterator<Item = &'a str>,
) -> Outcome<(Input, Vec<String>)> {
    let mut options = options(reading)?;
    options.categorical.extend(text.map(str::to_owned));
    let (input, notes) = mainstay_io::read_noted(&source(path), &options)?;
    if let Input::Table(table) = &input {
        for name in &reading.categorical {
            table.column(name)?;
        }
    }
    Ok((input, notes))
}

/// Reads all rows for a model that is there already.
pub(crate) fn read_for(
    file: &ModelFile,
    path: Option<&Path>,
    reading: &Reading,
) -> Outcome<(Input, Vec<String>)> {
    read(path, reading, file.encoder.iter().flat_map(Encoder::categorical))
}

/// Makes a data set to learn from.
pub(crate) fn learn(
    (input, notes): (Input, Vec<String>),
    wanted: &Wanted<'_>,
    embedded: bool,
) -> Outcome<Labelled> {
    match input {
        Input::Sparse(rows) => {
            if !names_nothing(wanted) {
                return Err(no_columns());
            }
            rows.check_compact()?;
            let mut classes = Classes::learn(&rows.labels)?;
            if let Some(positive) = &wanted.encoding.positive {
                classes = classes.with_positive(positive)?;
            }
            let codes = classes.codes(&rows.labels)?;
            let mut counts = vec![0; classes.names().len()];
            for &k in &codes {
                counts[k] += 1;
            }
            let doubt = unlike_classes(&rows.labels.name, &classes, &counts);
            let notes = notes.into_iter().chain(doubt).collect();
            let data = Dataset::new(Matrix::Sparse(rows.features), codes, classes.names().len())?;
            let (encoder, target, kept, ids) = (None, None, None, Vec::new());
            let handled = Handled { rows_read: Some(data.len()), ..Handled::default() };
            Ok(Labelled { data, classes, encoder, target, notes, kept, ids, handled })
        }
        Input::Table(table) => {
            let target = match wanted.target {
                Some(name) => name,
                None if embedded => DEMO_TARGET,
                None => return Err(no_target(&table)),
            };
            learn_table(table, target, wanted, notes)
        }
    }
}

fn names_columns(encoding: &Encoding) -> bool {
    let lists = [&encoding.drop, &encoding.id, &encoding.keep_feature, &encoding.reference];
    lists.iter().any(|list| !list.is_empty())
}

pub(crate) fn no_target(table: &Table) -> Failure {
    let names: Vec<&str> = table.names().take(20).collect();
    Failure::say(format!("--target COL is needed; the columns are {}", names.join(", ")))
}

/// The columns of `--drop`: each value is a column, or several apart by commas.
pub(crate) fn dropped(table: &Table, drop: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for value in drop {
        if table.names().any(|name| name == value) {
            names.push(value.clone());
        } else {
            names.extend(value.split(',').map(|part| part.trim().to_owned()));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
    names
}

/// How columns become features, as the flags say.
pub(crate) fn encoder_options(
    encoding: &Encoding,
    reading: &Reading,
    missing: Missing,
) -> Outcome<EncoderOptions> {
    let pair = |setting: &String| match setting.split_once('=') {
        Some((column, level)) => Ok((column.to_owned(), level.to_owned())),
        None => Err(Failure::say(format!("--reference {setting}: must be COL=LEVEL"))),
    };
    Ok(EncoderOptions {
        missing,
        gaps: gaps(reading),
        categorical: reading.categorical.clone(),
        keep: encoding.keep_feature.clone(),
        min_count: encoding.min_count,
        reference: encoding.reference.iter().map(pair).collect::<Outcome<_>>()?,
        drop_first: encoding.drop_first,
    })
}

/// What the columns of a table with these names are for, as the flags say; no names: LIBSVM rows.
pub(crate) fn wishes(names: &[String], wanted: &Wanted<'_>) -> Outcome<Preparation> {
    if names.is_empty() {
        if names_nothing(wanted) {
            let positive = wanted.encoding.positive.clone();
            return Ok(Preparation { positive, ..Preparation::default() });
        }
        return Err(no_columns());
    }
    let empty = names.iter().map(|name| Column::numbers(name.clone(), Vec::new()));
    let table = Table::new(empty.collect())?;
    let target = wanted.target.ok_or_else(|| no_target(&table))?;
    preparation(&table, target, wanted)
}

fn no_columns() -> Failure {
    Failure::say(
        "--target, --weights, --drop, --id and the like name columns; a LIBSVM file has none",
    )
}

fn names_nothing(wanted: &Wanted<'_>) -> bool {
    let named = wanted.target.is_some() || wanted.weights.is_some();
    !named && !names_columns(wanted.encoding) && wanted.errors.columns.is_empty()
}

fn preparation(table: &Table, target: &str, wanted: &Wanted<'_>) -> Outcome<Preparation> {
    let impute = wanted.impute.map(|rule| match rule {
        ImputeRule::Mean => Missing::Mean,
        ImputeRule::Median => Missing::Median,
        ImputeRule::MostFrequent => Missing::MostFrequent,
        ImputeRule::Drop => Missing::Drop,
        ImputeRule::Gaussian => Missing::Keep,
    });
    let missing = mainstay_io::missing_rule(impute, wanted.nan, wanted.standardise);
    let mut encoder = encoder_options(wanted.encoding, wanted.reading, missing)?;
    let drop = dropped(table, &wanted.encoding.drop);
    let mut aside = vec![target];
    aside.extend(wanted.weights);
    aside.extend(drop.iter().chain(&wanted.encoding.id).map(String::as_str));
    for name in &aside {
        table.column(name)?;
    }
    encoder.categorical.retain(|name| !aside.contains(&name.as_str()));
    Ok(Preparation {
        target: target.to_owned(),
        weights: wanted.weights.map(str::to_owned),
        ids: wanted.encoding.id.clone(),
        drop,
        drop_unlabelled: wanted.encoding.drop_unlabelled,
        positive: wanted.encoding.positive.clone(),
        nan: wanted.nan,
        encoder,
    })
}

fn learn_table(
    mut table: Table,
    target: &str,
    wanted: &Wanted<'_>,
    mut notes: Vec<String>,
) -> Outcome<Labelled> {
    let wishes = preparation(&table, target, wanted)?;
    let aside: Vec<&str> = std::iter::once(target)
        .chain(wanted.weights)
        .chain(wishes.drop.iter().chain(&wishes.ids).map(String::as_str))
        .collect();
    let errors = wanted.errors.take(&mut table, &aside, wanted.reading)?;
    let prepared = wishes.apply(table)?;
    notes.extend(prepared.notes);
    let mut data = prepared.data;
    if let Some(errors) = errors {
        let places = Some(prepared.places.as_slice());
        let axes = errors.axes(&prepared.encoder, places, data.len(), wanted.errors.scale)?;
        data = data.with_uncertainty(axes)?;
    }
    Ok(Labelled {
        data,
        classes: prepared.classes,
        encoder: Some(prepared.encoder),
        target: Some(target.to_owned()),
        notes,
        kept: Some(prepared.places),
        ids: prepared.ids,
        handled: prepared.handled,
    })
}

/// Sentences about categories that the model has never seen.
pub(crate) fn unseen(counts: &[(String, usize)]) -> Vec<String> {
    let found = counts.iter().filter(|(_, count)| *count > 0);
    found
        .map(|(column, count)| {
            format!("column `{column}`: {count} cells hold a category not seen when fitting; all its indicators are 0")
        })
        .collect()
}

/// A file that has a name: not standard output.
pub(crate) fn named(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| path.as_os_str() != "-")
}

/// The flags about data as they would be typed again, the target aside.
pub(crate) fn flags(labels: &Labels) -> Vec<String> {
    let mut words = encoding_flags(&labels.encoding);
    if let Some(rule) = labels.impute {
        use clap::ValueEnum;
        let name = rule.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
        words.extend(["--impute".into(), name]);
    }
    if let Some(groups) = &labels.groups {
        words.extend(["--groups".into(), groups.clone()]);
    }
    words.extend(reading_flags(&labels.reading));
    words
}

pub(crate) fn encoding_flags(encoding: &Encoding) -> Vec<String> {
    let mut words = Vec::new();
    let lists = [
        ("--drop", &encoding.drop),
        ("--id", &encoding.id),
        ("--keep-feature", &encoding.keep_feature),
        ("--reference", &encoding.reference),
    ];
    for (flag, values) in lists {
        words.extend(values.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
    }
    if encoding.min_count > 1 {
        words.extend(["--min-count".into(), encoding.min_count.to_string()]);
    }
    let switches =
        [("--drop-first", encoding.drop_first), ("--drop-unlabelled", encoding.drop_unlabelled)];
    words.extend(switches.into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag.to_owned()));
    if let Some(positive) = &encoding.positive {
        words.extend(["--positive".into(), positive.clone()]);
    }
    words
}

pub(crate) fn reading_flags(reading: &Reading) -> Vec<String> {
    let mut words = Vec::new();
    let single = [
        ("--delimiter", &reading.delimiter),
        ("--na", &reading.na),
        ("--decimal", &reading.decimal),
        ("--sheet", &reading.sheet),
    ];
    for (flag, value) in single {
        words.extend(value.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
    }
    let switches = [("--no-header", reading.no_header), ("--no-default-na", reading.no_default_na)];
    words.extend(switches.into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag.to_owned()));
    for column in &reading.categorical {
        words.extend(["--categorical".into(), column.clone()]);
    }
    words
}
