//! The rows of a scan as partitions of a fit: encoding, standardising and fitting in passes over the files.

use std::sync::{Mutex, PoisonError};

use mainstay::Control;
use mainstay::data::{Classes, Encoder, LearnedRows, Moments, Preparation, Standardize};
use mainstay::linalg::Matrix;
use mainstay::metrics::{Evaluation, Judge, Predictions};
use mainstay::model::{Fitted, Model};
use mainstay::partitioned::{Ask, Driver, Message, ROWS, fit, pass};

use crate::error::Result;
use crate::scan::Scan;
use crate::scan_errors::ErrorColumns;
use crate::scan_featurizer::{Featurizer, featurizer};
use crate::scan_kept::KeptBlocks;
use crate::scan_reader::{Counter, Reader, Watch};

/// Part of the memory that the rows of one block may take: they are copied on their way.
const BLOCK_SHARE: u64 = 8;
/// Part of the memory that rows may take which stay between passes; the sums of a pass may take as much.
const KEPT_SHARE: u64 = 2;
/// Part of the memory that the sums of a pass may take.
const SUMS_SHARE: u64 = 2;
/// Rows of a block at least, however little memory there is.
const FEWEST_ROWS: usize = 64;

/// The rows of a scan as features and classes. A fit reads them anew in every pass, or keeps them where they take at most
/// half of `memory`.
///
/// Blocks have 16,384 rows (fewer where `memory` does not suffice), as those of a data set in memory have: the same rows
/// give the same bits. The files must stay as they are: a pass that finds others ends with an error.
pub struct ScanRows {
    pub(crate) scan: Scan,
    pub(crate) recipe: Featurizer,
    pub(crate) errors: ErrorColumns,
    pub(crate) scaling: Option<Standardize>,
    pub(crate) names: Vec<String>,
    /// Rows of a block.
    pub(crate) block: usize,
    /// What stops the pass under way.
    control: Mutex<Control>,
    pub(crate) counter: Counter,
    pub(crate) reader: Mutex<Option<Reader>>,
    pub(crate) kept: KeptBlocks,
    notes: Vec<String>,
}

