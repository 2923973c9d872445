//! Coordinates in which a Gaussian prior of the weights is a penalty of their length, and rows that count less.

use crate::error::Result;
use crate::linalg::{Dense, Svd, SymmetricEigen, vector};

/// To what the prior covariance of the weights is proportional.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prior {
    /// The identity: every direction alike.
    Identity,
    /// The covariance `$\Sigma$` of the rows: directions in which the rows differ much may have larger weights.
    Covariance,
}

/// Rows `$X S$` such that the weights `$w = S u$` of `$X$` have the prior where `$u$` has a length.
#[derive(Debug, Clone)]
pub(super) struct Coordinates {
    /// `$X S$`.
    pub rows: Dense,
    /// `$S$`; `None` is the identity.
    pub root: Option<Dense>,
}

impl Coordinates {
    /// `$w = S u$`.
    pub(super) fn weights(&self, u: &[f64]) -> Vec<f64> {
        self.root.as_ref().map_or_else(|| u.to_vec(), |root| root.mul_vec(u))
    }
}

/// Principal directions of centred rows, and the parts of the total variance that lie in them.
#[derive(Debug)]
pub(super) struct Directions {
    /// One direction per column.
    vectors: Dense,
    /// Their parts of 1, positive.
    parts: Vec<f64>,
}

impl Directions {
    /// Of `rows`, `shares` of 1 each; `None` where they do not differ. With more features than rows from the thin singular
    /// value decomposition: no p x p matrix.
    pub(super) fn new(rows: &Dense, shares: &[f64]) -> Result<Option<Self>> {
        let largest = rows.max_abs();
        if largest == 0.0 {
            return Ok(None);
        }
        if rows.ncols() > rows.nrows() {
            Self::of_rows(rows, shares, largest).map(Some)
        } else {
            Self::of_features(rows, shares, largest).map(Some)
        }
    }

    fn of_features(rows: &Dense, shares: &[f64], largest: f64) -> Result<Self> {
        let scaled = Dense::from_fn(rows.nrows(), rows.ncols(), |i, j| rows[(i, j)] / largest);
        let eigen = SymmetricEigen::new(&scaled.weighted_gram(shares))?;
        Ok(Self::kept(&eigen.vectors, &eigen.values, rows))
    }

    fn of_rows(rows: &Dense, shares: &[f64], largest: f64) -> Result<Self> {
        let scaled = Dense::from_fn(rows.nrows(), rows.ncols(), |i, j| {
            shares[i].sqrt() * (rows[(i, j)] / largest)
        });
        let svd = Svd::new(&scaled)?;
        let squares: Vec<f64> = svd.s.iter().map(|s| s * s).collect();
        Ok(Self::kept(&svd.v, &squares, rows))
    }

    /// Without directions whose variance is rounding, and without rounding in columns of zeros.
    fn kept(vectors: &Dense, values: &[f64], rows: &Dense) -> Self {
        let largest = vector::norm_inf(values);
        let order = rows.nrows().max(rows.ncols()) as f64;
        let kept: Vec<usize> =
            (0..values.len()).filter(|&k| values[k] > order * f64::EPSILON * largest).collect();
        let total: f64 = kept.iter().map(|&k| values[k]).sum();
        let mut vectors = Dense::from_fn(rows.ncols(), kept.len(), |j, k| vectors[(j, kept[k])]);
        for (j, _) in rows.constant_columns().into_iter().filter(|(_, value)| *value == 0.0) {
            vectors.row_mut(j).fill(0.0);
        }
        Self { vectors, parts: kept.iter().map(|&k| values[k] / total).collect() }
    }

    /// The coordinates of `prior`, scaled so that the total variance of the rows stays what it is.
    ///
    /// With `$\Sigma = V \Lambda V^\top$`, `$S = V \Lambda^{1/2} \cdot (\mathrm{tr}\,\Sigma / \mathrm{tr}\,\Sigma^2)^{1/2}$`. Where there are more features
    /// than rows the identity becomes `$S = V$`: the weights lie in the span of the rows.
    pub(super) fn coordinates(&self, rows: &Dense, prior: Prior) -> Coordinates {
        let squares: f64 = vector::norm_sq(&self.parts);
        let factor = |k: usize| match prior {
            Prior::Identity => 1.0,
            Prior::Covariance => (self.parts[k] / squares).sqrt(),
        };
        if prior == Prior::Identity && rows.ncols() <= rows.nrows() {
            return Coordinates { rows: rows.clone(), root: None };
        }
        let (p, rank) = (self.vectors.nrows(), self.parts.len());
        let root = Dense::from_fn(p, rank, |j, k| self.vectors[(j, k)] * factor(k));
        Coordinates { rows: rows.mul(&root), root: Some(root) }
    }
}

