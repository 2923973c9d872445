//! Penalised empirical loss, ROLIN's Eq. (15): the baseline every robust method is measured against.

mod estimator;

pub use estimator::{Alpha, Normalize, Penalized, PenalizedParams, Penalty};
