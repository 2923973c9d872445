//! Choosing among estimators.

mod robust_cv;

pub use robust_cv::{RobustCv, RobustScoring, Selection};
