//! Section 3 of the paper: a perceptron on a cube that learns online, against deletions.
//!
//! [`estimator`]: parameters, streams and passes; [`perceptron_update`]: what one row changes.

mod estimator;
mod perceptron_update;

pub use estimator::{Batch, MissingPerceptron, MissingPerceptronParams, PerceptronState};
