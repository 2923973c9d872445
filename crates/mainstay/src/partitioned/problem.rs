//! What is minimised, in solver units.

use super::ask::{Counting, Point};
use super::wire::wire;
use crate::loss::Loss;

/// With `$z_j = (x_j - m_j) t_j$`, `$L_i$` the loss of row `$i$` at `$z_i^\top v + b$` and weights `$c_i$`:
///
/// ```math
/// \min_{v,b,\theta \ge 0}\ \sum_j q_j v_j^2 + \lambda_j |v_j|
///   + S \Big( k\theta + \sum_i c_i \max(0, L_i - \theta) \Big).
/// ```
///
/// Problems in which every row counts have no `$\theta$`: it is zero. The mean loss has `$S = 1 / \sum c_i$`, the stable
/// problems `$S = C$` or `$S = 1/k$`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Problem {
    /// `$L$`.
    pub loss: Loss,
    /// Whether only the worst rows count.
    pub worst: bool,
    /// `$k$`, in units of weight.
    pub k: f64,
    /// `$S$`.
    pub scale: f64,
    /// `$q_j$`.
    pub squares: Vec<f64>,
    /// `$\lambda_j$`; all zero without an L1 part.
    pub lasso: Vec<f64>,
    /// Whether `$b$` is free; otherwise it is zero.
    pub intercept: bool,
    /// `$\sum c_i$`.
    pub total: f64,
}

wire!(Problem { loss, worst, k, scale, squares, lasso, intercept, total });

impl Problem {
    /// Whether every row counts in full, with a loss that bends: no smoothing is needed.
    pub(super) fn smooth(&self) -> bool {
        !self.worst && self.loss != Loss::Hinge
    }

    /// How rows count at first.
    pub(super) fn counting(&self) -> Counting {
        if self.smooth() { Counting::All } else { Counting::Above }
    }

    /// Whether there is an L1 part.
    pub(super) fn sparse(&self) -> bool {
        self.lasso.iter().any(|l| *l > 0.0)
    }

    /// `$\sum_j \lambda_j |v_j|$`.
    pub(super) fn lasso_at(&self, v: &[f64]) -> f64 {
        self.lasso.iter().zip(v).map(|(l, v)| l * v.abs()).sum()
    }

    /// All of the objective but the losses.
    pub(super) fn beside_losses(&self, point: &Point) -> f64 {
        let ridge: f64 = self.squares.iter().zip(&point.v).map(|(q, v)| q * v * v).sum();
        let threshold = if self.worst { self.scale * self.k * point.theta } else { 0.0 };
        ridge + self.lasso_at(&point.v) + threshold
    }

    /// The same problem for a part of the rows, of this weight, that stands for all of them.
    pub(super) fn for_part(&self, weight: f64) -> Self {
        let share = weight / self.total;
        Self { k: self.k * share, scale: self.scale / share, total: weight, ..self.clone() }
    }
}
