//! Files that are written completely or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    let failed = |source| Error::Write { name: path.display().to_string(), source };
    if path.as_os_str() == "-" {
        let mut out = BufWriter::new(io::stdout().lock());
        return fill(&mut out).and_then(|()| out.flush()).map_err(failed);
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            Err(failed(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")))
        }
        Ok(found) if !found.is_file() => write_directly(path, fill).map_err(failed),
        Ok(found) => {
            let target = fs::canonicalize(path).map_err(failed)?;
            replace(&target, Some(&found), fill).map_err(failed)
        }
        Err(_) => replace(path, None, fill).map_err(failed),
    }
}

fn write_directly(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(OpenOptions::new().write(true).open(path)?);
    fill(&mut out)?;
    out.flush()
}

fn replace(
    path: &Path,
    old: Option<&fs::Metadata>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
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
    let temporary = builder.tempfile_in(folder).map_err(|e| io::Error::from(e.kind()))?;
    let _listed = Unfinished::new(temporary.path());
    if let Some(old) = old {
        temporary.as_file().set_permissions(old.permissions())?;
    }
    let mut out = BufWriter::new(temporary.as_file());
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|e| e.error)?;
    // The rename itself reaches the disk with the folder; not every system can do that.
    if let Ok(folder) = File::open(folder) {
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
