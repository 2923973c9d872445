//! Views of the data for the extended variant: centred, under one scaling, in principal coordinates.

use rand_distr::{Distribution, StandardNormal};

use crate::control::Control;
use crate::error::Result;
use crate::folds::generator;
use crate::linalg::{Dense, Matrix, Svd, SymmetricEigen, thin_qr, vector};
use crate::rolin::shared::row_weights::RowWeights;
use crate::rolin::shared::spectrum::{Spectrum, principal_pairs};

/// With more rows than this, at most [`LEADING`] principal coordinates are kept: the candidates cost
/// rows times their square.
const MANY_ROWS: usize = 2_000;
/// Principal coordinates kept then.
const LEADING: usize = 400;
/// With more features than this, the leading coordinates come from random projections.
const MANY_COLUMNS: usize = 1_000;
/// Random directions beyond those kept: they make the kept ones accurate.
const OVERSAMPLING: usize = 20;
/// Passes of the subspace iteration.
const PASSES: usize = 3;
/// A warning follows where the coordinates hold less than this share of the variation.
const ENOUGH_HELD: f64 = 0.99;
/// Distances from the mean below this share of it are rounding.
const CONSTANT: f64 = 1e-12;

/// What every centred feature is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scaling {
    None,
    /// Its largest distance from the mean.
    Range,
    /// The root of that.
    RootRange,
    /// Its standard deviation.
    ZScore,
}

impl Scaling {
    /// In `candidates_`.
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Range => "range",
            Self::RootRange => "root-range",
            Self::ZScore => "z-score",
        }
    }
}

/// Centred and scaled rows as `$U D V^\top$`, without V.
#[derive(Debug)]
pub(super) struct View {
    /// Of the features; none for a kernel.
    scaling: Option<Scaling>,
    /// U, orthogonal to the constant, and D.
    pub(super) spectrum: Spectrum,
    /// Share of the rows' variation that the coordinates hold.
    held: f64,
    /// Every centred feature was divided by its scale; infinite for a constant one.
    scales: Vec<f64>,
}

/// Column means, the largest distance of an entry from its column's mean, and the root mean square.
#[derive(Debug)]
pub(super) struct Ranges {
    pub(super) means: Vec<f64>,
    extents: Vec<f64>,
    deviations: Vec<f64>,
    /// Roots of the rows' weights, where these differ.
    roots: Option<Vec<f64>>,
}

impl Ranges {
    pub(super) fn learn(x: &Dense, weights: &RowWeights) -> Self {
        let total = weights.total();
        let means = x.tr_mul_vec(&weights.shares().unwrap_or_else(|| vec![1.0 / total; x.nrows()]));
        let mut extents = vec![0.0; x.ncols()];
        for i in 0..x.nrows() {
            for ((e, v), m) in extents.iter_mut().zip(x.row(i)).zip(&means) {
                *e = f64::max(*e, (v - m).abs());
            }
        }
        for (e, m) in extents.iter_mut().zip(&means) {
            if *e <= CONSTANT * m.abs() {
                *e = 0.0;
            }
        }
        // In units of the extent: no square can overflow.
        let mut shares = vec![0.0; x.ncols()];
        for i in 0..x.nrows() {
            for (j, v) in x.row(i).iter().enumerate().filter(|(j, _)| extents[*j] > 0.0) {
                shares[j] += ((v - means[j]) / extents[j]).powi(2) / total * weights.get(i);
            }
        }
        let deviations = extents.iter().zip(&shares).map(|(e, s)| e * s.sqrt()).collect();
        Self { means, extents, deviations, roots: weights.roots() }
    }

    fn divisors(&self, scaling: Scaling) -> Vec<f64> {
        let largest = vector::norm_inf(&self.extents);
        let of = |j: usize| match scaling {
            Scaling::Range => self.extents[j],
            // In units of the largest extent, which only changes the units of the weights.
            Scaling::RootRange => self.extents[j].sqrt() * largest.sqrt(),
            Scaling::ZScore => self.deviations[j],
            Scaling::None => largest,
        };
        let all = 0..self.extents.len();
        all.map(|j| if self.extents[j] > 0.0 { of(j) } else { f64::INFINITY }).collect()
    }
}

impl View {
    pub(super) fn new(
        x: &Dense,
        ranges: &Ranges,
        scaling: Scaling,
        control: &Control,
    ) -> Result<Self> {
        let scales = ranges.divisors(scaling);
        let mut rows = x.clone();
        for i in 0..rows.nrows() {
            for (j, v) in rows.row_mut(i).iter_mut().enumerate() {
                *v = (*v - ranges.means[j]) / scales[j];
            }
            if let Some(roots) = &ranges.roots {
                vector::scale(rows.row_mut(i), roots[i]);
            }
        }
        let (u, d) = if rows.nrows() > MANY_ROWS {
            leading(&rows, control)?
        } else if rows.ncols() > rows.nrows() {
            principal_pairs(&rows.outer_gram())?
        } else {
            let svd = Svd::new(&rows)?;
            (svd.u, svd.s)
        };
        let total = vector::norm_sq(rows.data());
        let spectrum = Spectrum::without_floor(&u, d).of_scaled_rows(ranges.roots.clone());
        let mut view = Self { scaling: Some(scaling), spectrum, held: 1.0, scales };
        if rows.nrows() > MANY_ROWS && total > 0.0 {
            view.held = vector::norm_sq(&view.spectrum.d) / total;
        }
        Ok(view)
    }

