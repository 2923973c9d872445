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
    /// Proven bound on (objective - optimum) / max(1, |objective|); infinite if nothing is proven.
    ///
    /// Rounding can push the dual value above the primal one: by [`ROUNDING`] at most that counts as a gap of zero.
    /// A larger excess contradicts weak duality, so that one of the two numbers is wrong and nothing is proven; nor
    /// is it if either is not a number.
    pub fn gap(&self) -> f64 {
        let gap = (self.primal - self.dual) / self.primal.abs().max(1.0);
        if gap >= 0.0 {
            gap
        } else if gap >= -ROUNDING {
            0.0
        } else {
            f64::INFINITY
        }
    }
}

/// By how much of max(1, |objective|) a dual value may exceed the primal one by rounding alone.
///
/// A sum of n terms of one sign is off by n/2 units in the last place at most: 1e-9 covers ten million rows, and is
/// far below any gap that is asked for.
pub const ROUNDING: f64 = 1e-9;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(primal: f64, dual: f64) -> f64 {
        Certificate { primal, dual }.gap()
    }

    #[test]
    fn the_gap_is_relative_to_an_objective_of_at_least_one() {
        assert_eq!(gap(4.0, 3.0), 0.25);
        assert_eq!(gap(0.5, 0.25), 0.25);
    }

    #[test]
    fn a_dual_value_above_the_primal_one_by_rounding_closes_the_gap() {
        assert_eq!(gap(1.0, 1.0 + 1e-15), 0.0);
        assert_eq!(gap(1e6, 1e6 + 1e-4), 0.0);
    }

    #[test]
    fn a_dual_value_clearly_above_the_primal_one_proves_nothing() {
        assert_eq!(gap(6.74, 7.25), f64::INFINITY);
        assert_eq!(gap(0.0, 1e-8), f64::INFINITY);
    }

    #[test]
    fn what_is_not_a_number_proves_nothing() {
        assert_eq!(gap(f64::NAN, 0.0), f64::INFINITY);
        assert_eq!(gap(1.0, f64::NAN), f64::INFINITY);
        assert_eq!(gap(f64::INFINITY, f64::INFINITY), f64::INFINITY);
    }
}
