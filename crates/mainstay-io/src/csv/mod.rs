//! Delimited text into raw columns.
//!
//! A record ends at a line feed outside quotes; blank lines are skipped; spaces around a cell are
//! not part of it. A column holds numbers if every cell that is not missing is one, text otherwise.

use std::sync::Mutex;

use std::collections::HashSet;

use mainstay::data::{Cells, Column, Table, WordList};
use rayon::prelude::*;

mod cells;
mod chunks;
mod comma;
mod header;

use crate::blocks::{Block, Blocks, Limits, Records};
use crate::error::{Error, Result};
use crate::memory::Allowance;
use crate::reading::ReadOptions;
use crate::source::Source;
use cells::{Grammar, Kind};
use comma::Commas;

pub(crate) use chunks::each_chunk;

/// Rows that columns are prepared for, at most.
const MOST_EXPECTED: u64 = 1 << 24;

/// Candidates for a delimiter that was not given, the usual first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Reads the table; the sentences say what was noticed on the way.
pub(crate) fn read(
    source: &Source,
    options: &ReadOptions,
    limits: Limits,
) -> Result<(Table, Vec<String>)> {
    let name = source.name();
    let mut text: HashSet<String> = options.categorical.iter().cloned().collect();
    loop {
        let (columns, delimiter) = read_once(source, &name, options, &text, limits)?;
        // A column whose first word comes late was first taken for numbers, and the exact text of
        // its numbers is lost: `01` and `1` would be one category. Those columns are read again.
        let late: Vec<String> =
            columns.iter().filter(|c| c.is_mixed).map(|c| c.name.clone()).collect();
        if late.is_empty() {
            let columns: Vec<Column> = columns.into_par_iter().map(Growing::finish).collect();
            let mut commas = Commas::new(delimiter, options, &name, &[]);
            let columns = commas.settle(columns);
            let notes = commas.finish()?.into_iter().collect();
            return Ok((Table::new(columns).map_err(Error::content(&name))?, notes));
        }
        text.extend(late);
    }
}

fn read_once(
    source: &Source,
    name: &str,
    options: &ReadOptions,
    text: &HashSet<String>,
    limits: Limits,
) -> Result<(Vec<Growing>, u8)> {
    let mut blocks = Blocks::new(source.open()?, name, Records::Lines, limits);
    blocks.skip_mark()?;
    let delimiter = match options.delimiter {
        Some(delimiter) => delimiter,
        None => guess_delimiter(blocks.peek()?),
    };
    blocks.set_records(Records::Quoted(delimiter));
    let first = blocks.next()?.ok_or_else(|| Error::file(name, "the file is empty"))?;
    let (names, body) = header::take(first, name, delimiter, options.header)?;
    let kinds: Vec<Kind> =
        names.iter().map(|n| if text.contains(n) { Kind::Words } else { Kind::Numbers }).collect();
    let gaps = &options.gaps;
    let grammar = Grammar { name, delimiter, kinds, gaps, used: Mutex::default() };
    let rows = expected_rows(source, &body);
    let mut columns: Vec<Growing> = names.into_iter().map(|n| Growing::new(n, rows)).collect();
    let mut allowance = Allowance::now();
    let mut accept = |ready: Vec<Vec<Cells>>| {
        allowance.take(ready.iter().flatten().map(size).sum(), name)?;
        columns.par_iter_mut().enumerate().for_each(|(j, column)| {
            for cells in &ready {
                column.append(&cells[j]);
            }
        });
        grammar.reuse(ready);
        Ok(())
    };
    accept(vec![grammar.parse(&body)?])?;
    blocks.parse(|block| grammar.parse(block), accept)?;
    if columns[0].is_empty() {
        return Err(Error::file(name, "there is a header but no row of data"));
    }
    Ok((columns, delimiter))
}

/// Bytes that cells take in the end.
fn size(cells: &Cells) -> u64 {
    match cells {
        Cells::Numbers(values) => 8 * values.len() as u64,
        Cells::Words(list) => 4 * list.len() as u64,
    }
}

