//! What the solvers of this room hand to each other, and the gap they aim at.

use crate::optim::Budget;

/// The part of the gap that a solver's own estimate must reach: the rest is room for the repairs that the
/// certificate makes.
pub(super) const AIM: f64 = 0.2;

/// What a solver found, in the units of [`super::design::Design`].
#[derive(Debug, Clone)]
pub(super) struct Solution {
    pub v: Vec<f64>,
    pub b: f64,
    /// Candidate dual of every row.
    pub duals: Vec<f64>,
    /// Where to start from in the row space, if it was solved there.
    pub inner: Option<Vec<f64>>,
    /// Weights and intercept in the user's units, where passes found them: their own units are others.
    pub by_passes: Option<(Vec<f64>, f64)>,
}

impl Solution {
    pub(super) fn new(v: Vec<f64>, b: f64, duals: Vec<f64>) -> Self {
        Self { v, b, duals, inner: None, by_passes: None }
    }
}

/// The absolute gap that is small enough at objective `value`.
pub(super) fn target(budget: &Budget<'_>, value: f64) -> f64 {
    AIM * budget.tol() * value.abs().max(1.0)
}
