//! The door to all readers: which format a source has, and what was noticed on the way.

use std::io::{Cursor, Read};

use mainstay::data::{Gaps, Table};

use crate::blocks::Limits;
use crate::chunks::{ChunkOptions, Outlet};
use crate::error::{Error, Result};
use crate::libsvm::{self, SparseRows};
use crate::source::{Source, first_bytes, read_bounded};
use crate::{csv, encoding};

/// The formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text with one record per line, cells apart by a delimiter.
    Csv,
    /// `label index:value index:value ...`.
    Libsvm,
    /// Columns in Apache's binary format for disks.
    Parquet,
    /// Columns in Apache's binary format for memory: Arrow IPC files and streams, Feather.
    Arrow,
    /// Spreadsheets: xlsx, xlsb, xls, ods.
    Spreadsheet,
}

/// How to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// `None`: by extension, or else by content.
    pub format: Option<Format>,
    /// CSV: what separates cells; `None`: the one of `,` `;` tab `|` that fits the first lines.
    pub delimiter: Option<u8>,
    /// Whether the first record names the columns; otherwise they are `column1`, `column2`, ...
    pub header: bool,
    /// Columns kept as text even if every cell is a number. Names that do not occur are ignored.
    pub categorical: Vec<String>,
    /// Words for "no value".
    pub gaps: Gaps,
    /// CSV: whether numbers have a decimal comma; `None`: only if the delimiter is `;` and they do.
    pub decimal_comma: Option<bool>,
    /// Spreadsheets: name of the sheet; `None`: the first.
    pub sheet: Option<String>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            delimiter: None,
            header: true,
            categorical: Vec::new(),
            gaps: Gaps::default(),
            decimal_comma: None,
            sheet: None,
        }
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Named raw columns (CSV, Parquet, Arrow, spreadsheets).
    Table(Table),
    /// Sparse numeric features without names, and labels (LIBSVM).
    Sparse(SparseRows),
}

impl Input {
    /// Number of rows.
    pub fn nrows(&self) -> usize {
        match self {
            Self::Table(table) => table.nrows(),
            Self::Sparse(rows) => rows.features.nrows(),
        }
    }

    /// Numbers and words that are held.
    pub(crate) fn cells(&self) -> usize {
        match self {
            Self::Table(table) => table.nrows() * table.columns().len(),
            Self::Sparse(rows) => rows.features.values().len() + rows.features.nrows(),
        }
    }
}

/// Reads a whole source.
pub fn read(source: &Source, options: &ReadOptions) -> Result<Input> {
    read_noted(source, options).map(|(input, _)| input)
}

/// Reads a table; sparse rows are an error.
pub fn read_table(source: &Source, options: &ReadOptions) -> Result<Table> {
    match read(source, options)? {
        Input::Table(table) => Ok(table),
        Input::Sparse(_) => {
            Err(Error::file(&source.name(), "LIBSVM rows have no columns; a table is needed"))
        }
    }
}

/// Reads a whole source; the sentences say what was noticed and decided on the way.
pub fn read_noted(source: &Source, options: &ReadOptions) -> Result<(Input, Vec<String>)> {
    let source = source.clone().hold()?;
    let name = source.name();
    let start = first_bytes(&mut source.open()?, 64 << 10, &name)?;
    let mut notes = Vec::new();
    if let Some(text) = encoding::utf16(&source, &start)? {
        notes.push(format!("{name} is UTF-16 text and was decoded as such"));
        return read_text(&text, options, notes);
    }
    match options.format.map_or_else(|| detect(&name, &start), Ok)? {
        Format::Csv => read_text(&source, options, notes),
        Format::Libsvm => {
            libsvm::read(&source, Limits::default()).map(|rows| (Input::Sparse(rows), notes))
        }
        Format::Parquet => columns(&source, options, binary::parquet).map(|t| (t, notes)),
        Format::Arrow => columns(&source, options, binary::arrow).map(|t| (t, notes)),
        Format::Spreadsheet => columns(&source, options, binary::spreadsheet).map(|t| (t, notes)),
    }
}

/// CSV text; bytes that are not UTF-8 are read as Windows-1252, which contains Latin-1.
fn read_text(
    source: &Source,
    options: &ReadOptions,
    mut notes: Vec<String>,
) -> Result<(Input, Vec<String>)> {
    let found = match csv::read(source, options, Limits::default()) {
        Err(Error::NotUtf8 { name, line }) => {
            notes.push(format!("{name} is not UTF-8 (line {line}); it was read as Latin-1"));
            csv::read(&encoding::latin1(source)?, options, Limits::default())
        }
        found => found,
    };
    let (table, more) = found?;
    notes.extend(more);
    Ok((Input::Table(table), notes))
}

