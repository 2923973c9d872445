//! Rows of the user's table that deserve a look.

use mainstay::compare::{LabelAudit, SuspectRow, WorstRow};
use serde::Serialize;

use crate::text;

/// A list of rows, the first few in sight.
#[derive(Debug, Serialize)]
pub(crate) struct RowList {
    first: Vec<Entry>,
    rest: Vec<Entry>,
    /// Whether rows are identified by more than their number.
    named: bool,
    /// Whether it is known how steady a finding is.
    steady: bool,
}

#[derive(Debug, Serialize)]
struct Entry {
    row: usize,
    id: String,
    label: String,
    other: String,
    value: String,
    /// How steady the finding is; empty where nobody looked.
    steady: String,
    /// Length of the bar, 0 to 100.
    bar: String,
}

/// What an audit of the labels found, beside the rows.
#[derive(Debug, Serialize)]
pub(crate) struct AuditPage {
    headline: String,
    rows: usize,
    planted: String,
    top: Vec<String>,
    notes: Vec<String>,
}

impl AuditPage {
    pub(crate) fn new(audit: &LabelAudit) -> Self {
        let planted = &audit.planted;
        let top = audit.top.iter().filter(|t| t.rows <= audit.flagged.max(10)).map(|t| {
            format!(
                "of the first {} about {} ({})",
                text::count(t.rows, "row"),
                text::fixed(t.expected_wrong, 1),
                text::percent(t.precision)
            )
        });
        Self {
            headline: text::capital(&text::paragraph(&audit.headline)),
            rows: audit.rows,
            planted: format!(
                "Of {} flipped on purpose, {} times over, {} would be flagged.",
                text::count(planted.rows, "label"),
                planted.rounds,
                text::percent(planted.found)
            ),
            top: top.collect(),
            notes: audit.notes.iter().map(|n| text::paragraph(n)).collect(),
        }
    }
}

/// Rows in sight before a fold.
const SHOWN: usize = 10;

impl RowList {
    fn new(mut entries: Vec<Entry>) -> Self {
        let rest = entries.split_off(entries.len().min(SHOWN));
        let named = entries.iter().chain(&rest).any(|entry| !entry.id.is_empty());
        let steady = entries.iter().any(|entry| !entry.steady.is_empty());
        Self { first: entries, rest, named, steady }
    }

    pub(crate) fn suspects(rows: &[SuspectRow]) -> Self {
        let entry = |r: &SuspectRow| Entry {
            row: r.row,
            id: r.id.as_deref().map_or_else(String::new, text::name),
            label: text::name(&r.label),
            other: text::name(&r.predicted),
            value: text::number(r.score),
            steady: r.stability.map_or_else(String::new, text::percent),
            bar: bar(r.score, 1.0),
        };
        Self::new(rows.iter().map(entry).collect())
    }

    pub(crate) fn worst(rows: &[WorstRow]) -> Self {
        let heaviest = rows.iter().map(|r| r.weight).filter(|w| w.is_finite()).fold(0.0, f64::max);
        let entry = |r: &WorstRow| Entry {
            row: r.row,
            id: r.id.as_deref().map_or_else(String::new, text::name),
            label: text::name(&r.label),
            other: text::number(r.loss),
            value: text::number(r.weight),
            steady: String::new(),
            bar: bar(r.weight, heaviest),
        };
        Self::new(rows.iter().map(entry).collect())
    }
}

fn bar(value: f64, full: f64) -> String {
    let share = if full > 0.0 && value.is_finite() { (value / full).clamp(0.0, 1.0) } else { 0.0 };
    format!("{:.0}", 100.0 * share)
}
