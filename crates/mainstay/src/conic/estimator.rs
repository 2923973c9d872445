//! The conic-loss SVM: parameters to model.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::problem::{Form, Rows};
use super::setup::{Guide, Setup};
use super::strategy::{Task, solve};
use crate::control::Control;
use crate::data::{ClassWeight, Dataset};
use crate::error::{Error, Result, require};
use crate::linalg::Matrix;
use crate::model::{Estimator, Fitted, Model, PathPoint, each_class};

/// Share of wrong labels allowed for where neither `kappa` nor `C` is given.
pub const DEFAULT_KAPPA: f64 = 0.1;

/// Which kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelKind {
    /// Inner products: a linear model.
    #[default]
    Linear,
    /// `$\exp(-\gamma\|u-v\|^2)$`.
    Rbf,
    /// `$(\gamma u^\top v + c_0)^d$`.
    Poly,
    /// The features are the kernel matrix.
    Precomputed,
}

/// Width of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Gamma {
    /// This much.
    Fixed(f64),
    /// By a rule.
    Rule(GammaRule),
}

/// Named rules for [`Gamma`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GammaRule {
    /// 1 / (features * variance of all entries).
    Scale,
    /// 1 / features.
    Auto,
}

/// Parameters of [`ConicSvc`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConicParams {
    /// Budget form: `$\sum c_i z_i \le \kappa\sum c_i$`, in [0, 1].
    pub kappa: Option<f64>,
    /// Priced form: `$\lambda$` of (17). At most one of the two; neither means `kappa` = 0.1.
    #[serde(rename = "C")]
    pub c: Option<f64>,
    /// Kernel.
    pub kernel: KernelKind,
    /// Its width (rbf, poly).
    pub gamma: Gamma,
    /// Its degree (poly).
    pub degree: u32,
    /// Its constant (poly).
    pub coef0: f64,
    /// Add a constant feature, regularised as in the paper (kernels: `$k + 1$`).
    pub fit_intercept: bool,
    /// How much a unit of disbelief in a class's labels counts. The budget stays a share of the row
    /// weights: a class with a large factor is hardly ever disbelieved.
    pub class_weight: ClassWeight,
    /// Proven relative gap to reach.
    pub tol: f64,
    /// Iteration limit.
    pub max_iter: usize,
}

impl Default for ConicParams {
    fn default() -> Self {
        Self {
            kappa: None,
            c: None,
            kernel: KernelKind::Linear,
            gamma: Gamma::Rule(GammaRule::Scale),
            degree: 3,
            coef0: 0.0,
            fit_intercept: true,
            class_weight: ClassWeight::None,
            tol: 1e-6,
            max_iter: 200,
        }
    }
}

pub(super) fn check_kappa(kappa: f64) -> Result<()> {
    require((0.0..=1.0).contains(&kappa), "kappa", kappa, "between 0 and 1")
}

impl ConicParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<ConicSvc> {
        if let (Some(kappa), Some(c)) = (self.kappa, self.c) {
            return Err(Error::BadParams(format!(
                "`kappa` = {kappa} and `C` = {c}: give at most one of the two"
            )));
        }
        if let Some(kappa) = self.kappa {
            check_kappa(kappa)?;
        }
        if let Some(c) = self.c {
            require(c > 0.0 && c.is_finite(), "C", c, "positive and finite")?;
        }
        if let Gamma::Fixed(gamma) = self.gamma {
            require(gamma > 0.0 && gamma.is_finite(), "gamma", gamma, "positive and finite")?;
        }
        require((1..=100).contains(&self.degree), "degree", self.degree, "between 1 and 100")?;
        require(
            self.coef0 >= 0.0 && self.coef0.is_finite(),
            "coef0",
            self.coef0,
            "finite and not negative (the kernel would not be positive semidefinite)",
        )?;
        require(self.tol > 0.0 && self.tol < 1.0, "tol", self.tol, "in (0, 1)")?;
        require(self.max_iter > 0, "max_iter", self.max_iter, "at least 1")?;
        Ok(ConicSvc(self))
    }
}

/// The conic-loss support vector machine with checked parameters.
///
/// ```
/// use mainstay::conic::ConicParams;
/// use mainstay::data::Dataset;
/// use mainstay::linalg::{Dense, Matrix};
/// use mainstay::model::{Estimator, Output};
/// use mainstay::Control;
///
/// // The last label is wrong; no row is more suspicious.
/// let x = Dense::from_rows(6, 1, vec![-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]);
/// let data = Dataset::new(Matrix::from(x), vec![0, 0, 0, 1, 1, 0], 2)?;
/// let fitted = ConicParams { kappa: Some(0.2), ..Default::default() }
///     .check()?
///     .fit(&data, &Control::new())?
///     .certified(1e-6)?;
/// let Some(Output::Vector(z)) = fitted.outputs.get("z") else { panic!() };
/// assert!(z[..5].iter().all(|other| *other < z[5]));
/// # Ok::<(), mainstay::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ConicSvc(ConicParams);

