//! What the solvers hand to one another and, in the end, to the fit.

use super::certificate::Dual;
use super::problem::Hyperplanes;
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::optim::Bracket;

/// A primal point, in the units of the solvers and in those of the user.
#[derive(Debug, Clone)]
pub(super) struct Iterate {
    /// Reduced weights: all of one score, then those of the next.
    pub v: Vec<f64>,
    /// The same in the units of the given features.
    pub hyperplanes: Hyperplanes,
}

/// The best primal and the best dual point of one problem so far, recomputed on all rows.
pub(super) type Found = Bracket<Iterate, Dual>;

/// Where a solver may start: the answer to this problem or to a neighbour on a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start<'s> {
    pub iterate: &'s Iterate,
    pub dual: &'s Dual,
}

impl<'s> Start<'s> {
    /// Both points of a bracket, if it has both.
    pub(super) fn of(found: &'s Found) -> Option<Self> {
        Some(Self { iterate: found.point()?, dual: found.proof()? })
    }
}

/// An answer with its proof.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    pub iterate: Iterate,
    pub dual: Dual,
    pub certificate: Certificate,
    /// The stages that ran, in order.
    pub route: Vec<&'static str>,
}

impl Solution {
    /// What `found` holds; an error where no stage found a finite point.
    pub(super) fn new(found: Found) -> Result<Self> {
        let (certificate, route) = (found.certificate(), found.route().to_vec());
        match found.into_points() {
            (Some(iterate), Some(dual)) => Ok(Self { iterate, dual, certificate, route }),
            _ => Err(Error::Numerical(
                "the stable fit; rescale the features or the row weights".into(),
            )),
        }
    }

    /// Where the next problem of a path starts.
    pub(super) fn start(&self) -> Start<'_> {
        Start { iterate: &self.iterate, dual: &self.dual }
    }
}
