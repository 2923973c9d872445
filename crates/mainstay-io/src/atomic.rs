//! Files that are written completely or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// Temporary files that exist right now.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of writes that are under way: for a program that is about to end on a signal.
pub fn remove_unfinished() {
    for path in unfinished().drain(..) {
        // Already renamed or gone: nothing is left to remove.
        let _ = fs::remove_file(path);
    }
}

/// A name in the list of unfinished files for as long as the file has it.
#[derive(Debug)]
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Self {
        unfinished().push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

/// Writes a file: into a temporary one beside it, flushed to disk, then renamed over `path`.
///
/// If anything fails, `path` is as it was and no temporary file is left. A link is followed; a
/// device or a pipe is written to directly, since it cannot be replaced. `-` is standard output.
pub fn write_file(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = OutputFile::create(path)?;
    fill(&mut out).map_err(|e| out.failed(e))?;
    out.finish()
}

/// A file under way, as [`write_file`] writes it: for contents that come bit by bit.
///
/// Dropped before [`OutputFile::finish`] it leaves `path` as it was.
#[derive(Debug)]
pub struct OutputFile {
    name: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// Standard output, a device or a pipe.
    Direct(BufWriter<Direct>),
    /// A new file and the name it gets in the end.
    New { out: BufWriter<NamedTempFile>, listed: Unfinished, path: PathBuf },
}

#[derive(Debug)]
enum Direct {
    Stdout(io::Stdout),
    Device(File),
}

impl Write for Direct {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Device(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Device(out) => out.flush(),
        }
    }
}

impl OutputFile {
    /// Standard output.
    pub fn stdout() -> Self {
        let place = Place::Direct(BufWriter::new(Direct::Stdout(io::stdout())));
        Self { name: "standard output".into(), place }
    }

    /// Begins to write; fails where that cannot be done at all.
    pub fn create(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::stdout());
        }
        let name = path.display().to_string();
        match place(path) {
            Ok(place) => Ok(Self { name, place }),
            Err(source) => Err(Error::Write { name, source }),
        }
    }

    /// The error of a write into this file.
    pub fn failed(&self, source: io::Error) -> Error {
        Error::Write { name: self.name.clone(), source }
    }

    /// The contents are complete.
    pub fn finish(self) -> Result<()> {
        let name = self.name;
        match self.place {
            Place::Direct(mut out) => out.flush(),
            Place::New { out, listed, path } => settle(out, listed, &path),
        }
        .map_err(|source| Error::Write { name, source })
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.place {
            Place::Direct(out) => out.write(bytes),
            Place::New { out, .. } => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.place {
            Place::Direct(out) => out.flush(),
            Place::New { out, .. } => out.flush(),
        }
    }
}

fn place(path: &Path) -> io::Result<Place> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"))
        }
        Ok(found) if !found.is_file() => {
            let device = OpenOptions::new().write(true).open(path)?;
            Ok(Place::Direct(BufWriter::new(Direct::Device(device))))
        }
        Ok(found) => beside(fs::canonicalize(path)?, Some(&found)),
        Err(_) => beside(path.to_owned(), None),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A temporary file in the folder of `path`.
fn beside(path: PathBuf, old: Option<&fs::Metadata>) -> io::Result<Place> {
    if old.is_some_and(|m| m.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mainstay-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The usual mode of a new file, less the user's mask; the crate's default is stricter.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let temporary = builder.tempfile_in(folder_of(&path)).map_err(|e| io::Error::from(e.kind()))?;
    let listed = Unfinished::new(temporary.path());
    if let Some(old) = old {
        temporary.as_file().set_permissions(old.permissions())?;
    }
    Ok(Place::New { out: BufWriter::new(temporary), listed, path })
}

fn settle(out: BufWriter<NamedTempFile>, listed: Unfinished, path: &Path) -> io::Result<()> {
    let temporary = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|e| e.error)?;
    drop(listed);
    // The rename itself reaches the disk with the folder; not every system can do that.
    if let Ok(folder) = File::open(folder_of(path)) {
        folder.sync_all().ok();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ends_during_a_write_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let count = || fs::read_dir(folder.path()).unwrap().count();
        let mut seen = 0;
        let written = write_file(&path, |out| {
            out.write_all(b"half")?;
            seen = count();
            remove_unfinished();
            assert_eq!(count(), 0);
            Err(io::Error::other("the signal came here"))
        });
        assert!(written.is_err() && seen == 1);
        assert_eq!(count(), 0);
    }
}
