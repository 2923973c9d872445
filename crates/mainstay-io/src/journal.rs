//! Finished pieces of a long run on disk, one line each, so that a run that was stopped goes on where it was.
//!
//! The first line says that the file is ours and what is being run. Lines are only appended. What cannot be read
//! back (a line torn by a crash, an impossible number) is skipped and counted; the rest stays usable.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};

/// What the first line calls itself; a file without it is not touched.
const FORMAT: &str = "mainstay journal 1";

#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    /// What is being run: command, version, seed, data.
    run: Value,
}

/// Pieces `T` of a run, in memory and on disk.
#[derive(Debug)]
pub struct Journal<T> {
    path: PathBuf,
    file: Mutex<File>,
    known: Vec<T>,
    skipped: usize,
}

impl<T: Serialize + DeserializeOwned> Journal<T> {
    /// Opens the journal at `path`, or begins one. The journal of another `run` is begun anew.
    ///
    /// Pieces that are not `sound` are skipped. A file that is not a journal is an error, and so is a link: neither is
    /// touched.
    pub fn open(path: &Path, run: &Value, sound: impl Fn(&T) -> bool) -> Result<Self> {
        let name = path.display().to_string();
        let failed = |source| Error::Write { name: name.clone(), source };
        let header = Header { format: FORMAT.into(), run: run.clone() };
        let first = serde_json::to_string(&header).map_err(|e| failed(e.into()))? + "\n";
        let mut file = open_or_begin(path, &first).map_err(failed)?;
        let mut text = read(&mut file, &name)?;
        if run_of(&text, &name)? != *run {
            drop(file);
            fs::remove_file(path).map_err(failed)?;
            file = open_or_begin(path, &first).map_err(failed)?;
            text = read(&mut file, &name)?;
        }
        let (mut known, mut skipped) = (Vec::new(), 0);
        for line in text.split(|byte| *byte == b'\n').skip(1).filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<T>(line) {
                Ok(piece) if sound(&piece) => known.push(piece),
                _ => skipped += 1,
            }
        }
        if text.last().is_some_and(|byte| *byte != b'\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        Ok(Self { path: path.to_owned(), file: Mutex::new(file), known, skipped })
    }

    /// What an earlier run of the same kind has finished, in the order in which it was written.
    pub fn known(&self) -> &[T] {
        &self.known
    }

