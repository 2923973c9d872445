//! `MissingFeatureSvc` over partitions: the hinge loss under the worst deletion of features.
//!
//! The adversary of every row is smoothed by an entropy, so that each feature of each row bends a little and Newton's method
//! needs no state per row; the box around the weights is the driver's. Shares and kept parts are feasible for the dual at
//! every point, whatever the width.

mod box_qp;
mod problem;
#[cfg(test)]
mod tests;

use self::problem::Missing;
use super::ask::Point;
use super::continuation::Limits;
use super::first_look::FirstLook;
use super::missing_rows::adversary::Adversary;
use super::one_versus_rest::ClassPlan;
use super::sample::Sample;
use super::task::ClassSide;
use super::units::Units;
use crate::data::ClassWeight;
use crate::error::{Error, Result};
use crate::model::Fitted;
use crate::uncertainty::Deletions;

/// Problem (4) of Dekel and Shamir (2008).
#[derive(Debug, Clone, PartialEq)]
pub struct MissingPlan {
    /// Total value of the features that may go missing.
    pub budget: f64,
    /// Value of every feature; none is 1 each.
    pub values: Option<Vec<f64>>,
    /// Margin asked for.
    pub margin: f64,
    /// Half the side of the box around the weights.
    pub c: f64,
    /// Whether the intercept is free; otherwise it is zero.
    pub fit_intercept: bool,
    /// Weight of each class.
    pub class_weight: ClassWeight,
    /// Proven relative gap to reach.
    pub tol: f64,
    /// Most passes.
    pub max_iter: usize,
}

impl MissingPlan {
    fn deletions(&self, columns: usize) -> Result<Deletions> {
        let values = self.values.clone().unwrap_or_else(|| vec![1.0; columns]);
        if values.len() != columns {
            return Err(Error::param(
                "values",
                format!("{} numbers", values.len()),
                format!("one number for each of the {columns} features"),
            ));
        }
        Deletions::leaving_something(values, self.budget)
    }
}

impl ClassPlan for MissingPlan {
    type Problem = Missing;

    fn class_weight(&self) -> &ClassWeight {
        &self.class_weight
    }

    fn limits(&self) -> Limits {
        Limits { tol: self.tol, passes: self.max_iter }
    }

    fn free_intercept(&self) -> bool {
        self.fit_intercept
    }

    /// Not centred: a missing feature counts as zero.
    fn units(&self, look: &FirstLook, factors: Vec<f64>) -> Result<Units> {
        Units::new(look, factors, (false, false))
    }

    fn problem(
        &self,
        look: &FirstLook,
        units: &Units,
        _: &Sample,
        side: &ClassSide,
    ) -> Result<Missing> {
        let deletions = self.deletions(look.columns)?;
        Ok(Missing {
            positive: side.positive,
            adversary: Adversary::new(deletions),
            boxes: units.penalised().map(|t| self.c / self.margin / t).collect(),
            intercept: self.fit_intercept,
            total: side.total,
            own: side.own / side.total,
            margin: self.margin,
            deleting: true,
        })
    }

    fn one_sided(&self, look: &FirstLook) -> Result<(f64, f64)> {
        let deletions = self.deletions(look.columns)?;
        Ok((self.margin * deletions.total() / deletions.kept(), 0.0))
    }

    fn complete(&self, mut fitted: Fitted, points: &[Point]) -> Result<Fitted> {
        let columns = points.first().map_or(0, |point| point.v.len());
        fitted.values = Some(self.deletions(columns)?.values().to_vec());
        Ok(fitted)
    }

    fn constant_model(&self) -> String {
        format!(
            "under a budget of {} and C = {} no classifier does better than a constant one; lower `budget` or raise `C`",
            self.budget, self.c
        )
    }
}
