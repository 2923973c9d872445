//! A proven interval around the optimum, and what it says about a fit.

use serde::{Deserialize, Serialize};

/// An upper and a lower bound on the optimal value of a minimisation problem.
///
/// `primal` is the objective of the returned point, `dual` the value of a dual feasible point.
/// Both are recomputed from the data and the answer, never taken from a solver's own bookkeeping.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Objective of the returned point.
    #[serde(with = "crate::json::number")]
    pub primal: f64,
    /// A lower bound on the optimal objective.
    #[serde(with = "crate::json::number")]
    pub dual: f64,
}

impl Certificate {
    /// Proven bound on (objective - optimum) / max(1, |objective|); infinite if either side is NaN.
    ///
    /// Rounding can push the dual value above the primal one by a few units in the last place;
    /// that counts as a gap of zero.
    pub fn gap(&self) -> f64 {
        let gap = (self.primal - self.dual) / self.primal.abs().max(1.0);
        if gap.is_nan() { f64::INFINITY } else { gap.max(0.0) }
    }
}

/// How a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The proven gap is at most `tol`.
    Certified,
    /// The solver stopped first; the gap it reached is in the certificate.
    NotCertified,
    /// The method has no certificate (cross-validated choices, averages, eigenvalue methods).
    NoCertificate,
}
