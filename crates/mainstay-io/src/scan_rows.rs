//! The rows of a scan as partitions of a fit: encoding, standardising and fitting in passes over the files.

use std::sync::{Arc, Mutex, PoisonError};

use mainstay::Control;
use mainstay::data::{
    Classes, Column, Encoder, Learned, LearnedRows, Learner, Moments, Preparation, Standardize,
};
use mainstay::linalg::Matrix;
use mainstay::metrics::{Evaluation, Judge, Predictions};
use mainstay::model::{Fitted, Model};
use mainstay::partitioned::{Block, Driver, Partitions, ROWS, fit};

use crate::chunks::Chunk;
use crate::error::{Error, Result};
use crate::gather::Gather;
use crate::libsvm::SparseRows;
use crate::reading::Input;
use crate::scan::{Scan, ScanPass};

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
}

impl ScanRows {
    /// Learns how the rows become features, in one pass or two; `memory` bounds what a block takes, in bytes.
    pub fn learn(
        scan: Scan,
        wishes: &Preparation,
        memory: Option<u64>,
        control: &Control,
        watch: Option<Watch>,
    ) -> Result<Self> {
        let mut notes = Vec::new();
        let (recipe, scan) = match learn_table(&scan, wishes, control, watch.as_ref(), &mut notes)?
        {
            Some(learned) => {
                let mut options = scan.options().clone();
                options.columns = Some(learned.columns());
                options.text.extend(learned.text());
                options.read.categorical.extend(learned.encoder.categorical().map(str::to_owned));
                let recipe = Featurizer::Table(Box::new(learned.for_columns_needed()));
                (recipe, scan.with_options(options))
            }
            None => (learn_sparse(&scan, wishes, control, watch.as_ref())?, scan),
        };
        let mut found = Self {
            names: Vec::new(),
            block: ROWS,
            scan,
            recipe,
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
        while let Some(rows) = self.rows_of_block(index)? {
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
        while let Some(rows) = self.raw_block(index)? {
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
        while let Some(rows) = self.raw_block(index)? {
            self.control.check()?;
            sample.add(&rows);
            index += 1;
        }
        Ok(sample.finish()?)
    }

    /// Block number `index` with features as they are fitted.
    fn rows_of_block(&self, index: usize) -> Result<Option<LearnedRows>> {
        let rows = self.raw_block(index)?;
        Ok(match (rows, &self.scaling) {
            (Some(rows), Some(scaling)) => {
                Some(LearnedRows { features: scaling.apply_stored(&rows.features), ..rows })
            }
            (rows, _) => rows,
        })
    }

    /// Block number `index`; blocks are to be had in ascending order, and again from 0.
    fn raw_block(&self, index: usize) -> Result<Option<LearnedRows>> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if index == 0 {
            *reader = Some(Reader { pass: self.scan.pass(), next: 0, gather: Gather::default() });
        }
        let Some(own) = reader.as_mut().filter(|r| r.next == index) else {
            let problem = format!("block {index} was asked for out of order");
            return Err(mainstay::Error::BadData(problem).into());
        };
        own.next += 1;
        while own.gather.len() < self.block {
            let Some(chunk) = own.pass.next().transpose()? else { break };
            let rows = self.encoded(chunk).map_err(|e| located(e, own.pass.file()))?;
            own.gather.add(rows);
        }
        if let Some(watch) = &self.watch {
            watch(own.pass.rows() as u64);
        }
        if own.gather.len() == 0 {
            *reader = None;
            return Ok(None);
        }
        Ok(Some(own.gather.take(self.block)?))
    }

    fn encoded(&self, chunk: Chunk) -> Result<LearnedRows> {
        match (&self.recipe, chunk.rows) {
            (Featurizer::Table(learned), Input::Table(table)) => Ok(learned.rows_of(table)?),
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
        Ok(rows.map(|rows| {
            Block::new(index, rows.features, rows.labels, rows.weights)
                .with_names(self.names.as_slice())
        }))
    }
}

/// An error with the file it came from, for what only knows its rows.
fn located(error: Error, file: &str) -> Error {
    match error {
        Error::Core(source) => Error::Content { name: file.to_owned(), source },
        other => other,
    }
}

/// Learns from tables; none if the files hold LIBSVM rows.
fn learn_table(
    scan: &Scan,
    wishes: &Preparation,
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
            let Input::Table(table) = chunk?.rows else { return Ok(None) };
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
