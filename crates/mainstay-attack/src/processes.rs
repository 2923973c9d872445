//! Area c: processes that are killed, interrupted, cut off from their reader or out of disk.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mainstay_io::ModelFile;
use mainstay_testkit::generate::{normal, rng};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::files::ended;
use crate::{Limit, Tally};

/// How long an interrupted command may take to end; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is done to a process.
#[derive(Debug, Clone, Copy)]
enum Blow {
    Kill,
    Terminate,
    Interrupt,
    ClosedPipe,
    FullDisk,
}

const BLOWS: [Blow; 5] =
    [Blow::Kill, Blow::Terminate, Blow::Interrupt, Blow::ClosedPipe, Blow::FullDisk];

struct Scene<'a> {
    binary: &'a Path,
    folder: &'a Path,
    /// How long a fit with its write takes when nobody disturbs it.
    usual: Duration,
}

/// Goes on until the limit.
pub fn run(binary: &Path, folder: &Path, seed: u64, limit: Limit) -> Tally {
    let mut tally = Tally::default();
    let mut scene = Scene { binary, folder, usual: Duration::ZERO };
    if let Err(problem) = scene.set_up() {
        tally.failures.push(problem);
        return tally;
    }
    for round in 0_u64.. {
        if !limit.allows(&tally) {
            break;
        }
        let seed = seed.wrapping_add(round);
        let blow = BLOWS[usize::try_from(round % 5).unwrap_or(0)];
        tally.tries += 1;
        if let Err(problem) = scene.strike(blow, &mut rng(seed)) {
            tally.failures.push(format!("seed {seed}, {blow:?}: {problem}"));
        }
    }
    tally
}

