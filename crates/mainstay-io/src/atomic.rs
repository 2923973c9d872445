//! Files that are written completely or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// Writes a file: into a temporary one beside it, flushed to disk, then renamed over `path`.
///
/// If anything fails, `path` is as it was and no temporary file is left. A link is followed; a
/// device or a pipe is written to directly, since it cannot be replaced.
pub fn write_file(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed = |source| Error::Write { name: path.display().to_string(), source };
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
