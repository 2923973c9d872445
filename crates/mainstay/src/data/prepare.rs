//! From a raw table and the owner's wishes to a data set, with every row still itself.

use super::{
    Cells, Classes, Column, Dataset, Encoder, EncoderOptions, Gaps, Handled, Missing, Table, leaks,
    unlike_classes,
};
use crate::error::{Error, Result};
use crate::linalg::Matrix;

/// What a method makes of a missing number (NaN).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NanRule {
    /// It is an error.
    #[default]
    Refuse,
    /// It counts as 0.
    Zero,
    /// The method makes its own sense of it.
    Keep,
}

impl NanRule {
    /// A data set whose missing numbers follow the rule.
    pub fn dataset(
        self,
        features: Matrix,
        labels: Vec<usize>,
        n_classes: usize,
    ) -> Result<Dataset> {
        match self {
            Self::Refuse => Dataset::new(features, labels, n_classes),
            Self::Zero => Dataset::with_missing(features, labels, n_classes),
            Self::Keep => Dataset::with_gaps(features, labels, n_classes),
        }
    }

    /// Features of rows to predict.
    #[must_use]
    pub fn apply(self, features: Matrix) -> Matrix {
        if self == Self::Zero { features.nan_to_zero() } else { features }
    }
}

/// What the columns of a table are for.
#[derive(Debug, Clone, Default)]
pub struct Preparation {
    /// Column of classes.
    pub target: String,
    /// Column of row weights.
    pub weights: Option<String>,
    /// Columns that name rows; never features.
    pub ids: Vec<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Rows without a label are left out; also done when rows with any missing cell are.
    pub drop_unlabelled: bool,
    /// Which of two classes is the positive one; `None`: the one that sorts last.
    pub positive: Option<String>,
    /// What the method makes of a missing number.
    pub nan: NanRule,
    /// How features are encoded.
    pub encoder: EncoderOptions,
}

/// Rows ready to be fitted.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Features, classes and weights.
    pub data: Dataset,
    /// What the classes are called.
    pub classes: Classes,
    /// How raw columns became features.
    pub encoder: Encoder,
    /// Where the rows of `data` were in the file, counted from 0.
    pub places: Vec<usize>,
    /// What identifies the rows of `data`, one column for each of [`Preparation::ids`].
    pub ids: Vec<Column>,
    /// What the user should know about the data.
    pub notes: Vec<String>,
    /// What became of rows and cells.
    pub handled: Handled,
}

impl Preparation {
    /// Learns how to encode `table` and encodes it.
    pub fn apply(&self, mut table: Table) -> Result<Prepared> {
        let mut notes = Vec::new();
        let (labels, weights) = self.take_aside(&mut table)?;
        let mut handled = Handled { rows_read: Some(table.nrows()), ..Handled::default() };
        let (table, labels, weights) = self.labelled(table, labels, weights, &mut notes)?;
        let unlabelled = handled.rows_read.unwrap_or(0) - table.nrows();
        if unlabelled > 0 {
            handled.rows_left_out.push(("the label is missing".into(), unlabelled));
        }
        let encoder = Encoder::learn_with(&table, &self.encoder)?;
        let encoded = encoder.encode(&table)?;
        notes.extend(encoder.notes(table.nrows()));
        handled.encoding(&table, &encoder, encoded.dropped(&table));
        let (mut labels, mut weights, mut rows) = (labels, weights, None);
        if let Some(kept) = &encoded.kept {
            notes.push(rows_left_out(encoded.dropped(&table), "with a missing cell"));
            labels = labels.select_rows(kept);
            weights = weights.map(|w| w.select_rows(kept));
            rows = Some(table.select_rows(kept));
        }
        let rows = rows.as_ref().unwrap_or(&table);
        let mut classes = Classes::learn(&labels).map_err(|e| rows.at_place(e))?;
        if let Some(positive) = &self.positive {
            classes = classes.with_positive(positive)?;
        }
        let codes = classes.codes(&labels).map_err(|e| rows.at_place(e))?;
        notes.extend(leaks::constant_note(rows, &encoder));
        notes.extend(leaks::leak_notes(rows, &encoder, &codes, classes.names().len()));
        let count = classes.names().len();
        let rows_of_class = super::dataset::count(&codes, count);
        notes.extend(unlike_classes(&self.target, &classes, &rows_of_class));
        let mut data = self.nan.dataset(encoded.features, codes, count)?;
        if let Some(column) = weights {
            data = data.with_weights(numbers(&column)?)?;
        }
        let places = (0..rows.nrows()).map(|i| rows.place(i)).collect();
        Ok(Prepared { data, classes, encoder, places, ids: rows.ids().to_vec(), notes, handled })
    }

    /// Takes out what is no feature; labels and weights are returned.
    pub(super) fn take_aside(&self, table: &mut Table) -> Result<(Column, Option<Column>)> {
        table.set_ids(&self.ids)?;
        let labels = without_gaps(table.take(&self.target)?, &self.encoder.gaps);
        let weights = self.weights.as_ref().map(|name| table.take(name)).transpose()?;
        for name in &self.drop {
            table.take(name)?;
        }
        Ok((labels, weights))
    }

    /// The rows that have a label, where others are to be left out.
    pub(super) fn labelled(
        &self,
        table: Table,
        labels: Column,
        weights: Option<Column>,
        notes: &mut Vec<String>,
    ) -> Result<(Table, Column, Option<Column>)> {
        let drops = self.drop_unlabelled || self.encoder.missing == Missing::Drop;
        let Some(first) = labels.first_missing() else { return Ok((table, labels, weights)) };
        if !drops {
            // The target's own error names the cell; the table is whole here.
            return Classes::learn(&labels)
                .map_err(|e| table.at_place(e))
                .and_then(|_| Err(labels.bad_cell(first, "the label is missing")));
        }
        let rows: Vec<usize> = (0..labels.len()).filter(|&i| !labels.is_missing(i)).collect();
        if rows.is_empty() {
            return Err(Error::BadData(format!("no row has a label in column `{}`", labels.name)));
        }
        notes.push(rows_left_out(labels.len() - rows.len(), "without a label"));
        let weights = weights.map(|w| w.select_rows(&rows));
        Ok((table.select_rows(&rows), labels.select_rows(&rows), weights))
    }
}

pub(super) fn numbers(column: &Column) -> Result<Vec<f64>> {
    match &column.cells {
        Cells::Numbers(values) => Ok(values.clone()),
        Cells::Words(_) => {
            let name = &column.name;
            Err(Error::BadData(format!("column `{name}` of weights must hold numbers")))
        }
    }
}

pub(super) fn rows_left_out(count: usize, which: &str) -> String {
    match count {
        1 => format!("1 row {which} was left out"),
        many => format!("{many} rows {which} were left out"),
    }
}

/// Words for "no value" among the labels are gaps.
fn without_gaps(column: Column, gaps: &Gaps) -> Column {
    match &column.cells {
        Cells::Words(list) if list.words().iter().any(|word| gaps.in_words(word)) => {
            let words = list.map(|word| (!gaps.in_words(word)).then(|| word.to_owned()));
            Column { name: column.name, cells: Cells::Words(words) }
        }
        _ => column,
    }
}