    /// How many lines could not be used.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends pieces, in one write: lines of two threads do not mix, and a process that is ended leaves at most one
    /// line cut short.
    pub fn add(&self, pieces: &[T]) -> Result<()> {
        let failed = |source| Error::Write { name: self.path.display().to_string(), source };
        let mut text = String::new();
        for piece in pieces {
            text.push_str(&serde_json::to_string(piece).map_err(|e| failed(e.into()))?);
            text.push('\n');
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(failed)
    }

    /// Removes the file: its run is complete. One that cannot be removed does no harm, the same run would take it up.
    pub fn remove(self) {
        drop(self.file);
        let _ = fs::remove_file(self.path);
    }
}

fn not_ours(name: &str) -> Error {
    Error::file(
        name,
        "a journal of this run would stand here, but the file is something else; move it away or choose another output",
    )
}

fn read(file: &mut File, name: &str) -> Result<Vec<u8>> {
    let failed = |source| Error::Read { name: name.to_owned(), source };
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(not_ours(name));
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(failed)?;
    Ok(text)
}

/// What the journal `text` is of, by its first line.
fn run_of(text: &[u8], name: &str) -> Result<Value> {
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match serde_json::from_slice::<Header>(first) {
        Ok(header) if header.format == FORMAT => Ok(header.run),
        _ => Err(not_ours(name)),
    }
}

/// The file at `path` for reading and appending; a new one appears with its first line complete, or not at all.
fn open_or_begin(path: &Path, first: &str) -> io::Result<File> {
    match open_existing(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mainstay-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The usual mode of a new file, less the user's mask; the crate's default is stricter.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut new = builder.tempfile_in(folder).map_err(|e| io::Error::from(e.kind()))?;
    new.write_all(first.as_bytes())?;
    match new.persist_noclobber(path) {
        Ok(_) => open_existing(path),
        // Someone else was faster: what is there decides.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => open_existing(path),
        Err(error) => Err(error.error),
    }
}

fn open_existing(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    let link = || fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    // Elsewhere than on Unix the look and the opening are two steps.
    if cfg!(not(unix)) && link() {
        return Err(io::Error::other("it is a link"));
    }
    options
        .open(path)
        .map_err(|error| if link() { io::Error::other("it is a link") } else { error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    type Piece = (String, f64);

    fn open(path: &Path, run: &str) -> Result<Journal<Piece>> {
        Journal::open(path, &json!(run), |piece: &Piece| (0.0..=1.0).contains(&piece.1))
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.cells");
        (folder, path)
    }

    fn piece(name: &str, value: f64) -> Piece {
        (name.into(), value)
    }

    #[test]
    fn what_was_written_is_read_back_to_the_last_bit() {
        let (_folder, path) = place();
        let journal = open(&path, "one").unwrap();
        journal.add(&[piece("a", 0.1 + 0.2), piece("b", 1e-300)]).unwrap();
        assert!(journal.known().is_empty());
        let again = open(&path, "one").unwrap();
        assert_eq!(again.known(), [piece("a", 0.1 + 0.2), piece("b", 1e-300)]);
        assert_eq!(again.skipped(), 0);
        again.remove();
        assert!(!path.exists());
    }

    #[test]
    fn the_journal_of_another_run_is_begun_anew() {
        let (_folder, path) = place();
        open(&path, "one").unwrap().add(&[piece("a", 0.5)]).unwrap();
        let other = open(&path, "two").unwrap();
        assert!(other.known().is_empty());
        other.add(&[piece("b", 0.25)]).unwrap();
        assert_eq!(open(&path, "two").unwrap().known(), [piece("b", 0.25)]);
    }

    /// Three restarts after a torn line once took over the same pieces while the file grew: the first new piece was
    /// glued to the torn line, and reading stopped there.
    #[test]
    fn every_restart_after_a_torn_line_knows_what_the_last_one_added() {
        let (_folder, path) = place();
        open(&path, "one").unwrap().add(&[piece("a", 0.5)]).unwrap();
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("[\"torn\",0.");
        fs::write(&path, text).unwrap();
        for (restart, name) in ["b", "c", "d"].into_iter().enumerate() {
            let journal = open(&path, "one").unwrap();
            assert_eq!(journal.known().len(), 1 + restart);
            assert_eq!(journal.skipped(), 1);
            journal.add(&[piece(name, 0.5)]).unwrap();
        }
    }

    #[test]
    fn a_file_of_the_users_is_neither_changed_nor_removed() {
        for content in
            ["my own notes\n", "", "{\"version\":\"0.1.0\"}\n", "{\"format\":\"other\",\"run\":1}"]
        {
            let (_folder, path) = place();
            fs::write(&path, content).unwrap();
            let error = open(&path, "one").unwrap_err().to_string();
            assert!(error.contains("out.cells") && error.contains("move it away"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed_not_even_to_a_journal() {
        let (folder, path) = place();
        let target = folder.path().join("elsewhere");
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(open(&path, "one").unwrap_err().to_string().contains("it is a link"));
        assert!(!target.exists());
        open(&target, "one").unwrap();
        let before = fs::read(&target).unwrap();
        assert!(open(&path, "two").is_err());
        assert_eq!(fs::read(&target).unwrap(), before);
    }

    #[test]
    fn numbers_that_cannot_be_are_skipped_and_counted() {
        let (_folder, path) = place();
        let journal = open(&path, "one").unwrap();
        journal.add(&[piece("a", 1e300), piece("b", 1.0), piece("c", -0.5)]).unwrap();
        let again = open(&path, "one").unwrap();
        assert_eq!(again.known(), [piece("b", 1.0)]);
        assert_eq!(again.skipped(), 2);
    }

    #[test]
    fn bytes_that_are_no_text_cost_only_their_line() {
        let (_folder, path) = place();
        open(&path, "one").unwrap().add(&[piece("a", 0.5)]).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend_from_slice(b"\xff\xfe\x00\n[\"b\",0.75]\n");
        fs::write(&path, bytes).unwrap();
        let journal = open(&path, "one").unwrap();
        assert_eq!(journal.known(), [piece("a", 0.5), piece("b", 0.75)]);
        assert_eq!(journal.skipped(), 1);
    }
}
