//! Arrow columns into raw columns, and Arrow IPC files (Feather) and streams.
//!
//! Numbers and decimals are read as numbers; text, booleans, dates and times as words.

use std::io::{BufReader, Cursor, Read, Seek};

use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Schema};
use mainstay::data::{Cells, Column, Table, WordList};

use crate::chunks::{ChunkOptions, Outlet};
use crate::error::{Error, Result};
use crate::guard::guarded;
use crate::memory::Allowance;
use crate::reading::Input;
use crate::source::Source;

/// Reads an Arrow IPC file or stream.
pub(crate) fn read(source: &Source) -> Result<Table> {
    let name = source.name();
    let bytes = source.bytes()?;
    guarded(|| read_bytes(&bytes, &name))
        .unwrap_or_else(|| Err(damaged(&name, "the decoder gave up")))
}

/// A table from batches in memory; `name` is what errors call it.
pub fn table_from_arrow(reader: impl RecordBatchReader, name: &str) -> Result<Table> {
    let schema = reader.schema();
    collect(&schema, reader, name, damaged)
}

fn read_bytes(bytes: &[u8], name: &str) -> Result<Table> {
    if bytes.starts_with(b"ARROW1") {
        let reader = FileReader::try_new(Cursor::new(bytes), None).map_err(|e| damaged(name, e))?;
        let schema = reader.schema();
        return collect(&schema, reader, name, damaged);
    }
    let reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(|e| damaged(name, e))?;
    let schema = reader.schema();
    collect(&schema, reader, name, damaged)
}

fn damaged(name: &str, why: impl std::fmt::Display) -> Error {
    let why = why.to_string().replace('\n', " ");
    Error::file(name, format!("the Arrow data are damaged or cut short ({why})"))
}

/// All batches as one table; `damaged` turns a decoder's error into ours.
pub(crate) fn collect(
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    name: &str,
    damaged: fn(&str, ArrowError) -> Error,
) -> Result<Table> {
    let mut columns = empty_columns(schema, name)?;
    let mut allowance = Allowance::now();
    for batch in batches {
        let batch = batch.map_err(|e| damaged(name, e))?;
        allowance.take(batch.get_array_memory_size() as u64 + 8 * batch.num_rows() as u64, name)?;
        for (column, array) in columns.iter_mut().zip(batch.columns()) {
            append(&mut column.cells, array).map_err(|e| damaged(name, e))?;
        }
    }
    if columns[0].is_empty() {
        return Err(Error::file(name, "there is no row of data"));
    }
    Table::new(columns).map_err(Error::content(name))
}

/// Hands over the rows of an Arrow IPC file, one of its batches in memory at a time.
pub(crate) fn each_chunk_of_file(
    input: impl Read + Seek,
    name: &str,
    options: &ChunkOptions,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let work = || {
        let input = BufReader::new(input);
        let reader = FileReader::try_new(input, None).map_err(|e| damaged(name, e))?;
        let schema = reader.schema();
        each_batch(&schema, reader, (name, damaged), options, outlet)
    };
    guarded(work).unwrap_or_else(|| Err(damaged(name, "the decoder gave up")))
}

/// The same for a stream.
pub(crate) fn each_chunk_of_stream(
    input: impl Read,
    name: &str,
    options: &ChunkOptions,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let work = || {
        let reader = StreamReader::try_new(input, None).map_err(|e| damaged(name, e))?;
        let schema = reader.schema();
        each_batch(&schema, reader, (name, damaged), options, outlet)
    };
    guarded(work).unwrap_or_else(|| Err(damaged(name, "the decoder gave up")))
}

