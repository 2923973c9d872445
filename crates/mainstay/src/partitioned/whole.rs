//! Rows that are all in memory, solved by the looks and the driver of partitions over fixed chunks of them: on all
//! threads of the pool, with the bits of the same rows in a file, and without a copy of them.

use rayon::prelude::*;

use super::ask::{Ask, FirstAsk, Inner as Asked};
use super::block::{InMemory, Partitions, ROWS};
use super::continuation::{Continuation, Place};
use super::engine::{FAN, pass};
use super::first_look::FirstLook;
use super::kernel::each_chunk;
use super::loss_problem::LossProblem;
use super::message::{Inner as Said, Message};
use super::one_versus_rest::{ClassPlan, OneVersusRest};
use super::row_terms::{Losses, share};
use super::spec::Spec;
use super::task::{Task, misplaced, open_classes};
use super::units::Units;
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::optim::Budget;

/// Rows in memory after their first look, which serves every problem about them.
#[derive(Debug, Clone)]
pub struct WholeRows<'a> {
    rows: InMemory<'a>,
    len: usize,
    look: FirstLook,
}

/// What the passes found.
#[derive(Debug, Clone)]
pub struct WholeSolution {
    /// Weights in the user's units.
    pub weights: Vec<f64>,
    /// Intercept in the user's units.
    pub intercept: f64,
    /// How much of every row counts, in [0, 1], at the point that proved most; empty where all of every row does.
    pub shares: Vec<f64>,
    /// The share of every row times `$-\varphi'$` at its margin there.
    pub pulls: Vec<f64>,
}

impl<'a> WholeRows<'a> {
    /// Looks at all rows for the first time. Errors of rows are not looked at.
    pub fn new(data: &'a Dataset, control: &Control) -> Result<Self> {
        let (rows, len) = (InMemory::without_errors(data), data.len());
        let first = |ask: FirstAsk| match pass(&rows, &Ask(Asked::First(ask)), control)? {
            Some(Message(Said::First(look))) => Ok(*look),
            _ => Err(misplaced()),
        };
        let ask = FirstAsk::expecting(Some(len));
        let mut look = first(ask.clone())?;
        if ask.fell_short(&look) {
            look = first(FirstAsk::expecting(None))?;
        }
        Ok(Self { rows, len, look })
    }

    /// Solves the problem of the class `positive` until the passes themselves prove the gap of `spec`, from weights and
    /// intercept in the user's units where they are given and the losses are smooth, and from the sample otherwise; each pass
    /// takes one of the iterations of `budget`. None where zero weights seem to be the best for the worst rows, which takes
    /// other passes to prove, and where numbers are too extreme for passes.
    pub fn solve(
        &self,
        spec: &Spec,
        positive: usize,
        start: Option<(&[f64], f64)>,
        budget: &mut Budget<'_>,
    ) -> Result<Option<WholeSolution>> {
        let fit = self.settled(spec, positive, start);
        match fit.and_then(|fit| self.answered(fit, budget)) {
            Err(Error::Numerical(_) | Error::BadData(_)) => Ok(None),
            found => found,
        }
    }

    /// The fit before its first pass.
    fn settled(
        &self,
        spec: &Spec,
        positive: usize,
        start: Option<(&[f64], f64)>,
    ) -> Result<OneVersusRest<Spec>> {
        let smooth = !spec.worst() && spec.loss != Loss::Hinge;
        let start = match start.filter(|_| smooth) {
            Some((weights, intercept)) => {
                let class_weight = spec.class_weight();
                let (factors, _) = open_classes(&self.look, class_weight, spec.fit_intercept)?;
                let (v, b) = spec.units(&self.look, factors)?.of_user(weights, intercept);
                Some([Place::at(v, b)])
            }
            None => None,
        };
        let mut fit = OneVersusRest::of_class(spec.clone(), positive);
        fit.settle(&self.look, start.as_ref().map(<[Place; 1]>::as_slice))?;
        Ok(fit)
    }

    /// Makes the passes that a settled fit asks for.
    fn answered(
        &self,
        mut fit: OneVersusRest<Spec>,
        budget: &mut Budget<'_>,
    ) -> Result<Option<WholeSolution>> {
        if fit.open().is_none() {
            return Ok(None);
        }
        while let Some(ask) = fit.ask() {
            if !budget.take()? {
                break;
            }
            match pass(&self.rows, &Ask(Asked::Kernel(ask)), budget.control())? {
                Some(Message(Said::Kernel(sums))) => fit.absorb(sums)?,
                _ => return Err(misplaced()),
            }
        }
        let Some((units, open)) = fit.open() else { return Ok(None) };
        let [fit] = open.as_slice() else { return Err(misplaced()) };
        self.answer(units, fit).map(Some)
    }

    /// The answer, and what every row adds to its proof.
    fn answer(&self, units: &Units, fit: &Continuation<LossProblem>) -> Result<WholeSolution> {
        let proof = fit.proof().unwrap_or(fit.place());
        let worst = fit.problem().problem.worst;
        // Their final size at once: what grows is held twice while it does.
        let mut shares = Vec::with_capacity(if worst { self.len } else { 0 });
        let mut pulls = Vec::with_capacity(self.len);
        let chunks = self.len.div_ceil(ROWS);
        for first in (0..chunks).step_by(FAN) {
            let last = chunks.min(first + FAN);
            let of_chunk = |chunk: usize| self.row_terms(chunk, units, fit, proof);
            let found: Vec<Result<_>> = (first..last).into_par_iter().map(of_chunk).collect();
            for rows in found {
                let rows = rows?;
                pulls.extend(rows.iter().map(|(_, pull)| *pull));
                if worst {
                    shares.extend(rows.iter().map(|(a, _)| *a));
                }
            }
        }
        let (weights, intercept) = units.to_user(fit.point())?;
        Ok(WholeSolution { weights, intercept, shares, pulls })
    }

    /// Share and pull of the rows of one chunk at `proof`.
    fn row_terms(
        &self,
        chunk: usize,
        units: &Units,
        fit: &Continuation<LossProblem>,
        proof: &Place,
    ) -> Result<Vec<(f64, f64)>> {
        let block = self.rows.block(chunk)?.ok_or_else(misplaced)?;
        let problem = fit.problem();
        let (counting, positive) = (problem.counting(proof), problem.positive);
        let mut rows = Vec::with_capacity(block.len());
        each_chunk(&block, &units.pass(), |chunk| {
            let scores = chunk.scores(&proof.point);
            let signed = scores.iter().zip(&chunk.labels);
            let margin = |(f, label): (&f64, &usize)| if *label == positive { *f } else { -f };
            let margins: Vec<f64> = signed.map(margin).collect();
            let losses = Losses::at(problem.problem.loss, &margins);
            rows.extend(losses.value.iter().zip(&losses.slope).map(|(l, s)| {
                let a = share(counting, *l, proof.point.theta, proof.width).0;
                (a, a * s)
            }));
            Ok(())
        })?;
        Ok(rows)
    }
}
