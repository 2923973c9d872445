//! The solver's own lower bound, and the directions in which its $V$ should grow.

use super::problem::{Dual, Form, RowTerms, Rows};
use crate::error::Result;
use crate::linalg::{Dense, SymmetricEigen, vector};

/// How far below 1 the largest eigenvalue of $\sum g_i x_i x_i^\top$ is pushed: the bound loses in
/// proportion, rounding is lost in inverse proportion, so all are tried.
const SLACKS: [f64; 13] =
    [1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1];

/// Bound and curvature at a primal point, from one eigendecomposition of $\sum g x x^\top$.
pub(super) struct Spectrum {
    /// The best lower bound found.
    pub lower: f64,
    /// The factor $k$ on $t$ that gave it.
    pub shrink: f64,
    /// Eigenvalues of $S = I - \sum g x x^\top$, ascending.
    pub values: Vec<f64>,
    /// Row `j` is the eigenvector of `values[j]`.
    pub vectors: Dense,
}

/// What the bound needs to know of $h$ and $g$.
pub(super) struct DualSums {
    /// $\sum h_i$.
    pub h: f64,
    /// $\sum g_i$.
    pub g: f64,
    /// $\sum h_i y_i x_i$.
    pub hx: Vec<f64>,
    /// $\sum g_i y_i x_i$.
    pub gx: Vec<f64>,
    /// $\sum g_i x_i x_i^\top$.
    pub gram: Dense,
}

impl Spectrum {
    /// With $h = k\lambda c t$, $g = k^2\lambda c t^2$, the best of a few $k \le 1$ that make $S \succ 0$.
    pub(super) fn new(rows: &Rows<'_>, at: &RowTerms, price: f64, form: Form) -> Result<Self> {
        let h: Vec<f64> = rows.c.iter().zip(&at.t).map(|(c, t)| price * c * t).collect();
        let g: Vec<f64> = h.iter().zip(&at.t).map(|(h, t)| h * t).collect();
        let image = |v: &[f64]| -> Vec<f64> {
            let v: Vec<f64> = v.iter().zip(rows.y).map(|(v, y)| v * y).collect();
            rows.x.tr_mul_vec(&v)
        };
        let sums = DualSums {
            h: h.iter().sum(),
            g: g.iter().sum(),
            hx: image(&h),
            gx: image(&g),
            gram: rows.x.weighted_gram(&g),
        };
        Self::of_sums(&sums, price, form)
    }

    /// The same from sums over the rows.
    pub(super) fn of_sums(sums: &DualSums, price: f64, form: Form) -> Result<Self> {
        let eigen = SymmetricEigen::new(&sums.gram)?;
        let hx = eigen.vectors.tr_mul_vec(&sums.hx);
        let gx = eigen.vectors.tr_mul_vec(&sums.gx);
        let (sum_h, sum_g) = (sums.h, sums.g);
        let paid = match form {
            Form::Budget(target) => price * target,
            Form::Price(_) => 0.0,
        };
        let top = eigen.values.last().copied().unwrap_or(0.0);
        let (mut lower, mut shrink) = (f64::NEG_INFINITY, 0.0);
        for slack in SLACKS {
            let k2 = 1.0 / (top.max(1.0) * (1.0 + slack));
            let k = k2.sqrt();
            let mut value = 2.0 * k * sum_h - k2 * sum_g - paid;
            for ((e, h), g) in eigen.values.iter().zip(&hx).zip(&gx) {
                let b = k * h - k2 * g;
                value -= b * b / (1.0 - k2 * e);
            }
            if value > lower {
                (lower, shrink) = (value, k);
            }
        }
        if price < 0.0 {
            lower = f64::NEG_INFINITY;
        }
        let p = eigen.values.len();
        let values = eigen.values.iter().rev().map(|e| 1.0 - e).collect();
        let vectors = Dense::from_fn(p, p, |j, i| eigen.vectors[(i, p - 1 - j)]);
        Ok(Self { lower, shrink, values, vectors })
    }

    /// The dual point behind `lower`.
    pub(super) fn dual(&self, rows: &Rows<'_>, at: &RowTerms, price: f64) -> Dual {
        let k = self.shrink;
        let h: Vec<f64> = rows.c.iter().zip(&at.t).map(|(c, t)| k * price * c * t).collect();
        let g = h.iter().zip(&at.t).map(|(h, t)| k * h * t).collect();
        Dual { h, g, price }
    }

    /// Unit-norm matrix of all clearly negative directions of $S$, steeper ones longer; `None` if
    /// $S$ has none.
    pub(super) fn growth(&self) -> Option<Dense> {
        let steepest = *self.values.first()?;
        if steepest >= 0.0 {
            return None;
        }
        let chosen: Vec<usize> =
            (0..self.values.len()).filter(|&j| self.values[j] <= 0.1 * steepest).collect();
        let mut out = self.vectors.select_rows(&chosen);
        for (row, &j) in chosen.iter().enumerate() {
            let length = (self.values[j] / steepest / chosen.len() as f64).sqrt();
            vector::scale(out.row_mut(row), length);
        }
        Some(out)
    }
}
