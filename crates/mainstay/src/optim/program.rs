//! A penalised loss in solver units: what Newton's method, proximal Newton and the interior point of the
//! hinge program minimise, and how each judges for itself when to stop.

use crate::linalg::Matrix;
use crate::loss::MarginLoss;

/// Beyond this a penalty holds its weight at zero to the last digit.
const LARGEST_PENALTY: f64 = 1e200;
/// Below this a penalty does not hold its weight at all, to the last digit.
const SMALLEST_PENALTY: f64 = 1e-280;

/// `$\min_{v,b} \sum_i s_i\,\varphi(y_i(z_i^\top v + b)) + \sum_j \lambda_j |v_j| + \mu_j v_j^2/2$`, one penalty
/// per column.
#[derive(Clone)]
pub struct Program<'a> {
    /// One row per sample.
    pub z: &'a Matrix,
    /// +1 or -1.
    pub y: &'a [f64],
    /// `$s_i$`: positive, adding up to 1.
    pub shares: &'a [f64],
    /// `$\varphi$`.
    pub loss: &'a dyn MarginLoss,
    /// `$\lambda_j$`: all zero or all positive.
    pub l1: Vec<f64>,
    /// `$\mu_j$`: all zero or all positive.
    pub l2: Vec<f64>,
    /// Whether there is a free intercept `$b$`; without it `$b = 0$`.
    pub intercept: bool,
}

/// The penalty `strength * size`, kept within what the solvers can divide by.
pub fn penalty_weight(strength: f64, size: f64) -> f64 {
    if strength == 0.0 { 0.0 } else { (strength * size).clamp(SMALLEST_PENALTY, LARGEST_PENALTY) }
}

/// A primal and a dual point of a [`Program`], and the products that link them.
#[derive(Debug, Clone, Copy)]
pub struct PrimalDual<'a> {
    /// `$y_i(z_i^\top v + b)$`.
    pub margins: &'a [f64],
    /// Weights.
    pub v: &'a [f64],
    /// Intercept.
    pub b: f64,
    /// `$a_i$`.
    pub duals: &'a [f64],
    /// `$r = Z^\top(s a y)$`.
    pub r: &'a [f64],
    /// `$\sum_i s_i a_i y_i$`, zero at a feasible point with an intercept.
    pub imbalance: f64,
}

/// First-order information at a point of a [`Program`] with a smooth loss.
#[derive(Debug, Clone)]
pub struct FirstOrder {
    /// `$a_i = -\varphi'(m_i)$`.
    pub duals: Vec<f64>,
    /// `$r = Z^\top(s a y)$`.
    pub r: Vec<f64>,
    /// `$\sum_i s_i a_i y_i$`.
    pub imbalance: f64,
    /// Objective.
    pub value: f64,
    /// Objective less the solver's own lower bound.
    pub gap: f64,
}

