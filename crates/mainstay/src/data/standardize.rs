//! Standardised features: when, and with which means and scales.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use serde::{Deserialize, Serialize};

use crate::linalg::vector::{self, vectorized};
use crate::linalg::{ColumnPass, ColumnRanges, Dense, Matrix};

/// Whether features are standardised before a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "must be true, false or \"auto\"")]
pub enum Normalize {
    /// Always or never.
    Fixed(bool),
    /// Chosen by the cross-validation that chooses the other parameters.
    Rule(NormalizeRule),
}

/// Named rules for [`Normalize`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NormalizeRule {
    /// Both compete.
    Auto,
}

/// Column means and scales, learned on one set of rows and applied to others.
#[derive(Debug, Clone, PartialEq)]
pub struct Standardize {
    /// Subtracted from every column.
    pub means: Vec<f64>,
    /// Every column is divided by its scale after centring.
    pub scales: Vec<f64>,
}

impl Standardize {
    /// Weighted means and standard deviations (divisor: total weight). A column whose deviation is at
    /// most 1e-12 max(1, |mean|) is constant: it gets scale 1, so that it becomes 0 exactly or nearly.
    ///
    /// Missing cells (NaN) do not count.
    pub fn learn(x: &Matrix, weights: Option<&[f64]>) -> Self {
        Self::learn_with_ranges(x, weights).0
    }

    /// The same, and for dense rows the range of every column over the rows that count.
    pub(crate) fn learn_with_ranges(
        x: &Matrix,
        weights: Option<&[f64]>,
    ) -> (Self, Option<ColumnRanges>) {
        let (shares, pivot) = (shares(x.nrows(), weights), pivot(x));
        let pass = x.column_pass(&shares, pivot.as_deref());
        let (found, ranges, unclear) = Self::of_pass(x, &shares, pivot, pass);
        if unclear && x.values().iter().any(|v| v.is_nan()) {
            return (Self::from_measured(&x.to_dense(), weights), ranges);
        }
        (found, ranges)
    }

    /// The same of many dense rows that count once each, where the pass over them finds that all entries are finite numbers.
    pub(super) fn of_many_finite(x: &Matrix) -> Option<(Self, ColumnRanges)> {
        // Of wide rows nobody asks: a model of more than a few thousand features does not remember them.
        if x.nrows() < x.ncols() {
            return None;
        }
        let (pivot, shares) = (pivot(x)?, shares(x.nrows(), None));
        let pass = x.column_pass(&shares, Some(&pivot));
        // What is not finite stays so in the sum of its column.
        if !vector::all_finite(&pass.sums) {
            return None;
        }
        let (found, ranges, _) = Self::of_pass(x, &shares, Some(pivot), pass);
        Some((found, ranges?))
    }

    /// What a pass tells, and whether missing cells or numbers at the end of their range left their mark.
    fn of_pass(
        x: &Matrix,
        shares: &[f64],
        pivot: Option<Vec<f64>>,
        pass: ColumnPass,
    ) -> (Self, Option<ColumnRanges>, bool) {
        let ColumnPass { sums: means, ranges, squares } = pass;
        let known = pivot.zip(ranges.as_ref());
        let around = known.and_then(|(pivot, of)| around_means(squares, &pivot, &means, of));
        let (variance, absent) = match around {
            Some(variance) => (variance, vec![0.0; means.len()]),
            None => stored_squares(x, &means, shares),
        };
        let unclear = means.iter().chain(&variance).any(|v| v.is_nan());
        let scales = (0..means.len())
            .map(|j| {
                // Entries that are not stored are zeros: each contributes mean^2.
                scale((variance[j] + absent[j] * means[j] * means[j]).sqrt(), means[j])
            })
            .collect();
        (Self { means, scales }, ranges, unclear)
    }

    fn from_measured(x: &Dense, weights: Option<&[f64]>) -> Self {
        let column = |j: usize| {
            let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
            let cells = || (0..x.nrows()).filter(move |&i| !x[(i, j)].is_nan());
            let total: f64 = cells().map(weight).sum();
            let mean = cells().map(|i| weight(i) * x[(i, j)]).sum::<f64>() / total;
            let squares: f64 = cells().map(|i| weight(i) * (x[(i, j)] - mean).powi(2)).sum();
            let (mean, sd) =
                if total > 0.0 { (mean, (squares / total).sqrt()) } else { (0.0, 0.0) };
            (mean, scale(sd, mean))
        };
        let (means, scales) = (0..x.ncols()).map(column).unzip();
        Self { means, scales }
    }

    /// What is learned for rows that stay as they are stored: sparse ones are divided by their deviations but not
    /// centred, which would fill them.
    pub fn learn_stored(x: &Matrix, weights: Option<&[f64]>) -> Self {
        let mut scaling = Self::learn(x, weights);
        if matches!(x, Matrix::Sparse(_)) {
            scaling.means.fill(0.0);
        }
        scaling
    }

