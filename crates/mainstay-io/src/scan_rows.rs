//! The rows of a scan as partitions of a fit: encoding, standardising and fitting in passes over the files.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mainstay::Control;
use mainstay::data::{Classes, Encoder, LearnedRows, Moments, Preparation, Standardize};
use mainstay::linalg::{Dense, Matrix};
use mainstay::metrics::{Evaluation, Judge, Predictions};
use mainstay::model::{Fitted, Model};
use mainstay::partitioned::{Block, Driver, Partitions, ROWS, fit};

use crate::chunks::Chunk;
use crate::error::{Error, Result};
use crate::gather::Gather;
use crate::reading::Input;
use crate::scan::{Scan, ScanPass};
use crate::scan_errors::ErrorColumns;
use crate::scan_featurizer::{Featurizer, MIXED, featurizer, located};

/// Part of the memory that the rows of one block may take: they are copied on their way.
const BLOCK_SHARE: u64 = 8;
/// Part of the memory that rows may take which stay between passes.
const KEPT_SHARE: u64 = 2;

/// Who is told, after every block, how many rows of the pass were read.
pub type Watch = Arc<dyn Fn(u64) + Send + Sync>;

/// The rows of a scan as features and classes. A fit reads them anew in every pass, or once where they take at most half
/// of `memory`.
///
/// Blocks have 16,384 rows (fewer where `memory` does not suffice), as those of a data set in memory have: the same rows
/// give the same bits.
pub struct ScanRows {
    scan: Scan,
    recipe: Featurizer,
    errors: ErrorColumns,
    scaling: Option<Standardize>,
    names: Vec<String>,
    /// Rows of a block.
    block: usize,
    control: Control,
    watch: Option<Watch>,
    reader: Mutex<Option<Reader>>,
    kept: KeptBlocks,
    notes: Vec<String>,
}

/// A pass under way.
struct Reader {
    pass: ScanPass,
    next: usize,
    gather: Gather,
    /// Errors of the rows that wait.
    errors: Vec<f64>,
}

/// Rows of a block, and their errors where they have some.
type BlockRows = (LearnedRows, Option<Dense>);

/// Blocks that stay in memory once they were read, a place for each; none where they would take too much of it.
type KeptBlocks = Vec<OnceLock<BlockRows>>;

impl ScanRows {
    /// Learns how the rows become features, in one pass or two; `memory` bounds what a block takes, in bytes.
    pub fn learn(
        scan: Scan,
        wishes: &Preparation,
        memory: Option<u64>,
        control: &Control,
        watch: Option<Watch>,
    ) -> Result<Self> {
        Self::learn_with_errors(scan, (wishes, &[]), memory, control, watch)
    }

    /// The same where columns hold the known error of every row: one radii, or one for every feature its semi-axes, in the
    /// order of the features. They are no features, and nothing standardises them.
    pub fn learn_with_errors(
        scan: Scan,
        (wishes, errors): (&Preparation, &[String]),
        memory: Option<u64>,
        control: &Control,
        watch: Option<Watch>,
    ) -> Result<Self> {
        let (mut notes, errors) = (Vec::new(), ErrorColumns(errors.to_vec()));
        let (recipe, scan) =
            featurizer(scan, (wishes, &errors), control, watch.as_ref(), &mut notes)?;
        let mut found = Self {
            names: Vec::new(),
            block: ROWS,
            scan,
            recipe,
            errors,
            scaling: None,
            control: control.clone(),
            watch,
            reader: Mutex::new(None),
            kept: Vec::new(),
            notes,
        };
        found.names = found.classes().names().iter().map(ToString::to_string).collect();
        if let Some(memory) = memory {
            found.fit_into(memory)?;
        }
        Ok(found)
    }

    /// Makes blocks small enough; an error if the sums of a pass alone are too large.
    fn fit_into(&mut self, memory: u64) -> Result<()> {
        let columns = self.n_features() as u64;
        let sums = columns.saturating_mul(columns).saturating_mul(16 * self.names.len() as u64);
        if sums > memory / 2 {
            return Err(mainstay::Error::BadData(format!(
                "{columns} features need {:.1} GB for the sums of a pass: give more --memory, or leave features out",
                2.0 * sums as f64 / 1e9
            ))
            .into());
        }
        let rows = memory / BLOCK_SHARE / (8 * columns.max(1));
        self.block = usize::try_from(rows).unwrap_or(ROWS).clamp(64, ROWS);
        if self.bytes() <= memory / KEPT_SHARE {
            self.kept.resize_with(self.rows().div_ceil(self.block), OnceLock::new);
        }
        Ok(())
    }

