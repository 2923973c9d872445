//! Data in memory: raw columns and labels, their encoding as features and classes, data sets
//! with weights, merging and scaling of rows.

mod dataset;
mod demo;
mod encoder;
pub mod generate;
mod label;
mod merge;
mod standardize;
mod synthetic;
mod table;
mod uncertainty;
mod weights;

pub use dataset::Dataset;
pub use demo::demo;
pub use encoder::{Encoded, Encoder, Encoding, Missing};
pub use label::{Classes, Label};
pub use merge::Merged;
pub use standardize::{Normalize, NormalizeRule, Standardize, deviations};
pub use synthetic::{Outliers, make_label_noise, make_outliers, make_separable_copies};
pub use table::{Cells, Column, MISSING, Table, WordList, is_missing};
pub use uncertainty::{RowUncertainty, Shape};
pub use weights::ClassWeight;
