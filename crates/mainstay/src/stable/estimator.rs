//! `StableSVC` and `StableLogisticRegression`: parameters, checks, fits and paths.

use serde::{Deserialize, Serialize};

use super::auto;
use super::path::{PathSpec, Setting};
use super::problem::RowLoss;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset};
use crate::error::{Error, Result, require};
use crate::model::{Estimator, Fitted, PathPoint};
use crate::uncertainty::K;

/// Loss of the stable SVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SvmLoss {
    /// `$\max(0, 1 - m)$`, problem (8).
    #[default]
    Hinge,
    /// `$\max(0, 1 - m)^2$`, its 2-norm form.
    SquaredHinge,
}

impl SvmLoss {
    pub(super) fn row_loss(self) -> RowLoss {
        match self {
            Self::Hinge => RowLoss::Hinge,
            Self::SquaredHinge => RowLoss::SquaredHinge,
        }
    }
}

/// How the problem is solved; both prove the same gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// A few dozen Newton steps whatever the data: a structured interior point, and for many rows of two
    /// classes a method of multipliers before it.
    #[default]
    InteriorPoint,
    /// The paper's Algorithm 1, repaired: slow to the last digits, easy to follow.
    CuttingPlane,
}

/// More than two classes in the stable logistic regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MultiClass {
    /// One problem per class, against the rest, each with its own worst rows.
    #[default]
    Ovr,
    /// One problem: the worst `k` rows of the softmax loss.
    Joint,
}

/// Parameters of [`StableSvc`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StableSvcParams {
    /// How many rows (integer) or what share of the weight (float) the worst case holds; `"auto"`: the smallest share
    /// that costs nothing measurable on held-out rows.
    pub k: K,
    /// Multiplies the sum of the worst losses.
    #[serde(rename = "C")]
    pub c: f64,
    /// Loss of a row.
    pub loss: SvmLoss,
    /// Whether there is a free intercept.
    pub fit_intercept: bool,
    /// Weight of each class.
    pub class_weight: ClassWeight,
    /// Algorithm.
    pub solver: Solver,
    /// Proven relative gap to reach.
    pub tol: f64,
    /// Limit on the iterations of a fit, all stages together.
    pub max_iter: usize,
}

impl Default for StableSvcParams {
    fn default() -> Self {
        Self {
            k: K::Fraction(0.5),
            c: 1.0,
            loss: SvmLoss::Hinge,
            fit_intercept: true,
            class_weight: ClassWeight::None,
            solver: Solver::InteriorPoint,
            tol: 1e-6,
            max_iter: 1000,
        }
    }
}

impl StableSvcParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<StableSvc> {
        self.k.check()?;
        positive("C", self.c)?;
        limits(self.tol, self.max_iter)?;
        Ok(StableSvc(self))
    }
}

/// minimise `$\|w\|^2 + C \cdot$` (sum of the `k` largest losses), problem (8) and its squared form;
/// more than two classes: problem (10), jointly, with one intercept per class. The intercept is free.
///
/// ```
/// use mainstay::data::Dataset;
/// use mainstay::linalg::Dense;
/// use mainstay::model::Estimator;
/// use mainstay::stable::{K, StableSvcParams};
///
/// let x = Dense::from_rows(6, 1, vec![-2.0, -1.5, 0.2, -0.1, 1.0, 2.5]);
/// let data = Dataset::new(x.into(), vec![0, 0, 0, 1, 1, 1], 2)?;
/// let svm = StableSvcParams { k: K::Count(3), ..Default::default() }.check()?;
/// let fitted = svm.fit(&data, &mainstay::Control::new())?.certified(1e-6)?;
/// println!("{:?}, proven gap {:?}", fitted.model, fitted.dual_gap());
/// # Ok::<(), mainstay::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StableSvc(StableSvcParams);

impl StableSvc {
    pub(super) fn path_spec(&self) -> PathSpec {
        PathSpec {
            loss: self.0.loss.row_loss(),
            joint: true,
            fit_intercept: self.0.fit_intercept,
            class_weight: self.0.class_weight.clone(),
            solver: self.0.solver,
            tol: self.0.tol,
            max_iter: self.0.max_iter,
        }
    }

    /// One fit for each of `ks`, in that order, each started from the one before.
    pub fn path(&self, data: &Dataset, ks: &[K], control: &Control) -> Result<Vec<Fitted>> {
        let points: Vec<_> = ks.iter().map(|&k| PathPoint::k(k)).collect();
        self.fit_path(&points, data, control)
    }

    /// One fit for each of `cs` (values of `C`), in that order, each started from the one before.
    pub fn path_over_c(
        &self,
        data: &Dataset,
        cs: &[f64],
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        let points: Vec<_> = cs.iter().map(|&c| PathPoint::c(c)).collect();
        self.fit_path(&points, data, control)
    }
}

