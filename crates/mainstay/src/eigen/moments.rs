//! Sums over the rows of every class, from which planes follow.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::problem::Diagonal;
use super::units::{PlaneUnits, RowReader};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::linalg::{Dense, GramSum, qr_triangle, vector};

/// Rows per task; fixed, and parts are added in order, so that the number of threads does not matter.
const CHUNK: usize = 8192;

/// Parts computed before they are added up.
const IN_FLIGHT: usize = 16;

/// Rows that wait to be made a triangle, at least.
const TALL: usize = 1024;

/// Data sets with more numbers than this get their units from a part of the rows.
const GLANCE_LIMIT: usize = 1 << 20;
/// Scale of a column up to which a finite square of a scaled entry is that of a feature far from the end of the range.
const USUAL_SCALE: f64 = 1e100;

/// All that ReGEC needs to know about the rows seen so far: `$[A\ {-e}]^\top [A\ {-e}]$` of every class.
///
/// Sums over parts of the data add up, so that data may arrive in batches or be summed elsewhere and
/// merged. While there are no more rows than features the (weighted) rows themselves are kept
/// instead; no p x p matrix is formed then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    #[serde(rename = "frame")]
    pub(super) units: PlaneUnits,
    /// Rows of positive weight seen, by class.
    pub(super) counts: Vec<usize>,
    store: Store,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Store {
    /// Row-major Gram matrices of order p + 1.
    Grams(Vec<Vec<f64>>),
    /// Rows `$\sqrt{weight} (\tilde x, -1)$` or an orthogonal transformation of them, one after the other.
    Rows(Vec<Vec<f64>>),
}

/// One class: its Gram matrix or its rows.
pub(super) enum ClassMoments {
    Gram(Dense),
    Rows(Dense),
}

/// Writes `$\sqrt{weight} (\tilde x, -1)$` of row `i` to `out`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled for the vector unit of the caller")]
fn write(reader: &RowReader<'_>, data: &Dataset, i: usize, out: &mut [f64]) {
    if let Some((last, row)) = out.split_last_mut() {
        reader.write(data.features(), i, row);
        *last = -1.0;
    }
    if let Some(weights) = data.weights() {
        vector::scale(out, weights[i].sqrt());
    }
}

/// Adds the rows `rows` to the sums of their classes.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled for the vector unit of the caller")]
fn push_rows(reader: &RowReader<'_>, data: &Dataset, rows: Range<usize>, sums: &mut [GramSum]) {
    for i in rows {
        if data.row_counts(i) {
            write(reader, data, i, sums[data.labels()[i]].next_row());
        }
    }
}

impl Moments {
    /// The sums over `data`.
    pub fn new(data: &Dataset, control: &Control) -> Result<Self> {
        if data.len().saturating_mul(data.n_features()) > GLANCE_LIMIT
            && data.len() > data.n_features()
        {
            let units = PlaneUnits::glance(data.features(), 2048);
            let usual = units.scale.iter().all(|scale| *scale <= USUAL_SCALE);
            let sums = Self::in_units(data, units, false, control)?;
            // Finite sums of squares in such units are of features well within the range: no look at all of them is needed.
            if sums.is_finite() && usual {
                return Ok(sums);
            }
        }
        data.check_squares()?;
        Self::in_units(data, PlaneUnits::learn(data.features(), data.weights()), false, control)
    }

    /// Sums that were taken elsewhere: rows of positive weight and Gram matrix of every class.
    pub(super) fn of_grams(
        units: PlaneUnits,
        counts: Vec<usize>,
        grams: Vec<Vec<f64>>,
    ) -> Result<Self> {
        let moments = Self { units, counts, store: Store::Grams(grams) };
        if moments.is_finite() {
            return Ok(moments);
        }
        let text =
            "the squares of a feature are beyond the range of floating point; rescale the features";
        Err(Error::Numerical(text.into()))
    }

    /// The same with rows, or triangles that stand for them.
    pub(super) fn of_rows(units: PlaneUnits, counts: Vec<usize>, rows: Vec<Vec<f64>>) -> Self {
        Self { units, counts, store: Store::Rows(rows) }
    }

    fn is_finite(&self) -> bool {
        let (Store::Grams(parts) | Store::Rows(parts)) = &self.store;
        parts.iter().flatten().all(|v| v.is_finite())
    }

    /// The rows themselves: their condition number is not squared. Many rows are replaced by a triangle
    /// with the same inner products of columns.
    pub(super) fn keep_rows(data: &Dataset, control: &Control) -> Result<Self> {
        data.check_squares()?;
        Self::in_units(data, PlaneUnits::learn(data.features(), data.weights()), true, control)
    }

