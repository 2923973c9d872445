//! Columns that name rows instead of describing them: a model that learns them learns nothing.

use std::collections::HashSet;

use super::{EncoderOptions, LeftOut};
use crate::data::{Cells, Column, Table, typing};

/// With fewer rows all values of a measurement may well differ.
const MIN_ROWS: usize = 20;
/// Up to so many columns of whole numbers that all differ are identifiers whatever the width of the table.
const FEW: usize = 2;
/// Names that a saved data-frame index gets.
const NAMELESS: [&str; 3] = ["column1", "Unnamed: 0", "index"];

/// Why a column of distinct values is left out.
const DIFFER: &str = "all its values differ, as those of an identifier do";

/// Columns of `table` that are left out, with the reason.
pub(in crate::data) fn left_out(table: &Table, options: &EncoderOptions) -> Vec<LeftOut> {
    let mut found = Vec::new();
    let mut numbers = 0;
    for (j, column) in table.columns().iter().enumerate() {
        if options.keep.contains(&column.name) || options.categorical.contains(&column.name) {
            continue;
        }
        let why = if j == 0 && NAMELESS.contains(&column.name.as_str()) && counts_up(column) {
            Some("it counts the rows, as a saved index does")
        } else if table.nrows() >= MIN_ROWS && all_differ(column) {
            Some(DIFFER)
        } else {
            None
        };
        let counts = why == Some(DIFFER) && matches!(column.cells, Cells::Numbers(_));
        numbers += usize::from(counts);
        found.extend(why.map(|why| LeftOut { column: column.name.clone(), why: why.into() }));
    }
    // A table full of such columns holds counts of something, not names of rows.
    if numbers > FEW && 10 * numbers > table.columns().len() {
        let index = table.index();
        let is_word = |l: &LeftOut| {
            let column = index.get(l.column.as_str()).map(|&j| &table.columns()[j]);
            column.is_some_and(|c| matches!(c.cells, Cells::Words(_)))
        };
        found.retain(|l| l.why != DIFFER || is_word(l));
    }
    // A table must have a feature: whoever gives one column only means it.
    if found.len() == table.columns().len() {
        found.clear();
    }
    found
}

/// Whole numbers, each one more than the last.
fn counts_up(column: &Column) -> bool {
    match &column.cells {
        Cells::Numbers(values) => {
            values.len() > 2 && values.windows(2).all(|pair| pair[1] - pair[0] == 1.0)
        }
        Cells::Words(_) => false,
    }
}

/// Words or whole numbers of which no two are equal, in all rows but perhaps a tenth.
fn all_differ(column: &Column) -> bool {
    let enough = |present: usize| 10 * present >= 9 * column.len();
    match &column.cells {
        Cells::Words(list) => {
            let present = list.used().map(|(_, n)| n).sum();
            let names = |word: &str| !looks_like_value(word);
            enough(present)
                && list.used().all(|(word, n)| n == 1 && names(word))
                && !typing::is_decorated(list)
        }
        Cells::Numbers(values) => {
            let present = values.iter().filter(|v| !v.is_nan());
            if !enough(present.clone().count()) || present.clone().any(|v| v.fract() != 0.0) {
                return false;
            }
            // Measurements repeat early, so that this ends soon for them.
            let mut seen = HashSet::new();
            present.map(|v| (v + 0.0).to_bits()).all(|bits| seen.insert(bits))
        }
    }
}

/// Numbers and dates in words are measurements that differ by nature.
fn looks_like_value(word: &str) -> bool {
    use crate::data::dates::{DateOrder, parse};
    let orders = [DateOrder::Iso, DateOrder::DayFirst, DateOrder::MonthFirst];
    let number = word.parse::<f64>();
    number.is_ok_and(|v| v.fract() != 0.0) || orders.iter().any(|o| parse(word, *o).is_some())
}
