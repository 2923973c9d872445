//! What is known of a raw column that arrives in chunks, in memory that does not grow with the rows.

use std::collections::HashMap;

use super::distinct::Distinct;
use super::identifier::{looks_like_value, mostly};
use super::rule::{Encoding, empty, infinite, learn_categories, typed};
use super::{EncoderOptions, Missing};
use crate::data::dates::{self, DateOrder};
use crate::data::typing::{self, ColumnType, Gaps, Likeness, Verdict};
use crate::data::{Cells, Column, MISSING, WordList, shell_word};
use crate::error::{Error, Result};

/// Different words, or different numbers where the most frequent is wanted, that are remembered of a column.
pub(super) const MANY_WORDS: usize = 100_000;

const ORDERS: [DateOrder; 3] = [DateOrder::Iso, DateOrder::DayFirst, DateOrder::MonthFirst];

/// A column so far.
pub(super) struct Tally {
    pub(super) name: String,
    categorical: bool,
    rows: usize,
    numbers: Sums,
    /// The words read as dates, one entry for each of [`ORDERS`].
    days: [Sums; 3],
    distinct: Distinct,
    /// How many numbers were one more than the one before.
    steps: usize,
    last: Option<f64>,
    /// Whether a chunk of numbers held one.
    holds_numbers: bool,
    words: Option<Words>,
}

/// Numbers of a column: how many, their sum in the order of the rows, the least, zeros, the first infinite one.
struct Sums {
    count: usize,
    sum: f64,
    least: f64,
    zeros: usize,
    infinite: Option<(usize, f64)>,
    /// How often every number occurs, where that is wanted.
    counts: Option<HashMap<u64, usize>>,
}

/// The words of a column.
#[derive(Default)]
struct Words {
    /// One word for all that are alike, in order of appearance.
    alike: Vec<Alike>,
    places: HashMap<(bool, Likeness), usize>,
    /// Cells with a word that is no gap of a column of categories.
    present: usize,
    /// Cells with a word.
    all: usize,
    /// Whether a word is a measurement by its looks.
    values: bool,
    counts: HashMap<String, usize>,
    /// Whether there are more words than are counted.
    many: bool,
}

struct Alike {
    word: String,
    /// Whether it stands for "no value" in a column of numbers.
    gap: bool,
    count: usize,
    /// The first cells: row and word.
    first: Vec<(usize, String)>,
}

impl Sums {
    fn new(count_each: bool) -> Self {
        let sum = std::iter::empty::<f64>().sum();
        let counts = count_each.then(HashMap::new);
        Self { count: 0, sum, least: f64::INFINITY, zeros: 0, infinite: None, counts }
    }

    fn add(&mut self, row: usize, value: f64) {
        if value.is_nan() {
            return;
        }
        self.count += 1;
        self.sum += value;
        self.least = self.least.min(value);
        self.zeros += usize::from(value == 0.0);
        if value.is_infinite() {
            self.infinite.get_or_insert((row, value));
        }
        if let Some(counts) = &mut self.counts
            && counts.len() <= MANY_WORDS
        {
            *counts.entry(value.to_bits()).or_default() += 1;
        }
    }

    /// What stands in for a missing number less `origin`, if something does.
    fn stand_in(&self, column: &str, origin: f64, missing: Missing) -> Result<Option<f64>> {
        if !missing.fills() {
            return Ok(None);
        }
        if let Some((row, value)) = self.infinite {
            return Err(infinite(&Column::numbers(column, Vec::new()), row, value));
        }
        if self.count == 0 {
            return Err(empty(column));
        }
        let needs_rows = |what: &str| {
            Error::BadParams(format!(
                "column `{column}`: {what} needs all rows in memory; impute the mean, or fit to a sample"
            ))
        };
        match (missing, &self.counts) {
            (Missing::Mean, _) => Ok(Some(self.sum / self.count as f64 - origin)),
            (Missing::MostFrequent, Some(counts)) if counts.len() <= MANY_WORDS => {
                let mut sorted: Vec<(f64, usize)> =
                    counts.iter().map(|(bits, n)| (f64::from_bits(*bits), *n)).collect();
                sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.total_cmp(&b.0)));
                Ok(sorted.first().map(|(value, _)| value - origin))
            }
            (Missing::MostFrequent, _) => Err(needs_rows("the most frequent of so many numbers")),
            _ => Err(needs_rows("the median")),
        }
    }
}

