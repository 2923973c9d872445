//! How a command ends, and the one line a user reads when it could not do its work.
#![expect(clippy::print_stderr, reason = "the one place that writes errors")]

use std::io;

/// A command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All of it.
    Done,
    /// The model is usable but its gap is above `tol`.
    NotCertified,
}

/// A command that could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What is wrong, where, and what to do.
    Said(String),
    /// Standard output was closed by its reader.
    ClosedPipe,
}

/// What commands return.
pub(crate) type Outcome<T = Ending> = Result<T, Failure>;

impl Failure {
    /// A failure described by one sentence.
    pub(crate) fn say(message: impl Into<String>) -> Self {
        Self::Said(message.into())
    }
}

impl From<mainstay::Error> for Failure {
    fn from(error: mainstay::Error) -> Self {
        Self::Said(said(&error))
    }
}

/// The library counts rows from 0, as arrays do; people count those of a table from 1.
pub(crate) fn said(error: &mainstay::Error) -> String {
    match error {
        mainstay::Error::BadCell { row, column, problem } => {
            format!("row {} of the data, column {column}: {problem}", row + 1)
        }
        error => error.to_string(),
    }
}

impl From<mainstay_io::Error> for Failure {
    fn from(error: mainstay_io::Error) -> Self {
        match &error {
            mainstay_io::Error::Write { source, .. }
                if source.kind() == io::ErrorKind::BrokenPipe =>
            {
                Self::ClosedPipe
            }
            mainstay_io::Error::Core(source) => Self::Said(said(source)),
            mainstay_io::Error::Content { name, source } => {
                Self::Said(format!("{name}: {}", said(source)))
            }
            error => Self::Said(error.to_string()),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Said(format!("standard output: {error}")),
        }
    }
}

/// Exit code of a command that could not do its work.
const FAILED: u8 = 2;

/// Prints the failure on one line of standard error.
pub(crate) fn report(failure: &Failure) -> u8 {
    if let Failure::Said(message) = failure {
        eprintln!("mainstay: {}", harmless(&message.lines().collect::<Vec<_>>().join(" ")));
    }
    FAILED
}

/// Text that a terminal shows and does not obey: control characters of cells and names become visible.
pub(crate) fn harmless(text: &str) -> String {
    let obeyed = |c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if obeyed(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A decoder's panic that is caught and told as a damaged file needs no words of its own.
pub(crate) fn keep_caught_panics_quiet() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !mainstay_io::panics_are_caught() {
            usual(panic);
        }
    }));
}

/// The same, ending the process on the spot; files that were being written leave nothing behind.
pub(crate) fn exit(failure: &Failure) -> ! {
    mainstay_io::remove_unfinished();
    report(failure);
    std::process::exit(FAILED.into())
}

/// Help and version go to standard output with code 0, wrong usage to standard error with code 2.
pub(crate) fn report_usage(error: &clap::Error) -> u8 {
    // A closed pipe while printing help is not worth a word.
    let _ = error.print();
    if error.use_stderr() { FAILED } else { 0 }
}
