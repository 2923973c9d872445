//! Parquet files into raw columns: numbers and decimals as numbers, text and booleans as words.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::Compression;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::ChunkReader;
use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_schema::DataType;
use mainstay::data::{Cells, Column, Table, WordList, is_missing};

use crate::error::{Error, Result};
use crate::source::ReadOptions;

pub(crate) fn read(
    input: impl ChunkReader + 'static,
    name: &str,
    options: &ReadOptions,
) -> Result<Table> {
    // The decoder panics on some damaged files; for the caller that is damage like any other.
    let table = catch_unwind(AssertUnwindSafe(|| read_columns(input, name)));
    let mut table = table.unwrap_or_else(|_| Err(damaged(name, "the decoder gave up")))?;
    for column in &options.categorical {
        if table.names().any(|n| n == column) {
            table.make_categorical(column)?;
        }
    }
    Ok(table)
}

fn damaged(name: &str, why: impl std::fmt::Display) -> Error {
    let why = why.to_string().replace('\n', " ");
    Error::file(name, format!("the Parquet data are damaged or cut short ({why})"))
}

fn read_columns(input: impl ChunkReader + 'static, name: &str) -> Result<Table> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(input).map_err(|e| damaged(name, e))?;
    let groups = builder.metadata().row_groups();
    let zstd = |c: Compression| matches!(c, Compression::ZSTD(_));
    if !cfg!(feature = "parquet-zstd")
        && groups.iter().flat_map(RowGroupMetaData::columns).any(|c| zstd(c.compression()))
    {
        let problem = "compressed with zstd; build with the feature `parquet-zstd`, \
                       or write the file with snappy or gzip";
        return Err(Error::file(name, problem));
    }
    let schema = builder.schema().clone();
    let mut columns = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let cells = match kind(field.data_type()) {
            Some(Kind::Numbers) => Cells::Numbers(Vec::new()),
            Some(Kind::Words) => Cells::Words(WordList::default()),
            None => {
                let problem = format!(
                    "column `{}` has type {}; numbers, booleans and text can be read: convert or drop it",
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
    for batch in builder.build().map_err(|e| damaged(name, e))? {
        let batch = batch.map_err(|e| damaged(name, e))?;
        for (column, array) in columns.iter_mut().zip(batch.columns()) {
            append(&mut column.cells, array).map_err(|e| damaged(name, e))?;
        }
    }
    if columns[0].is_empty() {
        return Err(Error::file(name, "there is no row of data"));
    }
    Table::new(columns).map_err(Error::content(name))
}

#[derive(Clone, Copy)]
enum Kind {
    Numbers,
    Words,
}

fn kind(data_type: &DataType) -> Option<Kind> {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean => {
            Some(Kind::Words)
        }
        DataType::Dictionary(_, values) => kind(values),
        DataType::Null | DataType::Decimal128(..) | DataType::Decimal256(..) => Some(Kind::Numbers),
        other if other.is_integer() || other.is_floating() => Some(Kind::Numbers),
        _ => None,
    }
}

fn append(cells: &mut Cells, array: &ArrayRef) -> Result<(), arrow_schema::ArrowError> {
    match cells {
        Cells::Numbers(values) => {
            let cast = arrow_cast::cast(array, &DataType::Float64)?;
            values.extend(cast.as_primitive::<Float64Type>().iter().map(|v| v.unwrap_or(f64::NAN)));
        }
        Cells::Words(list) => {
            let cast = arrow_cast::cast(array, &DataType::Utf8)?;
            for word in cast.as_string::<i32>() {
                list.push(word.map(str::trim).filter(|w| !is_missing(w)));
            }
        }
    }
    Ok(())
}
