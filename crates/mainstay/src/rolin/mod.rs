//! Few samples: ROLIN, Top PCs, and a calibrated average that extends them.
//!
//! Chakrabarti, *Robust Linear Classification from Limited Training Data*. From `estimator` a fit goes
//! one of two ways:
//!
//! - `paper` (`variant = "paper"`, and Top PCs): minimise the training loss where data are reliable (the
//!   top principal components), be robust in the rest (Algorithm 1, `paper/problem.rs`), and choose how
//!   much of each by robust cross-validation (Algorithm 2, `paper/search.rs`; its rules alone: [`rules`]).
//! - `extended` (`variant = "extended"`): the same idea, but calibrated candidates are averaged
//!   instead of one being chosen.
//!
//! `shared` holds the numerical parts of both.

mod estimator;
mod extended;
mod paper;
mod shared;

pub use crate::data::{Normalize, NormalizeRule};
pub use estimator::{CvRule, Rolin, RolinCv, RolinParams, Scoring, TopPcs, TopPcsParams, Variant};
pub use extended::constants::{ExtendedConstants, FamilyConstants};
pub use paper::rules;
pub use shared::kernel::KernelKind;
