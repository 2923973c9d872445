//! The last steps on the rows near the threshold.
//!
//! Most of the steps are left when the threshold is roughly known: which rows end up on it takes many changes of mind.
//! Rows far from it have no part in that. They count in full or not at all, so what they add is smooth and a
//! quadratic model of it holds for all of these steps, which then cost a few rows each instead of all.

use super::{Kept, Newton, Start};
use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::stable::interior::Limits;
use crate::stable::problem::Problem;

/// Most often that rows are set apart.
pub(super) const ROUNDS: usize = 6;
/// A row is far from the threshold at this many times the usual move of a step.
const FAR: f64 = 4.0;
/// Rows are set apart where no more than this part of all is left.
const FEW: f64 = 0.25;
/// Part of the gap asked of the rows near the threshold alone.
const ENOUGH: f64 = 0.25;

/// What the rows set apart add to the objective, to second order.
#[derive(Debug)]
pub(super) struct Rest {
    at: Vec<f64>,
    value: f64,
    slope: Vec<f64>,
    bend: Dense,
}

impl Rest {
    pub(super) fn value(&self, v: &[f64]) -> f64 {
        let away = self.away(v);
        let bent = 0.5 * vector::dot(&away, &self.bend.mul_vec(&away));
        self.value + vector::dot(&away, &self.slope) + bent
    }

    pub(super) fn gradient(&self, v: &[f64]) -> Vec<f64> {
        let mut gradient = self.bend.mul_vec(&self.away(v));
        vector::axpy(1.0, &self.slope, &mut gradient);
        gradient
    }

    fn away(&self, v: &[f64]) -> Vec<f64> {
        v.iter().zip(&self.at).map(|(v, at)| v - at).collect()
    }
}

impl Newton<'_, '_> {
    /// The rows near the threshold, compared with the last `moves` of the scores, if these are few.
    pub(super) fn rows_near(&self, moves: &[f64]) -> Option<Vec<usize>> {
        if self.rounds == 0 {
            return None;
        }
        let (weights, rows) = (self.problem.weights, &self.rows);
        let usual = (vector::norm_sq(moves) / moves.len() as f64).sqrt();
        let reach = usual.max(0.5 * self.reference.width);
        let near = |i: &usize| {
            let (share, over) = (rows.share[*i], rows.loss[*i] - rows.theta);
            over.abs() <= FAR * reach.max(moves[*i].abs()) || (share > 0.0 && share < weights[*i])
        };
        let n = self.problem.n();
        let near: Vec<usize> = (0..n).filter(near).collect();
        (!near.is_empty() && near.len() as f64 <= FEW * n as f64).then_some(near)
    }

    /// Goes on with the rows `near` alone until the gap seems to be reached; returns the number of steps.
    pub(super) fn run_near(&mut self, near: &[usize], limits: Limits<'_>) -> Result<usize> {
        let rest = self.set_apart(near);
        let pick = |all: &[f64]| -> Vec<f64> { near.iter().map(|&i| all[i]).collect() };
        let weights = pick(self.problem.weights);
        let others =
            self.rows.share.iter().sum::<f64>() - pick(&self.rows.share).iter().sum::<f64>();
        let problem = Problem {
            weights: &weights,
            target: self.problem.target.select(near),
            k: self.problem.k - others,
            ..self.problem.clone()
        };
        let features = self.features.select(near);
        let (width, theta) = (self.reference.width, Some(self.rows.theta));
        let start = Start { v: self.v.clone(), width, theta };
        let mut part = Newton::new(&problem, &features, self.ridge, start);
        part.reference.share = pick(&self.reference.share);
        part.weigh();
        (part.held, part.patient) = (self.held, true);
        part.kept = Kept::starting_with(rest.bend.clone(), near.len());
        part.rest = Some(rest);
        let steps = part.run(ENOUGH * limits.tol, limits, |_| true)?;

        self.reference.share.clone_from(&self.rows.share);
        near.iter().zip(&part.reference.share).for_each(|(&i, a)| self.reference.share[i] = *a);
        self.reference.width = part.reference.width;
        self.held = part.held;
        let scores = self.features.scores(&part.v);
        let moves = scores.iter().zip(&self.rows.scores).map(|(new, old)| new - old).collect();
        self.last_round = Some((moves, self.seems));
        self.rows.scores = scores;
        self.v = part.v;
        self.rows.look(self.problem);
        self.rows.weigh(self.problem, &self.reference, part.rows.theta);
        self.rounds -= 1;
        Ok(steps)
    }

    /// The model of all rows but `near`.
    fn set_apart(&mut self, near: &[usize]) -> Rest {
        let mut share = self.rows.share.clone();
        for &i in near {
            share[i] = 0.0;
        }
        let slope: Vec<f64> = share.iter().zip(&self.rows.slope).map(|(a, s)| a * s).collect();
        let bend = share.iter().zip(&self.rows.bend).map(|(a, bend)| a * bend);
        self.kept.update(self.features, bend, 0.0);
        Rest {
            at: self.v.clone(),
            value: vector::dot(&share, &self.rows.loss),
            slope: self.features.z.tr_mul_vec(&slope),
            bend: self.kept.damped(0.0),
        }
    }
}
