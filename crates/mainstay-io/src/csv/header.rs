//! The first record: names of columns, or data.

use super::{reader, record_start};
use crate::blocks::Block;
use crate::error::{Error, Result};

/// Names of the columns and the block without its header.
pub(super) fn take(
    block: Block,
    name: &str,
    delimiter: u8,
    given: bool,
) -> Result<(Vec<String>, Block)> {
    let mut reader = reader(&block.bytes, delimiter);
    let mut record = ::csv::ByteRecord::new();
    let found =
        reader.read_byte_record(&mut record).map_err(|e| Error::file(name, e.to_string()))?;
    if !found {
        return Err(Error::file(name, "the file is empty"));
    }
    if !given {
        return Ok(((1..=record.len()).map(|j| format!("column{j}")).collect(), block));
    }
    let line = block.line_at(record_start(&block.bytes, &record));
    let mut names = Vec::with_capacity(record.len());
    for (j, cell) in record.iter().enumerate() {
        let word = std::str::from_utf8(cell)
            .map_err(|_| Error::NotUtf8 { name: name.to_owned(), line })?;
        names.push(match word.trim() {
            "" => format!("column{}", j + 1),
            word => word.to_owned(),
        });
    }
    if let Some(cell) = number_for_a_name(&names) {
        let problem = format!(
            "`{cell}` is a number where the name of a column should be: if the file has no header, add --no-header"
        );
        return Err(Error::line(name, line, problem));
    }
    let end = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
    let end = end.min(block.bytes.len());
    let line = block.line_at(end);
    let bytes = block.bytes[end..].to_vec();
    Ok((names, Block::new(bytes, line)))
}

/// The first number among names that are more likely a row of data.
///
/// Names may be numbers that count up: years, or the places of unnamed columns. Others are taken for data if they
/// are most of the cells, or if several are there in no order and one of them has decimals.
fn number_for_a_name(names: &[String]) -> Option<&str> {
    let numbers: Vec<(&str, f64)> = names
        .iter()
        .filter_map(|name| {
            Some((name.as_str(), name.parse::<f64>().ok().filter(|v| v.is_finite())?))
        })
        .collect();
    let (first, _) = *numbers.first()?;
    let whole = numbers.iter().all(|(_, v)| v.fract() == 0.0);
    let ascending = numbers.windows(2).all(|pair| pair[0].1 < pair[1].1);
    let names_count_up = whole && ascending && numbers.len() > 1;
    let most = 2 * numbers.len() > names.len() && !names_count_up;
    (most || !(whole || ascending)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> Option<String> {
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        number_for_a_name(&names).map(str::to_owned)
    }

    #[test]
    fn a_row_of_data_is_not_a_header() {
        assert_eq!(found(&["5.1", "3.5", "1.4", "0.2", "setosa"]).as_deref(), Some("5.1"));
        assert_eq!(found(&["8", "3", "1"]).as_deref(), Some("8"));
        assert_eq!(found(&["country", "1990", "2000", "2010"]), None);
        assert_eq!(found(&["column1", "0", "1", "2"]), None);
        assert_eq!(found(&["age", "sex", "1"]), None);
        assert_eq!(found(&["P-1", "67", "33.5", "3.18", "f", "A", "no"]).as_deref(), Some("67"));
        assert_eq!(found(&["dose", "unit", "who", "why", "0.5", "2"]), None);
    }
}
