//! Numbers with a decimal comma.

use mainstay::data::{Cells, Column};

use crate::error::{Error, Result};
use crate::reading::ReadOptions;

/// A column with at least this share of numbers is taken for one of numbers.
const SHARE: f64 = 0.9;

/// Reads decimal commas where they are meant: as told, or in a file with `;` between cells whose numbers have them.
pub(super) fn settle(
    columns: Vec<Column>,
    delimiter: u8,
    options: &ReadOptions,
    name: &str,
) -> Result<(Vec<Column>, Vec<String>)> {
    let plain = |column: &Column| options.categorical.contains(&column.name);
    let wanted = match options.decimal_comma {
        Some(wanted) => wanted,
        None => delimiter == b';' && columns.iter().any(|c| !plain(c) && holds_commas(c, options)),
    };
    if !wanted {
        return Ok((columns, Vec::new()));
    }
    let mut notes = Vec::new();
    if options.decimal_comma.is_none() {
        notes.push(
            "numbers are read with a decimal comma (--decimal . reads them otherwise)".into(),
        );
    }
    let mut settled = Vec::with_capacity(columns.len());
    for column in columns {
        if plain(&column) {
            settled.push(column);
            continue;
        }
        refuse_points(&column, name)?;
        settled.push(if holds_commas(&column, options) {
            replaced(column, options)
        } else {
            column
        });
    }
    Ok((settled, notes))
}

/// A number with a decimal point, or a point between thousands, in a file of decimal commas.
fn refuse_points(column: &Column, name: &str) -> Result<()> {
    let Cells::Numbers(values) = &column.cells else { return Ok(()) };
    match values.iter().position(|v| v.is_finite() && v.fract() != 0.0) {
        None => Ok(()),
        Some(row) => {
            let problem = format!(
                "row {}, column `{}`: a number with a point in a file of decimal commas; is it a decimal point \
                 or does it separate thousands? Write all numbers alike",
                row + 1,
                column.name
            );
            Err(Error::file(name, problem))
        }
    }
}

/// `1,5` as `1.5`; none if the word is not a number with a decimal comma.
fn number(word: &str) -> Option<String> {
    let (whole, part) = word.split_once(',')?;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let (fraction, exponent) = part.split_once(['e', 'E']).unwrap_or((part, "0"));
    let holds =
        digits(unsigned) && digits(fraction) && !(unsigned.is_empty() && fraction.is_empty());
    (holds && exponent.parse::<i32>().is_ok()).then(|| word.replacen(',', ".", 1))
}

/// Whether nearly all cells are numbers, at least one of them with a comma.
fn holds_commas(column: &Column, options: &ReadOptions) -> bool {
    let Cells::Words(list) = &column.cells else { return false };
    let (mut all, mut commas, mut others) = (0, 0, 0);
    for (word, count) in list.used().filter(|(w, _)| !options.gaps.in_numbers(w)) {
        all += count;
        if number(word).is_some() {
            commas += count;
        } else if word.parse::<f64>().is_ok() {
            others += count;
        }
    }
    commas > 0
        && f64::from(u32::try_from(commas + others).unwrap_or(u32::MAX)) >= SHARE * all as f64
}

/// The same column with points instead of commas: numbers if all cells are.
fn replaced(column: Column, options: &ReadOptions) -> Column {
    let Cells::Words(list) = &column.cells else { return column };
    let words = list.map(|word| Some(number(word).unwrap_or_else(|| word.to_owned())));
    let value = |i: usize| match words.get(i) {
        None => Some(f64::NAN),
        Some(word) if options.gaps.in_numbers(word) => Some(f64::NAN),
        Some(word) => fast_float2::parse(word).ok(),
    };
    match (0..words.len()).map(value).collect::<Option<Vec<f64>>>() {
        Some(values) => Column::numbers(column.name, values),
        None => Column { name: column.name, cells: Cells::Words(words) },
    }
}
