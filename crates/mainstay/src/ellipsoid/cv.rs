//! Size of the ellipsoids and weight of the losses by cross-validation under the stated noise.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::estimator::EllipsoidParams;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged, Shape};
use crate::error::{Error, Result, require};
use crate::folds::{Cv, Dealt, Split, generator};
use crate::model::{Estimator, Fitted, PathPoint};
use crate::optim::{Candidates, Collapsed, Rule, Scores, Scoring};
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
    /// Number of folds, or the splits.
    pub cv: Cv,
    /// What is measured on held-out rows; none is [`Scoring::usual`].
    pub scoring: Option<Scoring>,
    /// The best candidate, or the simplest within one standard error of it.
    pub rule: Rule,
    /// Weight of each class, in the fits and on held-out rows.
    pub class_weight: ClassWeight,
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
            cv: Cv::Folds(5),
            scoring: None,
            rule: Rule::default(),
            class_weight: ClassWeight::None,
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
        self.cv.check()?;
        self.one().check()?;
        Ok(EllipsoidSvcCv(self))
    }

    fn one(&self) -> EllipsoidParams {
        EllipsoidParams {
            uncertainty: self.uncertainty.clone(),
            class_weight: self.class_weight.clone(),
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
/// Of equals the smallest `C` and then the smallest scale win. Candidates that give one class to all held-out rows in half of the
/// splits are taken only if all do.
#[derive(Debug, Clone)]
pub struct EllipsoidSvcCv(EllipsoidCvParams);

impl Estimator for EllipsoidSvcCv {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let class_weight = self.0.class_weight.settled(data)?;
        let Dealt { data: rows, splits } =
            self.0.cv.deal(data, self.0.random_state.unwrap_or(0))?;
        let weights = class_weight.weights_of(&rows)?;
        let usual = || Scoring::usual(&rows, weights.as_deref(), &splits);
        let scoring = Some(self.0.scoring.unwrap_or_else(usual));
        let params = &EllipsoidCvParams { scoring, class_weight, ..self.0.clone() };
        let points = params.points();
        let (quiet, collapsed) = (control.without_progress(), Collapsed::new(points.len()));
        // Every split has noise of its own, whatever the order in which they are judged.
        let number = |split: &Split| splits.iter().position(|other| other == split).unwrap_or(0);
        let judge = |split: &Split| {
            let mut noise =
                generator(params.random_state.unwrap_or(0) ^ (number(split) as u64) << 20);
            let fits = params.fits(&rows, split, &points, &quiet)?;
            params.judge(&fits, &rows.select_rows(&split.holdout), &mut noise, &collapsed).map(Some)
        };
        let scores = Scores::cross_validate(&splits, control, judge)?;
        let lively = |k: usize| collapsed.is_lively(k, splits.len());
        let best = scores.take(params.rule, lively, |a, b| b.cmp(&a))?;
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

impl EllipsoidCvParams {
    fn fits(
        &self,
        data: &Dataset,
        split: &Split,
        points: &[PathPoint],
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        self.one().check()?.fit_path(points, &data.select_rows(&split.train), control)
    }

    /// How good every fit is on the held-out rows.
    fn judge(
        &self,
        fits: &[Fitted],
        holdout: &Dataset,
        rng: &mut ChaCha8Rng,
        collapsed: &Collapsed,
    ) -> Result<Vec<f64>> {
        // Merged: copies of a row and its weight get the same noise.
        let holdout = Merged::new(holdout).data;
        for (k, fitted) in fits.iter().enumerate() {
            collapsed.note(k, holdout.labels(), &fitted.model.predict(holdout.features())?);
        }
        let weights = self.class_weight.weights_of(&holdout)?;
        let noise = Ellipsoids::new(&holdout, &self.uncertainty)?;
        let mut sums = vec![0.0; fits.len()];
        for _ in 0..DRAWS {
            let mut rows = holdout.features().to_dense();
            for i in 0..rows.nrows() {
                let z: Vec<f64> = (0..rows.ncols()).map(|_| StandardNormal.sample(rng)).collect();
                noise.row(i).push(1.0, &z, rows.row_mut(i));
            }
            let rows = rows.into();
            for (sum, fitted) in sums.iter_mut().zip(fits) {
                let scores = fitted.model.decision(&rows)?;
                let scoring = self.scoring.unwrap_or_default();
                let score = scoring.of(holdout.labels(), scores, weights.as_deref());
                *sum += score.unwrap_or(f64::NAN);
            }
        }
        Ok(sums.into_iter().map(|sum| sum / DRAWS as f64).collect())
    }
}
