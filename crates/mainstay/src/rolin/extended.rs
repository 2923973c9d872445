//! `variant = "extended"`: from few rows, choosing one candidate is mostly noise; averaging calibrated
//! ones is not.
//!
//! Three scalings of the centred features, two families of candidates in each: ridge regressions on the
//! labels, which are ROLIN's robust direction with k = 0 (Theorem 2), and penalised fits of the loss
//! itself. Every candidate is calibrated on its out-of-fold scores ([`super::calibrate`]), which tells
//! how far it can be believed, and the average of all, weighted by calibrated out-of-fold loss, is again
//! one linear function.
//!
//! Out-of-fold scores of ridge regressions cost no refit: with the hat matrix H of all rows, the
//! residuals of fold F after fitting on the others are $(I - H_{FF})^{-1} (y - Hy)_F$ exactly, so one
//! decomposition for each scaling serves all strengths, splits and classes.

use rayon::prelude::*;

use super::calibrate::{Calibration, calibrate};
use super::kernel::{Gram, KernelKind};
use super::losses::PaperLoss;
use super::paper::{fold_warning, link};
use super::recipe::{Group, Recipe};
use super::ridge_fit;
use super::view::{Ranges, View};
use super::{Normalize, Scoring};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::folds::{Split, stratified};
use crate::linalg::{Cholesky, Dense, vector};
use crate::loss::Loss;
use crate::model::{Fitted, Linear, Model, Output};

/// Checked settings.
#[derive(Debug, Clone)]
pub(super) struct Extended {
    pub(super) loss: Loss,
    pub(super) scoring: Scoring,
    pub(super) normalize: Normalize,
    pub(super) n_folds: usize,
    pub(super) n_repeats: usize,
    pub(super) kernel: KernelKind,
    pub(super) seed: u64,
    pub(super) recipe: Recipe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Robust,
    Penalised,
}

/// One candidate before calibration.
struct Raw {
    view: usize,
    family: Family,
    strength: f64,
    /// Out-of-fold scores, one row for each repetition.
    scores: Vec<f64>,
    /// Fit on all rows, in principal coordinates.
    weights: Vec<f64>,
    intercept: f64,
}

/// One candidate with its place in the average.
struct Judged {
    raw: Raw,
    calibration: Calibration,
    weight: f64,
}

