//! Readers and writers: CSV, LIBSVM, Parquet, Arrow and spreadsheets in, model files and CSV out.
//!
//! [`read`] turns a [`Source`] into an [`Input`]: raw columns, or sparse rows with their labels.
//! [`ModelFile`] is a fitted model with everything needed to predict from raw rows. All files are
//! written by [`write_file`]: complete or not at all.
//!
//! The short way from a file to a judged and saved model:
//!
//! ```
//! use mainstay_io::{ModelFile, ReadOptions, Source, read_table};
//!
//! # fn main() -> mainstay_io::Result<()> {
//! # let text = "size,colour,kind\n1.5,red,a\n2.5,red,a\n2.0,green,a\n4.0,blue,b\n3.5,blue,b\n5.0,green,b\n";
//! # let folder = tempfile::tempdir().expect("a folder");
//! # let (path, output) = (folder.path().join("shapes.csv"), folder.path().join("model.json"));
//! # std::fs::write(&path, text).expect("a file");
//! let table = read_table(&Source::new(&path), &ReadOptions::default())?;
//! let model = ModelFile::fit(&table, "kind", "l2")?;
//! assert_eq!(model.evaluate(&table)?.accuracy, 1.0);
//! model.save(&output)?;
//!
//! let again = ModelFile::load(&output)?;
//! assert_eq!(again.predict(&table)?[0].as_deref(), Some("a"));
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "parquet")]
mod arrow;
mod atomic;
mod blocks;
mod chunks;
mod csv;
mod encoding;
mod error;
mod fit;
mod gather;
mod guard;
mod journal;
mod libsvm;
mod memory;
mod model_file;
#[cfg(feature = "parquet")]
mod parquet;
mod proof;
mod reading;
mod sample;
mod scan;
mod scan_errors;
mod scan_featurizer;
mod scan_kept;
mod scan_reader;
mod scan_rows;
mod source;
#[cfg(feature = "spreadsheet")]
mod spreadsheet;
mod write;

#[cfg(feature = "parquet")]
pub use arrow::table_from_arrow;
pub use atomic::{OutputFile, remove_unfinished, write_file};
pub use chunks::{Chunk, ChunkOptions, ChunkSize, Chunks};
pub use error::{Error, Result};
pub use fit::missing_rule;
pub use guard::panics_are_caught;
pub use journal::Journal;
pub use libsvm::SparseRows;
pub use mainstay_verify::{Finding, Report as ProofReport};
pub use memory::{available_memory, stated_memory};
pub use model_file::{FORMAT, MAX_BYTES, ModelFile, VERSION};
pub use reading::{Format, Input, ReadOptions, read, read_noted, read_table};
pub use scan::{Scan, ScanPass};
pub use scan_reader::Watch;
pub use scan_rows::ScanRows;
pub use source::Source;
pub use write::{CsvParts, CsvText, write_csv, write_csv_as};
