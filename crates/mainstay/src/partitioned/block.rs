//! Rows that arrive in partitions.

use std::borrow::Cow;
use std::ops::Range;

use crate::data::{Dataset, RowUncertainty};
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix};

/// The rows of one partition: some rows of a matrix, their classes and weights.
///
/// Nothing is assumed about a block but that all blocks have the same columns: it may be empty, hold one row or rows
/// of one class.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// Holds the rows.
    pub x: Cow<'a, Matrix>,
    /// Which rows of `x` are meant; `labels` and `weights` have one entry for each of these.
    pub rows: Range<usize>,
    /// Class index of every row. In the first look an index into `names`.
    pub labels: Cow<'a, [usize]>,
    /// Weight of every row; `None` is 1 each.
    pub weights: Option<Cow<'a, [f64]>>,
    /// Error of every row of `x`, where rows come with errors: a radius, or one semi-axis per column.
    pub errors: Option<Cow<'a, Dense>>,
    /// What this block calls its classes, for the first look. Blocks that give all classes in one order keep that
    /// order; of others the union is taken, in order of appearance.
    pub names: Cow<'a, [String]>,
    /// Number of the partition: it names rows in errors and orders what is merged.
    pub partition: usize,
}

impl<'a> Block<'a> {
    /// All rows of `x` as partition number `partition`.
    pub fn new(partition: usize, x: Matrix, labels: Vec<usize>, weights: Option<Vec<f64>>) -> Self {
        Self {
            rows: 0..x.nrows(),
            x: Cow::Owned(x),
            labels: Cow::Owned(labels),
            weights: weights.map(Cow::Owned),
            errors: None,
            names: Cow::Borrowed(&[]),
            partition,
        }
    }

    /// The same with names for the classes that its labels count.
    #[must_use]
    pub fn with_names(self, names: impl Into<Cow<'a, [String]>>) -> Self {
        Self { names: names.into(), ..self }
    }

    /// The same with an error of every row: one column of radii, or one column of semi-axes per feature.
    #[must_use]
    pub fn with_errors(self, errors: Dense) -> Self {
        Self { errors: Some(Cow::Owned(errors)), ..self }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Weight of row `i` of the block.
    pub(super) fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[i])
    }

    /// Errors are lengths, one or as many as there are columns.
    fn check_errors(&self, errors: &Dense) -> Result<()> {
        let bad = |what: String| {
            Err(Error::BadData(format!("partition {}: uncertainty: {what}", self.partition)))
        };
        let (count, p) = (errors.ncols(), self.x.ncols());
        if errors.nrows() != self.x.nrows() {
            return bad(format!("{} rows of {}", errors.nrows(), self.x.nrows()));
        }
        if count != 1 && count != p {
            return bad(format!(
                "{count} columns of errors for {p} features: one radius per row or one semi-axis per feature is needed"
            ));
        }
        for (row, i) in self.rows.clone().enumerate() {
            let wrong = |e: &f64| !(e.is_finite() && *e >= 0.0);
            if let Some(j) = errors.row(i).iter().position(wrong) {
                return bad(format!(
                    "row {row}, column {j}: {}, but errors must be finite and not negative",
                    errors[(i, j)]
                ));
            }
        }
        Ok(())
    }

    /// Checks that the parts fit together.
    pub(super) fn check(&self) -> Result<()> {
        let bad =
            |what: String| Err(Error::BadData(format!("partition {}: {what}", self.partition)));
        if self.rows.end > self.x.nrows() || self.rows.start > self.rows.end {
            return bad(format!("rows {:?} of {}", self.rows, self.x.nrows()));
        }
        if self.labels.len() != self.len() {
            return bad(format!("{} rows but {} labels", self.len(), self.labels.len()));
        }
        if let Some(errors) = &self.errors {
            self.check_errors(errors)?;
        }
        let Some(weights) = &self.weights else { return Ok(()) };
        if weights.len() != self.len() {
            return bad(format!("{} rows but {} weights", self.len(), weights.len()));
        }
        match weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            None => Ok(()),
            Some(row) => bad(format!(
                "row {row}: weight {}, but weights must be finite and not negative",
                weights[row]
            )),
        }
    }
}

