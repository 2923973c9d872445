use std::borrow::Cow;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::certificate::certify;
use super::problem::{Answer, Problem};
use super::solver::{Stop, solve};
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged, Shape};
use crate::error::{Error, Result, require};
use crate::linalg::{Dense, thin_qr};
use crate::model::{BinaryFit, BinaryProblem, Estimator, Fitted, Link, one_versus_rest};
use crate::uncertainty::ellipsoid::Ellipsoids;

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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathPoint {
    /// `C`.
    pub c: f64,
    /// Factor on the uncertainty; 0 is the plain SVM.
    pub scale: f64,
}

/// Support vector machine that keeps its margin on whole ellipsoids:
/// minimise $\|w\|^2/2 + C \sum_i v_i$ with $y_i(w^\top x_i + b) \ge 1 - v_i + \sqrt{w^\top P_i w}$, $v \ge 0$.
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
        self.at(&merged, &prepared, PathPoint { c: self.0.c, scale: 1.0 }, control)
    }

    /// `values` are pairs of `C` and a factor on the uncertainty.
    fn fit_path(
        &self,
        values: &serde_json::Value,
        data: &Dataset,
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        let pairs = Vec::<(f64, f64)>::deserialize(values)
            .map_err(|e| Error::BadParams(format!("pairs of C and a scale are needed: {e}")))?;
        let points: Vec<_> = pairs.into_iter().map(|(c, scale)| PathPoint { c, scale }).collect();
        self.path(data, &points, control)
    }
}

impl EllipsoidSvc {
    /// One fit for every point of a path, in the order given; the data are prepared once.
    pub fn path(
        &self,
        data: &Dataset,
        points: &[PathPoint],
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        for point in points {
            require(point.c > 0.0 && point.c.is_finite(), "C", point.c, "positive and finite")?;
            let good = point.scale >= 0.0 && point.scale.is_finite();
            require(good, "scale", point.scale, "finite and not negative")?;
        }
        let merged = Merged::new(&*self.0.class_weight.applied(data)?);
        let prepared = Prepared::new(&merged.data, data, &self.0.uncertainty)?;
        let one = |point: &PathPoint| self.at(&merged, &prepared, *point, control);
        control.install(|| points.par_iter().map(one).collect())
    }

    fn at(
        &self,
        merged: &Merged,
        prepared: &Prepared,
        point: PathPoint,
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

/// Rows centred, scaled by a power of two, and rotated into their own span where only lengths of w
/// matter and there are more features than rows; ellipsoids scaled alike.
struct Prepared {
    x: Dense,
    means: Vec<f64>,
    scale: f64,
    /// Orthonormal rows: w = basis' * (w in the span).
    basis: Option<Dense>,
    ellipsoids: Ellipsoids,
}

impl Prepared {
    fn new(data: &Dataset, given: &Dataset, shared: &Shape) -> Result<Self> {
        let mut x = data.features().to_dense();
        let (n, p) = (x.nrows(), x.ncols());
        let largest = x.max_abs();
        if largest > 1e153 {
            return Err(Error::BadData(format!(
                "a feature value of {largest:.1e} has no finite square: rescale the features"
            )));
        }
        let means = x.tr_mul_vec(&vec![1.0 / n as f64; n]);
        for i in 0..n {
            x.row_mut(i).iter_mut().zip(&means).for_each(|(v, m)| *v -= m);
        }
        let size = x.max_abs();
        let scale = if size > 0.0 { 2.0_f64.powi(exponent(size)) } else { 1.0 };
        x.data_mut().iter_mut().for_each(|v| *v /= scale);
        let mut ellipsoids = Ellipsoids::traced(data, given, shared)?.scaled(1.0 / scale);
        let mut basis = None;
        if p > n
            && let Some(balls) = ellipsoids.balls_in(n)
        {
            let (q, r) = thin_qr(&x.transpose());
            x = r.transpose();
            basis = Some(q.transpose());
            ellipsoids = balls;
        }
        Ok(Self { x, means, scale, basis, ellipsoids })
    }

    fn fit(
        &self,
        binary: &BinaryProblem<'_>,
        ellipsoids: &Ellipsoids,
        c: f64,
        params: &EllipsoidParams,
        control: &Control,
    ) -> Result<BinaryFit> {
        let n = self.x.nrows();
        let unit = self.scale * self.scale;
        let cap: Vec<f64> = binary.weights.iter().map(|w| c * w * unit).collect();
        let grouped = ellipsoids.grouped(n);
        let problem = Problem {
            x: &self.x,
            y: &binary.y,
            cap: &cap,
            of: &grouped.of,
            multiplier: &grouped.multiplier,
            shapes: &grouped.shapes,
        };
        let (up, down) = problem.caps();
        let stop = Stop {
            absolute: 0.5 * params.tol * unit,
            relative: 0.5 * params.tol,
            max_iter: params.max_iter,
        };
        let (answer, n_iter) = if up > 0.0 && down > 0.0 {
            solve(&problem, stop, control)?
        } else {
            let zeta = Dense::zeros(problem.shapes.len(), self.x.ncols());
            let b = if up > 0.0 { 1.0 } else { -1.0 };
            (Answer { w: vec![0.0; self.x.ncols()], b, a: vec![0.0; n], zeta }, 1)
        };
        let scaled = certify(&problem, &answer);
        let certificate =
            crate::Certificate { primal: scaled.primal / unit, dual: scaled.dual / unit };
        let (weights, intercept) = self.in_user_units(&answer);
        if weights.iter().chain([&intercept]).any(|v| !v.is_finite()) {
            return Err(Error::Numerical(
                "the ellipsoid SVM left the range of numbers; rescale the features".into(),
            ));
        }
        let mut warnings = Vec::new();
        if weights.iter().all(|v| *v == 0.0) && up > 0.0 && down > 0.0 {
            warnings.push("the uncertainty is so large that w = 0 is optimal: all rows get one class; use a smaller `uncertainty`".into());
        }
        Ok(BinaryFit {
            weights,
            intercept,
            certificate: Some(certificate),
            n_iter,
            row_outputs: Vec::new(),
            outputs: Vec::new(),
            warnings,
            route: Vec::new(),
        })
    }

    fn in_user_units(&self, answer: &Answer) -> (Vec<f64>, f64) {
        let spanned = match &self.basis {
            Some(basis) => basis.tr_mul_vec(&answer.w),
            None => answer.w.clone(),
        };
        let weights: Vec<f64> = spanned.iter().map(|w| w / self.scale).collect();
        let shift: f64 = weights.iter().zip(&self.means).map(|(w, m)| w * m).sum();
        (weights, answer.b - shift)
    }
}

/// The power of two nearest above `size`.
#[expect(clippy::cast_possible_truncation, reason = "exponents of f64 fit")]
fn exponent(size: f64) -> i32 {
    size.log2().ceil() as i32
}
