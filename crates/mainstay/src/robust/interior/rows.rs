//! The problem as the solver sees it: signed rows, and counts of mean 1.

use super::cells::Cells;
use crate::linalg::Dense;
use crate::robust::worst_problem::{HalfAxes, WorstCase, WorstLoss};

/// What adding up shares of the features may put on a budget of 1.
const ROUNDED: f64 = 1e-9;

/// The objective times `$k = n\omega$`, so that the counts of the rows are near 1 whatever their number.
pub(super) struct Rows<'a> {
    pub problem: &'a WorstCase<'a>,
    /// `$y_i x_i$`.
    pub signed: Dense,
    /// The cells that have variables; all of them unless the solver chooses.
    pub cells: Option<Cells>,
    /// Largest count of every row, `$n s_i$`.
    pub caps: Vec<f64>,
    /// Sum of the counts, `$n\omega$`.
    pub k: f64,
    /// `$\alpha k$`.
    pub ridge: f64,
    /// `$\kappa$`.
    pub kappa: Vec<f64>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(problem: &'a WorstCase<'a>) -> Self {
        let (n, p) = (problem.x.nrows(), problem.x.ncols());
        let size = n as f64;
        let k = size * problem.worst_share.min(1.0);
        let signed = Dense::from_fn(n, p, |i, j| problem.y[i] * problem.x[(i, j)]);
        Self {
            problem,
            cells: Cells::all(problem, &signed),
            signed,
            caps: problem.shares.iter().map(|s| s * size).collect(),
            k,
            ridge: problem.alpha * k,
            kappa: (0..n).map(|i| problem.kappa(i)).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.caps.len()
    }

    pub(super) fn hinge(&self) -> bool {
        self.problem.loss == WorstLoss::Hinge
    }

    /// Whether there is a threshold: only the worst share of the rows counts.
    pub(super) fn top(&self) -> bool {
        !self.problem.whole()
    }

    /// Whether counts are variables: a loss that is not smooth, or a threshold.
    pub(super) fn counted(&self) -> bool {
        self.hinge() || self.top()
    }

    /// The half-axes that all rows share. Their reach is then one variable of the system, with one cone in place of one
    /// for every row.
    pub(super) fn shared_axes(&self) -> Option<&'a [f64]> {
        match self.problem.axes {
            Some(HalfAxes::Shared(axes)) => Some(axes),
            _ => None,
        }
    }

    /// How many cones there are.
    pub(super) fn cones(&self) -> usize {
        if self.shared_axes().is_some() { 1 } else { self.len() }
    }

    /// Index of the shared reach in the remaining system, after weights and intercept.
    pub(super) fn reach_at(&self) -> Option<usize> {
        self.shared_axes().map(|_| self.signed.ncols() + 1)
    }

    /// Index of the threshold in the remaining system.
    pub(super) fn theta_at(&self) -> Option<usize> {
        self.top().then(|| self.signed.ncols() + 1 + usize::from(self.reach_at().is_some()))
    }

    /// Number of unknowns of the remaining system.
    pub(super) fn order(&self) -> usize {
        let more = usize::from(self.reach_at().is_some()) + usize::from(self.top());
        self.signed.ncols() + 1 + more
    }

    /// Heads of the cones' multipliers where the rows pull by `g`: stationarity in the reach of the errors.
    pub(super) fn heads(&self, g: &[f64]) -> Vec<f64> {
        if self.shared_axes().is_some() { vec![g.iter().sum()] } else { g.to_vec() }
    }

    /// Deletion budget; 0 without losable features.
    pub(super) fn budget(&self) -> f64 {
        self.problem.losable.map_or(0.0, |l| l.budget)
    }

    /// Whether the budget alone keeps deletions below 1: their own bounds then need no variables.
    pub(super) fn capless(&self) -> bool {
        self.budget() <= 1.0 + ROUNDED
    }
}
