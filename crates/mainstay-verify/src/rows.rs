//! Training rows on plain slices, and sums over them.

use crate::exact::{Exact, dot};
use crate::interval::Interval;

/// Columns whose sums are kept at a time: an exact sum takes a kilobyte.
const BLOCK: usize = 8192;

/// Features of the training rows.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// All numbers, row after row.
    Dense {
        /// Row after row.
        values: &'a [f64],
        /// Number of features.
        columns: usize,
    },
    /// Compressed rows: entries from `starts[i]` to `starts[i + 1]` are those of row i.
    Sparse {
        /// One more than there are rows.
        starts: &'a [usize],
        /// Feature of every entry.
        indices: &'a [u32],
        /// Its value.
        values: &'a [f64],
        /// Number of features.
        columns: usize,
    },
}

/// Training rows as the fit saw them.
#[derive(Debug, Clone, Copy)]
pub struct Data<'a> {
    /// Features; standardised if the fit standardised them.
    pub rows: Rows<'a>,
    /// Class of every row.
    pub labels: &'a [usize],
    /// Weight of every row, where there are weights.
    pub weights: Option<&'a [f64]>,
    /// Means and scales, where the rows were standardised by them and the model is one of raw rows.
    pub scaling: Option<(&'a [f64], &'a [f64])>,
}

impl Rows<'_> {
    /// Number of features.
    pub(crate) fn columns(&self) -> usize {
        match self {
            Self::Dense { columns, .. } | Self::Sparse { columns, .. } => *columns,
        }
    }

    /// Number of rows.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Dense { values, columns } => values.len().checked_div(*columns).unwrap_or(0),
            Self::Sparse { starts, .. } => starts.len().saturating_sub(1),
        }
    }

    /// Features and values of a row; zeros may be left out.
    pub(crate) fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + Clone + '_ {
        let (indices, values) = match self {
            Self::Dense { values, columns } => (None, &values[i * columns..(i + 1) * columns]),
            Self::Sparse { starts, indices, values, .. } => {
                let range = starts[i]..starts[i + 1];
                (Some(&indices[range.clone()]), &values[range])
            }
        };
        values.iter().enumerate().map(move |(k, v)| (indices.map_or(k, |all| all[k] as usize), *v))
    }

    /// `$w^\top x_i + b$` of every row, exact but for the last digit.
    pub(crate) fn scores(&self, w: &[f64], b: f64) -> Vec<Interval> {
        let one =
            |i: usize| dot(self.row(i).map(|(j, x)| (w[j], x)).chain(std::iter::once((b, 1.0))));
        (0..self.count()).map(one).collect()
    }

    /// `$\sum c\, x_{ij}$` over the terms (row, c), for every feature, exact but for the last digit.
    ///
    /// With a `pivot` its row takes part too, with the coefficient that makes all of them add up to zero.
    pub(crate) fn column_sums(
        &self,
        terms: &[(usize, f64)],
        pivot: Option<&Pivot>,
    ) -> Vec<Interval> {
        let mut all = Vec::with_capacity(self.columns());
        for first in (0..self.columns()).step_by(BLOCK) {
            let width = BLOCK.min(self.columns() - first);
            let mut sums = vec![Exact::default(); width];
            let mut add = |row: usize, c: f64| {
                for (j, x) in self.row(row) {
                    if x != 0.0 && (first..first + width).contains(&j) {
                        sums[j - first].add_product(c, x);
                    }
                }
            };
            for (row, c) in terms {
                add(*row, *c);
            }
            if let Some(pivot) = pivot {
                pivot.others.iter().for_each(|c| add(pivot.row, -c));
            }
            all.extend(sums.iter().map(Exact::enclosed));
        }
        all
    }
}

/// The one coefficient that balances a sum: minus the sum of all others, which need not be a float.
#[derive(Debug, Clone)]
pub(crate) struct Pivot {
    /// Its row.
    pub row: usize,
    /// The coefficient.
    pub value: Interval,
    /// Floats that add up to the sum of the others.
    pub others: Vec<f64>,
}

impl Pivot {
    /// The coefficient of `row` that makes up for `others`; none if they do not add up to floats.
    pub(crate) fn against(row: usize, others: &Exact) -> Option<Self> {
        let floats = || Self { row, value: -others.enclosed(), others: others.floats() };
        (!others.has_rest_below()).then(floats)
    }
}

/// Makes coefficients add up to zero by lowering some in size: the heavier side is scaled down, and what rounding leaves
/// is taken from its largest coefficient, the pivot, which is then 0 among the coefficients.
pub(crate) fn balance(signed: &mut [f64]) -> Option<Pivot> {
    for _ in 0..4 {
        let total = total_of(signed.iter().copied());
        let sum = total.enclosed();
        let heavier = if sum.high > 0.0 { 1.0 } else { -1.0 };
        let row = (0..signed.len())
            .max_by(|&a, &b| (heavier * signed[a]).total_cmp(&(heavier * signed[b])))?;
        if heavier * signed[row] >= sum.abs().high {
            let mut others = total;
            others.add(-signed[row]);
            signed[row] = 0.0;
            return Pivot::against(row, &others);
        }
        let side = |sign: f64| -> f64 { signed.iter().map(|c| (sign * c).max(0.0)).sum() };
        let factor = side(-heavier) / side(heavier);
        if !(factor > 0.0 && factor < 1.0) {
            return None;
        }
        signed.iter_mut().filter(|c| heavier * **c > 0.0).for_each(|c| *c *= factor);
    }
    None
}

fn total_of(values: impl Iterator<Item = f64>) -> Exact {
    let mut total = Exact::default();
    values.for_each(|v| total.add(v));
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.1 + 0.2 - 0.3 is not zero in floats: the pivot makes it so, and an offset common to all rows has no effect.
    #[test]
    fn a_balanced_sum_does_not_see_an_offset() {
        let mut signed = vec![0.1, 0.2, -0.3];
        let pivot = balance(&mut signed).unwrap();
        let terms: Vec<(usize, f64)> = signed.iter().copied().enumerate().collect();
        let far = 2f64.powi(50);
        let (near, away) = ([1.0, 2.0, 4.0], [far + 1.0, far + 2.0, far + 4.0]);
        let sums = |values| Rows::Dense { values, columns: 1 }.column_sums(&terms, Some(&pivot))[0];
        assert_eq!(sums(&near), sums(&away));
        assert!((sums(&near).low + 0.7).abs() < 1e-15);
    }

    #[test]
    fn a_heavy_side_is_scaled_down() {
        let mut signed = vec![1.0, 1.0, 1.0, -1.5];
        let pivot = balance(&mut signed).unwrap();
        let sum: f64 = signed.iter().sum::<f64>() + pivot.value.high;
        assert!(sum.abs() < 1e-12, "{signed:?} {pivot:?}");
        assert!(signed[..3].iter().all(|c| *c <= 0.500_001), "{signed:?}");
        // Nothing on the other side: nothing is left.
        let alone = balance(&mut [1.0, 0.0]).unwrap();
        assert_eq!(alone.value, Interval::point(0.0));
    }
}
