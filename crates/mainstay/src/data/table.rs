//! Raw columns as they were read: numbers, or words by their place in a list.

use std::collections::{BTreeSet, HashMap};

use crate::error::{Error, Result};

/// The code of a missing word.
pub const MISSING: u32 = u32::MAX;

/// Whether a cell of text stands for "no value": empty, `NA`, `NaN`, `nan`, `null` or `?`.
pub fn is_missing(cell: &str) -> bool {
    matches!(cell, "" | "NA" | "NaN" | "nan" | "null" | "?")
}

/// The cells of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Every present cell is a number; NaN is a missing one.
    Numbers(Vec<f64>),
    /// Text: for every row its place in the list of distinct words, or [`MISSING`].
    Words(WordList),
}

/// Text cells, each distinct word stored once.
#[derive(Debug, Clone, Default)]
pub struct WordList {
    codes: Vec<u32>,
    words: Vec<String>,
    places: HashMap<String, u32>,
}

impl PartialEq for WordList {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|i| self.get(i) == other.get(i))
    }
}

impl WordList {
    /// Adds one row.
    pub fn push(&mut self, word: Option<&str>) {
        let code = word.map_or(MISSING, |w| self.place(w));
        self.codes.push(code);
    }

    /// Adds all rows of `other`.
    pub fn append(&mut self, other: &Self) {
        let places: Vec<u32> = other.words.iter().map(|w| self.place(w)).collect();
        let moved = |&code: &u32| if code == MISSING { MISSING } else { places[code as usize] };
        self.codes.extend(other.codes.iter().map(moved));
    }

    fn place(&mut self, word: &str) -> u32 {
        if let Some(&place) = self.places.get(word) {
            return place;
        }
        // Distinct words are fewer than rows, and rows of text are far from 2^32 - 1 in memory.
        let place = u32::try_from(self.words.len()).unwrap_or(MISSING);
        self.words.push(word.to_owned());
        self.places.insert(word.to_owned(), place);
        place
    }

    /// The word of row `i`, if it has one.
    pub fn get(&self, i: usize) -> Option<&str> {
        self.words.get(self.codes[i] as usize).map(String::as_str)
    }

    /// For every row its place in [`WordList::words`], or [`MISSING`].
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The distinct words, in order of first appearance; after selecting rows some may be unused.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// How many rows hold each word.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.words.len()];
        for &code in self.codes.iter().filter(|&&code| code != MISSING) {
            counts[code as usize] += 1;
        }
        counts
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }
}

impl<'a> FromIterator<Option<&'a str>> for WordList {
    fn from_iter<I: IntoIterator<Item = Option<&'a str>>>(rows: I) -> Self {
        let mut list = Self::default();
        rows.into_iter().for_each(|word| list.push(word));
        list
    }
}

/// A named column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// From the header, or `column1`, `column2`, ... where there is none.
    pub name: String,
    /// One cell a row.
    pub cells: Cells,
}

impl Column {
    /// A column of numbers; NaN is a missing one.
    pub fn numbers(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), cells: Cells::Numbers(values) }
    }

    /// A column of text.
    pub fn words<'a>(
        name: impl Into<String>,
        rows: impl IntoIterator<Item = Option<&'a str>>,
    ) -> Self {
        Self { name: name.into(), cells: Cells::Words(rows.into_iter().collect()) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.cells {
            Cells::Numbers(values) => values.len(),
            Cells::Words(list) => list.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// First row without a value.
    pub fn first_missing(&self) -> Option<usize> {
        (0..self.len()).find(|&i| self.is_missing(i))
    }

    /// Whether row `i` has no value.
    pub fn is_missing(&self, i: usize) -> bool {
        match &self.cells {
            Cells::Numbers(values) => values[i].is_nan(),
            Cells::Words(list) => list.codes[i] == MISSING,
        }
    }

    /// The rows `rows`, in that order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let cells = match &self.cells {
            Cells::Numbers(values) => Cells::Numbers(rows.iter().map(|&i| values[i]).collect()),
            Cells::Words(list) => Cells::Words(WordList {
                codes: rows.iter().map(|&i| list.codes[i]).collect(),
                ..list.clone()
            }),
        };
        Self { name: self.name.clone(), cells }
    }

    /// The same column as words, so that numbers become categories; 1.0 becomes `1`.
    #[must_use]
    pub fn into_words(self) -> Self {
        match self.cells {
            Cells::Words(_) => self,
            Cells::Numbers(values) => {
                let mut list = WordList::default();
                for value in values {
                    let word = (!value.is_nan()).then(|| number_word(value));
                    list.push(word.as_deref());
                }
                Self { name: self.name, cells: Cells::Words(list) }
            }
        }
    }

    /// An error about the cell in row `row`.
    pub(super) fn bad_cell(&self, row: usize, problem: impl Into<String>) -> Error {
        Error::BadCell { row, column: format!("`{}`", self.name), problem: problem.into() }
    }
}

/// A number as a category: the shortest decimal text that reads back as the same number.
pub(super) fn number_word(value: f64) -> String {
    // The sum turns -0 into 0.
    format!("{}", value + 0.0)
}

/// Columns of equal length with distinct names.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    nrows: usize,
}

