//! Out-of-fold scores of ridge regressions on the labels, for many ridges, splits and classes at once,
//! without refitting.

use rayon::prelude::*;

use super::view::View;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::folds::Split;
use crate::linalg::{Cholesky, Dense, SymmetricEigen, vector};
use crate::rolin::shared::row_weights::RowWeights;

/// The splits of a repeated cross-validation: every `folds` of them hold out every row once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repeats<'a> {
    pub(super) all: &'a [Split],
    folds: usize,
    rows: usize,
}

impl<'a> Repeats<'a> {
    pub(super) fn new(all: &'a [Split], rows: usize) -> Self {
        let mut seen = 0;
        let complete = |split: &Split| {
            seen += split.holdout.len();
            seen >= rows
        };
        let folds = all.iter().position(complete).map_or(all.len(), |j| j + 1).max(1);
        Self { all, folds, rows }
    }

    /// Whether every repetition holds out every row once.
    pub(super) fn cover(&self) -> bool {
        self.all.len() == self.folds * self.count()
            && self.all.chunks(self.folds).all(|splits| {
                let mut held = vec![false; self.rows];
                let new = |i: &usize| !std::mem::replace(&mut held[*i], true);
                splits.iter().flat_map(|s| &s.holdout).all(new) && held.iter().all(|h| *h)
            })
    }

    /// The first `count` repetitions.
    pub(super) fn first(&self, count: usize) -> Self {
        Self { all: &self.all[..self.all.len().min(count * self.folds)], ..*self }
    }

    /// Number of repetitions.
    pub(super) fn count(&self) -> usize {
        self.all.len().div_ceil(self.folds)
    }

    /// Out-of-fold scores of linear fits, one (weights, intercept) per split.
    pub(super) fn scores<'f>(
        &self,
        rows: &Dense,
        fits: impl Iterator<Item = &'f (Vec<f64>, f64)>,
    ) -> Vec<f64> {
        let mut scores = vec![0.0; self.rows * self.count()];
        for (j, (split, (w, b))) in self.all.iter().zip(fits).enumerate() {
            for &i in &split.holdout {
                scores[self.place(j, i)] = vector::dot(rows.row(i), w) + b;
            }
        }
        scores
    }

    /// Where the score of row `i`, held out by split `j`, belongs: one row of scores per repetition.
    pub(super) fn place(&self, j: usize, i: usize) -> usize {
        j / self.folds * self.rows + i
    }
}

/// The labels of every binary problem, and what their rows count.
pub(super) struct Targets<'a> {
    pub(super) labels: &'a [Vec<f64>],
    pub(super) weights: &'a RowWeights,
}

/// Scores as [`Repeats::place`] orders them, for every class and then every ridge.
pub(super) fn scores(
    view: &View,
    splits: &Repeats<'_>,
    targets: &Targets<'_>,
    ridges: &[f64],
    control: &Control,
) -> Result<Vec<Vec<Vec<f64>>>> {
    let labels = targets.labels;
    let rows = view.spectrum.rows();
    let one_split = |split: &Split| {
        control.check()?;
        if view.spectrum.d.len() <= split.holdout.len() {
            leave_out_columns(view, &rows, split, targets, ridges)
        } else {
            leave_out_rows(view, split, targets, ridges)
        }
    };
    let parts: Vec<SplitScores> = splits.all.par_iter().map(one_split).collect::<Result<_>>()?;
    let mut out =
        vec![vec![vec![0.0; view.spectrum.u.nrows() * splits.count()]; ridges.len()]; labels.len()];
    for (j, (split, part)) in splits.all.iter().zip(&parts).enumerate() {
        for (class, part) in part.iter().enumerate() {
            for (r, scores) in part.iter().enumerate() {
                for (&i, s) in split.holdout.iter().zip(scores) {
                    out[class][r][splits.place(j, i)] = *s;
                }
            }
        }
    }
    Ok(out)
}

