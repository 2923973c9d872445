//! Columns that tell too much (the class of every row by themselves) or nothing (one value in all rows).

use super::shell_word;
use super::{Cells, Column, Encoder, EncoderOptions, Encoding, Table};

/// With fewer rows a feature may separate the classes by chance.
const MIN_ROWS: usize = 20;
/// How many columns are listed.
const LISTED: usize = 3;

/// Notes about features that alone tell the class of every row.
pub(super) fn leak_notes(
    table: &Table,
    encoder: &Encoder,
    codes: &[usize],
    n_classes: usize,
) -> Vec<String> {
    let codes: Vec<Option<usize>> = codes.iter().copied().map(Some).collect();
    let index = table.index();
    let mut notes = Vec::new();
    for (name, encoding) in encoder.columns() {
        let Some(column) = index.get(name).map(|&j| &table.columns()[j]) else { continue };
        let categorical = match encoding {
            Encoding::Categorical { .. } => vec![name.to_owned()],
            _ => Vec::new(),
        };
        let options = EncoderOptions {
            gaps: encoder.gaps().clone(),
            categorical,
            ..EncoderOptions::default()
        };
        if tells_class(column, &codes, n_classes, &options) {
            notes.push(leak_note(name));
        }
    }
    notes
}

/// A sentence about columns with one value in all rows: they cannot tell classes apart.
pub(super) fn constant_note(table: &Table, encoder: &Encoder) -> Option<String> {
    let index = table.index();
    let constant = |name: &str| {
        let Some(column) = index.get(name).map(|&j| &table.columns()[j]) else { return false };
        let whole = column.first_missing().is_none() && column.len() > 1;
        whole
            && match &column.cells {
                Cells::Numbers(values) => values.iter().all(|v| *v == values[0]),
                Cells::Words(list) => list.used().count() == 1,
            }
    };
    let names: Vec<&str> = encoder.columns().map(|(n, _)| n).filter(|n| constant(n)).collect();
    constant_words(&names)
}

/// The same about columns that are known to have one value.
pub(super) fn constant_words(names: &[&str]) -> Option<String> {
    let listed: Vec<String> = names.iter().take(LISTED).map(|n| format!("`{n}`")).collect();
    match names {
        [] => None,
        [only] => Some(format!(
            "column `{only}` has one value in all rows and tells nothing; leave it out with --drop {typed}",
            typed = shell_word(only)
        )),
        many if many.len() <= LISTED => Some(format!(
            "columns {} have one value each in all rows and tell nothing",
            listed.join(", ")
        )),
        many => Some(format!(
            "columns {} and {} more have one value each in all rows and tell nothing",
            listed.join(", "),
            many.len() - LISTED
        )),
    }
}

pub(super) fn leak_note(name: &str) -> String {
    format!(
        "column `{name}` alone tells the class of every row: if it is known only after the outcome, leave it \
         out with --drop {typed}",
        typed = shell_word(name)
    )
}

/// Whether the values of the classes lie in separate intervals, or every category has one class.
pub(super) fn tells_class(
    column: &Column,
    codes: &[Option<usize>],
    n_classes: usize,
    options: &EncoderOptions,
) -> bool {
    if codes.iter().flatten().count() < MIN_ROWS || column.first_missing().is_some() {
        return false;
    }
    let rows = codes.iter().enumerate().filter_map(|(i, code)| Some((i, (*code)?)));
    match &column.cells {
        Cells::Numbers(values) if !options.categorical.contains(&column.name) => {
            let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY); n_classes];
            for (i, k) in rows {
                ends[k] = (ends[k].0.min(values[i]), ends[k].1.max(values[i]));
            }
            ends.sort_by(|a, b| a.0.total_cmp(&b.0));
            ends.windows(2).all(|pair| pair[0].1 < pair[1].0)
        }
        _ => {
            let words = column.clone().into_words();
            let Cells::Words(list) = &words.cells else { return false };
            let mut class: Vec<Option<usize>> = vec![None; list.words().len()];
            // A word for every other row tells nothing new.
            2 * class.len() <= column.len()
                && rows.into_iter().all(|(i, k)| {
                    let place = list.codes()[i] as usize;
                    *class[place].get_or_insert(k) == k
                })
        }
    }
}
