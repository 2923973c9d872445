//! What is minimised.

use std::ops::Range;

use rayon::prelude::*;

use crate::linalg::{Accurate, Compensated, Matrix, vector};
use crate::loss::MarginLoss;

/// Penalised mean loss of a linear classifier, ROLIN's Eq. (15) with a free intercept:
///
/// ```math
/// \min_{w,b}\ \sum_i s_i\,\varphi\big(y_i(x_i^\top w + b)\big)
///   + \sum_j \lambda\,|u_j w_j| + \tfrac{\mu}{2}(u_j w_j)^2 .
/// ```
///
/// The shares `$s_i$` are the row weights divided by their sum. `$u_j$` is the unit in which the
/// penalty sees feature `$j$`: 1 as the data are given, the feature's standard deviation when it is
/// standardised first (centring moves only the intercept, which is free). `alpha` and `l1_ratio`
/// `$\rho$` give `$\lambda = \alpha\rho$` and `$\mu = \alpha(1-\rho)$`.
pub(super) struct Problem<'a> {
    /// One row per sample.
    pub x: &'a Matrix,
    /// +1 or -1.
    pub y: &'a [f64],
    /// `$s_i$`: positive, adding up to 1.
    pub shares: &'a [f64],
    /// `$\varphi$`.
    pub loss: &'static dyn MarginLoss,
    /// `$\lambda$`.
    pub l1: f64,
    /// `$\mu$`.
    pub l2: f64,
    /// `$u_j$`.
    pub units: &'a [f64],
}

/// A point of the primal and one of the dual, to be judged by the certificate.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// `$w$`, in the units of the data.
    pub weights: Vec<f64>,
    /// `$b$`.
    pub intercept: f64,
    /// `$a_i$`, a candidate for `$-\varphi'$` at the margin of row `$i$`; need not be feasible.
    pub duals: Vec<f64>,
}

/// Rows that are summed before their sum is passed on; fixed, so that threads do not matter.
const ROWS_PER_SUM: usize = 16_384;

/// What rounding may add to a loss without being looked at more closely: far below any gap that is asked for.
const NOT_NOTICED: f64 = 1e-12;

/// Two sums over blocks of rows, joined in their order; `part` sums one block.
pub(super) fn in_blocks(
    rows: usize,
    part: impl Fn(Range<usize>) -> (Compensated, f64) + Sync,
) -> (Compensated, f64) {
    let blocks = (0..rows.div_ceil(ROWS_PER_SUM)).into_par_iter();
    let block = |k: usize| part(k * ROWS_PER_SUM..rows.min((k + 1) * ROWS_PER_SUM));
    let parts: Vec<(Compensated, f64)> = blocks.map(block).collect();
    let mut total = (Compensated::default(), 0.0);
    for (sum, plain) in parts {
        total.0.join(sum);
        total.1 += plain;
    }
    total
}

impl Problem<'_> {
    /// The value that is minimised, at these very numbers, and by how much rounding may have lowered it.
    pub(super) fn objective(&self, weights: &[f64], intercept: f64) -> (f64, f64) {
        self.objective_on(&self.x.accurate(), weights, intercept)
    }

    /// The same for rows whose columns were looked at before.
    pub(super) fn objective_on(
        &self,
        rows: &Accurate<'_>,
        weights: &[f64],
        intercept: f64,
    ) -> (f64, f64) {
        let scores = rows.scores(weights, intercept);
        let steepest = self.loss.dual_bound();
        let part = |rows: Range<usize>| {
            let (mut sum, mut rounding) = (Compensated::default(), 0.0);
            for i in rows {
                let (margin, share) = (self.y[i] * scores.values[i], self.shares[i]);
                let loss = self.loss.value(margin);
                let error = scores.errors[i] + f64::EPSILON * (1.0 + margin.abs());
                // No loss rises by more than its steepest slope times the way.
                let mut more = steepest * error;
                if more > NOT_NOTICED {
                    more = self.loss.value(margin - error) - loss;
                }
                sum.add(share * loss);
                rounding += share * (more + 8.0 * f64::EPSILON * (loss + more));
            }
            (sum, rounding)
        };
        let (sum, rounding) = in_blocks(self.y.len(), part);
        let objective = sum.value() + self.penalty(weights);
        (objective, rounding + (weights.len() + 8) as f64 * f64::EPSILON * objective)
    }

    /// What the weights cost.
    fn penalty(&self, weights: &[f64]) -> f64 {
        let seen: Vec<f64> = weights.iter().zip(self.units).map(|(w, u)| u * w).collect();
        let mut penalty = 0.0;
        if self.l1 > 0.0 {
            penalty += self.l1 * vector::norm_1(&seen);
        }
        if self.l2 > 0.0 {
            penalty += 0.5 * self.l2 * vector::norm(&seen).powi(2);
        }
        penalty
    }
}
