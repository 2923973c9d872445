//! Tables out: a CSV file, standard output, or JSON.

use std::io::Write;
use std::path::Path;

use mainstay::data::{Cells, Table};
use serde_json::{Map, Value, json};

use crate::console::Console;
use crate::failure::Outcome;

/// Writes `table` to `path`, or to standard output as CSV, or as JSON with `--json`.
pub(crate) fn write(table: &Table, path: Option<&Path>, console: &Console) -> Outcome<()> {
    if let Some(path) = path {
        let write = |out: &mut dyn Write| mainstay_io::write_csv_as(out, table, console.csv);
        return Ok(mainstay_io::write_file(path, write)?);
    }
    if console.json() {
        return console.print("", &object(table));
    }
    let mut out = std::io::stdout().lock();
    mainstay_io::write_csv_as(&mut out, table, console.csv)?;
    Ok(out.flush()?)
}

/// One array a column; numbers that JSON does not have become null.
pub(crate) fn object(table: &Table) -> Map<String, Value> {
    let cells = |cells: &Cells| match cells {
        Cells::Numbers(values) => json!(values),
        Cells::Words(words) => (0..words.len()).map(|i| words.get(i)).collect::<Vec<_>>().into(),
    };
    table.columns().iter().map(|c| (c.name.clone(), cells(&c.cells))).collect()
}
