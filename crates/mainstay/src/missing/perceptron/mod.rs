//! Section 3 of the paper: a perceptron on a cube that learns online, against deletions.
//!
//! [`estimator`]: parameters, streams and passes; what one row changes is `optim::perceptron`'s.

mod estimator;
mod partitioned;

pub use estimator::{Batch, MissingPerceptron, MissingPerceptronParams, PerceptronState};
