//! The Newton system in `$(W, b, \theta)$`.

use super::rows::Local;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, vector};
use crate::stable::row_space::Features;

/// ```math
/// \begin{pmatrix} \tfrac{2\rho}{\lambda} I_W + Z^\top (B + D rr^\top) Z & -Z^\top (Dr) \\
/// \cdot & \sum D + t/\theta \end{pmatrix}
/// ```
/// over all scores, factored after scaling its diagonal to 1. Assembling costs `$O(n m^2 q^2)$`.
#[derive(Debug)]
pub(in crate::stable) struct System {
    matrix: Dense,
    scale: Vec<f64>,
    factor: Cholesky,
}

/// Part of the diagonal that is added so that rounding does not make the matrix indefinite,
const FIRST_SHIFT: f64 = 1e-15;
/// the factor of the next trial where it did,
const NEXT_SHIFT: f64 = 100.0;
/// and the first trial that is not made.
const LAST_SHIFT: f64 = 1e-3;

impl System {
    /// `border` is the last row without its end: the adjoint of [`threshold_coupling`].
    pub(super) fn new(
        features: &Features,
        local: &Local,
        border: &[f64],
        q: usize,
        ridge: f64,
        theta_curve: f64,
        gauge: bool,
    ) -> Result<Self> {
        let columns = features.z.ncols();
        let order = q * columns + 1;
        let mut matrix = Dense::zeros(order, order);
        for j in 0..q {
            for l in 0..=j {
                let gram = features.z.weighted_gram(&block_weights(local, q, j, l));
                for row in 0..columns {
                    matrix.row_mut(j * columns + row)[l * columns..(l + 1) * columns]
                        .copy_from_slice(gram.row(row));
                }
            }
            for w in 0..features.m {
                matrix[(j * columns + w, j * columns + w)] += ridge;
            }
        }
        if gauge {
            // Softmax does not see a shift of all intercepts: any curvature there keeps it at zero.
            let at = |j: usize| j * columns + features.m;
            let curve = (0..q).map(|j| matrix[(at(j), at(j))]).sum::<f64>() / q as f64;
            for j in 0..q {
                for l in 0..q {
                    matrix[(at(j), at(l))] += curve;
                }
            }
        }
        matrix.row_mut(order - 1)[..order - 1].copy_from_slice(border);
        matrix[(order - 1, order - 1)] = local.gain.iter().sum::<f64>() + theta_curve;
        matrix.mirror_lower();
        Self::factor(matrix)
    }

    /// Factors a positive semidefinite matrix.
    pub(in crate::stable) fn factor(matrix: Dense) -> Result<Self> {
        let order = matrix.nrows();
        let scale: Vec<f64> = (0..order)
            .map(|i| if matrix[(i, i)] > 0.0 { 1.0 / matrix[(i, i)].sqrt() } else { 1.0 })
            .collect();
        let mut shift = FIRST_SHIFT;
        while shift < LAST_SHIFT {
            let scaled = Dense::from_fn(order, order, |i, j| {
                let value = matrix[(i, j)] * scale[i] * scale[j];
                if i == j { value.max(0.0) + shift } else { value }
            });
            if let Some(factor) = Cholesky::new(&scaled) {
                return Ok(Self { matrix, scale, factor });
            }
            shift *= NEXT_SHIFT;
        }
        Err(Error::Numerical(
            "the Newton system of the stable fit; rescale the features or the row weights".into(),
        ))
    }

    /// Solves with two rounds of refinement.
    pub(in crate::stable) fn solve(&self, rhs: &[f64]) -> Vec<f64> {
        let once = |rhs: &[f64]| {
            let mut x: Vec<f64> = rhs.iter().zip(&self.scale).map(|(r, s)| r * s).collect();
            self.factor.solve_in_place(&mut x);
            for (x, s) in x.iter_mut().zip(&self.scale) {
                *x *= s;
            }
            x
        };
        let mut x = once(rhs);
        for _ in 0..2 {
            let missing: Vec<f64> =
                self.matrix.mul_vec(&x).iter().zip(rhs).map(|(a, r)| r - a).collect();
            vector::axpy(1.0, &once(&missing), &mut x);
        }
        x
    }
}

/// `$-Dr$` of every row.
pub(super) fn threshold_coupling(local: &Local, q: usize) -> Vec<f64> {
    let rows = local.slope.chunks_exact(q).zip(&local.gain);
    rows.flat_map(|(slope, gain)| slope.iter().map(move |r| -gain * r)).collect()
}

/// Entry (j, l) of `$B + D r r^\top$` for every row.
fn block_weights(local: &Local, q: usize, j: usize, l: usize) -> Vec<f64> {
    let packed = q * (q + 1) / 2;
    let at = j * (j + 1) / 2 + l;
    local
        .gain
        .iter()
        .enumerate()
        .map(|(i, gain)| {
            let slope = &local.slope[i * q..(i + 1) * q];
            local.curve[i * packed + at] + gain * slope[j] * slope[l]
        })
        .collect()
}
