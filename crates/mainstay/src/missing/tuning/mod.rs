//! Choosing the box by cross-validation under the user's own kind of damage ([`cross_validation`]), and
//! that damage itself ([`damage`]), which the stress tests use too.

mod cross_validation;
mod damage;

pub use cross_validation::{MissingFeatureCv, MissingFeatureCvParams};
pub use damage::{Damage, MissingReport, Replacement, column_ranges, deletions_of, missing_report};
