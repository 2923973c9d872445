//! A penalised loss whose rows are all in memory, solved by the same looks over fixed chunks of rows: on all threads of the
//! pool, with the same bits for every number of them.

use std::borrow::Cow;

use rayon::prelude::*;

use super::ask::PassAsk;
use super::binary::{Binary, Setting};
use super::block::{Block, ROWS};
use super::engine::{FAN, MergeTree};
use super::first_look::draw;
use super::kernel::look_at;
use super::message::{Inner, Message, Sums};
use super::problem::Problem;
use super::row_terms::{Losses, share};
use super::sample::{Sample, Start};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::optim::{Budget, Program};

/// Rows of the sample that gives the start.
const SAMPLE: usize = 20_000;

/// What the passes found, in the units of the program.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Weights.
    pub v: Vec<f64>,
    /// Intercept.
    pub b: f64,
    /// $a_i$ of every row, from the point that proved most.
    pub duals: Vec<f64>,
}

/// Solves `program`, whose loss is `loss`, until the passes themselves prove the gap of `budget`; each pass takes one
/// of its iterations.
pub fn solve_program(program: &Program<'_>, loss: Loss, budget: &mut Budget<'_>) -> Result<Answer> {
    let labels: Vec<usize> = program.y.iter().map(|y| usize::from(*y > 0.0)).collect();
    let rows = Rows { program, labels };
    let sample = rows.sample()?;
    let setting = rows.setting(loss, budget.tol());
    let place = match sample.start(&setting)? {
        Start::At(place) | Start::Zero { else_at: place, .. } => place,
    };
    let mut binary = Binary::new(setting, place);
    while !binary.done() && budget.take()? {
        let ask = PassAsk { questions: vec![binary.question()], ..rows.pass() };
        binary.absorb(&rows.look(&ask, budget)?, &sample.gram)?;
    }
    Ok(rows.answer(&binary, loss))
}

struct Rows<'a> {
    program: &'a Program<'a>,
    labels: Vec<usize>,
}

impl Rows<'_> {
    /// The columns are in solver units already.
    fn pass(&self) -> PassAsk {
        PassAsk {
            factors: vec![1.0; self.program.z.ncols()],
            means: Vec::new(),
            class_factors: vec![1.0; 2],
            thin: 1,
            questions: Vec::new(),
        }
    }

    fn setting(&self, loss: Loss, tol: f64) -> Setting {
        let total: f64 = self.program.shares.iter().sum();
        let problem = Problem {
            loss,
            worst: false,
            k: total,
            scale: 1.0,
            squares: self.program.l2.iter().map(|l| 0.5 * l).collect(),
            lasso: self.program.l1.clone(),
            intercept: self.program.intercept,
            total,
        };
        Setting { problem, positive: 1, tol, passes: usize::MAX }
    }

    fn sample(&self) -> Result<Sample> {
        let n = self.labels.len();
        let mut drawn: Vec<(u64, usize)> = (0..n).map(|i| (draw(0, i), i)).collect();
        if n > SAMPLE {
            drawn.select_nth_unstable(SAMPLE);
            drawn.truncate(SAMPLE);
        }
        let mut rows: Vec<usize> = drawn.into_iter().map(|(_, i)| i).collect();
        rows.sort_unstable();
        let labels = rows.iter().map(|&i| self.labels[i]).collect();
        let weights: Vec<f64> = rows.iter().map(|&i| self.program.shares[i]).collect();
        let total = weights.iter().sum();
        let block = Block::new(0, self.program.z.select_rows(&rows), labels, Some(weights));
        Sample::of(block, self.pass(), total, n <= SAMPLE)
    }

    /// One pass over all rows.
    fn look(&self, ask: &PassAsk, budget: &Budget<'_>) -> Result<Sums> {
        let n = self.labels.len();
        let chunks = n.div_ceil(ROWS);
        let answer = |chunk: usize| {
            budget.control().check()?;
            let rows = chunk * ROWS..n.min((chunk + 1) * ROWS);
            let block = Block {
                x: Cow::Borrowed(self.program.z),
                labels: Cow::Borrowed(&self.labels[rows.clone()]),
                weights: Some(Cow::Borrowed(&self.program.shares[rows.clone()])),
                names: Cow::Borrowed(&[]),
                partition: chunk,
                rows,
            };
            look_at(&block, ask).map(|sums| Message(Inner::Pass(sums)))
        };
        let mut tree = MergeTree::new();
        for first in (0..chunks).step_by(FAN) {
            let last = chunks.min(first + FAN);
            let answers: Vec<Result<Message>> = (first..last).into_par_iter().map(answer).collect();
            for message in answers {
                tree.push(message?)?;
            }
        }
        match tree.finish()? {
            Some(Message(Inner::Pass(mut sums))) => sums.pop(),
            _ => None,
        }
        .ok_or_else(|| Error::Numerical("a pass over no rows".into()))
    }

    fn answer(&self, binary: &Binary, loss: Loss) -> Answer {
        let point = binary.point();
        let none = (point.clone(), 1.0);
        let (proof, width) = binary.proof().unwrap_or(&none);
        let losses = Losses::at(loss, &self.program.margins(&proof.v, proof.b));
        let counting = binary.counting();
        let dual = |(l, s): (&f64, &f64)| share(counting, *l, proof.theta, *width).0 * s;
        let duals = losses.value.iter().zip(&losses.slope).map(dual).collect();
        Answer { v: point.v.clone(), b: point.b, duals }
    }
}
