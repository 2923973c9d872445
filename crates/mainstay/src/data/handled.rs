//! What became of the rows and cells of a table on the way to a data set, in numbers.

use serde::{Deserialize, Serialize};

use super::{Cells, Column, Encoder, Encoding, Gaps, Missing, Table};

/// Rows left out, cells filled, columns not used. All empty: every row and cell was taken as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Handled {
    /// Rows of the table as it was read; none if they were not counted.
    pub rows_read: Option<usize>,
    /// Rows left out, by reason.
    pub rows_left_out: Vec<(String, usize)>,
    /// Cells without a value that were filled, by column.
    pub cells_filled: Vec<(String, usize)>,
    /// What they were filled with.
    pub filled_with: Option<String>,
    /// Columns that are no features, with the reason.
    pub columns_left_out: Vec<(String, String)>,
}

impl Handled {
    /// Notes what `encoder` does to the cells of `table`, whose rows it keeps or leaves out.
    pub(super) fn encoding(&mut self, table: &Table, encoder: &Encoder, rows_left_out: usize) {
        if rows_left_out > 0 {
            self.rows_left_out.push(("a cell is missing".into(), rows_left_out));
        }
        self.columns_left_out =
            encoder.left_out().iter().map(|l| (l.column.clone(), l.why.clone())).collect();
        let Some(rule) = rule(encoder.missing()) else { return };
        let counted = encoder.columns().filter_map(|(name, encoding)| {
            let words = matches!(encoding, Encoding::Categorical { .. });
            Some((name.to_owned(), gaps(table.column(name).ok()?, encoder.gaps(), words)))
        });
        self.cells_filled = counted.filter(|(_, count)| *count > 0).collect();
        self.filled_with = (!self.cells_filled.is_empty()).then(|| rule.into());
    }

    /// All rows that were left out.
    pub fn all_rows_left_out(&self) -> usize {
        self.rows_left_out.iter().map(|(_, count)| count).sum()
    }

    /// All cells that were filled.
    pub fn all_cells_filled(&self) -> usize {
        self.cells_filled.iter().map(|(_, count)| count).sum()
    }
}

/// What stands in for a missing cell; none if nothing does.
fn rule(missing: Missing) -> Option<&'static str> {
    match missing {
        Missing::Mean => Some("the mean of the column (its most frequent category)"),
        Missing::Median => Some("the median of the column (its most frequent category)"),
        Missing::MostFrequent => Some("the most frequent value of the column"),
        Missing::Keep => Some("what the other features say about them"),
        Missing::Refuse | Missing::Drop => None,
    }
}

/// Cells without a value, in a column of categories (`words`) or of numbers and dates.
fn gaps(column: &Column, known: &Gaps, words: bool) -> usize {
    let stands_for_none =
        |cell: &str| if words { known.in_words(cell) } else { known.in_numbers(cell) };
    let gap = |i: usize| match &column.cells {
        Cells::Words(list) => list.get(i).is_none_or(stands_for_none),
        Cells::Numbers(_) => column.is_missing(i),
    };
    (0..column.len()).filter(|&i| gap(i)).count()
}
