//! Few samples: ROLIN, Top PCs, and a calibrated average that extends them.
//!
//! Chakrabarti, *Robust Linear Classification from Limited Training Data*. The paper's method
//! (`variant = "paper"`): minimise the training loss where data are reliable (the top principal
//! components), be robust in the rest ([`problem`]: Algorithm 1), and choose how much of each by robust
//! cross-validation ([`search`]: Algorithm 2; its rules alone: [`rules`]). The extended variant keeps
//! the idea but averages calibrated candidates instead of choosing one.

mod calibrate;
mod candidate;
mod estimator;
mod extended;
mod kernel;
mod line;
mod losses;
mod outlook;
mod paper;
mod problem;
mod recipe;
mod ridge_fit;
mod ridge_folds;
pub mod rules;
mod search;
mod secants;
mod space;
mod spectrum;
mod tails;
mod top_fit;
mod tops;
mod view;

pub use crate::data::{Normalize, NormalizeRule};
pub use estimator::{CvRule, Rolin, RolinParams, Scoring, TopPcs, TopPcsParams, Variant};
pub use kernel::KernelKind;
pub use recipe::{Group, Recipe};
