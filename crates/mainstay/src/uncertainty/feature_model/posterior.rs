//! Rows of which some cells are missing or inexact: mean and covariance of what they would have been.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{Covariance, FeatureModel, standard};
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, psd_factor, vector};

/// Mean of every row, and the covariance around it, shared by rows that lack the same cells and have the same
/// errors.
#[derive(Debug, Clone)]
pub struct Posterior {
    /// One row for each given row; measured exact cells are as given.
    pub mean: Dense,
    /// Which scatter belongs to each row.
    pub group: Vec<usize>,
    /// The distinct scatters.
    pub scatters: Vec<Scatter>,
}

/// `$V = \mathrm{diag}(d) + F F^\top$` on some features, 0 on the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// The features that are not known exactly, ascending.
    pub features: Vec<usize>,
    /// `$d$`, one entry for each of them.
    pub diagonal: Vec<f64>,
    /// `$F$`, one row for each of them.
    pub factor: Dense,
}

impl Scatter {
    /// Nothing is uncertain.
    pub fn none() -> Self {
        Self { features: Vec::new(), diagonal: Vec::new(), factor: Dense::zeros(0, 0) }
    }

    /// Whether V = 0.
    pub fn is_none(&self) -> bool {
        self.features.is_empty()
    }

    /// Adds V w to `out`, gives back w'Vw.
    pub fn apply(&self, w: &[f64], out: &mut [f64]) -> f64 {
        let own: Vec<f64> = self.features.iter().map(|&j| w[j]).collect();
        let pulled = self.factor.tr_mul_vec(&own);
        let pushed = self.factor.mul_vec(&pulled);
        let mut form = vector::norm_sq(&pulled);
        for (k, &j) in self.features.iter().enumerate() {
            out[j] += pushed[k] + self.diagonal[k] * own[k];
            form += self.diagonal[k] * own[k] * own[k];
        }
        form
    }

    /// w'Vw.
    pub fn form(&self, w: &[f64]) -> f64 {
        let own: Vec<f64> = self.features.iter().map(|&j| w[j]).collect();
        vector::norm_sq(&self.factor.tr_mul_vec(&own))
            + vector::weighted_norm_sq(&own, &self.diagonal)
    }

    /// One factor of the whole of V: F, and beside it the roots of the diagonal where that is not 0.
    pub fn whole_factor(&self) -> Dense {
        let (rows, rank) = (self.features.len(), self.factor.ncols());
        let own: Vec<usize> = (0..rows).filter(|&k| self.diagonal[k] > 0.0).collect();
        Dense::from_fn(rows, rank + own.len(), |k, c| match c.checked_sub(rank) {
            None => self.factor[(k, c)],
            Some(c) if own[c] == k => self.diagonal[k].sqrt(),
            Some(_) => 0.0,
        })
    }

    /// V of features that are multiplied by `factor` each.
    #[must_use]
    pub fn scaled(&self, factor: impl Fn(usize) -> f64) -> Self {
        let mut scaled = self.clone();
        for (k, &j) in scaled.features.iter().enumerate() {
            scaled.diagonal[k] *= factor(j) * factor(j);
            vector::scale(scaled.factor.row_mut(k), factor(j));
        }
        scaled
    }

    /// Adds `c` V to the lower triangle of `out`.
    pub fn add_to(&self, c: f64, out: &mut Dense) {
        let block = self.factor.mul_tr(&self.factor);
        for (a, &j) in self.features.iter().enumerate() {
            for (b, &k) in self.features[..=a].iter().enumerate() {
                out[(j, k)] += c * block[(a, b)];
            }
            out[(j, j)] += c * self.diagonal[a];
        }
    }

    /// Adds `c` times the diagonal of V to `out`.
    pub fn add_diagonal_to(&self, c: f64, out: &mut [f64]) {
        for (k, &j) in self.features.iter().enumerate() {
            out[j] += c * (self.diagonal[k] + vector::norm_sq(self.factor.row(k)));
        }
    }
}

/// Rows with one pattern of missing cells and one set of errors.
pub(super) struct Group {
    pub rows: Vec<usize>,
    pub observed: Vec<usize>,
    /// Variance of the error of every observed cell, in standard units.
    pub noise: Vec<f64>,
    /// Features that are missing or observed with error.
    pub uncertain: Vec<usize>,
}

