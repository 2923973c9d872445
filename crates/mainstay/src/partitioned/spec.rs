//! What a method wants solved: its parameters, as far as a partitioned fit can serve them.

use super::ellipsoid::EllipsoidPlan;
use super::missing::MissingPlan;
use crate::data::ClassWeight;
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::model::{Link, Output};
use crate::uncertainty::K;

/// Which losses count, and what they are weighed against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Objective {
    /// Mean loss `$+ \lambda \|w\|_1 + \frac\mu2 \|w\|^2$`.
    Mean {
        /// `$\lambda$`.
        l1: f64,
        /// `$\mu$`.
        l2: f64,
    },
    /// `$\|w\|^2 + C$` times the sum of the `k` largest losses.
    WorstSum {
        /// How much the worst rows are.
        k: K,
        /// `$C$`.
        c: f64,
    },
    /// `$\alpha \|w\|^2 +$` the mean of the `k` largest losses.
    WorstMean {
        /// How much the worst rows are.
        k: K,
        /// `$\alpha$`.
        alpha: f64,
    },
}

/// What a fit over partitions solves.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// A penalised or stable loss.
    Losses(Spec),
    /// The hinge loss under the worst deletion of features.
    Missing(MissingPlan),
    /// The hinge loss of the worst points of ellipsoids.
    Ellipsoid(EllipsoidPlan),
}

impl From<EllipsoidPlan> for Plan {
    fn from(plan: EllipsoidPlan) -> Self {
        Self::Ellipsoid(plan)
    }
}

impl From<MissingPlan> for Plan {
    fn from(plan: MissingPlan) -> Self {
        Self::Missing(plan)
    }
}

impl From<Spec> for Plan {
    fn from(spec: Spec) -> Self {
        Self::Losses(spec)
    }
}

/// A linear classifier fitted over partitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Loss of a row.
    pub loss: Loss,
    /// What is minimised.
    pub objective: Objective,
    /// Whether the penalty sees standardised features.
    pub normalize: bool,
    /// Whether the intercept is free; otherwise it is zero.
    pub fit_intercept: bool,
    /// Weight of each class.
    pub class_weight: ClassWeight,
    /// Proven relative gap to reach.
    pub tol: f64,
    /// Most passes.
    pub max_iter: usize,
    /// How scores become probabilities.
    pub link: Link,
    /// Whether more than two classes are one problem, which no partitioned fit can solve.
    pub joint: bool,
    /// Results that are known before the fit.
    pub outputs: Vec<(&'static str, Output)>,
}

impl Spec {
    /// `$k$` and `$S$` for rows of this total weight, and strengths of the L1 and L2 parts.
    pub(super) fn strengths(&self, total: f64) -> Result<Strengths> {
        Ok(match self.objective {
            Objective::Mean { l1, l2 } => {
                Strengths { k: total, scale: 1.0 / total, l1, squares: l2 / 2.0 }
            }
            Objective::WorstSum { k, c } => {
                Strengths { k: k.resolve(total)?, scale: c, l1: 0.0, squares: 1.0 }
            }
            Objective::WorstMean { k, alpha } => {
                let k = k.resolve(total)?;
                Strengths { k, scale: 1.0 / k, l1: 0.0, squares: alpha }
            }
        })
    }

    /// Whether the answer names a threshold.
    pub(super) fn worst(&self) -> bool {
        !matches!(self.objective, Objective::Mean { .. })
    }

    /// Refuses what has no partitioned form.
    pub(super) fn check_classes(&self, classes: usize) -> Result<()> {
        if self.joint && classes > 2 {
            return Err(Error::BadParams(format!(
                "{classes} classes: the joint problem of more than two classes has no partitioned form; use \
                 StableLogisticRegression(multi_class=\"ovr\"), or fit a sample of the rows in memory"
            )));
        }
        Ok(())
    }
}

/// Numbers of one problem.
pub(super) struct Strengths {
    pub k: f64,
    pub scale: f64,
    pub l1: f64,
    pub squares: f64,
}
