//! From a raw table that arrives in chunks, and the owner's wishes, to features and classes.

use std::collections::BTreeSet;

use super::leaks::constant_words;
use super::prepare::rows_left_out;
use super::{
    Cells, Classes, Column, Encoder, EncoderLearner, Missing, Preparation, Table, WordList,
};
use crate::error::{Error, Result};
use crate::linalg::Matrix;

/// Beyond this many different labels the target is not a class label.
const MANY_CLASSES: usize = 1000;

/// Learns what [`Preparation::apply`] learns from a table that arrives in chunks, pass by pass.
///
/// Every pass brings all chunks in order to [`Learner::add`]; [`Learner::needs_another_pass`] ends it. One is enough
/// for most tables. [`EncoderLearner`] says where the encoder may differ from that of a table in memory; notes on
/// features that alone tell the class are not made.
pub struct Learner {
    wishes: Preparation,
    features: EncoderLearner,
    labels: Labels,
    unlabelled: usize,
    incomplete: usize,
    rows: usize,
}

/// How the rows of a table become features and classes.
#[derive(Debug, Clone)]
pub struct Learned {
    wishes: Preparation,
    /// How raw columns become features.
    pub encoder: Encoder,
    /// What the classes are called.
    pub classes: Classes,
    /// Rows that were learned from.
    pub rows: usize,
    /// Entries that the features of all rows hold, where they are stored sparsely.
    pub stored: Option<usize>,
    /// What the user should know about the data.
    pub notes: Vec<String>,
}

/// Some rows ready to be fitted.
#[derive(Debug, Clone)]
pub struct LearnedRows {
    /// One row a kept row of the table.
    pub features: Matrix,
    /// Class of every row.
    pub labels: Vec<usize>,
    /// Weight of every row, if there is a column of them.
    pub weights: Option<Vec<f64>>,
    /// Where the rows are in their file, counted from 0.
    pub places: Vec<usize>,
}

impl Learner {
    /// Nothing seen yet.
    pub fn new(wishes: Preparation) -> Self {
        let features = EncoderLearner::new(wishes.encoder.clone());
        let labels = Labels::new(&wishes.target);
        Self { wishes, features, labels, unlabelled: 0, incomplete: 0, rows: 0 }
    }

    /// Takes the next rows.
    pub fn add(&mut self, table: Table) -> Result<()> {
        let all = table.nrows();
        let (table, labels, _) = self.wishes.split(table)?;
        self.unlabelled += all - table.nrows();
        let kept = self.features.add(&table)?;
        let labels = match &kept {
            Some(rows) => {
                self.incomplete += table.nrows() - rows.len();
                labels.select_rows(rows)
            }
            None => labels,
        };
        self.rows += labels.len();
        let place = |i: usize| table.place(kept.as_ref().map_or(i, |rows| rows[i]));
        self.labels.add(&labels, &place)
    }

    /// To be called after a pass: whether another one is needed, with [`Learner::text`] read as text.
    pub fn needs_another_pass(&mut self) -> Result<bool> {
        if self.rows == 0 {
            let target = &self.wishes.target;
            return Err(Error::BadData(format!("no row has a label in column `{target}`")));
        }
        let again = self.features.needs_another_pass()? | self.labels.needs_text()?;
        if again {
            self.labels = Labels { text: self.labels.text, ..Labels::new(&self.wishes.target) };
            (self.unlabelled, self.incomplete, self.rows) = (0, 0, 0);
        }
        Ok(again)
    }

    /// Columns that must be read as text in the next pass, whatever they hold.
    pub fn text(&self) -> Vec<String> {
        let target = self.labels.text.then(|| self.wishes.target.clone());
        self.features.text().iter().cloned().chain(target).collect()
    }

    /// What was learned.
    pub fn finish(self) -> Result<Learned> {
        let constant = self.features.constant_columns();
        let (encoder, stored) = self.features.finish_counted()?;
        let stored = encoder.is_sparse().then_some(stored);
        let mut classes = self.labels.finish()?;
        if let Some(positive) = &self.wishes.positive {
            classes = classes.with_positive(positive)?;
        }
        let mut notes = Vec::new();
        if self.unlabelled > 0 {
            notes.push(rows_left_out(self.unlabelled, "without a label"));
        }
        notes.extend(encoder.notes(self.rows));
        if self.incomplete > 0 {
            notes.push(rows_left_out(self.incomplete, "with a missing cell"));
        }
        let features = encoder.columns().map(|(name, _)| name);
        let constant: Vec<&str> =
            features.filter(|name| constant.iter().any(|c| c == name)).collect();
        notes.extend(constant_words(&constant));
        Ok(Learned { wishes: self.wishes, encoder, classes, rows: self.rows, stored, notes })
    }
}