    /// (x - mean) / scale; sparse rows stay sparse where all means are 0.
    pub fn apply_stored(&self, x: &Matrix) -> Matrix {
        match x {
            Matrix::Sparse(_) if self.means.iter().all(|m| *m == 0.0) => {
                let factors: Vec<f64> = self.scales.iter().map(|s| 1.0 / s).collect();
                x.scale_columns(&factors)
            }
            _ => self.apply(x).into(),
        }
    }

    /// (x - mean) / scale, dense.
    pub fn apply(&self, x: &Matrix) -> Dense {
        self.apply_in_place(x.to_dense())
    }

    /// [`Standardize::apply`] to rows that nobody else needs.
    pub(crate) fn apply_own(&self, x: Matrix) -> Dense {
        match x {
            Matrix::Dense(x) => self.apply_in_place(x),
            x @ Matrix::Sparse(_) => self.apply(&x),
        }
    }

    fn apply_in_place(&self, mut out: Dense) -> Dense {
        let p = out.ncols();
        for i in 0..out.nrows() {
            vectorized!(self.apply_to(0..p, out.row_mut(i)));
        }
        out
    }

    /// Replaces `row`, which holds the given columns, by (row - mean) / scale.
    #[inline(always)]
    fn apply_to(&self, columns: std::ops::Range<usize>, row: &mut [f64]) {
        let statistics = self.means[columns.clone()].iter().zip(&self.scales[columns]);
        for (v, (mean, scale)) in row.iter_mut().zip(statistics) {
            *v = (*v - mean) / scale;
        }
    }

    /// Inner products of the rows of [`Standardize::apply`], which is never held as a whole, and the
    /// largest of their absolute entries.
    pub fn outer_gram(&self, x: &Dense) -> (Dense, f64) {
        const BLOCK: usize = 512;
        let (n, p) = (x.nrows(), x.ncols());
        let mut gram = Dense::zeros(n, n);
        let mut largest = 0.0;
        for first in (0..p).step_by(BLOCK) {
            let columns = first..p.min(first + BLOCK);
            let mut block = Vec::with_capacity(n * columns.len());
            for i in 0..n {
                block.extend_from_slice(&x.row(i)[columns.clone()]);
                let start = i * columns.len();
                vectorized!(self.apply_to(columns.clone(), &mut block[start..]));
            }
            let block = Dense::from_rows(n, columns.len(), block);
            largest = f64::max(largest, block.max_abs());
            block.add_outer_gram(&mut gram);
        }
        gram.mirror_lower();
        (gram, largest)
    }

    /// Weights and intercept of a model on standardised features, in the original units.
    pub fn unscale(&self, weights: &[f64], intercept: f64) -> (Vec<f64>, f64) {
        let w: Vec<f64> = weights.iter().zip(&self.scales).map(|(w, s)| w / s).collect();
        let shift: f64 = w.iter().zip(&self.means).map(|(w, m)| w * m).sum();
        (w, intercept - shift)
    }
}

/// What a column of this deviation is divided by: one that never varies by 1.
fn scale(sd: f64, mean: f64) -> f64 {
    let constant = sd <= 1e-12 * mean.abs().max(1.0) || !sd.is_finite();
    if constant { 1.0 } else { sd }
}

/// Entries from which on a second pass over dense rows, which no longer are in the cache, is worth avoiding.
const MANY_ENTRIES: usize = 1 << 20;
/// Rows whose mean is the pivot of the squares.
const PIVOT_ROWS: usize = 64;
/// Squared distance of the pivot from the mean, in variances, beyond which subtracting it costs more than two digits.
const FAR_PIVOT: f64 = 100.0;

