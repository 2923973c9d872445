//! Parquet files into raw columns.

use std::fs::File;
use std::io::Read;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::Compression;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::ChunkReader;
use mainstay::data::Table;

use crate::chunks::{ChunkOptions, Outlet};
use crate::error::{Error, Result};
use crate::guard::guarded;
use crate::memory::{available_memory, too_large};
use crate::source::Source;

/// Bytes of a file up to which it is read as a whole: from a file, every column of every row group takes several reads.
const SMALL_FILE: u64 = 1 << 20;

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
    let builder = open(input, name)?;
    let rows = rows(&builder);
    let cells = rows.saturating_mul(builder.schema().fields().len() as u64);
    if available_memory().is_some_and(|free| cells.saturating_mul(4) > free) {
        return Err(too_large(name));
    }
    let schema = builder.schema().clone();
    let batches = builder.build().map_err(|e| damaged(name, e))?;
    crate::arrow::collect(&schema, batches, name, damaged)
}

/// Hands over the rows of a Parquet file; false if `source` is something else.
pub(crate) fn each_chunk_of_file(
    source: &Source,
    options: &ChunkOptions,
    outlet: &mut Outlet<'_>,
) -> Result<bool> {
    let Some((file, size)) = source.plain_file(b"PAR1")? else { return Ok(false) };
    let name = source.name();
    if size > SMALL_FILE {
        return each_chunk(file, &name, options, outlet).map(|()| true);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(SMALL_FILE).read_to_end(&mut bytes).map_err(|e| Error::read(&name, e))?;
    each_chunk(bytes::Bytes::from(bytes), &name, options, outlet).map(|()| true)
}

/// Hands over the rows, some thousand of the selected columns in memory at a time.
pub(crate) fn each_chunk(
    input: impl ChunkReader + 'static,
    name: &str,
    options: &ChunkOptions,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let work = || {
        let builder = open(input, name)?;
        let many = rows(&builder);
        outlet.expect(many);
        let schema = builder.schema().clone();
        let wanted = options.selected(schema.fields().iter().map(|f| f.name().as_str()));
        let kept: Vec<usize> = (0..wanted.len()).filter(|&j| wanted[j]).collect();
        let mask = ProjectionMask::roots(builder.parquet_schema(), kept.iter().copied());
        let schema = schema.project(&kept).map_err(|e| damaged(name, e))?;
        // The reader asks for the memory of a whole batch, however few rows the file has.
        let most = usize::try_from(many).unwrap_or(usize::MAX).max(1);
        let size = options.size.rows(kept.len()).min(most);
        let builder = builder.with_projection(mask).with_batch_size(size);
        let batches = builder.build().map_err(|e| damaged(name, e))?;
        crate::arrow::each_batch(&schema, batches, (name, damaged), options, outlet)
    };
    guarded(work).unwrap_or_else(|| Err(damaged(name, "the decoder gave up")))
}

fn open<R: ChunkReader + 'static>(
    input: R,
    name: &str,
) -> Result<ParquetRecordBatchReaderBuilder<R>> {
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
    Ok(builder)
}

fn rows<R: ChunkReader + 'static>(builder: &ParquetRecordBatchReaderBuilder<R>) -> u64 {
    let groups = builder.metadata().row_groups().iter();
    groups.map(|g| u64::try_from(g.num_rows()).unwrap_or(0)).sum()
}
