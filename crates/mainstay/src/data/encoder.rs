//! From raw columns to features, learned once and applied to rows that come later.

use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::table::number_word;
use super::{Cells, Column, MISSING, Table, is_missing};
use crate::error::{Error, Result};
use crate::linalg::{Csr, Dense, Matrix};

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

/// How one raw column becomes features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Encoding {
    /// One feature, the number itself.
    Numeric {
        /// Stands in for a missing cell.
        fill: Option<f64>,
    },
    /// One indicator a category.
    Categorical {
        /// In the order of their bytes.
        categories: Vec<String>,
        /// Index of the category that stands in for a missing cell.
        fill: Option<usize>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    column: String,
    #[serde(flatten)]
    encoding: Encoding,
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
            .map(|column| {
                Ok(Rule { column: column.name.clone(), encoding: learn(column, missing)? })
            })
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
        let features =
            if self.sparse { sparse(nrows, &parts)?.into() } else { dense(nrows, &parts).into() };
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

fn learn(column: &Column, missing: Missing) -> Result<Encoding> {
    let fills = !matches!(missing, Missing::Refuse | Missing::Keep | Missing::Drop);
    let empty = || {
        Error::BadData(format!("column `{}` has no value in any row; drop the column", column.name))
    };
    match &column.cells {
        Cells::Numbers(values) => {
            if !fills {
                return Ok(Encoding::Numeric { fill: None });
            }
            if let Some(row) = values.iter().position(|v| v.is_infinite()) {
                return Err(infinite(column, row, values[row]));
            }
            let mut present: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
            if present.is_empty() {
                return Err(empty());
            }
            let fill = match missing {
                Missing::Mean => mean(&present),
                Missing::Median => median(&mut present),
                _ => most_frequent(&mut present),
            };
            Ok(Encoding::Numeric { fill: Some(fill) })
        }
        Cells::Words(list) => {
            let counts = list.counts();
            let mut used: Vec<(&String, usize)> =
                list.words().iter().zip(counts).filter(|(_, n)| *n > 0).collect();
            used.sort_unstable();
            let largest = used.iter().map(|(_, n)| *n).max().ok_or_else(empty)?;
            let common = used.iter().position(|(_, n)| *n == largest);
            let categories = used.into_iter().map(|(word, _)| word.clone()).collect();
            Ok(Encoding::Categorical { categories, fill: common.filter(|_| fills) })
        }
    }
}

/// Divides before adding, so that numbers near the largest do not overflow.
fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let sum: f64 = values.iter().sum();
    if sum.is_finite() { sum / n } else { values.iter().map(|v| v / n).sum() }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

fn most_frequent(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let mut best = (0, 0.0);
    for run in values.chunk_by(|a, b| a == b) {
        if run.len() > best.0 {
            best = (run.len(), run[0]);
        }
    }
    best.1
}

/// One raw column, encoded: its features start at 0.
enum Part {
    Number(Vec<f64>),
    /// The indicator that is 1, or [`MISSING`] for none.
    OneOf(Vec<u32>, usize),
}

impl Part {
    fn width(&self) -> usize {
        match self {
            Self::Number(_) => 1,
            Self::OneOf(_, width) => *width,
        }
    }
}

impl Rule {
    fn width(&self) -> usize {
        match &self.encoding {
            Encoding::Numeric { .. } => 1,
            Encoding::Categorical { categories, .. } => categories.len(),
        }
    }

    /// The encoded column and how many of its cells hold an unseen category.
    fn encode(&self, column: &Column, missing: Missing) -> Result<(Part, usize)> {
        match &self.encoding {
            Encoding::Numeric { fill } => {
                let mut values = numbers(column)?;
                for (row, value) in values.iter_mut().enumerate() {
                    if value.is_nan() {
                        match fill {
                            Some(fill) => *value = *fill,
                            None if missing == Missing::Keep => {}
                            None => return Err(refuse(column, row)),
                        }
                    }
                    if value.is_infinite() {
                        return Err(infinite(column, row, *value));
                    }
                }
                Ok((Part::Number(values), 0))
            }
            Encoding::Categorical { categories, fill } => {
                let places: HashMap<&str, u32> =
                    (0..).zip(categories).map(|(k, c)| (c.as_str(), k)).collect();
                let mut unseen = 0;
                let mut place = |word: &str| {
                    let found = places.get(word).copied();
                    unseen += usize::from(found.is_none());
                    found.unwrap_or(MISSING)
                };
                let gap = match fill {
                    Some(k) => u32::try_from(*k).ok(),
                    None => (missing == Missing::Keep).then_some(MISSING),
                };
                let codes = match &column.cells {
                    Cells::Numbers(values) => values
                        .iter()
                        .map(|v| if v.is_nan() { gap } else { Some(place(&number_word(*v))) })
                        .collect::<Option<Vec<u32>>>(),
                    Cells::Words(list) => (0..list.len())
                        .map(|i| list.get(i).map_or(gap, |word| Some(place(word))))
                        .collect(),
                };
                let codes = codes
                    .ok_or_else(|| refuse(column, column.first_missing().unwrap_or_default()))?;
                Ok((Part::OneOf(codes, categories.len()), unseen))
            }
        }
    }
}

/// The column's cells as numbers.
fn numbers(column: &Column) -> Result<Vec<f64>> {
    match &column.cells {
        Cells::Numbers(values) => Ok(values.clone()),
        Cells::Words(list) => {
            let read = |word: &String| match word.trim() {
                cell if is_missing(cell) => Some(f64::NAN),
                cell => cell.parse::<f64>().ok(),
            };
            let values: Vec<Option<f64>> = list.words().iter().map(read).collect();
            let cell = |(row, &code): (usize, &u32)| {
                if code == MISSING {
                    return Ok(f64::NAN);
                }
                values[code as usize].ok_or_else(|| {
                    let word: String = list.words()[code as usize].chars().take(40).collect();
                    let problem = format!("`{word}` is not a number, but the model needs one here");
                    column.bad_cell(row, problem)
                })
            };
            list.codes().iter().enumerate().map(cell).collect()
        }
    }
}

fn refuse(column: &Column, row: usize) -> Error {
    column.bad_cell(row, "no value; fill it in, or impute (mean, median, most-frequent, drop)")
}

fn infinite(column: &Column, row: usize, value: f64) -> Error {
    column.bad_cell(row, format!("{value} is not a finite number; repair or drop it"))
}

fn dense(nrows: usize, parts: &[Part]) -> Dense {
    let ncols = parts.iter().map(Part::width).sum();
    let mut out = Dense::zeros(nrows, ncols);
    let mut start = 0;
    for part in parts {
        let cells = out.data_mut();
        match part {
            Part::Number(values) => {
                for (i, v) in values.iter().enumerate() {
                    cells[i * ncols + start] = *v;
                }
            }
            Part::OneOf(codes, _) => {
                for (i, &code) in codes.iter().enumerate().filter(|(_, c)| **c != MISSING) {
                    cells[i * ncols + start + code as usize] = 1.0;
                }
            }
        }
        start += part.width();
    }
    out
}

fn sparse(nrows: usize, parts: &[Part]) -> Result<Csr> {
    let too_wide = |_| Error::BadData("more than 2^32 features".into());
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let ncols = parts.iter().map(Part::width).sum();
    u32::try_from(ncols).map_err(too_wide)?;
    for i in 0..nrows {
        let mut start = 0;
        for part in parts {
            let (place, value) = match part {
                Part::Number(cells) => (0, cells[i]),
                Part::OneOf(codes, _) => (codes[i], f64::from(u8::from(codes[i] != MISSING))),
            };
            if value != 0.0 {
                indices.push(start + place);
                values.push(value);
            }
            start += u32::try_from(part.width()).map_err(too_wide)?;
        }
        starts.push(indices.len());
    }
    Csr::new(ncols, starts, indices, values)
}
