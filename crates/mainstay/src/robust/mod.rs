//! Several threats at once: logistic regression that is told what may be wrong with labels and features.

mod average;
mod averaged;
mod calibration;
mod certificate;
mod estimator;
mod interior;
mod labels;
mod newton;
mod params;
mod partitioned;
mod priors;
mod problem;
mod training;
mod tuning;
mod worst;
mod worst_problem;

pub use estimator::RobustLogistic;
pub use labels::{Correction, WrongLabels};
pub use params::{PerFeature, Protect, RobustLogisticParams, Strength, StrengthRule};
pub use worst_problem::WorstLoss;
