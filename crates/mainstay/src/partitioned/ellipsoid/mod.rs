//! `EllipsoidSvc` over partitions: a support vector machine whose rows are ellipsoids.
//!
//! Where all rows have one shape its length along the weights is one number, known to the driver; rows with axes of their
//! own bring them along in every block. Lengths are smoothed so that the rows moved by them stay inside their ellipsoids:
//! every pass then proves a bound.

mod problem;
mod shape;
#[cfg(test)]
mod tests;

use self::problem::Ellipsoid;
use self::shape::Principal;
use super::ask::Point;
use super::continuation::Limits;
use super::first_look::FirstLook;
use super::one_versus_rest::ClassPlan;
use super::sample::Sample;
use super::task::ClassSide;
use super::units::Units;
use crate::data::{ClassWeight, Shape};
use crate::error::Result;
use crate::model::Fitted;

/// Half the squared length of the weights and the hinge losses of the worst points of the ellipsoids.
#[derive(Debug, Clone, PartialEq)]
pub struct EllipsoidPlan {
    /// The ellipsoid around every row; errors that come with the rows replace it.
    pub uncertainty: Shape,
    /// Weight of the losses.
    pub c: f64,
    /// Weight of each class.
    pub class_weight: ClassWeight,
    /// Proven relative gap to reach.
    pub tol: f64,
    /// Most passes.
    pub max_iter: usize,
}

impl ClassPlan for EllipsoidPlan {
    type Problem = Ellipsoid;

    fn class_weight(&self) -> &ClassWeight {
        &self.class_weight
    }

    fn limits(&self) -> Limits {
        Limits { tol: self.tol, passes: self.max_iter }
    }

    fn units(&self, look: &FirstLook, factors: Vec<f64>) -> Result<Units> {
        Units::new(look, factors, (true, false))
    }

    fn problem(
        &self,
        look: &FirstLook,
        units: &Units,
        _: &Sample,
        side: &ClassSide,
    ) -> Result<Ellipsoid> {
        let p = look.columns;
        let shape = match look.errors {
            0 => Some(Principal::new(&self.uncertainty, p)?),
            // Radii are sizes of the ball of radius 1.
            1 if p > 1 => Some(Principal::new(&Shape::Ball(1.0), p)?),
            _ => None,
        };
        Ok(Ellipsoid {
            positive: side.positive,
            shape,
            scale: self.c,
            factors: units.penalised().collect(),
            ridge: 1.0,
            total: side.total,
            own: side.own / side.total,
        })
    }

    fn one_sided(&self, _: &FirstLook) -> Result<(f64, f64)> {
        Ok((1.0, 0.0))
    }

    fn complete(&self, fitted: Fitted, _: &[Point]) -> Result<Fitted> {
        Ok(fitted)
    }

    fn constant_model(&self) -> String {
        "zero weights are optimal, so that the model is constant: the classes cannot be told apart within these \
         ellipsoids; a smaller `uncertainty` may help"
            .into()
    }
}
