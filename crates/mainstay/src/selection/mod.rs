//! Choosing among estimators.

#[cfg(test)]
mod fixture;
mod grid;
mod robust_cv;

pub use grid::GridCv;
pub use robust_cv::{RobustCv, RobustScoring, Selection};