impl Estimator for StableSvc {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        if self.0.k == K::Auto {
            return auto::fit(&self.path_spec(), self.0.c, data, control);
        }
        only(self.path(data, &[self.0.k], control)?)
    }

    /// Over `k` and `C`.
    fn fit_path(
        &self,
        points: &[PathPoint],
        data: &Dataset,
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        let own = Setting { k: self.0.k, strength: self.0.c };
        self.path_spec().fit(&settings(points, own, "C", |point| point.c)?, data, control)
    }
}

/// Parameters of [`StableLogistic`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StableLogisticParams {
    /// How many rows (integer) or what share of the weight (float) the worst case holds; `"auto"`: the smallest share
    /// that costs nothing measurable on held-out rows.
    pub k: K,
    /// Multiplies the squared norm of the weights.
    pub alpha: f64,
    /// More than two classes: one problem each, or one for all.
    pub multi_class: MultiClass,
    /// Whether there is a free intercept.
    pub fit_intercept: bool,
    /// Weight of each class.
    pub class_weight: ClassWeight,
    /// Algorithm.
    pub solver: Solver,
    /// Proven relative gap to reach.
    pub tol: f64,
    /// Limit on the iterations of a fit, all stages together.
    pub max_iter: usize,
}

impl Default for StableLogisticParams {
    fn default() -> Self {
        Self {
            k: K::Fraction(0.5),
            alpha: 0.1,
            multi_class: MultiClass::Ovr,
            fit_intercept: true,
            class_weight: ClassWeight::None,
            solver: Solver::InteriorPoint,
            tol: 1e-6,
            max_iter: 1000,
        }
    }
}

impl StableLogisticParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<StableLogistic> {
        self.k.check()?;
        positive("alpha", self.alpha)?;
        limits(self.tol, self.max_iter)?;
        Ok(StableLogistic(self))
    }
}

/// minimise `$\tfrac1k$` (sum of the `k` largest `$\ln(1 + e^{-m})$`) `$+ \alpha\|w\|^2$`, problem (12), with
/// a free intercept; more than two classes: one versus rest, or jointly with the softmax loss.
#[derive(Debug, Clone)]
pub struct StableLogistic(StableLogisticParams);

impl StableLogistic {
    pub(super) fn path_spec(&self) -> PathSpec {
        PathSpec {
            loss: RowLoss::Logistic,
            joint: self.0.multi_class == MultiClass::Joint,
            fit_intercept: self.0.fit_intercept,
            class_weight: self.0.class_weight.clone(),
            solver: self.0.solver,
            tol: self.0.tol,
            max_iter: self.0.max_iter,
        }
    }

    /// One fit for each of `ks`, in that order, each started from the one before.
    pub fn path(&self, data: &Dataset, ks: &[K], control: &Control) -> Result<Vec<Fitted>> {
        let points: Vec<_> = ks.iter().map(|&k| PathPoint::k(k)).collect();
        self.fit_path(&points, data, control)
    }

    /// One fit for each of `alphas`, in that order, each started from the one before.
    pub fn path_over_alpha(
        &self,
        data: &Dataset,
        alphas: &[f64],
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        let points: Vec<_> = alphas.iter().map(|&alpha| PathPoint::alpha(alpha)).collect();
        self.fit_path(&points, data, control)
    }
}

impl Estimator for StableLogistic {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        if self.0.k == K::Auto {
            return auto::fit(&self.path_spec(), self.0.alpha, data, control);
        }
        only(self.path(data, &[self.0.k], control)?)
    }

    /// Over `k` and `alpha`.
    fn fit_path(
        &self,
        points: &[PathPoint],
        data: &Dataset,
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        let own = Setting { k: self.0.k, strength: self.0.alpha };
        self.path_spec().fit(&settings(points, own, "alpha", |point| point.alpha)?, data, control)
    }
}

/// The settings of a path over `k` and the strength that is called `name`; what a point does not say is the estimator's `own`.
fn settings(
    points: &[PathPoint],
    own: Setting,
    name: &'static str,
    strength: impl Fn(&PathPoint) -> Option<f64>,
) -> Result<Vec<Setting>> {
    PathPoint::settings(points, &["k", name], |point| {
        let strength = strength(point).unwrap_or(own.strength);
        positive(name, strength)?;
        Ok(Setting { k: point.k.unwrap_or(own.k), strength })
    })
}

pub(super) fn only(path: Vec<Fitted>) -> Result<Fitted> {
    path.into_iter().next().ok_or_else(|| Error::Numerical("an empty path".into()))
}

pub(super) fn positive(name: &'static str, value: f64) -> Result<()> {
    require(value > 0.0 && value.is_finite(), name, value, "positive and finite")
}

pub(super) fn limits(tol: f64, max_iter: usize) -> Result<()> {
    require(tol > 0.0 && tol < 1.0, "tol", tol, "in (0, 1)")?;
    require(max_iter > 0, "max_iter", max_iter, "at least 1")
}
