//! `methods`, `datasets`, `completions`, `manual`: what there is.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use clap::CommandFactory;
use mainstay::methods::METHODS;
use serde_json::{Value, json};

use crate::args::Args;
use crate::console::Console;
use crate::failure::{Ending, Failure, Outcome};

/// Name, size and origin of the embedded data.
pub(crate) const DEMO: &str = "wdbc";

pub(crate) fn methods(console: &Console) -> Outcome {
    let mut text = String::new();
    for m in METHODS {
        let _ =
            writeln!(text, "{:<20} {}\n{:<20} Python: mainstay.{}", m.name, m.summary, "", m.class);
        let _ = writeln!(text, "{:<20} --set {}", "", settings(&m.defaults()));
    }
    text.push_str("\nValues shown are the defaults. Example: mainstay fit data.csv --target y --method l1 --set alpha=cv\n");
    let table: Vec<Value> = METHODS
        .iter()
        .map(|m| {
            json!({"name": m.name, "class": m.class, "summary": m.summary, "allows_nan": m.allows_nan(),
                   "parameters": m.defaults()})
        })
        .collect();
    console.print(&text, &table)?;
    Ok(Ending::Done)
}

fn settings(defaults: &Value) -> String {
    let pairs: Vec<String> = defaults
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| match value {
            Value::String(word) => format!("{key}={word}"),
            other => format!("{key}={other}"),
        })
        .collect();
    pairs.join(" ")
}

pub(crate) fn datasets(console: &Console) -> Outcome {
    let about =
        "breast cancer Wisconsin (diagnostic): 569 rows, 30 features, diagnosis B (357) or M (212)";
    let text = format!(
        "{DEMO:<20} {about}\n\nUsed by commands that are given no data: mainstay fit --cv 5\n"
    );
    let value =
        json!([{"name": DEMO, "about": about, "rows": 569, "features": 30, "target": "diagnosis"}]);
    console.print(&text, &value)?;
    Ok(Ending::Done)
}

pub(crate) fn completions(shell: clap_complete::Shell, _: &Console) -> Outcome {
    // Rendered first: the generator panics on a pipe that its reader has closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "mainstay", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(Ending::Done)
}

pub(crate) fn manual(folder: &Path, _: &Console) -> Outcome {
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Args::command(), folder));
    written.map_err(|e| Failure::say(format!("{}: {e}", folder.display())))?;
    Ok(Ending::Done)
}
