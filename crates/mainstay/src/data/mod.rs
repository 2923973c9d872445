//! Data sets in memory: features, class indices, weights; merging and scaling of rows.

mod dataset;
mod demo;
mod merge;
mod standardize;
mod weights;

pub use dataset::Dataset;
pub use demo::demo;
pub use merge::Merged;
pub use standardize::Standardize;
pub use weights::ClassWeight;
