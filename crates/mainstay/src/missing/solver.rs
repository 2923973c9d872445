use super::certificate::Dual;
use super::interior::Interior;
use super::problem::RobustHinge;
use super::scaled::Scaled;
use crate::control::Control;
use crate::error::Result;

/// What a solver of problem (4) returns; `certify` turns it into a proof.
#[derive(Debug, Clone)]
pub struct Solution {
    /// $w$.
    pub weights: Vec<f64>,
    /// $b$.
    pub intercept: f64,
    /// A nearly feasible dual point.
    pub dual: Dual,
    /// Factorisations.
    pub n_iter: usize,
}

/// Primal-dual interior point method for problem (4), made for its structure.
///
/// All iterates are strictly feasible on both sides, so each carries a proven bound. Only entries that an adversary at the
/// present weights nearly deletes have variables (contest.rs). The variables
/// $\alpha, \lambda, \xi$ of a row are eliminated row by row (elimination.rs), which leaves a system in the weights
/// and the intercept (system.rs, low_rank.rs). Each factorisation serves a predictor, Mehrotra's corrector with a
/// weight chosen for the primal and the dual step separately, and two to five Gondzio correctors, the more the
/// dearer it is (interior.rs).
///
/// One iteration costs $O(\mathrm{nnz} + \sum_i \mathrm{nnz}_i^2 + p^3)$, or $O(m^2 p + m^3)$ for $p > 2m$. It stops
/// when the gap between the exact objective at the present weights (best intercept) and the dual value is at
/// most `tol` max(1, objective).
///
/// # Reference
///
/// Dekel and Shamir (2008), Eq. (4). Mehrotra (1992); Gondzio (1996), *Multiple centrality corrections*;
/// Colombo and Gondzio (2008), *Further development of multiple centrality correctors*.
pub fn interior_point(
    problem: &RobustHinge<'_>,
    tol: f64,
    max_iter: usize,
    control: &Control,
) -> Result<Solution> {
    let scaled = Scaled::new(problem)?;
    let positive: f64 = class_weight(problem, 1.0);
    let negative = class_weight(problem, -1.0);
    if problem.fit_intercept && positive.min(negative) == 0.0 {
        return Ok(one_class(problem));
    }
    let least = positive.min(negative);
    let shares = if problem.fit_intercept {
        [0.5 * least / negative, 0.5 * least / positive]
    } else {
        [0.5; 2]
    };
    if scaled.is_trivial() {
        return Ok(intercept_only(problem, shares));
    }
    let mut point = Interior::new(scaled, shares, problem.fit_intercept);
    let n_iter = point.run(problem, tol, max_iter, control)?;
    Ok(point.finish(n_iter))
}

fn class_weight(problem: &RobustHinge<'_>, sign: f64) -> f64 {
    problem.y.iter().zip(problem.weights).filter(|(y, _)| **y * sign > 0.0).map(|(_, w)| w).sum()
}

/// Only one class: no loss at all with an intercept as large as the margin demanded.
fn one_class(problem: &RobustHinge<'_>) -> Solution {
    let sign = problem.y.first().copied().unwrap_or(1.0);
    let entries = problem.x.values().iter().filter(|v| **v != 0.0).count();
    Solution {
        weights: vec![0.0; problem.x.ncols()],
        intercept: sign * problem.demand() * problem.deletions.total(),
        dual: Dual { sigma: vec![0.0; problem.y.len()], tau: vec![0.0; entries] },
        n_iter: 1,
    }
}

/// A box of side 0: nothing but the intercept, and nothing deleted.
fn intercept_only(problem: &RobustHinge<'_>, shares: [f64; 2]) -> Solution {
    let weights = vec![0.0; problem.x.ncols()];
    let shortfalls = problem.shortfalls(&weights);
    let mut dual = Dual::default();
    for (i, (y, weight)) in problem.y.iter().zip(problem.weights).enumerate() {
        let sigma = 2.0 * shares[usize::from(*y > 0.0)] * weight;
        dual.sigma.push(sigma);
        let entries = problem.x.row(i).entries().filter(|(_, x)| *x != 0.0).count();
        dual.tau.extend(std::iter::repeat_n(sigma, entries));
    }
    let intercept = problem.best_intercept(&shortfalls, 0.0);
    Solution { weights, intercept, dual, n_iter: 1 }
}

impl Interior {
    fn run(
        &mut self,
        problem: &RobustHinge<'_>,
        tol: f64,
        max_iter: usize,
        control: &Control,
    ) -> Result<usize> {
        /// Steps shorter than this make no progress worth a factorisation.
        const SHORTEST: f64 = 1e-7;
        /// The answer is looked at once the gap of the iterates is this many times the one asked for.
        const NEAR: f64 = 100.0;
        // Weights of zero, where it starts, are what every answer must beat.
        self.judge(problem);
        let mut totals = self.totals();
        for iteration in 0..max_iter {
            control.check()?;
            let norm = self.scaled.norm;
            let allowed = tol * (totals.primal / norm).max(1.0);
            // The exact objective is below that of the iterate, whose slack shrinks with the products.
            if (totals.primal - totals.dual) / norm <= NEAR * allowed || iteration + 1 == max_iter {
                self.keep_bound(totals.dual / norm);
                self.judge(problem);
                if self.best.0 - self.bound <= 0.9 * tol * self.best.0.max(1.0) {
                    return Ok(iteration.max(1));
                }
            }
            control.progress(iteration as u64, max_iter as u64);
            let Ok(system) = self.factor() else { break };
            let (primal, dual) = self.direction(&system, &totals, control)?;
            if primal.max(dual) < SHORTEST || !(primal + dual).is_finite() {
                break;
            }
            // Before the two values come near, weights still run to and fro; many of them always may.
            let settle = self.scaled.few_columns() && totals.dual > 0.5 * totals.primal;
            totals = self.advance(primal, dual, settle);
        }
        self.keep_bound(totals.dual / self.scaled.norm);
        self.judge(problem);
        Ok(max_iter)
    }

    fn finish(self, n_iter: usize) -> Solution {
        let Scaled { blocks, weight_units, intercept_unit, dual_unit, .. } = self.scaled;
        let (_, w, b) = self.best;
        let mut dual = Dual::default();
        for block in blocks {
            dual.sigma.extend(block.best_sigma.iter().map(|v| v * dual_unit));
            dual.tau.extend(block.best_tau.iter().map(|v| v * dual_unit));
        }
        Solution {
            weights: w.iter().zip(&weight_units).map(|(w, unit)| w * unit).collect(),
            intercept: b * intercept_unit,
            dual,
            n_iter: n_iter.max(1),
        }
    }
}
