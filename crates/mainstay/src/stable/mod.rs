//! Fits that expect an unlucky subset: the loss of the worst `k` rows instead of the average.
//!
//! Tazi Bouardi and Ramirez, *An extension of Stable Regression to Support Vector Machines and
//! Logistic Regression*. One problem ([`problem`]) covers their (8), its squared-hinge form, (10)
//! and (12); [`augmented`] (many rows) and [`interior`] (few rows, many classes) solve it at nearly the
//! price of the plain fit, [`cutting`] is their Algorithm 1, repaired; [`certificate`] proves how good an
//! answer is.

mod augmented;
pub mod certificate;
mod cutting;
mod cv;
mod estimator;
mod fit;
mod interior;
mod least;
mod master;
pub mod problem;
mod reduce;
mod stability;
mod structure;

pub use cv::{StableLogisticCv, StableLogisticCvParams, StableSvcCv, StableSvcCvParams};
pub use estimator::{
    MultiClass, Solver, StableLogistic, StableLogisticParams, StableSvc, StableSvcParams, SvmLoss,
};
pub use problem::K;
pub use stability::{
    PAPER_FRACTIONS, Protocol, Stability, coefficient_stability, coefficients, sigma_bar, subsets,
};