/// `shares` of rows that count the less the farther out they are: times `$1/(1 + |x_i|^2/\mathrm{tr}\,\Sigma)$` (Mallows), adding up to 1
/// again.
pub(super) fn by_leverage(rows: &Dense, shares: &[f64]) -> Vec<f64> {
    let largest = rows.max_abs();
    if largest == 0.0 {
        return shares.to_vec();
    }
    let square = |i: usize| rows.row(i).iter().map(|v| (v / largest).powi(2)).sum::<f64>();
    let squares: Vec<f64> = (0..rows.nrows()).map(square).collect();
    let total = vector::dot(&squares, shares);
    let mut weighted: Vec<f64> =
        squares.iter().zip(shares).map(|(square, share)| share / (1.0 + square / total)).collect();
    let sum: f64 = weighted.iter().sum();
    vector::scale(&mut weighted, sum.recip());
    weighted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: usize, p: usize) -> Dense {
        Dense::from_fn(n, p, |i, j| {
            let wave = (i * 31 + j * 17 + i * i * j) % 23;
            wave as f64 - 11.0 + (i % (j + 2)) as f64
        })
    }

    fn total(rows: &Dense, shares: &[f64]) -> f64 {
        (0..rows.nrows()).map(|i| shares[i] * vector::norm_sq(rows.row(i))).sum()
    }

    #[test]
    fn the_root_gives_back_the_covariance_and_keeps_the_total_variance() {
        let (x, shares) = (rows(12, 4), vec![1.0 / 12.0; 12]);
        let directions = Directions::new(&x, &shares).unwrap().unwrap();
        let found = directions.coordinates(&x, Prior::Covariance);
        let sigma = x.weighted_gram(&shares);
        let root = found.root.unwrap();
        let square = root.mul_tr(&root);
        let scale = square[(0, 0)] / sigma[(0, 0)];
        for j in 0..4 {
            for k in 0..4 {
                assert!((square[(j, k)] - scale * sigma[(j, k)]).abs() < 1e-10);
            }
        }
        let (before, after) = (total(&x, &shares), total(&found.rows, &shares));
        assert!((before - after).abs() < 1e-10 * before);
        let plain = directions.coordinates(&x, Prior::Identity);
        assert!(plain.root.is_none() && plain.rows == x);
    }

    #[test]
    fn both_decompositions_span_the_same_coordinates() {
        for (n, p) in [(9, 9), (7, 11), (20, 3)] {
            let x = rows(n, p);
            let shares: Vec<f64> = (0..n)
                .map(|i| (1 + i % 3) as f64 / (0..n).map(|k| (1 + k % 3) as f64).sum::<f64>())
                .collect();
            let largest = x.max_abs();
            let (a, b) = (
                Directions::of_features(&x, &shares, largest).unwrap(),
                Directions::of_rows(&x, &shares, largest).unwrap(),
            );
            // Rotations of the coordinates leave the inner products of the rows as they are.
            for prior in [Prior::Identity, Prior::Covariance] {
                let (a, b) = (a.coordinates(&x, prior).rows, b.coordinates(&x, prior).rows);
                let (a, b) = (a.mul_tr(&a), b.mul_tr(&b));
                let size = a.max_abs();
                let worst = a.data().iter().zip(b.data()).map(|(a, b)| (a - b).abs());
                assert!(worst.fold(0.0, f64::max) < 1e-9 * size, "{n} x {p}");
            }
        }
    }

    #[test]
    fn far_rows_count_less_and_a_scale_changes_nothing() {
        let x = rows(12, 4);
        let shares = vec![1.0 / 12.0; 12];
        let found = by_leverage(&x, &shares);
        let wide = Dense::from_fn(12, 4, |i, j| 8.0 * x[(i, j)]);
        assert_eq!(found, by_leverage(&wide, &shares));
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        let length = |i: usize| vector::norm_sq(x.row(i));
        let mean = total(&x, &shares);
        let ratio = (1.0 + length(3) / mean) / (1.0 + length(7) / mean);
        assert!((found[7] / found[3] - ratio).abs() < 1e-12);
        let flat = Dense::zeros(3, 2);
        assert!(Directions::new(&flat, &shares[..3]).unwrap().is_none());
        assert_eq!(by_leverage(&flat, &[0.5, 0.25, 0.25]), [0.5, 0.25, 0.25]);
    }
}
