//! Parquet files into raw columns.

use std::fs::File;

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::Compression;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::ChunkReader;
use mainstay::data::Table;

use crate::error::{Error, Result};
use crate::guard::guarded;
use crate::memory::{available_memory, too_large};
use crate::source::Source;

/// Reads a Parquet file from where it is, or from memory.
pub(crate) fn read(source: &Source) -> Result<Table> {
    let name = source.name();
    let found = if let Source::Path(path) = source {
        let file = File::open(path).map_err(|e| Error::Read { name: name.clone(), source: e })?;
        guarded(|| read_columns(file, &name))
    } else {
        let bytes = bytes::Bytes::from(source.bytes()?);
        guarded(|| read_columns(bytes, &name))
    };
    // The decoder panics on some damaged files; for the caller that is damage like any other.
    found.unwrap_or_else(|| Err(damaged(&name, "the decoder gave up")))
}

fn damaged(name: &str, why: impl std::fmt::Display) -> Error {
    let why = why.to_string().replace('\n', " ");
    Error::file(name, format!("the Parquet data are damaged or cut short ({why})"))
}

fn read_columns(input: impl ChunkReader + 'static, name: &str) -> Result<Table> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(input).map_err(|e| damaged(name, e))?;
    let groups = builder.metadata().row_groups();
    let zstd = |c: Compression| matches!(c, Compression::ZSTD(_));
    if !cfg!(feature = "zstd")
        && groups.iter().flat_map(RowGroupMetaData::columns).any(|c| zstd(c.compression()))
    {
        let problem = "compressed with zstd; build with the feature `zstd`, \
                       or write the file with snappy or gzip";
        return Err(Error::file(name, problem));
    }
    let rows: u64 = groups.iter().map(|g| u64::try_from(g.num_rows()).unwrap_or(0)).sum();
    let cells = rows.saturating_mul(builder.schema().fields().len() as u64);
    if available_memory().is_some_and(|free| cells.saturating_mul(4) > free) {
        return Err(too_large(name));
    }
    let schema = builder.schema().clone();
    let batches = builder.build().map_err(|e| damaged(name, e))?;
    crate::arrow::collect(&schema, batches, name, damaged)
}
