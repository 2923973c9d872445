//! One page a paper.

use std::fmt::Write as _;

use crate::experiment::Paper;
use crate::outcome::{Outcome, Verdict};
use crate::run::Record;

/// The page of a paper: what agrees, then every experiment with its plot, table and choices.
pub(crate) fn page(paper: Paper, records: &[&Record]) -> String {
    let mut out = format!("# {}\n\n", paper.citation());
    commands(&mut out, records);
    out.push_str(
        "\"Paper\" is the published number or sentence, \"ours\" the mean ± standard deviation over repetitions. Numbers \
         *agree* if they differ by no more than the larger of the two deviations (or the paper's last digit); otherwise ours \
         is *better* or *worse*. A sentence of the paper *agrees* or *does not reproduce*.\n\n",
    );
    summary(&mut out, records);
    for record in records {
        experiment(&mut out, record);
    }
    out
}

fn commands(out: &mut String, records: &[&Record]) {
    let mut commands: Vec<&str> = records.iter().map(|r| r.command.as_str()).collect();
    commands.sort_unstable();
    commands.dedup();
    let _ = writeln!(out, "Made by mainstay {} with\n", env!("CARGO_PKG_VERSION"));
    for command in commands {
        let _ = writeln!(out, "    {command}");
    }
    out.push('\n');
    if records.iter().any(|r| r.quick) {
        out.push_str(
            "**Quick run:** fewer repetitions and coarser grids than the full one; spreads are wide and single verdicts may \
             change.\n\n",
        );
    }
}

fn summary(out: &mut String, records: &[&Record]) {
    out.push_str("| experiment |");
    for verdict in Verdict::ALL {
        let _ = write!(out, " {} |", verdict.words());
    }
    let _ = writeln!(out, "\n|---|{}", "---:|".repeat(Verdict::ALL.len()));
    for record in records {
        let _ = write!(out, "| [{}](#{}) |", record.title, record.id);
        for verdict in Verdict::ALL {
            let _ = write!(out, " {} |", record.outcome.count(verdict));
        }
        out.push('\n');
    }
    out.push('\n');
}

fn experiment(out: &mut String, record: &Record) {
    let Outcome { rows, charts, choices, stand_ins, not_run, notes } = &record.outcome;
    let _ = writeln!(out, "<a id=\"{}\"></a>\n\n## {}\n", record.id, record.title);
    let _ = writeln!(out, "`mainstay reproduce {}`. {}\n", record.id, record.what);
    for note in notes {
        let _ = writeln!(out, "{note}\n");
    }
    if !charts.is_empty() {
        let _ = writeln!(out, "![{}]({}.svg)\n", record.title, record.id);
    }
    if !rows.is_empty() {
        out.push_str("| | paper | ours | verdict |\n|---|---|---|---|\n");
    }
    for row in rows {
        let why = if row.reason.is_empty() { String::new() } else { format!(": {}", row.reason) };
        let cells = [row.what.clone(), row.paper_text(), row.ours_text()].map(|c| cell(&c));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {}{} |",
            cells[0],
            cells[1],
            cells[2],
            row.verdict.words(),
            cell(&why)
        );
    }
    if !rows.is_empty() {
        out.push('\n');
    }
    list(out, "Left open by the paper, and what we did:", choices);
    list(out, "Stand-ins:", stand_ins);
    list(out, "Not run:", not_run);
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn list(out: &mut String, head: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "{head}\n");
    for item in items {
        let _ = writeln!(out, "- {item}");
    }
    out.push('\n');
}