/// Hands over the rows of a source in chunks.
pub(crate) fn each_chunk(
    source: &Source,
    options: &ChunkOptions,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    #[cfg(feature = "parquet")]
    if options.read.format.is_none_or(|format| format == Format::Parquet)
        && crate::parquet::each_chunk_of_file(source, options, outlet)?
    {
        return Ok(());
    }
    let name = source.name();
    let mut input = source.open()?;
    let start = first_bytes(&mut input, START, &name)?;
    let input = Cursor::new(start.clone()).chain(input);
    let input: Box<dyn Read + Send> = match encoding::utf16_stream(input, &start) {
        Ok(mut text) => {
            outlet.note(format!("{name} is UTF-16 text and was decoded as such"));
            let start = first_bytes(&mut text, START, &name)?;
            let input = Cursor::new(start.clone()).chain(text);
            return csv::each_chunk(input, &start, &name, options, outlet);
        }
        Err(input) => Box::new(input),
    };
    match options.read.format.map_or_else(|| detect(&name, &start), Ok)? {
        Format::Csv => csv_chunks(input, &start, &name, options, outlet),
        Format::Libsvm => libsvm::each_chunk(input, &name, options.size.limits(), outlet),
        Format::Parquet => binary::parquet_chunks(source, input, options, outlet),
        Format::Arrow => binary::arrow_chunks(source, &start, input, options, outlet),
        Format::Spreadsheet => {
            let held = held(source, input)?;
            let table = columns(&held, &options.read, binary::spreadsheet)?;
            outlet.give(table)
        }
    }
}

/// CSV rows in UTF-8, or in Latin-1 from the first line on that is not.
fn csv_chunks(
    input: Box<dyn Read + Send>,
    start: &[u8],
    name: &str,
    options: &ChunkOptions,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let found = encoding::Latin1From::default();
    let text = encoding::Latin1OrUtf8::new(input, found.clone());
    csv::each_chunk(text, start, name, options, outlet)?;
    if let Some(line) = found.get() {
        outlet.note(format!("{name} is not UTF-8 (line {line}); it was read as Latin-1"));
    }
    Ok(())
}

/// Bytes that are looked at before reading begins.
const START: u64 = 1 << 20;

/// A source that can be read from any place; `input` are its bytes, of which none was taken for good.
fn held(source: &Source, input: Box<dyn Read + Send>) -> Result<Source> {
    match source {
        Source::Path(path) if path.metadata().is_ok_and(|m| m.is_file()) => Ok(source.clone()),
        Source::Bytes(..) => Ok(source.clone()),
        _ => Ok(Source::Bytes(source.name(), read_bounded(input, &source.name())?.into())),
    }
}

type Reader = fn(&Source, &ReadOptions) -> Result<Table>;

/// A table of a binary format, with the columns that are to be text as text.
fn columns(source: &Source, options: &ReadOptions, reader: Reader) -> Result<Input> {
    let mut table = reader(source, options)?;
    for column in &options.categorical {
        if table.names().any(|n| n == column) {
            table.make_categorical(column)?;
        }
    }
    Ok(Input::Table(table))
}

