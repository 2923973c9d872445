//! What damage at prediction does to complete rows once it is repaired: noisy cells moved to where the model expects
//! them, lost cells predicted from the others.

use super::posterior::breakdown;
use super::{Covariance, FeatureModel, Scatter, standard};
use crate::error::Result;
use crate::linalg::{Cholesky, Dense, vector};

impl FeatureModel {
    /// Where complete rows will be seen once errors of standard deviations `errors` are added and
    /// the row is moved to its posterior mean `$\mu + G (x + e - \mu)$`, `$G = \Sigma(\Sigma + E)^{-1}$`: the mean over
    /// the errors, and the scatter `$G E G^\top$` that all rows share.
    ///
    /// With `$V$` the posterior covariance `$G = V E^{-1}$`, so that the scatter is `$V E^{-1} V$`. Of a covariance of low rank its
    /// diagonal alone.
    pub fn denoised(&self, rows: &Dense, errors: &[f64]) -> Result<(Dense, Scatter)> {
        let stated = Dense::from_rows(1, errors.len(), errors.to_vec());
        let found = self.posterior(rows, Some(&stated))?;
        let Some(rest) = found.scatters.into_iter().next() else {
            return Ok((found.mean, Scatter::none()));
        };
        let precise: Vec<f64> = rest.features.iter().map(|&j| 1.0 / errors[j]).collect();
        let features = rest.features.clone();
        let scatter = match self.covariance {
            Covariance::Full(_) => {
                let mut whole = rest.factor.mul_tr(&rest.factor);
                (0..features.len()).for_each(|k| whole[(k, k)] += rest.diagonal[k]);
                let factor = Dense::from_fn(features.len(), features.len(), |a, b| {
                    whole[(a, b)] * precise[b]
                });
                Scatter { diagonal: vec![0.0; features.len()], features, factor }
            }
            Covariance::LowRank { .. } => {
                let scaled = Dense::from_fn(features.len(), rest.factor.ncols(), |a, b| {
                    rest.factor[(a, b)] * precise[a]
                });
                let middle = scaled.tr_mul(&scaled);
                let diagonal = (0..features.len())
                    .map(|k| {
                        let (own, row) = (rest.diagonal[k], rest.factor.row(k));
                        let common = vector::dot(row, &middle.mul_vec(row));
                        own * (own + 2.0 * vector::norm_sq(row)) * precise[k].powi(2) + common
                    })
                    .collect();
                Scatter { diagonal, factor: Dense::zeros(features.len(), 0), features }
            }
        };
        Ok((found.mean, scatter))
    }

    /// How far each cell of complete rows is from what the other cells say of it, where feature `$k$` is missing in a share
    /// `$q_k$` of the rows.
    ///
    /// The best linear prediction from cells that are lost at random and then filled with means uses the
    /// covariance with `$\Sigma_{kk} q_k/(1 - q_k)$` added to its diagonal. With `$B$` the inverse of that matrix the
    /// prediction error of cell `$j$` from the others is `$(B (x - \mu))_j / B_{jj}$`.
    pub fn unexplained(&self, rows: &Dense, missing: &[f64]) -> Result<Dense> {
        let p = self.n_features();
        let z = Dense::from_fn(rows.nrows(), p, |i, j| {
            standard(rows[(i, j)], self.means[j], self.scales[j])
        });
        let odds = |j: usize| missing[j] / (1.0 - missing[j]);
        let (weighed, own) = match &self.covariance {
            Covariance::Full(entries) => {
                let mut block = Dense::from_rows(p, p, entries.clone());
                (0..p).for_each(|j| block[(j, j)] *= 1.0 + odds(j));
                let mut factor = Cholesky::new(&block);
                if factor.is_none() {
                    // Collinear features that are never missing: the least that makes the system solvable.
                    block.add_diagonal(1e-9);
                    factor = Cholesky::new(&block);
                }
                let factor = factor.ok_or_else(breakdown)?;
                let inverse = factor.solve_matrix(&Dense::identity(p));
                let own = (0..p).map(|j| inverse[(j, j)]).collect::<Vec<f64>>();
                (z.mul(&inverse), own)
            }
            Covariance::LowRank { own, loadings, rank } => {
                let loadings = Dense::from_rows(*rank, p, loadings.clone());
                let all = |j: usize| own[j] + vector::norm_sq(&loadings.column(j));
                let diagonal: Vec<f64> = (0..p).map(|j| own[j] + odds(j) * all(j)).collect();
                low_rank(&z, &loadings, &diagonal)?
            }
        };
        Ok(Dense::from_fn(z.nrows(), p, |i, j| weighed[(i, j)] / own[j] * self.scales[j]))
    }
}

/// `$z (D + L^\top L)^{-1}$` and the diagonal of the inverse, by the matrix inversion lemma.
fn low_rank(z: &Dense, loadings: &Dense, diagonal: &[f64]) -> Result<(Dense, Vec<f64>)> {
    let p = diagonal.len();
    let scaled = Dense::from_fn(loadings.nrows(), p, |k, j| loadings[(k, j)] / diagonal[j]);
    let mut inner = scaled.mul_tr(loadings);
    inner.add_diagonal(1.0);
    let inner = Cholesky::new(&inner).ok_or_else(breakdown)?;
    let solved = inner.solve_matrix(&scaled);
    let own = (0..p)
        .map(|j| {
            let taken = vector::dot(&scaled.column(j), &solved.column(j));
            1.0 / diagonal[j] - taken
        })
        .collect();
    let common = z.mul_tr(&scaled).mul(&solved);
    let weighed = Dense::from_fn(z.nrows(), p, |i, j| z[(i, j)] / diagonal[j] - common[(i, j)]);
    Ok((weighed, own))
}