    fn in_units(data: &Dataset, units: PlaneUnits, keep: bool, control: &Control) -> Result<Self> {
        let (n, order, classes) = (data.len(), data.n_features() + 1, data.n_classes());
        let counts = data.class_counts();
        let reader = units.reader();
        let store = if keep || n < order {
            let mut rows = vec![Vec::new(); classes];
            for i in data.counting_rows() {
                let own = &mut rows[data.labels()[i]];
                let start = own.len();
                own.resize(start + order, 0.0);
                write(&reader, data, i, &mut own[start..]);
                if own.len() >= order * TALL.max(4 * order) {
                    control.check()?;
                    let tall = Dense::from_rows(own.len() / order, order, std::mem::take(own));
                    *own = qr_triangle(&tall).into_data();
                }
            }
            Store::Rows(rows)
        } else {
            let empty = || vec![GramSum::new(order); classes];
            let part = |sums: &mut Vec<GramSum>, &chunk: &usize| {
                control.check()?;
                let rows = chunk * CHUNK..n.min((chunk + 1) * CHUNK);
                vector::vectorized!(push_rows(&reader, data, rows, sums));
                Ok(sums.iter_mut().map(|s| s.take().into_data()).collect::<Vec<_>>())
            };
            let mut grams = vec![vec![0.0; order * order]; classes];
            let chunks: Vec<usize> = (0..n.div_ceil(CHUNK)).collect();
            // A bounded number of parts at a time: many classes of many features take memory.
            for some in chunks.chunks(IN_FLIGHT) {
                let parts: Vec<_> = some.par_iter().map_init(empty, part).collect::<Result<_>>()?;
                for (class, sum) in parts.iter().flat_map(|part| part.iter().enumerate()) {
                    vector::axpy(1.0, sum, &mut grams[class]);
                }
            }
            Store::Grams(grams)
        };
        Ok(Self { units, counts, store })
    }

    /// Adds rows that came later.
    pub fn add(&mut self, data: &Dataset, control: &Control) -> Result<()> {
        self.same(data.n_features(), data.n_classes())?;
        data.check_squares()?;
        let later = Self::in_units(data, self.units.clone(), false, control)?;
        self.absorb(later);
        Ok(())
    }