impl FeatureModel {
    /// The distribution of the rows of `x` given their cells that are not NaN, measured with independent
    /// errors of standard deviation `errors` (one row for each row of `x`, or one row for all).
    ///
    /// With `$o$` the measured features and `$E$` their error variances the textbook's
    /// ```math
    /// m = \mu + \Sigma_{\cdot o}(\Sigma_{oo} + E)^{-1}(x_o - \mu_o), \qquad
    ///   V = \Sigma - \Sigma_{\cdot o}(\Sigma_{oo} + E)^{-1}\Sigma_{o \cdot},
    /// ```
    /// computed once for all rows that share `$o$` and `$E$`: `$O(p^3)$` each, `$O(p r^2)$` with a covariance of
    /// low rank.
    pub fn posterior(&self, x: &Dense, errors: Option<&Dense>) -> Result<Posterior> {
        let groups = self.groups(x, errors)?;
        let mut group = vec![0; x.nrows()];
        for (g, found) in groups.iter().enumerate() {
            found.rows.iter().for_each(|&i| group[i] = g);
        }
        let parts: Vec<(Dense, Scatter)> =
            groups.par_iter().map(|g| self.conditional(x, g)).collect::<Result<_>>()?;
        let mut mean = x.clone();
        for (found, (means, scatter)) in groups.iter().zip(&parts) {
            for (k, &i) in found.rows.iter().enumerate() {
                let row = mean.row_mut(i);
                for (value, &j) in means.row(k).iter().zip(&scatter.features) {
                    row[j] = self.means[j] + self.scales[j] * value;
                }
            }
        }
        let scatters =
            parts.iter().map(|(_, scatter)| scatter.scaled(|j| self.scales[j])).collect();
        Ok(Posterior { mean, group, scatters })
    }

    /// Rows that share missing cells and errors, in the order of their first rows.
    pub(super) fn groups(&self, x: &Dense, errors: Option<&Dense>) -> Result<Vec<Group>> {
        let p = self.n_features();
        if x.ncols() != p {
            let text = format!("the data have {} features, the feature model {p}", x.ncols());
            return Err(Error::Mismatch(text));
        }
        if let Some(e) = errors {
            check_errors(e, x.nrows(), p)?;
        }
        let own = errors.is_some_and(|e| e.nrows() > 1);
        let error_row = |i: usize| errors.map(|e| e.row(if e.nrows() == 1 { 0 } else { i }));
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut groups: Vec<Group> = Vec::new();
        for i in 0..x.nrows() {
            let mut key: Vec<u64> = vec![0; p.div_ceil(64)];
            for (j, value) in x.row(i).iter().enumerate() {
                key[j / 64] |= u64::from(value.is_nan()) << (j % 64);
            }
            // Errors of missing cells mean nothing, so they do not tell rows apart; nor do errors that all rows have.
            if let Some(e) = error_row(i).filter(|_| own) {
                let cells = e.iter().zip(x.row(i));
                key.extend(cells.map(|(e, v)| if v.is_nan() { 0 } else { (e + 0.0).to_bits() }));
            }
            let g = *known.entry(key).or_insert(groups.len());
            if g == groups.len() {
                groups.push(self.pattern(x.row(i), error_row(i)));
            }
            groups[g].rows.push(i);
        }
        Ok(groups)
    }

    fn pattern(&self, row: &[f64], errors: Option<&[f64]>) -> Group {
        let error = |j: usize| match errors {
            // An error in a feature that never varies cannot be told from its value: it is 0 there.
            Some(e) if self.scales[j] > 0.0 => (e[j] / self.scales[j]).powi(2),
            _ => 0.0,
        };
        let observed: Vec<usize> = (0..row.len()).filter(|&j| !row[j].is_nan()).collect();
        let noise: Vec<f64> = observed.iter().map(|&j| error(j)).collect();
        let uncertain = (0..row.len()).filter(|&j| row[j].is_nan() || error(j) > 0.0).collect();
        Group { rows: Vec::new(), observed, noise, uncertain }
    }

    /// Means of the uncertain features of a group, one row for each of its rows, and their scatter; both in standard units.
    pub(super) fn conditional(&self, x: &Dense, group: &Group) -> Result<(Dense, Scatter)> {
        if group.uncertain.is_empty() {
            return Ok((Dense::zeros(group.rows.len(), 0), Scatter::none()));
        }
        let measured = Dense::from_fn(group.rows.len(), group.observed.len(), |k, l| {
            let j = group.observed[l];
            standard(x[(group.rows[k], j)], self.means[j], self.scales[j])
        });
        match &self.covariance {
            Covariance::Full(entries) => full(entries, self.n_features(), group, &measured),
            Covariance::LowRank { own, loadings, rank } => {
                let loadings = Dense::from_rows(*rank, self.n_features(), loadings.clone());
                low_rank(own, &loadings, group, &measured)
            }
        }
    }
}