/// About as many rows as the whole source has, if its first block is typical: columns that need not move while they
/// grow are cheaper. Too large a guess costs no memory that is not used.
fn expected_rows(source: &Source, first: &Block) -> usize {
    let (bytes, rows) = (first.bytes.len() as u64, first.lines() as u64);
    let rows = source.size().map_or(rows, |size| (size / bytes.max(1) + 1).saturating_mul(rows));
    usize::try_from(rows.min(MOST_EXPECTED)).unwrap_or(0)
}

/// Where a record starts, after the line ends that the reader counts to it.
fn record_start(bytes: &[u8], record: &::csv::ByteRecord) -> usize {
    let start = record.position().map_or(0, ::csv::Position::byte);
    let start = usize::try_from(start).unwrap_or(usize::MAX).min(bytes.len());
    let ends = bytes[start..].iter().take_while(|b| matches!(b, b'\n' | b'\r'));
    start + ends.count()
}

fn reader(bytes: &[u8], delimiter: u8) -> ::csv::Reader<&[u8]> {
    ::csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(bytes)
}

/// The candidate that cuts the first records into the same number of cells, the larger the better.
fn guess_delimiter(start: &[u8]) -> u8 {
    const RECORDS: usize = 20;
    let cells = |delimiter: u8| -> Option<usize> {
        let mut reader = reader(start, delimiter);
        let mut record = ::csv::ByteRecord::new();
        let mut common = None;
        for _ in 0..RECORDS {
            if !reader.read_byte_record(&mut record).ok()? {
                break;
            }
            // The last record may be cut by the end of the bytes at hand.
            let cut = usize::try_from(reader.position().byte()).is_ok_and(|b| b >= start.len());
            match common {
                None => common = Some(record.len()),
                Some(_) if cut => {}
                Some(len) if len == record.len() => {}
                Some(_) => return None,
            }
        }
        common.filter(|len| *len > 1)
    };
    let mut best = (1, b',');
    for delimiter in DELIMITERS {
        if let Some(count) = cells(delimiter).filter(|count| *count > best.0) {
            best = (count, delimiter);
        }
    }
    if best.0 > 1 {
        return best.1;
    }
    // Ragged under every candidate: the one most frequent in the first line, whose reader will
    // say which line is ragged.
    let line = start.split(|b| *b == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| line.split(|b| *b == delimiter).count();
    DELIMITERS.into_iter().rev().max_by_key(|d| count(*d)).unwrap_or(b',')
}

/// A column while its blocks arrive: numbers until the first block that holds a word.
struct Growing {
    name: String,
    numbers: Vec<f64>,
    words: Option<WordList>,
    /// Whether some blocks hold numbers and others words.
    is_mixed: bool,
}

impl Growing {
    fn new(name: String, rows: usize) -> Self {
        let mut numbers = Vec::new();
        // Not to be had at once? It may do without.
        let _ = numbers.try_reserve_exact(rows);
        Self { name, numbers, words: None, is_mixed: false }
    }

    fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.words.as_ref().is_none_or(|list| list.len() == 0)
    }

    fn append(&mut self, part: &Cells) {
        let present = |values: &[f64]| values.iter().any(|v| !v.is_nan());
        match (part, &mut self.words) {
            (Cells::Numbers(values), None) => self.numbers.extend_from_slice(values),
            (Cells::Numbers(values), Some(list)) => {
                self.is_mixed |= present(values);
                for _ in values {
                    list.push(None);
                }
            }
            (Cells::Words(more), Some(list)) => list.append(more),
            (Cells::Words(more), None) => {
                let before = std::mem::take(&mut self.numbers);
                self.is_mixed |= present(&before);
                let mut list = WordList::default();
                for _ in before {
                    list.push(None);
                }
                list.append(more);
                self.words = Some(list);
            }
        }
    }

    fn finish(mut self) -> Column {
        match self.words {
            None => {
                self.numbers.shrink_to_fit();
                Column::numbers(self.name, self.numbers)
            }
            Some(list) => Column { name: self.name, cells: Cells::Words(list) },
        }
    }
}
