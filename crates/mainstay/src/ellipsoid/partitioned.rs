//! The classifier over partitions of rows.

use super::estimator::EllipsoidParams;
use crate::error::Result;
use crate::partitioned::EllipsoidPlan;

impl EllipsoidParams {
    /// What a partitioned fit solves.
    pub fn partitioned(self) -> Result<EllipsoidPlan> {
        let plan = EllipsoidPlan {
            uncertainty: self.uncertainty.clone(),
            c: self.c,
            class_weight: self.class_weight.clone(),
            tol: self.tol,
            max_iter: self.max_iter,
        };
        self.check()?;
        Ok(plan)
    }
}
