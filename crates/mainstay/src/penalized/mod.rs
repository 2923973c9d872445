//! Penalised empirical loss, ROLIN's Eq. (15): the baseline every robust method is measured against.

mod certificate;
mod estimator;
mod newton;
mod problem;
mod scaled;
mod solution;

pub use estimator::{Alpha, Normalize, Penalized, PenalizedParams, Penalty};
