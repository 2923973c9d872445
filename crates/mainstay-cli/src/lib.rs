//! The `mainstay` command: parse, call the library, print, exit.
//!
//! A library, so that the Python package carries the same command as the binary; [`main_from`] is all of it.
//!
//! Exit codes: 0 done (and certified, where the method has a certificate), 1 done but not certified
//! to `tol`, 2 could not do it.

mod args;
mod audit_args;
mod commands;
mod compare_args;
mod console;
mod data_args;
mod expect;
mod failure;
mod fit_args;
mod groups;
mod input;
mod journal;
mod measurement;
mod refit;
mod rows;
mod sampled;
mod settings;
mod stream;
mod table;
mod trust_args;
mod units;
mod validate_args;

use std::ffi::OsString;
use std::io::Write as _;

use clap::Parser;

use args::{Args, Command};
use failure::{Ending, Failure};

/// Runs the command that `args` spell, the program's name first, and returns its exit code.
///
/// Results go to the process's standard output and notes to its standard error. Ctrl-C ends the process: the
/// caller gives it to this one command.
pub fn main_from(args: impl IntoIterator<Item = OsString>) -> u8 {
    let code = match Args::try_parse_from(args) {
        Ok(args) => run(&args),
        Err(error) => failure::report_usage(&error),
    };
    // A host that is not Rust does not flush for us. A closed pipe is not worth a word here.
    let _ = std::io::stdout().flush();
    code
}

fn run(args: &Args) -> u8 {
    failure::keep_caught_panics_quiet();
    let console = console::Console::new(&args.global);
    let outcome = match &args.command {
        Command::Check(check) => commands::check::run(check, &console),
        Command::Fit(fit) => commands::fit::run(fit, &console),
        Command::Predict(predict) => commands::predict::run(predict, &console),
        Command::Evaluate(evaluate) => commands::evaluate::run(evaluate, &console),
        Command::Certify(certify) => commands::certify::run(certify, &console),
        Command::Trust(trust) => commands::trust::run(trust, &console),
        Command::Show(show) => commands::show::run(show, &console),
        Command::Verify(verify) => commands::verify::run(verify, &console),
        Command::Audit(audit) => commands::audit::run(audit, &console),
        Command::Validate(validate) => commands::validate::run(validate, &console),
        Command::Reproduce(reproduce) => commands::reproduce::run(reproduce, &console),
        Command::Stress(stress) => commands::stress::run(stress, &console),
        Command::Compare(compare) => commands::compare::run(compare, &console),
        Command::Methods => commands::list::methods(&console),
        Command::Datasets => commands::list::datasets(&console),
        Command::Completions { shell } => commands::list::completions(*shell, &console),
        Command::Manual { folder } => commands::list::manual(folder, &console),
    };
    match outcome {
        // A closed pipe: the reader of our output went away, and nothing went wrong.
        Ok(Ending::Done) | Err(Failure::ClosedPipe) => 0,
        Ok(Ending::NotCertified) => 1,
        Err(failure) => failure::report(&failure),
    }
}
