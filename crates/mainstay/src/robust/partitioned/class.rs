//! One class against the rest on its way to a proven gap: Newton's method with one look at the rows per step.

use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::linalg::vector;
use crate::partitioned::kernels::expected::ExpectedSums;
use crate::robust::certificate::{Reach, excess_of};
use crate::robust::newton::{Hyperplane, scaled_solution};

/// Halvings of a step before a class ends with the gap it has.
const MOST_HALVINGS: usize = 30;

/// What all classes share.
pub(super) struct Goal {
    pub alpha: f64,
    pub intercept: bool,
    /// Weight of all rows.
    pub total: f64,
    pub tol: f64,
    /// Most passes.
    pub most: usize,
}

/// One class against the rest.
#[derive(Debug)]
pub(super) struct Class {
    pub positive: usize,
    pub kappas: [f64; 2],
    pub reach: Reach,
    pub point: Hyperplane,
    /// The last point that was accepted with its value, and the step from it that is being tried.
    pub base: Option<(Hyperplane, f64, Step)>,
    pub best: Option<Hyperplane>,
    pub certificate: Certificate,
    pub halvings: usize,
    pub spent: usize,
    pub done: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub to: Vec<f64>,
    pub length: f64,
    pub promised: f64,
}

impl Hyperplane {
    fn ahead(&self, step: &Step) -> Self {
        let p = self.w.len();
        let mut next = self.clone();
        vector::axpy(step.length, &step.to[..p], &mut next.w);
        next.b += step.length * step.to[p];
        next
    }
}

impl Class {
    /// Takes the sums at the point in.
    pub(super) fn absorb(&mut self, sums: &ExpectedSums, goal: &Goal) -> Result<()> {
        let Goal { alpha, intercept, total, tol, most } = *goal;
        let p = self.point.w.len();
        self.spent += 1;
        let mut slope: Vec<f64> = sums.slope.iter().map(|v| v / total).collect();
        vector::axpy(alpha, &self.point.w, &mut slope[..p]);
        if !intercept {
            slope[p] = 0.0;
        }
        let value = sums.value / total + 0.5 * alpha * vector::norm_sq(&self.point.w);
        if !value.is_finite() {
            let text = "a partitioned fit left the range of floating point; rescale the features";
            return Err(Error::Numerical(text.into()));
        }
        let excess = excess_of(alpha, &slope, self.point.b, value, &self.reach);
        self.certificate.dual = self.certificate.dual.max(value - excess);
        if value < self.certificate.primal {
            self.certificate.primal = value;
            self.best = Some(self.point.clone());
        }
        if self.certificate.gap() <= tol || self.spent >= most {
            self.done = true;
            return Ok(());
        }
        if let Some((before, old, step)) = &mut self.base {
            let slack = 1e-15 * old.abs().max(1e-3);
            if value > *old + 1e-4 * step.length * step.promised + slack {
                step.length *= 0.5;
                self.halvings += 1;
                self.point = before.ahead(step);
                self.done = self.halvings > MOST_HALVINGS;
                return Ok(());
            }
        }
        self.halvings = 0;
        self.advance(sums, &slope, value, goal);
        Ok(())
    }

    /// Newton's step from a point that was accepted.
    fn advance(&mut self, sums: &ExpectedSums, slope: &[f64], value: f64, goal: &Goal) {
        let p = self.point.w.len();
        let mut matrix = sums.curvature.0.clone();
        vector::scale(matrix.data_mut(), 1.0 / goal.total);
        (0..p).for_each(|j| matrix[(j, j)] += goal.alpha);
        let downhill: Vec<f64> = slope.iter().map(|g| -g).collect();
        let to = scaled_solution(matrix, &downhill, goal.intercept);
        let step = Step { promised: vector::dot(slope, &to), to, length: 1.0 };
        let next = self.point.ahead(&step);
        self.done = step.promised >= 0.0;
        let before = std::mem::replace(&mut self.point, next);
        self.base = Some((before, value, step));
    }
}
