//! Generalized eigenvalue classifiers: one plane per class, near its own rows and far from the others.
//!
//! ReGEC is Eqs. (1)-(7) of the paper, the norm-robust one its Theorem 1, the robust one section 3 with
//! an ellipsoid of measurement error around every row. Planes are `$w^\top x = \gamma$`, `$z = (w, \gamma)$`; in the
//! paper's letters A are the rows of the plane's own class and B those of the other.

mod certificate;
mod class_pairs;
mod estimator;
mod generalized_eigen;
mod lanczos;
mod majoriser;
mod moments;
mod monotone;
mod nominal;
mod paper;
mod partitioned;
mod problem;
mod robust;
mod robust_ratio;
mod strategy;
mod units;
mod xi;

pub use estimator::{
    NormRobustRegec, NormRobustRegecParams, Regec, RegecParams, Regularization, Rule,
};
pub use moments::Moments;
pub use robust::{RobustRegec, RobustRegecParams, RobustSolver, Xi, XiRule};