impl Tally {
    pub(super) fn new(name: &str, options: &EncoderOptions) -> Self {
        let count_each = options.missing == Missing::MostFrequent;
        Self {
            name: name.to_owned(),
            categorical: options.categorical.iter().any(|n| n == name),
            rows: 0,
            numbers: Sums::new(count_each),
            days: [(); 3].map(|()| Sums::new(count_each)),
            distinct: Distinct::new(),
            steps: 0,
            last: None,
            holds_numbers: false,
            words: None,
        }
    }

    /// Adds the cells of a chunk; `place` tells where a row is in its file.
    pub(super) fn add(
        &mut self,
        column: &Column,
        gaps: &Gaps,
        place: &dyn Fn(usize) -> usize,
    ) -> Result<()> {
        self.rows += column.len();
        match &column.cells {
            Cells::Numbers(_) if self.categorical => {
                if let Cells::Words(list) = column.clone().into_words().cells {
                    self.words.get_or_insert_default().add(&list, gaps, place);
                }
            }
            Cells::Numbers(values) => {
                for value in values {
                    self.steps += usize::from(self.last.is_some_and(|last| value - last == 1.0));
                    self.last = Some(*value);
                }
                self.holds_numbers |= values.iter().any(|value| !value.is_nan());
                self.distinct.add_all(values);
                let read = typed(column, ColumnType::Number, gaps)?;
                if let Cells::Numbers(values) = &read.cells {
                    values.iter().enumerate().for_each(|(i, v)| self.numbers.add(place(i), *v));
                }
            }
            Cells::Words(list) => {
                self.words.get_or_insert_default().add(list, gaps, place);
                self.add_values(list, gaps, place);
            }
        }
        Ok(())
    }

    /// Words that are numbers or dates, as such.
    fn add_values(&mut self, list: &WordList, gaps: &Gaps, place: &dyn Fn(usize) -> usize) {
        let value = |word: &String| {
            let word = word.trim();
            word.parse().ok().filter(|_| !gaps.in_numbers(word)).map(|v| gaps.number(v))
        };
        let numbers: Vec<Option<f64>> = list.words().iter().map(value).collect();
        add_each(&mut self.numbers, list, &numbers, place);
        for (sums, order) in self.days.iter_mut().zip(ORDERS) {
            let iso = |word: &str| dates::parse(word, DateOrder::Iso);
            let day = |word: &String| dates::parse(word, order).or_else(|| iso(word));
            let days: Vec<Option<f64>> = list.words().iter().map(day).collect();
            add_each(sums, list, &days, place);
        }
    }

    /// Whether some chunks hold numbers and others words: the exact text of the numbers is lost.
    pub(super) fn is_mixed(&self) -> bool {
        self.holds_numbers && self.words.as_ref().is_some_and(|words| words.all > 0)
    }

    pub(super) fn holds_words(&self) -> bool {
        self.words.is_some()
    }

    pub(super) fn counts_up(&self) -> bool {
        self.words.is_none() && self.rows > 2 && mostly(self.steps, self.rows - 1)
    }

    /// Whether values differ from row to row, as [`super::identifier`] means it.
    pub(super) fn all_differ(&self) -> bool {
        let enough = |present: usize| mostly(present, self.rows);
        match &self.words {
            None => enough(self.numbers.count) && self.distinct.is_possible(),
            Some(words) => {
                let used: Vec<(&str, usize)> =
                    words.alike.iter().map(|a| (a.word.as_str(), a.count)).collect();
                let differ = mostly(words.counts.len(), words.counts.values().sum());
                enough(words.all) && differ && !words.values && !typing::is_decorated(&used)
            }
        }
    }

    /// What the column holds.
    pub(super) fn kind(&self) -> Result<ColumnType> {
        let Some(words) = &self.words else { return Ok(ColumnType::Number) };
        if self.categorical {
            return Ok(ColumnType::Category);
        }
        let alike = || words.alike.iter().filter(|a| !a.gap);
        let used: Vec<(&str, usize)> = alike().map(|a| (a.word.as_str(), a.count)).collect();
        match typing::decide(&self.name, &used) {
            Verdict::Type(kind) => {
                let odd = || alike().filter(|a| !typing::fits(&a.word, kind));
                let count: usize = odd().map(|a| a.count).sum();
                if count == 0 {
                    return Ok(kind);
                }
                let mut first: Vec<(usize, String)> =
                    odd().flat_map(|a| a.first.iter().cloned()).collect();
                first.sort();
                first.truncate(typing::LISTED);
                Err(typing::misfit(&self.name, &first, count, kind))
            }
            Verdict::Problem(word, problem) => {
                let found = alike().find(|a| a.word == word).and_then(|a| a.first.first());
                let row = found.map_or(0, |(row, _)| *row);
                Err(Column::numbers(self.name.as_str(), Vec::new()).bad_cell(row, problem))
            }
        }
    }

