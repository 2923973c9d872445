//! A start from the sample of the first look: solved in memory, it saves two to three passes.

use super::ask::PassAsk;
use super::binary::{Binary, Place, Setting};
use super::block::Block;
use super::first_look::FirstLook;
use super::kernel::look_at;
use super::units::Units;
use crate::error::Result;
use crate::linalg::{Dense, Matrix};

/// Gap to which a sample is solved: its own error is far larger.
const TOL: f64 = 1e-4;
/// Steps spent on a sample at most.
const STEPS: usize = 100;

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
        let gram = super::kernel::mean_gram(&block, &pass, weight)?;
        Ok(Self { block, pass, gram, weight, whole })
    }

    /// Where a fit of all rows starts.
    pub(super) fn start(&self, setting: &Setting) -> Result<Place> {
        let p = self.pass.factors.len();
        let factor = |label: &usize| self.pass.class_factors[*label] > 0.0;
        let signs = |own: bool| {
            let one = |l: &&usize| (**l == setting.positive) == own && factor(l);
            self.block.labels.iter().find(one).is_some()
        };
        if !signs(true) || !signs(false) {
            return Ok(Binary::zero(p));
        }
        let part = Setting {
            problem: setting.problem.for_part(self.weight),
            tol: if self.whole { 0.5 * setting.tol } else { TOL.max(setting.tol) },
            passes: STEPS,
            ..setting.clone()
        };
        let mut binary = Binary::new(part, Binary::zero(p));
        let mut pass = self.pass.clone();
        while !binary.done() {
            pass.questions = vec![binary.question()];
            for sums in look_at(&self.block, &pass)? {
                binary.absorb(&sums, &self.gram)?;
            }
        }
        let mut place = Place { point: binary.point().clone(), ..binary.place().clone() };
        if !self.whole {
            // The error of the sample: its rows on the threshold are not those of all rows.
            let rough = (p as f64 / self.block.len() as f64).sqrt();
            place.width = place.width.max(rough);
        }
        Ok(place)
    }
}
