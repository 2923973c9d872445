//! Tables as CSV.

use std::borrow::Cow;
use std::io::{self, Write};

use mainstay::data::{Cells, Table};

/// How text reaches a CSV file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CsvText {
    /// As it is.
    #[default]
    Plain,
    /// Text that a spreadsheet would run as a formula (it begins with `=`, `+`, `-`, `@`, a tab or a carriage
    /// return) gets an apostrophe in front, header included. Numbers are never touched.
    Safe,
}

/// Writes a table with a header; cells are quoted where they must be, missing ones are empty.
/// Numbers are the shortest text that reads back as the same bits.
pub fn write_csv(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    write_csv_as(out, table, CsvText::Plain)
}

/// As [`write_csv`], with a choice of how text is written.
pub fn write_csv_as(out: &mut dyn Write, table: &Table, text: CsvText) -> io::Result<()> {
    CsvParts::new(text).write(out, table)
}

/// A table written part by part: the header comes with the first.
#[derive(Debug)]
pub struct CsvParts {
    text: CsvText,
    begun: bool,
}

impl CsvParts {
    /// Nothing is written yet.
    pub fn new(text: CsvText) -> Self {
        Self { text, begun: false }
    }

    /// Writes the next rows, whose columns are those of the rows before.
    pub fn write(&mut self, out: &mut dyn Write, table: &Table) -> io::Result<()> {
        let text = self.text;
        let mut writer = ::csv::Writer::from_writer(out);
        if !std::mem::replace(&mut self.begun, true) {
            for name in table.names() {
                writer.write_field(guarded(name, text).as_ref()).map_err(plain)?;
            }
            writer.write_record(None::<&[u8]>).map_err(plain)?;
        }
        for i in 0..table.nrows() {
            for column in table.columns() {
                match &column.cells {
                    Cells::Numbers(values) if values[i].is_nan() => writer.write_field(""),
                    Cells::Numbers(values) => writer.write_field(number(values[i])),
                    Cells::Words(list) => {
                        writer.write_field(guarded(list.get(i).unwrap_or_default(), text).as_ref())
                    }
                }
                .map_err(plain)?;
            }
            writer.write_record(None::<&[u8]>).map_err(plain)?;
        }
        writer.flush()
    }
}

/// The system's own error: a closed pipe must be recognised as one.
fn plain(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn guarded(cell: &str, text: CsvText) -> Cow<'_, str> {
    if text == CsvText::Safe && cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return Cow::Owned(format!("'{cell}"));
    }
    Cow::Borrowed(cell)
}

fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() || (1e-5..1e16).contains(&size) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}
