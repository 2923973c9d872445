//! Readers and writers: CSV, LIBSVM and Parquet in, model files and CSV out.
//!
//! [`read`] turns a [`Source`] into an [`Input`]: raw columns, or sparse rows with their labels.
//! [`ModelFile`] is a fitted model with everything needed to predict from raw rows. All files are
//! written by [`write_file`]: complete or not at all.

mod atomic;
mod blocks;
mod csv;
mod error;
mod journal;
mod libsvm;
mod model_file;
#[cfg(feature = "parquet")]
mod parquet;
mod source;
mod write;

pub use atomic::write_file;
pub use error::{Error, Result};
pub use journal::Journal;
pub use libsvm::SparseRows;
pub use model_file::{FORMAT, MAX_BYTES, ModelFile, VERSION};
pub use source::{Format, Input, ReadOptions, Source, read};
pub use write::write_csv;
