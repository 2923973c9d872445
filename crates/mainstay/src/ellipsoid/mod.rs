//! Support vector machine whose rows are ellipsoids: problem (34) of the robust ReGEC paper in its
//! correct form (errata B7), solved as a second-order cone program with a dual certificate.

mod certificate;
mod cv;
mod estimator;
mod interior;
mod newton;
mod normal;
mod partitioned;
mod prepared;
mod problem;
mod strategy;

pub use cv::{EllipsoidCvParams, EllipsoidSvcCv};
pub use estimator::{EllipsoidParams, EllipsoidSvc};