/// Scores of the holdout rows of one split, for every class and ridge.
type SplitScores = Vec<Vec<Vec<f64>>>;

/// Few columns: what the training rows' covariance loses with the fold is taken from that of all rows,
/// which is diagonal, and one eigendecomposition serves all ridges. O(f r^2 + r^3).
fn leave_out_columns(
    view: &View,
    rows: &Dense,
    split: &Split,
    targets: &Targets<'_>,
    ridges: &[f64],
) -> Result<SplitScores> {
    let fold = rows.select_rows(&split.holdout);
    let held_weights = targets.weights.select(&split.holdout);
    let train_weights = targets.weights.select(&split.train);
    let count = train_weights.total();
    // Every row as often as it counts.
    let counted =
        Dense::from_fn(fold.nrows(), fold.ncols(), |i, j| fold[(i, j)] * held_weights.get(i));
    // The rows are centred: the mean of the others follows from the fold.
    let means = counted.tr_mul_vec(&vec![-1.0 / count; split.holdout.len()]);
    let eigen = SymmetricEigen::new(&scatter_without(view, &counted.tr_mul(&fold), &means, count))?;
    let away = Dense::from_fn(fold.nrows(), fold.ncols(), |i, j| fold[(i, j)] - means[j]);
    let away = away.mul(&eigen.vectors);
    let one_class = |y: &Vec<f64>| {
        let held: Vec<f64> = split.holdout.iter().map(|&i| y[i]).collect();
        let trained: Vec<f64> = split.train.iter().map(|&i| y[i]).collect();
        let mean = train_weights.sum(&trained) / count;
        let mut target = view.spectrum.loads(y);
        target.iter_mut().zip(&view.spectrum.d).for_each(|(t, d)| *t *= d);
        vector::axpy(-1.0, &counted.tr_mul_vec(&held), &mut target);
        vector::axpy(-count * mean, &means, &mut target);
        let target = eigen.vectors.tr_mul_vec(&target);
        let one_ridge = |ridge: &f64| {
            let w: Vec<f64> =
                target.iter().zip(&eigen.values).map(|(t, v)| t / (v.max(0.0) + ridge)).collect();
            away.mul_vec(&w).into_iter().map(|s| s + mean).collect()
        };
        ridges.iter().map(one_ridge).collect()
    };
    Ok(targets.labels.iter().map(one_class).collect())
}

/// What the scatter of all rows, which is diagonal, keeps when that of a fold is taken off; `means` are those of the
/// other rows, `count` is their number.
fn scatter_without(view: &View, fold: &Dense, means: &[f64], count: f64) -> Dense {
    let mut rest = Dense::from_fn(fold.nrows(), fold.ncols(), |i, j| {
        -fold[(i, j)] - count * means[i] * means[j]
    });
    for (i, d) in view.spectrum.d.iter().enumerate() {
        rest[(i, i)] += d * d;
    }
    rest
}