    /// Bytes of all rows as a fit holds them: features, label, weight, place and errors.
    fn bytes(&self) -> u64 {
        let cells = match &self.recipe {
            Featurizer::Table(_) => self.rows().saturating_mul(self.n_features()),
            // A number and the column it is in.
            Featurizer::Sparse { entries, .. } => entries.saturating_mul(3) / 2,
        };
        let beside = self.rows().saturating_mul(3 + self.errors.0.len());
        8 * cells.saturating_add(beside) as u64
    }

    /// What the classes are called.
    pub fn classes(&self) -> &Classes {
        match &self.recipe {
            Featurizer::Table(learned) => &learned.classes,
            Featurizer::Sparse { classes, .. } => classes,
        }
    }

    /// How raw columns become features; none for LIBSVM files, which hold features already.
    pub fn encoder(&self) -> Option<&Encoder> {
        match &self.recipe {
            Featurizer::Table(learned) => Some(&learned.encoder),
            Featurizer::Sparse { .. } => None,
        }
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        match &self.recipe {
            Featurizer::Table(learned) => learned.encoder.n_features(),
            Featurizer::Sparse { columns, .. } => *columns,
        }
    }

    /// Rows that were learned from.
    pub fn rows(&self) -> usize {
        match &self.recipe {
            Featurizer::Table(learned) => learned.rows,
            Featurizer::Sparse { rows, .. } => *rows,
        }
    }

    /// What the user should know about the data.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Standardises the features from now on, with means and deviations from one pass; sparse ones are not centred.
    pub fn standardize(&mut self) -> Result<()> {
        let (mut moments, mut sparse, mut index) = (Moments::default(), false, 0);
        if !self.errors.0.is_empty() {
            let text = "rows with errors are not standardised: their errors are in units of the features as given";
            return Err(mainstay::Error::BadData(text.into()).into());
        }
        while let Some((rows, _)) = self.rows_of_block(index)? {
            self.control.check()?;
            sparse |= matches!(rows.features, Matrix::Sparse(_));
            moments.add(&rows.features, rows.weights.as_deref());
            index += 1;
        }
        self.scaling = Some(moments.finish(sparse));
        self.kept.iter_mut().for_each(|place| *place = OnceLock::new());
        Ok(())
    }

    /// Fits in passes; `after` sees the driver after each. Linear models come back in the units of the raw features.
    pub fn fit(
        &self,
        driver: Driver,
        after: impl FnMut(&Driver) -> mainstay::Result<()> + Send,
    ) -> Result<Fitted> {
        let fitted = fit(self, driver, &self.control, after)?;
        Ok(match &self.scaling {
            Some(scaling) => fitted.in_raw_units(scaling.clone()),
            None => fitted,
        })
    }

    /// Judges a model of raw features on all rows, in one pass.
    pub fn judge(&self, model: &Model) -> Result<Evaluation> {
        let mut judge = Judge::new(self.names.len());
        let mut index = 0;
        while let Some((rows, _)) = self.raw_block(index)? {
            self.control.check()?;
            judge.add(&rows.labels, &Predictions::of(model, &rows.features)?)?;
            index += 1;
        }
        Ok(judge.finish()?.0)
    }

    /// Some rows of all, the same for the same seed, in one pass: each of at most `count` is as likely as any other.
    pub fn sample(&self, count: usize, seed: u64) -> Result<LearnedRows> {
        let mut sample = crate::sample::Sample::new(count, seed);
        let mut index = 0;
        while let Some((rows, _)) = self.raw_block(index)? {
            self.control.check()?;
            sample.add(&rows);
            index += 1;
        }
        Ok(sample.finish()?)
    }

    /// Block number `index` with features as they are fitted.
    fn rows_of_block(&self, index: usize) -> Result<Option<BlockRows>> {
        let rows = self.raw_block(index)?;
        Ok(match (rows, &self.scaling) {
            (Some((rows, errors)), Some(scaling)) => {
                let features = scaling.apply_stored(&rows.features);
                Some((LearnedRows { features, ..rows }, errors))
            }
            (rows, _) => rows,
        })
    }

