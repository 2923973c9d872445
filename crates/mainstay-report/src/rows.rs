//! Rows of the user's table that deserve a look.

use mainstay::compare::{SuspectRow, WorstRow};
use serde::Serialize;

use crate::text;

/// A list of rows, the first few in sight.
#[derive(Debug, Serialize)]
pub(crate) struct RowList {
    first: Vec<Entry>,
    rest: Vec<Entry>,
    /// Whether rows are identified by more than their number.
    named: bool,
}

#[derive(Debug, Serialize)]
struct Entry {
    row: usize,
    id: String,
    label: String,
    other: String,
    value: String,
    /// Length of the bar, 0 to 100.
    bar: String,
}

/// Rows in sight before a fold.
const SHOWN: usize = 10;

impl RowList {
    fn new(mut entries: Vec<Entry>) -> Self {
        let rest = entries.split_off(entries.len().min(SHOWN));
        let named = entries.iter().chain(&rest).any(|entry| !entry.id.is_empty());
        Self { first: entries, rest, named }
    }

    pub(crate) fn suspects(rows: &[SuspectRow]) -> Self {
        let entry = |r: &SuspectRow| Entry {
            row: r.row,
            id: r.id.as_deref().map_or_else(String::new, text::name),
            label: text::name(&r.label),
            other: text::name(&r.predicted),
            value: text::number(r.score),
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
            bar: bar(r.weight, heaviest),
        };
        Self::new(rows.iter().map(entry).collect())
    }
}

fn bar(value: f64, full: f64) -> String {
    let share = if full > 0.0 && value.is_finite() { (value / full).clamp(0.0, 1.0) } else { 0.0 };
    format!("{:.0}", 100.0 * share)
}
