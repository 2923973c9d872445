//! Numbers with a decimal comma.

use mainstay::data::{Cells, Column};

use crate::error::{Error, Result};
use crate::reading::ReadOptions;

/// A column with at least this share of numbers is taken for one of numbers.
const SHARE: f64 = 0.9;

/// Reads decimal commas where they are meant: as told, or in a file with `;` between cells whose numbers have them.
///
/// Columns may come in chunks. A file is one of decimal commas from the first chunk on that has them.
pub(super) struct Commas<'a> {
    options: &'a ReadOptions,
    name: &'a str,
    /// Columns that are not to be touched.
    plain: &'a [String],
    /// Whether numbers have them; `None` while that is open, which it stays where the delimiter makes it impossible.
    meant: Option<bool>,
    possible: bool,
    /// Rows in the chunks before.
    rows: usize,
    /// For every column that may be touched its name, the row of its first number with a point, and whether it holds
    /// words.
    points: Vec<(String, Option<usize>, bool)>,
}

impl<'a> Commas<'a> {
    pub(super) fn new(
        delimiter: u8,
        options: &'a ReadOptions,
        name: &'a str,
        plain: &'a [String],
    ) -> Self {
        let (meant, possible) = (options.decimal_comma, delimiter == b';');
        Self { options, name, plain, meant, possible, rows: 0, points: Vec::new() }
    }

    /// The columns of the next chunk with their numbers read.
    pub(super) fn settle(&mut self, columns: Vec<Column>) -> Vec<Column> {
        let (options, plain) = (self.options, self.plain);
        let touched = |column: &Column| {
            !options.categorical.contains(&column.name) && !plain.contains(&column.name)
        };
        if self.meant.is_none() && self.possible {
            let holds = |c: &Column| touched(c) && holds_commas(c, options);
            self.meant = columns.iter().any(holds).then_some(true);
        }
        if self.meant == Some(true) || (self.meant.is_none() && self.possible) {
            self.note_points(columns.iter().filter(|c| touched(c)));
        }
        self.rows += columns.first().map_or(0, Column::len);
        let meant = self.meant == Some(true);
        let settle = |column: Column| {
            if meant && touched(&column) && holds_commas(&column, options) {
                replaced(column, options)
            } else {
                column
            }
        };
        columns.into_iter().map(settle).collect()
    }

    /// Remembers numbers with a decimal point, or a point between thousands.
    fn note_points<'b>(&mut self, columns: impl Iterator<Item = &'b Column>) {
        for (j, column) in columns.enumerate() {
            if self.points.len() == j {
                self.points.push((column.name.clone(), None, false));
            }
            let (_, point, words) = &mut self.points[j];
            match &column.cells {
                Cells::Words(_) => *words = true,
                Cells::Numbers(values) if point.is_none() => {
                    let row = values.iter().position(|v| v.is_finite() && v.fract() != 0.0);
                    *point = row.map(|row| self.rows + row + 1);
                }
                Cells::Numbers(_) => {}
            }
        }
    }

    /// To be called at the end of the file: what was decided without being told. An error if a column of a file of
    /// decimal commas has points and none of them.
    pub(super) fn finish(&self) -> Result<Option<String>> {
        if self.meant != Some(true) {
            return Ok(None);
        }
        let odd = self
            .points
            .iter()
            .find_map(|(name, row, words)| row.filter(|_| !words).zip(Some(name)));
        if let Some((row, column)) = odd {
            let problem = format!(
                "row {row}, column `{column}`: a number with a point in a file of decimal commas; is it a decimal point \
                 or does it separate thousands? Write all numbers alike, or read the column as words with --categorical \
                 {column}"
            );
            return Err(Error::file(self.name, problem));
        }
        let told = self.options.decimal_comma.is_some();
        let note = "numbers are read with a decimal comma (--decimal . reads them otherwise)";
        Ok((!told).then(|| note.into()))
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
