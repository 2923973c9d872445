//! One block of records into cells.

use std::collections::BTreeSet;
use std::sync::Mutex;

use mainstay::data::{Cells, Gaps, WordList};

use super::{DELIMITERS, reader, record_start};
use crate::blocks::Block;
use crate::error::{Error, Result};

/// What a column is taken to hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Numbers,
    Words,
    /// Nothing that is wanted: its cells are not kept.
    Skip,
}

/// What is known of the file when its blocks are parsed.
pub(super) struct Grammar<'a> {
    pub(super) name: &'a str,
    pub(super) delimiter: u8,
    pub(super) kinds: Vec<Kind>,
    /// Words for "no value".
    pub(super) gaps: &'a Gaps,
    /// Columns of numbers that were handed over and copied: their memory serves the next block.
    pub(super) used: Mutex<Vec<Vec<f64>>>,
}

impl Grammar<'_> {
    /// Takes back what [`Grammar::parse`] has handed over.
    pub(super) fn reuse(&self, parts: Vec<Vec<Cells>>) {
        let numbers = |cells: Cells| match cells {
            Cells::Numbers(mut values) => {
                values.clear();
                Some(values)
            }
            Cells::Words(_) => None,
        };
        if let Ok(mut used) = self.used.lock() {
            used.extend(parts.into_iter().flatten().filter_map(numbers));
        }
    }

    fn sink(&self, kinds: &[Kind], rows: usize) -> Sink<'_> {
        let mut used = self.used.lock().map_or_else(
            |_| Vec::new(),
            |mut used| {
                let keep = used.len().saturating_sub(kinds.len());
                used.split_off(keep)
            },
        );
        Sink::new(kinds, self.gaps, || {
            let mut values = used.pop().unwrap_or_default();
            values.reserve(rows);
            values
        })
    }

    /// The cells of a block. A column taken for numbers comes back as words if it holds one.
    pub(super) fn parse(&self, block: &Block) -> Result<Vec<Cells>> {
        let mut kinds = self.kinds.clone();
        let rows = block.lines();
        loop {
            let mut sink = self.sink(&kinds, rows);
            // Without quotes, and with a delimiter that is no part of a number, a number can be
            // read where it stands, without looking for its end first.
            if !block.quoted && DELIMITERS.contains(&self.delimiter) {
                self.parse_plain(block, &mut sink)?;
            } else {
                self.parse_quoted(block, &mut sink)?;
            }
            if sink.words.is_empty() {
                return Ok(sink.columns);
            }
            for j in sink.words {
                kinds[j] = Kind::Words;
            }
        }
    }

    fn parse_quoted(&self, block: &Block, sink: &mut Sink<'_>) -> Result<()> {
        let mut reader = reader(&block.bytes, self.delimiter);
        let mut record = ::csv::ByteRecord::new();
        loop {
            let more = reader.read_byte_record(&mut record);
            if !more.map_err(|e| Error::file(self.name, e.to_string()))? {
                return Ok(());
            }
            let line = || block.line_at(record_start(&block.bytes, &record));
            if record.len() != self.kinds.len() {
                return Err(self.ragged(line(), record.len()));
            }
            for (j, cell) in record.iter().enumerate() {
                sink.push(j, cell).map_err(|NotUtf8| self.not_utf8(line()))?;
            }
        }
    }

    fn parse_plain(&self, block: &Block, sink: &mut Sink<'_>) -> Result<()> {
        let bytes = block.bytes.as_slice();
        let ends = |byte: &u8| *byte == self.delimiter || *byte == b'\n' || *byte == b'\r';
        let last = self.kinds.len() - 1;
        let mut at = 0;
        loop {
            while matches!(bytes.get(at), Some(b'\n' | b'\r')) {
                at += 1;
            }
            if at == bytes.len() {
                return Ok(());
            }
            let start = at;
            for j in 0..=last {
                let rest = &bytes[at..];
                if let Some((value, used)) = sink.number_at(j, rest)
                    && rest.get(used).is_none_or(ends)
                {
                    sink.push_number(j, value);
                    at += used;
                } else {
                    let end = rest.iter().position(ends).unwrap_or(rest.len());
                    sink.push(j, &rest[..end])
                        .map_err(|NotUtf8| self.not_utf8(block.line_at(at)))?;
                    at += end;
                }
                let more = bytes.get(at) == Some(&self.delimiter);
                if more != (j < last) {
                    let record = bytes[start..].split(|b| matches!(b, b'\n' | b'\r')).next();
                    let cells = record.unwrap_or_default().split(|b| *b == self.delimiter).count();
                    return Err(self.ragged(block.line_at(start), cells));
                }
                at += usize::from(more);
            }
        }
    }

    fn ragged(&self, line: u64, found: usize) -> Error {
        let cells = |n: usize| if n == 1 { "1 cell".into() } else { format!("{n} cells") };
        let expected = cells(self.kinds.len());
        let problem = format!("{}, but the first record has {expected}", cells(found));
        Error::line(self.name, line, problem)
    }

    fn not_utf8(&self, line: u64) -> Error {
        Error::NotUtf8 { name: self.name.to_owned(), line }
    }
}

