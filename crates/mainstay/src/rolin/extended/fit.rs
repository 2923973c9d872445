//! `variant = "extended"`: from few rows, choosing one candidate is mostly noise; averaging calibrated
//! ones is not.
//!
//! Three scalings of the centred features, two families of candidates in each: ridge regressions on the
//! labels, which are ROLIN's robust direction with k = 0 (Theorem 2), and penalised fits of the loss
//! itself; these in z-scores too. Every candidate is calibrated on its out-of-fold scores
//! ([`super::calibrate`]), which tells how far it can be believed, and the average of all, weighted by
//! calibrated out-of-fold loss, is again one linear function. With more rows the fit that cross-validation alone would choose joins it as it is:
//! classes that hardly overlap need no caution.
//!
//! Out-of-fold scores of ridge regressions cost no refit ([`super::ridge_folds`]); from many rows only the
//! leading principal coordinates are kept ([`super::view`]), so that nothing of order rows by rows is made.

use rayon::prelude::*;

use super::calibrate::{Calibration, calibrate};
use super::candidate::{Family, Uncalibrated, Weighted, averages, table};
use super::constants::ExtendedConstants;
use super::penalised_path;
use super::ridge_folds::{self, Repeats, Targets};
use super::view::{Ranges, Scaling, View};
use crate::control::Control;
use crate::data::{ClassWeight, Dataset};
use crate::error::{Error, Result};
use crate::folds::{Split, fold_warning};
use crate::linalg::vector;
use crate::loss::Loss;
use crate::model::{Fitted, Linear, Model};
use crate::rolin::shared::kernel::{Gram, KernelKind};
use crate::rolin::shared::losses::{PaperLoss, link};
use crate::rolin::shared::row_weights::{Counted, Plan, RowWeights};
use crate::rolin::{Normalize, Scoring};

/// Checked settings.
#[derive(Debug, Clone)]
pub(in crate::rolin) struct Extended {
    pub(in crate::rolin) loss: Loss,
    pub(in crate::rolin) scoring: Scoring,
    pub(in crate::rolin) normalize: Normalize,
    pub(in crate::rolin) class_weight: ClassWeight,
    pub(in crate::rolin) splits: Plan,
    pub(in crate::rolin) kernel: KernelKind,
    pub(in crate::rolin) constants: ExtendedConstants,
}

/// The labels of every binary problem, what rows count, and how they are split.
struct Task<'a> {
    labels: Vec<Vec<f64>>,
    weights: RowWeights,
    splits: Repeats<'a>,
}

impl<'a> Task<'a> {
    fn new(data: &Dataset, splits: &'a [Split]) -> Result<Self> {
        let labels = if data.n_classes() == 2 {
            vec![data.signs(1)]
        } else {
            (0..data.n_classes()).map(|class| data.signs(class)).collect()
        };
        let splits = Repeats::new(splits, data.len());
        if !splits.cover() {
            let rule = "splits that hold every row out once, one repetition after the other";
            return Err(Error::param("cv", "splits", rule));
        }
        Ok(Self { labels, weights: RowWeights::of(data), splits })
    }
}

