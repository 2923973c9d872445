//! Finished cells on disk while a long run goes on: one line each, so that nothing is lost.
//!
//! The journal lies beside the output it is for (`out.csv.cells`). Its first line says what is being run; a
//! journal of the same run is taken up again, any other one is replaced. It is removed when the output is written.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use mainstay::stress::Cell;
use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// Where finished cells are kept until the output is complete.
pub(crate) struct Journal {
    place: Option<(PathBuf, Mutex<File>)>,
    /// Cells that an earlier, interrupted run of the same command has finished.
    pub(crate) known: Vec<Cell>,
    kept: Mutex<Vec<Cell>>,
}

impl Journal {
    /// Opens the journal beside `output`; without an output cells are kept in memory only.
    pub(crate) fn open(output: Option<&Path>, run: &Value) -> Outcome<Self> {
        let Some(output) = output.filter(|path| !is_special(path)) else {
            return Ok(Self { place: None, known: Vec::new(), kept: Mutex::default() });
        };
        let mut name = output.as_os_str().to_owned();
        name.push(".cells");
        let path = PathBuf::from(name);
        let failed =
            |e: std::io::Error| Failure::say(format!("cannot write {}: {e}", path.display()));
        let known = read(&path, run).unwrap_or_default();
        let file = if known.is_empty() {
            let mut file = File::create(&path).map_err(failed)?;
            writeln!(file, "{run}").map_err(failed)?;
            file
        } else {
            OpenOptions::new().append(true).open(&path).map_err(failed)?
        };
        let place = Some((path, Mutex::new(file)));
        Ok(Self { place, kept: Mutex::new(known.clone()), known })
    }

    /// Keeps cells; a full disk is not worth stopping for, the run itself has them in memory.
    pub(crate) fn add(&self, cells: &[Cell]) {
        if let Ok(mut kept) = self.kept.lock() {
            kept.extend_from_slice(cells);
        }
        let Some((_, file)) = &self.place else { return };
        let lines: String = cells
            .iter()
            .filter_map(|cell| serde_json::to_string(cell).ok())
            .map(|line| line + "\n")
            .collect();
        if let Ok(mut file) = file.lock() {
            // One write: lines of two fits do not mix.
            let _ = file.write_all(lines.as_bytes()).and_then(|()| file.flush());
        }
    }

    /// All cells so far, those of earlier runs first.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        self.kept.lock().map(|kept| kept.clone()).unwrap_or_default()
    }

    /// What to tell when the run did not come to its end.
    pub(crate) fn farewell(&self, why: &str) -> Failure {
        let count = self.cells().len();
        Failure::say(match &self.place {
            Some((path, _)) => format!(
                "{why}; {count} finished cells are kept in {}: run the same command again to go on from there",
                path.display()
            ),
            None => format!(
                "{why} after {count} cells; with -o finished cells are kept and the run can be resumed"
            ),
        })
    }

    /// The output is complete: nothing needs to be kept.
    pub(crate) fn close(self) {
        if let Some((path, file)) = self.place {
            drop(file);
            // A journal that cannot be removed does no harm: the same run would take it up.
            let _ = fs::remove_file(path);
        }
    }
}

/// Cells of an earlier journal of the same run; a torn last line is left out.
fn read(path: &Path, run: &Value) -> Option<Vec<Cell>> {
    let mut lines = BufReader::new(File::open(path).ok()?).lines();
    let first: Value = serde_json::from_str(&lines.next()?.ok()?).ok()?;
    if first != *run {
        return None;
    }
    Some(lines.map_while(|line| serde_json::from_str(&line.ok()?).ok()).collect())
}

/// Devices and pipes have no neighbours.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}
