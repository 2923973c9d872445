//! Delimited text as tables of some thousand rows each, in bounded memory.
//!
//! A chunk is a block of text. A column may hold numbers in one chunk and words in another: what is to be text
//! throughout must be named.

use std::io::Read;
use std::sync::Mutex;

use mainstay::data::{Cells, Column, Table};

use super::cells::{Grammar, Kind};
use super::comma::Commas;
use super::{guess_delimiter, header};
use crate::blocks::{Blocks, MARK, Records};
use crate::chunks::{ChunkOptions, Outlet};
use crate::error::{Error, Result};
use crate::reading::Input;

/// Hands over the rows of `input`, which begins with `start`.
pub(crate) fn each_chunk(
    input: impl Read + Send,
    start: &[u8],
    name: &str,
    options: &ChunkOptions,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    let start = start.strip_prefix(MARK).unwrap_or(start);
    let delimiter = options.read.delimiter.unwrap_or_else(|| guess_delimiter(start));
    let records = Records::Quoted(delimiter);
    let mut blocks = Blocks::new(input, name, records, options.size.limits());
    blocks.skip_mark()?;
    let first = blocks.next()?.ok_or_else(|| Error::file(name, "the file is empty"))?;
    let (names, body) = header::take(first, name, delimiter, options.read.header)?;
    let empty = names.iter().map(|n| Column::numbers(n.clone(), Vec::new())).collect();
    Table::new(empty).map_err(Error::content(name))?;
    let (kinds, gaps) = (kinds(&names, options), &options.read.gaps);
    let grammar = Grammar { name, delimiter, kinds, gaps, used: Mutex::default() };
    let mut commas = Commas::new(delimiter, &options.read, name, &options.text);
    let mut rows = 0;
    let mut accept = |ready: Vec<Vec<Cells>>| {
        for cells in ready {
            let columns = named(&names, cells, &grammar.kinds);
            if columns.first().is_none_or(Column::is_empty) {
                continue;
            }
            let columns = commas.settle(columns);
            rows += columns[0].len();
            outlet.give(Input::Table(Table::new(columns).map_err(Error::content(name))?))?;
        }
        Ok(())
    };
    accept(vec![grammar.parse(&body)?])?;
    blocks.parse(|block| grammar.parse(block), accept)?;
    if rows == 0 {
        return Err(Error::file(name, "there is a header but no row of data"));
    }
    commas.finish()?.into_iter().for_each(|note| outlet.note(note));
    Ok(())
}

/// What each column is read as.
fn kinds(names: &[String], options: &ChunkOptions) -> Vec<Kind> {
    let wanted = options.selected(names.iter().map(String::as_str));
    let kind = |(name, wanted): (&String, bool)| {
        let is_text = options.read.categorical.contains(name) || options.text.contains(name);
        match (wanted, is_text) {
            (false, _) => Kind::Skip,
            (true, true) => Kind::Words,
            (true, false) => Kind::Numbers,
        }
    };
    names.iter().zip(wanted).map(kind).collect()
}

/// The columns that were not skipped.
fn named(names: &[String], cells: Vec<Cells>, kinds: &[Kind]) -> Vec<Column> {
    let all = names.iter().zip(cells).zip(kinds);
    let kept = all.filter(|(_, kind)| **kind != Kind::Skip);
    kept.map(|((name, cells), _)| Column { name: name.clone(), cells }).collect()
}
