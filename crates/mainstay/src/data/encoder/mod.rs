//! From raw columns to features, learned once and applied to rows that come later.

mod assemble;
mod rule;

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use rule::Encoding;
use rule::Rule;

use super::{Cells, Column, Table};
use crate::error::{Error, Result};
use crate::linalg::Matrix;

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

/// Turns tables into features the same way every time.
///
/// Columns are found by name, in any order; further columns are ignored. A categorical column
/// becomes one 0/1 feature for each category seen when learning, called `column=category`. A
/// category not seen then has all indicators 0; [`Encoded::unseen`] counts such cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoder {
    columns: Vec<Rule>,
    missing: Missing,
    sparse: bool,
}

/// Encoded rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// One row a kept row of the table.
    pub features: Matrix,
    /// The rows of the table that were kept; `None` if all were.
    pub kept: Option<Vec<usize>>,
    /// For each column with categories not seen when learning, its name and how many such cells.
    pub unseen: Vec<(String, usize)>,
}

impl Encoded {
    /// Rows of the table that were left out for a missing cell.
    pub fn dropped(&self, table: &Table) -> usize {
        table.nrows() - self.features.nrows()
    }
}

/// Sparse storage pays below this share of nonzeros, from [`MANY_FEATURES`] features on.
const SPARSE_DENSITY: f64 = 0.3;
const MANY_FEATURES: usize = 32;

impl Encoder {
    /// Learns categories, stand-ins for missing cells and the storage from a table of features
    /// (the target taken out). Text columns are categorical, all others numeric.
    pub fn learn(table: &Table, missing: Missing) -> Result<Self> {
        let kept = complete_rows(table.columns().iter(), table.nrows(), missing);
        let selected = kept.as_ref().map(|rows| table.select_rows(rows));
        let table = selected.as_ref().unwrap_or(table);
        if table.nrows() == 0 {
            return Err(Error::BadData("every row has a missing cell; impute instead".into()));
        }
        let columns = table
            .columns()
            .iter()
            .map(|column| Rule::learn(column, missing))
            .collect::<Result<_>>()?;
        let mut encoder = Self { columns, missing, sparse: false };
        encoder.validate().map_err(|e| Error::BadData(e.to_string()))?;
        encoder.sparse = encoder.pays_sparse(table);
        Ok(encoder)
    }

