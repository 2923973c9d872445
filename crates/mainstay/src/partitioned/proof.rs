//! The bounds of a finished fit, proved again from the rows in one pass: without its driver, its sample and its trust.

use super::ask::{Ask, Inner as Asked, PassAsk, Question};
use super::certificate::certify;
use super::continuation::Continuation;
use super::kernels::{KernelAsk, KernelSums};
use super::loss_problem::LossProblem;
use super::message::{Inner as Said, Message};
use super::problem::Problem;
use super::task::misplaced;
use super::wire::{tagged, untagged, wire};
use crate::certificate::Certificate;
use crate::error::Result;

/// Tag and version of such a proof.
const TAG: [u8; 8] = *b"msprf\0\0\x01";

/// Points and widths behind the bounds of a fit, in its units: a few numbers per column.
///
/// The answer is one point, the shares that prove the lower bound come from another, maybe of an earlier pass: one pass
/// asks about both.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// Two questions for every problem: at its answer, and where its bound was proved.
    pass: PassAsk,
    problems: Vec<Problem>,
}

wire!(Proof { pass, problems });

impl Proof {
    /// Of problems that made at least one pass.
    pub(super) fn new(mut pass: PassAsk, fits: &[&Continuation<LossProblem>]) -> Option<Self> {
        for fit in fits {
            let problem = fit.problem();
            let place = fit.proof()?;
            let proved = Question {
                positive: problem.positive,
                loss: problem.problem.loss,
                counting: problem.counting(place),
                point: place.point.clone(),
                width: place.width,
                back: None,
                near: None,
            };
            pass.questions.push(Question { point: fit.point().clone(), ..proved.clone() });
            pass.questions.push(proved);
        }
        let problems = fits.iter().map(|fit| fit.problem().problem.clone()).collect();
        Some(Self { pass, problems })
    }

    /// What all partitions are to be asked.
    pub fn ask(&self) -> Ask {
        Ask(Asked::Kernel(KernelAsk::Losses(self.pass.clone())))
    }

    /// Upper and lower bound of every problem, from the merged answer of all partitions.
    pub fn bounds(&self, answer: Message) -> Result<Vec<Certificate>> {
        let Said::Kernel(KernelSums::Losses(sums)) = answer.0 else { return Err(misplaced()) };
        if sums.len() != self.pass.questions.len() || sums.len() != 2 * self.problems.len() {
            return Err(misplaced());
        }
        let asked = self.pass.questions.chunks_exact(2).zip(sums.chunks_exact(2));
        let bounds = self.problems.iter().zip(asked).map(|(problem, (questions, sums))| {
            let at = |k: usize| certify(problem, &questions[k].point, &sums[k]);
            let (answer, proved) = (at(0), at(1));
            Certificate { primal: answer.primal, dual: proved.dual.max(answer.dual) }
        });
        Ok(bounds.collect())
    }

    /// The proof as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        tagged(TAG, self)
    }

    /// The proof behind such bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        untagged(TAG, bytes, "a proof of a partitioned fit")
    }
}
