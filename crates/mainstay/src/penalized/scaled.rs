use crate::linalg::{Matrix, vector};
use crate::loss::MarginLoss;

/// Beyond these a penalty weight holds its coefficient at zero, or not at all, to the last digit.
const LARGEST: f64 = 1e200;
const SMALLEST: f64 = 1e-280;

/// The problem of the solvers: $\sum_i s_i \varphi(y_i(z_i^\top v + b)) + \sum_j \lambda_j |v_j| +
/// \mu_j v_j^2/2$, a penalty weight for each column.
#[derive(Clone)]
pub(super) struct Scaled<'a> {
    pub z: &'a Matrix,
    pub y: &'a [f64],
    pub shares: &'a [f64],
    pub loss: &'a dyn MarginLoss,
    /// $\lambda_j$: all zero or all positive.
    pub l1: Vec<f64>,
    /// $\mu_j$: all zero or all positive.
    pub l2: Vec<f64>,
}

/// The weight `strength * size`, kept within what the solvers can divide by.
pub(super) fn penalty_weight(strength: f64, size: f64) -> f64 {
    if strength == 0.0 { 0.0 } else { (strength * size).clamp(SMALLEST, LARGEST) }
}

impl Scaled<'_> {
    /// Number of rows and columns.
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.z.nrows(), self.z.ncols())
    }

    /// Whether there is an L1 part.
    pub(super) fn is_sparse(&self) -> bool {
        self.l1.iter().any(|l| *l > 0.0)
    }

    /// $y_i(z_i^\top v + b)$.
    pub(super) fn margins(&self, v: &[f64], b: f64) -> Vec<f64> {
        let mut margins = self.z.mul_vec(v);
        for (m, y) in margins.iter_mut().zip(self.y) {
            *m = y * (*m + b);
        }
        margins
    }

    /// $a_i = -\varphi'(m_i)$.
    pub(super) fn duals(&self, margins: &[f64]) -> Vec<f64> {
        margins.iter().map(|m| -self.loss.slope(*m)).collect()
    }

    /// $s_i a_i y_i$.
    pub(super) fn pull(&self, duals: &[f64]) -> Vec<f64> {
        duals.iter().zip(self.shares).zip(self.y).map(|((a, s), y)| s * a * y).collect()
    }

    /// Objective at $v$ with these margins.
    pub(super) fn value(&self, margins: &[f64], v: &[f64]) -> f64 {
        let loss: f64 = margins.iter().zip(self.shares).map(|(m, s)| s * self.loss.value(*m)).sum();
        loss + self.penalty(v)
    }

    /// The penalty alone.
    pub(super) fn penalty(&self, v: &[f64]) -> f64 {
        let terms = v.iter().zip(&self.l1).zip(&self.l2);
        terms.map(|((v, l1), l2)| l1 * v.abs() + 0.5 * l2 * v * v).sum()
    }

    /// A solver's own idea of the duality gap, to decide when to stop: `r` is $Z^\top(s a y)$ and
    /// `imbalance` $\sum_i s_i a_i y_i$, whose repair moves the dual by about the margins' size.
    pub(super) fn gap(&self, point: &Point<'_>) -> f64 {
        let Point { margins, v, b, duals, r, imbalance } = point;
        let shrink = if self.is_sparse() {
            r.iter().zip(&self.l1).fold(1.0, |s: f64, (r, l1)| s.min(l1 / r.abs()))
        } else {
            1.0
        };
        let dual_at = |shrink: f64| {
            let conjugate: f64 = duals
                .iter()
                .zip(self.shares)
                .map(|(a, s)| s * self.loss.conjugate(shrink * a))
                .sum();
            let terms = r.iter().zip(&self.l1).zip(&self.l2);
            let excess: f64 = terms
                .map(|((r, l1), l2)| ((shrink * r.abs() - l1).max(0.0), l2))
                .map(|(e, l2)| if e > 0.0 { e * (e / l2) } else { 0.0 })
                .sum();
            -conjugate - 0.5 * excess
        };
        let mut dual = dual_at(1.0);
        if shrink < 1.0 {
            // Rounding may leave the scaled point a digit outside.
            dual = dual.max(dual_at(shrink * (1.0 - 4.0 * f64::EPSILON)));
        }
        let size: f64 = margins.iter().zip(self.shares).map(|(m, s)| s * m.abs()).sum();
        // The value of an unbalanced dual point is off by the imbalance times the intercept.
        self.value(margins, v) - dual + imbalance.abs() * (1.0 + size + b.abs())
    }
}

/// A primal and a dual point and the products that link them.
pub(super) struct Point<'a> {
    pub margins: &'a [f64],
    pub v: &'a [f64],
    pub b: f64,
    pub duals: &'a [f64],
    pub r: &'a [f64],
    pub imbalance: f64,
}

/// $\max(|x| - t, 0)$ with the sign of $x$.
pub(super) fn soft(x: f64, t: f64) -> f64 {
    if x > t {
        x - t
    } else if x < -t {
        x + t
    } else {
        0.0
    }
}

/// `a + tau * b`.
pub(super) fn moved(a: &[f64], tau: f64, b: &[f64]) -> Vec<f64> {
    let mut out = a.to_vec();
    vector::axpy(tau, b, &mut out);
    out
}
