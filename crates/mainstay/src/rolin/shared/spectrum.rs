//! Singular value decompositions of all rows or of a split's.

use crate::error::Result;
use crate::folds::Split;
use crate::linalg::{Dense, Svd, SymmetricEigen};
use crate::rolin::shared::row_weights::RowWeights;

/// Singular values and left vectors of some rows (steps 4-7 of Algorithm 1), shared by all losses,
/// labels and parameters: those of `$Z = \mathrm{diag}(y) X$` are the same up to y times the rows of U.
#[derive(Debug, Clone)]
pub(in crate::rolin) struct Spectrum {
    /// Left singular vectors as columns.
    pub(in crate::rolin) u: Dense,
    /// Singular values, descending; exact zeros beyond the numerical rank.
    pub(in crate::rolin) d: Vec<f64>,
    /// Number of singular values that are not zero.
    pub(in crate::rolin) rank: usize,
    /// Roots of the rows' weights, by which the decomposed rows were multiplied; none: by 1.
    roots: Option<Vec<f64>>,
}

/// An eigenvalue of inner products carries an error of about 1e-16 of the largest: above this share of
/// it, at least ten digits are right.
const CLEAR: f64 = 1e-6;
/// Below this share an eigenvalue is nothing but rounding.
const NOTHING: f64 = 1e-12;

/// Singular values below this share of the largest are dropped where a ridge follows: none that is
/// used is small enough to see them.
const FLOOR: f64 = 1e-7;

impl Spectrum {
    /// From the inner products of rows (of a kernel, say), without what is below [`FLOOR`].
    pub(in crate::rolin) fn of_inner_products(gram: &Dense) -> Result<Self> {
        let (u, d) = principal_pairs(gram)?;
        Ok(Self::without_floor(&u, d))
    }

    /// The pairs above [`FLOOR`].
    pub(in crate::rolin) fn without_floor(u: &Dense, mut d: Vec<f64>) -> Self {
        let floor = FLOOR * d.first().copied().unwrap_or(0.0);
        let rank = d.iter().take_while(|v| **v > floor).count();
        d.truncate(rank);
        Self { u: u.columns(0, rank), d, rank, roots: None }
    }

    /// From the rows themselves; also the right singular vectors, as columns.
    ///
    /// The inner products of the columns do where they are clear and the columns are few; otherwise a
    /// singular value decomposition.
    pub(in crate::rolin) fn new(rows: &Dense) -> Result<(Self, Dense)> {
        if rows.ncols() <= rows.nrows()
            && let Some((d, v)) = clear_pairs(&rows.tr_mul(rows), 0)?
        {
            let mut u = rows.mul(&v);
            divide_columns(&mut u, &d);
            return Ok((Self { u, rank: d.len(), d, roots: None }, v));
        }
        let Svd { u, mut s, v } = Svd::new(rows)?;
        let largest = s.first().copied().unwrap_or(0.0);
        let floor = largest * f64::EPSILON * rows.nrows().max(rows.ncols()) as f64;
        let rank = s.iter().take_while(|d| **d > floor).count();
        s[rank..].fill(0.0);
        Ok((Self { u, d: s, rank, roots: None }, v))
    }

    /// From the inner products of the rows; `None` where squaring has cost too many digits to tell small
    /// singular values from zeros.
    pub(in crate::rolin) fn from_gram(gram: &Dense, nulls: usize) -> Result<Option<Self>> {
        Ok(clear_pairs(gram, nulls)?.map(|(d, u)| Self { u, rank: d.len(), d, roots: None }))
    }

    /// [`Spectrum::new`] of rows that count by `weights`: singular values and right vectors are those of all copies.
    pub(in crate::rolin) fn of_rows(rows: &Dense, weights: &RowWeights) -> Result<(Self, Dense)> {
        let Some(roots) = weights.roots() else { return Self::new(rows) };
        let scaled = Dense::from_fn(rows.nrows(), rows.ncols(), |i, j| rows[(i, j)] * roots[i]);
        let (found, v) = Self::new(&scaled)?;
        Ok((found.of_scaled_rows(Some(roots)), v))
    }

