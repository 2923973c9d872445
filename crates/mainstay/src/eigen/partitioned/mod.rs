//! Generalized eigenvalue classifiers over partitions of rows.
//!
//! Sums over classes are all that planes without ellipsoids need. With one ellipsoid for all rows a step of the monotone
//! descent needs sums too: every pass brings the ratio at the planes of all pairs and what majorises it there.

mod descent;
mod task;

use self::task::{Planes, PlanesTask};
use super::estimator::{NormRobustRegecParams, RegecParams, Rule};
use super::robust::{RobustRegecParams, RobustSolver};
use crate::error::{Error, Result};
use crate::partitioned::Task;

impl RegecParams {
    /// The fit over partitions.
    pub(crate) fn partitioned(self) -> Result<Box<dyn Task>> {
        self.clone().check()?;
        Ok(Box::new(PlanesTask::new(Planes::Regec(self))))
    }
}

impl NormRobustRegecParams {
    /// The fit over partitions.
    pub(crate) fn partitioned(self) -> Result<Box<dyn Task>> {
        self.clone().check()?;
        Ok(Box::new(PlanesTask::new(Planes::NormRobust(self))))
    }
}

impl RobustRegecParams {
    /// The fit over partitions, for one ellipsoid around every row.
    pub(crate) fn partitioned(self) -> Result<Box<dyn Task>> {
        if self.solver == RobustSolver::Paper {
            return Err(Error::param(
                "solver",
                "\"paper\"",
                "\"monotone\" (the default) for data in partitions",
            ));
        }
        self.clone().check()?;
        Ok(Box::new(PlanesTask::new(Planes::Robust(self))))
    }
}

/// More than two classes are told apart by their planes: points would keep all rows.
fn check_rule(rule: Rule, classes: usize) -> Result<()> {
    if rule == Rule::Points && classes > 2 {
        return Err(Error::param(
            "rule",
            "\"points\"",
            format!(
                "\"plane\" for {classes} classes in partitions, since \"points\" keeps all rows"
            ),
        ));
    }
    Ok(())
}
