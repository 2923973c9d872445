//! A problem whose rows are all in memory, solved by the same looks over fixed chunks of rows: on all threads of the
//! pool, with the same bits for every number of them, and without a copy of the rows.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::ask::PassAsk;
use super::block::{Block, ROWS};
use super::continuation::{Continuation, Limits, Place};
use super::engine::{FAN, MergeTree};
use super::first_look::draw;
use super::kernel::{each_chunk, look_at};
use super::kernels::KernelSums;
use super::loss_problem::LossProblem;
use super::message::{Inner, Message, Sums};
use super::problem::Problem;
use super::row_terms::{Losses, share};
use super::sample::{Sample, Start};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::loss::Loss;
use crate::optim::Budget;
use crate::optim::design::ColumnUnits;

/// Rows of the sample that gives the start.
const SAMPLE: usize = 20_000;
/// How many more rows than wanted are looked at for the sample: enough that there are never too few.
const SPARE: f64 = 1.2;
/// The part of the gap that the sums of the passes must prove: the rest is room for what a certificate in
/// the user's units takes off for rounding.
const AIM: f64 = 0.9;

/// With $z_j = (x_j - m_j) t_j$ and $L_i$ the loss of row $i$ at $z_i^\top v + b$:
///
/// $$\min_{v,b,\theta \ge 0}\ \sum_j q_j v_j^2 + \lambda_j |v_j|
///   + S \Big( k\theta + \sum_i c_i \max(0, L_i - \theta) \Big),$$
///
/// where $\theta = 0$ if every row counts.
#[derive(Debug, Clone)]
pub struct WholeProblem<'a> {
    /// One row per sample, in the user's units.
    pub x: &'a Matrix,
    /// $t_j$ and $m_j$.
    pub units: &'a ColumnUnits,
    /// +1 or -1.
    pub y: &'a [f64],
    /// $c_i$, positive.
    pub weights: &'a [f64],
    /// $L$.
    pub loss: Loss,
    /// $k$, in units of weight, where only the worst rows count.
    pub worst: Option<f64>,
    /// $S$.
    pub scale: f64,
    /// $q_j$.
    pub squares: Vec<f64>,
    /// $\lambda_j$.
    pub lasso: Vec<f64>,
    /// Whether $b$ is free; otherwise it is zero.
    pub intercept: bool,
}

/// What the passes found, in solver units.
#[derive(Debug, Clone)]
pub struct WholeSolution {
    /// Weights.
    pub v: Vec<f64>,
    /// Intercept.
    pub b: f64,
    /// How much of every row counts, in [0, 1], at the point that proved most; empty where all of every row does.
    pub shares: Vec<f64>,
    /// The share of every row times $-\varphi'$ at its margin there.
    pub pulls: Vec<f64>,
}