    /// Says that the decomposed rows were multiplied by `roots`.
    pub(in crate::rolin) fn of_scaled_rows(self, roots: Option<Vec<f64>>) -> Self {
        Self { roots, ..self }
    }

    /// Divides one number per row by the roots of the weights.
    pub(in crate::rolin) fn unscale(&self, values: &mut [f64]) {
        if let Some(roots) = &self.roots {
            values.iter_mut().zip(roots).for_each(|(v, r)| *v /= r);
        }
    }

    /// `$U^\top y$` over all copies of the rows.
    pub(in crate::rolin) fn loads(&self, y: &[f64]) -> Vec<f64> {
        match &self.roots {
            Some(roots) => {
                self.u.tr_mul_vec(&y.iter().zip(roots).map(|(y, r)| y * r).collect::<Vec<_>>())
            }
            None => self.u.tr_mul_vec(y),
        }
    }

    /// The number of rows, copies counted.
    pub(in crate::rolin) fn total(&self) -> f64 {
        match &self.roots {
            Some(roots) => roots.iter().map(|r| r * r).sum(),
            None => self.u.nrows() as f64,
        }
    }

    /// The rows in principal coordinates, U D.
    pub(in crate::rolin) fn rows(&self) -> Dense {
        let mut rows = self.u.clone();
        for i in 0..rows.nrows() {
            let by = self.roots.as_ref().map_or(1.0, |roots| roots[i]);
            rows.row_mut(i).iter_mut().zip(&self.d).for_each(|(v, d)| *v *= d / by);
        }
        rows
    }

    /// Weights of the rows whose sum has the given principal coordinates, U D^-1 c (full rank).
    pub(in crate::rolin) fn row_weights(&self, coordinates: &[f64]) -> Vec<f64> {
        let inner: Vec<f64> = coordinates.iter().zip(&self.d).map(|(w, d)| w / d).collect();
        let mut weights = self.u.mul_vec(&inner);
        if let Some(roots) = &self.roots {
            weights.iter_mut().zip(roots).for_each(|(w, r)| *w *= r);
        }
        weights
    }

    /// The largest k that these rows support (reading R5).
    pub(in crate::rolin) fn supports(&self) -> usize {
        // Rounded up, so that half a row counts; weights add up to far less than 2^52.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let rows = (self.total() - 1e-9).ceil() as usize;
        self.rank.min(rows.saturating_sub(1))
    }
}

/// A split of the rows, factored once.
#[derive(Debug)]
pub(in crate::rolin) struct SplitSpectrum {
    /// Of the training rows.
    pub(in crate::rolin) train: Spectrum,
    /// Holdout rows in the basis of the right singular vectors.
    pub(in crate::rolin) holdout: Dense,
}

impl SplitSpectrum {
    pub(in crate::rolin) fn from_rows(
        rows: &Dense,
        split: &Split,
        weights: &RowWeights,
    ) -> Result<Self> {
        let weights = weights.select(&split.train);
        let (train, v) = Spectrum::of_rows(&rows.select_rows(&split.train), &weights)?;
        let holdout = rows.select_rows(&split.holdout).mul(&v);
        Ok(Self { train, holdout })
    }

    /// From the inner products of all rows: with K = X X', the holdout rows in the basis V are
    /// `$K_{hold,train} U D^{-1}$`. `None` as in [`Spectrum::from_gram`].
    pub(in crate::rolin) fn from_gram(gram: &Dense, split: &Split) -> Result<Option<Self>> {
        let block = |rows: &[usize]| {
            Dense::from_fn(rows.len(), split.train.len(), |i, j| gram[(rows[i], split.train[j])])
        };
        let Some(train) = Spectrum::from_gram(&block(&split.train), 0)? else { return Ok(None) };
        let mut holdout = block(&split.holdout).mul(&train.u);
        divide_columns(&mut holdout, &train.d);
        Ok(Some(Self { train, holdout }))
    }
}

