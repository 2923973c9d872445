//! What the first look settles: classes, counts, moments, finiteness, and a sample of rows.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::ask::FirstAsk;
use super::block::Block;
use super::drawn::Drawn;
use super::wire::{Reader, Wire, damaged, wire};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, Row, vector};

/// Counts and moments of one class.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClassMoments {
    /// Rows.
    pub rows: usize,
    /// Total weight.
    pub weight: f64,
    /// Weighted mean of every column.
    pub mean: Vec<f64>,
    /// Weighted sum of squared distances from that mean.
    pub squares: Vec<f64>,
}

wire!(ClassMoments { rows, weight, mean, squares });

impl ClassMoments {
    fn empty(columns: usize) -> Self {
        Self { rows: 0, weight: 0.0, mean: vec![0.0; columns], squares: vec![0.0; columns] }
    }

    /// Moments of both together (Chan, Golub and LeVeque 1979): no cancellation however far from zero the means are.
    pub(super) fn merge(&mut self, other: &Self, factor: f64) {
        let added = factor * other.weight;
        let total = self.weight + added;
        self.rows += other.rows;
        if total > 0.0 {
            let share = added / total;
            for j in 0..self.mean.len() {
                let apart = other.mean[j] - self.mean[j];
                self.squares[j] += factor * other.squares[j] + apart * apart * self.weight * share;
                self.mean[j] += apart * share;
            }
        }
        self.weight = total;
    }
}

/// A number that is not finite.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BadCell {
    pub partition: usize,
    pub row: usize,
    pub column: usize,
    pub value: f64,
}

wire!(BadCell { partition, row, column, value });

/// The answer to the first question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FirstLook {
    pub columns: usize,
    /// Numbers that make the error of a row; 0 where rows have none.
    pub errors: usize,
    /// Partitions seen, empty ones included.
    pub partitions: usize,
    /// Whether any block was stored sparsely.
    pub sparse: bool,
    pub names: Vec<String>,
    pub classes: Vec<ClassMoments>,
    pub lowest: Vec<f64>,
    pub highest: Vec<f64>,
    /// The first bad cell, in the order of partitions and rows.
    pub bad: Option<BadCell>,
    /// Most rows of the sample, as asked.
    pub sample_rows: usize,
    /// In the order of the draws.
    pub sample: Vec<Drawn>,
    /// Values of the rows of the sample, one row after the other: a list for each row would take more memory.
    pub sample_values: Vec<f64>,
    /// Their errors, as many for each row as `errors` says.
    pub sample_spread: Vec<f64>,
}

wire!(FirstLook {
    columns,
    errors,
    partitions,
    sparse,
    names,
    classes,
    lowest,
    highest,
    bad,
    sample_rows,
    sample,
    sample_values,
    sample_spread
});

/// Looks at a block for the first time.
pub(super) fn first_look(block: &Block<'_>, ask: &FirstAsk) -> Result<FirstLook> {
    block.check()?;
    let columns = block.x.ncols();
    let names = class_names(block)?;
    let mut look = FirstLook {
        columns,
        errors: block.errors.as_ref().map_or(0, |e| e.ncols()),
        partitions: 1,
        sparse: matches!(*block.x, Matrix::Sparse(_)),
        classes: vec![ClassMoments::empty(columns); names.len()],
        names,
        lowest: vec![f64::INFINITY; columns],
        highest: vec![f64::NEG_INFINITY; columns],
        bad: bad_cell(block),
        sample_rows: ask.sample_rows.min(ask.sample_numbers / columns.max(1)).max(1),
        sample: Vec::new(),
        sample_values: Vec::new(),
        sample_spread: Vec::new(),
    };
    if look.bad.is_none() {
        look.take_moments(block);
        look.take_sample(block, ask.limit);
    }
    Ok(look)
}

/// The names of the block's classes; their numbers where it gives none.
fn class_names(block: &Block<'_>) -> Result<Vec<String>> {
    let named = block.names.len();
    let count = block.labels.iter().max().map_or(0, |top| top + 1);
    if named == 0 {
        return Ok((0..count).map(|c| c.to_string()).collect());
    }
    if count > named {
        let text = format!("partition {}: class {} of {named}", block.partition, count - 1);
        return Err(Error::BadData(text));
    }
    Ok(block.names.to_vec())
}

fn bad_cell(block: &Block<'_>) -> Option<BadCell> {
    if let Matrix::Dense(x) = &*block.x {
        let (start, end) = (block.rows.start * x.ncols(), block.rows.end * x.ncols());
        if vector::all_finite(&x.data()[start..end]) {
            return None;
        }
    }
    block.rows.clone().enumerate().find_map(|(row, i)| {
        let (column, value) = block.x.row(i).entries().find(|(_, v)| !v.is_finite())?;
        Some(BadCell { partition: block.partition, row, column, value })
    })
}

/// Shows every row of a block with its label and weight; `full` takes the zeros of a sparse row.
#[inline(always)]
fn each_row(block: &Block<'_>, full: &mut [f64], mut see: impl FnMut(usize, f64, &[f64])) {
    for (row, i) in block.rows.clone().enumerate() {
        let (label, weight) = (block.labels[row], block.weight(row));
        match block.x.row(i) {
            Row::Dense(values) => see(label, weight, values),
            sparse @ Row::Sparse(..) => {
                full.fill(0.0);
                sparse.add_scaled_to(1.0, full);
                see(label, weight, full);
            }
        }
    }
}

