//! The conic-loss SVM: parameters to model.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::path::solve_path;
use super::problem::{Form, Rows};
use super::space::{Space, first_rows};
use super::strategy::{Solution, Task, solve};
use super::suspects::suspects;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged};
use crate::error::{Error, Result, require};
use crate::linalg::{Dense, Matrix};
use crate::model::{
    BinaryFit, Estimator, Fitted, KernelFunction, Model, PathPoint, assemble, each_class,
};
use crate::optim::Budget;

/// Share of wrong labels allowed for where neither `kappa` nor `C` is given.
pub const DEFAULT_KAPPA: f64 = 0.1;

/// Which kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelKind {
    /// Inner products: a linear model.
    #[default]
    Linear,
    /// $\exp(-\gamma\|u-v\|^2)$.
    Rbf,
    /// $(\gamma u^\top v + c_0)^d$.
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
    /// Budget form: $\sum c_i z_i \le \kappa\sum c_i$, in [0, 1].
    pub kappa: Option<f64>,
    /// Priced form: $\lambda$ of (17). At most one of the two; neither means `kappa` = 0.1.
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
    /// Add a constant feature, regularised as in the paper (kernels: $k + 1$).
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
            let fits = setup
                .path(kappas, control, |rows, form, found| setup.space.finish(rows, form, found))?;
            fits.par_iter().map(|fits| setup.assemble(data, fits)).collect()
        })
    }

    /// The models of [`ConicSvc::path`] without certificates and findings: what cross-validation needs. The solver has
    /// proven the gap of each all the same.
    pub(super) fn path_models(
        &self,
        data: &Dataset,
        kappas: &[f64],
        control: &Control,
    ) -> Result<Vec<Model>> {
        let setup = Setup::new(&self.0, data)?;
        let fits = setup.path(kappas, control, |_, _, found| setup.space.unjudged(found))?;
        Ok(fits.iter().map(|fits| setup.space.model(&setup.merged, fits)).collect())
    }

    /// The parameters.
    pub fn params(&self) -> &ConicParams {
        &self.0
    }
}

/// What all fits to the same data share.
struct Setup {
    merged: Merged,
    /// Total weight of the rows before class weights: what `kappa` is a share of.
    total: f64,
    space: Space,
    tol: f64,
    max_iter: usize,
}

/// The gap that the solver aims at as a part of the one asked for: the recomputed one differs by rounding.
const AIM: f64 = 0.5;

impl Setup {
    fn new(params: &ConicParams, data: &Dataset) -> Result<Self> {
        if params.kernel == KernelKind::Precomputed {
            check_precomputed(data.features())?;
        }
        let merged = Merged::new(&params.class_weight.apply(data.clone())?);
        let total = match params.class_weight {
            ClassWeight::None => total_weight(&merged),
            _ => total_weight(&Merged::new(data)),
        };
        let space = match kernel_function(params, &merged) {
            None => Space::linear(&merged, params.fit_intercept),
            Some(function) => Space::kernel(&merged, function, params.fit_intercept)?,
        };
        Ok(Self { merged, total, space, tol: params.tol, max_iter: params.max_iter })
    }

    /// One fit per class for every kappa, in the order given; `finish` makes a fit of an answer.
    fn path(
        &self,
        kappas: &[f64],
        control: &Control,
        finish: impl Fn(&Rows<'_>, Form, &Solution) -> Result<BinaryFit> + Sync,
    ) -> Result<Vec<Vec<BinaryFit>>> {
        for &kappa in kappas {
            check_kappa(kappa)?;
        }
        // Progress counts kappas with two classes, classes with more.
        let two = self.merged.data.n_classes() == 2;
        let one_path = if two { control } else { &control.without_progress() };
        let paths: Vec<Vec<BinaryFit>> = each_class(&self.merged, control, |binary| {
            let rows = self.space.rows(&binary.y, binary.weights);
            let targets: Vec<f64> = kappas.iter().map(|k| k * self.total).collect();
            let (floor, budget) = (self.space.floor(), self.budget(control));
            let found = solve_path(&rows, &targets, floor, &budget, one_path)?;
            let one =
                |(found, target): (&Solution, &f64)| finish(&rows, Form::Budget(*target), found);
            found.par_iter().zip(&targets).map(one).collect()
        })?;
        Ok((0..kappas.len()).map(|k| paths.iter().map(|path| path[k].clone()).collect()).collect())
    }

    fn budget<'b>(&self, control: &'b Control) -> Budget<'b> {
        Budget::new(AIM * self.tol, self.max_iter, control)
    }

    fn assemble(&self, data: &Dataset, fits: &[BinaryFit]) -> Result<Fitted> {
        let model = self.space.model(&self.merged, fits);
        let mut fitted = assemble(&self.merged, model, self.tol, fits);
        if let Model::Kernel(kernel) = &fitted.model {
            // Copies of a row share one coefficient: the first copy holds it.
            let first = first_rows(&self.merged);
            let mut dual = Dense::zeros(data.len(), fits.len());
            for (k, f) in fits.iter().enumerate() {
                for (i, v) in f.weights.iter().enumerate() {
                    dual[(first[i], k)] = *v;
                }
            }
            let support = kernel.indices.iter().map(|&i| i64::try_from(i).unwrap_or(i64::MAX));
            let support: Vec<i64> = support.collect();
            fitted = match fits {
                [_] => fitted.with("dual_coef", dual.into_data()),
                _ => fitted.with("dual_coef", &dual),
            };
            fitted = fitted.with("support", support);
        }
        fitted.suspects = Some(suspects(&fitted, data)?);
        Ok(fitted)
    }
}

fn total_weight(merged: &Merged) -> f64 {
    merged.data.weights().map_or(merged.data.len() as f64, |w| w.iter().sum())
}

fn kernel_function(params: &ConicParams, merged: &Merged) -> Option<KernelFunction> {
    let gamma = || match params.gamma {
        Gamma::Fixed(gamma) => gamma,
        Gamma::Rule(GammaRule::Auto) => 1.0 / merged.data.n_features() as f64,
        Gamma::Rule(GammaRule::Scale) => scale_gamma(merged),
    };
    match params.kernel {
        KernelKind::Linear => None,
        KernelKind::Rbf => Some(KernelFunction::Rbf { gamma: gamma() }),
        KernelKind::Poly => Some(KernelFunction::Poly {
            gamma: gamma(),
            degree: params.degree,
            coef0: params.coef0,
        }),
        KernelKind::Precomputed => Some(KernelFunction::Precomputed),
    }
}

/// 1 / (p * variance over all entries, rows weighted); 1 where all entries are equal.
fn scale_gamma(merged: &Merged) -> f64 {
    let data = &merged.data;
    let p = data.n_features() as f64;
    let weight = |i: usize| data.weights().map_or(1.0, |w| w[i]);
    let total: f64 = p * (0..data.len()).map(weight).sum::<f64>();
    let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
        let x = data.features().to_dense();
        (0..x.nrows()).map(|i| weight(i) * x.row(i).iter().map(|v| f(*v)).sum::<f64>()).sum()
    };
    let mean = sum(&|v| v) / total;
    let variance = sum(&|v| (v - mean) * (v - mean)) / total;
    if variance > 0.0 && variance.is_finite() { 1.0 / (p * variance) } else { 1.0 }
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
                    svc.path_models(&data, &kappas, &control)?,
                ))
            });
            let Ok((fits, models)) = models else { unreachable!("ordinary data") };
            for (fitted, model) in fits.iter().zip(&models) {
                assert_eq!(&fitted.model, model);
            }
        }
    }
}
