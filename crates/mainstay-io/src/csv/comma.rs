//! Numbers with a decimal comma.

use mainstay::data::{Cells, Column};

use crate::error::{Error, Result};
use crate::reading::ReadOptions;

/// A column with at least this share of numbers is taken for one of numbers.
const SHARE: f64 = 0.9;

/// Reads decimal commas where they are meant: as told, or in a file with `;` between cells whose numbers have them.
///
/// Columns may come in chunks. A file is one of decimal commas from the first one on, and an error if there was a
/// decimal point before.
pub(super) struct Commas<'a> {
    options: &'a ReadOptions,
    name: &'a str,
    /// Columns that are not to be touched.
    plain: &'a [String],
    /// Whether numbers have them: `None` while that is open, which it stays where the delimiter makes it impossible.
    meant: Option<bool>,
    possible: bool,
    /// Rows in the chunks before.
    rows: usize,
    /// The first number with a point: its row and column.
    point: Option<(usize, String)>,
}

impl<'a> Commas<'a> {
    pub(super) fn new(
        delimiter: u8,
        options: &'a ReadOptions,
        name: &'a str,
        plain: &'a [String],
    ) -> Self {
        let (meant, possible) = (options.decimal_comma, delimiter == b';');
        Self { options, name, plain, meant, possible, rows: 0, point: None }
    }

    /// What was decided without being told.
    pub(super) fn note(&self) -> Option<String> {
        let decided = self.options.decimal_comma.is_none() && self.meant == Some(true);
        decided.then(|| {
            "numbers are read with a decimal comma (--decimal . reads them otherwise)".into()
        })
    }

    /// The columns of the next chunk with their numbers read.
    pub(super) fn settle(&mut self, columns: Vec<Column>) -> Result<Vec<Column>> {
        let rows = columns.first().map_or(0, Column::len);
        let touched = |column: &Column| {
            !self.options.categorical.contains(&column.name) && !self.plain.contains(&column.name)
        };
        if self.meant.is_none() && self.possible {
            let holds = |c: &Column| touched(c) && holds_commas(c, self.options);
            self.meant = columns.iter().any(holds).then_some(true);
        }
        let open = self.meant.is_none() && self.possible;
        if self.point.is_none() && (open || self.meant == Some(true)) {
            self.point = columns.iter().filter(|c| touched(c)).find_map(|c| self.first_point(c));
        }
        if self.meant == Some(true) {
            self.refuse_points()?;
        }
        let settle = |column: Column| {
            let commas = self.meant == Some(true) && touched(&column);
            if commas && holds_commas(&column, self.options) {
                replaced(column, self.options)
            } else {
                column
            }
        };
        let settled = columns.into_iter().map(settle).collect();
        self.rows += rows;
        Ok(settled)
    }

    /// A number with a decimal point, or a point between thousands.
    fn first_point(&self, column: &Column) -> Option<(usize, String)> {
        let Cells::Numbers(values) = &column.cells else { return None };
        let row = values.iter().position(|v| v.is_finite() && v.fract() != 0.0)?;
        Some((self.rows + row + 1, column.name.clone()))
    }

    fn refuse_points(&self) -> Result<()> {
        let Some((row, column)) = &self.point else { return Ok(()) };
        let problem = format!(
            "row {row}, column `{column}`: a number with a point in a file of decimal commas; is it a decimal point \
             or does it separate thousands? Write all numbers alike"
        );
        Err(Error::file(self.name, problem))
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
