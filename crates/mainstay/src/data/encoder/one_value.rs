//! Columns with one value in all rows, found while the rows go by.

use crate::data::{Cells, Column, MISSING};

/// What a column has held so far.
#[derive(Default)]
pub(super) enum OneValue {
    /// No row was seen.
    #[default]
    Nothing,
    /// This number in every row.
    Number(f64),
    /// This word in every row.
    Word(String),
    /// More than one value, or a gap.
    Several,
}

impl OneValue {
    /// Looks at the next rows, up to the first that differs.
    pub(super) fn add(&mut self, column: &Column) {
        if column.is_empty() || matches!(self, Self::Several) {
            return;
        }
        let found = match &column.cells {
            Cells::Numbers(values) if values.iter().all(|v| *v == values[0]) => {
                Self::Number(values[0])
            }
            Cells::Words(list) if list.codes().iter().all(|k| *k == list.codes()[0]) => {
                match list.get(0) {
                    Some(word) if list.codes()[0] != MISSING => Self::Word(word.to_owned()),
                    _ => Self::Several,
                }
            }
            _ => Self::Several,
        };
        let same = match (&*self, &found) {
            (Self::Nothing, _) => true,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Word(a), Self::Word(b)) => a == b,
            _ => false,
        };
        *self = if same { found } else { Self::Several };
    }

    /// Whether it was one value throughout.
    pub(super) fn is_constant(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Word(_))
    }
}
