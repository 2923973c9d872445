//! A start from the sample of the first look: solved in memory, it saves two to three passes.

use std::borrow::Cow;

use super::ask::{PassAsk, Question};
use super::binary::{Binary, Place, Setting};
use super::block::Block;
use super::first_look::FirstLook;
use super::kernel::look_at;
use super::message::Sums;
use super::units::Units;
use super::zero_weights::{self, Outcome, ZeroTrial};
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix};

/// Gap to which a sample is solved: its own error is far larger.
const TOL: f64 = 1e-4;
/// Steps spent on a sample at most.
pub(super) const STEPS: usize = 100;
/// Gap of zero weights on the sample below which they are tried on all rows.
const NEARLY: f64 = 1e-2;

/// Where a fit of all rows starts.
pub(super) enum Start {
    /// At this point.
    At(Place),
    /// Zero weights seem optimal: by a trial of these shares, and else at this point.
    Zero { shares: Place, else_at: Place },
}

/// Sampled rows and their moments.
pub(super) struct Sample {
    block: Block<'static>,
    pass: PassAsk,
    /// Mean of $(z, 1)(z, 1)^\top$.
    pub gram: Dense,
    weight: f64,
    /// Whether it holds all rows.
    whole: bool,
}

impl Sample {
    pub(super) fn new(look: &FirstLook, units: &Units) -> Result<Self> {
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
    pub(super) fn of(
        block: Block<'static>,
        pass: PassAsk,
        weight: f64,
        whole: bool,
    ) -> Result<Self> {
        let gram = super::kernel::mean_gram(&block, &pass, weight)?;
        Ok(Self { block, pass, gram, weight, whole })
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.block.len()
    }

    /// Whether it holds all rows.
    pub(super) fn whole(&self) -> bool {
        self.whole
    }

    /// A pass over it without questions.
    pub(super) fn pass(&self) -> &PassAsk {
        &self.pass
    }

    /// Its first rows, which are a sample too: rows are in the order of their draws.
    pub(super) fn part(&self, rows: usize) -> Block<'_> {
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
    pub(super) fn weights_of(&self, rows: usize, positive: usize) -> (f64, f64) {
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
    pub(super) fn start(&self, setting: &Setting) -> Result<Start> {
        let p = self.pass.factors.len();
        let (_, own) = self.weights_of(usize::MAX, setting.positive);
        if own <= 0.0 || own >= 1.0 {
            return Ok(Start::At(Binary::zero(p)));
        }
        let part = Setting {
            problem: setting.problem.for_part(self.weight),
            tol: if self.whole { 0.5 * setting.tol } else { TOL.max(setting.tol) },
            passes: STEPS,
            ..setting.clone()
        };
        let mut binary = Binary::new(part.clone(), Binary::zero(p));
        while !binary.done() {
            let sums = self.look(binary.question())?;
            binary.absorb(&sums, &self.gram)?;
        }
        let mut place = Place { point: binary.point().clone(), ..binary.place().clone() };
        if !self.whole {
            // The error of the sample: its rows on the threshold are not those of all rows.
            let rough = (p as f64 / self.block.len() as f64).sqrt();
            place.width = place.width.max(rough);
        }
        if !zero_weights::suspect(&part.problem, binary.certificate().primal) {
            return Ok(Start::At(place));
        }
        Ok(match self.zero_shares(&part)? {
            Some(shares) => Start::Zero { shares, else_at: place },
            None => Start::At(place),
        })
    }

    /// Shares that prove zero weights optimal for the sample, or nearly so.
    fn zero_shares(&self, part: &Setting) -> Result<Option<Place>> {
        let mut trial = ZeroTrial::new(part.clone(), None);
        for _ in 0..STEPS {
            let sums = self.look(trial.question())?;
            match trial.absorb(&sums, &self.gram, part.tol)? {
                Outcome::Proven => return Ok(Some(trial.place().clone())),
                Outcome::GivenUp => break,
                Outcome::Open => {}
            }
        }
        let near = trial.certificate().gap() <= NEARLY;
        Ok(near.then(|| trial.place().clone()))
    }

    fn look(&self, question: Question) -> Result<Sums> {
        let pass = PassAsk { questions: vec![question], ..self.pass.clone() };
        let mut answers = look_at(&self.block, &pass)?;
        answers.pop().ok_or_else(|| Error::Numerical("a sample without an answer".into()))
    }
}
