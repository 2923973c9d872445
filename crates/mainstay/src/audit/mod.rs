//! Which labels are wrong, how many, and how far to believe that.
//!
//! [`flip_aware`] ranks the rows of one fit. [`AuditPlan::run`] is the whole audit: scores that are half in-sample and
//! half held out, a [`Flips`] curve that tells wrong labels from overlapping classes, labels flipped on purpose to see
//! how many are found, and a cut-off that follows from it. `docs/decisions/0064-label-audit.md` says why.

mod flips;
mod interval;
mod outcome;
mod planted;
mod posterior;
mod run;
mod scores;
mod slope;

pub use flips::Flips;
pub use outcome::{Audit, AuditRow, ClassShare, Estimate, Planted, TopRows};
pub use run::{AuditPlan, flip_aware, suspicions, tuned_logistic};
