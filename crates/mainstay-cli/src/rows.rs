//! Rows of a file that stay themselves: which were asked for, and the columns that name them in a result.

use mainstay::data::{Column, Encoded, Missing};
use mainstay::linalg::Matrix;
use mainstay_io::{Chunk, Input, ModelFile, SparseRows};

use crate::args::Rows;
use crate::failure::{Failure, Outcome};

/// Some rows of a chunk and where they are in the file, counted from 0.
pub(crate) struct SelectedRows {
    /// The rows.
    pub(crate) rows: Input,
    places: Vec<usize>,
}

/// One `--row`.
enum Spec {
    Number(usize),
    Cell(String, String),
}

/// What `--row` and `--id` ask for.
pub(crate) struct Chosen<'a> {
    ids: &'a [String],
    given: &'a [String],
    specs: Vec<Spec>,
    /// For every `--row` how many rows were found.
    found: Vec<usize>,
}

impl<'a> Chosen<'a> {
    pub(crate) fn new(wanted: &'a Rows) -> Outcome<Self> {
        let spec = |text: &String| match (text.parse(), text.split_once('=')) {
            (Ok(number), _) => Ok(Spec::Number(number)),
            (Err(_), Some((column, cell))) => Ok(Spec::Cell(column.to_owned(), cell.to_owned())),
            (Err(_), None) => {
                Err(Failure::say(format!("--row {text}: must be a number or COL=VALUE")))
            }
        };
        let specs: Vec<Spec> = wanted.row.iter().map(spec).collect::<Outcome<_>>()?;
        let found = vec![0; specs.len()];
        Ok(Self { ids: &wanted.id, given: &wanted.row, specs, found })
    }

    /// Whether rows were asked for one by one.
    pub(crate) fn few(&self) -> bool {
        !self.specs.is_empty()
    }

    /// Columns that are looked up or copied.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        let looked_up = self.specs.iter().filter_map(|spec| match spec {
            Spec::Cell(column, _) => Some(column.as_str()),
            Spec::Number(_) => None,
        });
        self.ids.iter().map(String::as_str).chain(looked_up)
    }

    /// The rows of a chunk that are wanted, for each `--row` that finds some; all of them if there is none.
    pub(crate) fn of(&mut self, chunk: Chunk) -> Outcome<Vec<(usize, SelectedRows)>> {
        let mut rows = chunk.rows;
        let lists = self.places(&rows, chunk.first)?;
        set_ids(&mut rows, self.ids)?;
        if self.specs.is_empty() {
            let places = (chunk.first..chunk.first + rows.nrows()).collect();
            return Ok(vec![(0, SelectedRows { rows, places })]);
        }
        let lists = lists.into_iter().enumerate().filter(|(_, list)| !list.is_empty());
        Ok(lists
            .map(|(spec, list)| {
                let places = list.iter().map(|i| chunk.first + i).collect();
                (spec, SelectedRows { rows: select(&rows, &list), places })
            })
            .collect())
    }

    /// For every `--row` its rows of the chunk.
    fn places(&mut self, rows: &Input, first: usize) -> Outcome<Vec<Vec<usize>>> {
        let mut lists = Vec::with_capacity(self.specs.len());
        for (spec, found) in self.specs.iter().zip(&mut self.found) {
            let list = match (spec, rows) {
                (Spec::Number(number), rows) => {
                    let place = number.checked_sub(first + 1).filter(|i| *i < rows.nrows());
                    place.into_iter().collect()
                }
                (Spec::Cell(column, cell), Input::Table(table)) => table.find_rows(column, cell)?,
                (Spec::Cell(column, cell), Input::Sparse(_)) => {
                    return Err(Failure::say(format!(
                        "--row {column}={cell} names a column; a LIBSVM file has none"
                    )));
                }
            };
            *found += list.len();
            lists.push(list);
        }
        Ok(lists)
    }

    /// Whether every row asked for was found and no other can be.
    pub(crate) fn complete(&self) -> bool {
        let done = |(spec, found): (&Spec, &usize)| matches!(spec, Spec::Number(_)) && *found > 0;
        self.few() && self.specs.iter().zip(&self.found).all(done)
    }

    /// Says which `--row` found nothing in a file of so many rows.
    pub(crate) fn check_found(&self, nrows: usize) -> Outcome<()> {
        let Some(spec) = self.found.iter().position(|found| *found == 0) else { return Ok(()) };
        Err(Failure::say(match &self.specs[spec] {
            Spec::Number(_) => {
                format!("--row {}: rows are counted from 1 to {nrows}", self.given[spec])
            }
            Spec::Cell(column, cell) => format!("no row has `{cell}` in column `{column}`"),
        }))
    }
}

