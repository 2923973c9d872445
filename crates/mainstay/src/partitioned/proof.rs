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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::data::Dataset;
    use crate::linalg::Dense;
    use crate::methods;
    use crate::partitioned::{InMemory, Step, pass};

    fn rows(classes: usize) -> Dataset {
        let cell = |i: usize, j: usize| ((1 + 3 * i + 7 * j + i * j) as f64 * 0.47).sin();
        let noise = |i: usize| 0.8 * ((13 * i) as f64 * 0.31).sin();
        let label = |i: usize| {
            let score = cell(i, 0) + cell(i, 1) + noise(i);
            if score < -0.4 { 0 } else { (1 + usize::from(score > 0.6)).min(classes - 1) }
        };
        let labels = (0..3000).map(label).collect();
        Dataset::new(Dense::from_fn(3000, 3, cell).into(), labels, classes).unwrap()
    }

    /// One pass over other partitions of the same rows, whose sums differ in their last digits: the same bounds.
    #[test]
    fn one_pass_proves_the_bounds_of_a_fit_again() {
        let control = Control::new();
        for (name, params, classes) in [
            ("l2", serde_json::json!({"alpha": 1e-3}), 3),
            ("l1", serde_json::json!({"alpha": 1e-2}), 2),
            ("l2", serde_json::json!({"alpha": 1e-3, "loss": "hinge"}), 2),
            ("stable-svm", serde_json::json!({"k": 0.7, "C": 1e-2}), 2),
            ("stable-logistic", serde_json::json!({"k": 0.5, "alpha": 1e-3}), 2),
        ] {
            let data = rows(classes);
            let source = InMemory::with_rows(&data, 500);
            let mut driver = methods::driver(name, &params).unwrap();
            let mut message = None;
            let fitted = loop {
                match driver.next(message).unwrap() {
                    Step::Done(fitted) => break fitted,
                    Step::Ask(ask) => message = pass(&source, &ask, &control).unwrap(),
                }
            };
            let proof = driver.proof().unwrap();
            let proof = Proof::from_bytes(&proof.to_bytes()).unwrap();
            for rows in [500, 700] {
                let source = InMemory::with_rows(&data, rows);
                let answer = pass(&source, &proof.ask(), &control).unwrap().unwrap();
                let bounds = proof.bounds(answer).unwrap();
                assert_eq!(bounds.len(), fitted.certificates.len());
                for (found, known) in bounds.iter().zip(&fitted.certificates) {
                    let near = |a: f64, b: f64| (a - b).abs() <= 1e-11 * b.abs().max(1.0);
                    assert!(near(found.primal, known.primal), "{name}: {found:?} {known:?}");
                    assert!(near(found.dual, known.dual), "{name}: {found:?} {known:?}");
                    assert!(found.gap() <= 1e-6 && (rows != 500 || found == known), "{name}");
                }
            }
        }
    }

    #[test]
    fn an_answer_to_something_else_proves_nothing() {
        let data = rows(2);
        let source = InMemory::new(&data);
        let mut driver = methods::driver("l2", &serde_json::json!({})).unwrap();
        let Step::Ask(first) = driver.next(None).unwrap() else { unreachable!() };
        assert!(driver.proof().is_none());
        let look = pass(&source, &first, &Control::new()).unwrap().unwrap();
        driver.next(Some(look.clone())).unwrap();
        // Nothing is proved before a pass.
        assert!(driver.proof().is_none());
        assert!(Proof::from_bytes(&look.to_bytes()).is_err());
    }
}
