//! The data in an orthonormal basis of their row space: the one place where the number of features
//! appears.

use rayon::prelude::*;

use crate::control::Control;
use crate::data::Standardize;
use crate::error::Result;
use crate::folds::Split;
use crate::linalg::{Dense, Lq, Matrix, vector};
use crate::optim::design::unit_if_extreme;
use crate::rolin::shared::row_weights::RowWeights;
use crate::rolin::shared::spectrum::{Spectrum, SplitSpectrum};

/// Rows of (scaled) data as coordinates, and the way back to weights of features.
#[derive(Debug)]
pub(super) struct Space {
    /// One row per sample, at most as many columns as rows; divided by `unit`.
    pub(super) rows: Dense,
    /// A power of two that keeps squares away from overflow and underflow.
    pub(super) unit: f64,
    /// Inner products of the rows, where they are accurate enough to replace the rows.
    gram: Option<Dense>,
    scaling: Option<Standardize>,
    basis: Basis,
}

/// The way back from coordinates.
#[derive(Debug)]
enum Basis {
    /// The coordinates are the features.
    Features,
    /// Orthonormal directions of the features, as columns, that span the rows.
    Directions(Dense),
    /// Principal coordinates: the basis vectors are weighted sums of the samples.
    Samples(Spectrum),
    /// An orthonormal basis of the row space.
    RowSpace(Lq),
    /// Feature space of a kernel: what comes back are weights of the training rows.
    Kernel(Spectrum),
}

impl Space {
    /// Reading R9: raw rows, or z-scores by mean and deviation of all rows.
    ///
    /// For p > n the rows are replaced by coordinates in their span, O(n^2 p). Inner products are
    /// enough for that where their eigenvalues are well apart from rounding; they cost a quarter of the
    /// triangle of X = L Q', which serves the other cases.
    pub(super) fn new(x: &Matrix, normalize: bool, weights: Option<&[f64]>) -> Result<Self> {
        let scaling = normalize.then(|| Standardize::learn(x, weights));
        let lent = if let Matrix::Dense(dense) = x { Some(dense) } else { None };
        if let Some(dense) = lent.filter(|x| x.ncols() > x.nrows())
            && let Some(space) = Self::of_lent(dense, scaling.as_ref())?
        {
            return Ok(space);
        }
        let mut rows = scaling.as_ref().map_or_else(|| x.to_dense(), |s| s.apply(x));
        let unit = unit_if_extreme(rows.max_abs());
        if unit != 1.0 {
            vector::scale(rows.data_mut(), 1.0 / unit);
        }
        if rows.ncols() <= rows.nrows() {
            let (spectrum, right) = Spectrum::new(&rows)?;
            if (1..rows.ncols()).contains(&spectrum.rank) {
                // Without the directions that no row has, the splits can use inner products.
                let basis = right.columns(0, spectrum.rank);
                let (rows, basis) = (rows.mul(&basis), Basis::Directions(basis));
                return Ok(Self { rows, unit, gram: None, scaling, basis });
            }
            return Ok(Self { rows, unit, gram: None, scaling, basis: Basis::Features });
        }
        let known_unclear = lent.is_some() && unit == 1.0;
        if !known_unclear
            && let Some(space) = Self::of_inner_products(rows.outer_gram(), scaling.as_ref(), unit)?
        {
            return Ok(space);
        }
        let basis = Lq::new(&rows)?;
        let rows = basis.lower();
        Ok(Self { rows, unit, gram: None, scaling, basis: Basis::RowSpace(basis) })
    }

    /// Rows of ordinary size whose inner products are clear need no copy: raw ones are read where they are,
    /// z-scores made block by block.
    fn of_lent(x: &Dense, scaling: Option<&Standardize>) -> Result<Option<Self>> {
        let (gram, largest) = match scaling {
            Some(scaling) => scaling.outer_gram(x),
            None => (x.outer_gram(), x.max_abs()),
        };
        let ordinary = unit_if_extreme(largest) == 1.0;
        if ordinary { Self::of_inner_products(gram, scaling, 1.0) } else { Ok(None) }
    }

