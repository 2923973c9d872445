//! Several threats at once: logistic regression that is told what may be wrong with labels and features.

mod average;
mod certificate;
mod estimator;
mod labels;
mod newton;
mod params;
mod problem;
mod tuning;

pub use estimator::RobustLogistic;
pub use labels::{Correction, WrongLabels};
pub use params::{PerFeature, RobustLogisticParams, Strength, StrengthRule};