impl WholeProblem<'_> {
    /// Solves the problem until the passes themselves prove the gap of `budget`, from `start` where the losses are
    /// smooth and from a sample otherwise; each pass takes one of the iterations. None where zero weights seem to be the
    /// best for the worst rows: that takes other passes to prove.
    pub fn solve(
        &self,
        start: Option<(&[f64], f64)>,
        budget: &mut Budget<'_>,
    ) -> Result<Option<WholeSolution>> {
        let sample = self.sample();
        let problem = self.problem(&sample)?;
        let limits = Limits { tol: AIM * budget.tol(), passes: usize::MAX };
        let place = match start {
            Some((v, b)) if problem.problem.smooth() => Place::at(v.to_vec(), b),
            _ => match sample.start(&problem, limits)? {
                Start::Zero { .. } if self.worst.is_some() => return Ok(None),
                Start::At(place) | Start::Zero { else_at: place, .. } => place,
            },
        };
        let mut fit = Continuation::new(problem, place, limits);
        while !fit.done() && budget.take()? {
            let ask = PassAsk { questions: vec![fit.question()], ..self.pass() };
            fit.absorb(&self.look(&ask, budget)?)?;
        }
        self.answer(&fit).map(Some)
    }

    /// A pass without questions. Weights are taken as they are, whatever the class.
    fn pass(&self) -> PassAsk {
        let centred = self.units.means.iter().any(|m| *m != 0.0);
        PassAsk {
            factors: self.units.factors.clone(),
            means: if centred { self.units.means.clone() } else { Vec::new() },
            class_factors: vec![1.0; 2],
            thin: 1,
            questions: Vec::new(),
        }
    }

    fn problem(&self, sample: &Sample) -> Result<LossProblem> {
        let total: f64 = self.weights.iter().sum();
        let problem = Problem {
            loss: self.loss,
            worst: self.worst.is_some(),
            k: self.worst.unwrap_or(total),
            scale: self.scale,
            squares: self.squares.clone(),
            lasso: self.lasso.clone(),
            intercept: self.intercept,
            total,
        };
        Ok(LossProblem { problem, positive: 1, gram: sample.gram()? })
    }

    /// The rows of one chunk.
    fn block(&self, chunk: usize) -> Block<'_> {
        let rows = chunk * ROWS..self.y.len().min((chunk + 1) * ROWS);
        Block {
            x: Cow::Borrowed(self.x),
            labels: Cow::Owned(self.labels(rows.clone())),
            weights: Some(Cow::Borrowed(&self.weights[rows.clone()])),
            errors: None,
            names: Cow::Borrowed(&[]),
            partition: chunk,
            rows,
        }
    }

    fn labels(&self, rows: Range<usize>) -> Vec<usize> {
        self.y[rows].iter().map(|y| usize::from(*y > 0.0)).collect()
    }

    /// The rows with the smallest draws.
    fn sample(&self) -> Sample {
        let n = self.y.len();
        let limit = (SPARE * SAMPLE as f64 / n as f64).min(1.0) * u64::MAX as f64;
        let drawn = (0..n).map(|i| (draw(0, i), i));
        let mut drawn: Vec<(u64, usize)> = drawn.filter(|(d, _)| *d as f64 <= limit).collect();
        if drawn.len() > SAMPLE {
            drawn.select_nth_unstable(SAMPLE);
            drawn.truncate(SAMPLE);
        }
        let mut rows: Vec<usize> = drawn.into_iter().map(|(_, i)| i).collect();
        rows.sort_unstable();
        let labels = rows.iter().map(|&i| usize::from(self.y[i] > 0.0)).collect();
        let weights: Vec<f64> = rows.iter().map(|&i| self.weights[i]).collect();
        let total = weights.iter().sum();
        let block = Block::new(0, self.x.select_rows(&rows), labels, Some(weights));
        Sample::of(block, self.pass(), total, rows.len() == n)
    }

    /// One pass over all rows.
    fn look(&self, ask: &PassAsk, budget: &Budget<'_>) -> Result<Sums> {
        let chunks = self.y.len().div_ceil(ROWS);
        let answer = |chunk: usize| {
            budget.control().check()?;
            look_at(&self.block(chunk), ask)
                .map(|sums| Message(Inner::Kernel(KernelSums::Losses(sums))))
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
            Some(Message(Inner::Kernel(KernelSums::Losses(mut sums)))) => sums.pop(),
            _ => None,
        }
        .ok_or_else(|| Error::Numerical("a pass over no rows".into()))
    }

    fn answer(&self, fit: &Continuation<LossProblem>) -> Result<WholeSolution> {
        let point = fit.point();
        let none = (point.clone(), 1.0);
        let (proof, width) = fit.proof().unwrap_or(&none);
        let (counting, ask) = (fit.problem().counting(fit.place()), self.pass());
        let of_chunk = |chunk: usize| -> Result<Vec<(f64, f64)>> {
            let block = self.block(chunk);
            let mut rows = Vec::with_capacity(block.len());
            each_chunk(&block, &ask, |chunk| {
                let scores = chunk.scores(proof);
                let signed = scores.iter().zip(&chunk.labels);
                let margin = |(f, label): (&f64, &usize)| if *label == 1 { *f } else { -f };
                let losses = Losses::at(self.loss, &signed.map(margin).collect::<Vec<f64>>());
                rows.extend(losses.value.iter().zip(&losses.slope).map(|(l, s)| {
                    let a = share(counting, *l, proof.theta, *width).0;
                    (a, a * s)
                }));
                Ok(())
            })?;
            Ok(rows)
        };
        let (mut shares, mut pulls) = (Vec::new(), Vec::with_capacity(self.y.len()));
        let chunks = self.y.len().div_ceil(ROWS);
        for first in (0..chunks).step_by(FAN) {
            let last = chunks.min(first + FAN);
            let found: Vec<Result<_>> = (first..last).into_par_iter().map(of_chunk).collect();
            for rows in found {
                let rows = rows?;
                pulls.extend(rows.iter().map(|(_, pull)| *pull));
                if self.worst.is_some() {
                    shares.extend(rows.iter().map(|(a, _)| *a));
                }
            }
        }
        Ok(WholeSolution { v: point.v.clone(), b: point.b, shares, pulls })
    }
}
