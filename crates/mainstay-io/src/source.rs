//! Where bytes come from.

use std::fs::{File, Metadata};
#[cfg(feature = "parquet")]
use std::io::Seek;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use crate::blocks::Limits;
use crate::error::{Error, Result};
use crate::memory::{Allowance, too_large};

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

    /// A source that can be read more than once: standard input, pipes and devices are taken into memory, since
    /// what was read from them is gone. A plain file is left where it is.
    pub(crate) fn hold(self) -> Result<Self> {
        let name = self.name();
        let limit = Limits::default().record;
        let bytes = match &self {
            Self::Bytes(..) => return Ok(self),
            Self::Path(path) if path.metadata().is_ok_and(|m| m.is_file() || m.is_dir()) => {
                return Ok(self);
            }
            Self::Path(_) => read_lines(self.raw()?, &name, limit)?,
            Self::Stdin => read_lines(io::stdin().lock(), &name, limit)?,
        };
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
    pub(crate) fn raw(&self) -> Result<Box<dyn Read + Send>> {
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

    /// The file itself, from its start, and its bytes, if this is one that begins with `magic`, so that it can be read from
    /// any place.
    #[cfg(feature = "parquet")]
    pub(crate) fn plain_file(&self, magic: &[u8]) -> Result<Option<(File, u64)>> {
        let Self::Path(path) = self else { return Ok(None) };
        let fail = |source| Error::Read { name: self.name(), source };
        // A pipe gives its first bytes only once.
        let Some(size) = self.size().filter(|size| *size >= magic.len() as u64) else {
            return Ok(None);
        };
        let mut file = File::open(path).map_err(fail)?;
        let start = first_bytes(&mut file, magic.len() as u64, &self.name())?;
        file.rewind().map_err(fail)?;
        Ok((start == magic).then_some((file, size)))
    }

    /// All bytes, decompressed; an error if they do not fit into memory.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>> {
        read_bounded(self.open()?, &self.name())
    }
}

/// The first `count` bytes, or all there are.
pub(crate) fn first_bytes(input: &mut dyn Read, count: u64, name: &str) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    input.take(count).read_to_end(&mut start).map_err(|e| Error::read(name, e))?;
    Ok(start)
}

/// Everything there is, as far as there is memory for it.
pub(crate) fn read_bounded(input: impl Read, name: &str) -> Result<Vec<u8>> {
    let limit = Allowance::now().left().unwrap_or(u64::MAX - 1);
    let mut bytes = Vec::new();
    let got = input.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    if got.map_err(|e| Error::read(name, e))? as u64 > limit {
        return Err(too_large(name));
    }
    Ok(bytes)
}

/// Everything there is, unless it begins with a line beyond all measure.
fn read_lines(mut input: impl Read, name: &str, limit: usize) -> Result<Vec<u8>> {
    let first = u64::try_from(limit).unwrap_or(u64::MAX);
    let mut bytes = first_bytes(&mut input, first, name)?;
    let text = !bytes.starts_with(b"PAR1")
        && !bytes.starts_with(b"PK")
        && !bytes.starts_with(&[0x1f, 0x8b]);
    if bytes.len() == limit && text && !bytes.contains(&b'\n') {
        let size = limit >> 20;
        return Err(Error::line(name, 1, format!("the line is longer than {size} MB")));
    }
    bytes.extend(read_bounded(input, name)?);
    Ok(bytes)
}
