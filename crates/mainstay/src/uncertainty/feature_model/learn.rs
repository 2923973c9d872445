//! Mean and covariance from rows with missing and inexact cells.

use super::posterior::Group;
use super::{Covariance, FULL_UP_TO, FeatureModel, Scatter, Shrinkage, standard};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::linalg::{Dense, SymmetricEigen};

/// Limit on the steps of the EM algorithm; each costs as much as one posterior.
const STEPS: usize = 60;
/// Largest change of an entry, in standard units, at which it stops.
const STILL: f64 = 1e-5;
/// Common factors of a model of many features.
const FACTORS: usize = 64;
/// Rows that such a model's factors are learned from.
const FACTOR_ROWS: usize = 1000;
/// Variance, in that of a standardised feature, below which a factor is rounding error.
const SMALLEST_FACTOR: f64 = 1e-10;
/// Largest share of a feature's variance that common factors may explain.
const MOST_COMMON: f64 = 0.99;

/// Rows to learn from.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// One row for each sample; NaN is a missing cell.
    pub x: &'a Dense,
    /// How often each row counts.
    pub weights: Option<&'a [f64]>,
    /// Standard deviations of the errors of cells: one row for each sample, or one for all.
    pub errors: Option<&'a Dense>,
}

/// Shares of 1 for every row, and how many rows there are by weight.
struct Counted {
    weights: Vec<f64>,
    total: f64,
}

impl FeatureModel {
    /// Learns mean and shrunk covariance.
    ///
    /// Where all cells are measured exactly these are the moments of the rows (divisor: number of rows), shrunk.
    /// Otherwise the EM algorithm for a Gaussian with missing values and known errors: the expected moments
    /// of the rows under the present model are the next model (Dempster, Laird, Rubin 1977; Little and Rubin,
    /// *Statistical Analysis with Missing Data*, ch. 11), with the shrinkage, estimated once from
    /// the measured cells, inside each step. Above
    /// [`FULL_UP_TO`] features the covariance is a diagonal plus up to 64 common factors, found from up to 1000
    /// of the rows.
    pub fn learn(rows: Rows<'_>, shrinkage: Shrinkage, control: &Control) -> Result<Self> {
        shrinkage.check()?;
        let (n, p) = (rows.x.nrows(), rows.x.ncols());
        if n == 0 || p == 0 {
            let text = format!("{n} rows and {p} features: at least one of each is needed");
            return Err(Error::BadData(text));
        }
        if let Some(k) = rows.x.data().iter().position(|v| v.is_infinite()) {
            let problem = "infinite: a missing cell is NaN".to_owned();
            return Err(Error::BadCell { row: k / p, column: (k % p).to_string(), problem });
        }
        let weights = rows.weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
        let counted = Counted { total: weights.iter().sum(), weights };
        let (means, scales) = available(rows.x, &counted);
        let measured = Dense::from_fn(n, p, |i, j| standard(rows.x[(i, j)], means[j], scales[j]));
        let weight = shrinkage.weight(&measured, &counted.weights);
        let filled = measured.into_data().into_iter().map(|v| if v.is_nan() { 0.0 } else { v });
        let start = Dense::from_rows(n, p, filled.collect());
        let covariance = from_rows(&start, &counted, weight, &[])?;
        let mut model = Self { means, scales, covariance, shrinkage: weight, n_iter: 0 };
        let groups = model.groups(rows.x, rows.errors)?;
        if groups.iter().any(|g| !g.uncertain.is_empty()) {
            model.iterate(rows.x, &groups, &counted, control)?;
        }
        Ok(model)
    }

