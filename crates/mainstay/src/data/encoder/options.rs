//! What a user may decide about the encoding of a table.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::data::{Gaps, Table, shell_word};
use crate::error::{Error, Result};

/// What to do about a cell without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// An error that names the first such cell.
    #[default]
    Refuse,
    /// Numbers stay NaN, for methods to which that means something; a missing category leaves all
    /// its indicators 0.
    Keep,
    /// The column's mean over the rows learned from; its most frequent category.
    Mean,
    /// The column's median over the rows learned from; its most frequent category.
    Median,
    /// The column's most frequent value over the rows learned from; the smallest if several are.
    MostFrequent,
    /// Rows with a missing cell are left out.
    Drop,
}

impl Missing {
    /// Whether something stands in for a missing cell.
    pub(super) fn fills(self) -> bool {
        matches!(self, Self::Mean | Self::Median | Self::MostFrequent)
    }
}

impl FromStr for Missing {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        match word {
            "mean" => Ok(Self::Mean),
            "median" => Ok(Self::Median),
            "most-frequent" => Ok(Self::MostFrequent),
            "drop" => Ok(Self::Drop),
            _ => Err(Error::param("impute", word, "mean, median, most-frequent or drop")),
        }
    }
}

/// How a table is to be encoded; the default takes every column as its cells suggest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EncoderOptions {
    /// What to do about missing cells.
    pub missing: Missing,
    /// Words for "no value".
    pub gaps: Gaps,
    /// Columns that are categories even if they hold numbers or dates.
    pub categorical: Vec<String>,
    /// Columns that stay features although they look like identifiers.
    pub keep: Vec<String>,
    /// Categories of fewer rows share one indicator.
    pub min_count: usize,
    /// For a column the category without an indicator.
    pub reference: Vec<(String, String)>,
    /// The first category of every other column has no indicator.
    pub drop_first: bool,
}

impl EncoderOptions {
    /// Every column that is named must be there.
    pub(super) fn check(&self, table: &Table) -> Result<()> {
        let references = self.reference.iter().map(|(name, _)| name);
        for name in self.categorical.iter().chain(&self.keep).chain(references) {
            table.column(name)?;
        }
        Ok(())
    }

    /// A column of numbers or dates has no category to refer to.
    pub(super) fn refers_to_no(&self, column: &str) -> Result<()> {
        if self.reference.iter().any(|(name, _)| name == column) {
            return Err(Error::BadData(format!(
                "column `{column}` holds no categories to refer to; --categorical {typed} makes them of its values",
                typed = shell_word(column)
            )));
        }
        Ok(())
    }
}
