//! Robust linear classifiers, each with a proof of how good its answer is.
//!
//! Data flows one way: [`data`] -> an estimator's `fit` -> [`model::Fitted`] with its
//! [`Certificate`] -> predictions. One folder per method; what two methods share lives in a
//! room below them (`linalg`, `data`, `loss`, `model`). This crate opens no file and prints nothing.

pub mod certificate;
pub mod certify;
pub mod compare;
pub mod conic;
pub mod control;
pub mod data;
pub mod eigen;
pub mod ellipsoid;
pub mod error;
pub mod folds;
mod json;
pub mod linalg;
pub mod loss;
pub mod methods;
pub mod missing;
pub mod model;
pub mod optim;
pub mod penalized;
pub mod robust;
pub mod rolin;
pub mod selection;
pub mod stable;
pub mod stress;
pub mod uncertainty;

pub use certificate::{Certificate, Status};
pub use control::Control;
pub use error::{Error, Result};
