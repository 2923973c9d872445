//! Choosing among estimators.

#[cfg(test)]
mod fixture;
mod grid;
mod memo;
mod robust_cv;

pub use grid::GridCv;
pub use memo::Memo;
pub use robust_cv::{RobustCv, RobustScoring, Selection};
