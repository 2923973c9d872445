//! Finished cells or refits on disk while a long run goes on, so that nothing is lost.
//!
//! The journal lies beside the output it is for (`out.csv.cells`, `rows.csv.refits`). A journal of the same run is taken up again, one
//! of another run is begun anew, any other file there is refused. It is removed when the output is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use mainstay::stress::Cell;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::console::Console;
use crate::failure::{Failure, Outcome};

/// Where finished pieces are kept until the output is complete.
pub(crate) struct Journal<T = Cell> {
    file: Option<mainstay_io::Journal<T>>,
    /// Pieces so far, those of earlier runs included.
    count: Mutex<usize>,
    /// What a user calls them: the ending of the file.
    pieces: &'static str,
}

impl Journal {
    /// Opens the journal of cells beside `output` and says what it takes over; without an output nothing is kept.
    pub(crate) fn open(output: Option<&Path>, run: &Value, console: &Console) -> Outcome<Self> {
        Self::open_as(output, run, console, "cells", Cell::is_sound)
    }
}

impl<T: Serialize + DeserializeOwned> Journal<T> {
    /// The same for other `pieces`, of which only the `sound` ones are taken over.
    pub(crate) fn open_as(
        output: Option<&Path>,
        run: &Value,
        console: &Console,
        pieces: &'static str,
        sound: impl Fn(&T) -> bool,
    ) -> Outcome<Self> {
        let Some(output) = output.filter(|path| !is_special(path)) else {
            return Ok(Self { file: None, count: Mutex::default(), pieces });
        };
        let mut name = output.as_os_str().to_owned();
        name.push(format!(".{pieces}"));
        let file = mainstay_io::Journal::open(&PathBuf::from(name), run, sound)?;
        let (known, skipped) = (file.known().len(), file.skipped());
        if known > 0 {
            console.note(&format!("{known} {pieces} of an interrupted run are taken over"));
        }
        if skipped > 0 {
            let place = file.path().display();
            console.note(&format!(
                "{skipped} lines of {place} are damaged: their {pieces} are run again"
            ));
        }
        Ok(Self { file: Some(file), count: Mutex::new(known), pieces })
    }

    /// Pieces that an earlier, interrupted run of the same command has finished.
    pub(crate) fn known(&self) -> &[T] {
        self.file.as_ref().map_or(&[], mainstay_io::Journal::known)
    }

    /// Keeps pieces; a full disk is not worth stopping for, the run itself has them in memory.
    pub(crate) fn add(&self, found: &[T]) {
        let kept = self.file.as_ref().is_none_or(|file| file.add(found).is_ok());
        if kept && let Ok(mut count) = self.count.lock() {
            *count += found.len();
        }
    }

    /// What to tell when the run did not come to its end.
    pub(crate) fn resume_hint(&self, why: &str) -> Failure {
        let count = self.count.lock().map_or(0, |count| *count);
        let pieces = self.pieces;
        Failure::say(match &self.file {
            Some(file) => format!(
                "{why}; {count} finished {pieces} are kept in {}: run the same command again to go on from there",
                file.path().display()
            ),
            None => format!(
                "{why} after {count} {pieces}; with -o finished {pieces} are kept and the run can be resumed"
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
