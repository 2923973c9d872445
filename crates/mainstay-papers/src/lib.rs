//! Every table and figure of the five papers: the published numbers beside ours, on the same protocol.
//!
//! An [`Experiment`] is an entry of a table, one module per paper; its `run` takes a [`Context`] (data sets by
//! name, repetitions that are remembered, seeds) and gives an [`Outcome`] (rows with the paper's number, ours and
//! a verdict; curves; the choices that the paper left open). [`reproduce`] runs experiments and writes Markdown, SVG and JSON.

mod chart;
mod conic;
mod context;
mod data;
mod error;
mod experiment;
mod journal;
mod markdown;
mod missing;
mod outcome;
mod regec;
mod rolin;
mod run;
mod stable;
mod stats;
mod svg;

pub use chart::{Chart, Kind, Series};
pub use context::Context;
pub use data::{Named, SETS, Set};
pub use error::{Error, Result};
pub use experiment::{Experiment, Paper, experiments, select};
pub use outcome::{Goal, Measured, Outcome, Row, Unit, Verdict};
pub use run::{Event, Record, Settings, reproduce, reproduce_these};