impl Estimator for ConicSvc {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let setup = Setup::new(&self.0, data)?;
        let fits = each_class(&setup.merged, control, |binary| {
            let rows = setup.space.rows(&binary.y, binary.weights);
            let form = match self.0.c {
                Some(c) => Form::Price(setup.space.price(c)?),
                None => Form::Budget(self.0.kappa.unwrap_or(DEFAULT_KAPPA) * setup.total),
            };
            let task = Task { rows, form, floor: setup.space.floor() };
            let found = solve(&task, &mut setup.budget(control))?;
            setup.space.finish(&rows, form, &found)
        })?;
        setup.assemble(data, &fits)
    }

    /// Over `kappa`, which every point must have.
    fn fit_path(
        &self,
        points: &[PathPoint],
        data: &Dataset,
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        let kappa = |point: &PathPoint| {
            point.runs_over(&["kappa"])?;
            let missing = || Error::BadParams("`kappa`: every point of the path needs one".into());
            point.kappa.ok_or_else(missing)
        };
        let kappas: Vec<f64> = points.iter().map(kappa).collect::<Result<_>>()?;
        self.path(data, &kappas, control)
    }
}

impl ConicSvc {
    /// One fit for every `kappa`, in the order given, each warm-started from the next larger one.
    /// `kappa` and `C` of the parameters play no part.
    pub fn path(&self, data: &Dataset, kappas: &[f64], control: &Control) -> Result<Vec<Fitted>> {
        let setup = Setup::new(&self.0, data)?;
        // One fit after the other, but their certificates and findings side by side.
        control.install(|| -> Result<Vec<Fitted>> {
            let finish = |rows: &Rows<'_>, form, found: &_| setup.space.finish(rows, form, found);
            let fits = setup.path(kappas, None, control, finish)?;
            fits.par_iter().map(|fits| setup.assemble(data, fits)).collect()
        })
    }

    /// The models of [`ConicSvc::path`] without certificates and findings: what cross-validation needs. The solver has
    /// proven the gap of each all the same. Fits may start from a `guide` for the same kappas.
    pub(super) fn path_models(
        &self,
        data: &Dataset,
        kappas: &[f64],
        guide: Option<&Guide>,
        control: &Control,
    ) -> Result<Vec<Model>> {
        let setup = Setup::new(&self.0, data)?;
        let fits = setup.path(kappas, guide, control, |_, _, found| setup.space.unjudged(found))?;
        Ok(fits.iter().map(|fits| setup.space.model(&setup.merged, fits)).collect())
    }

    /// The parameters.
    pub fn params(&self) -> &ConicParams {
        &self.0
    }
}

/// Part of the largest entry by which a kernel matrix may differ from its transpose: single precision leaves 1e-7.
const ASYMMETRY: f64 = 1e-6;

/// Square and symmetric; that it is positive semidefinite shows when it is factored.
pub(super) fn check_precomputed(k: &Matrix) -> Result<()> {
    let bad = |what: String| Err(Error::BadData(format!("precomputed kernel: {what}")));
    let (n, p) = (k.nrows(), k.ncols());
    if n != p {
        return bad(format!(
            "{n} rows and {p} columns; it must be square, one row and one column per sample"
        ));
    }
    let k = k.to_dense();
    let largest = k.max_abs();
    for i in 0..n {
        for j in 0..i {
            if (k[(i, j)] - k[(j, i)]).abs() > ASYMMETRY * largest {
                let (a, b) = (k[(i, j)], k[(j, i)]);
                return bad(format!("entries ({i}, {j}) = {a} and ({j}, {i}) = {b} differ"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Outliers, make_outliers};

    #[test]
    fn models_without_certificates_are_those_of_the_fits() {
        let kappas = [0.4, 0.05, 0.2];
        for kernel in [KernelKind::Linear, KernelKind::Rbf] {
            let (control, params) = (Control::new(), ConicParams { kernel, ..Default::default() });
            let models = make_outliers(60, 4, 0.5, Outliers::Spread, 0.1, 3).and_then(|data| {
                let svc = params.check()?;
                Ok((
                    svc.path(&data, &kappas, &control)?,
                    svc.path_models(&data, &kappas, None, &control)?,
                ))
            });
            let Ok((fits, models)) = models else { unreachable!("ordinary data") };
            for (fitted, model) in fits.iter().zip(&models) {
                assert_eq!(&fitted.model, model);
            }
        }
    }
}
