//! What a raw column holds: numbers, dates or categories; which cells are gaps, which do not fit.

use serde::{Deserialize, Serialize};

use super::advice::shell_word;
use super::dates::{self, DateOrder, Finding};
use super::ornament::{akin, ornament};
use super::{Cells, Column, MISSING, WordList};
use crate::error::{Error, Result};

/// A column with at least this share of numbers (or dates) is one of numbers (or dates).
const SHARE: f64 = 0.9;
/// Cells that do not fit are listed up to this many.
pub(super) const LISTED: usize = 3;

/// The usual words for "no value"; with them `none` and `None` in columns of numbers.
const USUAL: [&str; 9] = ["NA", "N/A", "n/a", "NaN", "nan", "null", "?", ".", "-"];

/// The words that stand for "no value".
///
/// The usual ones are the empty cell, `NA`, `N/A`, `n/a`, `NaN`, `nan`, `null`, `?`, `.` and `-`, and in columns
/// of numbers `none` and `None` too; in a column of words `none` is a category like any other.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gaps(Option<Vec<String>>);

impl Gaps {
    /// These words instead of the usual ones; an empty cell is always a gap.
    pub fn new(words: impl IntoIterator<Item = String>) -> Self {
        Self(Some(words.into_iter().map(|w| w.trim().to_owned()).collect()))
    }

    /// These words beside the usual ones.
    pub fn also(words: impl IntoIterator<Item = String>) -> Self {
        Self::new(USUAL.map(str::to_owned).into_iter().chain(words))
    }

    /// Whether the usual words are among these.
    fn has_usual(&self) -> bool {
        let known = |words: &Vec<String>| USUAL.iter().all(|u| words.iter().any(|w| w == u));
        self.0.as_ref().is_none_or(known)
    }

    /// Whether these are the usual words.
    pub fn is_usual(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a cell of a column of words is a gap.
    pub fn in_words(&self, cell: &str) -> bool {
        match &self.0 {
            _ if cell.is_empty() => true,
            Some(words) => words.iter().any(|w| w == cell),
            None => USUAL.contains(&cell),
        }
    }

    /// Whether a cell of a column of numbers is a gap.
    pub fn in_numbers(&self, cell: &str) -> bool {
        self.in_words(cell) || (matches!(cell, "none" | "None") && self.has_usual())
    }

    /// A number, or NaN if it stands for "no value".
    pub(super) fn number(&self, value: f64) -> f64 {
        if self.codes().contains(&value) { f64::NAN } else { value }
    }

    /// Numbers that stand for "no value", such as -999.
    fn codes(&self) -> Vec<f64> {
        self.0.iter().flatten().filter_map(|word| word.parse().ok()).collect()
    }
}

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Numbers.
    Number,
    /// Dates, written in this order.
    Date(DateOrder),
    /// Words, each a category.
    Category,
}

/// What the words of a column say it holds.
pub(super) enum Verdict<'a> {
    /// This, if all cells fit.
    Type(ColumnType),
    /// Nothing that can be used: the word that shows it, and what to do.
    Problem(&'a str, String),
}

/// Decides what a column of these words holds, each with its number of cells, gaps left out.
pub(super) fn decide<'a>(name: &str, used: &[(&'a str, usize)]) -> Verdict<'a> {
    let all: usize = used.iter().map(|(_, n)| n).sum();
    let numbers: usize = used.iter().filter(|(w, _)| is_number(w)).map(|(_, n)| n).sum();
    if all == 0 {
        return Verdict::Type(ColumnType::Category);
    }
    if numbers as f64 >= SHARE * all as f64 {
        return Verdict::Type(ColumnType::Number);
    }
    match dates::look(used, SHARE) {
        Finding::Order(order) => return Verdict::Type(ColumnType::Date(order)),
        Finding::Ambiguous(word) => {
            let read = |order| dates::parse(word, order).map(dates::iso).unwrap_or_default();
            let problem = format!(
                "`{word}` is {} or {}, and no cell of the column tells which: write dates as 2024-03-01, \
                 or leave the column out with --drop",
                read(DateOrder::DayFirst),
                read(DateOrder::MonthFirst)
            );
            return Verdict::Problem(word, problem);
        }
        Finding::Mixed(day, month) => {
            let problem = format!(
                "`{month}` has the month in front, but `{day}` has the day: write dates as 2024-03-01, \
                 or leave the column out with --drop"
            );
            return Verdict::Problem(month, problem);
        }
        Finding::None => {}
    }
    match decoration(used, all) {
        Some((word, what)) => {
            let problem = format!(
                "`{word}` {what}: write plain numbers, or take the column as categories with --categorical {}",
                shell_word(name)
            );
            Verdict::Problem(word, problem)
        }
        None => Verdict::Type(ColumnType::Category),
    }
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok()
}

