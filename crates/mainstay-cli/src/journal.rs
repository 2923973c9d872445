//! Finished cells on disk while a long run goes on, so that nothing is lost.
//!
//! The journal lies beside the output it is for (`out.csv.cells`). A journal of the same run is taken up again, one
//! of another run is begun anew, any other file there is refused. It is removed when the output is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use mainstay::stress::Cell;
use serde_json::Value;

use crate::console::Console;
use crate::failure::{Failure, Outcome};

/// Where finished cells are kept until the output is complete.
pub(crate) struct Journal {
    file: Option<mainstay_io::Journal<Cell>>,
    /// Cells so far, those of earlier runs included.
    count: Mutex<usize>,
}

impl Journal {
    /// Opens the journal beside `output` and says what it takes over; without an output nothing is kept.
    pub(crate) fn open(output: Option<&Path>, run: &Value, console: &Console) -> Outcome<Self> {
        let Some(output) = output.filter(|path| !is_special(path)) else {
            return Ok(Self { file: None, count: Mutex::default() });
        };
        let mut name = output.as_os_str().to_owned();
        name.push(".cells");
        let file = mainstay_io::Journal::open(&PathBuf::from(name), run, Cell::is_sound)?;
        let (known, skipped) = (file.known().len(), file.skipped());
        if known > 0 {
            console.note(&format!("{known} cells of an interrupted run are taken over"));
        }
        if skipped > 0 {
            let place = file.path().display();
            console.note(&format!(
                "{skipped} lines of {place} are damaged: their cells are run again"
            ));
        }
        Ok(Self { file: Some(file), count: Mutex::new(known) })
    }

    /// Cells that an earlier, interrupted run of the same command has finished.
    pub(crate) fn known(&self) -> &[Cell] {
        self.file.as_ref().map_or(&[], mainstay_io::Journal::known)
    }

    /// Keeps cells; a full disk is not worth stopping for, the run itself has them in memory.
    pub(crate) fn add(&self, cells: &[Cell]) {
        let kept = self.file.as_ref().is_none_or(|file| file.add(cells).is_ok());
        if kept && let Ok(mut count) = self.count.lock() {
            *count += cells.len();
        }
    }

    /// What to tell when the run did not come to its end.
    pub(crate) fn resume_hint(&self, why: &str) -> Failure {
        let count = self.count.lock().map_or(0, |count| *count);
        Failure::say(match &self.file {
            Some(file) => format!(
                "{why}; {count} finished cells are kept in {}: run the same command again to go on from there",
                file.path().display()
            ),
            None => format!(
                "{why} after {count} cells; with -o finished cells are kept and the run can be resumed"
            ),
        })
    }

    /// The output is complete: nothing needs to be kept.
    pub(crate) fn close(self) {
        if let Some(file) = self.file {
            file.remove();
        }
    }
}

/// Devices and pipes have no neighbours.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}
