//! Cells without a value that nothing stands in for.

use super::Missing;
use crate::data::Column;
use crate::error::Error;

/// What becomes of a cell that nothing stands in for.
#[derive(Clone, Copy)]
pub(super) struct OpenCells {
    /// The rule for missing cells.
    pub(super) missing: Missing,
    /// What to do where they are refused.
    advice: &'static str,
}

impl OpenCells {
    /// Of rows to learn from.
    pub(super) fn to_learn(missing: Missing) -> Self {
        let advice = "fill it in, or say what to do with --impute (mean, median, most-frequent, gaussian, drop)";
        Self { missing, advice }
    }

    /// Of rows for a model that is there already: nothing was learned that could stand in.
    pub(super) fn to_predict(missing: Missing) -> Self {
        let advice = "the model was fitted without a missing cell in this column; fill it in, or fit again with --impute \
                      (mean, median, most-frequent, gaussian, drop)";
        Self { missing, advice }
    }

    /// The error about a cell without a value.
    pub(super) fn refuse(self, column: &Column, row: usize) -> Error {
        column.bad_cell(row, format!("no value; {}", self.advice))
    }
}
