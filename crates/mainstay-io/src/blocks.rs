//! Text input in large blocks of whole records, parsed in parallel, in bounded memory.

use std::io::Read;

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Sizes in bytes; small ones serve tests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Of a block, unless one record needs more.
    pub(crate) block: usize,
    /// Of a record; a longer one is an error.
    pub(crate) record: usize,
    /// Blocks parsed at a time, at most.
    pub(crate) batch: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { block: 1 << 20, record: 256 << 20, batch: usize::MAX }
    }
}

/// Where records end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Records {
    /// At every line feed.
    Lines,
    /// At line feeds outside quoted cells; the byte separates cells.
    Quoted(u8),
}

/// Whole records, and where they start.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) bytes: Vec<u8>,
    /// Line of the first byte, counted from 1.
    pub(crate) line: u64,
    /// How many lines end in it.
    ends: u64,
    /// Whether a quoted cell is possible.
    pub(crate) quoted: bool,
}

impl Block {
    pub(crate) fn new(bytes: Vec<u8>, line: u64) -> Self {
        let quoted = has_quote(&bytes);
        Self::known(bytes, line, quoted)
    }

    fn known(bytes: Vec<u8>, line: u64, quoted: bool) -> Self {
        let ends = newlines(&bytes);
        Self { bytes, line, ends, quoted }
    }

    /// At least as many as there are records, unless line ends are of the old kind.
    pub(crate) fn lines(&self) -> usize {
        let last = usize::from(self.bytes.last().is_some_and(|b| *b != b'\n'));
        usize::try_from(self.ends).unwrap_or(0) + last
    }

    /// The line of the byte at `at`, counted from 1 in the whole input.
    pub(crate) fn line_at(&self, at: usize) -> u64 {
        self.line + newlines(&self.bytes[..at])
    }
}

/// Cuts a stream into blocks.
pub(crate) struct Blocks<'a, R> {
    input: R,
    name: &'a str,
    records: Records,
    limits: Limits,
    /// Read, but not yet handed out.
    rest: Vec<u8>,
    /// Memory of blocks that are done with: fresh memory costs about as much as reading into it.
    spare: Vec<Vec<u8>>,
    line: u64,
    ended: bool,
}

impl<'a, R: Read> Blocks<'a, R> {
    pub(crate) fn new(input: R, name: &'a str, records: Records, limits: Limits) -> Self {
        let (rest, spare) = (Vec::new(), Vec::new());
        Self { input, name, records, limits, rest, spare, line: 1, ended: false }
    }

    /// The first bytes without taking them: a block's worth, or all there are.
    pub(crate) fn peek(&mut self) -> Result<&[u8]> {
        self.fill(self.limits.block)?;
        Ok(&self.rest)
    }

    /// Changes what ends a record, before the first block is taken.
    pub(crate) fn set_records(&mut self, records: Records) {
        self.records = records;
    }

    /// Drops the first `count` bytes that are waiting (a byte order mark).
    pub(crate) fn skip(&mut self, count: usize) {
        self.rest.drain(..count);
    }

    /// The next whole records; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Block>> {
        let mut wanted = self.limits.block;
        let (end, quoted) = loop {
            self.fill(wanted)?;
            let scan = scan(&self.rest, self.records);
            if self.ended {
                if let Some(quote) = scan.open_quote {
                    let line = self.line + newlines(&self.rest[..quote]);
                    return Err(Error::line(self.name, line, "a quote is opened but never closed"));
                }
                break (self.rest.len(), scan.quoted);
            }
            if scan.end > 0 {
                break (scan.end, scan.quoted);
            }
            if self.rest.len() >= self.limits.record {
                let size = self.limits.record >> 20;
                let problem = format!(
                    "the record is longer than {size} MB; is a quote not closed, \
                     or is this not a text file with one record per line?"
                );
                return Err(Error::line(self.name, self.line, problem));
            }
            wanted = (2 * self.rest.len()).min(self.limits.record);
        };
        if end == 0 {
            return Ok(None);
        }
        let mut next = self.spare.pop().unwrap_or_default();
        next.extend_from_slice(&self.rest[end..]);
        self.rest.truncate(end);
        let bytes = std::mem::replace(&mut self.rest, next);
        let block = Block::known(bytes, self.line, quoted);
        self.line += block.ends;
        Ok(Some(block))
    }

    /// Up to `count` blocks.
    fn take(&mut self, count: usize) -> Result<Vec<Block>> {
        let mut blocks = Vec::with_capacity(count);
        while blocks.len() < count {
            match self.next()? {
                Some(block) => blocks.push(block),
                None => break,
            }
        }
        Ok(blocks)
    }

    /// Parses all further blocks, several at a time while the next ones are read, and hands the
    /// results over in order, as many as are ready.
    pub(crate) fn parse<T: Send>(
        mut self,
        parse: impl Fn(&Block) -> Result<T> + Sync,
        mut accept: impl FnMut(Vec<T>) -> Result<()>,
    ) -> Result<()>
    where
        R: Send,
    {
        // Many blocks a batch: every batch ends with all threads waiting for the slowest.
        let count = (8 * rayon::current_num_threads()).clamp(1, self.limits.batch);
        let mut batch = self.take(count)?;
        while !batch.is_empty() {
            let (parsed, next) = rayon::join(
                || batch.par_iter().map(&parse).collect::<Vec<Result<T>>>(),
                || self.take(count),
            );
            accept(parsed.into_iter().collect::<Result<_>>()?)?;
            let done = std::mem::replace(&mut batch, next?);
            self.spare.extend(done.into_iter().map(|block| emptied(block.bytes)));
        }
        Ok(())
    }

    fn fill(&mut self, size: usize) -> Result<()> {
        let missing = size.saturating_sub(self.rest.len());
        if missing == 0 || self.ended {
            return Ok(());
        }
        self.rest.reserve(missing);
        let limit = u64::try_from(missing).unwrap_or(u64::MAX);
        let got = self.input.by_ref().take(limit).read_to_end(&mut self.rest);
        self.ended = got.map_err(|e| Error::read(self.name, e))? < missing;
        Ok(())
    }
}

