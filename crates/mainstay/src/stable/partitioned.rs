//! Stable classifiers over partitions of rows.

use super::estimator::{MultiClass, Solver, StableLogisticParams, StableSvcParams, SvmLoss};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::model::Link;
use crate::partitioned::{Objective, Spec};

impl StableSvcParams {
    /// What a partitioned fit solves.
    pub fn partitioned(self) -> Result<Spec> {
        check_solver(self.solver)?;
        let spec = Spec {
            loss: match self.loss {
                SvmLoss::Hinge => Loss::Hinge,
                SvmLoss::SquaredHinge => Loss::SquaredHinge,
            },
            objective: Objective::WorstSum { k: self.k, c: self.c },
            normalize: false,
            fit_intercept: self.fit_intercept,
            class_weight: self.class_weight.clone(),
            tol: self.tol,
            max_iter: self.max_iter,
            link: Link::None,
            joint: true,
            outputs: Vec::new(),
        };
        self.check()?;
        Ok(spec)
    }
}

impl StableLogisticParams {
    /// What a partitioned fit solves.
    pub fn partitioned(self) -> Result<Spec> {
        check_solver(self.solver)?;
        let spec = Spec {
            loss: Loss::Logistic,
            objective: Objective::WorstMean { k: self.k, alpha: self.alpha },
            normalize: false,
            fit_intercept: self.fit_intercept,
            class_weight: self.class_weight.clone(),
            tol: self.tol,
            max_iter: self.max_iter,
            link: Link::Logistic,
            joint: self.multi_class == MultiClass::Joint,
            outputs: Vec::new(),
        };
        self.check()?;
        Ok(spec)
    }
}

fn check_solver(solver: Solver) -> Result<()> {
    match solver {
        Solver::InteriorPoint => Ok(()),
        Solver::CuttingPlane => Err(Error::param(
            "solver",
            "\"cutting-plane\"",
            "\"interior-point\" (the default) for data in partitions, which have a Newton method of their own",
        )),
    }
}
