//! The quotient that a plane minimises, and what keeps it well posed.

use serde::{Deserialize, Serialize};

use super::units::PlaneUnits;
use crate::linalg::{Dense, vector};

/// What keeps the quotient (3) well posed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regularization {
    /// Eq. (7): the diagonal of H joins G and the diagonal of G joins H, both times `delta`.
    #[default]
    Cross,
    /// Mangasarian and Wild: `delta` I joins the numerator only.
    Tikhonov,
    /// Nothing; the quotient is taken on range(G + H).
    None,
}

/// A diagonal quadratic form of (w, gamma) in the user's units.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Diagonal {
    pub w: Vec<f64>,
    pub gamma: f64,
}

impl Diagonal {
    pub(super) fn constant(p: usize, value: f64) -> Self {
        Self { w: vec![value; p], gamma: value }
    }

    #[must_use]
    pub(super) fn times(&self, s: f64) -> Self {
        Self { w: self.w.iter().map(|v| v * s).collect(), gamma: self.gamma * s }
    }
}

/// What joins numerator and denominator of `$\min_z z^\top (G + \Pi_N) z / z^\top (H + \Pi_D) z$`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Penalty {
    pub numerator: Diagonal,
    pub denominator: Diagonal,
}

impl Penalty {
    /// For the plane of a class with diagonal `own` of G, against one with diagonal `other` of H.
    pub(super) fn new(kind: Regularization, delta: f64, own: &Diagonal, other: &Diagonal) -> Self {
        let p = own.w.len();
        let nothing = Diagonal::constant(p, 0.0);
        match kind {
            Regularization::Cross => {
                Self { numerator: other.times(delta), denominator: own.times(delta) }
            }
            Regularization::Tikhonov => {
                Self { numerator: Diagonal::constant(p, delta), denominator: nothing }
            }
            Regularization::None => Self { numerator: nothing.clone(), denominator: nothing },
        }
    }
}

/// A [`Diagonal`] in plane units: a diagonal on w and one dense row for gamma.
#[derive(Debug, Clone)]
pub(super) struct ScaledDiagonal {
    /// On w; gamma has none.
    pub diagonal: Vec<f64>,
    /// Weight of the square of `row` z.
    pub weight: f64,
    /// (c/s, 1).
    pub row: Vec<f64>,
}

impl ScaledDiagonal {
    pub(super) fn new(form: &Diagonal, units: &PlaneUnits) -> Self {
        let diagonal = form.w.iter().zip(&units.scale).map(|(d, s)| d / s / s).collect();
        Self { diagonal, weight: form.gamma, row: units.gamma_row() }
    }

    /// Value at z.
    pub(super) fn value(&self, z: &[f64]) -> f64 {
        let w: f64 = self.diagonal.iter().zip(z).map(|(d, z)| d * z * z).sum();
        w + self.weight * vector::dot(&self.row, z).powi(2)
    }

    /// `out += scale` times the gradient/2 at z.
    pub(super) fn add_product(&self, scale: f64, z: &[f64], out: &mut [f64]) {
        for (j, d) in self.diagonal.iter().enumerate() {
            out[j] += scale * d * z[j];
        }
        vector::axpy(scale * self.weight * vector::dot(&self.row, z), &self.row, out);
    }

    /// Adds the form to a matrix of order p + 1.
    pub(super) fn add_to(&self, out: &mut Dense) {
        for (j, d) in self.diagonal.iter().enumerate() {
            out[(j, j)] += d;
        }
        if self.weight != 0.0 {
            for i in 0..self.row.len() {
                vector::axpy(self.weight * self.row[i], &self.row, out.row_mut(i));
            }
        }
    }
}
