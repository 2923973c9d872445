//! Penalised empirical loss, ROLIN's Eq. (15): the baseline every robust method is measured against.
//!
//! | loss | L2 | L1, elastic net |
//! | --- | --- | --- |
//! | logistic, squared hinge, modified Huber | Newton | working sets, proximal Newton |
//! | hinge | interior point | working sets, interior point |
//!
//! With more features than rows L2 is solved in the row space; problems large in both directions
//! by conjugate gradients. `strategy.rs` says which solver works when.

mod certificate;
mod design;
mod estimator;
mod newton;
mod params;
mod partitioned;
mod path;
mod problem;
mod prox_newton;
mod quadratic;
mod row_space;
mod smooth_hinge;
mod solution;
mod strategy;
mod working_set;

pub use crate::data::{Normalize, NormalizeRule};
pub use estimator::Penalized;
pub use params::{Alpha, AlphaRule, PenalizedParams, Penalty};
