//! Data in memory: raw columns and labels, their encoding as features and classes, data sets
//! with weights, merging and scaling of rows.

mod advice;
mod dataset;
mod dates;
mod demo;
mod deviations;
mod encoder;
pub mod generate;
mod handled;
mod label;
mod leaks;
mod learner;
mod merge;
mod moments;
mod no_classes;
mod oddities;
mod ornament;
mod positions;
mod prepare;
mod row_hash;
mod squares;
mod standardize;
mod survey;
mod synthetic;
mod table;
mod typing;
mod uncertainty;
mod weights;
mod words;

pub use advice::{shell_word, visible};
pub use dataset::Dataset;
pub(crate) use dataset::check_weights;
pub use dates::DateOrder;
pub use demo::demo;
pub use deviations::deviations;
pub use encoder::{
    ColumnPlan, Encoded, Encoder, EncoderLearner, EncoderOptions, Encoding, LeftOut, Missing,
    Treatment,
};
pub use handled::Handled;
pub use label::{Classes, Label};
pub use learner::{Learned, LearnedRows, Learner};
pub use merge::{Merged, distinct_rows, sampled_rows, weighted_rows};
pub use moments::Moments;
pub use no_classes::unlike_classes;
pub use oddities::FarNumbers;
pub use positions::Positions;
pub use prepare::{NanRule, Preparation, Prepared};
pub(crate) use row_hash::surely_once;
pub(crate) use squares::{check_small_squares, check_squares};
pub use standardize::{Normalize, NormalizeRule, Standardize};
pub use survey::{ClassCount, ColumnSurvey, Survey, TargetSurvey};
pub use synthetic::{Outliers, make_label_noise, make_outliers, make_separable_copies};
pub use table::{Cells, Column, Table};
pub use typing::{ColumnType, Gaps};
pub use uncertainty::{RowUncertainty, Shape};
pub use weights::{ClassRule, ClassWeight};
pub use words::{MISSING, WordList};