/// Whether a cell that is no gap is what its column holds.
pub(super) fn fits(word: &str, kind: ColumnType) -> bool {
    match kind {
        ColumnType::Number => is_number(word),
        ColumnType::Date(order) => dates::parse(word, order).is_some(),
        ColumnType::Category => true,
    }
}

/// Decides what `column` holds; `place` tells where a row is in its file, counted from 0.
pub(super) fn type_of(
    column: &Column,
    gaps: &Gaps,
    place: &dyn Fn(usize) -> usize,
) -> Result<ColumnType> {
    let Cells::Words(list) = &column.cells else { return Ok(ColumnType::Number) };
    let used: Vec<(&str, usize)> = list.used().filter(|(w, _)| !gaps.in_numbers(w)).collect();
    match decide(&column.name, &used) {
        Verdict::Type(kind) => match misfits(list, gaps, kind, place) {
            (_, 0) => Ok(kind),
            (first, count) => Err(misfit(&column.name, &first, count, kind)),
        },
        Verdict::Problem(word, problem) => {
            let row = (0..list.len()).find(|&i| list.get(i) == Some(word)).unwrap_or_default();
            Err(column.bad_cell(place(row), problem))
        }
    }
}

/// The first cells that are not what the column is, and how many there are.
fn misfits(
    list: &WordList,
    gaps: &Gaps,
    kind: ColumnType,
    place: &dyn Fn(usize) -> usize,
) -> (Vec<(usize, String)>, usize) {
    let odd: Vec<bool> =
        list.words().iter().map(|w| !gaps.in_numbers(w) && !fits(w, kind)).collect();
    let odd_row = |i: &usize| odd.get(list.codes()[*i] as usize).copied().unwrap_or(false);
    let rows: Vec<usize> = (0..list.len()).filter(odd_row).collect();
    let cell = |&i: &usize| (place(i), list.get(i).unwrap_or_default().to_owned());
    (rows.iter().take(LISTED).map(cell).collect(), rows.len())
}

/// The error that names the first of `count` cells that are not what the column is; rows count from 0.
pub(super) fn misfit(
    name: &str,
    first: &[(usize, String)],
    count: usize,
    kind: ColumnType,
) -> Error {
    let what = if kind == ColumnType::Number { "numbers" } else { "dates" };
    let (row, word) = first.first().map_or((0, String::new()), |(row, w)| (*row, shown(w)));
    let more: Vec<String> =
        first.iter().skip(1).map(|(i, w)| format!("row {} `{}`", i + 1, shown(w))).collect();
    let also = match (more.as_slice(), count) {
        ([], _) => String::new(),
        (more, all) if all <= LISTED => format!(" (also {})", more.join(", ")),
        (more, all) => format!(" (also {} and {} more)", more.join(", "), all - LISTED),
    };
    let hint = ornament(&word).map_or_else(String::new, |what| format!(", it {what}"));
    let problem = format!(
        "`{word}` does not fit a column of {what}{hint}{also}: mend it, count it as missing with --na \
         '{word}', or take the column as categories with --categorical {}",
        shell_word(name)
    );
    Error::BadCell { row, column: format!("`{name}`"), problem }
}