    /// Adds sums taken elsewhere.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.same(other.n_features(), other.counts.len())?;
        let moved = other.moved_to(&self.units);
        self.absorb(moved);
        Ok(())
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.units.center.len()
    }

    /// Rows of positive weight seen, by class.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    fn same(&self, p: usize, classes: usize) -> Result<()> {
        if p == self.n_features() && classes == self.counts.len() {
            return Ok(());
        }
        Err(Error::Mismatch(format!(
            "{p} features and {classes} classes, but earlier data had {} and {}",
            self.n_features(),
            self.counts.len()
        )))
    }

    fn absorb(&mut self, mut other: Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        let many = self.counts.iter().sum::<usize>() > self.n_features();
        if many
            || matches!((&self.store, &other.store), (Store::Grams(_), _) | (_, Store::Grams(_)))
        {
            self.sum_up();
            other.sum_up();
        }
        match (&mut self.store, other.store) {
            (Store::Grams(a), Store::Grams(b)) => {
                a.iter_mut().zip(&b).for_each(|(a, b)| vector::axpy(1.0, b, a));
            }
            (Store::Rows(a), Store::Rows(b)) => a.iter_mut().zip(b).for_each(|(a, b)| a.extend(b)),
            // Both were summed up if either was.
            _ => {}
        }
    }

    fn sum_up(&mut self) {
        let order = self.n_features() + 1;
        if let Store::Rows(classes) = &self.store {
            let gram = |rows: &Vec<f64>| {
                let rows = Dense::from_rows(rows.len() / order, order, rows.clone());
                rows.weighted_gram(&vec![1.0; rows.nrows()]).into_data()
            };
            self.store = Store::Grams(classes.iter().map(gram).collect());
        }
    }

    /// The same sums in other units: `$\tilde x' = (\tilde x s + c - c')/s'$` is linear in `$(\tilde x, -1)$`.
    fn moved_to(&self, units: &PlaneUnits) -> Self {
        let p = self.n_features();
        let change = Dense::from_fn(p + 1, p + 1, |i, j| {
            if i == p {
                if j == p { 1.0 } else { (units.center[j] - self.units.center[j]) / units.scale[j] }
            } else if i == j {
                self.units.scale[j] / units.scale[j]
            } else {
                0.0
            }
        });
        let dense = |data: &Vec<f64>| Dense::from_rows(data.len() / (p + 1), p + 1, data.clone());
        let store = match &self.store {
            Store::Rows(classes) => {
                Store::Rows(classes.iter().map(|r| dense(r).mul(&change).into_data()).collect())
            }
            Store::Grams(grams) => Store::Grams(
                grams.iter().map(|g| change.tr_mul(&dense(g).mul(&change)).into_data()).collect(),
            ),
        };
        Self { units: units.clone(), counts: self.counts.clone(), store }
    }

    /// Class `k`.
    pub(super) fn part(&self, k: usize) -> ClassMoments {
        let order = self.n_features() + 1;
        let dense = |data: &Vec<f64>| Dense::from_rows(data.len() / order, order, data.clone());
        match &self.store {
            Store::Grams(grams) => ClassMoments::Gram(dense(&grams[k])),
            Store::Rows(rows) => ClassMoments::Rows(dense(&rows[k])),
        }
    }

    /// The diagonal of `$[A\ {-e}]^\top [A\ {-e}]$` of class `k` in the user's coordinates.
    pub(super) fn diagonal(&self, k: usize) -> Diagonal {
        let p = self.n_features();
        let (center, scale) = (&self.units.center, &self.units.scale);
        match self.part(k) {
            ClassMoments::Gram(gram) => {
                let n = gram[(p, p)];
                let square = |j: usize| {
                    // The last column holds minus the sums.
                    let (c, s) = (center[j], scale[j]);
                    (s * s * gram[(j, j)] - 2.0 * s * c * gram[(j, p)] + c * c * n).max(0.0)
                };
                Diagonal { w: (0..p).map(square).collect(), gamma: n }
            }
            ClassMoments::Rows(rows) => {
                let mut out = Diagonal::constant(p, 0.0);
                for i in 0..rows.nrows() {
                    let row = rows.row(i);
                    for j in 0..p {
                        out.w[j] += (row[j] * scale[j] - row[p] * center[j]).powi(2);
                    }
                    out.gamma += row[p] * row[p];
                }
                out
            }
        }
    }

    /// The quotient (1) of the plane of every class against all other rows; `None` where the sums do not
    /// hold enough digits for it.
    pub(super) fn ratios(&self, planes: &[(&[f64], f64)]) -> Option<Vec<f64>> {
        /// Share of the terms that must be left after cancellation.
        const KEPT: f64 = 1e-5;
        let parts: Vec<ClassMoments> = (0..planes.len()).map(|k| self.part(k)).collect();
        let square = |part: &ClassMoments, z: &[f64]| match part {
            ClassMoments::Rows(rows) => Some(vector::norm_sq(&rows.mul_vec(z))),
            ClassMoments::Gram(gram) => {
                let value = vector::dot(z, &gram.mul_vec(z));
                let size: f64 = (0..z.len()).map(|j| gram[(j, j)].sqrt() * z[j].abs()).sum();
                (value > KEPT * size * size).then_some(value)
            }
        };
        let ratio = |(k, (w, gamma)): (usize, &(&[f64], f64))| {
            let z = self.units.inside(w, *gamma);
            let squares: Vec<f64> =
                parts.iter().map(|part| square(part, &z)).collect::<Option<_>>()?;
            let (top, bottom) = (squares[k], squares.iter().sum::<f64>() - squares[k]);
            (top.is_normal() && bottom.is_normal()).then_some(top / bottom)
        };
        planes.iter().enumerate().map(ratio).collect()
    }

    /// Weighted mean of class `k` in the user's coordinates, dotted with `w`.
    pub(super) fn mean_score(&self, k: usize, w: &[f64]) -> f64 {
        let p = self.n_features();
        let (sums, n): (Vec<f64>, f64) = match self.part(k) {
            ClassMoments::Gram(gram) => ((0..p).map(|j| -gram[(j, p)]).collect(), gram[(p, p)]),
            ClassMoments::Rows(rows) => {
                let root: Vec<f64> = (0..rows.nrows()).map(|i| -rows[(i, p)]).collect();
                let sums = rows.tr_mul_vec(&root);
                (sums[..p].to_vec(), root.iter().map(|r| r * r).sum())
            }
        };
        (0..p).map(|j| w[j] * (self.units.center[j] + self.units.scale[j] * sums[j] / n)).sum()
    }
}