/// The rows of a whole file that were asked for, with their identifiers set apart.
pub(crate) fn choose(mut rows: Input, wanted: &Rows) -> Outcome<SelectedRows> {
    let mut chosen = Chosen::new(wanted)?;
    let lists = chosen.places(&rows, 0)?;
    chosen.check_found(rows.nrows())?;
    set_ids(&mut rows, &wanted.id)?;
    let list = chosen.few().then(|| lists.concat());
    Ok(SelectedRows::new(Chunk { first: 0, rows }, list.as_deref()))
}

/// Sets the columns of identifiers apart from the features.
pub(crate) fn set_ids(rows: &mut Input, ids: &[String]) -> Outcome<()> {
    match rows {
        Input::Table(table) => Ok(table.set_ids(ids)?),
        Input::Sparse(_) if ids.is_empty() => Ok(()),
        Input::Sparse(_) => Err(Failure::say("--id names a column; a LIBSVM file has none")),
    }
}

fn select(rows: &Input, list: &[usize]) -> Input {
    match rows {
        Input::Table(table) => Input::Table(table.select_rows(list)),
        Input::Sparse(found) => {
            let labels = found.labels.select_rows(list);
            match Matrix::Sparse(found.features.clone()).select_rows(list) {
                Matrix::Sparse(features) => Input::Sparse(SparseRows { features, labels }),
                // Selecting rows keeps the storage.
                Matrix::Dense(_) => rows.clone(),
            }
        }
    }
}

/// The columns that name the rows of a result: `row` where some rows of the file may not be in it, identifiers, and
/// columns that were asked for.
pub(crate) fn names(
    part: &SelectedRows,
    encoded: &Encoded,
    numbered: bool,
    keep: &[String],
) -> Outcome<Vec<Column>> {
    let count = encoded.features.nrows();
    let rows: Vec<usize> = encoded.kept.clone().unwrap_or_else(|| (0..count).collect());
    let mut columns = Vec::new();
    if numbered {
        let numbers = rows.iter().map(|&i| (part.places[i] + 1) as f64).collect();
        columns.push(Column::numbers("row", numbers));
    }
    if let Input::Table(table) = &part.rows {
        columns.extend(table.ids().iter().map(|id| id.select_rows(&rows)));
        for name in keep {
            columns.push(table.column_or_id(name)?.select_rows(&rows));
        }
    } else if !keep.is_empty() {
        return Err(Failure::say("--keep names a column; a LIBSVM file has none"));
    }
    Ok(columns)
}

/// Whether the model leaves out rows with a missing cell: then results are numbered, whether or not there is one.
pub(crate) fn drops(file: &ModelFile) -> bool {
    file.encoder.as_ref().is_some_and(|e| e.missing() == Missing::Drop)
}

impl SelectedRows {
    /// An error about a label with the row's place in the file; tables name it themselves.
    pub(crate) fn at_place(&self, error: mainstay_io::Error) -> Failure {
        match (error, &self.rows) {
            (
                mainstay_io::Error::Core(mainstay::Error::BadCell { row, column, problem }),
                Input::Sparse(_),
            ) => mainstay::Error::BadCell { row: self.place(row), column, problem }.into(),
            (error, _) => error.into(),
        }
    }

    /// Where row `i` is in the file, counted from 0.
    pub(crate) fn place(&self, i: usize) -> usize {
        self.places[i]
    }

    /// All rows of a chunk, or those of `list`.
    pub(crate) fn new(chunk: Chunk, list: Option<&[usize]>) -> Self {
        let first = chunk.first;
        if let Some(list) = list {
            let places = list.iter().map(|i| first + i).collect();
            return Self { rows: select(&chunk.rows, list), places };
        }
        let places = (first..first + chunk.rows.nrows()).collect();
        Self { rows: chunk.rows, places }
    }
}
