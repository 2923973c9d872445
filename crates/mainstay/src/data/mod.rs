//! Data sets in memory: features, class indices, weights; merging and scaling of rows.

mod dataset;
mod merge;
mod standardize;
mod weights;

pub use dataset::Dataset;
pub use merge::Merged;
pub use standardize::{Standardize, deviations};
pub use weights::ClassWeight;