impl Program<'_> {
    /// What the losses' slopes say at `$(v, b)$`, whose margins are given.
    pub fn first_order(&self, margins: &[f64], v: &[f64], b: f64) -> FirstOrder {
        let duals: Vec<f64> = margins.iter().map(|m| -self.loss.slope(*m)).collect();
        let signed = self.signed_duals(&duals);
        let r = self.z.tr_mul_vec(&signed);
        let imbalance = signed.iter().sum();
        let value = self.value(margins, v);
        let at = PrimalDual { margins, v, b, duals: &duals, r: &r, imbalance };
        let gap = value - self.lower(&at);
        FirstOrder { duals, r, imbalance, value, gap }
    }

    /// `$s_i \varphi''(m_i)$`.
    pub fn curvature(&self, margins: &[f64]) -> Vec<f64> {
        let one = |(m, s): (&f64, &f64)| s * self.loss.curvature(*m).unwrap_or(0.0);
        margins.iter().zip(self.shares).map(one).collect()
    }

    /// Number of rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.z.nrows(), self.z.ncols())
    }

    /// Whether there is an L1 part.
    pub fn has_l1(&self) -> bool {
        self.l1.iter().any(|l| *l > 0.0)
    }

    /// `$y_i(z_i^\top v + b)$`.
    pub fn margins(&self, v: &[f64], b: f64) -> Vec<f64> {
        let mut margins = self.z.mul_vec(v);
        for (m, y) in margins.iter_mut().zip(self.y) {
            *m = y * (*m + b);
        }
        margins
    }

    /// `$s_i a_i y_i$`.
    pub fn signed_duals(&self, duals: &[f64]) -> Vec<f64> {
        duals.iter().zip(self.shares).zip(self.y).map(|((a, s), y)| s * a * y).collect()
    }

    /// Objective at `$v$` with these margins.
    pub fn value(&self, margins: &[f64], v: &[f64]) -> f64 {
        let loss: f64 = margins.iter().zip(self.shares).map(|(m, s)| s * self.loss.value(*m)).sum();
        loss + self.penalty(v)
    }

    /// The penalty alone.
    pub fn penalty(&self, v: &[f64]) -> f64 {
        let terms = v.iter().zip(&self.l1).zip(&self.l2);
        terms.map(|((v, l1), l2)| l1 * v.abs() + 0.5 * l2 * v * v).sum()
    }

    /// A solver's own idea of the dual value, to decide when to stop. A dual point that is not balanced is
    /// off by about the imbalance times the size of the margins, which is taken off.
    pub fn lower(&self, at: &PrimalDual<'_>) -> f64 {
        let mut dual = self.dual_value(at, 1.0);
        if self.has_l1() {
            let shrink = at.r.iter().zip(&self.l1).fold(1.0, |s: f64, (r, l1)| s.min(l1 / r.abs()));
            if shrink < 1.0 {
                // Rounding may leave the scaled point a digit outside.
                dual = dual.max(self.dual_value(at, shrink * (1.0 - 4.0 * f64::EPSILON)));
            }
        }
        if !self.intercept {
            return dual;
        }
        let size: f64 = at.margins.iter().zip(self.shares).map(|(m, s)| s * m.abs()).sum();
        dual - at.imbalance.abs() * (1.0 + size + at.b.abs())
    }

    /// Dual value of `shrink` times the duals.
    fn dual_value(&self, at: &PrimalDual<'_>, shrink: f64) -> f64 {
        let duals = at.duals.iter().zip(self.shares);
        let conjugate: f64 = duals.map(|(a, s)| s * self.loss.conjugate(shrink * a)).sum();
        let excess: f64 =
            at.r.iter()
                .zip(&self.l1)
                .zip(&self.l2)
                .map(|((r, l1), l2)| ((shrink * r.abs() - l1).max(0.0), l2))
                .map(|(e, l2)| if e > 0.0 { e * (e / l2) } else { 0.0 })
                .sum();
        -conjugate - 0.5 * excess
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;
    use crate::loss::Loss;

    /// One point at 1 on a line, hinge, no intercept: the optimum of max(0, 1 - v) + v^2/2 is 1/2 at v = 1.
    #[test]
    fn value_and_bound_meet_at_the_optimum() {
        let z = Matrix::from(Dense::from_rows(1, 1, vec![1.0]));
        let program = Program {
            z: &z,
            y: &[1.0],
            shares: &[1.0],
            loss: Loss::Hinge.get(),
            l1: vec![0.0],
            l2: vec![1.0],
            intercept: false,
        };
        let (v, duals) = ([1.0], [1.0]);
        let margins = program.margins(&v, 0.0);
        let at = PrimalDual {
            margins: &margins,
            v: &v,
            b: 0.0,
            duals: &duals,
            r: &[1.0],
            imbalance: 1.0,
        };
        assert_eq!((program.value(&margins, &v), program.lower(&at)), (0.5, 0.5));
        let free = Program { intercept: true, ..program };
        assert!(free.lower(&at) <= -1.5);
    }

    #[test]
    fn penalties_stay_divisible() {
        assert_eq!(penalty_weight(0.0, 1e300), 0.0);
        assert_eq!(penalty_weight(1e-300, 1e-300), SMALLEST_PENALTY);
        assert_eq!(penalty_weight(1e200, 1e200), LARGEST_PENALTY);
    }
}
