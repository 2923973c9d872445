//! Repetitions that are done are not done again: one line each in a file that only grows.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The numbers of finished repetitions by key, in memory and on disk.
#[derive(Debug)]
pub(crate) struct Journal {
    known: HashMap<String, Vec<f64>>,
    file: Mutex<File>,
    name: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    /// What is not finite is null.
    values: Vec<Option<f64>>,
}

impl Journal {
    /// Opens the journal at `path`. One that was written under another `header` is begun anew; a last line cut short is
    /// dropped.
    pub(crate) fn open(path: &Path, header: &str) -> Result<Self> {
        let name = path.display().to_string();
        let failed = |source| Error::Folder { name: name.clone(), source };
        let old = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(error)),
        };
        let mut lines = old.lines();
        let mut known = HashMap::new();
        let mut kept = format!("{header}\n");
        if lines.next() == Some(header) {
            for line in lines {
                let Ok(found) = serde_json::from_str::<Line>(line) else { continue };
                let values = found.values.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
                known.insert(found.key, values);
                kept.push_str(line);
                kept.push('\n');
            }
        }
        if kept != old {
            mainstay_io::write_file(path, |out| out.write_all(kept.as_bytes()))?;
        }
        let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        Ok(Self { known, file: Mutex::new(file), name })
    }

    /// What an earlier run found.
    pub(crate) fn get(&self, key: &str) -> Option<&Vec<f64>> {
        self.known.get(key)
    }

    /// Remembers a repetition; gives the numbers as a later run will read them.
    pub(crate) fn add(&self, key: &str, values: &[f64]) -> Result<Vec<f64>> {
        let values: Vec<Option<f64>> = values.iter().map(|v| v.is_finite().then_some(*v)).collect();
        let read = values.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        let failed = |source| Error::Folder { name: self.name.clone(), source };
        let line = Line { key: key.to_owned(), values };
        let mut text = serde_json::to_string(&line).map_err(|e| failed(e.into()))?;
        text.push('\n');
        // One write a line: a process that is ended leaves whole lines and at most one cut short.
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(text.as_bytes()).map_err(failed)?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let values = [0.1 + 0.2, -1e-300, f64::INFINITY];
        let journal = Journal::open(&path, "one").unwrap();
        let first = journal.add("x", &values).unwrap();
        assert!(journal.get("x").is_none() && first[2].is_nan());
        let again = Journal::open(&path, "one").unwrap();
        let read = again.get("x").unwrap();
        assert!(read.iter().zip(&first).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan()));
        // A line cut short is forgotten, the rest is kept.
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"key\":\"y\",\"val");
        fs::write(&path, text).unwrap();
        let cut = Journal::open(&path, "one").unwrap();
        assert!(cut.get("x").is_some() && cut.get("y").is_none());
        cut.add("y", &[1.0]).unwrap();
        assert!(Journal::open(&path, "one").unwrap().get("y").is_some());
        // Another version or seed starts anew.
        assert!(Journal::open(&path, "two").unwrap().get("x").is_none());
    }
}
