//! The conic-loss support vector machine: linear and kernel classifiers that survive wrong labels
//! and outliers.
//!
//! Every training row gets an indicator `$z_i$` in [0, 1], how much its label is disbelieved; the fit
//! pays for disbelief and not for distance, so that a far outlier costs no more than a near one. The
//! problem is the paper's semidefinite program (17), which is convex and bounds the 0-1 loss
//! problem (3) from below. It is solved without a semidefinite solver: see `strategy.rs`,
//! which chooses between `newton.rs` and `interior/`.
//!
//! # Reference
//!
//! Cepeda, Gomez, Han (2024), *Robust support vector machines via conic optimization*. Their
//! `$\lambda$` is `C`, their `$\kappa$` `kappa`, their `$\gamma$` `loss_shape`.

mod certificate;
mod cv;
mod design;
mod estimator;
mod hinge;
mod interior;
mod newton;
mod partitioned;
mod path;
mod problem;
mod setup;
mod space;
mod spectrum;
mod strategy;
mod suspects;

pub use cv::{ConicCvParams, ConicSvcCv, Kappas};
pub use estimator::{ConicParams, ConicSvc, DEFAULT_KAPPA, Gamma, GammaRule, KernelKind};
pub use hinge::{hinge_grid, hinge_path};
pub use suspects::suspects;
