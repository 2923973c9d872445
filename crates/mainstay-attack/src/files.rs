//! Area b: damaged tables and model files against the binary.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use mainstay_testkit::generate::rng;
use rand::RngExt;

use crate::mutation::{mutate, shrink};
use crate::{Limit, Tally};

/// A file of a few hundred bytes that takes longer hangs; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Kilobytes of address space that a command may take.
const MEMORY: &str = "6000000";
/// Runs spent on shrinking a failure.
const SHRINKING: u32 = 150;

/// Seeds of one kind.
const KINDS: [&str; 6] = ["csv", "libsvm", "parquet", "arrow", "xlsx", "model_file"];

/// The binary under attack and the folders it needs.
#[derive(Debug)]
pub struct Target<'a> {
    /// The binary `mainstay`.
    pub binary: &'a Path,
    /// The corpus of the fuzzers: one folder per kind.
    pub corpus: &'a Path,
    /// A table that the models of the corpus are shown.
    pub folder: &'a Path,
}

/// Goes on until the limit.
pub fn run(target: &Target<'_>, seed: u64, limit: Limit) -> Tally {
    let mut tally = Tally::default();
    let seeds = corpus(target.corpus);
    if seeds.is_empty() {
        tally.failures.push(format!("{} holds no files", target.corpus.display()));
        return tally;
    }
    let table = target.folder.join("rows.csv");
    if let Err(problem) = fs::write(&table, "a,b\n1,2\n3,4\n") {
        tally.failures.push(problem.to_string());
    }
    for round in 0_u64.. {
        if !limit.allows(&tally) {
            break;
        }
        let seed = seed.wrapping_add(round);
        let mut rng = rng(seed);
        let (path, bytes) = &seeds[rng.random_range(0..seeds.len())];
        let mut damaged = mutate(&mut rng, bytes);
        let model = path.extension().is_some_and(|end| end == "json");
        if model && rng.random_bool(0.7) {
            damaged = signed(&damaged);
        }
        let case = Case { target, seed: path, model, command: rng.random_range(0..3) };
        tally.tries += 1;
        if let Some(why) = case.fault(&damaged) {
            let least = shrink(&damaged, SHRINKING, |bytes| case.fault(bytes).is_some());
            let shown = least.escape_ascii().to_string();
            tally.failures.push(format!("seed {seed}: {why}\n  {}: {shown}", path.display()));
        }
    }
    tally
}

fn corpus(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = |kind: &str| {
        let entries = fs::read_dir(folder.join(kind)).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths.into_iter().filter_map(|path| Some((path.clone(), fs::read(path).ok()?)))
    };
    KINDS.iter().flat_map(|kind| files(kind).collect::<Vec<_>>()).collect()
}

/// A model file with its checksum mended, so that what is inside gets read.
fn signed(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let content = text.rsplit_once(",\"checksum\"").map_or(&*text, |(content, _)| content);
    let sum = crc32fast::hash(content.as_bytes());
    format!("{content},\"checksum\":\"crc32:{sum:08x}\"}}\n").into_bytes()
}

struct Case<'a> {
    target: &'a Target<'a>,
    seed: &'a Path,
    model: bool,
    command: usize,
}

impl Case<'_> {
    /// What is wrong with the answer to these bytes, if anything.
    fn fault(&self, bytes: &[u8]) -> Option<String> {
        let name = self.seed.file_name()?;
        let path = self.target.folder.join(name);
        fs::write(&path, bytes).ok()?;
        let path = path.to_string_lossy().into_owned();
        let rows = self.target.folder.join("rows.csv").to_string_lossy().into_owned();
        let args: Vec<&str> = match (self.model, self.command) {
            (true, 0) => vec!["show", &path],
            (true, _) => vec!["predict", &path, &rows],
            (false, 0) => vec!["check", &path],
            (false, 1) => vec!["fit", &path, "--target", "y", "--json"],
            (false, _) => vec!["fit", &path],
        };
        answer_fault(self.target.binary, &args)
    }
}

/// What is wrong with the way a command ends: a signal, a panic, a hang, more than one line of reason.
fn answer_fault(binary: &Path, args: &[&str]) -> Option<String> {
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -v \"$0\"; exec \"$@\"", MEMORY])
        .arg(binary)
        .args(["--quiet", "--threads", "1"])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut pipe = child.stderr.take()?;
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = pipe.read_to_end(&mut text);
        text
    });
    let Some(status) = ended(&mut child, PATIENCE) else {
        let _ = child.kill();
        return Some(format!("{args:?} hangs"));
    };
    let text = reader.join().unwrap_or_default();
    let told = String::from_utf8_lossy(&text).trim_end().to_owned();
    match status.code() {
        Some(0 | 1) if !told.contains("panicked") => None,
        Some(2) if told.lines().count() == 1 && !told.contains('\u{1b}') => None,
        code => Some(format!("{args:?} ended with {code:?} and {told:?}")),
    }
}

/// How a process ended, if it did in time.
pub(crate) fn ended(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => std::thread::sleep(Duration::from_millis(3)),
            Err(_) => return None,
        }
    }
    None
}
