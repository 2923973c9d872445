//! Raw columns as they were read, with the place of every row in its file.

use std::collections::{BTreeSet, HashMap};

use super::words::{MISSING, WordList};
use crate::error::{Error, Result, suggest};

/// The cells of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Every present cell is a number; NaN is a missing one.
    Numbers(Vec<f64>),
    /// Text: for every row its place in the list of distinct words, or [`MISSING`].
    Words(WordList),
}

/// A named column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// From the header, or `column1`, `column2`, ... where there is none.
    pub name: String,
    /// One cell per row.
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
            Cells::Words(list) => list.codes()[i] == MISSING,
        }
    }

    /// The cell of row `i` as text; a number as [`Column::into_words`] would write it.
    pub fn text(&self, i: usize) -> Option<String> {
        match &self.cells {
            Cells::Numbers(values) => (!values[i].is_nan()).then(|| number_word(values[i])),
            Cells::Words(list) => list.get(i).map(str::to_owned),
        }
    }

    /// The rows `rows`, in that order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let cells = match &self.cells {
            Cells::Numbers(values) => Cells::Numbers(rows.iter().map(|&i| values[i]).collect()),
            Cells::Words(list) => Cells::Words(list.select_rows(rows)),
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

/// Columns of equal length with distinct names, the place of every row in the file and what identifies it.
///
/// A row keeps its number whatever is left out: [`Table::row_numbers`] counts from 1, as in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    nrows: usize,
    /// Rows of the file before the first one here.
    start: usize,
    /// Where the rows were in the file, counted from 0; `None`: in order from `start` on, all of them.
    places: Option<Vec<usize>>,
    /// Columns that name rows; they are never features.
    ids: Vec<Column>,
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
        Ok(Self { columns, nrows, start: 0, places: None, ids: Vec::new() })
    }

    /// The same rows as a part of a file that has `rows` others before them.
    #[must_use]
    pub fn starting_at(mut self, rows: usize) -> Self {
        self.start = rows;
        self
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

    /// The same, also among the identifiers: what names the rows of a result may be a feature of the model all the same.
    pub fn column_or_id(&self, name: &str) -> Result<&Column> {
        self.ids.iter().find(|id| id.name == name).map_or_else(|| self.column(name), Ok)
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
        let select = |columns: &[Column]| columns.iter().map(|c| c.select_rows(rows)).collect();
        let places = rows.iter().map(|&i| self.place(i)).collect();
        Self {
            columns: select(&self.columns),
            nrows: rows.len(),
            start: self.start,
            places: Some(places),
            ids: select(&self.ids),
        }
    }

    /// Where row `i` was in the file, counted from 0.
    pub fn place(&self, i: usize) -> usize {
        self.places.as_ref().map_or(self.start + i, |places| places[i])
    }

    /// The number of every row in its file, counted from 1.
    pub fn row_numbers(&self) -> Vec<usize> {
        (0..self.nrows).map(|i| self.place(i) + 1).collect()
    }

    /// The columns that identify rows, see [`Table::set_ids`].
    pub fn ids(&self) -> &[Column] {
        &self.ids
    }

    /// Makes columns the identifiers of the rows; they are no longer among [`Table::columns`].
    pub fn set_ids<S: AsRef<str>>(&mut self, names: &[S]) -> Result<()> {
        for name in names {
            let name = name.as_ref();
            if self.ids.iter().all(|id| id.name != name) {
                let id = self.take(name)?;
                self.ids.push(id);
            }
        }
        Ok(())
    }

    /// The rows whose cell in `column` (an identifier or any other column) reads `cell`, or is the same number.
    pub fn find_rows(&self, column: &str, cell: &str) -> Result<Vec<usize>> {
        let found = self.column_or_id(column)?;
        let number = cell.parse::<f64>().ok().filter(|v| v.is_finite());
        let same = |word: &str| word == cell || number.is_some_and(|v| word.parse() == Ok(v));
        Ok(match &found.cells {
            Cells::Numbers(values) => {
                (0..self.nrows).filter(|&i| number == Some(values[i])).collect()
            }
            Cells::Words(list) => {
                let holds: Vec<bool> = list.words().iter().map(|word| same(word)).collect();
                let held = |code: u32| holds.get(code as usize).copied().unwrap_or(false);
                (0..self.nrows).filter(|&i| held(list.codes()[i])).collect()
            }
        })
    }

    /// The place of every column by its name.
    pub fn index(&self) -> HashMap<&str, usize> {
        self.names().enumerate().map(|(j, name)| (name, j)).collect()
    }

    /// The same rows with one column alone.
    pub(super) fn only(&self, column: Column) -> Self {
        let (nrows, start, places) = (self.nrows, self.start, self.places.clone());
        Self { columns: vec![column], nrows, start, places, ids: Vec::new() }
    }

    /// The error with the row of the file where it names one of these rows.
    #[must_use]
    pub fn at_place(&self, mut error: Error) -> Error {
        if let Error::BadCell { row, .. } = &mut error {
            *row = self.place(*row);
        }
        error
    }

    fn no_column(&self, name: &str) -> Error {
        let names: Vec<&str> = self.names().collect();
        let hint = match names.as_slice() {
            [only] => format!("the only column is `{only}` (is the delimiter right?)"),
            names => suggest(name, names, "columns"),
        };
        Error::Mismatch(format!("there is no column `{name}`; {hint}"))
    }
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
        let all = "the 3 columns are `age`, `colour`, `target`";
        assert_eq!(message, format!("there is no column `Targt`; did you mean `target`? {all}"));
        let message = table().column("price").unwrap_err().to_string();
        assert!(message.ends_with(all), "{message}");
    }

    #[test]
    fn names_must_differ_and_lengths_must_not() {
        let a = || Column::numbers("a", vec![1.0]);
        assert!(Table::new(vec![a(), a()]).is_err());
        assert!(Table::new(vec![a(), Column::numbers("b", vec![])]).is_err());
        assert!(Table::new(vec![]).is_err());
    }

    #[test]
    fn numbers_become_categories_by_value() {
        let mut t = table();
        t.make_categorical("age").unwrap();
        assert_eq!(t.columns()[0], Column::words("age", [Some("1"), None, Some("2.5")]));
        assert_eq!(number_word(-0.0), "0");
    }
}