/// What tells a word from others here: words that are alike may stand for each other when a type is decided.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "answers to independent questions about a word")]
pub(super) struct Likeness {
    number: bool,
    iso: bool,
    day: bool,
    month: bool,
    /// Whether the day may be taken for the month without changing the date.
    either: bool,
    ornament: Option<String>,
}

impl Likeness {
    pub(super) fn of(word: &str) -> Self {
        let read = |order| dates::parse(word, order);
        let (day, month) = (read(DateOrder::DayFirst), read(DateOrder::MonthFirst));
        Self {
            number: is_number(word),
            iso: read(DateOrder::Iso).is_some(),
            day: day.is_some(),
            month: month.is_some(),
            either: day == month,
            ornament: ornament(word),
        }
    }
}

fn shown(word: &str) -> String {
    word.chars().take(40).collect()
}

/// The first cell and what is wrong with it, if nearly all cells are numbers with the same ornament.
fn decoration<'a>(used: &[(&'a str, usize)], all: usize) -> Option<(&'a str, String)> {
    let (first, what) = used.iter().find_map(|(w, _)| Some((*w, ornament(w)?)))?;
    let alike = |word: &str| is_number(word) || ornament(word).is_some_and(|o| akin(&o, &what));
    let count: usize = used.iter().filter(|(w, _)| alike(w)).map(|(_, n)| n).sum();
    (count as f64 >= SHARE * all as f64).then_some((first, what))
}

/// Whether nearly all cells are numbers with the same ornament: badly written, but no names.
pub(super) fn is_decorated(used: &[(&str, usize)]) -> bool {
    decoration(used, used.iter().map(|(_, n)| n).sum()).is_some()
}

/// The cells of a column of numbers as numbers, NaN for gaps.
pub(super) fn numbers(column: &Column, gaps: &Gaps) -> Result<Vec<f64>> {
    let codes = gaps.codes();
    let mut values = match &column.cells {
        Cells::Numbers(values) => values.clone(),
        Cells::Words(_) => converted(column, gaps, "a number", &|word| word.parse().ok())?,
    };
    if !codes.is_empty() {
        values.iter_mut().filter(|v| codes.contains(v)).for_each(|v| *v = f64::NAN);
    }
    Ok(values)
}

/// The cells of a column of dates as days, NaN for gaps.
pub(super) fn days(column: &Column, gaps: &Gaps, order: DateOrder) -> Result<Vec<f64>> {
    let iso = |word: &str| dates::parse(word, DateOrder::Iso);
    let read = |word: &str| dates::parse(word, order).or_else(|| iso(word));
    converted(column, gaps, "a date", &read)
}

