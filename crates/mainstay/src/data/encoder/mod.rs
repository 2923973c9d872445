//! From raw columns to features, learned once and applied to rows that come later.

mod assemble;
mod distinct;
mod identifier;
mod learner;
mod one_value;
mod open_cells;
mod options;
mod plan;
mod rule;
mod tally;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use learner::EncoderLearner;
use open_cells::OpenCells;
pub use rule::Encoding;
use rule::{Rule, typed};

pub(super) use identifier::{COUNTS, left_out};
pub use options::{EncoderOptions, Missing};
pub use plan::{ColumnPlan, LeftOut, Treatment};

use super::typing::{self, Gaps};
use super::{Cells, Column, ColumnType, Table};
use crate::error::{Error, Result};
use crate::linalg::Matrix;

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
    /// Words for "no value", unless they are the usual ones.
    #[serde(default, skip_serializing_if = "Gaps::is_usual")]
    gaps: Gaps,
    /// Columns that did not become features, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
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
    /// Learns from a table of features (the target taken out), every column of it: text columns are
    /// categorical, all others numeric. [`Encoder::learn_with`] looks closer.
    pub fn learn(table: &Table, missing: Missing) -> Result<Self> {
        let kind = |column: &Column| match column.cells {
            Cells::Numbers(_) => ColumnType::Number,
            Cells::Words(_) => ColumnType::Category,
        };
        let kinds: Vec<ColumnType> = table.columns().iter().map(kind).collect();
        let options = EncoderOptions { missing, ..EncoderOptions::default() };
        let columns: Vec<Cow<'_, Column>> = table.columns().iter().map(Cow::Borrowed).collect();
        Self::learn_columns(table, &columns, &kinds, &options, Vec::new())
    }

    /// Learns from a table of features (the target taken out) as its owner would mean it: text columns of numbers
    /// or dates are read as such, identifiers are left out, and [`Encoder::plan`] says what was done and why.
    pub fn learn_with(table: &Table, options: &EncoderOptions) -> Result<Self> {
        options.check(table)?;
        let left_out = identifier::left_out(table, options);
        let place = |i: usize| table.place(i);
        let skipped: BTreeSet<&str> = left_out.iter().map(|l| l.column.as_str()).collect();
        let (mut columns, mut kinds) = (Vec::new(), Vec::new());
        for column in table.columns() {
            if skipped.contains(column.name.as_str()) {
                continue;
            }
            let (column, kind) = if options.categorical.contains(&column.name) {
                (Cow::Owned(column.clone().into_words()), ColumnType::Category)
            } else {
                let kind = typing::type_of(column, &options.gaps, &place)?;
                (typed(column, kind, &options.gaps).map_err(|e| table.at_place(e))?, kind)
            };
            columns.push(column);
            kinds.push(kind);
        }
        let mut encoder = Self::learn_columns(table, &columns, &kinds, options, left_out)?;
        encoder.gaps = options.gaps.clone();
        Ok(encoder)
    }

    fn learn_columns(
        table: &Table,
        columns: &[Cow<'_, Column>],
        kinds: &[ColumnType],
        options: &EncoderOptions,
        left_out: Vec<LeftOut>,
    ) -> Result<Self> {
        let missing = options.missing;
        let kept = complete_rows(columns, table.nrows(), missing);
        if kept.as_ref().is_some_and(Vec::is_empty) || table.nrows() == 0 {
            return Err(Error::BadData(
                "every row has a missing cell; fill them, with --impute mean for one".into(),
            ));
        }
        let mut rules = Vec::with_capacity(columns.len());
        let mut stored = 0;
        for (column, kind) in columns.iter().zip(kinds) {
            let column = match &kept {
                Some(rows) => &Cow::Owned(column.select_rows(rows)),
                None => column,
            };
            rules.push(Rule::learn(column, *kind, options).map_err(|e| table.at_place(e))?);
            stored += nonzeros(column);
        }
        let rows = kept.as_ref().map_or(table.nrows(), Vec::len);
        Self::from_rules(rules, (stored, rows), missing, left_out)
    }

    /// Puts rules together; of the features of `rows` rows sparse storage would hold `stored` entries.
    fn from_rules(
        rules: Vec<Rule>,
        (stored, rows): (usize, usize),
        missing: Missing,
        left_out: Vec<LeftOut>,
    ) -> Result<Self> {
        let gaps = Gaps::default();
        let mut encoder = Self { columns: rules, missing, sparse: false, gaps, left_out };
        encoder.validate().map_err(|e| Error::BadData(e.to_string()))?;
        let all = encoder.n_features() as f64 * rows as f64;
        encoder.sparse =
            encoder.n_features() >= MANY_FEATURES && (stored as f64) < SPARSE_DENSITY * all;
        Ok(encoder)
    }

    /// Whether only entries other than 0 are stored.
    pub(crate) fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// The same encoder with every entry stored, whatever the share of zeros: chunks of a table then become features
    /// of the same kind, and scores do not depend on where it was cut.
    #[must_use]
    pub fn dense(mut self) -> Self {
        self.sparse = false;
        self
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

    /// Names of the columns of dates. A reader should keep these as text too.
    pub fn dates(&self) -> impl Iterator<Item = &str> {
        self.columns().filter(|(_, e)| matches!(e, Encoding::Date { .. })).map(|(name, _)| name)
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
        self.columns.iter().flat_map(|rule| rule.encoding.names(&rule.column)).collect()
    }

    /// Words for "no value" in the tables it takes.
    pub fn gaps(&self) -> &Gaps {
        &self.gaps
    }

    /// Encodes the table that was learned from, or one like it.
    pub fn encode(&self, table: &Table) -> Result<Encoded> {
        self.encode_as(table, OpenCells::to_learn(self.missing))
    }

    /// The same for rows that a model is applied to: what to do about a cell without a value is another advice then.
    pub fn encode_new(&self, table: &Table) -> Result<Encoded> {
        self.encode_as(table, OpenCells::to_predict(self.missing))
    }

    fn encode_as(&self, table: &Table, open: OpenCells) -> Result<Encoded> {
        let index = table.index();
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut first_bad: Option<Error> = None;
        for rule in &self.columns {
            let column = match index.get(rule.column.as_str()) {
                Some(&j) => &table.columns()[j],
                None => table.column_or_id(&rule.column).map_err(|e| {
                    Error::Mismatch(format!("a column the model was fitted on is missing: {e}"))
                })?,
            };
            match typed(column, rule.kind(), &self.gaps) {
                Ok(column) => columns.push(column),
                Err(error) => keep_first(&mut first_bad, error, None),
            }
        }
        if let Some(error) = first_bad {
            return Err(table.at_place(error));
        }
        self.encode_typed(table, &columns, open).map_err(|e| table.at_place(e))
    }

    fn encode_typed(
        &self,
        table: &Table,
        columns: &[Cow<'_, Column>],
        open: OpenCells,
    ) -> Result<Encoded> {
        let kept = complete_rows(columns, table.nrows(), self.missing);
        let nrows = kept.as_ref().map_or(table.nrows(), Vec::len);
        let mut unseen = Vec::new();
        let mut parts = Vec::with_capacity(columns.len());
        let mut first_bad: Option<Error> = None;
        for (rule, column) in self.columns.iter().zip(columns) {
            let column = match &kept {
                Some(rows) => &Cow::Owned(column.select_rows(rows)),
                None => column,
            };
            match rule.encode(column, open) {
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
            if let Some(what) = rule.encoding.fault(name) {
                return bad(what);
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
}

/// Entries of a column that sparse storage would hold.
fn nonzeros(column: &Column) -> usize {
    match &column.cells {
        Cells::Numbers(values) => values.iter().filter(|v| **v != 0.0).count(),
        Cells::Words(list) => list.len(),
    }
}

/// Under [`Missing::Drop`] the rows without a gap, if there are gaps.
fn complete_rows(
    columns: &[Cow<'_, Column>],
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
