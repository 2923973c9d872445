//! Rows as far as they are known under the stated random damage: a mean and a variance of every margin.

use std::sync::Arc;

use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::uncertainty::feature_model::{FeatureModel, Posterior, Scatter};

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

impl Expected {
    /// Errors of rows to predict that enter the fit: training rows with errors of their own are seen so already.
    fn fitted_errors(&self) -> Option<&Vec<f64>> {
        self.shared.as_ref().filter(|_| self.errors.is_none())
    }
}

/// How open rows are that a fit has met: those it was fitted to, and those it was told to expect.
///
/// A fit to repaired rows (posterior means, lost cells predicted from the others) is right about rows that are as open as
/// these on the average. At prediction only what is open beyond that is averaged over.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// Scatters of the fitted rows, and which part of the rows has them.
    fitted: Vec<(f64, Scatter)>,
    /// Scatters of rows damaged as stated.
    stated: Vec<Scatter>,
}

impl Met {
    /// From the posterior of the training rows, `shares` of 1 each, and the stated damage.
    pub(super) fn new(
        known: &Posterior,
        shares: &[f64],
        model: &FeatureModel,
        expected: &Expected,
    ) -> Result<Self> {
        let mut parts = vec![0.0; known.scatters.len()];
        known.group.iter().zip(shares).for_each(|(g, s)| parts[*g] += s);
        let open = parts.into_iter().zip(&known.scatters).filter(|(_, s)| !s.is_none());
        let fitted = open.map(|(part, scatter)| (part, scatter.clone())).collect();
        Ok(Self { fitted, ..Self::stated(model, expected)? })
    }

    /// Of the stated damage alone.
    ///
    /// A cell of variance `$s$` and error variance `$e$` that is missing with probability `$q$` says as much, to the best
    /// linear prediction from cells at their means where they are missing, as one that is never missing and has an
    /// error of variance `$(e + q s)/(1 - q)$`.
    pub(super) fn stated(model: &FeatureModel, expected: &Expected) -> Result<Self> {
        let errors = expected.fitted_errors();
        if errors.is_none() && expected.missing.is_none() {
            return Ok(Self::default());
        }
        let variances = model.variances();
        let effective = |(j, s): (usize, &f64)| {
            let e = errors.map_or(0.0, |errors| errors[j] * errors[j]);
            let q = expected.missing.as_ref().map_or(0.0, |missing| missing[j]);
            ((e + q * s) / (1.0 - q)).sqrt()
        };
        let effective: Vec<f64> = variances.iter().enumerate().map(effective).collect();
        let p = effective.len();
        let row = Dense::zeros(1, p);
        let stated = model.posterior(&row, Some(&Dense::from_rows(1, p, effective)))?.scatters;
        Ok(Self { fitted: Vec::new(), stated })
    }

    /// Variance of the score with weights `w`.
    pub(super) fn variance(&self, w: &[f64]) -> f64 {
        let fitted: f64 = self.fitted.iter().map(|(part, scatter)| part * scatter.form(w)).sum();
        self.stated.iter().map(|scatter| scatter.form(w)).fold(fitted, f64::max)
    }
}

/// Rows `$x_i$` with mean `$m_i$` and covariance `$V_{g(i)} + \mathrm{diag}(s_i)$`.
#[derive(Debug, Clone)]
pub(super) struct Blurred {
    /// `$m$`.
    pub mean: Dense,
    /// `$g$`.
    pub group: Vec<usize>,
    /// `$V$`.
    pub scatters: Arc<Vec<Scatter>>,
    /// `$s$`, where rows have variances of their own.
    pub own: Option<Dense>,
}

impl Blurred {
    /// What rows at their posterior means `$m$` look like once they are damaged as stated, and repaired as a row to predict
    /// will be.
    ///
    /// What the posterior leaves open is not averaged over here: a fit to posterior means is right about rows that are
    /// as open as its own, and [`Met`] keeps prediction from being cautious twice. Rows to predict that have errors `$E$`
    /// will be seen at
    /// `$\mu + G(x + e - \mu)$` ([`FeatureModel::denoised`]); training rows with errors of their own are seen so already. Then
    /// each feature `$j$` is lost with probability `$q_j$`, independently, and predicted from the others: it moves by
    /// minus the prediction error `$r_j$` ([`FeatureModel::unexplained`]), so that the mean becomes `$m - q r$` and the variances
    /// `$q (1 - q) r_j^2$`.
    pub(super) fn new(mean: Dense, model: &FeatureModel, expected: &Expected) -> Result<Self> {
        let mut rows = Self::known(mean);
        if let Some(errors) = expected.fitted_errors() {
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

    /// `$w^\top V_i w$` of every row.
    pub(super) fn variances(&self, w: &[f64]) -> Vec<f64> {
        let forms: Vec<f64> = self.scatters.iter().map(|s| s.form(w)).collect();
        let squares: Vec<f64> = w.iter().map(|v| v * v).collect();
        let own = self.own.as_ref().map(|own| own.mul_vec(&squares));
        let one = |(i, g): (usize, &usize)| forms[*g] + own.as_ref().map_or(0.0, |o| o[i]);
        self.group.iter().enumerate().map(one).collect()
    }

    /// `$\sum_i c_i V_i d$`.
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

    /// Adds `$\sum_i c_i V_i$` to the lower triangle of `out`.
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

    /// `$V_i w$`, one row for each row.
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