fn converted(
    column: &Column,
    gaps: &Gaps,
    what: &str,
    read: &dyn Fn(&str) -> Option<f64>,
) -> Result<Vec<f64>> {
    let no = |row: usize, word: &str| {
        let problem = format!("`{}` is not {what}, but the model needs one here", shown(word));
        column.bad_cell(row, problem)
    };
    let list = match &column.cells {
        Cells::Words(list) => list,
        Cells::Numbers(values) => {
            return match values.iter().position(|v| !v.is_nan()) {
                Some(row) => Err(no(row, &values[row].to_string())),
                None => Ok(values.clone()),
            };
        }
    };
    let value = |word: &String| match word.trim() {
        cell if gaps.in_numbers(cell) => Some(f64::NAN),
        cell => read(cell),
    };
    let values: Vec<Option<f64>> = list.words().iter().map(value).collect();
    let cell = |(row, &code): (usize, &u32)| match code {
        MISSING => Ok(f64::NAN),
        code => values[code as usize].ok_or_else(|| no(row, &list.words()[code as usize])),
    };
    list.codes().iter().enumerate().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: &[&str]) -> Column {
        Column::words("age", cells.iter().map(|c| Some(*c)))
    }

    fn type_of_cells(cells: &[&str]) -> Result<ColumnType, String> {
        type_of(&column(cells), &Gaps::default(), &|i| i).map_err(|e| e.to_string())
    }

    /// Nineteen ages and what is added to them.
    fn ages(more: &[&'static str]) -> Vec<&'static str> {
        let ages = ["61", "44", "38.5", "57", "23", "61", "70", "49", "52", "33"];
        ages.iter().chain(&ages[..9]).chain(more).copied().collect()
    }

    #[test]
    fn one_stray_cell_does_not_make_ages_words() {
        assert_eq!(type_of_cells(&ages(&["none"])), Ok(ColumnType::Number));
        let values = numbers(&column(&ages(&["none"])), &Gaps::default()).unwrap();
        assert!(values[19].is_nan() && values[2] == 38.5);
        let message = type_of_cells(&ages(&["old", "x"])).unwrap_err();
        assert!(
            message.starts_with(
                "row 19, column `age`: `old` does not fit a column of numbers (also row 21 `x`)"
            ),
            "{message}"
        );
        assert!(message.contains("--na 'old'") && message.contains("--categorical age"));
        let given = Gaps::new(["old".to_owned(), "x".to_owned()]);
        let cells = column(&ages(&["old", "x"]));
        assert_eq!(type_of(&cells, &given, &|i| i), Ok(ColumnType::Number));
        // Beside the usual words or instead of them.
        let cells = column(&ages(&["old", "n/a", "none"]));
        let words = || ["old".to_owned()];
        assert_eq!(type_of(&cells, &Gaps::also(words()), &|i| i), Ok(ColumnType::Number));
        assert!(type_of(&cells, &Gaps::new(words()), &|i| i).is_err());
        assert!(Gaps::also(words()).in_words("-") && !Gaps::also(words()).in_words("none"));
        // Below nine tenths it is a column of words.
        assert_eq!(type_of_cells(&["1", "2", "x"]), Ok(ColumnType::Category));
    }

    #[test]
    fn a_number_can_stand_for_a_gap() {
        let given = Gaps::new(["-999".to_owned()]);
        let values = numbers(&Column::numbers("a", vec![1.0, -999.0]), &given).unwrap();
        assert!(values[0] == 1.0 && values[1].is_nan());
    }

    #[test]
    fn decorated_numbers_are_named_and_words_are_left_alone() {
        let message = |cells: &[&str]| type_of_cells(cells).unwrap_err();
        assert!(message(&["12%", "7 %", "3%"]).contains("`12%` has a percent sign"));
        assert!(message(&["1,200", "3,400", "900"]).contains("thousands separator"));
        assert!(message(&["1'200", "3'400"]).contains("thousands separator"));
        assert!(message(&["85.500,50", "900,5", "1.200,00"]).contains("thousands separator"));
        assert!(message(&["1,5", "2,25"]).contains("decimal comma (--decimal ,)"));
        // Below the limit of detection: neither a number nor one category among a hundred.
        assert!(message(&["0.7", "<0.5", "< 0.5", "3"]).contains("`<0.5` is a limit, not a value"));
        assert!(message(&["12 kg", "80kg"]).contains("has a unit (`kg`)"));
        assert!(message(&["1.252,50 EUR", "12,5 EUR", "980 EUR"]).contains("has a unit (`EUR`)"));
        assert!(message(&["€ 1,252.50", "€980"]).contains("has a currency sign"));
        assert!(message(&ages(&["80 y"])).contains("it has a unit (`y`)"));
        for words in [&["1a", "2b", "3a"][..], &["10-19", "20-29"], &["red", "5%"], &["T1", "T2"]] {
            assert_eq!(type_of_cells(words), Ok(ColumnType::Category), "{words:?}");
        }
    }

    #[test]
    fn ambiguous_dates_are_named_with_both_readings() {
        let message = type_of_cells(&["03/04/2020", "05/06/2020"]).unwrap_err();
        assert!(message.contains("`03/04/2020` is 2020-04-03 or 2020-03-04"), "{message}");
        let iso = type_of_cells(&["2020-04-03", "2020-05-06"]);
        assert_eq!(iso, Ok(ColumnType::Date(DateOrder::Iso)));
        let days = days(&column(&["1.2.2020", "3.2.2020"]), &Gaps::default(), DateOrder::DayFirst);
        let days = days.unwrap();
        assert_eq!(days[1] - days[0], 2.0);
    }
}
