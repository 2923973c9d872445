//! Rows left out, cells filled, rows that are the same.

use mainstay::compare::DataSummary;
use serde::Serialize;

use crate::charts::Table;
use crate::text;

/// Columns listed before the rest are counted.
const LISTED: usize = 30;

/// What became of the table.
#[derive(Debug, Serialize)]
pub(crate) struct HandledPage {
    /// One line per step: what was done, and to how many.
    steps: Table,
    /// Cells filled, by column.
    filled: Option<Table>,
    /// Columns that are no features.
    columns: Vec<String>,
}

impl HandledPage {
    pub(crate) fn new(data: &DataSummary) -> Self {
        let (handled, copies) = (&data.handled, &data.duplicates);
        let mut rows = Vec::new();
        let mut step = |what: String, count: usize| rows.push(vec![what, count.to_string()]);
        if let Some(read) = handled.rows_read {
            step("rows read".into(), read);
        }
        for (why, count) in &handled.rows_left_out {
            step(format!("rows left out: {}", text::paragraph(why)), *count);
        }
        if handled.rows_left_out.is_empty() {
            step("rows left out".into(), 0);
        }
        step("rows used".into(), data.rows);
        let with = handled.filled_with.as_deref().map_or(String::new(), |w| format!(" with {w}"));
        step(format!("missing cells filled{with}"), handled.all_cells_filled());
        step("rows equal to an earlier one, features and class".into(), copies.equal);
        step("rows whose features occur with another class as well".into(), copies.contradicting);
        let head = ["", "count"].map(str::to_owned).to_vec();
        let columns = handled.columns_left_out.iter();
        Self {
            steps: Table { head, rows },
            filled: (!handled.cells_filled.is_empty()).then(|| filled(data)),
            columns: columns
                .map(|(c, why)| format!("{}: {}", text::name(c), text::paragraph(why)))
                .collect(),
        }
    }
}

fn filled(data: &DataSummary) -> Table {
    let all = &data.handled.cells_filled;
    let share = |cells: usize| cells as f64 / data.rows.max(1) as f64;
    let mut rows: Vec<Vec<String>> = (all.iter().take(LISTED))
        .map(|(column, n)| vec![text::name(column), n.to_string(), text::percent(share(*n))])
        .collect();
    if all.len() > LISTED {
        let rest: usize = all[LISTED..].iter().map(|(_, n)| n).sum();
        rows.push(vec![
            format!("{} more columns", all.len() - LISTED),
            rest.to_string(),
            String::new(),
        ]);
    }
    Table { head: ["column", "cells filled", "of the rows"].map(str::to_owned).to_vec(), rows }
}