    /// The raw columns and how each becomes features, in order.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Encoding)> {
        self.columns.iter().map(|rule| (rule.column.as_str(), &rule.encoding))
    }

    /// Names of the categorical columns. A reader should keep these as text.
    pub fn categorical(&self) -> impl Iterator<Item = &str> {
        let text = |e: &Encoding| matches!(e, Encoding::Categorical { .. });
        self.columns().filter(move |(_, e)| text(e)).map(|(name, _)| name)
    }

    /// The rule for missing cells.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.columns.iter().map(Rule::width).sum()
    }

    /// Names of the features: `column`, or `column=category`.
    pub fn feature_names(&self) -> Vec<String> {
        let names = |rule: &Rule| match &rule.encoding {
            Encoding::Numeric { .. } => vec![rule.column.clone()],
            Encoding::Categorical { categories, .. } => {
                categories.iter().map(|c| format!("{}={c}", rule.column)).collect()
            }
        };
        self.columns.iter().flat_map(names).collect()
    }

    /// Sentences about columns that look like a mistake, given the number of rows learned from.
    pub fn advice(&self, nrows: usize) -> Vec<String> {
        let many = |(name, encoding): (&str, &Encoding)| match encoding {
            Encoding::Categorical { categories, .. }
                if categories.len() > 20 && 2 * categories.len() > nrows =>
            {
                Some(format!(
                    "column `{name}` has {} different words in {nrows} rows; \
                     if it is a name or a number badly written, drop or repair it",
                    categories.len()
                ))
            }
            _ => None,
        };
        self.columns().filter_map(many).collect()
    }

    /// Encodes a table.
    pub fn encode(&self, table: &Table) -> Result<Encoded> {
        let find = |rule: &Rule| {
            table.column(&rule.column).map_err(|e| {
                Error::Mismatch(format!("a column the model was fitted on is missing: {e}"))
            })
        };
        let columns: Vec<&Column> = self.columns.iter().map(find).collect::<Result<_>>()?;
        let kept = complete_rows(columns.iter().copied(), table.nrows(), self.missing);
        let nrows = kept.as_ref().map_or(table.nrows(), Vec::len);
        let mut unseen = Vec::new();
        let mut parts = Vec::with_capacity(columns.len());
        let mut first_bad: Option<Error> = None;
        for (rule, column) in self.columns.iter().zip(columns) {
            let column = match &kept {
                Some(rows) => &column.select_rows(rows),
                None => column,
            };
            match rule.encode(column, self.missing) {
                Ok((part, count)) => {
                    if count > 0 {
                        unseen.push((rule.column.clone(), count));
                    }
                    parts.push(part);
                }
                Err(error) => keep_first(&mut first_bad, error, kept.as_deref()),
            }
        }
        if let Some(error) = first_bad {
            return Err(error);
        }
        let features = if self.sparse {
            assemble::sparse(nrows, &parts)?.into()
        } else {
            assemble::dense(nrows, &parts).into()
        };
        Ok(Encoded { features, kept, unseen })
    }

    /// Checks an encoder that came from outside: names, categories, stand-ins.
    pub fn validate(&self) -> Result<()> {
        let bad = |what: String| Err(Error::BadModel(format!("encoder: {what}")));
        let mut columns = BTreeSet::new();
        for rule in &self.columns {
            let name = &rule.column;
            if !columns.insert(name) {
                return bad(format!("two columns are called `{name}`"));
            }
            match &rule.encoding {
                Encoding::Numeric { fill } if fill.is_some_and(|v| !v.is_finite()) => {
                    return bad(format!("the stand-in of column `{name}` is not finite"));
                }
                Encoding::Categorical { categories, fill } => {
                    if categories.windows(2).any(|pair| pair[0] >= pair[1]) {
                        return bad(format!("the categories of column `{name}` are not sorted"));
                    }
                    if categories.is_empty() || fill.is_some_and(|k| k >= categories.len()) {
                        return bad(format!("column `{name}` lacks a category"));
                    }
                }
                Encoding::Numeric { .. } => {}
            }
        }
        if self.columns.is_empty() {
            return bad("there is no feature column".into());
        }
        let mut features = BTreeSet::new();
        let names = self.feature_names();
        match names.iter().find(|name| !features.insert(name.as_str())) {
            Some(name) => bad(format!("two features would be called `{name}`; rename a column")),
            None => Ok(()),
        }
    }

    fn pays_sparse(&self, table: &Table) -> bool {
        let stored = |column: &Column| match &column.cells {
            Cells::Numbers(values) => values.iter().filter(|v| **v != 0.0).count(),
            Cells::Words(list) => list.len(),
        };
        let nonzeros: usize = table.columns().iter().map(stored).sum();
        let all = self.n_features() as f64 * table.nrows() as f64;
        self.n_features() >= MANY_FEATURES && (nonzeros as f64) < SPARSE_DENSITY * all
    }
}

/// Under [`Missing::Drop`] the rows without a gap, if there are gaps.
fn complete_rows<'a>(
    columns: impl Iterator<Item = &'a Column>,
    nrows: usize,
    missing: Missing,
) -> Option<Vec<usize>> {
    if missing != Missing::Drop {
        return None;
    }
    let mut whole = vec![true; nrows];
    for column in columns {
        for (i, whole) in whole.iter_mut().enumerate() {
            *whole &= !column.is_missing(i);
        }
    }
    if whole.iter().all(|w| *w) {
        return None;
    }
    Some((0..nrows).filter(|&i| whole[i]).collect())
}

/// Keeps the error whose row comes first; rows count in the table as given.
fn keep_first(first: &mut Option<Error>, mut error: Error, kept: Option<&[usize]>) {
    if let (Error::BadCell { row, .. }, Some(kept)) = (&mut error, kept) {
        *row = kept[*row];
    }
    let row = |e: &Error| if let Error::BadCell { row, .. } = e { *row } else { 0 };
    if first.as_ref().is_none_or(|f| row(&error) < row(f)) {
        *first = Some(error);
    }
}
