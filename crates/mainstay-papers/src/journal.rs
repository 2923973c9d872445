//! Repetitions that are done are not done again: their numbers by key, in a journal that only grows.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Result;

/// The numbers of finished repetitions by key, in memory and on disk.
#[derive(Debug)]
pub(crate) struct Journal {
    known: HashMap<String, Vec<f64>>,
    lines: mainstay_io::Journal<Line>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    key: String,
    /// What is not finite is null.
    values: Vec<Option<f64>>,
}

impl Journal {
    /// Opens the journal at `path`; one of another `run` is begun anew.
    pub(crate) fn open(path: &Path, run: &Value) -> Result<Self> {
        let lines = mainstay_io::Journal::open(path, run, |_: &Line| true)?;
        let numbers = |line: &Line| line.values.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        let known = lines.known().iter().map(|line| (line.key.clone(), numbers(line))).collect();
        Ok(Self { known, lines })
    }

    /// What an earlier run found.
    pub(crate) fn get(&self, key: &str) -> Option<&Vec<f64>> {
        self.known.get(key)
    }

    /// Remembers a repetition; gives the numbers as a later run will read them.
    pub(crate) fn add(&self, key: &str, values: &[f64]) -> Result<Vec<f64>> {
        let values: Vec<Option<f64>> = values.iter().map(|v| v.is_finite().then_some(*v)).collect();
        let read = values.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
        self.lines.add(&[Line { key: key.to_owned(), values }])?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_written_is_read_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let values = [0.1 + 0.2, -1e-300, f64::INFINITY];
        let journal = Journal::open(&path, &json!("one")).unwrap();
        let first = journal.add("x", &values).unwrap();
        assert!(journal.get("x").is_none() && first[2].is_nan());
        let again = Journal::open(&path, &json!("one")).unwrap();
        let read = again.get("x").unwrap();
        assert!(read.iter().zip(&first).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan()));
        // A line cut short is forgotten, the rest is kept.
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("{\"key\":\"y\",\"val");
        std::fs::write(&path, text).unwrap();
        let cut = Journal::open(&path, &json!("one")).unwrap();
        assert!(cut.get("x").is_some() && cut.get("y").is_none());
        cut.add("y", &[1.0]).unwrap();
        assert!(Journal::open(&path, &json!("one")).unwrap().get("y").is_some());
        // Another version or seed starts anew.
        assert!(Journal::open(&path, &json!("two")).unwrap().get("x").is_none());
    }
}