/// Where cells go.
struct Sink<'a> {
    columns: Vec<Cells>,
    kinds: Vec<Kind>,
    /// Columns taken for numbers that hold a word.
    words: BTreeSet<usize>,
    gaps: &'a Gaps,
}

struct NotUtf8;

impl<'a> Sink<'a> {
    fn new(kinds: &[Kind], gaps: &'a Gaps, mut numbers: impl FnMut() -> Vec<f64>) -> Self {
        let empty = |kind: &Kind| match kind {
            Kind::Numbers => Cells::Numbers(numbers()),
            Kind::Words | Kind::Skip => Cells::Words(WordList::default()),
        };
        let columns = kinds.iter().map(empty).collect();
        Self { columns, kinds: kinds.to_vec(), words: BTreeSet::new(), gaps }
    }

    /// The number that `rest` begins with, and its length, if column `j` takes numbers.
    fn number_at(&self, j: usize, rest: &[u8]) -> Option<(f64, usize)> {
        match self.columns[j] {
            Cells::Numbers(_) => fast_float2::parse_partial(rest).ok(),
            Cells::Words(_) => None,
        }
    }

    fn push_number(&mut self, j: usize, value: f64) {
        if let Cells::Numbers(values) = &mut self.columns[j] {
            values.push(value);
        }
    }

    fn push(&mut self, j: usize, cell: &[u8]) -> Result<(), NotUtf8> {
        if self.kinds[j] == Kind::Skip {
            return Ok(());
        }
        let cell = cell.trim_ascii();
        match &mut self.columns[j] {
            Cells::Numbers(values) => match number(cell, self.gaps) {
                Some(value) => values.push(value),
                None => {
                    self.words.insert(j);
                }
            },
            Cells::Words(list) => {
                let word = std::str::from_utf8(cell).map_err(|_| NotUtf8)?;
                list.push(Some(word).filter(|w| !self.gaps.in_words(w)));
            }
        }
        Ok(())
    }
}

/// The value of a cell, NaN if it is missing, `None` if it is a word.
fn number(cell: &[u8], gaps: &Gaps) -> Option<f64> {
    match fast_float2::parse(cell) {
        Ok(value) => Some(value),
        Err(_) => gaps.in_numbers(std::str::from_utf8(cell).ok()?).then_some(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Both ways of parsing the same block, with numbers compared by their bits.
    fn both(text: &str, kinds: &[Kind]) -> [Result<(String, BTreeSet<usize>), String>; 2] {
        let gaps = Gaps::default();
        let grammar = Grammar {
            name: "t",
            delimiter: b',',
            kinds: kinds.to_vec(),
            gaps: &gaps,
            used: Mutex::default(),
        };
        let block = Block::new(text.as_bytes().to_vec(), 5);
        [Grammar::parse_plain, Grammar::parse_quoted].map(|parse| {
            let mut sink = Sink::new(kinds, &gaps, Vec::new);
            parse(&grammar, &block, &mut sink).map_err(|e| e.to_string())?;
            let shown = |cells: &Cells| match cells {
                Cells::Numbers(values) => format!("{values:?}"),
                Cells::Words(list) => format!("{:?} {:?}", list.codes(), list.words()),
            };
            Ok((sink.columns.iter().map(shown).collect(), sink.words))
        })
    }

    proptest! {
        #[test]
        fn reading_in_place_agrees_with_cutting_first(
            cells in proptest::collection::vec(("[ ]?(-?[0-9]{1,3}(\\.[0-9]{0,3})?(e[0-9])?|NA||x|nan|inf|1e|-|\\.)[ ]?", "(,|,|,|\n|\r\n|\n\n)"), 0..40),
            width in 1_usize..4,
        ) {
            let ragged: String = cells.iter().flat_map(|(cell, end)| [cell.as_str(), end]).collect();
            let even: String = cells
                .chunks_exact(width)
                .map(|row| row.iter().map(|(cell, _)| cell.as_str()).collect::<Vec<_>>().join(",") + "\n")
                .collect();
            for text in [ragged, even] {
                for kind in [Kind::Numbers, Kind::Words] {
                    let [plain, quoted] = both(&text, &vec![kind; width]);
                    prop_assert_eq!(plain, quoted, "{:?}", text);
                }
            }
        }
    }
}
