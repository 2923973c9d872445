//! Text that is not UTF-8, decoded in memory or as it comes.

use std::io::{self, Read};
use std::sync::{Arc, OnceLock};

use encoding_rs::{Decoder, Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::blocks::MARK;
use crate::error::Result;
use crate::source::Source;

/// The source as UTF-8 if it begins with the byte order mark of UTF-16.
pub(crate) fn utf16(source: &Source, start: &[u8]) -> Result<Option<Source>> {
    utf16_order(start).map(|encoding| decoded(source, encoding)).transpose()
}

fn utf16_order(start: &[u8]) -> Option<&'static Encoding> {
    match start {
        [0xff, 0xfe, ..] => Some(UTF_16LE),
        [0xfe, 0xff, ..] => Some(UTF_16BE),
        _ => None,
    }
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

/// Bytes read at a time, unless a test asks for fewer.
const PIECE: usize = 1 << 16;

/// The input as UTF-8 if `start` begins with the byte order mark of UTF-16; `input` includes `start`.
pub(crate) fn utf16_stream<R: Read>(input: R, start: &[u8]) -> std::result::Result<Utf16<R>, R> {
    match utf16_order(start) {
        Some(encoding) => Ok(Utf16 {
            input,
            decoder: encoding.new_decoder_with_bom_removal(),
            ready: Ready::default(),
            ended: false,
            piece: PIECE,
        }),
        None => Err(input),
    }
}

/// Decoded bytes that wait to be taken.
#[derive(Default)]
struct Ready {
    bytes: Vec<u8>,
    at: usize,
}

impl Ready {
    fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn set(&mut self, bytes: Vec<u8>) {
        (self.bytes, self.at) = (bytes, 0);
    }

    fn take(&mut self, out: &mut [u8]) -> usize {
        let count = out.len().min(self.bytes.len() - self.at);
        out[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        count
    }
}

/// UTF-16 as UTF-8.
pub(crate) struct Utf16<R> {
    input: R,
    decoder: Decoder,
    ready: Ready,
    ended: bool,
    /// Bytes read at a time.
    piece: usize,
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() && !self.ended {
            let raw = piece(&mut self.input, self.piece)?;
            self.ended = raw.is_empty();
            let length = self.decoder.max_utf8_buffer_length(raw.len());
            let mut text = vec![0; length.ok_or_else(|| io::Error::other("a block is too long"))?];
            let (_, _, written, _) = self.decoder.decode_to_utf8(&raw, &mut text, self.ended);
            text.truncate(written);
            self.ready.set(text);
        }
        Ok(self.ready.take(out))
    }
}

/// Up to `size` bytes; none at the end.
fn piece(input: &mut impl Read, size: usize) -> io::Result<Vec<u8>> {
    let mut raw = Vec::with_capacity(size);
    input.by_ref().take(size as u64).read_to_end(&mut raw)?;
    Ok(raw)
}

/// The line, counted from 1, from which on text was read as Latin-1, once that is known.
pub(crate) type Latin1From = Arc<OnceLock<u64>>;

/// Text that is UTF-8, or Windows-1252 (Latin-1 and some more) if the first bytes beyond ASCII are not UTF-8.
///
/// Bytes that are not UTF-8 after others that are pass as they come: whoever reads the cell will name its line.
pub(crate) struct Latin1OrUtf8<R> {
    input: R,
    state: State,
    /// The beginning of a character that was cut by the end of a piece.
    cut: Vec<u8>,
    lines: u64,
    found: Latin1From,
    ready: Ready,
    ended: bool,
    /// Bytes read at a time.
    piece: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Ascii,
    Utf8,
    Latin1,
    /// UTF-8 and then something else.
    AsItComes,
}

impl<R: Read> Latin1OrUtf8<R> {
    pub(crate) fn new(input: R, found: Latin1From) -> Self {
        let (cut, ready) = (Vec::new(), Ready::default());
        let state = State::Ascii;
        Self { input, state, cut, lines: 1, found, ready, ended: false, piece: PIECE }
    }

    fn decode(&mut self, mut raw: Vec<u8>) -> Vec<u8> {
        match self.state {
            State::Latin1 => return latin1_text(&raw),
            State::AsItComes => return raw,
            State::Ascii | State::Utf8 => {}
        }
        let (valid, broken) = match std::str::from_utf8(&raw) {
            Ok(_) => (raw.len(), false),
            Err(error) => (error.valid_up_to(), error.error_len().is_some() || self.ended),
        };
        let mark = usize::from(self.lines == 1 && raw.starts_with(MARK)) * MARK.len();
        if self.state == State::Ascii && !raw[mark..valid.max(mark)].is_ascii() {
            self.state = State::Utf8;
        }
        if !broken {
            self.cut = raw.split_off(valid);
            if self.state == State::Ascii {
                self.lines += memchr::memchr_iter(b'\n', &raw).count() as u64;
            }
            return raw;
        }
        if self.state == State::Utf8 {
            self.state = State::AsItComes;
            return raw;
        }
        self.state = State::Latin1;
        let before = memchr::memchr_iter(b'\n', &raw[..valid]).count() as u64;
        // Set once, here.
        let _ = self.found.set(self.lines + before);
        latin1_text(&raw)
    }
}

fn latin1_text(raw: &[u8]) -> Vec<u8> {
    WINDOWS_1252.decode_without_bom_handling(raw).0.into_owned().into_bytes()
}

impl<R: Read> Read for Latin1OrUtf8<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() && !self.ended {
            let more = piece(&mut self.input, self.piece)?;
            self.ended = more.is_empty();
            let mut raw = std::mem::take(&mut self.cut);
            raw.extend(more);
            let text = self.decode(raw);
            self.ready.set(text);
        }
        Ok(self.ready.take(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], size: usize) -> (Vec<u8>, Option<u64>) {
        let found = Latin1From::default();
        let mut reader = Latin1OrUtf8 { piece: size, ..Latin1OrUtf8::new(text, found.clone()) };
        let mut out = Vec::new();
        reader.read_to_end(&mut out).unwrap();
        (out, found.get().copied())
    }

    #[test]
    fn latin1_is_known_by_its_first_letter_beyond_ascii() {
        for size in [1, 3, 1000] {
            assert_eq!(
                read(b"a\nb\nna\xefve\n\xe9", size),
                ("a\nb\nna\u{ef}ve\n\u{e9}".into(), Some(3))
            );
            let text = "\u{feff}na\u{ef}ve \u{20ac}\n".as_bytes();
            assert_eq!(read(text, size), (text.to_vec(), None));
            // UTF-8 first: what follows is somebody's mistake, to be named where it is.
            let mixed = b"\xc3\xa9\n\xe9\n";
            assert_eq!(read(mixed, size), (mixed.to_vec(), None));
            // A character that is cut at the very end.
            assert_eq!(read(b"a\xc3", size), ("a\u{c3}".into(), Some(1)));
        }
    }

    #[test]
    fn utf16_is_decoded_as_it_comes() {
        let text = "x,y\n1,\u{1f600}\u{e9}\n";
        let bytes: Vec<u8> =
            [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        for size in [1, 3, 1000] {
            let Ok(mut reader) = utf16_stream(bytes.as_slice(), &bytes) else { panic!() };
            reader.piece = size;
            let mut out = String::new();
            reader.read_to_string(&mut out).unwrap();
            assert_eq!(out, text);
        }
    }
}
