//! Conformal p-values: how usual would a row be among the training rows of a class?
//!
//! Cross-conformal and by class (Vovk 2015, *Cross-conformal predictors*, Annals of Mathematics and Artificial Intelligence
//! 74): the rows are dealt into folds; the fit to the others scores a fold and the new row, and the p-value of class `$y$`
//! is `$(1 + \#\{i : y_i = y,\ \alpha_i \ge \alpha^{(f(i))}(x, y)\})/(1 + n_y)$` with `$\alpha$` minus the lead of the class
//! over the others. If the row is like the training rows of class `$y$`, a p-value of at most `$\epsilon$` has a probability of
//! about `$\epsilon$` (at most `$2\epsilon$`, and less in practice, by Barber and others 2021).

use rayon::prelude::*;

use super::refits::{Refit, present};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::folds::stratified;
use crate::linalg::{Dense, Matrix};

/// Folds of the rows.
const FOLDS: usize = 5;

/// The lead of class `class` over the best other class.
fn lead(scores: &[f64], class: usize) -> f64 {
    match scores {
        [score] => {
            if class == 1 {
                *score
            } else {
                -score
            }
        }
        scores => {
            let others = scores.iter().enumerate().filter(|(k, _)| *k != class).map(|(_, s)| *s);
            scores[class] - others.fold(f64::NEG_INFINITY, f64::max)
        }
    }
}

/// Counts of one fold: for every row of `x` and class, how many held-out rows of the class lead by no more.
fn fold_counts(held: &Dense, labels: &[usize], new: &Dense, classes: usize) -> Dense {
    let mut leads: Vec<Vec<f64>> = vec![Vec::new(); classes];
    for (i, &class) in labels.iter().enumerate() {
        leads[class].push(lead(held.row(i), class));
    }
    for list in &mut leads {
        list.sort_by(f64::total_cmp);
    }
    Dense::from_fn(new.nrows(), classes, |i, class| {
        let own = lead(new.row(i), class);
        leads[class].partition_point(|l| *l <= own) as f64
    })
}

/// The p-value of every class for every row of `x`, and the rows of every class behind it. Weights enter the fits; here every
/// row that has one counts once.
pub(super) fn p_values(
    refit: Refit<'_>,
    data: &Dataset,
    x: &Matrix,
    seed: u64,
    control: &Control,
) -> Result<(Dense, Vec<usize>)> {
    let data = &*present(data);
    let classes = data.n_classes();
    let mut rows = vec![0_usize; classes];
    for &k in data.labels() {
        rows[k] += 1;
    }
    let splits = stratified(data.labels(), FOLDS, 1, seed);
    let quiet = control.without_progress();
    let parts: Vec<Dense> = control.install(|| {
        splits
            .par_iter()
            .map(|split| {
                control.check()?;
                let model = refit.fit(&data.select_rows(&split.train), &quiet)?.model;
                let holdout = data.select_rows(&split.holdout);
                let held = model.decision(&refit.nan_rule().apply(holdout.features().clone()))?;
                Ok(fold_counts(&held, holdout.labels(), &model.decision(x)?, classes))
            })
            .collect::<Result<_>>()
    })?;
    let found = Dense::from_fn(x.nrows(), classes, |i, k| {
        let count: f64 = parts.iter().map(|part| part[(i, k)]).sum();
        (1.0 + count) / (1.0 + rows[k] as f64)
    });
    Ok((found, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Held-out leads of class 1: 1, 2, 3; of class 0: 0.5. A new score of 2 leads class 1 by 2 (two of three lead by no
    /// more) and class 0 by -2 (none).
    #[test]
    fn a_count_is_the_rows_that_are_no_more_typical() {
        let held = Dense::from_rows(4, 1, vec![1.0, 2.0, 3.0, -0.5]);
        let counts = fold_counts(&held, &[1, 1, 1, 0], &Dense::from_rows(1, 1, vec![2.0]), 2);
        assert_eq!(counts.row(0), [0.0, 2.0]);
        assert_eq!(lead(&[1.0, 4.0, 2.5], 1), 1.5);
        assert_eq!(lead(&[1.0, 4.0, 2.5], 0), -3.0);
    }
}
