//! `mainstay compare --expect`: every method told what to expect, and what it costs to be wrong about that.

use std::fmt::Write as _;

use mainstay::compare::{Told, told};

use crate::args::Compare;
use crate::commands::stress;
use crate::console::Console;
use crate::expect;
use crate::failure::{Ending, Failure, Outcome};

/// Splits if their number is not given.
const REPEATS: usize = 8;

pub(crate) fn run(args: &Compare, console: &Console) -> Outcome {
    if args.report.is_some() || args.output.is_some() || !args.without.is_empty() {
        let text = "--expect prints its table (or --json); --report, -o and --without are for comparisons without it";
        return Err(Failure::say(text));
    }
    let expected = expect::levels(&args.expect)?;
    let (labelled, groups) = stress::read(args.data.as_deref(), &args.input)?;
    if groups.is_some() {
        return Err(Failure::say("--groups: not with --expect; leave one of them out"));
    }
    let control = console.control("splits");
    let repeats = args.repeats.unwrap_or(REPEATS);
    let found = told(&labelled.data, expected, repeats, console.seed.unwrap_or(0), &control)?;
    console.print(&text(&found), &found)?;
    Ok(Ending::Done)
}

fn text(found: &Told) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "accuracy over {} splits, and what it gains on plain L2, if of what is expected comes true\n\n{:<26}{:>16}{:>16}{:>16}{:>16}",
        found.repeats, "", "nothing", "half", "all", "double"
    );
    for row in &found.rows {
        let _ = write!(text, "{:<26}", row.method);
        for (accuracy, gain) in row.accuracy.iter().zip(&row.gain) {
            let _ = write!(text, "{accuracy:>9.3} {gain:>+6.3}");
        }
        let _ = writeln!(text, "{}", if row.constant > 0.5 { "  const" } else { "" });
    }
    let _ = writeln!(text, "\n{}", found.advice);
    text
}