impl Table {
    /// Checks that there are columns, that their names differ and that their lengths do not.
    pub fn new(columns: Vec<Column>) -> Result<Self> {
        let nrows = columns.first().map(Column::len).unwrap_or_default();
        if columns.is_empty() {
            return Err(Error::BadData("a table needs at least one column".into()));
        }
        if let Some(odd) = columns.iter().find(|c| c.len() != nrows) {
            let (first, name, rows) = (&columns[0].name, &odd.name, odd.len());
            return Err(Error::BadData(format!(
                "column `{first}` has {nrows} rows, column `{name}` has {rows}"
            )));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = columns.iter().find(|c| !names.insert(c.name.as_str())) {
            let name = &twice.name;
            return Err(Error::BadData(format!("two columns are called `{name}`; rename one")));
        }
        Ok(Self { columns, nrows })
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// All columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns' names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|c| c.name.as_str())
    }

    /// The column called `name`; the error lists names that come close.
    pub fn column(&self, name: &str) -> Result<&Column> {
        self.columns.iter().find(|c| c.name == name).ok_or_else(|| self.no_column(name))
    }

    /// Takes the column called `name` out of the table.
    pub fn take(&mut self, name: &str) -> Result<Column> {
        match self.columns.iter().position(|c| c.name == name) {
            Some(j) => Ok(self.columns.remove(j)),
            None => Err(self.no_column(name)),
        }
    }

    /// Turns the column called `name` into categories, whatever it holds.
    pub fn make_categorical(&mut self, name: &str) -> Result<()> {
        let Some(column) = self.columns.iter_mut().find(|c| c.name == name) else {
            return Err(self.no_column(name));
        };
        let taken = std::mem::replace(column, Column::numbers("", Vec::new()));
        *column = taken.into_words();
        Ok(())
    }

    /// The rows `rows`, in that order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let columns = self.columns.iter().map(|c| c.select_rows(rows)).collect();
        Self { columns, nrows: rows.len() }
    }

    fn no_column(&self, name: &str) -> Error {
        let names: Vec<&str> = self.names().collect();
        Error::Mismatch(format!("there is no column `{name}`; {}", suggest(name, &names)))
    }
}

/// Names close to `wanted`, or the first few of all.
fn suggest(wanted: &str, names: &[&str]) -> String {
    const SHOWN: usize = 8;
    let close = |name: &&&str| {
        let (a, b) = (wanted.to_lowercase(), name.to_lowercase());
        distance(&a, &b) <= 1 + wanted.chars().count() / 4
    };
    let quoted = |names: &[&str]| {
        let shown: Vec<String> = names.iter().take(SHOWN).map(|n| format!("`{n}`")).collect();
        shown.join(", ")
    };
    let near: Vec<&str> = names.iter().filter(close).copied().collect();
    if !near.is_empty() {
        return format!("did you mean {}?", quoted(&near));
    }
    if let [only] = names {
        return format!("the only column is `{only}` (is the delimiter right?)");
    }
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    format!("the {} columns are {}{more}", names.len(), quoted(names))
}

/// Levenshtein distance; names longer than 64 characters only match themselves.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().max(b.len()) > 64 {
        return if a == b { 0 } else { usize::MAX };
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new(vec![
            Column::numbers("age", vec![1.0, f64::NAN, 2.5]),
            Column::words("colour", [Some("red"), Some("blue"), None]),
            Column::words("target", [Some("a"), Some("b"), Some("a")]),
        ])
        .unwrap()
    }

    #[test]
    fn a_misspelt_column_gets_a_suggestion() {
        let message = table().column("Targt").unwrap_err().to_string();
        assert_eq!(message, "there is no column `Targt`; did you mean `target`?");
        let message = table().column("price").unwrap_err().to_string();
        assert!(message.ends_with("the 3 columns are `age`, `colour`, `target`"), "{message}");
    }

    #[test]
    fn names_must_differ_and_lengths_must_not() {
        let a = || Column::numbers("a", vec![1.0]);
        assert!(Table::new(vec![a(), a()]).is_err());
        assert!(Table::new(vec![a(), Column::numbers("b", vec![])]).is_err());
        assert!(Table::new(vec![]).is_err());
    }

    #[test]
    fn word_lists_join_and_select() {
        let mut list: WordList = [Some("x"), None, Some("y")].into_iter().collect();
        list.append(&[Some("y"), Some("z"), None].into_iter().collect());
        let rows: Vec<_> = (0..list.len()).map(|i| list.get(i)).collect();
        assert_eq!(rows, [Some("x"), None, Some("y"), Some("y"), Some("z"), None]);
        assert_eq!(list.counts(), [1, 2, 1]);
        let column = Column { name: "w".into(), cells: Cells::Words(list) };
        let few = column.select_rows(&[4, 1]);
        assert_eq!(few, Column::words("w", [Some("z"), None]));
    }

    #[test]
    fn numbers_become_categories_by_value() {
        let mut t = table();
        t.make_categorical("age").unwrap();
        assert_eq!(t.columns()[0], Column::words("age", [Some("1"), None, Some("2.5")]));
        assert_eq!(number_word(-0.0), "0");
    }

    #[test]
    fn distances_match_hand_counts() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
