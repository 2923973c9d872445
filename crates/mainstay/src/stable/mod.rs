//! Fits that expect an unlucky subset: the loss of the worst `k` rows instead of the average.
//!
//! Tazi Bouardi and Ramirez, *An extension of Stable Regression to Support Vector Machines and
//! Logistic Regression*. One problem ([`problem`]) covers their (8), its squared-hinge form, (10)
//! and (12). `estimator` checks parameters, `path` turns data and settings into problems, and
//! `strategy` lists which solver runs when: `multipliers` (many rows) and `interior` (few rows,
//! many classes) at nearly the price of the plain fit, `cutting_plane` for their Algorithm 1, repaired.
//! [`certificate`] proves how good an answer is, whoever found it.

mod auto;
mod best_intercept;
pub mod certificate;
mod cutting_plane;
mod cv;
mod degenerate;
mod estimator;
mod feasible;
mod interior;
mod multipliers;
mod partitioned;
mod passes;
mod path;
pub mod problem;
mod row_loss;
mod row_space;
mod simplex_qp;
mod smallest_k;
mod solution;
mod stability;
mod strategy;

pub use cv::{StableLogisticCv, StableLogisticCvParams, StableSvcCv, StableSvcCvParams};
pub use estimator::{
    MultiClass, Solver, StableLogistic, StableLogisticParams, StableSvc, StableSvcParams, SvmLoss,
};
pub use stability::{
    PAPER_FRACTIONS, Protocol, Stability, coefficient_stability, coefficients, sigma_bar, subsets,
};

pub use crate::uncertainty::K;