impl Extended {
    pub(super) fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        control.install(|| self.fit_here(data, control))
    }

    fn fit_here(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let link = link(self.loss);
        let (judged, views, model) = if let Some(gram) = Gram::new(self.kernel, data)? {
            let views = vec![View::from_kernel(&gram.centred())?];
            let judged = self.judge(&views, data, control)?;
            let means = gram.means();
            let (dual, intercept) = judged
                .iter()
                .map(|class| {
                    let (sums, intercept) = average(class, &views);
                    let dual = views[0].row_weights(&sums[0]);
                    let shift = vector::dot(&dual, &means);
                    (dual, intercept - shift)
                })
                .unzip();
            (judged, views, gram.model(data, dual, intercept, link))
        } else {
            let (views, means) = self.views(data, control)?;
            let judged = self.judge(&views, data, control)?;
            let (coef, intercept) = judged
                .iter()
                .map(|class| {
                    let (sums, intercept) = average(class, &views);
                    let mut coef = vec![0.0; data.n_features()];
                    for (view, sum) in views.iter().zip(&sums) {
                        view.add_features(data.features(), &means, sum, &mut coef);
                    }
                    let shift = vector::dot(&coef, &means);
                    (coef, intercept - shift)
                })
                .unzip();
            (judged, views, Model::Linear(Linear { coef, intercept, link }))
        };
        let mut fitted = Fitted::new(model, self.n_folds * self.n_repeats)
            .with("candidates", table(&judged, &views));
        fitted.warnings.extend(fold_warning(data, self.n_folds));
        Ok(fitted)
    }

    /// The scaled views of the features, and the features' means.
    fn views(&self, data: &Dataset, control: &Control) -> Result<(Vec<View>, Vec<f64>)> {
        let names: &[&'static str] = match self.normalize {
            Normalize::Fixed(false) => &["none"],
            Normalize::Fixed(true) => &["range", "root-range"],
            Normalize::Rule(_) => &["none", "range", "root-range"],
        };
        let x = data.features().to_dense();
        let ranges = Ranges::learn(&x);
        let one = |name: &&'static str| {
            control.check()?;
            View::new(&x, &ranges, name)
        };
        let views = names.par_iter().map(one).collect::<Result<_>>()?;
        Ok((views, ranges.means))
    }

    /// All candidates of every binary problem, calibrated and weighted.
    fn judge(&self, views: &[View], data: &Dataset, control: &Control) -> Result<Vec<Vec<Judged>>> {
        let labels: Vec<Vec<f64>> = if data.n_classes() == 2 {
            vec![data.signs(1)]
        } else {
            (0..data.n_classes()).map(|class| data.signs(class)).collect()
        };
        let splits = stratified(data.labels(), self.n_folds, self.n_repeats, self.seed);
        let mut raw: Vec<Vec<Raw>> = labels.iter().map(|_| Vec::new()).collect();
        for (v, view) in views.iter().enumerate() {
            control.check()?;
            self.add_robust(v, view, &splits, &labels, &mut raw)?;
            for (y, raw) in labels.iter().zip(&mut raw) {
                self.add_penalised(v, view, &splits, y, control, raw)?;
            }
            control.progress(v as u64 + 1, views.len() as u64);
        }
        let all = raw.into_iter().zip(&labels).map(|(raw, y)| self.weigh(raw, y)).collect();
        Ok(all)
    }

    fn add_robust(
        &self,
        index: usize,
        view: &View,
        splits: &[Split],
        labels: &[Vec<f64>],
        out: &mut [Vec<Raw>],
    ) -> Result<()> {
        let total = vector::norm_sq(&view.d);
        let found: Vec<Vec<Raw>> = self
            .recipe
            .robust
            .strengths
            .par_iter()
            .map(|&strength| robust(index, view, splits, labels, (strength, strength * total)))
            .collect::<Result<_>>()?;
        for per_class in found {
            for (out, raw) in out.iter_mut().zip(per_class) {
                out.push(raw);
            }
        }
        Ok(())
    }

    fn add_penalised(
        &self,
        index: usize,
        view: &View,
        splits: &[Split],
        y: &[f64],
        control: &Control,
        out: &mut Vec<Raw>,
    ) -> Result<()> {
        let group = &self.recipe.penalised;
        let n = y.len();
        // Repetitions fight the noise of small folds; larger samples need fewer.
        let per_repeat = folds_per_repeat(splits, n);
        let repeats = self.recipe.penalised_rows.div_ceil(n).max(1);
        let splits = &splits[..splits.len().min(repeats * per_repeat)];
        let rows = view.rows();
        let mean_square = if view.d.is_empty() { 1.0 } else { vector::norm_sq(&view.d) / n as f64 };
        let strengths: Vec<f64> = group.strengths.iter().map(|s| s * mean_square).collect();
        // The hinge has no curvature to follow; its squared form ranks rows alike.
        let loss = PaperLoss(if self.loss == Loss::Hinge { Loss::SquaredHinge } else { self.loss });
        let everything: Vec<usize> = (0..n).collect();
        let jobs: Vec<&[usize]> = splits
            .iter()
            .map(|s| s.train.as_slice())
            .chain(std::iter::once(everything.as_slice()))
            .collect();
        let paths: Vec<Vec<(Vec<f64>, f64)>> = jobs
            .par_iter()
            .map(|train| {
                control.check()?;
                let labels: Vec<f64> = train.iter().map(|&i| y[i]).collect();
                ridge_fit::path(loss, &rows.select_rows(train), &labels, &strengths)
            })
            .collect::<Result<_>>()?;
        let Some((full, folds)) = paths.split_last() else { return Ok(()) };
        for (s, &strength) in group.strengths.iter().enumerate() {
            let mut scores = vec![0.0; n * splits.len().div_ceil(per_repeat)];
            for (j, (split, path)) in splits.iter().zip(folds).enumerate() {
                let repeat = j / per_repeat;
                let (w, b) = &path[s];
                for &i in &split.holdout {
                    scores[repeat * n + i] = vector::dot(rows.row(i), w) + b;
                }
            }
            let (weights, intercept) = full[s].clone();
            let family = Family::Penalised;
            out.push(Raw { view: index, family, strength, scores, weights, intercept });
        }
        Ok(())
    }

    /// Weight of candidate c: its family's share times exp(-sharpness n (loss_c - least loss)).
    fn weigh(&self, raw: Vec<Raw>, y: &[f64]) -> Vec<Judged> {
        let count = |family| raw.iter().filter(|r| r.family == family).count().max(1) as f64;
        let counts = (count(Family::Robust), count(Family::Penalised));
        let calibrations: Vec<Calibration> = raw
            .par_iter()
            .map(|raw| calibrate(self.loss, &raw.scores, y, self.group(raw.family)))
            .collect();
        // In units in which a candidate that knows nothing loses ln 2, as under the logistic loss.
        let unit = std::f64::consts::LN_2 / self.loss.get().value(0.0);
        let cost = |c: &Calibration| match self.scoring {
            Scoring::Loss => c.loss * unit,
            Scoring::ZeroOne => c.error,
        };
        let least = calibrations.iter().map(&cost).fold(f64::INFINITY, f64::min);
        let mut judged: Vec<Judged> = raw
            .into_iter()
            .zip(calibrations)
            .map(|(raw, calibration)| {
                let members = if raw.family == Family::Robust { counts.0 } else { counts.1 };
                let excess = y.len() as f64 * (cost(&calibration) - least);
                let weight = self.group(raw.family).share / members
                    * (-self.recipe.sharpness * excess).exp();
                Judged { raw, calibration, weight }
            })
            .collect();
        let sum: f64 = judged.iter().map(|j| j.weight).sum();
        for j in &mut judged {
            j.weight /= sum;
        }
        judged
    }

    fn group(&self, family: Family) -> &Group {
        match family {
            Family::Robust => &self.recipe.robust,
            Family::Penalised => &self.recipe.penalised,
        }
    }
}