impl Block<'_> {
    /// Checks that the block has the columns and classes that the first look found.
    pub(super) fn check_known(&self, columns: usize, classes: usize) -> Result<()> {
        self.check()?;
        if self.x.ncols() != columns && !self.is_empty() {
            return Err(Error::Mismatch(format!(
                "partition {} has {} columns, the first look had {columns}",
                self.partition,
                self.x.ncols()
            )));
        }
        if let Some(label) = self.labels.iter().find(|l| **l >= classes) {
            let text = format!("partition {}: class {label} of {classes}", self.partition);
            return Err(Error::Mismatch(text));
        }
        Ok(())
    }

    /// What is wrong with a block whose numbers are not finite in solver units.
    pub(super) fn changed(&self) -> Error {
        Error::BadData(format!(
            "partition {}: a number is not finite, or far larger than in the first look; did the data change between passes?",
            self.partition
        ))
    }
}

/// Rows in partitions that can be read again and again.
///
/// An engine asks for the blocks of a pass in ascending order from 0 until there is none; where
/// [`Partitions::parallel`] holds, for several at once.
pub trait Partitions: Sync {
    /// Block number `index`, or `None` behind the last one.
    fn block(&self, index: usize) -> Result<Option<Block<'_>>>;

    /// How many rows there are, where that is known; the answer does not depend on it.
    fn rows(&self) -> Option<usize> {
        None
    }

    /// Whether blocks may be asked for from several threads, in any order.
    fn parallel(&self) -> bool {
        false
    }
}

/// Rows of one block in memory. Fixed, so that sums do not depend on the number of threads.
pub const ROWS: usize = 16_384;

/// A data set in memory as blocks of [`ROWS`] rows, which are not copied.
#[derive(Debug, Clone)]
pub struct InMemory<'a> {
    data: &'a Dataset,
    names: Vec<String>,
    rows: usize,
    errors: Option<Cow<'a, Dense>>,
    /// Whether rows have errors that no partition can hold.
    refused: bool,
}

impl<'a> InMemory<'a> {
    /// Blocks of [`ROWS`] rows.
    pub fn new(data: &'a Dataset) -> Self {
        Self::with_rows(data, ROWS)
    }

    /// Blocks of `rows` rows.
    pub fn with_rows(data: &'a Dataset, rows: usize) -> Self {
        let names = (0..data.n_classes()).map(|c| c.to_string()).collect();
        let errors = match data.uncertainty() {
            Some(RowUncertainty::Radii(radii)) => {
                Some(Cow::Owned(Dense::from_rows(radii.len(), 1, radii.clone())))
            }
            Some(RowUncertainty::Axes(axes)) => Some(Cow::Borrowed(axes)),
            _ => None,
        };
        let refused = errors.is_none() && data.uncertainty().is_some();
        Self { data, names, rows: rows.max(1), errors, refused }
    }

    /// Blocks of [`ROWS`] rows for a method that knows no errors of rows.
    pub(super) fn without_errors(data: &'a Dataset) -> Self {
        let names = (0..data.n_classes()).map(|c| c.to_string()).collect();
        Self { data, names, rows: ROWS, errors: None, refused: false }
    }
}

impl Partitions for InMemory<'_> {
    fn block(&self, index: usize) -> Result<Option<Block<'_>>> {
        if self.refused {
            return Err(Error::BadParams(
                "a full matrix per row, or one per group of rows, has no fit over partitions; give a radius or one \
                 semi-axis per feature for every row"
                    .into(),
            ));
        }
        let first = index.saturating_mul(self.rows);
        if first >= self.data.len() {
            return Ok(None);
        }
        let rows = first..self.data.len().min(first + self.rows);
        Ok(Some(Block {
            x: Cow::Borrowed(self.data.features()),
            labels: Cow::Borrowed(&self.data.labels()[rows.clone()]),
            weights: self.data.weights().map(|w| Cow::Borrowed(&w[rows.clone()])),
            errors: self.errors.as_ref().map(|e| Cow::Borrowed(&**e)),
            names: Cow::Borrowed(&self.names),
            partition: index,
            rows,
        }))
    }

    fn rows(&self) -> Option<usize> {
        Some(self.data.len())
    }

    fn parallel(&self) -> bool {
        true
    }
}
