//! Columns that name rows instead of describing them: a model that learns them learns nothing.

use super::distinct::Distinct;
use super::{EncoderOptions, LeftOut};
use crate::data::{Cells, Column, Table, typing};

/// With fewer rows all values of a measurement may well differ.
const MIN_ROWS: usize = 20;
/// Up to so many columns of whole numbers that all differ are identifiers whatever the width of the table.
const FEW: usize = 2;
/// Names that a saved data-frame index gets.
const NAMELESS: [&str; 3] = ["column1", "Unnamed: 0", "index"];

/// Why a saved index is left out.
pub(in crate::data) const COUNTS: &str = "it counts the rows, as a saved index does";
/// Why a column of distinct values is left out.
const DIFFER: &str = "its values differ from row to row, as those of an identifier do";

/// What is known of a column that may name rows.
pub(super) struct Facts<'a> {
    /// The column.
    pub(super) name: &'a str,
    /// Whether it holds words.
    pub(super) words: bool,
    /// Whether it counts the rows; asked of the first column only.
    pub(super) counts_up: &'a dyn Fn() -> bool,
    /// Whether its values differ, see [`all_differ`].
    pub(super) all_differ: &'a dyn Fn() -> bool,
}

/// Columns of `table` that are left out, with the reason.
pub(in crate::data) fn left_out(table: &Table, options: &EncoderOptions) -> Vec<LeftOut> {
    let mut list = Listing::new(options, table.nrows());
    for column in table.columns() {
        list.add(&Facts {
            name: &column.name,
            words: matches!(column.cells, Cells::Words(_)),
            counts_up: &|| counts_up(column),
            all_differ: &|| all_differ(column),
        });
    }
    list.finish()
}

/// Columns looked at so far, and which of them are left out.
pub(super) struct Listing<'a> {
    options: &'a EncoderOptions,
    nrows: usize,
    columns: usize,
    /// Columns of numbers that all differ.
    numbers: usize,
    /// What is left out, and whether it holds words.
    found: Vec<(LeftOut, bool)>,
}

impl<'a> Listing<'a> {
    pub(super) fn new(options: &'a EncoderOptions, nrows: usize) -> Self {
        Self { options, nrows, columns: 0, numbers: 0, found: Vec::new() }
    }

    /// Looks at the next column.
    pub(super) fn add(&mut self, column: &Facts<'_>) {
        let first = self.columns == 0;
        self.columns += 1;
        let is = |list: &[String]| list.iter().any(|name| name == column.name);
        if is(&self.options.keep) || is(&self.options.categorical) {
            return;
        }
        let why = if first && NAMELESS.contains(&column.name) && (column.counts_up)() {
            COUNTS
        } else if self.nrows >= MIN_ROWS && (column.all_differ)() {
            self.numbers += usize::from(!column.words);
            DIFFER
        } else {
            return;
        };
        let out = LeftOut { column: column.name.to_owned(), why: why.into() };
        self.found.push((out, column.words));
    }

    pub(super) fn finish(mut self) -> Vec<LeftOut> {
        // A table full of such columns holds counts of something, not names of rows.
        if self.numbers > FEW && 10 * self.numbers > self.columns {
            self.found.retain(|(out, words)| out.why != DIFFER || *words);
        }
        // A table must have a feature: whoever gives one column only means it.
        if self.found.len() == self.columns {
            self.found.clear();
        }
        self.found.into_iter().map(|(out, _)| out).collect()
    }
}

/// Numbers, each one more than the last; not everywhere, since tables are put together from several.
fn counts_up(column: &Column) -> bool {
    let Cells::Numbers(values) = &column.cells else { return false };
    let steps = values.windows(2).filter(|pair| pair[1] - pair[0] == 1.0).count();
    values.len() > 2 && mostly(steps, values.len() - 1)
}

/// Whether nine tenths of something are so: a few rows may come twice, or have no value.
pub(super) fn mostly(part: usize, all: usize) -> bool {
    10 * part >= 9 * all
}

/// Words that are nearly all different, or whole numbers of which no two are equal, in all rows but perhaps a tenth.
/// Among many whole numbers a few are equal by chance, so that these say nothing.
fn all_differ(column: &Column) -> bool {
    let enough = |present: usize| mostly(present, column.len());
    match &column.cells {
        Cells::Words(list) => {
            let present = list.used().map(|(_, n)| n).sum();
            enough(present)
                && mostly(list.used().count(), present)
                && !list.used().any(|(word, _)| looks_like_value(word))
                && !typing::is_decorated(&list.used().collect::<Vec<_>>())
        }
        Cells::Numbers(values) => {
            // Measurements have fractions or repeat early, so that this ends soon for them.
            let mut found = Distinct::new();
            found.add_all(values);
            found.is_possible() && enough(values.iter().filter(|v| !v.is_nan()).count())
        }
    }
}

/// Numbers and dates in words are measurements that differ by nature.
pub(super) fn looks_like_value(word: &str) -> bool {
    use crate::data::dates::{DateOrder, parse};
    let orders = [DateOrder::Iso, DateOrder::DayFirst, DateOrder::MonthFirst];
    let number = word.parse::<f64>();
    number.is_ok_and(|v| v.fract() != 0.0) || orders.iter().any(|o| parse(word, *o).is_some())
}
