//! Where bytes come from, what they hold, and the door to all readers.

use std::fs::{File, Metadata};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use mainstay::data::Table;

use crate::blocks::Limits;
use crate::error::{Error, Result};
use crate::libsvm::{self, SparseRows};

/// Where data come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory, with a name for messages and its extension.
    Bytes(String, Arc<[u8]>),
}

impl Source {
    /// A path as a user types it; `-` is standard input.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        if path.as_os_str() == "-" { Self::Stdin } else { Self::Path(path.to_owned()) }
    }

    /// The name used in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdin => "standard input".into(),
            Self::Bytes(name, _) => name.clone(),
        }
    }

    /// Standard input can be read once; held in memory, it can be read again.
    fn hold(self) -> Result<Self> {
        if !matches!(self, Self::Stdin) {
            return Ok(self);
        }
        let name = self.name();
        let bytes = read_lines(io::stdin().lock(), &name, Limits::default().record)?;
        Ok(Self::Bytes(name, bytes.into()))
    }

    /// Number of bytes, as far as it is known beforehand (packed ones, if they are packed).
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Self::Path(path) => path.metadata().ok().filter(Metadata::is_file).map(|m| m.len()),
            Self::Bytes(_, bytes) => Some(bytes.len() as u64),
            Self::Stdin => None,
        }
    }

    /// The bytes as they are.
    fn raw(&self) -> Result<Box<dyn Read + Send>> {
        let fail = |source| Error::Read { name: self.name(), source };
        Ok(match self {
            Self::Path(path) => {
                let file = File::open(path).map_err(fail)?;
                if file.metadata().is_ok_and(|m| m.is_dir()) {
                    return Err(Error::file(&self.name(), "this is a directory, not a file"));
                }
                Box::new(file)
            }
            Self::Bytes(_, bytes) => Box::new(Cursor::new(bytes.clone())),
            Self::Stdin => Box::new(io::stdin()),
        })
    }

    /// The bytes, decompressed if they begin as gzip does.
    pub(crate) fn open(&self) -> Result<Box<dyn Read + Send>> {
        let mut raw = self.raw()?;
        let start = first_bytes(&mut raw, 2, &self.name())?;
        let packed = start == [0x1f, 0x8b];
        let whole = Cursor::new(start).chain(raw);
        Ok(if packed { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
    }
}

fn first_bytes(input: &mut dyn Read, count: u64, name: &str) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    input.take(count).read_to_end(&mut start).map_err(|e| Error::read(name, e))?;
    Ok(start)
}

/// Everything there is, unless it begins with a line beyond all measure.
fn read_lines(mut input: impl Read, name: &str, limit: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let first = u64::try_from(limit).unwrap_or(u64::MAX);
    let fail = |e| Error::read(name, e);
    let got = input.by_ref().take(first).read_to_end(&mut bytes).map_err(fail)?;
    if got == limit && !bytes.contains(&b'\n') {
        let size = limit >> 20;
        return Err(Error::line(name, 1, format!("the line is longer than {size} MB")));
    }
    input.read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}

/// The formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text with one record a line, cells apart by a delimiter.
    Csv,
    /// `label index:value index:value ...`.
    Libsvm,
    /// Columns in Apache's binary format.
    Parquet,
}

/// How to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// `None`: by extension, or else by content.
    pub format: Option<Format>,
    /// CSV: what separates cells; `None`: the one of `,` `;` tab `|` that fits the first lines.
    pub delimiter: Option<u8>,
    /// CSV: whether the first record names the columns; otherwise they are `column1`, `column2`, ...
    pub header: bool,
    /// Columns kept as text even if every cell is a number. Names that do not occur are ignored.
    pub categorical: Vec<String>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { format: None, delimiter: None, header: true, categorical: Vec::new() }
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Named raw columns (CSV, Parquet).
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
}

/// Reads a whole source.
pub fn read(source: &Source, options: &ReadOptions) -> Result<Input> {
    let source = source.clone().hold()?;
    let name = source.name();
    let start = first_bytes(&mut source.open()?, 64 << 10, &name)?;
    match options.format.map_or_else(|| detect(&name, &start), Ok)? {
        Format::Csv => crate::csv::read(&source, options, Limits::default()).map(Input::Table),
        Format::Libsvm => libsvm::read(&source, Limits::default()).map(Input::Sparse),
        Format::Parquet => read_parquet(&source, options).map(Input::Table),
    }
}

/// The format by extension, or else by content.
fn detect(name: &str, start: &[u8]) -> Result<Format> {
    let lower = name.to_ascii_lowercase();
    let stem = lower.strip_suffix(".gz").unwrap_or(&lower);
    let extension = stem.rsplit_once('.').map_or("", |(_, e)| e);
    if start.starts_with(b"PAR1") {
        return Ok(Format::Parquet);
    }
    let binary = match start {
        [] => return Err(Error::file(name, "the file is empty")),
        [b'P', b'K', 3, 4, ..] => Some("a zip archive or a spreadsheet; export it as CSV"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("compressed with zstd; unpack it or use gzip"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16 text; save it as UTF-8"),
        _ if extension == "parquet" => Some("not a Parquet file, whatever its name says"),
        _ if start.contains(&0) => Some("binary; CSV, LIBSVM or Parquet is needed"),
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

#[cfg(feature = "parquet")]
fn read_parquet(source: &Source, options: &ReadOptions) -> Result<Table> {
    let name = source.name();
    if let Source::Path(path) = source {
        let fail = |source| Error::Read { name: name.clone(), source };
        return crate::parquet::read(File::open(path).map_err(fail)?, &name, options);
    }
    let mut bytes = Vec::new();
    source.open()?.read_to_end(&mut bytes).map_err(|e| Error::read(&name, e))?;
    crate::parquet::read(bytes::Bytes::from(bytes), &name, options)
}

#[cfg(not(feature = "parquet"))]
fn read_parquet(source: &Source, _: &ReadOptions) -> Result<Table> {
    let problem = "this build cannot read Parquet; build with the feature `parquet`";
    Err(Error::file(&source.name(), problem))
}
