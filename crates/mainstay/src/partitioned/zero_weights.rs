//! Whether zero weights are optimal, which is so where the rows that count cannot be told apart: a trial finds the shares
//! that prove it in a few passes, where the smoothing of the problem itself would have to be narrowed for ever.

use super::continuation::{Continuation, Place, Smoothed};
use crate::certificate::Certificate;
use crate::error::Result;

/// Passes after which a trial is given up.
const PASSES: usize = 12;

/// How a trial stands.
pub(super) enum Outcome {
    Open,
    Proven,
    GivenUp,
}

/// A trial under way.
#[derive(Debug, Clone)]
pub(super) struct Trial<S> {
    shares: Continuation<S>,
    certificate: Certificate,
    /// The fit, if the trial fails.
    else_at: Continuation<S>,
    spent: usize,
    proven: bool,
}

impl<S: Smoothed> Trial<S> {
    /// A trial that starts from these shares; none where the problem has none.
    pub(super) fn new(else_at: Continuation<S>, start: Option<Place>) -> Option<Self> {
        let (problem, place) = else_at.problem().zero_trial()?;
        let (_, primal) = else_at.problem().constant();
        Some(Self {
            shares: Continuation::with_fixed_width(problem, start.unwrap_or(place)),
            certificate: Certificate { primal, dual: 0.0 },
            else_at,
            spent: 0,
            proven: false,
        })
    }

    /// The shares under way.
    pub(super) fn shares(&self) -> &Continuation<S> {
        &self.shares
    }

    /// The fit, if the trial fails.
    pub(super) fn else_at(&self) -> &Continuation<S> {
        &self.else_at
    }

    pub(super) fn certificate(&self) -> Certificate {
        self.certificate
    }

    pub(super) fn proven(&self) -> bool {
        self.proven
    }

    /// Takes the answer to the question of the shares in.
    pub(super) fn absorb(&mut self, sums: &S::Sums, tol: f64) -> Result<Outcome> {
        self.spent += 1;
        let bound = self.else_at.problem().zero_bound(&self.shares.place().point, sums);
        self.certificate.dual = self.certificate.dual.max(bound);
        if self.certificate.gap() <= tol {
            self.proven = true;
            return Ok(Outcome::Proven);
        }
        self.shares.absorb(sums)?;
        let stuck = self.shares.done() || self.spent >= PASSES;
        Ok(if stuck { Outcome::GivenUp } else { Outcome::Open })
    }
}
