//! Rows as far as they are known under the stated random damage: a mean and a variance of every margin.

use std::sync::Arc;

use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::uncertainty::feature_model::{FeatureModel, Scatter};

/// The stated damage, spelled out for the features of a data set.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    /// Errors of the training rows, one row for each.
    pub errors: Option<Dense>,
    /// Share of rows that will lack each feature.
    pub missing: Option<Vec<f64>>,
    /// Errors of the rows to predict, the same for all.
    pub shared: Option<Vec<f64>>,
}

/// Rows $x_i$ with mean $m_i$ and covariance $V_{g(i)} + \mathrm{diag}(s_i)$.
#[derive(Debug, Clone)]
pub(super) struct Blurred {
    /// $m$.
    pub mean: Dense,
    /// $g$.
    pub group: Vec<usize>,
    /// $V$.
    pub scatters: Arc<Vec<Scatter>>,
    /// $s$, where rows have variances of their own.
    pub own: Option<Dense>,
}

impl Blurred {
    /// What the rows of `x` look like once they are damaged as stated, and repaired as a row to predict will be.
    ///
    /// Each row is put where its measured cells and their errors say it is, at the posterior mean $m$. What the
    /// posterior leaves open is not averaged over here but at prediction: averaging in both places is cautious twice, and
    /// measured worse (docs/methods/robust-logistic.md). Rows to predict that have errors $E$ will be seen at
    /// $\mu + G(x + e - \mu)$ ([`FeatureModel::denoised`]); training rows with errors of their own are seen so already. Then
    /// each feature $j$ is lost with probability $q_j$, independently, and predicted from the others: it moves by
    /// minus the prediction error $r_j$ ([`FeatureModel::unexplained`]), so that the mean becomes $m - q r$ and the variances
    /// $q (1 - q) r_j^2$.
    pub(super) fn new(x: &Dense, model: &FeatureModel, expected: &Expected) -> Result<Self> {
        let mut rows = Self::known(model.posterior(x, expected.errors.as_ref())?.mean);
        if let (Some(errors), None) = (&expected.shared, &expected.errors) {
            let (mean, scatter) = model.denoised(&rows.mean, errors)?;
            (rows.mean, rows.scatters) = (mean, Arc::new(vec![scatter]));
        }
        if let Some(missing) = &expected.missing {
            rows.lose(missing, &model.unexplained(&rows.mean, missing)?);
        }
        Ok(rows)
    }

    /// Rows that are known exactly.
    pub(super) fn known(mean: Dense) -> Self {
        let group = vec![0; mean.nrows()];
        Self { mean, group, scatters: Arc::new(vec![Scatter::none()]), own: None }
    }

    fn lose(&mut self, missing: &[f64], unexplained: &Dense) {
        let (n, p) = (self.mean.nrows(), self.mean.ncols());
        let mut own = Dense::zeros(n, p);
        for i in 0..n {
            for j in 0..p {
                let (q, r) = (missing[j], unexplained[(i, j)]);
                own[(i, j)] = q * (1.0 - q) * r * r;
                self.mean[(i, j)] -= q * r;
            }
        }
        // A lost cell loses its error, too.
        let kept = |scatter: &Scatter| scatter.scaled(|j| (1.0 - missing[j]).sqrt());
        self.scatters = Arc::new(self.scatters.iter().map(kept).collect());
        self.own = Some(own);
    }

    /// The rows `rows`.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        Self {
            mean: self.mean.select_rows(rows),
            group: rows.iter().map(|&i| self.group[i]).collect(),
            scatters: Arc::clone(&self.scatters),
            own: self.own.as_ref().map(|own| own.select_rows(rows)),
        }
    }

    /// Takes `centre` off every row.
    pub(super) fn shift(&mut self, centre: &[f64]) {
        for i in 0..self.mean.nrows() {
            self.mean.row_mut(i).iter_mut().zip(centre).for_each(|(v, c)| *v -= c);
        }
    }

    /// Whether every row is known exactly.
    pub(super) fn exact(&self) -> bool {
        self.own.is_none() && self.scatters.iter().all(Scatter::is_none)
    }

    /// $w^\top V_i w$ of every row.
    pub(super) fn variances(&self, w: &[f64]) -> Vec<f64> {
        let forms: Vec<f64> = self.scatters.iter().map(|s| s.form(w)).collect();
        let squares: Vec<f64> = w.iter().map(|v| v * v).collect();
        let own = self.own.as_ref().map(|own| own.mul_vec(&squares));
        let one = |(i, g): (usize, &usize)| forms[*g] + own.as_ref().map_or(0.0, |o| o[i]);
        self.group.iter().enumerate().map(one).collect()
    }

    /// $\sum_i c_i V_i d$.
    pub(super) fn spread(&self, c: &[f64], d: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; d.len()];
        for (scatter, total) in self.scatters.iter().zip(self.by_group(c)) {
            let mut part = vec![0.0; d.len()];
            scatter.apply(d, &mut part);
            vector::axpy(total, &part, &mut out);
        }
        if let Some(own) = &self.own {
            let sums = own.tr_mul_vec(c);
            (0..d.len()).for_each(|j| out[j] += sums[j] * d[j]);
        }
        out
    }

    /// Adds $\sum_i c_i V_i$ to the lower triangle of `out`.
    pub(super) fn add_spread(&self, c: &[f64], out: &mut Dense) {
        for (scatter, total) in self.scatters.iter().zip(self.by_group(c)) {
            scatter.add_to(total, out);
        }
        if let Some(own) = &self.own {
            for (j, sum) in own.tr_mul_vec(c).into_iter().enumerate() {
                out[(j, j)] += sum;
            }
        }
    }

    /// $V_i w$, one row for each row.
    pub(super) fn images(&self, w: &[f64]) -> Dense {
        let shared: Vec<Vec<f64>> = self
            .scatters
            .iter()
            .map(|scatter| {
                let mut image = vec![0.0; w.len()];
                scatter.apply(w, &mut image);
                image
            })
            .collect();
        Dense::from_fn(self.group.len(), w.len(), |i, j| {
            shared[self.group[i]][j] + self.own.as_ref().map_or(0.0, |own| own[(i, j)] * w[j])
        })
    }

    fn by_group(&self, c: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.scatters.len()];
        self.group.iter().zip(c).for_each(|(g, c)| sums[*g] += c);
        sums
    }
}
