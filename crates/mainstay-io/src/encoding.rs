//! Text that is not UTF-8, decoded in memory.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::error::Result;
use crate::source::Source;

/// The source as UTF-8 if it begins with the byte order mark of UTF-16.
pub(crate) fn utf16(source: &Source, start: &[u8]) -> Result<Option<Source>> {
    let encoding = match start {
        [0xff, 0xfe, ..] => UTF_16LE,
        [0xfe, 0xff, ..] => UTF_16BE,
        _ => return Ok(None),
    };
    decoded(source, encoding).map(Some)
}

/// The source as UTF-8, every byte a character of Windows-1252 (Latin-1 and some more).
pub(crate) fn latin1(source: &Source) -> Result<Source> {
    decoded(source, WINDOWS_1252)
}

fn decoded(source: &Source, encoding: &'static Encoding) -> Result<Source> {
    let bytes = source.bytes()?;
    let (text, _) = encoding.decode_with_bom_removal(&bytes);
    Ok(Source::Bytes(source.name(), text.into_owned().into_bytes().into()))
}
