//! Choosing among estimators.

mod grid;
mod memo;
mod robust_cv;

pub use grid::GridCv;
pub use memo::Memo;
pub use robust_cv::{RobustCv, RobustScoring, Selection};