fn check_errors(errors: &Dense, n: usize, p: usize) -> Result<()> {
    if errors.ncols() != p || (errors.nrows() != n && errors.nrows() != 1) {
        let (rows, columns) = (errors.nrows(), errors.ncols());
        let text = format!("errors: {rows} x {columns} deviations for {n} rows of {p} features");
        return Err(Error::BadData(text));
    }
    match errors.data().iter().position(|e| !(e.is_finite() && *e >= 0.0)) {
        Some(k) => Err(Error::BadCell {
            row: k / p,
            column: (k % p).to_string(),
            problem: format!("an error of {}: must be finite and not negative", errors.data()[k]),
        }),
        None => Ok(()),
    }
}

pub(super) fn breakdown() -> Error {
    Error::Numerical("the covariance of the features is singular; use more `shrinkage`".into())
}

/// Conditioning by one Cholesky factor of the measured block.
fn full(entries: &[f64], p: usize, group: &Group, measured: &Dense) -> Result<(Dense, Scatter)> {
    let at = |j: usize, k: usize| entries[j * p + k];
    let (o, u) = (&group.observed, &group.uncertain);
    let mut block = Dense::from_fn(o.len(), o.len(), |a, b| at(o[a], o[b]));
    (0..o.len()).for_each(|a| block[(a, a)] += group.noise[a]);
    let mut factor = Cholesky::new(&block);
    if factor.is_none() {
        // Collinear features without shrinkage: the least that makes the system solvable.
        block.add_diagonal(1e-9);
        factor = Cholesky::new(&block);
    }
    let factor = factor.ok_or_else(breakdown)?;
    let cross = Dense::from_fn(o.len(), u.len(), |a, b| at(o[a], u[b]));
    let gain = factor.solve_matrix(&cross);
    let explained = cross.tr_mul(&gain);
    let rest = Dense::from_fn(u.len(), u.len(), |a, b| at(u[a], u[b]) - explained[(a, b)]);
    let factor = psd_factor(&rest).ok_or_else(breakdown)?;
    let scatter = Scatter { features: u.clone(), diagonal: vec![0.0; u.len()], factor };
    Ok((measured.mul(&gain), scatter))
}

/// Conditioning through the few common factors f of `$x = L^\top f + e$`: with the share
/// `$\kappa_j = d_j / (d_j + E_j)$` of a measurement that is believed beyond the factors (0 where missing),
/// ```math
/// M = I + L\,\mathrm{diag}(1/(d + E))_o L^\top, \quad m = \kappa x + (1 - \kappa) L^\top \hat f, \quad
///   V = \mathrm{diag}(d (1 - \kappa)) + (1 - \kappa) L^\top M^{-1} L (1 - \kappa).
/// ```
fn low_rank(
    own: &[f64],
    loadings: &Dense,
    group: &Group,
    measured: &Dense,
) -> Result<(Dense, Scatter)> {
    let (o, u) = (&group.observed, &group.uncertain);
    let believed: HashMap<usize, (usize, f64)> =
        o.iter().enumerate().map(|(a, &j)| (j, (a, own[j] / (own[j] + group.noise[a])))).collect();
    let seen = Dense::from_fn(loadings.nrows(), o.len(), |k, a| {
        loadings[(k, o[a])] / (own[o[a]] + group.noise[a]).sqrt()
    });
    let mut precision = seen.outer_gram();
    precision.add_diagonal(1.0);
    let precision = Cholesky::new(&precision).ok_or_else(breakdown)?;
    let weighed = Dense::from_fn(measured.nrows(), o.len(), |i, a| {
        measured[(i, a)] / (own[o[a]] + group.noise[a]).sqrt()
    });
    let factors = precision.solve_matrix(&seen.mul_tr(&weighed)).transpose();
    let rest: Vec<f64> = u.iter().map(|j| 1.0 - believed.get(j).map_or(0.0, |b| b.1)).collect();
    let pushed = Dense::from_fn(loadings.nrows(), u.len(), |k, b| loadings[(k, u[b])] * rest[b]);
    let mut means = factors.mul(&pushed);
    for i in 0..means.nrows() {
        for (b, j) in u.iter().enumerate() {
            if let Some((a, share)) = believed.get(j) {
                means[(i, b)] += share * measured[(i, *a)];
            }
        }
    }
    // M = l l': L' M^-1 L = (l^-1 L)'(l^-1 L), and l^-1 L = l' M^-1 L.
    let half = precision.lower().tr_mul(&precision.solve_matrix(&pushed));
    let diagonal = u.iter().zip(&rest).map(|(&j, r)| own[j] * r).collect();
    Ok((means, Scatter { features: u.clone(), diagonal, factor: half.transpose() }))
}
