//! The `mainstay` command: parse, call the library, print, exit.
//!
//! Exit codes: 0 done (and certified, where the method has a certificate), 1 done but not certified
//! to `tol`, 2 could not do it.

mod args;
mod commands;
mod console;
mod data_args;
mod failure;
mod input;
mod journal;
mod measurement;
mod rows;
mod settings;
mod table;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::{Ending, Failure};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return failure::report_usage(&error),
    };
    failure::keep_caught_panics_quiet();
    let console = console::Console::new(&args.global);
    let outcome = match &args.command {
        Command::Check(check) => commands::check::run(check, &console),
        Command::Fit(fit) => commands::fit::run(fit, &console),
        Command::Predict(predict) => commands::predict::run(predict, &console),
        Command::Evaluate(evaluate) => commands::evaluate::run(evaluate, &console),
        Command::Certify(certify) => commands::certify::run(certify, &console),
        Command::Reproduce(reproduce) => commands::reproduce::run(reproduce, &console),
        Command::Stress(stress) => commands::stress::run(stress, &console),
        Command::Compare(compare) => commands::compare::run(compare, &console),
        Command::Methods => commands::list::methods(&console),
        Command::Datasets => commands::list::datasets(&console),
        Command::Completions { shell } => commands::list::completions(*shell, &console),
    };
    match outcome {
        // A closed pipe: the reader of our output went away, and nothing went wrong.
        Ok(Ending::Done) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Ok(Ending::NotCertified) => ExitCode::from(1),
        Err(failure) => failure::report(&failure),
    }
}
