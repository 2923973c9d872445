//! Text cells by their place in a list of distinct words, and what stands for "no value".

use std::collections::HashMap;

/// The code of a missing word.
pub const MISSING: u32 = u32::MAX;

/// Text cells, each distinct word stored once.
#[derive(Debug, Clone, Default)]
pub struct WordList {
    codes: Vec<u32>,
    words: Vec<String>,
    places: HashMap<String, u32>,
}

impl PartialEq for WordList {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|i| self.get(i) == other.get(i))
    }
}

impl WordList {
    /// Adds one row.
    pub fn push(&mut self, word: Option<&str>) {
        let code = word.map_or(MISSING, |w| self.place(w));
        self.codes.push(code);
    }

    /// Adds all rows of `other`.
    pub fn append(&mut self, other: &Self) {
        let places: Vec<u32> = other.words.iter().map(|w| self.place(w)).collect();
        let moved = |&code: &u32| if code == MISSING { MISSING } else { places[code as usize] };
        self.codes.extend(other.codes.iter().map(moved));
    }

    fn place(&mut self, word: &str) -> u32 {
        if let Some(&place) = self.places.get(word) {
            return place;
        }
        // Distinct words are fewer than rows, and rows of text are far from 2^32 - 1 in memory.
        let place = u32::try_from(self.words.len()).unwrap_or(MISSING);
        self.words.push(word.to_owned());
        self.places.insert(word.to_owned(), place);
        place
    }

    /// The word of row `i`, if it has one.
    pub fn get(&self, i: usize) -> Option<&str> {
        self.words.get(self.codes[i] as usize).map(String::as_str)
    }

    /// For every row its place in [`WordList::words`], or [`MISSING`].
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The distinct words, in order of first appearance; after selecting rows some may be unused.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The rows `rows`, in that order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let codes = rows.iter().map(|&i| self.codes[i]).collect();
        Self { codes, ..self.clone() }
    }

    /// The same rows with every word replaced by what `to` makes of it; `None` is a gap.
    #[must_use]
    pub fn map(&self, mut to: impl FnMut(&str) -> Option<String>) -> Self {
        let mut list = Self::default();
        let new: Vec<Option<String>> = self.words.iter().map(|word| to(word)).collect();
        for &code in &self.codes {
            list.push(new.get(code as usize).and_then(Option::as_deref));
        }
        list
    }

    /// The words that occur, each with its number of rows.
    pub fn used(&self) -> impl Iterator<Item = (&str, usize)> {
        let counts = self.counts();
        self.words.iter().map(String::as_str).zip(counts).filter(|(_, count)| *count > 0)
    }

    /// How many rows hold each word.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.words.len()];
        for &code in self.codes.iter().filter(|&&code| code != MISSING) {
            counts[code as usize] += 1;
        }
        counts
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }
}

impl<'a> FromIterator<Option<&'a str>> for WordList {
    fn from_iter<I: IntoIterator<Item = Option<&'a str>>>(rows: I) -> Self {
        let mut list = Self::default();
        rows.into_iter().for_each(|word| list.push(word));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Cells, Column};

    #[test]
    fn word_lists_join_and_select() {
        let mut list: WordList = [Some("x"), None, Some("y")].into_iter().collect();
        list.append(&[Some("y"), Some("z"), None].into_iter().collect());
        let rows: Vec<_> = (0..list.len()).map(|i| list.get(i)).collect();
        assert_eq!(rows, [Some("x"), None, Some("y"), Some("y"), Some("z"), None]);
        assert_eq!(list.counts(), [1, 2, 1]);
        let column = Column { name: "w".into(), cells: Cells::Words(list) };
        let few = column.select_rows(&[4, 1]);
        assert_eq!(few, Column::words("w", [Some("z"), None]));
    }
}