impl Learned {
    /// The rows of a chunk as features and classes.
    pub fn rows_of(&self, table: Table) -> Result<LearnedRows> {
        let (table, labels, weights) = self.wishes.split(table)?;
        let encoded = self.encoder.encode(&table)?;
        let (labels, weights, table) = match &encoded.kept {
            Some(kept) => (
                labels.select_rows(kept),
                weights.map(|w| w.select_rows(kept)),
                table.select_rows(kept),
            ),
            None => (labels, weights, table),
        };
        let labels = self.classes.codes(&labels).map_err(|e| table.at_place(e))?;
        let weights = weights.as_ref().map(super::prepare::numbers).transpose()?;
        let places = (0..table.nrows()).map(|i| table.place(i)).collect();
        let features = self.wishes.nan.apply(encoded.features);
        Ok(LearnedRows { features, labels, weights, places })
    }

    /// Columns that a reader should keep as text.
    pub fn text(&self) -> Vec<String> {
        let categories = self.encoder.categorical().map(str::to_owned);
        let dates = self.encoder.dates().map(str::to_owned);
        let target = self.classes.are_text().then(|| self.wishes.target.clone());
        categories.chain(dates).chain(target).collect()
    }

    /// Columns that are needed.
    pub fn columns(&self) -> Vec<String> {
        let features = self.encoder.columns().map(|(name, _)| name.to_owned());
        let others = std::iter::once(&self.wishes.target).chain(&self.wishes.weights).cloned();
        features.chain(others).collect()
    }

    /// The same without wishes about columns that are no longer read.
    #[must_use]
    pub fn for_columns_needed(mut self) -> Self {
        self.wishes.ids.clear();
        self.wishes.drop.clear();
        self
    }
}

/// The different labels so far.
struct Labels {
    column: String,
    numbers: Vec<f64>,
    words: Vec<String>,
    seen: BTreeSet<String>,
    /// Whether the target is read as text.
    text: bool,
}

impl Labels {
    fn new(column: &str) -> Self {
        let (numbers, words, seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { column: column.to_owned(), numbers, words, seen, text: false }
    }

    fn add(&mut self, labels: &Column, place: &dyn Fn(usize) -> usize) -> Result<()> {
        match &labels.cells {
            Cells::Numbers(values) => {
                if let Some(row) = values.iter().position(|v| v.is_infinite()) {
                    return Err(labels.bad_cell(place(row), "the label is not a finite number"));
                }
                for value in values.iter().map(|v| v + 0.0) {
                    if !self.numbers.contains(&value) && self.numbers.len() <= MANY_CLASSES {
                        self.numbers.push(value);
                    }
                }
            }
            Cells::Words(list) => {
                for (word, _) in list.used() {
                    if self.words.len() <= MANY_CLASSES && self.seen.insert(word.to_owned()) {
                        self.words.push(word.to_owned());
                    }
                }
            }
        }
        let count = self.numbers.len().max(self.words.len());
        if count > MANY_CLASSES {
            return Err(Error::BadData(format!(
                "target `{}` has more than {MANY_CLASSES} different values; a classifier needs classes",
                self.column
            )));
        }
        Ok(())
    }

    /// Whether some chunks held numbers and others words, so that the text of the numbers is lost.
    fn needs_text(&mut self) -> Result<bool> {
        let mixed = !self.numbers.is_empty() && !self.words.is_empty();
        if mixed && self.text {
            let column = &self.column;
            return Err(Error::BadData(format!(
                "target `{column}` holds numbers in some places and text in others; write all labels alike"
            )));
        }
        self.text |= mixed;
        Ok(mixed)
    }

    fn finish(self) -> Result<Classes> {
        let cells = if self.words.is_empty() {
            Cells::Numbers(self.numbers)
        } else {
            Cells::Words(self.words.iter().map(|w| Some(w.as_str())).collect::<WordList>())
        };
        Classes::learn(&Column { name: self.column, cells })
    }
}

impl Preparation {
    /// The columns that may become features, the labels and the weights; rows without a label left out where that
    /// is wanted.
    fn split(&self, mut table: Table) -> Result<(Table, Column, Option<Column>)> {
        let (labels, weights) = self.take_aside(&mut table)?;
        let drops = self.drop_unlabelled || self.encoder.missing == Missing::Drop;
        if drops && (0..labels.len()).all(|i| labels.is_missing(i)) {
            let none = |column: &Column| column.select_rows(&[]);
            return Ok((table.select_rows(&[]), none(&labels), weights.as_ref().map(none)));
        }
        self.labelled(table, labels, weights, &mut Vec::new())
    }
}
