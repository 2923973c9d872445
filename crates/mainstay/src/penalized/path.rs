//! The strength of the penalty, and whether to standardise, by cross-validation.

use rayon::prelude::*;

use super::estimator::{Setting, one_sided, only_sign, shares};
use super::params::{Alpha, PenalizedParams};
use crate::control::Control;
use crate::data::{Dataset, Normalize, deviations};
use crate::error::Result;
use crate::folds::{Dealt, Split, geometric_grid};
use crate::linalg::vector;
use crate::model::Output;
use crate::optim::grid::usable_top;
use crate::optim::{Budget, Candidates, Search};

/// Relative gap to which the fits along a path are solved: far below the noise of held-out losses.
const PATH_TOL: f64 = 1e-5;
/// The grid's last strength as a part of its first.
const DEPTH: f64 = 1e-5;
/// Share of the L1 penalty that the top of the grid is computed for, at least: with less no strength makes all weights zero.
const LEAST_L1_RATIO: f64 = 1e-3;

/// What cross-validation chose.
pub(super) struct Choice {
    pub alpha: f64,
    pub normalize: bool,
    /// The table of all candidates, where there was a choice.
    pub results: Option<Output>,
}

/// A path of strengths for the data as they are, or standardised.
struct Path {
    normalize: bool,
    alphas: Vec<f64>,
}

/// Chooses the candidate with the smallest mean held-out loss; ties go to the larger `alpha`, then
/// to the data as they are.
///
/// Folds are dealt from the merged rows or parts of them, so that a weight and repetition give the same folds. In
/// every fold the strengths are passed from the largest to the smallest, each fit starting from
/// the last. With more than two classes the loss is the mean over the one-versus-rest problems. A fold
/// whose training rows lack a class that it holds out does not count.
pub(super) fn choose(
    params: &PenalizedParams,
    data: &Dataset,
    control: &Control,
) -> Result<Choice> {
    let scalings: &[bool] = match params.normalize {
        Normalize::Fixed(false) => &[false],
        Normalize::Fixed(true) => &[true],
        Normalize::Rule(_) => &[false, true],
    };
    let path = |&normalize: &bool| Path { normalize, alphas: grid(params, data, normalize) };
    let paths: Vec<Path> = scalings.iter().map(path).collect();
    let seed = params.random_state.unwrap_or(0);
    let Dealt { data: dealt, splits } = Dealt::new(data, params.n_folds, params.n_repeats, seed);
    let rows: Vec<(f64, bool)> =
        paths.iter().flat_map(|path| path.alphas.iter().map(|a| (*a, path.normalize))).collect();
    let judge = |split: &Split, wanted: &[usize]| {
        let Some(fold) = Fold::new(params, &dealt, split) else { return Ok(None) };
        let part = |path: &Path| {
            let own = wanted.iter().map(|&k| rows[k]).filter(|row| row.1 == path.normalize);
            Path { normalize: path.normalize, alphas: own.map(|row| row.0).collect() }
        };
        let losses: Vec<Vec<f64>> = paths
            .par_iter()
            .map(|path| fold.losses(&part(path), control))
            .collect::<Result<_>>()?;
        Ok(Some(losses.concat().into_iter().map(|loss| -loss).collect()))
    };
    // Of two paths no strength is known: which of them is better is still to be seen.
    let known = control.known("alpha").filter(|_| paths.len() == 1);
    let strengths: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let (scores, best) =
        Search::along(&strengths, known).run(&splits, control, judge, |scores| {
            scores.best(|a, b| rows[a].0.total_cmp(&rows[b].0).then(rows[b].1.cmp(&rows[a].1)))
        })?;
    let (alpha, normalize) = rows[best];
    let candidates = Candidates::new(rows.len())
        .with("alpha", rows.iter().map(|r| r.0).collect::<Vec<f64>>())
        .with("normalize", rows.iter().map(|r| r.1).collect::<Vec<bool>>());
    Ok(Choice { alpha, normalize, results: Some(scores.table(candidates)) })
}

/// Rows to fit on and rows to judge on.
struct Fold<'a> {
    params: &'a PenalizedParams,
    train: Dataset,
    test: Dataset,
    /// Weights of the rows to judge on, adding up to 1.
    weights: Vec<f64>,
}

impl<'a> Fold<'a> {
    /// `None` if the training rows lack a class that the held-out rows have.
    fn new(params: &'a PenalizedParams, data: &Dataset, split: &Split) -> Option<Self> {
        let (train, test) = (data.select_rows(&split.train), data.select_rows(&split.holdout));
        let lacks = |label: &usize| !train.labels().contains(label);
        if train.len() < 2 || test.is_empty() || test.labels().iter().any(lacks) {
            return None;
        }
        let weights = shares(&test);
        Some(Self { params, train, test, weights })
    }

    /// Mean held-out loss of every strength of `path`.
    fn losses(&self, path: &Path, control: &Control) -> Result<Vec<f64>> {
        let setting = Setting::new(self.params, &self.train, path.normalize, control)?;
        let classes = self.train.n_classes();
        let problems: Vec<usize> = if classes == 2 { vec![1] } else { (0..classes).collect() };
        let mut losses = vec![0.0; path.alphas.len()];
        for &positive in &problems {
            let found = self.binary_losses(&setting, path, positive, control)?;
            for (sum, loss) in losses.iter_mut().zip(found) {
                *sum += loss / problems.len() as f64;
            }
        }
        Ok(losses)
    }