    /// From the matrix of inner products of rows (centred or not).
    pub(super) fn from_kernel(gram: &Dense, weights: &RowWeights) -> Result<Self> {
        let roots = weights.roots();
        let spectrum = match &roots {
            Some(r) => {
                let scaled = |i: usize, j: usize| gram[(i, j)] * (r[i] * r[j]);
                Spectrum::of_inner_products(&Dense::from_fn(gram.nrows(), gram.ncols(), scaled))?
            }
            None => Spectrum::of_inner_products(gram)?,
        };
        let spectrum = spectrum.of_scaled_rows(roots);
        Ok(Self { scaling: None, spectrum, held: 1.0, scales: Vec::new() })
    }

    /// In `candidates_`.
    pub(super) fn name(&self) -> &'static str {
        self.scaling.map_or("kernel", Scaling::name)
    }

    /// z-scores are for the penalised fits alone: there to hold what a tuned L2 penalty would choose.
    pub(super) fn is_robust(&self) -> bool {
        !self.is_standardised()
    }

    /// Whether every feature has unit deviation.
    pub(super) fn is_standardised(&self) -> bool {
        self.scaling == Some(Scaling::ZScore)
    }

    /// Says so if some view leaves out a part of the data that may matter.
    pub(super) fn warning(views: &[Self]) -> Option<String> {
        let least = views.iter().map(|v| v.held).fold(1.0, f64::min);
        (least < ENOUGH_HELD).then(|| {
            format!(
                "with more than {MANY_ROWS} rows only the {LEADING} leading principal directions are \
                 used; under one scaling they hold {:.0} % of the variation",
                100.0 * least
            )
        })
    }

    /// Adds the weights of the features, in the user's units, that `coordinates` stand for.
    pub(super) fn add_features(
        &self,
        x: &Matrix,
        means: &[f64],
        coordinates: &[f64],
        out: &mut [f64],
    ) {
        let alpha = self.spectrum.row_weights(coordinates);
        let total: f64 = alpha.iter().sum();
        let sums = x.tr_mul_vec(&alpha);
        for (j, w) in out.iter_mut().enumerate() {
            *w += (sums[j] - total * means[j]) / self.scales[j] / self.scales[j];
        }
    }
}

/// The leading [`LEADING`] singular pairs of many rows, nothing of order rows by rows.
///
/// Few features: from the matrix of their inner products. Many: subspace iteration from a random start
/// (Halko, Martinsson, Tropp 2011, Algorithm 4.4), O(n p) for each vector and pass; three passes leave the
/// well separated pairs exact to many digits and mix only those whose singular values are nearly equal.
fn leading(rows: &Dense, control: &Control) -> Result<(Dense, Vec<f64>)> {
    let p = rows.ncols();
    let basis = if p <= MANY_COLUMNS {
        None
    } else {
        let mut rng = generator(0);
        let mut basis =
            Dense::from_fn(p, LEADING + OVERSAMPLING, |_, _| StandardNormal.sample(&mut rng));
        for _ in 0..PASSES {
            control.check()?;
            let (images, _) = thin_qr(&rows.mul(&basis));
            control.check()?;
            (basis, _) = thin_qr(&rows.tr_mul(&images));
        }
        Some(basis)
    };
    control.check()?;
    let rows = basis.map_or_else(|| rows.clone(), |basis| rows.mul(&basis));
    let eigen = SymmetricEigen::new(&rows.weighted_gram(&vec![1.0; rows.nrows()]))?;
    control.check()?;
    let width = eigen.values.len();
    let d: Vec<f64> = eigen.values.iter().rev().take(LEADING).map(|v| v.max(0.0).sqrt()).collect();
    let right = Dense::from_fn(width, d.len(), |i, j| {
        let size = if d[j] > 0.0 { d[j] } else { 1.0 };
        eigen.vectors[(i, width - 1 - j)] / size
    });
    Ok((rows.mul(&right), d))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows with a falling spectrum: both ways to the leading pairs agree with the full decomposition.
    #[test]
    fn leading_pairs_are_those_of_the_full_decomposition() {
        for p in [30, MANY_COLUMNS + 5] {
            let n = 90;
            let mut rng = generator(1);
            let factors = Dense::from_fn(n, 12, |_, k| {
                let z: f64 = StandardNormal.sample(&mut rng);
                z * 0.5f64.powi(i32::try_from(k).unwrap())
            });
            let loadings = Dense::from_fn(12, p, |_, _| StandardNormal.sample(&mut rng));
            let rows = factors.mul(&loadings);
            let (u, d) = leading(&rows, &Control::new()).unwrap();
            let full = Svd::new(&rows).unwrap();
            for k in 0..12 {
                assert!((d[k] - full.s[k]).abs() <= 1e-8 * full.s[0], "{p} {k}");
                let cosine: f64 = (0..n).map(|i| u[(i, k)] * full.u[(i, k)]).sum();
                assert!((cosine.abs() - 1.0).abs() <= 1e-6, "{p} {k}: {cosine}");
            }
        }
    }
}
