//! Choosing among estimators.

mod grid;
mod robust_cv;

pub use grid::GridCv;
pub use robust_cv::{RobustCv, RobustScoring, Selection};