fn folds_per_repeat(splits: &[Split], n: usize) -> usize {
    let mut seen = 0;
    for (j, split) in splits.iter().enumerate() {
        seen += split.holdout.len();
        if seen >= n {
            return j + 1;
        }
    }
    splits.len().max(1)
}

/// Ridge regression on the labels, out of fold and on all rows, for every class at once.
fn robust(
    index: usize,
    view: &View,
    splits: &[Split],
    labels: &[Vec<f64>],
    (strength, ridge): (f64, f64),
) -> Result<Vec<Raw>> {
    let n = view.u.nrows();
    let shares: Vec<f64> = view.d.iter().map(|d| d * d / (d * d + ridge)).collect();
    let mut shrunk = view.u.clone();
    for i in 0..n {
        shrunk.row_mut(i).iter_mut().zip(&shares).for_each(|(v, s)| *v *= s);
    }
    let mut hat = shrunk.mul_tr(&view.u);
    for v in hat.data_mut() {
        *v += 1.0 / n as f64;
    }
    let per_repeat = folds_per_repeat(splits, n);
    let residuals: Vec<Vec<f64>> = labels
        .iter()
        .map(|y| hat.mul_vec(y).iter().zip(y).map(|(fit, y)| y - fit).collect())
        .collect();
    let repeats = splits.len().div_ceil(per_repeat);
    let mut scores = vec![vec![0.0; n * repeats]; labels.len()];
    for (j, split) in splits.iter().enumerate() {
        let fold = &split.holdout;
        let mut left = Dense::from_fn(fold.len(), fold.len(), |a, b| -hat[(fold[a], fold[b])]);
        left.add_diagonal(1.0);
        let factor = Cholesky::new(&left)
            .ok_or_else(|| Error::Numerical("leaving a fold out of a ridge regression".into()))?;
        for (class, y) in labels.iter().enumerate() {
            let mut residual: Vec<f64> = fold.iter().map(|&i| residuals[class][i]).collect();
            factor.solve_in_place(&mut residual);
            for (&i, r) in fold.iter().zip(residual) {
                scores[class][j / per_repeat * n + i] = y[i] - r;
            }
        }
    }
    let answers = labels.iter().zip(scores).map(|(y, scores)| {
        let mut weights = view.u.tr_mul_vec(y);
        weights.iter_mut().zip(&view.d).for_each(|(w, d)| *w *= d / (d * d + ridge));
        let intercept = y.iter().sum::<f64>() / n as f64;
        Raw { view: index, family: Family::Robust, strength, scores, weights, intercept }
    });
    Ok(answers.collect())
}

