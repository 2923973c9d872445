//! `cargo xtask attack` without its Python part: `mainstay-attack AREA SECONDS SEED BINARY`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use mainstay_attack::{Limit, Tally, files, problems, processes};

const USAGE: &str = "usage: mainstay-attack problems|files|processes SECONDS SEED BINARY";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [area, seconds, seed, binary] = args.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let (Ok(seconds), Ok(seed)) = (seconds.parse(), seed.parse()) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    match attack(area, seconds, seed, Path::new(binary)) {
        Ok(tally) => report(area, &tally),
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn attack(area: &str, seconds: u64, seed: u64, binary: &Path) -> Result<Tally, String> {
    let limit = Limit::time(Duration::from_secs(seconds));
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let folder = folder.path();
    match area {
        "problems" => {
            // Panics are caught and told with their case.
            std::panic::set_hook(Box::new(|_| {}));
            Ok(problems::run(seed, limit))
        }
        "files" => {
            let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
            Ok(files::run(&files::Target { binary, corpus: &corpus, folder }, seed, limit))
        }
        "processes" => Ok(processes::run(binary, folder, seed, limit)),
        _ => Err(USAGE.into()),
    }
}

fn report(area: &str, tally: &Tally) -> ExitCode {
    println!("{area}: {} tries, {} failures", tally.tries, tally.failures.len());
    tally.notes.iter().for_each(|note| println!("  {note}"));
    tally.failures.iter().for_each(|failure| println!("  {failure}"));
    if tally.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
