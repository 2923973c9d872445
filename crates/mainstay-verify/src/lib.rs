//! A proof checker for models of mainstay.
//!
//! A fit that ends with a certificate claims that no weights in the world lower its objective by more than the gap. The
//! claim rests on a dual point; with it in the model file and the training rows at hand, anybody can recompute both ends.
//! This crate does, and shares no code with the library that made the claim:
//!
//! - inner products of rows with weights and of multipliers with columns are exact (a fixed-point sum as wide as all
//!   floats), for any number of rows and features;
//! - all that follows is interval arithmetic, rounded outwards; the system's exponential and logarithm are taken to be
//!   right to four units in the last place;
//! - a dual point is first made feasible: clipped, balanced, scaled. Whatever stands in the file, the bound that comes out
//!   holds. A file can make a proof fail, not succeed.
//!
//! Covered: `l1`, `l2`, `elasticnet` (all losses), `stable-svm`, `stable-logistic` and their `-cv` forms, `ellipsoid-svm` with one
//! shape for all rows, `missing-lp`. Others end with [`Error::Unavailable`].

mod claim;
mod ellipsoid;
mod error;
mod exact;
#[cfg(test)]
mod forged;
mod interval;
mod loss;
mod margin;
mod missing;
mod problem;
mod rows;
mod softmax;
#[cfg(test)]
mod weak_duality;
mod worst;

pub use error::{Error, Result};
pub use interval::Interval;
pub use rows::{Data, Rows};
use serde::Serialize;
use serde_json::Value;

/// What was found out about one problem of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Finding {
    /// The objective of the returned numbers is not below this.
    pub objective_low: f64,
    /// Nor above this.
    pub objective: f64,
    /// No weights have an objective below this.
    pub bound: f64,
    /// (objective - bound) / max(1, bound): no less than the distance to the optimum, as `dual_gap` counts it.
    pub gap: f64,
    /// The objective that the file claims.
    pub claimed_objective: f64,
    /// The gap that the file claims.
    pub claimed_gap: f64,
}

/// What was found out about a fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// One for every problem: one for two classes or a joint problem, otherwise one per class.
    pub problems: Vec<Finding>,
    /// The gap that had to be proved.
    pub tol: f64,
}

impl Report {
    /// The largest proven gap.
    pub fn gap(&self) -> f64 {
        self.problems.iter().map(|found| found.gap).fold(0.0, f64::max)
    }

    /// Whether every problem is solved to the gap that had to be proved.
    pub fn proved(&self) -> bool {
        !self.problems.is_empty()
            && self.problems.iter().all(|found| found.gap.is_finite() && found.gap <= self.tol)
    }

    /// Whether every objective is the one that the file claims, to nine digits.
    pub fn objectives_as_claimed(&self) -> bool {
        self.problems.iter().all(|found| {
            let room = 1e-9 * found.objective.abs().max(1.0);
            (found.objective_low - room..=found.objective + room).contains(&found.claimed_objective)
        })
    }
}

/// Checks the proof in `model`, the object of that name in a model file, on the training rows.
///
/// `tol` is the gap to be proved; none is the one that the fit was asked for.
pub fn verify(model: &Value, data: &Data<'_>, tol: Option<f64>) -> Result<Report> {
    let mut claim = claim::Claim::read(model)?;
    claim.fit_to(data)?;
    let ends = problem::ends(&claim, data)?;
    let problems = ends
        .into_iter()
        .zip(&claim.certificates)
        .map(|((objective, bound), claimed)| {
            let gap = (Interval::point(objective.high) - Interval::point(bound)).high
                / bound.abs().max(1.0);
            let claimed_gap = (claimed.primal - claimed.dual) / claimed.primal.abs().max(1.0);
            Finding {
                objective_low: objective.low,
                objective: objective.high,
                bound,
                // A bound above the objective is a contradiction, not a proof.
                gap: if gap.is_nan() || bound > objective.high {
                    f64::INFINITY
                } else {
                    gap.max(0.0)
                },
                claimed_objective: claimed.primal,
                claimed_gap,
            }
        })
        .collect();
    Ok(Report { problems, tol: tol.unwrap_or(claim.tol) })
}