/// The weighted sum of calibrated candidates: principal coordinates of each view, and the intercept.
fn average(judged: &[Judged], views: &[View]) -> (Vec<Vec<f64>>, f64) {
    let mut sums: Vec<Vec<f64>> = views.iter().map(|v| vec![0.0; v.d.len()]).collect();
    let mut intercept = 0.0;
    for j in judged {
        let scale = j.weight * j.calibration.scale;
        vector::axpy(scale, &j.raw.weights, &mut sums[j.raw.view]);
        intercept += scale * j.raw.intercept + j.weight * j.calibration.shift;
    }
    (sums, intercept)
}

fn table(judged: &[Vec<Judged>], views: &[View]) -> Output {
    let all = || judged.iter().enumerate().flat_map(|(c, js)| js.iter().map(move |j| (c, j)));
    let texts = |of: &dyn Fn(&Judged) -> &'static str| {
        Output::Texts(all().map(|(_, j)| of(j).to_owned()).collect())
    };
    let numbers = |of: &dyn Fn(&Judged) -> f64| Output::Vector(all().map(|(_, j)| of(j)).collect());
    let mut columns = Vec::new();
    if judged.len() > 1 {
        let classes = all().map(|(c, _)| i64::try_from(c).unwrap_or(i64::MAX)).collect();
        columns.push(("class".to_owned(), Output::Integers(classes)));
    }
    columns.extend([
        ("scaling".to_owned(), texts(&|j| views[j.raw.view].name)),
        (
            "family".to_owned(),
            texts(&|j| match j.raw.family {
                Family::Robust => "robust",
                Family::Penalised => "penalised",
            }),
        ),
        ("strength".to_owned(), numbers(&|j| j.raw.strength)),
        ("scale".to_owned(), numbers(&|j| j.calibration.scale)),
        ("shift".to_owned(), numbers(&|j| j.calibration.shift)),
        ("loss".to_owned(), numbers(&|j| j.calibration.loss)),
        ("error".to_owned(), numbers(&|j| j.calibration.error)),
        ("weight".to_owned(), numbers(&|j| j.weight)),
    ]);
    Output::Table(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaving a fold out through the hat matrix is refitting on the other rows.
    #[test]
    fn scores_out_of_fold_are_those_of_refits() {
        let (n, p) = (17, 5);
        let x = Dense::from_fn(n, p, |i, j| ((i * 5 + j * 3 + i * j) as f64 * 0.9).sin());
        let y: Vec<f64> = (0..n).map(|i| if (i * i) % 3 == 1 { 1.0 } else { -1.0 }).collect();
        let classes: Vec<usize> = y.iter().map(|y| usize::from(*y > 0.0)).collect();
        let view = View::new(&x, &Ranges::learn(&x), "range").unwrap();
        let splits = stratified(&classes, 5, 2, 3);
        let rows = view.rows();
        for ridge in [1e-2, 1.0, 30.0] {
            let found = robust(0, &view, &splits, std::slice::from_ref(&y), (1.0, ridge)).unwrap();
            for (j, split) in splits.iter().enumerate() {
                let count = split.train.len() as f64;
                let train = rows.select_rows(&split.train);
                let means = train.tr_mul_vec(&vec![1.0 / count; split.train.len()]);
                let mean = split.train.iter().map(|&i| y[i]).sum::<f64>() / count;
                let centred =
                    Dense::from_fn(train.nrows(), train.ncols(), |i, k| train[(i, k)] - means[k]);
                let target: Vec<f64> = split.train.iter().map(|&i| y[i] - mean).collect();
                let mut normal = centred.tr_mul(&centred);
                normal.add_diagonal(ridge);
                let w = Cholesky::new(&normal).unwrap().solve(&centred.tr_mul_vec(&target));
                for &i in &split.holdout {
                    let away: Vec<f64> =
                        rows.row(i).iter().zip(&means).map(|(v, m)| v - m).collect();
                    let wanted = mean + vector::dot(&away, &w);
                    let score = found[0].scores[j / 5 * n + i];
                    assert!((score - wanted).abs() <= 1e-11, "{score} {wanted}");
                }
            }
        }
    }
}