/// Hands over batches as tables of the selected columns.
pub(crate) fn each_batch(
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    (name, damaged): (&str, fn(&str, ArrowError) -> Error),
    options: &ChunkOptions,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let wanted = options.selected(schema.fields().iter().map(|f| f.name().as_str()));
    let kept: Vec<usize> = (0..wanted.len()).filter(|&j| wanted[j]).collect();
    let schema = schema.project(&kept).map_err(|e| damaged(name, e))?;
    let size = options.size.rows(kept.len());
    let mut rows = 0;
    for batch in batches {
        let batch = batch.and_then(|b| b.project(&kept)).map_err(|e| damaged(name, e))?;
        for start in (0..batch.num_rows()).step_by(size) {
            let part = batch.slice(start, size.min(batch.num_rows() - start));
            let mut columns = empty_columns(&schema, name)?;
            for (column, array) in columns.iter_mut().zip(part.columns()) {
                append(&mut column.cells, array).map_err(|e| damaged(name, e))?;
            }
            let mut table = Table::new(columns).map_err(Error::content(name))?;
            options.make_text(&mut table)?;
            rows += table.nrows();
            outlet.give(Input::Table(table))?;
        }
    }
    if rows == 0 {
        return Err(Error::file(name, "there is no row of data"));
    }
    Ok(())
}

fn empty_columns(schema: &Schema, name: &str) -> Result<Vec<Column>> {
    let mut columns = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let cells = match kind(field.data_type()) {
            Some(Kind::Numbers) => Cells::Numbers(Vec::new()),
            Some(Kind::Words) => Cells::Words(WordList::default()),
            None => {
                let problem = format!(
                    "column `{}` has type {}; numbers, booleans, text and dates can be read: convert or drop it",
                    field.name(),
                    field.data_type()
                );
                return Err(Error::file(name, problem));
            }
        };
        columns.push(Column { name: field.name().clone(), cells });
    }
    if columns.is_empty() {
        return Err(Error::file(name, "there is no column"));
    }
    Ok(columns)
}

#[derive(Clone, Copy)]
enum Kind {
    Numbers,
    Words,
}

fn kind(data_type: &DataType) -> Option<Kind> {
    match data_type {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Boolean
        | DataType::Date32
        | DataType::Date64
        | DataType::Timestamp(..) => Some(Kind::Words),
        DataType::Dictionary(_, values) => kind(values),
        DataType::Null | DataType::Decimal128(..) | DataType::Decimal256(..) => Some(Kind::Numbers),
        other if other.is_integer() || other.is_floating() => Some(Kind::Numbers),
        _ => None,
    }
}

fn append(cells: &mut Cells, array: &ArrayRef) -> Result<(), ArrowError> {
    match cells {
        Cells::Numbers(values) => {
            let cast = arrow_cast::cast(array, &DataType::Float64)?;
            let cast = cast.as_primitive::<Float64Type>();
            if cast.null_count() == 0 {
                values.extend_from_slice(cast.values());
            } else {
                values.extend(cast.iter().map(|v| v.unwrap_or(f64::NAN)));
            }
        }
        Cells::Words(list) => {
            let cast = arrow_cast::cast(&without_named_zone(array)?, &DataType::Utf8)?;
            for word in cast.as_string::<i32>() {
                list.push(word.map(str::trim).filter(|w| !w.is_empty()));
            }
        }
    }
    Ok(())
}

/// Times of a zone that has a name, in UTC: what its clocks show takes a table that changes every year.
fn without_named_zone(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Timestamp(unit, Some(zone)) if zone.parse::<Tz>().is_err() => {
            arrow_cast::cast(array, &DataType::Timestamp(*unit, Some("+00:00".into())))
        }
        _ => Ok(array.clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::TimestampSecondArray;

    use super::*;

    /// One hour after the epoch in a zone with a name, with an offset of two hours, and without any.
    #[test]
    fn times_of_a_named_zone_are_told_in_utc() {
        let hour = || TimestampSecondArray::from(vec![3600]);
        for (array, told) in [
            (hour().with_timezone("Europe/Rome"), "1970-01-01T01:00:00"),
            (hour().with_timezone("+02:00"), "1970-01-01T03:00:00"),
            (hour(), "1970-01-01T01:00:00"),
        ] {
            let mut cells = Cells::Words(WordList::default());
            append(&mut cells, &(Arc::new(array) as ArrayRef)).unwrap();
            let column = Column { name: "when".into(), cells };
            let text = column.text(0).unwrap_or_default();
            assert!(text.starts_with(told), "{told}: {text}");
        }
    }
}