/// What part of the total weight each of `n` rows has.
fn shares(n: usize, weights: Option<&[f64]>) -> Vec<f64> {
    let Some(weights) = weights else { return vec![1.0 / n as f64; n] };
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

/// A point among many dense rows from which their squares can be taken before their means are known: the mean of a few rows,
/// evenly spread, since rows may be sorted.
fn pivot(x: &Matrix) -> Option<Vec<f64>> {
    let Matrix::Dense(x) = x else { return None };
    if x.nrows() < PIVOT_ROWS || x.data().len() < MANY_ENTRIES {
        return None;
    }
    let mut mean = vec![0.0; x.ncols()];
    for k in 0..PIVOT_ROWS {
        let row = x.row(k * (x.nrows() - 1) / (PIVOT_ROWS - 1));
        mean.iter_mut().zip(row).for_each(|(mean, v)| *mean += v / PIVOT_ROWS as f64);
    }
    Some(mean)
}

/// Variances from squares around a pivot; `None` where it is too far from a mean, or something is not a number.
fn around_means(
    mut squares: Vec<f64>,
    pivot: &[f64],
    means: &[f64],
    ranges: &ColumnRanges,
) -> Option<Vec<f64>> {
    for (j, square) in squares.iter_mut().enumerate() {
        let apart = (pivot[j] - means[j]) * (pivot[j] - means[j]);
        *square -= apart;
        if ranges.low[j] == ranges.high[j] {
            // What is left is rounding.
            *square = 0.0;
            continue;
        }
        let near = apart <= FAR_PIVOT * *square;
        if !near {
            return None;
        }
    }
    Some(squares)
}

/// Squared distances of stored entries from `means`, each times the share of its row, and the shares of the rows that store
/// none, one of both for each column.
fn stored_squares(x: &Matrix, means: &[f64], shares: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut squares: Vec<f64> = vec![0.0; means.len()];
    if let Matrix::Dense(x) = x {
        vectorized!(x.add_squares(0..x.nrows(), shares, means, &mut squares));
        return (squares, vec![0.0; means.len()]);
    }
    let mut stored = vec![(0.0, 0_usize); means.len()];
    for (row, share) in x.rows().zip(shares) {
        for (j, v) in row.entries() {
            squares[j] += share * (v - means[j]) * (v - means[j]);
            stored[j].0 += share;
            stored[j].1 += 1;
        }
    }
    // Far from zero, what rounding leaves of 1 would weigh more than the spread.
    let absent = |(share, count): (f64, usize)| {
        if count == x.nrows() { 0.0 } else { (1.0 - share).max(0.0) }
    };
    (squares, stored.into_iter().map(absent).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many rows, where one pass takes squares around a few rows' mean: a column near zero, one whose rows are sorted, one
    /// far from zero, a constant one, and one whose pivot lies apart from nearly all weight.
    #[test]
    fn deviations_of_many_rows_in_one_pass_are_those_of_two() {
        let n = 300_000;
        let columns = |i: usize, j: usize| {
            let wave = (i as f64 * 0.7).sin();
            let odd = if i.is_multiple_of(1000) { 1e9 + wave } else { wave };
            [wave, i as f64, 4_194_304.0 + wave, 0.1, odd][j]
        };
        let x = Dense::from_fn(n, 5, columns);
        let weights: Vec<f64> =
            (0..n).map(|i| f64::from(u8::from(!i.is_multiple_of(1000)))).collect();
        let total: f64 = weights.iter().sum();
        for (count, weights) in [(n as f64, None), (total, Some(&weights[..]))] {
            let found = Standardize::learn(&x.clone().into(), weights).scales;
            let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
            for (j, found) in found.iter().enumerate() {
                let mean = (0..n).map(|i| weight(i) * x[(i, j)]).sum::<f64>() / count;
                let square = |i: usize| weight(i) * (x[(i, j)] - mean).powi(2);
                let sd = ((0..n).map(square).sum::<f64>() / count).sqrt();
                let sd = if j == 3 { 1.0 } else { sd };
                assert!((found / sd - 1.0).abs() < 1e-9, "column {j}: {found} {sd}");
            }
        }
    }

    #[test]
    fn inner_products_of_z_scores_need_no_z_scores() {
        let x = Dense::from_fn(5, 1100, |i, j| ((i * 7 + j * 3 + i * j) as f64 * 0.37).sin());
        let scaling = Standardize::learn(&x.clone().into(), None);
        let z = scaling.apply(&x.clone().into());
        let (found, largest) = scaling.outer_gram(&x);
        assert_eq!(largest, z.max_abs());
        for (a, b) in found.data().iter().zip(z.outer_gram().data()) {
            assert!((a - b).abs() <= 1e-12 * 1100.0);
        }
    }

    #[test]
    fn missing_cells_do_not_count() {
        let x = Dense::from_rows(3, 1, vec![1.0, f64::NAN, 3.0]);
        let scaling = Standardize::learn(&x.into(), None);
        assert_eq!((scaling.means[0], scaling.scales[0]), (2.0, 1.0));
    }

    #[test]
    fn scores_do_not_change_when_a_model_is_unscaled() {
        let x = Dense::from_rows(
            4,
            3,
            vec![1.0, 5.0, 0.0, 3.0, 5.0, 0.0, -2.0, 5.0, 7.0, 0.5, 5.0, 0.0],
        );
        let scaling = Standardize::learn(&x.clone().into(), None);
        assert_eq!(scaling.scales[1], 1.0);
        let z = scaling.apply(&x.clone().into());
        assert!(z.column(1).iter().all(|v| *v == 0.0));
        let (w, b) = ([0.3, 2.0, -1.0], 0.7);
        let (w_raw, b_raw) = scaling.unscale(&w, b);
        for (a, c) in z.mul_vec(&w).iter().zip(x.mul_vec(&w_raw)) {
            assert!((a + b - c - b_raw).abs() < 1e-12);
        }
    }
}
