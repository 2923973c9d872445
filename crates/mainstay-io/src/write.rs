//! Tables as CSV.

use std::io::{self, Write};

use mainstay::data::{Cells, Table};

/// Writes a table with a header; cells are quoted where they must be, missing ones are empty.
/// Numbers are the shortest text that reads back as the same bits.
pub fn write_csv(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    let mut writer = ::csv::Writer::from_writer(out);
    writer.write_record(table.names())?;
    for i in 0..table.nrows() {
        for column in table.columns() {
            match &column.cells {
                Cells::Numbers(values) if values[i].is_nan() => writer.write_field("")?,
                Cells::Numbers(values) => writer.write_field(number(values[i]))?,
                Cells::Words(list) => writer.write_field(list.get(i).unwrap_or_default())?,
            }
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
}

fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() || (1e-5..1e16).contains(&size) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}
