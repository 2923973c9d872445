//! The quadratic problem of one majorisation step, in the space of features or of rows.

use super::robust_ratio::RobustRatio;
use crate::linalg::{Cholesky, Dense, DiagonalPlusRows, TINY, vector};
use crate::uncertainty::ellipsoid::Spread;

/// Relative lifts of the diagonal, tried in turn until the matrix can be factored.
const RIDGES: [f64; 5] = [0.0, 1e-14, 1e-12, 1e-10, 1e-8];
/// Part of the largest diagonal entry that is lifted too, so that vanishing entries become positive.
const RIDGE_FLOOR: f64 = 1e-4;
/// Diagonal entry, at least, relative to the largest one.
const LEAST_DIAGONAL: f64 = 1e-12;

/// Numerator `$\hat G$` and curvature Q of the majorised problem.
pub(super) enum Majoriser {
    Tall { numerator: Dense, curvature: Dense },
    Wide { rows: Dense, weights: Vec<f64>, numerator: Vec<f64>, curvature: Vec<f64> },
}

pub(super) enum Factor {
    Tall(Cholesky),
    Wide(Box<DiagonalPlusRows>),
}

impl Factor {
    pub(super) fn solve(&self, r: &[f64]) -> Vec<f64> {
        match self {
            Self::Tall(factor) => factor.solve(r),
            Self::Wide(factor) => factor.solve(r),
        }
    }
}

impl Majoriser {
    pub(super) fn new(
        problem: &RobustRatio<'_>,
        gram: &[f64],
        own: &Spread,
        other: &Spread,
    ) -> Self {
        let q = problem.own.rows.ncols();
        match (own, other) {
            (Spread::Diagonal(own), Spread::Diagonal(other))
                if q > problem.own.rows.nrows() + 2 =>
            {
                let penalty = &problem.numerator;
                let mut data = problem.own.rows.data().to_vec();
                data.extend_from_slice(&penalty.row);
                let mut weights = gram.to_vec();
                weights.push(penalty.weight);
                let rows = Dense::from_rows(weights.len(), q, data);
                let numerator = penalty.diagonal.iter().zip(own).map(|(a, b)| a + b).chain([0.0]);
                let curvature = other.iter().copied().chain([0.0]);
                Self::Wide {
                    rows,
                    weights,
                    numerator: numerator.collect(),
                    curvature: curvature.collect(),
                }
            }
            _ => {
                let mut numerator = problem.own.rows.weighted_gram(gram);
                own.add_to(1.0, &mut numerator);
                problem.numerator.add_to(&mut numerator);
                let mut curvature = Dense::zeros(q, q);
                other.add_to(1.0, &mut curvature);
                Self::Tall { numerator, curvature }
            }
        }
    }

    /// `$\hat G z$`.
    pub(super) fn product(&self, z: &[f64]) -> Vec<f64> {
        match self {
            Self::Tall { numerator, .. } => numerator.mul_vec(z),
            Self::Wide { rows, weights, numerator, .. } => {
                let inner: Vec<f64> =
                    rows.mul_vec(z).iter().zip(weights).map(|(v, w)| v * w).collect();
                let mut out = rows.tr_mul_vec(&inner);
                (0..z.len()).for_each(|j| out[j] += numerator[j] * z[j]);
                out
            }
        }
    }

    /// `$z^\top \hat G z$`.
    pub(super) fn numerator(&self, z: &[f64]) -> f64 {
        vector::dot(z, &self.product(z))
    }

    /// Factors `$\tau \hat G + Q$`; directions without any weight get a negligible one.
    pub(super) fn factor(&self, tau: f64) -> Option<Factor> {
        match self {
            Self::Tall { numerator, curvature } => {
                let q = numerator.nrows();
                let mut matrix =
                    Dense::from_fn(q, q, |i, j| tau * numerator[(i, j)] + curvature[(i, j)]);
                let top = (0..q).map(|j| matrix[(j, j)]).fold(0.0, f64::max);
                for ridge in RIDGES {
                    (0..q).for_each(|j| {
                        matrix[(j, j)] += ridge * (matrix[(j, j)] + RIDGE_FLOOR * top);
                    });
                    if let Some(factor) = Cholesky::new(&matrix) {
                        return Some(Factor::Tall(factor));
                    }
                }
                None
            }
            Self::Wide { rows, weights, numerator, curvature } => {
                let mut diagonal: Vec<f64> =
                    numerator.iter().zip(curvature).map(|(n, c)| tau * n + c).collect();
                let last = diagonal.len() - 1;
                let top = diagonal.iter().copied().fold(0.0, f64::max).max(TINY);
                for d in &mut diagonal {
                    *d = d.max(LEAST_DIAGONAL * top);
                }
                // gamma has no diagonal: give it one and take it away by a row.
                diagonal[last] = top;
                let mut data = rows.data().to_vec();
                data.resize(data.len() + last, 0.0);
                data.push(1.0);
                let mut weights: Vec<f64> = weights.iter().map(|w| tau * w).collect();
                weights.push(-top);
                let rows = Dense::from_rows(weights.len(), last + 1, data);
                DiagonalPlusRows::new(diagonal, rows, weights).map(Box::new).map(Factor::Wide)
            }
        }
    }
}
