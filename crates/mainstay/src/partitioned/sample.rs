//! A start from the sample of the first look: solved in memory, it saves two to three passes.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::ask::PassAsk;
use super::block::Block;
use super::continuation::{Continuation, Limits, Place, Smoothed};
use super::first_look::FirstLook;
use super::kernel::mean_gram;
use super::task::misplaced;
use super::units::Units;
use super::zero_weights::{Outcome, Trial};
use crate::error::Result;
use crate::linalg::{Dense, Matrix};

/// Gap to which a part of the rows is solved: its own error is larger.
const PART_TOL: f64 = 1e-3;
/// The gap of a sample that holds all rows, as a part of the gap asked for: the fit then ends with its first pass.
pub(super) const WHOLE_TOL: f64 = 0.5;
/// Rows of the sample that are solved first, by themselves.
const FIRST_ROWS: usize = 2000;
/// Steps spent on a sample at most.
const STEPS: usize = 100;
/// How near the value of zero weights the optimum of the sample must be for a trial, as a part of it.
const SUSPECT: f64 = 0.99;
/// Gap of zero weights on the sample below which they are tried on all rows.
const NEARLY: f64 = 1e-2;

/// Where a fit of all rows starts.
pub(super) enum Start {
    /// At this point.
    At(Place),
    /// Zero weights seem optimal: by a trial of these shares, and else at this point.
    Zero { shares: Place, else_at: Place },
}

/// How a sample is solved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampling {
    /// Rows that are solved first, by themselves, if there are twice as many.
    pub first_rows: Option<usize>,
    /// Gap to which these are solved.
    pub first_tol: f64,
    /// Gap to which the sample is solved.
    pub tol: f64,
    /// Gap of zero weights on the sample at which its shares are good enough to start from.
    pub trial_tol: f64,
    /// Width of the smoothing for an error as large as the scores, which one row per column would have.
    pub rough_width: f64,
}

impl Sampling {
    /// A part of the sample first; a sample may hold all rows.
    pub(super) fn in_two_stages(whole: bool, tol: f64, rough_width: f64) -> Self {
        let first_tol = PART_TOL.max(tol);
        Self {
            first_rows: Some(FIRST_ROWS),
            first_tol,
            tol: if whole { WHOLE_TOL * tol } else { first_tol },
            trial_tol: tol,
            rough_width,
        }
    }
}

/// Sampled rows.
pub(super) struct Sample {
    block: Block<'static>,
    pass: PassAsk,
    /// Total weight.
    weight: f64,
    /// See [`Sample::gram`].
    gram: OnceLock<Arc<Dense>>,
    /// Whether it holds all rows.
    whole: bool,
}

impl Sample {
    pub(super) fn new(look: &FirstLook, units: &Units) -> Self {
        let labels: Vec<usize> = look.sample.iter().map(|d| d.label).collect();
        let weights: Vec<f64> = look.sample.iter().map(|d| d.weight).collect();
        let pass = units.pass();
        let weighted = labels.iter().zip(&weights).map(|(l, w)| w * pass.class_factors[*l]);
        let weight: f64 = weighted.sum();
        let x = Matrix::from(look.sample_matrix());
        let whole = look.sample.len() == look.rows();
        let block = Block::new(0, x, labels, Some(weights));
        let block = match look.sample_errors() {
            Some(errors) => block.with_errors(errors),
            None => block,
        };
        Self::of(block, pass, weight, whole)
    }

    /// A sample that was drawn elsewhere; `weight` is its total weight.
    pub(super) fn of(block: Block<'static>, pass: PassAsk, weight: f64, whole: bool) -> Self {
        Self { block, pass, weight, gram: OnceLock::new(), whole }
    }

    /// Mean of `$(z, 1)(z, 1)^\top$`, computed when it is first asked for: some problems never do.
    pub(super) fn gram(&self) -> Result<Arc<Dense>> {
        if let Some(gram) = self.gram.get() {
            return Ok(Arc::clone(gram));
        }
        let gram = Arc::new(mean_gram(&self.block, &self.pass, self.weight)?);
        Ok(Arc::clone(self.gram.get_or_init(|| gram)))
    }

    /// Number of rows.
    fn len(&self) -> usize {
        self.block.len()
    }

