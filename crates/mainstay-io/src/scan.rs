//! One or many files as one table that is read pass by pass, and that must not change between passes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::chunks::{Chunk, ChunkOptions, Chunks};
use crate::error::{Error, Result};
use crate::reading::Input;
use crate::source::Source;

/// Endings of the files that a folder is searched for.
const ENDINGS: [&str; 15] = [
    ".parquet",
    ".csv",
    ".csv.gz",
    ".tsv",
    ".tsv.gz",
    ".arrow",
    ".arrows",
    ".feather",
    ".ipc",
    ".libsvm",
    ".libsvm.gz",
    ".svm",
    ".svm.gz",
    ".svmlight",
    ".svmlight.gz",
];

/// Files whose rows, one file after the other, are one table.
///
/// The columns are those of the first file; others must have them too, in any order. Passes over files that have another size
/// or time of change than when the scan was made end with an error.
#[derive(Debug, Clone)]
pub struct Scan {
    files: Vec<PathBuf>,
    /// What the files looked like when the scan was made.
    stamps: Vec<Stamp>,
    options: ChunkOptions,
}

/// What tells a file from what it was before.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(found: &fs::Metadata) -> Self {
        Self { size: found.len(), modified: found.modified().ok() }
    }
}

impl Scan {
    /// Files, folders (all files in them that can be read, by name) and patterns: `*` stands for any characters of a
    /// name, `?` for one. Standard input and pipes cannot be read twice and are refused.
    pub fn new<P: AsRef<Path>>(paths: &[P], options: ChunkOptions) -> Result<Self> {
        let mut files = Vec::new();
        for path in paths {
            files.extend(expanded(path.as_ref())?);
        }
        if files.is_empty() {
            return Err(Error::file("scan", "no file is given"));
        }
        let mut stamps = Vec::with_capacity(files.len());
        for file in &files {
            let found = looked_at(file)?;
            if !found.is_file() {
                let problem =
                    "a fit in passes reads its rows several times, which only a plain file allows";
                return Err(Error::file(&file.display().to_string(), problem));
            }
            stamps.push(Stamp::of(&found));
        }
        Ok(Self { files, stamps, options })
    }

    /// The files, in the order in which they are read.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Bytes of all files.
    pub fn size(&self) -> u64 {
        self.files.iter().filter_map(|f| fs::metadata(f).ok()).map(|m| m.len()).sum()
    }

    /// How the files are read.
    pub fn options(&self) -> &ChunkOptions {
        &self.options
    }

    /// The same files, read in another way.
    #[must_use]
    pub fn with_options(self, options: ChunkOptions) -> Self {
        Self { options, ..self }
    }

    /// The same files, read in chunks that are small for so much memory, and parsed by so many threads.
    pub(crate) fn read_within(mut self, memory: Option<u64>, threads: usize) -> Self {
        (self.options.size, self.options.threads) = (self.options.size.within(memory), threads);
        self
    }

    /// The files in words.
    pub(crate) fn name(&self) -> String {
        let first = self.files.first().map(|file| file.display().to_string()).unwrap_or_default();
        match self.files.len() {
            0 | 1 => first,
            2 => format!("{first} and another file"),
            files => format!("{first} and {} other files", files - 1),
        }
    }

    /// The first rows, few of them, to see what columns there are.
    pub fn first(&self) -> Result<Option<Input>> {
        let mut options = self.options.clone();
        (options.size, options.threads) = (options.size.within(Some(0)), 1);
        let first = self.clone().with_options(options).pass().next().transpose()?;
        Ok(first.map(|chunk| chunk.rows))
    }

    /// All rows once more.
    pub fn pass(&self) -> ScanPass {
        let sources = self.files.iter().cloned().map(Source::Path).collect();
        let chunks = Chunks::of_all(sources, self.options.clone());
        ScanPass { chunks, rows: 0, scan: self.clone(), at: Place::Start }
    }

    /// An error if one of the files is not what it was. One that is gone was read as it was if the pass has ended.
    fn check_unchanged(&self, ended: bool) -> Result<()> {
        for (file, stamp) in self.files.iter().zip(&self.stamps) {
            let found = match looked_at(file) {
                Err(_) if ended => continue,
                found => found?,
            };
            if Stamp::of(&found) != *stamp {
                let problem = "the file has changed since it was first looked at (its size, or its time of change); \
                               do not write to files while they are read";
                return Err(Error::file(&file.display().to_string(), problem));
            }
        }
        Ok(())
    }
}

/// What the system knows about a file.
fn looked_at(file: &Path) -> Result<fs::Metadata> {
    fs::metadata(file).map_err(|source| Error::Read { name: file.display().to_string(), source })
}

/// The chunks of all files, in order.
pub struct ScanPass {
    chunks: Chunks,
    rows: usize,
    scan: Scan,
    at: Place,
}

/// Where a pass is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Middle,
    End,
}

impl ScanPass {
    /// The file that the last chunk came from.
    pub fn file(&self) -> &str {
        self.chunks.name()
    }

    /// Rows handed over so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What was noticed and decided on the way; complete after the last chunk.
    pub fn notes(&self) -> Vec<String> {
        self.chunks.notes()
    }
}

