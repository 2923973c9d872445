//! Parameters, their defaults and checks, and the estimator.

use std::borrow::Cow;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::prepared::Prepared;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged, Shape};
use crate::error::{Result, require};
use crate::model::{Estimator, Fitted, Link, PathPoint, one_versus_rest};

/// Parameters of [`EllipsoidSvc`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EllipsoidParams {
    /// The ellipsoid around every row; ellipsoids that come with the data replace it.
    pub uncertainty: Shape,
    /// Weight of the losses.
    #[serde(rename = "C")]
    pub c: f64,
    /// Weight of each class.
    pub class_weight: ClassWeight,
    /// Proven relative gap to reach.
    pub tol: f64,
    /// Iteration limit.
    pub max_iter: usize,
}

impl Default for EllipsoidParams {
    fn default() -> Self {
        Self {
            uncertainty: Shape::Ball(0.1),
            c: 1.0,
            class_weight: ClassWeight::None,
            tol: 1e-6,
            max_iter: 100,
        }
    }
}

impl EllipsoidParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<EllipsoidSvc> {
        require(self.c > 0.0 && self.c.is_finite(), "C", self.c, "positive and finite")?;
        require(self.tol > 0.0 && self.tol < 1.0, "tol", self.tol, "in (0, 1)")?;
        require(self.max_iter > 0, "max_iter", self.max_iter, "at least 1")?;
        if let Shape::Ball(r) = self.uncertainty {
            require(r >= 0.0 && r.is_finite(), "uncertainty", r, "finite and not negative")?;
        }
        Ok(EllipsoidSvc(self))
    }
}

/// A place on a path: weight of the losses and a factor on all ellipsoids.
#[derive(Debug, Clone, Copy)]
struct Setting {
    c: f64,
    scale: f64,
}

/// Support vector machine that keeps its margin on whole ellipsoids:
/// minimise `$\|w\|^2/2 + C \sum_i v_i$` with `$y_i(w^\top x_i + b) \ge 1 - v_i + \sqrt{w^\top P_i w}$`, `$v \ge 0$`.
///
/// The intercept is free. More than two classes: one against the rest.
///
/// ```
/// use mainstay::data::{Dataset, RowUncertainty};
/// use mainstay::ellipsoid::EllipsoidParams;
/// use mainstay::linalg::Dense;
/// use mainstay::model::Estimator;
///
/// let x = Dense::from_rows(4, 1, vec![-2.0, -1.0, 1.0, 2.0]);
/// let data = Dataset::new(x.into(), vec![0, 0, 1, 1], 2)?
///     .with_uncertainty(RowUncertainty::Radii(vec![0.1, 0.5, 0.5, 0.1]))?;
/// let fitted = EllipsoidParams { c: 100.0, ..Default::default() }.check()?.fit(&data, &Default::default())?;
/// // The inner intervals end at -1/2 and 1/2: w = 2.
/// assert!(fitted.dual_gap().is_some_and(|gap| gap <= 1e-6));
/// assert!((fitted.certificates[0].primal - 2.0).abs() < 1e-5);
/// # Ok::<(), mainstay::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct EllipsoidSvc(EllipsoidParams);

impl Estimator for EllipsoidSvc {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let merged = Merged::new(&*self.0.class_weight.applied(data)?);
        let prepared = Prepared::new(&merged.data, data, &self.0.uncertainty)?;
        self.at(&merged, &prepared, Setting { c: self.0.c, scale: 1.0 }, control)
    }

    /// Over `C` and `scale`; the data are prepared once.
    fn fit_path(
        &self,
        points: &[PathPoint],
        data: &Dataset,
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        let settings = PathPoint::settings(points, &["C", "scale"], |point| {
            let (c, scale) = (point.c.unwrap_or(self.0.c), point.scale.unwrap_or(1.0));
            require(c > 0.0 && c.is_finite(), "C", c, "positive and finite")?;
            let good = scale >= 0.0 && scale.is_finite();
            require(good, "scale", scale, "finite and not negative")?;
            Ok(Setting { c, scale })
        })?;
        let merged = Merged::new(&*self.0.class_weight.applied(data)?);
        let prepared = Prepared::new(&merged.data, data, &self.0.uncertainty)?;
        let one = |setting: &Setting| self.at(&merged, &prepared, *setting, control);
        control.install(|| settings.par_iter().map(one).collect())
    }
}

impl EllipsoidSvc {
    fn at(
        &self,
        merged: &Merged,
        prepared: &Prepared,
        point: Setting,
        control: &Control,
    ) -> Result<Fitted> {
        let ellipsoids = if point.scale.to_bits() == 1.0_f64.to_bits() {
            Cow::Borrowed(&prepared.ellipsoids)
        } else {
            Cow::Owned(prepared.ellipsoids.clone().scaled(point.scale))
        };
        one_versus_rest(merged, Link::None, self.0.tol, control, |problem| {
            prepared.fit(problem, &ellipsoids, point.c, &self.0, control)
        })
    }
}