    /// Coordinates from the inner products of rows in units of `unit`, where their eigenvalues are clear.
    fn of_inner_products(
        gram: Dense,
        scaling: Option<&Standardize>,
        unit: f64,
    ) -> Result<Option<Self>> {
        // Centred rows add up to zero.
        Ok(Spectrum::from_gram(&gram, usize::from(scaling.is_some()))?.map(|spectrum| {
            let (rows, basis) = (spectrum.rows(), Basis::Samples(spectrum));
            Self { rows, unit, gram: Some(gram), scaling: scaling.cloned(), basis }
        }))
    }

    /// The feature space of a kernel, from the matrix of its values at the training rows.
    pub(super) fn from_kernel(gram: &Dense) -> Result<Self> {
        let spectrum = Spectrum::of_inner_products(gram)?;
        let (rows, basis) = (spectrum.rows(), Basis::Kernel(spectrum));
        Ok(Self { rows, unit: 1.0, gram: None, scaling: None, basis })
    }

    /// Weights of the coordinates -> weights of the features `x` as the user gave them (of the training
    /// rows, with a kernel), and what the intercept loses to centring.
    pub(super) fn features(&self, x: &Matrix, coordinates: &[f64]) -> (Vec<f64>, f64) {
        let mut w = match &self.basis {
            Basis::Features => coordinates.to_vec(),
            Basis::Directions(basis) => basis.mul_vec(coordinates),
            Basis::Samples(spectrum) => self.sum_of_rows(x, &spectrum.row_weights(coordinates)),
            Basis::RowSpace(basis) => basis.apply(coordinates),
            Basis::Kernel(spectrum) => spectrum.row_weights(coordinates),
        };
        vector::scale(&mut w, 1.0 / self.unit);
        match &self.scaling {
            Some(scaling) => scaling.unscale(&w, 0.0),
            None => (w, 0.0),
        }
    }

    /// The sum of the scaled rows with the given weights.
    fn sum_of_rows(&self, x: &Matrix, weights: &[f64]) -> Vec<f64> {
        let mut w = x.tr_mul_vec(weights);
        if let Some(scaling) = &self.scaling {
            let total: f64 = weights.iter().sum();
            for ((w, m), s) in w.iter_mut().zip(&scaling.means).zip(&scaling.scales) {
                *w = (*w - total * m) / s;
            }
        }
        vector::scale(&mut w, 1.0 / self.unit);
        w
    }

    /// Whether the rows are z-scores.
    pub(super) fn normalized(&self) -> bool {
        self.scaling.is_some()
    }

    fn split(&self, split: &Split, weights: &RowWeights) -> Result<SplitSpectrum> {
        if let Some(gram) = self.gram.as_ref().filter(|_| weights.roots().is_none())
            && let Some(found) = SplitSpectrum::from_gram(gram, split)?
        {
            return Ok(found);
        }
        SplitSpectrum::from_rows(&self.rows, split, weights)
    }
}

/// A space with the decomposition of all rows and of all splits.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) space: Space,
    /// Of all rows.
    pub(super) full: Spectrum,
    /// Right singular vectors of all rows as columns; `None`: the coordinates are principal ones.
    right: Option<Dense>,
    pub(super) splits: Vec<SplitSpectrum>,
    /// The largest k that every split supports: min(rank, rows - 1) (reading R5).
    pub(super) limit: usize,
    /// What every row counts.
    pub(super) weights: RowWeights,
}

impl Prepared {
    pub(super) fn new(
        space: Space,
        splits: &[Split],
        weights: RowWeights,
        control: &Control,
    ) -> Result<Self> {
        let (full, right) = match &space.basis {
            Basis::Samples(spectrum) if weights.roots().is_none() => (spectrum.clone(), None),
            _ => Spectrum::of_rows(&space.rows, &weights).map(|(full, v)| (full, Some(v)))?,
        };
        let factored: Vec<SplitSpectrum> = splits
            .par_iter()
            .map(|split| {
                control.check()?;
                space.split(split, &weights)
            })
            .collect::<Result<_>>()?;
        let limit = factored.iter().map(|s| s.train.supports()).min().unwrap_or(0);
        Ok(Self { space, full, right, splits: factored, limit, weights })
    }

    /// From principal coordinates of all rows to those of the space.
    pub(super) fn coordinates(&self, principal: &[f64]) -> Vec<f64> {
        self.right.as_ref().map_or_else(|| principal.to_vec(), |v| v.mul_vec(principal))
    }
}