impl Iterator for ScanPass {
    /// Row numbers count within each file.
    type Item = Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.at {
            Place::End => return None,
            Place::Start => {
                if let Err(changed) = self.scan.check_unchanged(false) {
                    self.at = Place::End;
                    return Some(Err(changed));
                }
                self.at = Place::Middle;
            }
            Place::Middle => {}
        }
        match self.chunks.next() {
            Some(Ok(chunk)) => {
                self.rows += chunk.rows.nrows();
                Some(Ok(chunk))
            }
            ended => {
                self.at = Place::End;
                // A file that changed while it was read may look damaged, which is not what is wrong with it.
                self.scan.check_unchanged(true).err().map(Err).or(ended)
            }
        }
    }
}

/// The files that a path stands for.
fn expanded(path: &Path) -> Result<Vec<PathBuf>> {
    let name = path.display().to_string();
    if name == "-" {
        let problem = "it can be read once only, but a fit in passes reads its rows several times: name a file";
        return Err(Error::file("standard input", problem));
    }
    if path.is_dir() {
        let can_read = |file: &PathBuf| {
            let name = file.to_string_lossy().to_ascii_lowercase();
            file.is_file() && ENDINGS.iter().any(|ending| name.ends_with(ending))
        };
        let files: Vec<PathBuf> = listed(path)?.into_iter().filter(can_read).collect();
        if files.is_empty() {
            let problem = "there is no CSV, Parquet, Arrow or LIBSVM file in this folder";
            return Err(Error::file(&name, problem));
        }
        return Ok(files);
    }
    // A file may have a star in its name.
    if path.exists() || !name.contains(['*', '?']) {
        return Ok(vec![path.to_owned()]);
    }
    fitting(path)
}

/// The files that fit a path with stars and question marks, folder by folder.
fn fitting(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let part = part.as_os_str();
        let Some(pattern) = part.to_str().filter(|p| p.contains(['*', '?'])) else {
            for folder in &mut found {
                folder.push(part);
            }
            continue;
        };
        let mut next = Vec::new();
        for folder in found.iter().filter(|f| f.as_os_str().is_empty() || f.is_dir()) {
            let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let fits = |file: &PathBuf| {
                let name = file.file_name().and_then(|n| n.to_str());
                name.is_some_and(|n| matches(pattern, n))
            };
            let names = listed(here)?.into_iter().filter(fits);
            next.extend(names.filter_map(|file| Some(folder.join(file.file_name()?))));
        }
        found = next;
    }
    found.retain(|file| file.is_file());
    if found.is_empty() {
        return Err(Error::file(&path.display().to_string(), "no file fits this pattern"));
    }
    Ok(found)
}

/// What is in a folder, by name; hidden files are left alone.
fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |source| Error::Read { name: folder.display().to_string(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a name fits a pattern of `*` (any characters) and `?` (one character).
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    // fits[j]: whether the pattern so far fits the first j characters.
    let mut fits: Vec<bool> = (0..=name.len()).map(|j| j == 0).collect();
    for p in pattern {
        let before = fits.clone();
        for j in 0..fits.len() {
            fits[j] = match p {
                '*' => before[j] || (j > 0 && fits[j - 1]),
                '?' => j > 0 && before[j - 1],
                p => j > 0 && before[j - 1] && name[j - 1] == p,
            };
        }
    }
    fits.last().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_characters() {
        for (pattern, name, fits) in [
            ("*.csv", "a.csv", true),
            ("*.csv", ".csv", true),
            ("*.csv", "a.csv.gz", false),
            ("part-??.parquet", "part-01.parquet", true),
            ("part-??.parquet", "part-1.parquet", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("\u{e9}?", "\u{e9}\u{df}", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn folders_patterns_and_lists_are_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (name, text) in [("b.csv", "x\n3\n4\n"), ("a.csv", "x\n1\n2\n"), ("note.txt", "no")] {
            fs::write(path(name), text).unwrap();
        }
        let read = |paths: &[PathBuf]| -> Vec<f64> {
            let scan = Scan::new(paths, ChunkOptions::default()).unwrap();
            let chunks: Vec<Chunk> = scan.pass().collect::<Result<_>>().unwrap();
            let values = |chunk: &Chunk| match &chunk.rows {
                crate::Input::Table(t) => match &t.columns()[0].cells {
                    mainstay::data::Cells::Numbers(v) => v.clone(),
                    mainstay::data::Cells::Words(_) => Vec::new(),
                },
                crate::Input::Sparse(_) => Vec::new(),
            };
            chunks.iter().flat_map(values).collect()
        };
        assert_eq!(read(&[folder.path().to_owned()]), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(read(&[path("?.csv")]), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(read(&[path("b.csv"), path("a*")]), [3.0, 4.0, 1.0, 2.0]);
        let failed =
            |paths: &[PathBuf]| Scan::new(paths, ChunkOptions::default()).unwrap_err().to_string();
        assert!(failed(&[path("*.parquet")]).contains("no file fits this pattern"));
        assert!(failed(&[path("c.csv")]).contains("cannot read"));
        assert!(failed(&[]).contains("no file is given"));
    }
}
