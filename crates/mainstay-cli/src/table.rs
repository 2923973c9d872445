//! Tables out: a CSV file, standard output, or JSON.

use std::io::Write;
use std::path::Path;

use mainstay::data::{Cells, Table};
use mainstay_io::{CsvParts, OutputFile};
use serde_json::{Map, Value, json};

use crate::console::Console;
use crate::failure::Outcome;

/// Writes `table` to `path`, or to standard output as CSV, or as JSON with `--json`.
pub(crate) fn write(table: &Table, path: Option<&Path>, console: &Console) -> Outcome<()> {
    let mut sink = Sink::new(path, 1, console)?;
    sink.take(0, table)?;
    sink.finish(console)
}

/// A table on its way out, part by part.
pub(crate) struct Sink {
    place: Place,
    /// Parts of later lists, which come out when the first list is complete.
    later: Vec<Vec<Table>>,
}

enum Place {
    Csv(CsvParts, OutputFile),
    Json(Map<String, Value>),
}

impl Sink {
    /// To `path`, or to standard output as CSV, or as JSON with `--json`. Rows come out list by list, in the order
    /// in which they were taken: those of the first list at once.
    pub(crate) fn new(path: Option<&Path>, lists: usize, console: &Console) -> Outcome<Self> {
        let csv = |out| Place::Csv(CsvParts::new(console.csv), out);
        let place = match path {
            Some(path) => csv(OutputFile::create(path)?),
            None if console.json() => Place::Json(Map::new()),
            None => csv(OutputFile::stdout()),
        };
        Ok(Self { place, later: vec![Vec::new(); lists.saturating_sub(1)] })
    }

    /// Takes the next rows of a list.
    pub(crate) fn take(&mut self, list: usize, table: &Table) -> Outcome<()> {
        match list.checked_sub(1) {
            Some(later) => self.later[later].push(table.clone()),
            None => self.put(table)?,
        }
        Ok(())
    }

    fn put(&mut self, table: &Table) -> Outcome<()> {
        match &mut self.place {
            Place::Csv(parts, out) => {
                let written = parts.write(out, table).and_then(|()| out.flush());
                Ok(written.map_err(|e| out.failed(e))?)
            }
            Place::Json(columns) => {
                for column in table.columns() {
                    let cells = columns.entry(&column.name).or_insert_with(|| json!([]));
                    if let Value::Array(cells) = cells {
                        append(cells, &column.cells);
                    }
                }
                Ok(())
            }
        }
    }

    /// All rows were taken.
    pub(crate) fn finish(mut self, console: &Console) -> Outcome<()> {
        for table in std::mem::take(&mut self.later).into_iter().flatten() {
            self.put(&table)?;
        }
        match self.place {
            Place::Csv(_, out) => Ok(out.finish()?),
            Place::Json(columns) => console.print("", &columns),
        }
    }
}

/// Numbers that JSON does not have become null.
fn append(cells: &mut Vec<Value>, more: &Cells) {
    match more {
        Cells::Numbers(values) => cells.extend(values.iter().map(|v| json!(v))),
        Cells::Words(words) => cells.extend((0..words.len()).map(|i| json!(words.get(i)))),
    }
}

/// One array per column; numbers that JSON does not have become null.
pub(crate) fn object(table: &Table) -> Map<String, Value> {
    let cells = |cells: &Cells| match cells {
        Cells::Numbers(values) => json!(values),
        Cells::Words(words) => (0..words.len()).map(|i| words.get(i)).collect::<Vec<_>>().into(),
    };
    table.columns().iter().map(|c| (c.name.clone(), cells(&c.cells))).collect()
}
