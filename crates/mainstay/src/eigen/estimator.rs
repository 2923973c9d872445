//! Parameters, their defaults and checks, and the classifiers without ellipsoids.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::certificate::{Side, worst_case_ratios};
use super::moments::Moments;
use super::nominal::{merge, norm_robust};
pub use super::problem::Regularization;
use super::strategy::{PairPlanes, nominal_planes, planes_of};
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged};
use crate::error::{Error, Result, require};
use crate::linalg::{Dense, vector};
use crate::model::{Estimator, Fitted, Model, Output, Planes};
use crate::uncertainty::ellipsoid::Ellipsoids;

/// How more than two classes are told apart once every class has its plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// The nearest training point after projecting every class on its plane (as published).
    Points,
    /// The nearest plane, Eq. (6) with as many planes as classes.
    Plane,
}

/// Parameters of [`Regec`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RegecParams {
    /// What keeps the quotient well posed.
    pub regularization: Regularization,
    /// Its strength.
    pub delta: f64,
    /// More than two classes: what decides.
    pub rule: Rule,
    /// Weight of each class.
    pub class_weight: ClassWeight,
}

impl Default for RegecParams {
    fn default() -> Self {
        Self {
            regularization: Regularization::Cross,
            delta: 1e-4,
            rule: Rule::Points,
            class_weight: ClassWeight::None,
        }
    }
}

impl RegecParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<Regec> {
        require(
            self.delta >= 0.0 && self.delta.is_finite(),
            "delta",
            self.delta,
            "finite and not negative",
        )?;
        Ok(Regec(self))
    }
}

/// Regularised generalized eigenvalue classifier, Eqs. (1)-(7): the plane of a class minimises its
/// squared distances to the class's rows over those to another class's.
///
/// No iteration and no certificate: the planes are eigenvectors. More than two classes: planes of all
/// pairs, merged by singular vectors.
#[derive(Debug, Clone)]
pub struct Regec(RegecParams);

/// Data sets with more numbers than this are not merged first: it would cost more than the fit, and sums of
/// weighted rows and of repeated rows agree to the last digits anyway.
const MERGE_LIMIT: usize = 1 << 20;

/// Equal rows merged, where it is cheap.
///
/// Of two classes each needs two rows. Among more a class of one row keeps its plane through that row: its
/// direction still comes from the others.
pub(super) fn prepare(data: &Dataset) -> Result<Cow<'_, Dataset>> {
    enough_rows(&data.class_counts())?;
    if data.len().saturating_mul(data.n_features()) > MERGE_LIMIT {
        return Ok(Cow::Borrowed(data));
    }
    Ok(Cow::Owned(Merged::new(data).data))
}

/// An error if a class has too few rows of positive weight for a plane.
pub(super) fn enough_rows(counts: &[usize]) -> Result<()> {
    if let Some(class) = counts.iter().position(|&c| c < 2)
        && (counts[class] == 0 || counts.len() == 2)
    {
        return Err(Error::BadData(format!(
            "class index {class} has {} rows of positive weight: a plane for it needs at least 2",
            counts[class]
        )));
    }
    Ok(())
}

/// What class weights do. A factor on all rows of a class cancels in the quotient, so it acts where
/// classes compete: the squared distance to a class's plane is divided by the class's factor.
pub(super) fn reach(class_weight: &ClassWeight, data: &Dataset) -> Result<Vec<f64>> {
    let factors = class_weight.factors(data)?.unwrap_or_default();
    checked_reach(&factors)
}

pub(super) fn checked_reach(factors: &[f64]) -> Result<Vec<f64>> {
    for &factor in factors {
        let rule = "positive and finite for every class";
        require(factor > 0.0 && factor.is_finite(), "class_weight", factor, rule)?;
    }
    Ok(factors.iter().map(|f| f.sqrt()).collect())
}

impl Estimator for Regec {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let reach = reach(&self.0.class_weight, data)?;
        let data = prepare(data)?;
        let (moments, planes, route) =
            nominal_planes(&data, self.0.regularization, self.0.delta, control)?;
        let family = Family { moments: &moments, planes, reach };
        let points = (self.0.rule == Rule::Points).then_some(&*data);
        let mut fitted = with_plain_ratios(family.finish(points)?, &moments, &data, control)?;
        fitted.route = route.into_iter().map(str::to_owned).collect();
        Ok(fitted)
    }
}

impl Regec {
    /// A fit from sums alone (`partial_fit`): with more than two classes the nearest plane decides,
    /// since no training points are at hand. Balanced class weights are not known then.
    pub fn fit_moments(&self, moments: &Moments, control: &Control) -> Result<Fitted> {
        if let Some(class) = moments.counts().iter().position(|&c| c == 0) {
            return Err(Error::BadData(format!("no row of class index {class} was seen yet")));
        }
        let reach = match &self.0.class_weight {
            ClassWeight::Factors(factors) => checked_reach(factors)?,
            _ => Vec::new(),
        };
        let (planes, _) = planes_of(moments, self.0.regularization, self.0.delta, control)?;
        let fitted = Family { moments, planes, reach }.finish(None)?;
        let Model::Planes(model) = &fitted.model else { return Ok(fitted) };
        match moments.ratios(&model.borrowed()) {
            Some(ratios) => Ok(fitted.with("worst_case_ratio", ratios)),
            None => Ok(fitted),
        }
    }
}

/// Planes of every class against every other, in the order of the other classes.
pub(super) struct Family<'a> {
    pub moments: &'a Moments,
    pub planes: PairPlanes,
    /// See [`reach`].
    pub reach: Vec<f64>,
}