impl Scene<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Rows, and a model that later writes replace.
    fn set_up(&mut self) -> Result<(), String> {
        let said = |e: std::io::Error| e.to_string();
        let mut file = fs::File::create(self.path("rows.csv")).map_err(said)?;
        writeln!(file, "a,b,c,y").map_err(said)?;
        for row in normal(&mut rng(1), 60_000).chunks_exact(3) {
            let class = i32::from(row[0] + row[1] > 0.0);
            writeln!(file, "{},{},{},{class}", row[0], row[1], row[2]).map_err(said)?;
        }
        let begun = Instant::now();
        let mut child = self.fit()?;
        match ended(&mut child, Duration::from_secs(120)) {
            Some(status) if status.success() => {}
            other => return Err(format!("an undisturbed fit ended with {other:?}")),
        }
        self.usual = begun.elapsed();
        Ok(())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.args(["--quiet", "--threads", "1"]).args(args).stdin(Stdio::null());
        command
    }

    fn fit(&self) -> Result<Child, String> {
        let (rows, model) = (self.path("rows.csv"), self.path("model.json"));
        let (rows, model) = (rows.to_string_lossy(), model.to_string_lossy());
        self.command(&["fit", &rows, "--target", "y", "-m", "stable-svm", "--proof", "-o", &model])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())
    }

    fn strike(&self, blow: Blow, rng: &mut ChaCha8Rng) -> Result<(), String> {
        match blow {
            Blow::Kill => self.disturbed("-KILL", rng, true),
            Blow::Terminate => self.disturbed("-TERM", rng, false),
            Blow::Interrupt => self.disturbed("-INT", rng, false),
            Blow::ClosedPipe => self.closed_pipe(rng),
            Blow::FullDisk => self.full_disk(),
        }
    }

    /// A signal at a random time, most often near the end, where files are written. The model file must be whole; what was
    /// not killed outright must leave nothing else behind.
    fn disturbed(&self, signal: &str, rng: &mut ChaCha8Rng, outright: bool) -> Result<(), String> {
        let mut child = self.fit()?;
        let share = if rng.random_bool(0.5) { 1.0 } else { 0.2 };
        let wait = self.usual.mul_f64(1.1 - share * rng.random_range(0.0..1.1));
        std::thread::sleep(wait);
        let id = child.id().to_string();
        let _ = Command::new("kill").args([signal, &id]).stderr(Stdio::null()).status();
        if ended(&mut child, PATIENCE).is_none() {
            let _ = child.kill();
            return Err(format!("{signal} after {wait:?} did not end it"));
        }
        ModelFile::load(&self.path("model.json"))
            .map_err(|e| format!("{signal} after {wait:?} left a torn file: {e}"))?;
        let left = self.unfinished();
        for path in &left {
            let _ = fs::remove_file(path);
        }
        if left.is_empty() || outright {
            return Ok(());
        }
        Err(format!("{signal} after {wait:?} left {left:?}"))
    }

    fn unfinished(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder).into_iter().flatten().flatten();
        let ours = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".mainstay-"))
        };
        entries.map(|entry| entry.path()).filter(ours).collect()
    }

    /// The reader of the predictions goes away after some bytes: the command ends well and silently.
    fn closed_pipe(&self, rng: &mut ChaCha8Rng) -> Result<(), String> {
        let (rows, model) = (self.path("rows.csv"), self.path("model.json"));
        let mut child = self
            .command(&["predict", &model.to_string_lossy(), &rows.to_string_lossy()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| e.to_string())?;
        let mut some = vec![0; rng.random_range(0..30_000)];
        if let Some(mut pipe) = child.stdout.take() {
            let _ = pipe.read_exact(&mut some);
        }
        let Some(status) = ended(&mut child, PATIENCE) else {
            let _ = child.kill();
            return Err("predict hangs at a closed pipe".into());
        };
        let mut told = String::new();
        if let Some(mut pipe) = child.stderr.take() {
            let _ = pipe.read_to_string(&mut told);
        }
        if status.success() && told.is_empty() {
            return Ok(());
        }
        Err(format!("{} bytes read, then closed: {:?} {told:?}", some.len(), status.code()))
    }

    /// No room for the predictions, and none for a model in a small file system where one may be mounted.
    fn full_disk(&self) -> Result<(), String> {
        let (rows, model) = (self.path("rows.csv"), self.path("model.json"));
        let (rows, model) = (rows.to_string_lossy(), model.to_string_lossy());
        if let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") {
            let mut command = self.command(&["predict", &model, &rows]);
            one_line(command.stdout(full))?;
        }
        let small = self.path("small");
        let Some(_mounted) = Small::mount(&small) else { return Ok(()) };
        let output = small.join("model.json");
        let old = b"old content";
        fs::write(&output, old).map_err(|e| e.to_string())?;
        let output = output.to_string_lossy().into_owned();
        let mut command = self.command(&[
            "fit",
            &rows,
            "--target",
            "y",
            "-m",
            "stable-svm",
            "--proof",
            "-o",
            &output,
        ]);
        one_line(command.stdout(Stdio::null()))?;
        let kept = fs::read(&output).map_err(|e| e.to_string())?;
        let files = fs::read_dir(&small).map_err(|e| e.to_string())?.count();
        if kept == old && files == 1 {
            return Ok(());
        }
        Err(format!("a full disk left {files} files and {} bytes", kept.len()))
    }
}

/// The command must end with 2 and one line.
fn one_line(command: &mut Command) -> Result<(), String> {
    let done = command.stderr(Stdio::piped()).output().map_err(|e| e.to_string())?;
    let told = String::from_utf8_lossy(&done.stderr).trim_end().to_owned();
    if done.status.code() == Some(2) && told.lines().count() == 1 {
        return Ok(());
    }
    Err(format!("a full disk ended with {:?} and {told:?}", done.status.code()))
}

/// A file system of 64 kB, unmounted when it is no longer needed.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        fs::create_dir_all(at).ok()?;
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(at);
        let done = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success()).then_some(Self(at))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).stderr(Stdio::null()).status();
    }
}
