//! Spreadsheets into raw columns: the first row that holds anything names them, unless told otherwise.

use std::io::{self, Cursor, Read};

use calamine::{Data, Range, Reader, Sheets, open_workbook_auto_from_rs};
use mainstay::data::{Cells, Column, Table, WordList};

use crate::error::{Error, Result};
use crate::guard::guarded;
use crate::memory::{Allowance, too_large};
use crate::reading::ReadOptions;
use crate::source::Source;

/// What the text of a sheet becomes in memory, in units of its own size: cells, words, columns.
const GROWTH: u64 = 4;

/// Reads one sheet.
pub(crate) fn read(source: &Source, options: &ReadOptions) -> Result<Table> {
    let name = source.name();
    let bytes = source.bytes()?;
    let range = guarded(|| sheet(bytes, &name, options.sheet.as_deref()));
    let range = range.unwrap_or_else(|| Err(damaged(&name, "the decoder gave up")))?;
    table(&range, &name, options)
}

fn damaged(name: &str, why: impl std::fmt::Display) -> Error {
    let why = why.to_string().replace('\n', " ");
    Error::file(name, format!("this is not a spreadsheet, or it is damaged ({why})"))
}

fn sheet(bytes: Vec<u8>, name: &str, wanted: Option<&str>) -> Result<Range<Data>> {
    let mut allowance = Allowance::now();
    allowance.take(GROWTH * unpacked(&bytes, name, allowance)?, name)?;
    let bytes: std::sync::Arc<[u8]> = bytes.into();
    let mut book = open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(|e| damaged(name, e))?;
    let names = book.sheet_names();
    let sheet = match wanted {
        None => names.first().cloned().ok_or_else(|| Error::file(name, "there is no sheet"))?,
        Some(wanted) if names.iter().any(|n| n == wanted) => wanted.to_owned(),
        Some(wanted) => {
            let all: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            let problem =
                format!("there is no sheet `{wanted}`; the sheets are {}", all.join(", "));
            return Err(Error::file(name, problem));
        }
    };
    if let Sheets::Xlsx(book) = &mut book {
        // All cells between the first and the last become memory, however few of them there are.
        let mut cells = book.worksheet_cells_reader(&sheet).map_err(|e| damaged(name, e))?;
        let (mut height, mut width) = (0, 0);
        while let Some(cell) = cells.next_cell().map_err(|e| damaged(name, e))? {
            let (row, column) = cell.get_position();
            (height, width) = (height.max(u64::from(row) + 1), width.max(u64::from(column) + 1));
        }
        allowance.take(height * width * size_of::<Data>() as u64, name)?;
    }
    book.worksheet_range(&sheet).map_err(|e| damaged(name, e))
}

/// Bytes that the parts of a zip archive unpack to, counted and not believed; 0 for other formats.
fn unpacked(bytes: &[u8], name: &str, allowance: Allowance) -> Result<u64> {
    let Ok(mut archive) = zip::ZipArchive::new(Cursor::new(bytes)) else { return Ok(0) };
    let limit = allowance.left().unwrap_or(u64::MAX) / GROWTH;
    let mut total = 0;
    for i in 0..archive.len() {
        let part = archive.by_index(i).map_err(|e| damaged(name, e))?;
        let room = (limit - total).saturating_add(1);
        total += io::copy(&mut part.take(room), &mut io::sink()).map_err(|e| damaged(name, e))?;
        if total > limit {
            return Err(too_large(name));
        }
    }
    Ok(total)
}

fn table(range: &Range<Data>, name: &str, options: &ReadOptions) -> Result<Table> {
    let mut rows = range.rows().filter(|row| row.iter().any(|cell| *cell != Data::Empty));
    let mut first = None;
    let names: Vec<String> = if options.header {
        let header = rows.next().ok_or_else(|| Error::file(name, "the sheet is empty"))?;
        let title = |(j, cell): (usize, &Data)| match text(cell) {
            Some(word) => word,
            None => format!("column{}", j + 1),
        };
        header.iter().enumerate().map(title).collect()
    } else {
        first = rows.next();
        (1..=range.width()).map(|j| format!("column{j}")).collect()
    };
    let rows: Vec<&[Data]> = first.into_iter().chain(rows).collect();
    if rows.is_empty() {
        return Err(Error::file(name, "there is a header but no row of data"));
    }
    let columns = names.into_iter().enumerate().map(|(j, name)| column(name, &rows, j, options));
    Table::new(columns.collect()).map_err(Error::content(name))
}

/// Numbers if every cell that is no gap is one, words otherwise.
fn column(name: String, rows: &[&[Data]], j: usize, options: &ReadOptions) -> Column {
    let number = |cell: &Data| match cell {
        Data::Float(value) => Some(*value),
        #[expect(clippy::cast_precision_loss, reason = "a cell of a spreadsheet is a double")]
        Data::Int(value) => Some(*value as f64),
        Data::Empty => Some(f64::NAN),
        Data::String(word) if options.gaps.in_numbers(word.trim()) => Some(f64::NAN),
        _ => None,
    };
    if let Some(values) = rows.iter().map(|row| number(&row[j])).collect::<Option<Vec<f64>>>() {
        return Column::numbers(name, values);
    }
    let mut list = WordList::default();
    for row in rows {
        let word = text(&row[j]).filter(|w| !options.gaps.in_words(w));
        list.push(word.as_deref());
    }
    Column { name, cells: Cells::Words(list) }
}

/// A cell as text: dates as 2024-03-01, an error of the spreadsheet as a gap.
fn text(cell: &Data) -> Option<String> {
    match cell {
        Data::Empty | Data::Error(_) => None,
        Data::String(word) | Data::DateTimeIso(word) | Data::DurationIso(word) => {
            Some(word.trim().to_owned()).filter(|w| !w.is_empty())
        }
        Data::Float(value) => Some(value.to_string()),
        Data::Int(value) => Some(value.to_string()),
        Data::Bool(value) => Some(value.to_string()),
        Data::DateTime(moment) if moment.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
            let date = format!("{year:04}-{month:02}-{day:02}");
            Some(match (hour, minute, second) {
                (0, 0, 0) => date,
                _ => format!("{date}T{hour:02}:{minute:02}:{second:02}"),
            })
        }
        Data::DateTime(duration) => Some(duration.as_f64().to_string()),
    }
}
