//! Size of the ellipsoids and weight of the losses by cross-validation under the stated noise.

use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::estimator::EllipsoidParams;
use crate::control::Control;
use crate::data::{Dataset, Shape};
use crate::error::{Error, Result, require};
use crate::folds::{Split, generator, stratified};
use crate::model::{Estimator, Fitted, PathPoint};
use crate::optim::{Candidates, Rule, Scores, Scoring};
use crate::uncertainty::ellipsoid::Ellipsoids;

/// How often the noise of held-out rows is drawn.
const DRAWS: usize = 5;

/// Parameters of [`EllipsoidSvcCv`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EllipsoidCvParams {
    /// One standard deviation of the noise, as an ellipsoid; ellipsoids that come with the data replace it.
    pub uncertainty: Shape,
    /// Factors on the ellipsoids to try; 0 is the plain SVM.
    pub scales: Vec<f64>,
    /// Weights of the losses to try.
    #[serde(rename = "Cs")]
    pub cs: Vec<f64>,
    /// Number of folds.
    pub cv: usize,
    /// What is measured on held-out rows.
    pub scoring: Scoring,
    /// The best candidate, or the simplest within one standard error of it.
    pub rule: Rule,
    /// Proven relative gap of every fit.
    pub tol: f64,
    /// Iteration limit of every fit.
    pub max_iter: usize,
    /// Seed of the folds and of the noise; none is 0.
    pub random_state: Option<u64>,
}

impl Default for EllipsoidCvParams {
    fn default() -> Self {
        let one = EllipsoidParams::default();
        Self {
            uncertainty: one.uncertainty,
            scales: vec![0.0, 0.1, 0.25, 0.5, 1.0],
            cs: vec![0.001, 0.01, 0.1, 1.0, 10.0],
            cv: 5,
            scoring: Scoring::default(),
            rule: Rule::default(),
            tol: one.tol,
            max_iter: one.max_iter,
            random_state: None,
        }
    }
}

impl EllipsoidCvParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<EllipsoidSvcCv> {
        require(!self.scales.is_empty(), "scales", "[]", "at least one value")?;
        require(!self.cs.is_empty(), "Cs", "[]", "at least one value")?;
        for &scale in &self.scales {
            let good = scale >= 0.0 && scale.is_finite();
            require(good, "scales", scale, "finite and not negative")?;
        }
        for &c in &self.cs {
            require(c > 0.0 && c.is_finite(), "Cs", c, "positive and finite")?;
        }
        require(self.cv >= 2, "cv", self.cv, "at least 2")?;
        self.one().check()?;
        Ok(EllipsoidSvcCv(self))
    }

    fn one(&self) -> EllipsoidParams {
        EllipsoidParams {
            uncertainty: self.uncertainty.clone(),
            tol: self.tol,
            max_iter: self.max_iter,
            ..EllipsoidParams::default()
        }
    }

    /// All pairs, ascending in the weight of the losses and then in the scale.
    fn points(&self) -> Vec<PathPoint> {
        let ascending = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let scales = ascending(&self.scales);
        let point = |c: f64, scale: f64| PathPoint { scale: Some(scale), ..PathPoint::c(c) };
        let of = |c: f64| scales.iter().map(move |&scale| point(c, scale));
        ascending(&self.cs).into_iter().flat_map(of).collect()
    }
}

/// [`super::EllipsoidSvc`] with the size of its ellipsoids and `C` chosen on held-out rows with the stated noise.
///
/// An ellipsoid of one standard deviation around *every* row is a guard against all of them being wrong by that much the same
/// way, which random noise never is: guarding in full often leaves no weights at all. How much of it pays is asked of the data. The
/// held-out rows of every fold get normal noise whose standard deviations are the half-axes of their ellipsoids, five times.
/// Of equals the smallest `C` and then the smallest scale win.
#[derive(Debug, Clone)]
pub struct EllipsoidSvcCv(EllipsoidCvParams);

impl Estimator for EllipsoidSvcCv {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let params = &self.0;
        if data.weights().is_some() {
            return Err(Error::BadData("the cross-validated fit knows no sample weights".into()));
        }
        let points = params.points();
        let seed = params.random_state.unwrap_or(0);
        let splits = stratified(data.labels(), params.cv, 1, seed);
        let quiet = control.without_progress();
        let judge = |split: &Split| self.judge(data, split, &points, &quiet);
        let scores = Scores::cross_validate(&splits, control, judge)?;
        let best = scores.take(params.rule, |_| true, |a, b| b.cmp(&a))?;
        let chosen = points[best];
        let path = params.one().check()?.fit_path(&[chosen], data, &quiet)?;
        let none = || Error::Numerical("the path has no fit".into());
        let fitted = path.into_iter().next().ok_or_else(none)?;
        let column = |pick: fn(&PathPoint) -> Option<f64>| -> Vec<f64> {
            points.iter().filter_map(pick).collect()
        };
        let named = Candidates::new(points.len())
            .with("C", column(|p| p.c))
            .with("scale", column(|p| p.scale));
        Ok(fitted
            .with("C", chosen.c.unwrap_or(f64::NAN))
            .with("scale", chosen.scale.unwrap_or(f64::NAN))
            .with("cv_results", scores.table(named)))
    }
}

impl EllipsoidSvcCv {
    fn judge(
        &self,
        data: &Dataset,
        split: &Split,
        points: &[PathPoint],
        control: &Control,
    ) -> Result<Option<Vec<f64>>> {
        let params = &self.0;
        let (train, holdout) = (data.select_rows(&split.train), data.select_rows(&split.holdout));
        let first = train.labels().first();
        if holdout.is_empty() || train.labels().iter().all(|label| Some(label) == first) {
            return Ok(None);
        }
        let fits = params.one().check()?.fit_path(points, &train, control)?;
        let noise = Ellipsoids::new(&holdout, &params.uncertainty)?;
        // Every split has noise of its own, whatever the order in which they are judged.
        let place = split.holdout.first().map_or(0, |&row| row as u64);
        let mut rng = generator(params.random_state.unwrap_or(0) ^ (place << 20));
        let mut sums = vec![0.0; points.len()];
        for _ in 0..DRAWS {
            let mut rows = holdout.features().to_dense();
            for i in 0..rows.nrows() {
                let z: Vec<f64> =
                    (0..rows.ncols()).map(|_| StandardNormal.sample(&mut rng)).collect();
                noise.row(i).push(1.0, &z, rows.row_mut(i));
            }
            let rows = rows.into();
            for (sum, fitted) in sums.iter_mut().zip(&fits) {
                let scores = fitted.model.decision(&rows)?;
                *sum += params.scoring.of(holdout.labels(), &scores).unwrap_or(f64::NAN);
            }
        }
        Ok(Some(sums.into_iter().map(|sum| sum / DRAWS as f64).collect()))
    }
}