/// (U, D) of rows from the matrix of their inner products, descending.
pub(in crate::rolin) fn principal_pairs(gram: &Dense) -> Result<(Dense, Vec<f64>)> {
    let eigen = SymmetricEigen::new(gram)?;
    let n = eigen.values.len();
    let d = eigen.values.iter().rev().map(|v| v.max(0.0).sqrt()).collect();
    Ok((Dense::from_fn(n, n, |i, j| eigen.vectors[(i, n - 1 - j)]), d))
}

/// Roots of the eigenvalues of inner products, descending, with their vectors as columns. `None` unless
/// all are clear but `nulls` of them, which are known to be zero and left out: from inner products alone a
/// small singular value cannot be told from rounding.
fn clear_pairs(gram: &Dense, nulls: usize) -> Result<Option<(Vec<f64>, Dense)>> {
    let eigen = SymmetricEigen::new(gram)?;
    let n = eigen.values.len();
    let largest = eigen.values.last().copied().unwrap_or(0.0);
    let clear = |v: &f64| *v >= CLEAR * largest;
    let nothing = |v: &f64| v.abs() <= NOTHING * largest;
    let unclear: Vec<f64> = eigen.values.iter().copied().filter(|v| !clear(v)).collect();
    if largest <= 0.0 || unclear.len() > nulls || !unclear.iter().all(nothing) {
        return Ok(None);
    }
    let d: Vec<f64> =
        eigen.values.iter().rev().take_while(|v| clear(v)).map(|v| v.sqrt()).collect();
    let vectors = Dense::from_fn(n, d.len(), |i, j| eigen.vectors[(i, n - 1 - j)]);
    Ok(Some((d, vectors)))
}

fn divide_columns(a: &mut Dense, d: &[f64]) {
    for i in 0..a.nrows() {
        a.row_mut(i).iter_mut().zip(d).for_each(|(v, d)| *v /= d);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waves(n: usize, p: usize, size: impl Fn(usize) -> f64) -> Dense {
        Dense::from_fn(n, p, |i, j| ((i * 7 + j * 5 + i * j) as f64 * 0.37).sin() * size(j))
    }

    #[test]
    fn inner_products_give_the_singular_values_where_they_are_clear() {
        for (n, p) in [(9, 5), (5, 9), (6, 6)] {
            let rows = waves(n, p, |_| 1.0);
            let svd = Svd::new(&rows).unwrap();
            let (found, v) = Spectrum::new(&rows).unwrap();
            let other = Spectrum::from_gram(&rows.outer_gram(), 0).unwrap();
            for spectrum in std::iter::once(&found).chain(&other) {
                assert_eq!(spectrum.rank, found.rank);
                for (d, s) in spectrum.d.iter().zip(&svd.s) {
                    assert!((d - s).abs() <= 1e-9 * svd.s[0], "{d} {s}");
                }
            }
            let back = found.rows().mul_tr(&v);
            for (a, b) in back.data().iter().zip(rows.data()) {
                assert!((a - b).abs() <= 1e-9, "{a} {b}");
            }
        }
    }

    #[test]
    fn small_columns_are_neither_lost_nor_taken_for_rounding() {
        let rows = waves(8, 3, |j| [1.0, 1e-5, 1e-9][j]);
        assert!(clear_pairs(&rows.tr_mul(&rows), 1).unwrap().is_none());
        assert_eq!(Spectrum::new(&rows).unwrap().0.rank, 3);
        let twice = Dense::from_fn(8, 4, |i, j| rows[(i, 0)] + f64::from(u8::from(j % 2 == 1)));
        assert_eq!(Spectrum::new(&twice).unwrap().0.rank, 2);
    }
}
