//! A pass over the files of a scan as blocks of rows of one size, and who is told how far it is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay::Control;
use mainstay::data::LearnedRows;
use mainstay::linalg::{Dense, Matrix};

use crate::chunks::Chunk;
use crate::error::{Error, Result};
use crate::gather::Gather;
use crate::reading::Input;
use crate::scan::ScanPass;
use crate::scan_featurizer::{Featurizer, MIXED, located};
use crate::scan_rows::ScanRows;

/// Who is told, after every block, how many rows of the pass were read.
pub type Watch = Arc<dyn Fn(u64) + Send + Sync>;

/// Rows of a block, and their errors where they have some.
pub(crate) type BlockRows = (LearnedRows, Option<Dense>);

/// A pass under way.
pub(crate) struct Reader {
    pass: ScanPass,
    /// What stops it.
    control: Control,
    /// The block that comes next.
    next: usize,
    /// Rows that were read, those without a label and the like left out.
    seen: usize,
    gather: Gather,
    /// Errors of the rows that wait.
    errors: Vec<f64>,
}

/// Tells a [`Watch`] of more and more rows within a pass, whatever the order in which threads look at blocks.
pub(crate) struct Counter {
    watch: Option<Watch>,
    most: Mutex<u64>,
}

impl Counter {
    pub(crate) fn new(watch: Option<Watch>) -> Self {
        Self { watch, most: Mutex::new(0) }
    }

    /// A pass begins.
    pub(crate) fn restart(&self) {
        *self.most.lock().unwrap_or_else(PoisonError::into_inner) = 0;
    }

    /// `rows` of the pass were read.
    pub(crate) fn tell(&self, rows: usize) {
        let Some(watch) = &self.watch else { return };
        // The lock is held until the watch was told, so that another thread does not come between.
        let mut most = self.most.lock().unwrap_or_else(PoisonError::into_inner);
        if rows as u64 > *most {
            *most = rows as u64;
            watch(*most);
        }
    }
}

impl ScanRows {
    /// Block number `index` with features as they are read. The files are read from their start for block 0, and for any
    /// block but the one behind the last one read.
    pub(crate) fn raw_block(&self, index: usize) -> Result<Option<BlockRows>> {
        let mut reader = self.reader();
        let mut own = match reader.take() {
            Some(own) if own.next == index && index > 0 => own,
            _ => self.opened(),
        };
        while own.next < index {
            if self.next_block(&mut own)?.is_none() {
                return Ok(None);
            }
        }
        // After an error or the last row nothing stays behind, no thread either.
        let found = self.next_block(&mut own)?;
        if found.is_some() {
            *reader = Some(own);
        }
        Ok(found)
    }

    fn opened(&self) -> Reader {
        let (gather, errors) = (Gather::default(), Vec::new());
        let (pass, control) = (self.scan.pass(), self.control());
        Reader { pass, control, next: 0, seen: 0, gather, errors }
    }

    /// The next block of a pass. Its rows are counted: a proof holds for the rows of all passes, or for none.
    fn next_block(&self, own: &mut Reader) -> Result<Option<BlockRows>> {
        own.next += 1;
        // Once all rows are there, the files are read to their end: there may be more by now.
        while own.gather.len() < self.block || own.seen == self.rows() {
            own.control.check()?;
            let Some(chunk) = own.pass.next().transpose()? else {
                if own.seen < self.rows() {
                    return Err(self.other_rows("fewer"));
                }
                break;
            };
            let rows = self.encoded(chunk, &mut own.errors);
            let rows = rows.map_err(|e| located(e, own.pass.file()))?;
            own.seen += rows.labels.len();
            if own.seen > self.rows() {
                return Err(self.other_rows("more"));
            }
            own.gather.add(rows);
        }
        self.counter.tell(own.pass.rows());
        if own.gather.len() == 0 {
            return Ok(None);
        }
        let rows = own.gather.take(self.block)?;
        let errors = self.errors.first(&mut own.errors, rows.labels.len());
        Ok(Some((rows, errors)))
    }

    fn other_rows(&self, how: &str) -> Error {
        let problem = format!(
            "there are {how} rows than at first; do not write to files while they are read"
        );
        Error::file(&self.scan.name(), problem)
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

    pub(crate) fn reader(&self) -> MutexGuard<'_, Option<Reader>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use mainstay::data::Preparation;
    use mainstay::methods;
    use mainstay::partitioned::Step;
    use serde_json::json;

    use super::*;
    use crate::chunks::{ChunkOptions, ChunkSize};
    use crate::scan::Scan;

    /// Whoever holds on to the rows after Ctrl-C, as a traceback does, holds no thread and no file.
    #[test]
    fn a_pass_that_is_stopped_leaves_no_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let row = |i: usize| format!("{}.5,{}\n", i % 17, ["p", "q"][i % 2]);
        std::fs::write(&path, "x,y\n".to_owned() + &(0..2000).map(row).collect::<String>())
            .unwrap();
        let size = ChunkSize { bytes: 200, cells: 200 };
        let wishes = Preparation { target: "y".into(), ..Preparation::default() };
        let (control, stopped) = (Control::new(), Arc::new(Mutex::new(None::<Control>)));
        let shared = stopped.clone();
        let watch: Watch = Arc::new(move |_| {
            if let Some(control) = &*shared.lock().unwrap() {
                control.cancel();
            }
        });
        let mut driver = methods::driver("l2", &json!({"alpha": 0.1})).unwrap();
        let Step::Ask(ask) = driver.next(None).unwrap() else { panic!("nothing is asked") };
        for memory in [2_000, 2 * 2000 * 32] {
            let options = ChunkOptions { size, ..ChunkOptions::default() };
            let scan = Scan::new(&[&path], options).unwrap();
            let watch = Some(watch.clone());
            let rows = ScanRows::learn(scan, &wishes, Some(memory), &control, watch).unwrap();
            drop(rows.block_to_fit(0).unwrap().unwrap());
            assert!(rows.reader().is_some());
            let own = Control::new();
            *stopped.lock().unwrap() = Some(own.clone());
            let answer = rows.answer(&ask, &own);
            assert!(matches!(answer, Err(mainstay::Error::Interrupted)));
            assert!(rows.reader().is_none());
            *stopped.lock().unwrap() = None;
            assert!(rows.answer(&ask, &control).unwrap().is_some());
        }
    }
}