impl ScanRows {
    /// Learns how the rows become features, in one pass or two. `memory`, in bytes, bounds what a block takes and what is
    /// read ahead, and rows that take at most half of it stay there once a pass has read them.
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
        let scan = scan.read_within(memory, control.n_threads());
        let (recipe, scan) =
            featurizer(scan, (wishes, &errors), control, watch.as_ref(), &mut notes)?;
        let mut found = Self {
            names: Vec::new(),
            block: ROWS,
            scan,
            recipe,
            errors,
            scaling: None,
            control: Mutex::new(control.clone()),
            counter: Counter::new(watch),
            reader: Mutex::new(None),
            kept: KeptBlocks::default(),
            notes,
        };
        found.names = found.classes().names().iter().map(ToString::to_string).collect();
        if let Some(memory) = memory {
            found.fit_into(memory)?;
        }
        Ok(found)
    }

    /// Makes blocks small enough, and room for all of them where they may stay; an error if the sums of a pass alone are too
    /// large.
    fn fit_into(&mut self, memory: u64) -> Result<()> {
        let columns = self.n_features() as u64;
        let sums = columns.saturating_mul(columns).saturating_mul(16 * self.names.len() as u64);
        if sums > memory / SUMS_SHARE {
            return Err(mainstay::Error::BadData(format!(
                "{columns} features need {} for the sums of a pass: give more --memory, or leave features out",
                size_in_words(sums.saturating_mul(SUMS_SHARE))
            ))
            .into());
        }
        let row = 8 * (self.cells() / self.rows().max(1)).max(1) as u64;
        let rows = memory / BLOCK_SHARE / row;
        self.block = usize::try_from(rows).unwrap_or(ROWS).clamp(FEWEST_ROWS, ROWS);
        if self.bytes() <= memory / KEPT_SHARE {
            self.kept = KeptBlocks::new(self.rows().div_ceil(self.block));
        }
        Ok(())
    }

    /// Keeps no rows between passes: for whoever makes a single pass.
    #[must_use]
    pub fn read_anew(mut self) -> Self {
        self.kept = KeptBlocks::default();
        self
    }

    /// Words of memory, of 8 bytes, that the features of all rows take.
    fn cells(&self) -> usize {
        let stored = match &self.recipe {
            Featurizer::Table(learned) => learned.stored,
            Featurizer::Sparse { entries, .. } => Some(*entries),
        };
        match stored {
            // A number and the column it is in, and where every row begins.
            Some(entries) => (entries.saturating_mul(3) / 2).saturating_add(self.rows()),
            None => self.rows().saturating_mul(self.n_features()),
        }
    }

    /// Bytes of all rows as a fit holds them: features, label, weight, place and errors.
    fn bytes(&self) -> u64 {
        let beside = self.rows().saturating_mul(3 + self.errors.0.len());
        (self.cells().saturating_add(beside) as u64).saturating_mul(8)
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
        if !self.errors.0.is_empty() {
            let text = "rows with errors are not standardised: their errors are in units of the features as given";
            return Err(mainstay::Error::BadData(text.into()).into());
        }
        if self.scaling.is_some() {
            return Ok(());
        }
        let (mut moments, mut sparse, mut index) = (Moments::default(), false, 0);
        while let Some(block) = self.block_to_fit(index)? {
            self.control().check()?;
            sparse |= matches!(*block.x, Matrix::Sparse(_));
            moments.add(&block.x, block.weights.as_deref());
            index += 1;
        }
        let scaling = moments.finish(sparse);
        self.kept.standardize(&scaling);
        self.scaling = Some(scaling);
        Ok(())
    }

    /// Fits in passes; `after` sees the driver after each. Linear models come back in the units of the raw features.
    pub fn fit(
        &self,
        driver: Driver,
        after: impl FnMut(&Driver) -> mainstay::Result<()> + Send,
    ) -> Result<Fitted> {
        self.fit_as_read(driver, after).map(|fitted| self.in_raw_units(fitted))
    }

    /// The same, and how well the model does on all rows, by their weights. It is judged on the rows as they are fitted, so that those which
    /// stay in memory are not read again; `judging` is called when that begins. The fit holds where the judging fails.
    pub fn fit_and_judge(
        &self,
        driver: Driver,
        after: impl FnMut(&Driver) -> mainstay::Result<()> + Send,
        judging: impl FnOnce(),
    ) -> Result<(Fitted, Result<Evaluation>)> {
        let fitted = self.fit_as_read(driver, after)?;
        judging();
        let judged = self.released(self.control().install(|| self.judge_as_read(&fitted.model)));
        Ok((self.in_raw_units(fitted), judged))
    }

    fn fit_as_read(
        &self,
        driver: Driver,
        mut after: impl FnMut(&Driver) -> mainstay::Result<()> + Send,
    ) -> Result<Fitted> {
        self.counter.restart();
        let next_pass = |driver: &Driver| {
            self.counter.restart();
            after(driver)
        };
        Ok(self.released(fit(self, driver, &self.control(), next_pass))?)
    }

    fn in_raw_units(&self, fitted: Fitted) -> Fitted {
        match &self.scaling {
            Some(scaling) => fitted.in_raw_units(scaling.clone()),
            None => fitted,
        }
    }

    fn judge_as_read(&self, model: &Model) -> Result<Evaluation> {
        let (mut judge, mut index) = (Judge::new(self.names.len()), 0);
        while let Some(block) = self.block_to_fit(index)? {
            self.control().check()?;
            let made = Predictions::of(model, &block.x)?;
            judge.add_weighted(&block.labels, &made, block.weights.as_deref())?;
            index += 1;
        }
        Ok(judge.finish()?.0)
    }

    /// One pass that `control` stops: the merged answer of all rows to `ask`; none if there is no row.
    pub fn answer(&self, ask: &Ask, control: &Control) -> mainstay::Result<Option<Message>> {
        *self.control.lock().unwrap_or_else(PoisonError::into_inner) = control.clone();
        self.counter.restart();
        self.released(pass(self, ask, control))
    }

    /// What stops the pass under way.
    pub(crate) fn control(&self) -> Control {
        self.control.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The outcome of passes; after an error no file stays open and no thread goes on reading.
    fn released<T, E>(&self, outcome: Result<T, E>) -> Result<T, E> {
        if outcome.is_err() {
            *self.reader() = None;
        }
        outcome
    }

    /// Judges a model of raw features on all rows, by their weights, in one pass.
    pub fn judge(&self, model: &Model) -> Result<Evaluation> {
        let (mut judge, mut index) = (Judge::new(self.names.len()), 0);
        self.counter.restart();
        while let Some((rows, _)) = self.raw_block(index)? {
            let made = Predictions::of(model, &rows.features)?;
            judge.add_weighted(&rows.labels, &made, rows.weights.as_deref())?;
            index += 1;
        }
        Ok(judge.finish()?.0)
    }

    /// Some rows of all, the same for the same seed, in one pass: each of at most `count` is as likely as any other.
    pub fn sample(&self, count: usize, seed: u64) -> Result<LearnedRows> {
        let mut sample = crate::sample::Sample::new(count, seed);
        let mut index = 0;
        self.counter.restart();
        while let Some((rows, _)) = self.raw_block(index)? {
            sample.add(&rows);
            index += 1;
        }
        Ok(sample.finish()?)
    }
}

/// Bytes as people say them, rounded up.
fn size_in_words(bytes: u64) -> String {
    match bytes.div_ceil(1_000_000) {
        megabytes @ 0..1000 => format!("{megabytes} MB"),
        megabytes => format!("{:.1} GB", megabytes.div_ceil(100) as f64 / 10.0),
    }
}