impl Family<'_> {
    /// Merges the planes and names the results; `points` are the rows to project where these decide.
    pub(super) fn finish(&self, points: Option<&Dataset>) -> Result<Fitted> {
        let classes = self.planes.len();
        let merged = (0..classes)
            .map(|k| merge(self.moments, k, &self.planes[k]))
            .collect::<Result<Vec<_>>>()?;
        let mut model = Planes {
            planes: merged.iter().map(|(w, _)| w.clone()).collect(),
            offsets: merged.iter().map(|(_, g)| *g).collect(),
            reach: self.reach.clone(),
            points: None,
        };
        if let Some(data) = points.filter(|_| classes > 2) {
            model.points = Some(project(data, &model));
        }
        model.validate().map_err(|e| Error::Numerical(e.to_string()))?;
        let values: Vec<Vec<f64>> =
            self.planes.iter().map(|row| row.iter().map(|p| p.quotient).collect()).collect();
        let eigenvalues: Output = if classes == 2 {
            values.concat().into()
        } else {
            (&Dense::from_rows(classes, classes - 1, values.concat())).into()
        };
        let planes = Dense::from_rows(classes, self.moments.n_features(), model.planes.concat());
        let offsets = model.offsets.clone();
        Ok(Fitted::new(Model::Planes(model), 1)
            .with("planes", &planes)
            .with("offsets", offsets)
            .with("eigenvalues", eigenvalues))
    }
}

/// The rows of every class, projected on its plane.
fn project(data: &Dataset, model: &Planes) -> Vec<Vec<Vec<f64>>> {
    let mut points = vec![Vec::new(); model.planes.len()];
    for (i, &k) in data.labels().iter().enumerate() {
        if data.weights().is_some_and(|w| w[i] == 0.0) {
            continue;
        }
        let mut point = vec![0.0; data.n_features()];
        data.features().row(i).add_scaled_to(1.0, &mut point);
        let distance = vector::dot(&point, &model.planes[k]) - model.offsets[k];
        vector::axpy(-distance, &model.planes[k], &mut point);
        points[k].push(point);
    }
    points
}

/// Adds `worst_case_ratio`: every class against all others, recomputed from the data.
pub(super) fn with_ratios(
    fitted: Fitted,
    data: &Dataset,
    ellipsoids: Option<&Ellipsoids>,
    control: &Control,
) -> Result<Fitted> {
    let Model::Planes(model) = &fitted.model else { return Ok(fitted) };
    let side = |k: usize, label: usize| if k == label { Side::Own } else { Side::Other };
    let ratios = worst_case_ratios(data, ellipsoids, &model.borrowed(), side, control)?;
    Ok(fitted.with("worst_case_ratio", ratios))
}

/// The same without ellipsoids, from the sums where they are accurate enough.
fn with_plain_ratios(
    fitted: Fitted,
    moments: &Moments,
    data: &Dataset,
    control: &Control,
) -> Result<Fitted> {
    let Model::Planes(model) = &fitted.model else { return Ok(fitted) };
    match moments.ratios(&model.borrowed()) {
        Some(ratios) => Ok(fitted.with("worst_case_ratio", ratios)),
        None => with_ratios(fitted, data, None, control),
    }
}

/// Parameters of [`NormRobustRegec`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NormRobustRegecParams {
    /// Norm of the error of a plane's own class's matrix (the theorem's eta_1).
    pub eta_a: f64,
    /// Norm of the error of the other class's matrix (the theorem's eta_2).
    pub eta_b: f64,
    /// More than two classes: what decides.
    pub rule: Rule,
    /// Weight of each class.
    pub class_weight: ClassWeight,
}

impl Default for NormRobustRegecParams {
    fn default() -> Self {
        Self { eta_a: 0.1, eta_b: 0.0, rule: Rule::Points, class_weight: ClassWeight::None }
    }
}

impl NormRobustRegecParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<NormRobustRegec> {
        for (name, value) in [("eta_a", self.eta_a), ("eta_b", self.eta_b)] {
            require(value >= 0.0 && value.is_finite(), name, value, "finite and not negative")?;
        }
        Ok(NormRobustRegec(self))
    }
}

/// Theorem 1: planes that are best against any error of the matrices G and H of bounded norm.
///
/// For either plane `eta_a` bounds the error of the plane's own class and `eta_b` that of the other.
#[derive(Debug, Clone)]
pub struct NormRobustRegec(NormRobustRegecParams);

impl Estimator for NormRobustRegec {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let reach = reach(&self.0.class_weight, data)?;
        let data = prepare(data)?;
        // The penalties are squares of lengths in the units of the features.
        data.check_small_squares()?;
        let moments = Moments::new(&data, control)?;
        let classes = data.n_classes();
        let mut planes = vec![Vec::new(); classes];
        for (a, list) in planes.iter_mut().enumerate() {
            for b in (0..classes).filter(|b| *b != a) {
                control.check()?;
                list.push(norm_robust(&moments, (a, b), self.0.eta_a, self.0.eta_b)?);
            }
        }
        let points = (self.0.rule == Rule::Points).then_some(&*data);
        let fitted = Family { moments: &moments, planes, reach }.finish(points)?;
        let mut fitted = fitted;
        if classes == 2
            && let Some(values) = fitted.outputs.get("eigenvalues").cloned()
        {
            // The eigenvalue of (12) is the worst case over the errors of the theorem.
            fitted.outputs.insert("worst_case_ratio".into(), values);
            return Ok(fitted);
        }
        with_plain_ratios(fitted, &moments, &data, control)
    }
}
