//! The last Newton steps, on the rows near the threshold alone.
//!
//! Most of the steps are left when the threshold is roughly known: which rows end up on it changes many times.
//! Rows far from it count in full or not at all, so what they add is smooth and a quadratic model of it
//! holds for all of these steps, which then cost a few rows each instead of all.

use super::gram_cache::GramCache;
use super::newton::{Newton, NewtonStart};
use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::optim::Budget;
use crate::stable::problem::Problem;

/// Rounds on the band of one run at most.
pub(super) const ROUNDS: usize = 6;
/// Distance from the threshold, in usual moves of a step, at which a row is far from it.
const FAR: f64 = 4.0;
/// Part of all rows that the band holds at most: otherwise a round saves nothing.
const FEW: f64 = 0.25;
/// Part of the asked gap that the rows of the band are solved to.
const ENOUGH: f64 = 0.25;

/// What the rows outside the band add to the objective, to second order.
#[derive(Debug)]
pub(super) struct FarRows {
    at: Vec<f64>,
    value: f64,
    slope: Vec<f64>,
    curvature: Dense,
}

/// Where a round on the band ended.
struct BandEnd {
    /// Reference shares of the rows of the band.
    share: Vec<f64>,
    width: f64,
    damping: f64,
    v: Vec<f64>,
    theta: f64,
}

impl FarRows {
    pub(super) fn value(&self, v: &[f64]) -> f64 {
        let away = self.away(v);
        let second_order = 0.5 * vector::dot(&away, &self.curvature.mul_vec(&away));
        self.value + vector::dot(&away, &self.slope) + second_order
    }

    pub(super) fn gradient(&self, v: &[f64]) -> Vec<f64> {
        let mut gradient = self.curvature.mul_vec(&self.away(v));
        vector::axpy(1.0, &self.slope, &mut gradient);
        gradient
    }

    fn away(&self, v: &[f64]) -> Vec<f64> {
        v.iter().zip(&self.at).map(|(v, at)| v - at).collect()
    }
}

impl Newton<'_, '_> {
    /// The rows near the threshold, compared with the last `moves` of the scores, if these are few.
    pub(super) fn threshold_band(&self, moves: &[f64]) -> Option<Vec<usize>> {
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

    /// Goes on with the rows `near` alone until the estimated gap is reached.
    pub(super) fn run_on_band(&mut self, near: &[usize], budget: &mut Budget<'_>) -> Result<()> {
        let far = self.model_far_rows(near);
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
        let start = NewtonStart { v: self.v.clone(), width, theta };
        let mut part = Newton::new(&problem, &features, self.ridge, start);
        part.reference.share = pick(&self.reference.share);
        part.solve_threshold();
        (part.damping, part.accept_crowding) = (self.damping, true);
        part.gram_cache = GramCache::starting_with(far.curvature.clone(), near.len());
        part.far_rows = Some(far);
        part.run(ENOUGH * budget.tol(), budget, |_| true)?;
        let end = part.into_band_end();
        self.take_over(near, end);
        Ok(())
    }

    /// Goes to where a round on the rows `near` ended.
    fn take_over(&mut self, near: &[usize], part: BandEnd) {
        self.reference.share.clone_from(&self.rows.share);
        near.iter().zip(&part.share).for_each(|(&i, a)| self.reference.share[i] = *a);
        self.reference.width = part.width;
        self.damping = part.damping;
        let scores = self.features.scores(&part.v);
        let moves = scores.iter().zip(&self.rows.scores).map(|(new, old)| new - old).collect();
        self.last_round = Some((moves, self.estimated_gap));
        self.rows.scores = scores;
        self.v = part.v;
        self.rows.eval_losses(self.problem);
        self.rows.solve_threshold(self.problem, &self.reference, part.theta);
        self.rounds -= 1;
    }

    fn into_band_end(self) -> BandEnd {
        BandEnd {
            share: self.reference.share,
            width: self.reference.width,
            damping: self.damping,
            v: self.v,
            theta: self.rows.theta,
        }
    }

    /// The model of all rows but `near`.
    fn model_far_rows(&mut self, near: &[usize]) -> FarRows {
        let mut share = self.rows.share.clone();
        for &i in near {
            share[i] = 0.0;
        }
        let slope: Vec<f64> = share.iter().zip(&self.rows.slope).map(|(a, s)| a * s).collect();
        let curvature = share.iter().zip(&self.rows.curvature).map(|(a, curvature)| a * curvature);
        self.gram_cache.update(self.features, curvature, 0.0);
        FarRows {
            at: self.v.clone(),
            value: vector::dot(&share, &self.rows.loss),
            slope: self.features.z.tr_mul_vec(&slope),
            curvature: self.gram_cache.damped(0.0),
        }
    }
}
