//! What the benchmark command needs from Rust: `mainstay-bench read FILE` reads a data file and prints how
//! long it took. The comparison with the peers is `benches/run.py`; `examples/` here holds the
//! programs that measure single methods.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

use std::process::ExitCode;
use std::time::Instant;

use mainstay_io::{ReadOptions, Source, read};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [command, path] = args.as_slice() else {
        eprintln!("usage: mainstay-bench read FILE");
        return ExitCode::from(2);
    };
    if command != "read" {
        eprintln!("{command}: the only command is `read`");
        return ExitCode::from(2);
    }
    let start = Instant::now();
    match read(&Source::new(path), &ReadOptions::default()) {
        Ok(input) => {
            println!("{} rows in {:.3} s", input.nrows(), start.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