fn emptied(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.clear();
    bytes
}

fn has_quote(bytes: &[u8]) -> bool {
    memchr::memchr(b'"', bytes).is_some()
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// What a run of bytes that begins with a record holds.
struct Scan {
    /// Just after the last record that is complete; 0 if none is.
    end: usize,
    /// The quote that is still open at the end of the bytes.
    open_quote: Option<usize>,
    /// Whether a quoted cell is possible.
    quoted: bool,
}

fn scan(bytes: &[u8], records: Records) -> Scan {
    match records {
        Records::Quoted(delimiter) if has_quote(bytes) => scan_quoted(bytes, delimiter),
        _ => {
            let end = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
            Scan { end, open_quote: None, quoted: false }
        }
    }
}

/// A quote opens a quoted cell only as the cell's first byte; inside, two quotes are one.
fn scan_quoted(bytes: &[u8], delimiter: u8) -> Scan {
    enum State {
        CellStart,
        Plain,
        Quoted,
        QuoteInQuoted,
    }
    let (mut state, mut end, mut opened) = (State::CellStart, 0, 0);
    for (at, &byte) in bytes.iter().enumerate() {
        state = match (state, byte) {
            (State::CellStart, b'"') => {
                opened = at;
                State::Quoted
            }
            (State::Quoted, b'"') => State::QuoteInQuoted,
            (State::Quoted, _) | (State::QuoteInQuoted, b'"') => State::Quoted,
            (_, b'\n') => {
                end = at + 1;
                State::CellStart
            }
            (_, b'\r') => State::CellStart,
            (_, byte) if byte == delimiter => State::CellStart,
            _ => State::Plain,
        };
    }
    let open_quote = matches!(state, State::Quoted).then_some(opened);
    Scan { end, open_quote, quoted: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &[u8], block: usize, record: usize) -> Result<Vec<Block>> {
        let limits = Limits { block, record, ..Limits::default() };
        let mut blocks = Blocks::new(text, "t.csv", Records::Quoted(b','), limits);
        let mut all = Vec::new();
        while let Some(block) = blocks.next()? {
            all.push(block);
        }
        Ok(all)
    }

    #[test]
    fn cuts_fall_between_records_whatever_the_block_size() {
        let text = b"a,b\n\"x\ny\",\"q\"\"\n\"\n5\" pipe,2\n\"w\"z\",3\n7,8";
        let ends = [4, 17, 27, 35, 38];
        for block in 1..60 {
            let parts = blocks(text, block, 1000).unwrap();
            let mut at = 0;
            for part in &parts {
                let lines = text[..at].split(|b| *b == b'\n').count();
                assert_eq!(part.line, lines as u64);
                at += part.bytes.len();
                assert!(ends.contains(&at), "block size {block}: cut at {at}");
            }
            assert_eq!(at, text.len());
        }
    }

    #[test]
    fn an_open_quote_is_found_where_it_opens() {
        for block in [1, 3, 100] {
            let message = blocks(b"a\n1\n\"2\n3\n", block, 1000).unwrap_err().to_string();
            assert_eq!(message, "t.csv, line 3: a quote is opened but never closed");
        }
    }

    #[test]
    fn a_line_of_two_gigabytes_is_refused_early() {
        let limits = Limits { block: 1 << 10, record: 1 << 20, ..Limits::default() };
        let endless = std::io::repeat(b'1');
        let mut blocks = Blocks::new(endless, "t.csv", Records::Quoted(b','), limits);
        let message = blocks.next().unwrap_err().to_string();
        assert!(message.starts_with("t.csv, line 1: the record is longer than 1 MB"), "{message}");
    }
}