/// The format by content, or else by extension.
fn detect(name: &str, start: &[u8]) -> Result<Format> {
    let lower = name.to_ascii_lowercase();
    let stem = lower.strip_suffix(".gz").unwrap_or(&lower);
    let extension = stem.rsplit_once('.').map_or("", |(_, e)| e);
    let by_content = match start {
        [] => return Err(Error::file(name, "the file is empty")),
        [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Format::Arrow),
        // A stream begins with a continuation mark and the length of its schema.
        [0xff, 0xff, 0xff, 0xff, ..] if matches!(extension, "arrow" | "arrows" | "ipc") => {
            Some(Format::Arrow)
        }
        [b'P', b'K', 3, 4, ..] | [0xd0, 0xcf, 0x11, 0xe0, ..] => Some(Format::Spreadsheet),
        _ => None,
    };
    if let Some(format) = by_content {
        return Ok(format);
    }
    let binary = match start {
        [b'F', b'E', b'A', b'1', ..] => {
            Some("Feather of version 1; write it as version 2 or Parquet")
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("compressed with zstd; unpack it or use gzip"),
        _ if extension == "parquet" => Some("not a Parquet file, whatever its name says"),
        _ if start.contains(&0) => {
            Some("binary; CSV, LIBSVM, Parquet, Arrow or a spreadsheet is needed")
        }
        _ => None,
    };
    if let Some(what) = binary {
        return Err(Error::file(name, format!("the file is {what}")));
    }
    Ok(match extension {
        "libsvm" | "svm" | "svmlight" => Format::Libsvm,
        "csv" | "tsv" => Format::Csv,
        _ if libsvm::looks_like(start) => Format::Libsvm,
        _ => Format::Csv,
    })
}

/// Formats that may not be built in.
mod binary {
    use std::io::Read;

    use mainstay::data::Table;

    use super::ReadOptions;
    use crate::chunks::{ChunkOptions, Outlet};
    #[cfg(not(all(feature = "parquet", feature = "spreadsheet")))]
    use crate::error::Error;
    use crate::error::Result;
    use crate::source::Source;

    #[cfg(not(all(feature = "parquet", feature = "spreadsheet")))]
    fn not_built(source: &Source, what: &str, feature: &str) -> Result<Table> {
        let problem = format!("this build cannot read {what}; build with the feature `{feature}`");
        Err(Error::file(&source.name(), problem))
    }

    #[cfg(feature = "parquet")]
    pub(super) fn parquet(source: &Source, _: &ReadOptions) -> Result<Table> {
        crate::parquet::read(source)
    }

    #[cfg(not(feature = "parquet"))]
    pub(super) fn parquet(source: &Source, _: &ReadOptions) -> Result<Table> {
        not_built(source, "Parquet", "parquet")
    }

    #[cfg(feature = "parquet")]
    pub(super) fn arrow(source: &Source, _: &ReadOptions) -> Result<Table> {
        crate::arrow::read(source)
    }

    #[cfg(not(feature = "parquet"))]
    pub(super) fn arrow(source: &Source, _: &ReadOptions) -> Result<Table> {
        not_built(source, "Arrow", "parquet")
    }

    #[cfg(feature = "parquet")]
    pub(super) fn parquet_chunks(
        source: &Source,
        input: Box<dyn Read + Send>,
        options: &ChunkOptions,
        outlet: &mut Outlet<'_>,
    ) -> Result<()> {
        // Files were read from where they are.
        let bytes = bytes::Bytes::from(super::held(source, input)?.bytes()?);
        crate::parquet::each_chunk(bytes, &source.name(), options, outlet)
    }

    #[cfg(not(feature = "parquet"))]
    pub(super) fn parquet_chunks(
        source: &Source,
        _: Box<dyn Read + Send>,
        _: &ChunkOptions,
        _: &mut Outlet<'_>,
    ) -> Result<()> {
        not_built(source, "Parquet", "parquet").map(|_| ())
    }

    #[cfg(feature = "parquet")]
    pub(super) fn arrow_chunks(
        source: &Source,
        start: &[u8],
        input: Box<dyn Read + Send>,
        options: &ChunkOptions,
        outlet: &mut Outlet<'_>,
    ) -> Result<()> {
        let name = source.name();
        if !start.starts_with(b"ARROW1") {
            return crate::arrow::each_chunk_of_stream(input, &name, options, outlet);
        }
        let source = super::held(source, input)?;
        if let Some((file, _)) = source.plain_file(b"ARROW1")? {
            return crate::arrow::each_chunk_of_file(file, &name, options, outlet);
        }
        let bytes = std::io::Cursor::new(source.bytes()?);
        crate::arrow::each_chunk_of_file(bytes, &name, options, outlet)
    }

    #[cfg(not(feature = "parquet"))]
    pub(super) fn arrow_chunks(
        source: &Source,
        _: &[u8],
        _: Box<dyn Read + Send>,
        _: &ChunkOptions,
        _: &mut Outlet<'_>,
    ) -> Result<()> {
        not_built(source, "Arrow", "parquet").map(|_| ())
    }

    #[cfg(feature = "spreadsheet")]
    pub(super) fn spreadsheet(source: &Source, options: &ReadOptions) -> Result<Table> {
        crate::spreadsheet::read(source, options)
    }

    #[cfg(not(feature = "spreadsheet"))]
    pub(super) fn spreadsheet(source: &Source, _: &ReadOptions) -> Result<Table> {
        not_built(source, "spreadsheets", "spreadsheet")
    }
}