/// Many columns: with the hat matrix H of all rows, the residuals of fold F after fitting on the others
/// are `$(I - H_{FF})^{-1} (y - Hy)_F$` exactly; only `$H_{FF}$` is ever made. O(f^2 r + f^3) per ridge. Rows that count by
/// weights are multiplied by their roots, labels and constant included.
fn leave_out_rows(
    view: &View,
    split: &Split,
    targets: &Targets<'_>,
    ridges: &[f64],
) -> Result<SplitScores> {
    let Targets { labels, weights } = targets;
    let fold = view.spectrum.u.select_rows(&split.holdout);
    let share = 1.0 / weights.total();
    let held_weights = weights.select(&split.holdout);
    let root = |i: usize| held_weights.get(i).sqrt();
    let sums: Vec<(f64, Vec<f64>)> =
        labels.iter().map(|y| (weights.sum(y), view.spectrum.loads(y))).collect();
    let mut out = vec![Vec::new(); labels.len()];
    for ridge in ridges {
        let shrink: Vec<f64> = view.spectrum.d.iter().map(|d| d * d / (d * d + ridge)).collect();
        let shrunk = Dense::from_fn(fold.nrows(), fold.ncols(), |i, j| fold[(i, j)] * shrink[j]);
        let mut left = shrunk.mul_tr(&fold);
        for i in 0..left.nrows() {
            let by = share * root(i);
            left.row_mut(i).iter_mut().enumerate().for_each(|(j, h)| *h = -by * root(j) - *h);
        }
        left.add_diagonal(1.0);
        let factor = Cholesky::new(&left)
            .ok_or_else(|| Error::Numerical("leaving a fold out of a ridge regression".into()))?;
        for ((y, (sum, uty)), out) in labels.iter().zip(&sums).zip(&mut out) {
            let fits = shrunk.mul_vec(uty);
            let held = || split.holdout.iter().map(|&i| y[i]).enumerate();
            let mut residuals: Vec<f64> = held()
                .zip(fits)
                .map(|((i, y), fit)| y * root(i) - fit - sum * share * root(i))
                .collect();
            factor.solve_in_place(&mut residuals);
            out.push(held().zip(residuals).map(|((i, y), r)| y - r / root(i)).collect());
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::view::{Ranges, Scaling};
    use super::*;
    use crate::folds::stratified;

    /// Leaving a fold out, either way, is refitting on the other rows.
    #[test]
    fn scores_out_of_fold_are_those_of_refits() {
        for (n, p) in [(17, 5), (40, 5)] {
            let x = Dense::from_fn(n, p, |i, j| ((i * 5 + j * 3 + i * j) as f64 * 0.9).sin());
            let y: Vec<f64> = (0..n).map(|i| if (i * i) % 3 == 1 { 1.0 } else { -1.0 }).collect();
            let classes: Vec<usize> = y.iter().map(|y| usize::from(*y > 0.0)).collect();
            let weights = RowWeights::equal(n);
            let ranges = Ranges::learn(&x, &weights);
            let view = View::new(&x, &ranges, Scaling::Range, &Control::new()).unwrap();
            let splits = stratified(&classes, 5, 2, 3);
            let repeats = Repeats::new(&splits, n);
            let rows = view.spectrum.rows();
            let ridges = [1e-2, 1.0, 30.0];
            let targets = Targets { labels: std::slice::from_ref(&y), weights: &weights };
            let found = scores(&view, &repeats, &targets, &ridges, &Control::new()).unwrap();
            for (ridge, found) in ridges.iter().zip(&found[0]) {
                for (j, split) in splits.iter().enumerate() {
                    let refit = refit(&rows, &y, split, *ridge);
                    for (&i, wanted) in split.holdout.iter().zip(refit) {
                        let score = found[repeats.place(j, i)];
                        assert!((score - wanted).abs() <= 1e-10, "{n}: {score} {wanted}");
                    }
                }
            }
        }
    }

    fn refit(rows: &Dense, y: &[f64], split: &Split, ridge: f64) -> Vec<f64> {
        let count = split.train.len() as f64;
        let train = rows.select_rows(&split.train);
        let means = train.tr_mul_vec(&vec![1.0 / count; split.train.len()]);
        let mean = split.train.iter().map(|&i| y[i]).sum::<f64>() / count;
        let centred = Dense::from_fn(train.nrows(), train.ncols(), |i, k| train[(i, k)] - means[k]);
        let target: Vec<f64> = split.train.iter().map(|&i| y[i] - mean).collect();
        let mut normal = centred.tr_mul(&centred);
        normal.add_diagonal(ridge);
        let w = Cholesky::new(&normal).unwrap().solve(&centred.tr_mul_vec(&target));
        let score = |&i: &usize| {
            let away: Vec<f64> = rows.row(i).iter().zip(&means).map(|(v, m)| v - m).collect();
            mean + vector::dot(&away, &w)
        };
        split.holdout.iter().map(score).collect()
    }
}