    fn iterate(
        &mut self,
        x: &Dense,
        groups: &[Group],
        counted: &Counted,
        control: &Control,
    ) -> Result<()> {
        let (fixed_means, fixed_scales) = (self.means.clone(), self.scales.clone());
        for step in 1..=STEPS {
            control.check()?;
            let (mut z, scatters) = self.expected(x, groups, counted, &fixed_means)?;
            let mean = column_means(&z, counted);
            for i in 0..z.nrows() {
                z.row_mut(i).iter_mut().zip(&mean).for_each(|(v, m)| *v -= m);
            }
            let covariance = from_rows(&z, counted, self.shrinkage, &scatters)?;
            let means: Vec<f64> =
                (0..mean.len()).map(|j| fixed_means[j] + fixed_scales[j] * mean[j]).collect();
            let moved = (0..mean.len())
                .filter(|&j| fixed_scales[j] > 0.0)
                .map(|j| ((means[j] - self.means[j]) / fixed_scales[j]).abs())
                .fold(covariance.distance(&self.covariance), f64::max);
            (self.means, self.covariance) = (means, covariance);
            self.n_iter = step;
            if moved <= STILL {
                break;
            }
        }
        Ok(())
    }

    /// Expected rows in the standard units of `origin`, and the scatters around them with the weight of their
    /// rows.
    fn expected(
        &self,
        x: &Dense,
        groups: &[Group],
        counted: &Counted,
        origin: &[f64],
    ) -> Result<(Dense, Vec<(f64, Scatter)>)> {
        use rayon::prelude::*;
        let shift: Vec<f64> =
            (0..origin.len()).map(|j| standard(self.means[j], origin[j], self.scales[j])).collect();
        let mut z = Dense::from_fn(x.nrows(), x.ncols(), |i, j| {
            let v = x[(i, j)];
            if v.is_nan() { 0.0 } else { standard(v, origin[j], self.scales[j]) }
        });
        let parts: Vec<(Dense, Scatter)> =
            groups.par_iter().map(|g| self.conditional(x, g)).collect::<Result<_>>()?;
        let mut scatters = Vec::with_capacity(groups.len());
        for (group, (means, scatter)) in groups.iter().zip(parts) {
            for (k, &i) in group.rows.iter().enumerate() {
                let row = z.row_mut(i);
                for (value, &j) in means.row(k).iter().zip(&scatter.features) {
                    row[j] = shift[j] + value;
                }
            }
            scatters.push((group.rows.iter().map(|&i| counted.weights[i]).sum(), scatter));
        }
        Ok((z, scatters))
    }
}

impl Covariance {
    /// Largest difference of two entries; of many features the variances only.
    fn distance(&self, other: &Self) -> f64 {
        let largest =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        match (self, other) {
            (Self::Full(a), Self::Full(b))
            | (Self::LowRank { own: a, .. }, Self::LowRank { own: b, .. }) => largest(a, b),
            _ => f64::INFINITY,
        }
    }
}

/// Means and deviations of the measured cells.
fn available(x: &Dense, counted: &Counted) -> (Vec<f64>, Vec<f64>) {
    let p = x.ncols();
    let (mut total, mut sums, mut largest) = (vec![0.0; p], vec![0.0; p], vec![0.0; p]);
    for (i, w) in counted.weights.iter().enumerate() {
        for (j, v) in x.row(i).iter().enumerate().filter(|(_, v)| !v.is_nan()) {
            total[j] += w;
            sums[j] += w * v;
            largest[j] = f64::max(largest[j], v.abs());
        }
    }
    let means: Vec<f64> =
        sums.iter().zip(&total).map(|(s, t)| if *t > 0.0 { s / t } else { 0.0 }).collect();
    let mut squares = vec![0.0; p];
    for (i, w) in counted.weights.iter().enumerate() {
        for (j, v) in x.row(i).iter().enumerate().filter(|(_, v)| !v.is_nan()) {
            squares[j] += w * (v - means[j]) * (v - means[j]);
        }
    }
    let scales = (0..p)
        .map(|j| {
            let sd = if total[j] > 0.0 { (squares[j] / total[j]).sqrt() } else { 0.0 };
            // A deviation of rounding errors is none.
            if sd <= 1e-12 * largest[j] { 0.0 } else { sd }
        })
        .collect();
    (means, scales)
}

