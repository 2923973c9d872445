//! The data in an orthonormal basis of their row space: the one place where the number of features
//! appears.

use super::view::View;
use crate::control::Control;
use crate::data::Standardize;
use crate::error::Result;
use crate::folds::Split;
use crate::linalg::{Dense, Lq, Matrix, Svd, vector};
use rayon::prelude::*;

/// Rows of (scaled) data as coordinates, and the way back to weights of features.
#[derive(Debug)]
pub(super) struct Space {
    /// One row a sample, at most as many columns as rows; divided by `unit`.
    pub(super) rows: Dense,
    /// A power of two that keeps squares away from overflow and underflow.
    pub(super) unit: f64,
    scaling: Option<Standardize>,
    basis: Basis,
}

/// The way back from coordinates.
#[derive(Debug)]
enum Basis {
    /// The coordinates are the features.
    Features,
    /// An orthonormal basis of the row space.
    RowSpace(Lq),
    /// Feature space of a kernel: what comes back are weights of the training rows.
    Kernel(View),
}

impl Space {
    /// Reading R9: raw rows, or z-scores by mean and deviation of all rows. For p > n the rows are
    /// replaced by the lower triangle of X = L Q', O(n^2 p).
    pub(super) fn new(x: &Matrix, normalize: bool) -> Result<Self> {
        let scaling = normalize.then(|| Standardize::learn(x, None));
        let mut rows = scaling.as_ref().map_or_else(|| x.to_dense(), |s| s.apply(x));
        let unit = power_of_two(rows.max_abs());
        if unit != 1.0 {
            vector::scale(rows.data_mut(), 1.0 / unit);
        }
        let wide = rows.ncols() > rows.nrows();
        let basis = if wide { Basis::RowSpace(Lq::new(&rows)?) } else { Basis::Features };
        if let Basis::RowSpace(basis) = &basis {
            rows = basis.lower();
        }
        Ok(Self { rows, unit, scaling, basis })
    }

    /// The feature space of a kernel, from the matrix of its values at the training rows.
    pub(super) fn from_kernel(gram: &Dense) -> Result<Self> {
        let view = View::from_kernel(gram)?;
        Ok(Self { rows: view.rows(), unit: 1.0, scaling: None, basis: Basis::Kernel(view) })
    }

    /// Weights of the coordinates -> weights of the features as the user gave them (of the training
    /// rows, with a kernel), and what the intercept loses to centring.
    pub(super) fn features(&self, coordinates: &[f64]) -> (Vec<f64>, f64) {
        let mut w = match &self.basis {
            Basis::Features => coordinates.to_vec(),
            Basis::RowSpace(basis) => basis.apply(coordinates),
            Basis::Kernel(view) => view.row_weights(coordinates),
        };
        vector::scale(&mut w, 1.0 / self.unit);
        match &self.scaling {
            Some(scaling) => scaling.unscale(&w, 0.0),
            None => (w, 0.0),
        }
    }

    /// Whether the rows are z-scores.
    pub(super) fn normalized(&self) -> bool {
        self.scaling.is_some()
    }
}

/// The power of two next to `largest`; 1 for 0 and for ordinary magnitudes, which need no help.
fn power_of_two(largest: f64) -> f64 {
    if largest == 0.0 || (1e-60..1e60).contains(&largest) {
        1.0
    } else {
        largest.log2().floor().clamp(-1000.0, 1000.0).exp2()
    }
}

/// Singular value decomposition of some rows (steps 4-7 of Algorithm 1), shared by all losses, labels
/// and parameters: that of $Z = \mathrm{diag}(y) X$ has the same D and V, and y times the rows of U.
#[derive(Debug)]
pub(super) struct Spectrum {
    /// Left singular vectors as columns.
    pub(super) u: Dense,
    /// Singular values, descending; exact zeros beyond the numerical rank.
    pub(super) d: Vec<f64>,
    /// Right singular vectors as columns.
    pub(super) v: Dense,
    /// Number of singular values that are not zero.
    pub(super) rank: usize,
}

impl Spectrum {
    pub(super) fn new(rows: &Dense) -> Result<Self> {
        let Svd { u, mut s, v } = Svd::new(rows)?;
        let largest = s.first().copied().unwrap_or(0.0);
        let floor = largest * f64::EPSILON * rows.nrows().max(rows.ncols()) as f64;
        let rank = s.iter().take_while(|d| **d > floor).count();
        s[rank..].fill(0.0);
        Ok(Self { u, d: s, v, rank })
    }
}

/// A split of the rows, factored once.
#[derive(Debug)]
pub(super) struct SplitSpectrum {
    /// Of the training rows.
    pub(super) train: Spectrum,
    /// Holdout rows in the basis of the right singular vectors.
    pub(super) holdout: Dense,
}

/// A space with all its splits.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) space: Space,
    pub(super) splits: Vec<SplitSpectrum>,
    /// The largest k that every split supports: min(rank, rows - 1) (reading R5).
    pub(super) limit: usize,
}

impl Prepared {
    pub(super) fn new(space: Space, splits: &[Split], control: &Control) -> Result<Self> {
        let factored: Vec<SplitSpectrum> = splits
            .par_iter()
            .map(|split| {
                control.check()?;
                let train = Spectrum::new(&space.rows.select_rows(&split.train))?;
                let holdout = space.rows.select_rows(&split.holdout).mul(&train.v);
                Ok(SplitSpectrum { train, holdout })
            })
            .collect::<Result<_>>()?;
        let supported = |s: &SplitSpectrum| s.train.rank.min(s.train.u.nrows().saturating_sub(1));
        let limit = factored.iter().map(supported).min().unwrap_or(0);
        Ok(Self { space, splits: factored, limit })
    }
}