    fn sums(&self, kind: ColumnType) -> &Sums {
        match kind {
            ColumnType::Date(order) if self.words.is_some() => {
                let place = ORDERS.iter().position(|o| *o == order).unwrap_or_default();
                &self.days[place]
            }
            _ => &self.numbers,
        }
    }

    /// Whether a cell of a column of this kind has no value.
    pub(super) fn has_gaps(&self, kind: ColumnType) -> bool {
        match (kind, &self.words) {
            (ColumnType::Category, Some(words)) => words.present < self.rows,
            (ColumnType::Category, None) => true,
            _ => self.sums(kind).count < self.rows,
        }
    }

    /// Entries that sparse storage would hold.
    pub(super) fn nonzeros(&self, kind: ColumnType) -> usize {
        match kind {
            ColumnType::Category => self.rows,
            _ => self.rows - self.sums(kind).zeros,
        }
    }

    /// How the column becomes features.
    pub(super) fn encoding(&self, kind: ColumnType, options: &EncoderOptions) -> Result<Encoding> {
        let (name, missing) = (self.name.as_str(), options.missing);
        if !matches!(kind, ColumnType::Category) {
            options.refers_to_no(name)?;
        }
        match kind {
            ColumnType::Number => {
                Ok(Encoding::Numeric { fill: self.numbers.stand_in(name, 0.0, missing)? })
            }
            ColumnType::Date(order) => {
                let sums = self.sums(kind);
                let origin = sums.least;
                if origin.is_infinite() {
                    return Err(empty(name));
                }
                let fill = sums.stand_in(name, origin, missing)?;
                Ok(Encoding::Date { order, origin, fill })
            }
            ColumnType::Category => {
                let Some(words) = &self.words else { return Err(empty(name)) };
                if words.many {
                    return Err(Error::BadData(format!(
                        "column `{name}` has more than {MANY_WORDS} different words; leave it out with --drop {typed}",
                        typed = shell_word(name)
                    )));
                }
                let used = words.counts.iter().map(|(word, n)| (word.as_str(), *n));
                let used = used.filter(|(word, _)| !options.gaps.in_words(word)).collect();
                learn_categories(name, used, options)
            }
        }
    }
}

fn add_each(
    sums: &mut Sums,
    list: &WordList,
    values: &[Option<f64>],
    place: &dyn Fn(usize) -> usize,
) {
    if values.iter().all(Option::is_none) {
        return;
    }
    for (i, &code) in list.codes().iter().enumerate().filter(|(_, code)| **code != MISSING) {
        if let Some(value) = values[code as usize] {
            sums.add(place(i), value);
        }
    }
}

impl Words {
    fn add(&mut self, list: &WordList, gaps: &Gaps, place: &dyn Fn(usize) -> usize) {
        let counts = list.counts();
        let mut groups = vec![usize::MAX; list.words().len()];
        for ((word, &count), group) in list.words().iter().zip(&counts).zip(&mut groups) {
            if count == 0 {
                continue;
            }
            self.all += count;
            self.present += if gaps.in_words(word) { 0 } else { count };
            self.values |= looks_like_value(word);
            self.count(word, count);
            *group = self.group(word, gaps.in_numbers(word), count);
        }
        for (i, &code) in list.codes().iter().enumerate() {
            let Some(alike) = groups.get(code as usize).and_then(|g| self.alike.get_mut(*g)) else {
                continue;
            };
            if alike.first.len() < typing::LISTED {
                alike.first.push((place(i), list.words()[code as usize].clone()));
            }
        }
    }

    fn count(&mut self, word: &str, count: usize) {
        if let Some(own) = self.counts.get_mut(word) {
            *own += count;
        } else if self.counts.len() < MANY_WORDS {
            self.counts.insert(word.to_owned(), count);
        } else {
            self.many = true;
        }
    }

    /// The place among [`Words::alike`] of the words that are like `word`.
    fn group(&mut self, word: &str, gap: bool, count: usize) -> usize {
        let likeness = Likeness::of(word);
        let next = self.alike.len();
        let place = *self.places.entry((gap, likeness)).or_insert(next);
        if place == next {
            self.alike.push(Alike { word: word.to_owned(), gap, count: 0, first: Vec::new() });
        }
        self.alike[place].count += count;
        place
    }
}