    /// Its first rows, which are a sample too: rows are in the order of their draws.
    fn part(&self, rows: usize) -> Block<'_> {
        let rows = rows.min(self.len());
        Block {
            x: Cow::Borrowed(&self.block.x),
            rows: 0..rows,
            labels: Cow::Borrowed(&self.block.labels[..rows]),
            weights: self.block.weights.as_ref().map(|w| Cow::Borrowed(&w[..rows])),
            errors: self.block.errors.as_ref().map(|e| Cow::Borrowed(&**e)),
            names: Cow::Borrowed(&[]),
            partition: 0,
        }
    }

    /// Weight of its first rows, with the factors of the classes, and the share of class `positive` in it.
    fn weights_of(&self, rows: usize, positive: usize) -> (f64, f64) {
        let block = self.part(rows);
        let (mut total, mut own) = (0.0, 0.0);
        for (i, &label) in block.labels.iter().enumerate() {
            let weight = block.weight(i) * self.pass.class_factors[label];
            total += weight;
            own += if label == positive { weight } else { 0.0 };
        }
        (total, if total > 0.0 { own / total } else { 0.0 })
    }

    /// Where a fit of all rows starts.
    pub(super) fn start<S: Smoothed>(&self, problem: &S, limits: Limits) -> Result<Start> {
        let sampling = problem.sampling(self.whole, limits.tol);
        let (place, objective) = self.solve(problem, &sampling)?;
        let (weight, own) = self.weights_of(usize::MAX, problem.positive());
        if own <= 0.0 || own >= 1.0 {
            return Ok(Start::At(place));
        }
        let part = problem.for_part(weight, own);
        if objective < SUSPECT * part.constant().1 {
            return Ok(Start::At(place));
        }
        let trial = Trial::new(Continuation::new(part, place.clone(), limits), None);
        let shares = trial.map(|trial| self.zero_shares(trial, sampling.trial_tol)).transpose()?;
        Ok(match shares.flatten() {
            Some(shares) => Start::Zero { shares, else_at: place },
            None => Start::At(place),
        })
    }

    /// The optimum of the sample, with a smoothing as wide as its error, and the objective there.
    fn solve<S: Smoothed>(&self, problem: &S, sampling: &Sampling) -> Result<(Place, f64)> {
        let mut place = problem.start();
        let mut objective = 0.0;
        let all = self.len();
        for rows in sampling.first_rows.into_iter().chain([usize::MAX]) {
            let last = rows >= all;
            let (weight, own) = self.weights_of(rows, problem.positive());
            if (!last && all < 2 * rows) || own <= 0.0 || own >= 1.0 {
                continue;
            }
            let part = problem.for_part(weight, own);
            let limits =
                Limits { tol: if last { sampling.tol } else { sampling.first_tol }, passes: STEPS };
            let mut continuation = Continuation::new(part, place, limits);
            while !continuation.done() {
                let sums = self.look(&continuation, rows)?;
                continuation.absorb(&sums)?;
            }
            objective = continuation.certificate().primal;
            place = Place { point: continuation.point().clone(), ..continuation.place().clone() };
            if !(last && self.whole) {
                // The error of the sample: its rows on the threshold are not those of all rows.
                let rough = (place.point.v.len() as f64 / rows.min(all) as f64).sqrt();
                let widest = problem.start().width;
                place.width = place.width.max((rough * sampling.rough_width).min(widest));
            }
        }
        Ok((place, objective))
    }

    /// Shares that prove zero weights optimal for the sample, or nearly so.
    fn zero_shares<S: Smoothed>(&self, mut trial: Trial<S>, tol: f64) -> Result<Option<Place>> {
        for _ in 0..STEPS {
            let sums = self.look(trial.shares(), usize::MAX)?;
            if !matches!(trial.absorb(&sums, tol)?, Outcome::Open) {
                break;
            }
        }
        let near = trial.proven() || trial.certificate().gap() <= NEARLY;
        Ok(near.then(|| trial.shares().place().clone()))
    }

    /// One question about its first `rows` rows.
    fn look<S: Smoothed>(&self, continuation: &Continuation<S>, rows: usize) -> Result<S::Sums> {
        let question = [continuation.question()];
        let mut answers = continuation.problem().look(&self.part(rows), &self.pass, &question)?;
        answers.pop().ok_or_else(misplaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows 1 and 3 of equal weight: the mean of (z, 1)(z, 1)' has 5, 2 and 1 in it.
    #[test]
    fn the_gram_matrix_waits_until_somebody_asks() {
        let x = Matrix::from(Dense::from_rows(2, 1, vec![1.0, 3.0]));
        let pass = PassAsk {
            factors: vec![1.0],
            means: Vec::new(),
            class_factors: vec![1.0; 2],
            thin: 1,
            questions: Vec::new(),
        };
        let sample = Sample::of(Block::new(0, x, vec![0, 1], None), pass, 2.0, true);
        assert!(sample.gram.get().is_none());
        let gram = sample.gram().unwrap();
        assert_eq!([gram[(0, 0)], gram[(1, 0)], gram[(1, 1)]], [5.0, 2.0, 1.0]);
        assert!(Arc::ptr_eq(&gram, &sample.gram().unwrap()));
    }
}
