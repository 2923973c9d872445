//! One row of a feature matrix, dense or sparse.

use super::{Compensated, vector};

/// One row of a [`Matrix`](super::Matrix).
#[derive(Debug, Clone, Copy)]
pub enum Row<'a> {
    /// Every entry.
    Dense(&'a [f64]),
    /// Column indices and the values there; all other entries are zero.
    Sparse(&'a [u32], &'a [f64]),
}

impl<'a> Row<'a> {
    /// Inner product with a dense vector.
    #[inline]
    pub fn dot(self, w: &[f64]) -> f64 {
        match self {
            Self::Dense(values) => vector::dot(values, w),
            Self::Sparse(indices, values) => {
                indices.iter().zip(values).map(|(&j, v)| v * w[j as usize]).sum()
            }
        }
    }

    /// Inner product with a dense vector plus `start`, as if in twice the precision.
    pub fn compensated_dot(self, w: &[f64], start: f64) -> f64 {
        let mut sum = Compensated::new(start);
        match self {
            Self::Dense(values) => {
                values.iter().zip(w).for_each(|(v, w)| sum.add_product(*v, *w));
            }
            Self::Sparse(indices, values) => {
                indices.iter().zip(values).for_each(|(&j, v)| sum.add_product(*v, w[j as usize]));
            }
        }
        sum.value()
    }

    /// `out += scale * self`.
    #[inline]
    pub fn add_scaled_to(self, scale: f64, out: &mut [f64]) {
        match self {
            Self::Dense(values) => vector::axpy(scale, values, out),
            Self::Sparse(indices, values) => {
                for (&j, v) in indices.iter().zip(values) {
                    out[j as usize] += scale * v;
                }
            }
        }
    }

    /// Number of entries stored.
    pub fn stored(self) -> usize {
        match self {
            Self::Dense(values) => values.len(),
            Self::Sparse(indices, _) => indices.len(),
        }
    }

    /// (column, value) of every stored entry; a dense row yields its zeros too.
    pub fn entries(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        let (indices, values) = match self {
            Self::Dense(values) => (None, values),
            Self::Sparse(indices, values) => (Some(indices), values),
        };
        values.iter().enumerate().map(move |(k, &v)| (indices.map_or(k, |i| i[k] as usize), v))
    }

    /// Squared Euclidean norm.
    pub fn norm_sq(self) -> f64 {
        match self {
            Self::Dense(values) | Self::Sparse(_, values) => vector::norm_sq(values),
        }
    }
}
