//! May I believe it? What a model says, how steady that is over refits, and how far each prediction can be trusted.
//!
//! [`ModelSummary`] puts a model into words and numbers, [`trust`] judges single predictions. Both take what a fit
//! remembers of its rows ([`TrainingSummary`](crate::model::TrainingSummary)); what needs the rows themselves
//! (bootstrap intervals, conformal p-values) is added where they are given.

mod coefficients;
mod conformal;
mod refits;
mod rows;
mod summary;
mod verdict;
mod wording;

pub use coefficients::{ClassCoefficients, Coefficient, Steadiness, coefficients};
pub use refits::{Refit, bootstrap};
pub use rows::{Known, RowTrust, trust};
pub use summary::{Assumption, Described, ModelSummary};
pub use verdict::{RULE, Verdict};
