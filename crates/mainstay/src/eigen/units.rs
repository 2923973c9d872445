//! Columns centred and in powers of two, and planes inside and outside of these units.

use serde::{Deserialize, Serialize};

use crate::linalg::{Matrix, Row, vector};
use crate::optim::design::power_of_two_above;

/// Coordinates in which sums are accurate: columns centred, then divided by powers of two.
///
/// A plane `$\tilde w^\top \tilde x = \tilde\gamma$` in these units is `$w_j = \tilde w_j / s_j$`, `$\gamma = \tilde\gamma + w^\top c$`
/// outside. Penalties are stated outside; `$\gamma^2$` is the square of `$(c/s, 1)^\top \tilde z$` inside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PlaneUnits {
    /// Subtracted from every column.
    pub center: Vec<f64>,
    /// Every column is divided by its scale after centring.
    pub scale: Vec<f64>,
}

/// Reads many rows in the same units.
pub(super) struct RowReader<'a> {
    center: &'a [f64],
    /// Exact, as scales are powers of two.
    inverse: Vec<f64>,
}

impl RowReader<'_> {
    /// Writes row `i` of `x`, in these units, to `out`, which has one place per feature.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for the vector unit of the caller")]
    pub(super) fn write(&self, x: &Matrix, i: usize, out: &mut [f64]) {
        let p = out.len();
        // Places are counted: an iterator's closure may be compiled apart, for any processor (decision 0080).
        let (center, inverse) = (&self.center[..p], &self.inverse[..p]);
        match x.row(i) {
            Row::Dense(values) => {
                let values = &values[..p];
                for j in 0..p {
                    out[j] = (values[j] - center[j]) * inverse[j];
                }
            }
            sparse @ Row::Sparse(..) => {
                out.fill(0.0);
                sparse.add_scaled_to(1.0, out);
                for j in 0..p {
                    out[j] = (out[j] - center[j]) * inverse[j];
                }
            }
        }
    }
}

impl PlaneUnits {
    /// Means and ranges of the rows, one scale per column.
    pub(super) fn learn(x: &Matrix, weights: Option<&[f64]>) -> Self {
        let (n, p) = (x.nrows(), x.ncols());
        let total = weights.map_or(n as f64, |w| w.iter().sum());
        let mut center = vec![0.0; p];
        let (mut low, mut high) = (vec![f64::INFINITY; p], vec![f64::NEG_INFINITY; p]);
        let mut seen = vec![0_usize; p];
        for (i, row) in x.rows().enumerate() {
            // Divided first, so that no sum overflows.
            let share = weights.map_or(1.0, |w| w[i]) / total;
            if let Row::Dense(values) = row {
                vector::axpy(share, values, &mut center);
                low.iter_mut().zip(values).for_each(|(l, &v)| *l = if v < *l { v } else { *l });
                high.iter_mut().zip(values).for_each(|(h, &v)| *h = if v > *h { v } else { *h });
                continue;
            }
            for (j, v) in row.entries() {
                center[j] += share * v;
                low[j] = low[j].min(v);
                high[j] = high[j].max(v);
                seen[j] += 1;
            }
        }
        if matches!(x, Matrix::Dense(_)) {
            seen.fill(n);
        }
        let range = |j: usize| {
            let zero = if seen[j] < n { center[j].abs() } else { 0.0 };
            (high[j] - center[j]).max(center[j] - low[j]).max(zero)
        };
        let scale = (0..p).map(|j| power_of_two_above(range(j))).collect();
        Self { center, scale }
    }

    /// As [`PlaneUnits::learn`], from about `count` rows evenly spread: any units are right, those near the data
    /// are accurate.
    pub(super) fn glance(x: &Matrix, count: usize) -> Self {
        let step = (x.nrows() / count).max(1);
        let rows: Vec<usize> = (0..x.nrows()).step_by(step).collect();
        Self::learn(&x.select_rows(&rows), None)
    }

    /// The same scale for every column, so that balls stay balls.
    pub(super) fn isotropic(mut self) -> Self {
        let largest = self.scale.iter().copied().fold(0.0, f64::max);
        self.scale.fill(largest);
        self
    }

    /// Ready to look at rows.
    pub(super) fn reader(&self) -> RowReader<'_> {
        RowReader { center: &self.center, inverse: self.scale.iter().map(|s| 1.0 / s).collect() }
    }

    /// (c/s, 1): gamma outside as a function of z inside.
    pub(super) fn gamma_row(&self) -> Vec<f64> {
        let ratio = self.center.iter().zip(&self.scale).map(|(c, s)| c / s);
        ratio.chain([1.0]).collect()
    }

    /// The plane outside, with unit normal and its first largest weight positive; `None` if w = 0.
    pub(super) fn outside(&self, z: &[f64]) -> Option<(Vec<f64>, f64)> {
        let p = self.center.len();
        let raw: Vec<f64> = z[..p].iter().zip(&self.scale).map(|(w, s)| w / s).collect();
        let gamma = z[p] + vector::dot(&raw, &self.center);
        let length = vector::norm(&raw);
        if !(length > 0.0 && length.is_finite() && gamma.is_finite()) {
            return None;
        }
        let first = raw.iter().fold(0.0, |m: f64, v| if v.abs() > m.abs() { *v } else { m });
        let unit = length.copysign(first);
        Some((raw.iter().map(|w| w / unit).collect(), gamma / unit))
    }

    /// The plane (w, gamma) in the units.
    pub(super) fn inside(&self, w: &[f64], gamma: f64) -> Vec<f64> {
        let shift = vector::dot(w, &self.center);
        w.iter().zip(&self.scale).map(|(w, s)| w * s).chain([gamma - shift]).collect()
    }
}
