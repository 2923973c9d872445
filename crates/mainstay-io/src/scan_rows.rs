//! The rows of a scan as partitions of a fit: encoding, standardising and fitting in passes over the files.

use std::sync::{Arc, Mutex, PoisonError};

use mainstay::Control;
use mainstay::data::{
    Classes, Column, Encoder, Learned, LearnedRows, Learner, Moments, Preparation, Standardize,
};
use mainstay::linalg::{Dense, Matrix};
use mainstay::metrics::{Evaluation, Judge, Predictions};
use mainstay::model::{Fitted, Model};
use mainstay::partitioned::{Block, Driver, Partitions, ROWS, fit};

use crate::chunks::Chunk;
use crate::error::{Error, Result};
use crate::gather::Gather;
use crate::libsvm::SparseRows;
use crate::reading::Input;
use crate::scan::{Scan, ScanPass};
use crate::scan_errors::ErrorColumns;

/// Part of the memory that the rows of one block may take: they are copied on their way.
const BLOCK_SHARE: u64 = 8;

/// Who is told, after every block, how many rows of the pass were read.
pub type Watch = Arc<dyn Fn(u64) + Send + Sync>;

/// The rows of a scan as features and classes, read anew in every pass.
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
    notes: Vec<String>,
}

/// How rows become features.
enum Featurizer {
    /// Columns of a table.
    Table(Box<Learned>),
    /// LIBSVM rows, which are features already.
    Sparse { columns: usize, classes: Classes, rows: usize },
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
        Ok(())
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
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
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

const MIXED: &str = "some files hold tables, others LIBSVM rows";

impl Partitions for ScanRows {
    fn block(&self, index: usize) -> mainstay::Result<Option<Block<'_>>> {
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

    fn rows(&self) -> Option<usize> {
        Some(Self::rows(self))
    }
}

/// An error with the file it came from, for what only knows its rows.
fn located(error: Error, file: &str) -> Error {
    match error {
        Error::Core(source) => Error::Content { name: file.to_owned(), source },
        other => other,
    }
}

/// How rows become features, and the scan of the columns that this takes.
fn featurizer(
    scan: Scan,
    (wishes, errors): (&Preparation, &ErrorColumns),
    control: &Control,
    watch: Option<&Watch>,
    notes: &mut Vec<String>,
) -> Result<(Featurizer, Scan)> {
    let Some(learned) = learn_table(&scan, (wishes, errors), control, watch, notes)? else {
        if !errors.0.is_empty() {
            let text = "LIBSVM rows have no columns of errors; use CSV, Parquet or Arrow";
            return Err(mainstay::Error::BadData(text.into()).into());
        }
        return Ok((learn_sparse(&scan, wishes, control, watch)?, scan));
    };
    let mut options = scan.options().clone();
    options.columns = Some([learned.columns(), errors.0.clone()].concat());
    options.text.extend(learned.text());
    options.read.categorical.extend(learned.encoder.categorical().map(str::to_owned));
    let recipe = Featurizer::Table(Box::new(learned.for_columns_needed()));
    Ok((recipe, scan.with_options(options)))
}

/// Learns from tables; none if the files hold LIBSVM rows.
fn learn_table(
    scan: &Scan,
    (wishes, errors): (&Preparation, &ErrorColumns),
    control: &Control,
    watch: Option<&Watch>,
    notes: &mut Vec<String>,
) -> Result<Option<Learned>> {
    let mut learner = Learner::new(wishes.clone());
    loop {
        let mut options = scan.options().clone();
        options.text.extend(learner.text());
        let mut pass = scan.with_options(options).pass();
        while let Some(chunk) = pass.next() {
            control.check()?;
            let Input::Table(mut table) = chunk?.rows else { return Ok(None) };
            errors.take(&mut table)?;
            learner.add(table).map_err(|e| located(e.into(), pass.file()))?;
            if let Some(watch) = watch {
                watch(pass.rows() as u64);
            }
        }
        if !learner.needs_another_pass()? {
            notes.extend(pass.notes());
            let learned = learner.finish()?;
            notes.extend(learned.notes.iter().cloned());
            return Ok(Some(learned));
        }
    }
}

/// Width and classes of LIBSVM rows.
fn learn_sparse(
    scan: &Scan,
    wishes: &Preparation,
    control: &Control,
    watch: Option<&Watch>,
) -> Result<Featurizer> {
    let (mut columns, mut entries, mut count) = (0, 0, 0);
    let mut labels: Vec<f64> = Vec::new();
    let mut pass = scan.pass();
    while let Some(chunk) = pass.next() {
        control.check()?;
        let Input::Sparse(rows) = chunk?.rows else {
            return Err(mainstay::Error::BadData(MIXED.into()).into());
        };
        columns = columns.max(rows.features.ncols());
        entries += rows.features.values().len();
        count += rows.features.nrows();
        if let mainstay::data::Cells::Numbers(values) = &rows.labels.cells {
            for value in values {
                if !labels.contains(value) && labels.len() <= 1000 {
                    labels.push(*value);
                }
            }
        }
        if let Some(watch) = watch {
            watch(pass.rows() as u64);
        }
    }
    SparseRows::check_width(columns, entries)?;
    let mut classes = Classes::learn(&Column::numbers("label", labels))?;
    if let Some(positive) = &wishes.positive {
        classes = classes.with_positive(positive)?;
    }
    Ok(Featurizer::Sparse { columns, classes, rows: count })
}