    /// Block number `index`; blocks are to be had in ascending order, and again from 0.
    fn raw_block(&self, index: usize) -> Result<Option<BlockRows>> {
        let mut reader = self.reader();
        if index == 0 {
            let (gather, errors) = (Gather::default(), Vec::new());
            *reader = Some(Reader { pass: self.scan.pass(), next: 0, gather, errors });
        }
        let Some(own) = reader.as_mut().filter(|r| r.next == index) else {
            let problem = format!("block {index} was asked for out of order");
            return Err(mainstay::Error::BadData(problem).into());
        };
        own.next += 1;
        while own.gather.len() < self.block {
            let Some(chunk) = own.pass.next().transpose()? else { break };
            let rows = self.encoded(chunk, &mut own.errors);
            let rows = rows.map_err(|e| located(e, own.pass.file()))?;
            own.gather.add(rows);
        }
        if let Some(watch) = &self.watch {
            watch(own.pass.rows() as u64);
        }
        if own.gather.len() == 0 {
            *reader = None;
            return Ok(None);
        }
        let rows = own.gather.take(self.block)?;
        let errors = self.errors.first(&mut own.errors, rows.labels.len());
        Ok(Some((rows, errors)))
    }

    /// The rows of a chunk; their errors are added to `errors`.
    fn encoded(&self, chunk: Chunk, errors: &mut Vec<f64>) -> Result<LearnedRows> {
        match (&self.recipe, chunk.rows) {
            (Featurizer::Table(learned), Input::Table(table)) if self.errors.0.is_empty() => {
                Ok(learned.rows_of(table)?)
            }
            (Featurizer::Table(learned), Input::Table(mut table)) => {
                let own = self.errors.take(&mut table)?;
                let rows = learned.rows_of(table)?;
                own.add_to(&rows.places, errors);
                Ok(rows)
            }
            (Featurizer::Sparse { columns, classes, .. }, Input::Sparse(rows)) => {
                let labels = classes.codes(&rows.labels)?;
                let features = Matrix::Sparse(rows.features.with_ncols(*columns)?);
                let places = (chunk.first..chunk.first + labels.len()).collect();
                Ok(LearnedRows { features, labels, weights: None, places })
            }
            _ => Err(mainstay::Error::BadData(MIXED.into()).into()),
        }
    }
}

impl ScanRows {
    /// Block number `index` of rows that stay in memory; it is read now if it was not before.
    fn kept_block(&self, index: usize) -> Result<Option<Block<'_>>> {
        let Some(place) = self.kept.get(index) else { return self.nothing_behind(index) };
        if place.get().is_some() {
            if let Some(watch) = &self.watch {
                watch(self.rows().min((index + 1) * self.block) as u64);
            }
        } else {
            // A pass that was cut short starts the files again.
            let next = self.reader().as_ref().map_or(0, |reader| reader.next);
            let behind = if next == index { index } else { 0 };
            for skipped in behind..index {
                if self.raw_block(skipped)?.is_none() {
                    return Err(changed("fewer"));
                }
            }
            let rows = self.rows_of_block(index)?;
            let found = rows.as_ref().map_or(0, |(rows, _)| rows.labels.len());
            let expected = self.block.min(self.rows() - index * self.block);
            let Some(rows) = rows.filter(|_| found == expected) else {
                return Err(changed(if found < expected { "fewer" } else { "more" }));
            };
            place.get_or_init(|| rows);
        }
        Ok(place.get().map(|(rows, errors)| Block {
            x: Cow::Borrowed(&rows.features),
            rows: 0..rows.labels.len(),
            labels: Cow::Borrowed(&rows.labels),
            weights: rows.weights.as_deref().map(Cow::Borrowed),
            errors: errors.as_ref().map(Cow::Borrowed),
            names: Cow::Borrowed(&self.names),
            partition: index,
        }))
    }

    /// The end of the rows that were learned from; an error if the files have more by now.
    fn nothing_behind(&self, index: usize) -> Result<Option<Block<'_>>> {
        let under_way = self.reader().as_ref().is_some_and(|reader| reader.next == index);
        if under_way && self.raw_block(index)?.is_some() {
            return Err(changed("more"));
        }
        Ok(None)
    }

    fn reader(&self) -> MutexGuard<'_, Option<Reader>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn changed(how: &str) -> Error {
    let text =
        format!("the files have {how} rows than before: do not write to them while they are read");
    mainstay::Error::BadData(text).into()
}

impl Partitions for ScanRows {
    fn block(&self, index: usize) -> mainstay::Result<Option<Block<'_>>> {
        if !self.kept.is_empty() {
            return self.kept_block(index).map_err(Error::into_core);
        }
        let rows = self.rows_of_block(index).map_err(Error::into_core)?;
        Ok(rows.map(|(rows, errors)| {
            let block = Block::new(index, rows.features, rows.labels, rows.weights)
                .with_names(self.names.as_slice());
            match errors {
                Some(errors) => block.with_errors(errors),
                None => block,
            }
        }))
    }

    fn parallel(&self) -> bool {
        !self.kept.is_empty() && self.kept.iter().all(|place| place.get().is_some())
    }

    fn rows(&self) -> Option<usize> {
        Some(Self::rows(self))
    }
}