    /// The same for the class `positive` against the rest.
    fn binary_losses(
        &self,
        setting: &Setting<'_>,
        path: &Path,
        positive: usize,
        control: &Control,
    ) -> Result<Vec<f64>> {
        let (y, truth) = (self.train.signs(positive), self.test.signs(positive));
        if let Some(sign) = only_sign(&y) {
            let w = vec![0.0; self.train.n_features()];
            let loss = self.loss(&truth, &w, one_sided(self.params.loss, sign));
            return Ok(vec![loss; path.alphas.len()]);
        }
        let task = setting.task(&y, positive);
        let mut last = None;
        let mut losses = Vec::with_capacity(path.alphas.len());
        for &alpha in &path.alphas {
            let (l1, l2) = self.params.strengths(alpha);
            let tol = self.params.tol.max(PATH_TOL);
            let mut budget = Budget::new(tol, self.params.max_iter, control);
            let mut found = task.solve(l1, l2, last.as_ref(), &mut budget)?;
            let candidate = task.candidate(&mut found)?;
            last = Some(found);
            losses.push(self.loss(&truth, &candidate.weights, candidate.intercept));
        }
        Ok(losses)
    }

    fn loss(&self, truth: &[f64], w: &[f64], b: f64) -> f64 {
        let scores = self.test.features().mul_vec(w);
        let rows = scores.iter().zip(truth).zip(&self.weights);
        rows.map(|((score, y), s)| s * self.params.loss.get().value(y * (score + b))).sum()
    }
}

/// Strengths to try, largest first.
///
/// With an L1 part the largest is where all weights leave zero, from the duals of the intercept
/// alone (every row of a class alike); for L2 it is the mean squared length of a centred row, with
/// which the model is all but constant.
fn grid(params: &PenalizedParams, data: &Dataset, normalize: bool) -> Vec<f64> {
    if let Alpha::Fixed(alpha) = params.alpha {
        return vec![alpha];
    }
    if let Some(alphas) = &params.alphas {
        let mut alphas = alphas.clone();
        alphas.sort_by(|a, b| b.total_cmp(a));
        alphas.dedup();
        return alphas;
    }
    let x = data.features();
    let shares = shares(data);
    let spread = deviations(x, &shares);
    let units = if normalize { spread.clone() } else { vec![1.0; spread.len()] };
    let ratio = params.strengths(1.0).0;
    let top = if ratio > 0.0 {
        (0..data.n_classes())
            .map(|class| first_weight(data, &shares, &units, class))
            .fold(0.0, f64::max)
            * 2.0
            / ratio.max(LEAST_L1_RATIO)
    } else {
        let lengths: Vec<f64> = spread.iter().zip(&units).map(|(d, u)| d / u).collect();
        vector::norm(&lengths).powi(2)
    };
    let top = usable_top(top);
    geometric_grid(top, DEPTH * top, params.n_alphas)
}

/// The largest `$|r_j|$` when the rows of `class` and the others balance as they do at `$w = 0$`.
fn first_weight(data: &Dataset, shares: &[f64], units: &[f64], class: usize) -> f64 {
    let y = data.signs(class);
    let positive: f64 = y.iter().zip(shares).filter(|(y, _)| **y > 0.0).map(|(_, s)| s).sum();
    let negative = 1.0 - positive;
    let signed: Vec<f64> = y
        .iter()
        .zip(shares)
        .map(|(y, s)| if *y > 0.0 { s * negative } else { -s * positive })
        .collect();
    let r = data.features().tr_mul_vec(&signed);
    r.iter().zip(units).fold(0.0, |m: f64, (r, u)| m.max((r / u).abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, Matrix};
    use crate::penalized::Penalty;

    /// Two rows at 0 and 4, one of each class: the deviation is 2, so an L2 grid starts at 4 (1 for the
    /// standardised feature); with L1 the duals 1/4 of each row balance and pull with |0 - 4| / 4 = 1, doubled.
    #[test]
    fn grids_start_where_the_weights_leave_zero() {
        let x = Matrix::from(Dense::from_rows(2, 1, vec![0.0, 4.0]));
        let Ok(data) = Dataset::new(x, vec![0, 1], 2) else { unreachable!("two rows") };
        for (penalty, normalize, top) in [
            (Penalty::L2, false, 4.0),
            (Penalty::L2, true, 1.0),
            (Penalty::L1, false, 2.0),
            (Penalty::L1, true, 1.0),
        ] {
            let alpha = Alpha::Rule(crate::penalized::AlphaRule::Cv);
            let params = PenalizedParams { penalty, alpha, n_alphas: 3, ..Default::default() };
            let grid = grid(&params, &data, normalize);
            assert!((grid[0] - top).abs() < 1e-12, "{penalty:?} {normalize}: {grid:?}");
            assert!((grid[2] / grid[0] - DEPTH).abs() < 1e-9 * DEPTH && grid.len() == 3);
        }
    }
}
