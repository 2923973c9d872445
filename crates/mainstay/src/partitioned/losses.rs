//! Penalised and stable losses over partitions: one binary problem for every class, all in one pass.

use super::ask::Point;
use super::continuation::{Continuation, Limits};
use super::first_look::FirstLook;
use super::loss_problem::LossProblem;
use super::one_versus_rest::ClassPlan;
use super::problem::Problem;
use super::proof::Proof;
use super::sample::Sample;
use super::spec::Spec;
use super::task::ClassSide;
use super::units::Units;
use crate::data::ClassWeight;
use crate::error::Result;
use crate::model::{Fitted, Link};

/// The rest of the gap is room for what a certificate in the user's units takes off for rounding: rows in memory have one,
/// and their answer should be that of the same rows in files.
const AIM: f64 = 0.9;

impl ClassPlan for Spec {
    type Problem = LossProblem;

    fn check(&self, look: &FirstLook) -> Result<()> {
        self.check_classes(look.names.len())
    }

    fn class_weight(&self) -> &ClassWeight {
        &self.class_weight
    }

    fn free_intercept(&self) -> bool {
        self.fit_intercept
    }

    fn limits(&self) -> Limits {
        Limits { tol: self.tol, passes: self.max_iter }
    }

    fn aim(&self) -> f64 {
        AIM
    }

    fn units(&self, look: &FirstLook, factors: Vec<f64>) -> Result<Units> {
        Units::new(look, factors, (self.fit_intercept, self.normalize))
    }

    fn problem(
        &self,
        _: &FirstLook,
        units: &Units,
        sample: &Sample,
        side: &ClassSide,
    ) -> Result<LossProblem> {
        let strengths = self.strengths(side.total)?;
        let problem = Problem {
            loss: self.loss,
            worst: self.worst() && strengths.k < side.total,
            k: strengths.k,
            scale: strengths.scale,
            squares: units.penalised().map(|u| strengths.squares * u * u).collect(),
            lasso: units.penalised().map(|u| strengths.l1 * u).collect(),
            intercept: self.fit_intercept,
            total: side.total,
        };
        Ok(LossProblem { problem, positive: side.positive, gram: sample.gram()? })
    }

    fn one_sided(&self, _: &FirstLook) -> Result<(f64, f64)> {
        let intercept = self.loss.free_margin();
        Ok((intercept, self.loss.get().value(intercept)))
    }

    fn link(&self) -> Link {
        self.link
    }

    fn complete(&self, mut fitted: Fitted, points: &[Point]) -> Result<Fitted> {
        for (name, value) in &self.outputs {
            fitted = fitted.with(name, value.clone());
        }
        if !self.worst() {
            return Ok(fitted);
        }
        Ok(match points {
            [point] => fitted.with("threshold", point.theta),
            _ => fitted.with("threshold", points.iter().map(|p| p.theta).collect::<Vec<f64>>()),
        })
    }

    fn constant_model(&self) -> String {
        "zero weights are optimal, so that the model is constant: the worst `k` rows of the classes cannot be told apart; a \
         larger `k` may help"
            .into()
    }

    fn proof(&self, units: &Units, open: &[&Continuation<LossProblem>]) -> Option<Proof> {
        Proof::new(units.pass(), open)
    }
}
