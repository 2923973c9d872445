//! LIBSVM (svmlight) text: `label index:value index:value ... # comment`, indices from 1, ascending.

use std::io::Read;

use mainstay::data::Column;
use mainstay::linalg::Csr;

use crate::blocks::{Block, Blocks, Limits, Records};
use crate::chunks::Outlet;
use crate::error::{Error, Result};
use crate::memory::Allowance;
use crate::reading::Input;
use crate::source::Source;

/// A weight vector of this length still fits into memory; a larger index is taken for damage.
const MAX_INDEX: u32 = 100_000_000;

/// Sparse features and the label of every row.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseRows {
    /// One column for every index up to the largest that occurs.
    pub features: Csr,
    /// The labels, as a column called `label`.
    pub labels: Column,
}

/// So many columns are harmless whatever the file holds.
const HARMLESS_COLUMNS: usize = 1 << 20;
/// Columns that one entry can answer for.
const COLUMNS_PER_ENTRY: usize = 64;

impl SparseRows {
    /// Refuses to learn from indices that are far apart: a model has a weight for every index up to the largest,
    /// so that a file of a few bytes could ask for gigabytes.
    pub fn check_compact(&self) -> Result<()> {
        Self::check_width(self.features.ncols(), self.features.values().len())
    }

    /// The same for rows of so many columns and entries.
    pub(crate) fn check_width(columns: usize, entries: usize) -> Result<()> {
        if columns <= HARMLESS_COLUMNS || columns <= COLUMNS_PER_ENTRY.saturating_mul(entries) {
            return Ok(());
        }
        let problem = format!(
            "the largest index is {columns}, but there are only {entries} entries: number the features \
             without gaps"
        );
        Err(mainstay::Error::BadData(problem).into())
    }
}

#[derive(Default)]
struct ParsedRows {
    labels: Vec<f64>,
    /// Entries in each row.
    lengths: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

pub(crate) fn read(source: &Source, limits: Limits) -> Result<SparseRows> {
    let name = source.name();
    let blocks = Blocks::new(source.open()?, &name, Records::Lines, limits);
    let mut parts = Vec::new();
    let mut allowance = Allowance::now();
    let accept = |ready: Vec<ParsedRows>| {
        for part in &ready {
            // Copied once into place: twice its size.
            let size = 16 * part.labels.len() + 12 * part.indices.len();
            allowance.take(2 * size as u64, &name)?;
        }
        parts.extend(ready);
        Ok(())
    };
    blocks.parse(|block| parse(block, &name), accept)?;
    join(parts, &name)
}

/// Hands over the rows of `input` in chunks.
pub(crate) fn each_chunk(
    input: impl Read + Send,
    name: &str,
    limits: Limits,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let blocks = Blocks::new(input, name, Records::Lines, limits);
    let mut rows = 0;
    let accept = |ready: Vec<ParsedRows>| {
        for part in ready.into_iter().filter(|part| !part.labels.is_empty()) {
            rows += part.labels.len();
            outlet.give(Input::Sparse(join(vec![part], name)?))?;
        }
        Ok(())
    };
    blocks.parse(|block| parse(block, name), accept)?;
    if rows == 0 {
        return Err(Error::file(name, "there is no row of data"));
    }
    Ok(())
}

fn join(parts: Vec<ParsedRows>, name: &str) -> Result<SparseRows> {
    let count = |f: fn(&ParsedRows) -> usize| parts.iter().map(f).sum::<usize>();
    let mut labels = Vec::with_capacity(count(|p| p.labels.len()));
    let mut starts = Vec::with_capacity(labels.capacity() + 1);
    let mut indices = Vec::with_capacity(count(|p| p.indices.len()));
    let mut values = Vec::with_capacity(indices.capacity());
    starts.push(0);
    let mut end = 0;
    for part in parts {
        labels.extend(part.labels);
        indices.extend(part.indices);
        values.extend(part.values);
        for length in part.lengths {
            end += length;
            starts.push(end);
        }
    }
    if labels.is_empty() {
        return Err(Error::file(name, "there is no row of data"));
    }
    let ncols = indices.iter().max().map_or(0, |last| *last as usize + 1);
    let features = Csr::new(ncols, starts, indices, values).map_err(Error::content(name))?;
    Ok(SparseRows { features, labels: Column::numbers("label", labels) })
}

fn parse(block: &Block, name: &str) -> Result<ParsedRows> {
    let mut part = ParsedRows::default();
    for (line, bytes) in (block.line..).zip(block.bytes.split(|b| *b == b'\n')) {
        parse_line(bytes, &mut part).map_err(|problem| Error::line(name, line, problem))?;
    }
    Ok(part)
}

fn parse_line(line: &[u8], part: &mut ParsedRows) -> Result<(), String> {
    let text = line.split(|b| *b == b'#').next().unwrap_or_default();
    let mut words = text.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    let Some(label) = words.next() else { return Ok(()) };
    let value = fast_float2::parse::<f64, _>(label).ok().filter(|v| v.is_finite());
    let Some(label) = value else {
        return Err(format!("the label `{}` is not a finite number", shown(label)));
    };
    let before = part.indices.len();
    let mut last = 0;
    for word in words {
        if word.starts_with(b"qid:") {
            continue;
        }
        let (index, value) = entry(word)?;
        if index <= last {
            return Err(format!("index {index} after {last}: indices must ascend within a line"));
        }
        last = index;
        part.indices.push(index - 1);
        part.values.push(value);
    }
    part.labels.push(label);
    part.lengths.push(part.indices.len() - before);
    Ok(())
}

fn entry(word: &[u8]) -> Result<(u32, f64), String> {
    let bad = || format!("`{}` is not `index:value`", shown(word));
    let colon = word.iter().position(|b| *b == b':').ok_or_else(bad)?;
    let index = std::str::from_utf8(&word[..colon]).ok().and_then(|i| i.parse::<u64>().ok());
    let index = index.ok_or_else(bad)?;
    if index == 0 {
        return Err("index 0: indices count from 1 (write the file with zero_based=False)".into());
    }
    let Some(index) = u32::try_from(index).ok().filter(|i| *i <= MAX_INDEX) else {
        return Err(format!("index {index} is above the limit of {MAX_INDEX}"));
    };
    let value: f64 = fast_float2::parse(&word[colon + 1..]).map_err(|_| bad())?;
    if value.is_infinite() {
        return Err(format!("`{}` is not a finite number", shown(word)));
    }
    Ok((index, value))
}

/// The beginning of a word from the file, fit for a message of one line.
fn shown(word: &[u8]) -> String {
    let start = &word[..word.len().min(40)];
    String::from_utf8_lossy(start).chars().filter(|c| !c.is_control()).collect()
}

/// Whether the first line with content reads `label index:value ...`.
pub(crate) fn looks_like(start: &[u8]) -> bool {
    let content = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    let Some(line) = start.split(|b| *b == b'\n').find(content) else { return false };
    let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    let label = words.next().is_some_and(|w| fast_float2::parse::<f64, _>(w).is_ok());
    // The line may be cut by the end of the bytes at hand: its first entry decides.
    let entry = |w: &[u8]| {
        let colon = w.iter().position(|b| *b == b':');
        colon.is_some_and(|c| w.starts_with(b"qid:") || w[..c].iter().all(u8::is_ascii_digit))
    };
    label && words.next().is_some_and(entry)
}