impl Extended {
    pub(in crate::rolin) fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let rows = Counted::new(data, &self.class_weight, &self.splits, self.kernel)?;
        let fitted = control.install(|| self.fit_here(&rows.data, &rows.plan, control))?;
        Ok(rows.restored(fitted))
    }

    fn fit_here(&self, data: &Dataset, folds: &Plan, control: &Control) -> Result<Fitted> {
        let link = link(self.loss);
        let splits = folds.splits(data)?;
        let task = Task::new(data, &splits)?;
        let (judged, views, model) = if let Some(gram) = Gram::new(self.kernel, data)? {
            let views = vec![View::from_kernel(&gram.centred(), &task.weights)?];
            let judged = self.judge(&views, &task, control)?;
            let means = gram.means();
            let row_weights = |sums: &[Vec<f64>]| views[0].spectrum.row_weights(&sums[0]);
            let (dual, intercept) = averages(&judged, &views, &means, row_weights);
            (judged, views, gram.model(data, dual, intercept, link))
        } else {
            let (views, means) = self.views(data, control)?;
            let judged = self.judge(&views, &task, control)?;
            let feature_weights = |sums: &[Vec<f64>]| {
                let mut coef = vec![0.0; data.n_features()];
                for (view, sum) in views.iter().zip(sums) {
                    view.add_features(data.features(), &means, sum, &mut coef);
                }
                coef
            };
            let (coef, intercept) = averages(&judged, &views, &means, feature_weights);
            (judged, views, Model::Linear(Linear { coef, intercept, link }))
        };
        let mut fitted =
            Fitted::new(model, splits.len()).with("candidates", table(&judged, &views));
        if folds.given.is_none() {
            fitted.warnings.extend(fold_warning(data, folds.folds));
        }
        fitted.warnings.extend(View::warning(&views));
        Ok(fitted)
    }

    /// The scaled views of the features, and the features' means.
    fn views(&self, data: &Dataset, control: &Control) -> Result<(Vec<View>, Vec<f64>)> {
        let all = [Scaling::None, Scaling::Range, Scaling::RootRange, Scaling::ZScore];
        let scalings = match self.normalize {
            Normalize::Fixed(false) => &all[..1],
            Normalize::Fixed(true) => &all[1..],
            Normalize::Rule(_) => &all,
        };
        let x = data.features().to_dense();
        let ranges = Ranges::learn(&x, &RowWeights::of(data));
        let one = |scaling: &Scaling| {
            control.check()?;
            View::new(&x, &ranges, *scaling, control)
        };
        let views = scalings.par_iter().map(one).collect::<Result<_>>()?;
        Ok((views, ranges.means))
    }

    /// All candidates of every binary problem, calibrated and weighted.
    fn judge(
        &self,
        views: &[View],
        task: &Task<'_>,
        control: &Control,
    ) -> Result<Vec<Vec<Weighted>>> {
        let labels = &task.labels;
        let mut raw: Vec<Vec<Uncalibrated>> = labels.iter().map(|_| Vec::new()).collect();
        for (v, view) in views.iter().enumerate() {
            control.check()?;
            if view.is_robust() {
                self.add_robust(v, view, task, control, &mut raw)?;
            }
            for (class, raw) in raw.iter_mut().enumerate() {
                for (family, strengths) in self.penalties(view, &task.weights) {
                    let view = (v, view, family);
                    self.add_penalised(view, &strengths, (task, class), control, raw)?;
                }
            }
            control.progress(v as u64 + 1, views.len() as u64);
        }
        let weigh = |(raw, y): (_, &Vec<f64>)| self.weigh(raw, y, &task.weights);
        let all = raw.into_iter().zip(labels).map(weigh).collect();
        Ok(all)
    }

    fn add_robust(
        &self,
        index: usize,
        view: &View,
        task: &Task<'_>,
        control: &Control,
        out: &mut [Vec<Uncalibrated>],
    ) -> Result<()> {
        let total = vector::norm_sq(&view.spectrum.d);
        let strengths = &self.constants.robust.strengths;
        let ridges: Vec<f64> = strengths.iter().map(|s| s * total).collect();
        let targets = Targets { labels: &task.labels, weights: &task.weights };
        let scores = ridge_folds::scores(view, &task.splits, &targets, &ridges, control)?;
        for ((y, out), scores) in task.labels.iter().zip(out).zip(scores) {
            for ((&strength, ridge), scores) in strengths.iter().zip(&ridges).zip(scores) {
                let mut weights = view.spectrum.loads(y);
                weights
                    .iter_mut()
                    .zip(&view.spectrum.d)
                    .for_each(|(w, d)| *w *= d / (d * d + ridge));
                let intercept = task.weights.sum(y) / task.weights.total();
                let family = Family::Robust;
                out.push(Uncalibrated {
                    view: index,
                    family,
                    strength,
                    scores,
                    weights,
                    intercept,
                });
            }
        }
        Ok(())
    }

    /// The families of penalised fits in one view, with their strengths relative to the mean square of a row.
    fn penalties(&self, view: &View, weights: &RowWeights) -> Vec<(Family, Vec<f64>)> {
        let mut all = vec![(Family::Penalised, self.constants.penalised.strengths.clone())];
        if self.loss == Loss::Logistic && view.is_standardised() && self.constants.fixed > 0.0 {
            // In bits, as the loss is.
            let evidence = self.constants.fixed_variance * weights.total();
            all.push((Family::Fixed, vec![1.0 / (evidence * std::f64::consts::LN_2)]));
        }
        all
    }

    fn add_penalised(
        &self,
        (index, view, family): (usize, &View, Family),
        relative: &[f64],
        (task, class): (&Task<'_>, usize),
        control: &Control,
        out: &mut Vec<Uncalibrated>,
    ) -> Result<()> {
        let (y, total) = (&task.labels[class], task.weights.total());
        // Repetitions fight the noise of small folds; larger samples need fewer.
        let wanted = (self.constants.penalised_rows as f64 / total).ceil();
        let enough = (1..task.splits.count()).find(|&c| c as f64 >= wanted);
        let splits = task.splits.first(enough.unwrap_or(task.splits.count()));
        let rows = view.spectrum.rows();
        let mean_square = mean_square(&view.spectrum.d, total);
        let strengths: Vec<f64> = relative.iter().map(|s| s * mean_square).collect();
        // The hinge has no curvature to follow; its squared form ranks rows alike.
        let loss =
            PaperLoss::of(if self.loss == Loss::Hinge { Loss::SquaredHinge } else { self.loss });
        let mut jobs: Vec<Vec<usize>> = splits.all.iter().map(|s| s.train.clone()).collect();
        jobs.push((0..y.len()).collect());
        let fit = |train: &Vec<usize>| {
            control.check()?;
            let labels: Vec<f64> = train.iter().map(|&i| y[i]).collect();
            let shares = task.weights.select(train).shares();
            let loss = loss.on(shares.as_deref());
            penalised_path::fit_path(loss, &rows.select_rows(train), &labels, &strengths, control)
        };
        let paths: Vec<Vec<(Vec<f64>, f64)>> = jobs.par_iter().map(fit).collect::<Result<_>>()?;
        let Some((full, folds)) = paths.split_last() else { return Ok(()) };
        for (s, &strength) in relative.iter().enumerate() {
            let fits = folds.iter().map(|path| &path[s]);
            let scores = splits.scores(&rows, fits);
            let (weights, intercept) = full[s].clone();
            out.push(Uncalibrated { view: index, family, strength, scores, weights, intercept });
        }
        Ok(())
    }

    /// Weight of candidate c: its family's share times exp(-sharpness n (loss_c - least loss)). Then the
    /// chosen candidate takes its share of the whole, and of that the fit with the fixed penalty its own.
    fn weigh(&self, raw: Vec<Uncalibrated>, y: &[f64], weights: &RowWeights) -> Vec<Weighted> {
        let (fixed, raw): (Vec<_>, Vec<_>) =
            raw.into_iter().partition(|r| r.family == Family::Fixed);
        let count = |family| raw.iter().filter(|r| r.family == family).count().max(1) as f64;
        let (robust, penalised) = (&self.constants.robust, &self.constants.penalised);
        let (a, b) = (count(Family::Robust), count(Family::Penalised));
        let group = |family: Family| match family {
            Family::Robust => (robust, robust.share / a),
            Family::Penalised | Family::Chosen | Family::Fixed => (penalised, penalised.share / b),
        };
        let calibrations: Vec<Calibration> = raw
            .par_iter()
            .map(|raw| calibrate(self.loss, &raw.scores, (y, weights), group(raw.family).0))
            .collect();
        let least = calibrations.iter().map(|c| self.cost(c)).fold(f64::INFINITY, f64::min);
        let chosen = self.chosen(&raw, y, weights);
        let mut judged: Vec<Weighted> = raw
            .into_iter()
            .zip(calibrations)
            .map(|(raw, calibration)| {
                let excess = weights.total() * (self.cost(&calibration) - least);
                let weight = group(raw.family).1 * (-self.constants.sharpness * excess).exp();
                Weighted { raw, calibration, weight }
            })
            .collect();
        let sum: f64 = judged.iter().map(|j| j.weight).sum();
        let left = 1.0 - chosen.as_ref().map_or(0.0, |c| c.weight);
        scale_weights(&mut judged, left / sum);
        judged.extend(chosen);
        for raw in fixed {
            let weight = self.constants.fixed;
            scale_weights(&mut judged, 1.0 - weight);
            let calibration = Calibration::none(self.loss, &raw.scores, y, weights);
            judged.push(Weighted { raw, calibration, weight });
        }
        judged
    }

    /// In units in which a candidate that knows nothing loses ln 2, as under the logistic loss.
    fn cost(&self, calibration: &Calibration) -> f64 {
        match self.scoring {
            Scoring::Loss => calibration.loss * std::f64::consts::LN_2 / self.loss.get().value(0.0),
            Scoring::ZeroOne => calibration.error,
        }
    }

    /// The penalised fit that cross-validation alone would choose, with its share.
    fn chosen(&self, raw: &[Uncalibrated], y: &[f64], weights: &RowWeights) -> Option<Weighted> {
        let weight = self.constants.chosen_share(weights.total());
        let all = raw.iter().filter(|r| weight > 0.0 && r.family == Family::Penalised);
        let judged = all.map(|r| (r, Calibration::none(self.loss, &r.scores, y, weights)));
        let (best, calibration) =
            judged.min_by(|a, b| self.cost(&a.1).total_cmp(&self.cost(&b.1)))?;
        let raw = Uncalibrated { family: Family::Chosen, ..best.clone() };
        Some(Weighted { raw, calibration, weight })
    }
}

/// The sum of squares of a row on average, by the singular values of all rows; 1 where every row is zero.
fn mean_square(d: &[f64], total: f64) -> f64 {
    if d.is_empty() { 1.0 } else { vector::norm_sq(d) / total }
}

fn scale_weights(candidates: &mut [Weighted], factor: f64) {
    for candidate in candidates {
        candidate.weight *= factor;
    }
}