fn column_means(z: &Dense, counted: &Counted) -> Vec<f64> {
    let shares: Vec<f64> = counted.weights.iter().map(|w| w / counted.total).collect();
    z.tr_mul_vec(&shares)
}

/// The shrunk covariance of centred rows plus the weighted scatters around them.
fn from_rows(
    z: &Dense,
    counted: &Counted,
    shrink: f64,
    scatters: &[(f64, Scatter)],
) -> Result<Covariance> {
    if z.ncols() > FULL_UP_TO {
        return low_rank(z, counted, shrink, scatters);
    }
    let p = z.ncols();
    let shares: Vec<f64> = counted.weights.iter().map(|w| w / counted.total).collect();
    let mut sum = Dense::zeros(p, p);
    z.add_weighted_gram(0..z.nrows(), &shares, &mut sum);
    for (weight, scatter) in scatters {
        scatter.add_to(weight / counted.total, &mut sum);
    }
    sum.mirror_lower();
    let entry = |j: usize, k: usize| match sum[(j, j)] {
        own if j == k => {
            if own > 0.0 {
                own
            } else {
                1.0
            }
        }
        _ => (1.0 - shrink) * sum[(j, k)],
    };
    Ok(Covariance::Full(Dense::from_fn(p, p, entry).into_data()))
}

/// Variance of every feature about zero; 1 where a feature does not vary.
fn variances(z: &Dense, counted: &Counted, scatters: &[(f64, Scatter)]) -> Vec<f64> {
    let mut variances = vec![0.0; z.ncols()];
    for (i, w) in counted.weights.iter().enumerate() {
        variances.iter_mut().zip(z.row(i)).for_each(|(sum, v)| *sum += w / counted.total * v * v);
    }
    for (weight, scatter) in scatters {
        scatter.add_diagonal_to(weight / counted.total, &mut variances);
    }
    variances.iter_mut().filter(|v| **v <= 0.0).for_each(|v| *v = 1.0);
    variances
}

/// The same with the leading factors only; what they leave of a variance is the feature's own.
fn low_rank(
    z: &Dense,
    counted: &Counted,
    shrink: f64,
    scatters: &[(f64, Scatter)],
) -> Result<Covariance> {
    let (n, p) = (z.nrows(), z.ncols());
    let variances = variances(z, counted, scatters);
    let every = n.div_ceil(FACTOR_ROWS);
    let chosen: Vec<usize> = (0..n).step_by(every).collect();
    let total: f64 = chosen.iter().map(|&i| counted.weights[i]).sum();
    let rows = Dense::from_fn(chosen.len(), p, |k, j| {
        z[(chosen[k], j)] * (counted.weights[chosen[k]] / total).sqrt()
    });
    let eigen = SymmetricEigen::new(&rows.outer_gram())?;
    let rank = FACTORS.min(chosen.len() - 1);
    let kept: Vec<usize> =
        (0..chosen.len()).rev().take(rank).filter(|&k| eigen.values[k] > SMALLEST_FACTOR).collect();
    // The right singular vectors times the singular values are U' rows.
    let leading = Dense::from_fn(chosen.len(), kept.len(), |i, k| {
        eigen.vectors[(i, kept[k])] * (1.0 - shrink).sqrt()
    });
    let mut loadings = leading.tr_mul(&rows);
    let own = (0..p)
        .map(|j| {
            let common: f64 = (0..kept.len()).map(|k| loadings[(k, j)].powi(2)).sum();
            // Rows and factors come from a part of the rows: never more than nearly all of the variance.
            let most = MOST_COMMON * variances[j];
            if common > most {
                (0..kept.len()).for_each(|k| loadings[(k, j)] *= (most / common).sqrt());
            }
            variances[j] - common.min(most)
        })
        .collect();
    Ok(Covariance::LowRank { own, loadings: loadings.into_data(), rank: kept.len() })
}
