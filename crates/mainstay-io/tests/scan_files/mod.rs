//! Files for tests of scans.
use std::fs;
use std::path::{Path, PathBuf};

use mainstay::data::{EncoderOptions, Missing, Preparation};
use mainstay_io::{ChunkOptions, ChunkSize, Scan};
use tempfile::TempDir;

/// A late word, late letters, dates, gaps, labels that begin as numbers.
pub(crate) fn text(rows: usize) -> String {
    let row = |i: usize| {
        let wave = |k: usize| ((i * k + 1) as f64 * 0.731).sin();
        let late = if i > rows / 2 { "B" } else { "01" };
        let gap = if i % 9 == 4 { "NA".into() } else { format!("{:.3}", wave(3)) };
        let label = if wave(3) + 0.5 * wave(5) + 0.3 * wave(11) > 0.0 { "01" } else { "no" };
        let (day, month) = (1 + i % 28, 1 + i % 12);
        format!("{i},{gap},{:.3},{late},2024-{month:02}-{day:02},{label}\n", wave(5))
    };
    let head = "id,a,b,late,seen,y\n".to_owned();
    // The first labels are numbers all.
    head + &(0..rows).map(row).collect::<String>()
}

pub(crate) fn wishes(missing: Missing) -> Preparation {
    Preparation {
        target: "y".into(),
        encoder: EncoderOptions { missing, min_count: 1, ..EncoderOptions::default() },
        ..Preparation::default()
    }
}

pub(crate) fn scan(files: &[PathBuf], size: usize) -> Scan {
    let size = ChunkSize { bytes: size, cells: size };
    Scan::new(files, ChunkOptions { size, ..ChunkOptions::default() }).unwrap()
}

/// One file, and the same rows in two.
pub(crate) fn files(folder: &TempDir, rows: usize) -> (PathBuf, Vec<PathBuf>) {
    let all = text(rows);
    let path = |name: &str| folder.path().join(name);
    fs::write(path("all.csv"), &all).unwrap();
    let (head, body) = all.split_once('\n').unwrap();
    let lines: Vec<&str> = body.lines().collect();
    let (first, second) = lines.split_at(rows / 3);
    fs::write(path("p1.csv"), format!("{head}\n{}\n", first.join("\n"))).unwrap();
    fs::write(path("p2.csv"), format!("{head}\n{}", second.join("\n"))).unwrap();
    (path("all.csv"), vec![path("p1.csv"), path("p2.csv")])
}

/// Writes other content of the same size, and sets the time of change back: nothing but the rows tells it.
pub(crate) fn rewrite_unseen(path: &Path, text: &str) {
    let before = fs::metadata(path).unwrap();
    assert_eq!(before.len(), text.len() as u64);
    fs::write(path, text).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
}
