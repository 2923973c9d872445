//! Views of the data for the extended variant: centred, under one scaling, in principal coordinates.

use crate::error::Result;
use crate::linalg::{Dense, Matrix, Svd, SymmetricEigen, vector};

/// Singular values below this share of the largest are dropped: no ridge of the recipe is small enough
/// to see them.
const FLOOR: f64 = 1e-7;

/// Centred and scaled rows as $U D V^\top$, without V.
#[derive(Debug)]
pub(super) struct View {
    /// In `candidates_`.
    pub(super) name: &'static str,
    /// Left singular vectors as columns, orthogonal to the constant.
    pub(super) u: Dense,
    /// Singular values.
    pub(super) d: Vec<f64>,
    /// Every centred feature was divided by its scale; infinite for a constant one.
    scales: Vec<f64>,
}

/// Column means, and the largest distance of an entry from its column's mean.
#[derive(Debug)]
pub(super) struct Ranges {
    pub(super) means: Vec<f64>,
    pub(super) extents: Vec<f64>,
}

impl Ranges {
    pub(super) fn learn(x: &Dense) -> Self {
        let n = x.nrows() as f64;
        let means = x.tr_mul_vec(&vec![1.0 / n; x.nrows()]);
        let mut extents = vec![0.0; x.ncols()];
        for i in 0..x.nrows() {
            for ((e, v), m) in extents.iter_mut().zip(x.row(i)).zip(&means) {
                *e = f64::max(*e, (v - m).abs());
            }
        }
        // Rounding of the mean is not variation.
        for (e, m) in extents.iter_mut().zip(&means) {
            if *e <= 1e-12 * m.abs() {
                *e = 0.0;
            }
        }
        Self { means, extents }
    }

    fn scales(&self, scale: impl Fn(f64) -> f64) -> Vec<f64> {
        self.extents.iter().map(|&e| if e > 0.0 { scale(e) } else { f64::INFINITY }).collect()
    }

    /// The scaling called `name`: by 1, by the extent, or by its root.
    fn scaling(&self, name: &str) -> Vec<f64> {
        let largest = vector::norm_inf(&self.extents);
        match name {
            "range" => self.scales(|e| e),
            // In units of the largest extent, which only changes the units of the weights.
            "root-range" => self.scales(|e| e.sqrt() * largest.sqrt()),
            _ => self.scales(|_| largest),
        }
    }
}

impl View {
    pub(super) fn new(x: &Dense, ranges: &Ranges, name: &'static str) -> Result<Self> {
        let scales = ranges.scaling(name);
        let mut rows = x.clone();
        for i in 0..rows.nrows() {
            for (j, v) in rows.row_mut(i).iter_mut().enumerate() {
                *v = (*v - ranges.means[j]) / scales[j];
            }
        }
        let (u, d) = if rows.ncols() > rows.nrows() {
            from_gram(&rows.outer_gram())?
        } else {
            let svd = Svd::new(&rows)?;
            (svd.u, svd.s)
        };
        Ok(Self { scales, ..Self::keep(name, &u, d) })
    }

    /// From the matrix of inner products of rows (centred or not).
    pub(super) fn from_kernel(gram: &Dense) -> Result<Self> {
        let (u, d) = from_gram(gram)?;
        Ok(Self::keep("kernel", &u, d))
    }

    fn keep(name: &'static str, u: &Dense, mut d: Vec<f64>) -> Self {
        let floor = FLOOR * d.first().copied().unwrap_or(0.0);
        let rank = d.iter().take_while(|v| **v > floor).count();
        d.truncate(rank);
        Self { name, u: u.columns(0, rank), d, scales: Vec::new() }
    }

    /// Rows in principal coordinates.
    pub(super) fn rows(&self) -> Dense {
        let mut rows = self.u.clone();
        for i in 0..rows.nrows() {
            rows.row_mut(i).iter_mut().zip(&self.d).for_each(|(v, d)| *v *= d);
        }
        rows
    }

    /// Weights of the principal coordinates as weights of the training rows (their sum is 0 if the view
    /// is centred).
    pub(super) fn row_weights(&self, coordinates: &[f64]) -> Vec<f64> {
        let inner: Vec<f64> = coordinates.iter().zip(&self.d).map(|(w, d)| w / d).collect();
        self.u.mul_vec(&inner)
    }

    /// Adds the weights of the features, in the user's units, that `coordinates` stand for.
    pub(super) fn add_features(
        &self,
        x: &Matrix,
        means: &[f64],
        coordinates: &[f64],
        out: &mut [f64],
    ) {
        let alpha = self.row_weights(coordinates);
        let total: f64 = alpha.iter().sum();
        let pulled = x.tr_mul_vec(&alpha);
        for (j, w) in out.iter_mut().enumerate() {
            *w += (pulled[j] - total * means[j]) / self.scales[j] / self.scales[j];
        }
    }
}

/// (U, D) of rows from the matrix of their inner products, descending.
fn from_gram(gram: &Dense) -> Result<(Dense, Vec<f64>)> {
    let eigen = SymmetricEigen::new(gram)?;
    let n = eigen.values.len();
    let d = eigen.values.iter().rev().map(|v| v.max(0.0).sqrt()).collect();
    Ok((Dense::from_fn(n, n, |i, j| eigen.vectors[(i, n - 1 - j)]), d))
}