impl FirstLook {
    /// Rows twice: means first, then the squares around them.
    fn take_moments(&mut self, block: &Block<'_>) {
        let mut full = vec![0.0; self.columns];
        let (classes, lowest, highest) = (&mut self.classes, &mut self.lowest, &mut self.highest);
        vector::vectorized!({
            each_row(block, &mut full, |label, weight, values| {
                let class = &mut classes[label];
                class.rows += 1;
                class.weight += weight;
                let sums = class.mean.iter_mut().zip(&mut *lowest).zip(&mut *highest);
                for (((mean, low), high), &x) in sums.zip(values) {
                    *mean += weight * x;
                    *low = if x < *low { x } else { *low };
                    *high = if x > *high { x } else { *high };
                }
            });
        });
        for class in classes.iter_mut().filter(|class| class.weight > 0.0) {
            class.mean.iter_mut().for_each(|m| *m /= class.weight);
        }
        vector::vectorized!({
            each_row(block, &mut full, |label, weight, values| {
                let class = &mut classes[label];
                for ((square, mean), x) in class.squares.iter_mut().zip(&class.mean).zip(values) {
                    *square += weight * (x - mean) * (x - mean);
                }
            });
        });
    }

    /// Both looks as one. Classes keep the order in which they appear.
    pub(super) fn merge(mut self, next: Self) -> Result<Self> {
        if self.columns != next.columns {
            return Err(Error::BadData(format!(
                "partitions have {} and {} columns: all must have the same",
                self.columns, next.columns
            )));
        }
        if self.errors != next.errors && self.rows() > 0 && next.rows() > 0 {
            return Err(Error::BadData(format!(
                "partitions have {} and {} columns of errors: all must have the same",
                self.errors, next.errors
            )));
        }
        self.errors = self.errors.max(next.errors);
        let place: Vec<usize> = next.names.iter().map(|name| self.place(name)).collect();
        for (moments, &at) in next.classes.iter().zip(&place) {
            self.classes[at].merge(moments, 1.0);
        }
        for j in 0..self.columns {
            self.lowest[j] = self.lowest[j].min(next.lowest[j]);
            self.highest[j] = self.highest[j].max(next.highest[j]);
        }
        self.partitions += next.partitions;
        self.sparse |= next.sparse;
        self.merge_sample(&next, &place);
        self.bad = self.bad.or(next.bad);
        Ok(self)
    }

    /// Refuses bytes whose parts do not fit together.
    pub(super) fn check(self) -> Result<Self> {
        let (rows, classes) = (self.sample.len(), self.names.len());
        let fits = rows.checked_mul(self.columns) == Some(self.sample_values.len())
            && rows.checked_mul(self.errors) == Some(self.sample_spread.len())
            && self.classes.len() == classes
            && self.sample.iter().all(|drawn| drawn.label < classes)
            && self.classes.iter().all(|class| {
                class.mean.len() == self.columns && class.squares.len() == self.columns
            })
            && self.lowest.len() == self.columns
            && self.highest.len() == self.columns;
        if fits { Ok(self) } else { Err(damaged("a first look whose parts do not fit together")) }
    }

    /// Where the class called `name` stands; at the end, if it is new.
    fn place(&mut self, name: &String) -> usize {
        self.names.iter().position(|n| n == name).unwrap_or_else(|| {
            self.names.push(name.clone());
            self.classes.push(ClassMoments::empty(self.columns));
            self.names.len() - 1
        })
    }

    /// Puts the classes into another order: number `order[c]` becomes number `c`.
    pub(super) fn reorder(&mut self, order: &[usize]) -> Result<()> {
        let mut place = vec![usize::MAX; self.names.len()];
        for (new, &old) in order.iter().enumerate() {
            if old < place.len() {
                place[old] = new;
            }
        }
        if order.len() != place.len() || place.contains(&usize::MAX) {
            return Err(Error::BadParams("an order names every class once".into()));
        }
        self.names = order.iter().map(|&old| self.names[old].clone()).collect();
        self.classes = order.iter().map(|&old| self.classes[old].clone()).collect();
        self.sample.iter_mut().for_each(|d| d.label = place[d.label]);
        Ok(())
    }

    /// Total rows.
    pub(crate) fn rows(&self) -> usize {
        self.classes.iter().map(|c| c.rows).sum()
    }

    /// Moments of all rows, those of a class counting `factors` times.
    pub(crate) fn overall(&self, factors: &[f64]) -> ClassMoments {
        let mut all = ClassMoments::empty(self.columns);
        for (class, factor) in self.classes.iter().zip(factors) {
            all.merge(class, *factor);
        }
        // The merged mean of a column of one value is rounded.
        for j in (0..self.columns).filter(|&j| self.lowest[j] == self.highest[j]) {
            all.mean[j] = self.lowest[j];
        }
        all
    }

    /// What tells this data set from another: a checkpoint remembers it.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut bytes = Vec::new();
        (self.columns, self.rows()).put(&mut bytes);
        self.names.put(&mut bytes);
        self.classes.put(&mut bytes);
        fingerprint(&bytes)
    }
}

impl Wire for (usize, usize) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok((usize::get(from)?, usize::get(from)?))
    }
}

/// FNV-1a: tells different bytes apart, without protection against intent.
pub(super) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
