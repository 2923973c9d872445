//! Which labels look wrong, as the comparison tells it.

use serde::{Deserialize, Serialize};

use super::details::LISTED;
use super::outcome::SuspectRow;
use super::session::Subject;
use crate::audit::{
    Audit, AuditPlan, AuditRow, ClassShare, Estimate, Planted, TopRows, tuned_logistic,
};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;

/// The audit of the labels, less its list of rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelAudit {
    /// The finding in one sentence.
    pub headline: String,
    /// Rows that were looked at.
    pub rows: usize,
    /// How many labels are wrong.
    pub estimate: Estimate,
    /// Rows that are worth a look.
    pub flagged: usize,
    /// What became of labels flipped on purpose.
    pub planted: Planted,
    /// What to expect of the first rows of the list.
    pub top: Vec<TopRows>,
    /// One entry per class.
    pub classes: Vec<ClassShare>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// Audits the labels with fewer refits than `mainstay audit` does.
pub(super) fn audited(data: &Dataset, seed: u64, control: &Control) -> Result<Audit> {
    let estimator = tuned_logistic(data, control)?;
    let plan = AuditPlan { repeats: 3, planted: 5, seed, ..AuditPlan::default() };
    plan.run(estimator.as_ref(), data, control)
}

impl LabelAudit {
    pub(super) fn new(found: Audit) -> Self {
        Self {
            headline: found.headline(),
            rows: found.rows.len(),
            estimate: found.estimate,
            flagged: found.flagged,
            planted: found.planted,
            top: found.top,
            classes: found.classes,
            notes: found.notes,
        }
    }
}

/// The flagged rows; `rows` are the positions of those that were looked at.
pub(super) fn suspects(found: &Audit, subject: &Subject, rows: &[usize]) -> Vec<SuspectRow> {
    let one = |row: &AuditRow| SuspectRow {
        row: subject.rows[rows[row.row]],
        id: None,
        label: subject.classes[row.label].clone(),
        score: row.wrong,
        predicted: subject.classes[row.looks_like].clone(),
        stability: Some(row.stability),
    };
    found.rows.iter().filter(|row| row.flagged).take(LISTED).map(one).collect()
}
