//! The strength of the penalty, and whether to standardise, by cross-validation.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::estimator::{Setting, one_sided, only_sign, shares};
use super::params::{Alpha, PenalizedParams};
use super::solution::{Budget, Solution};
use crate::control::Control;
use crate::data::{Dataset, Normalize, deviations};
use crate::error::{Error, Result};
use crate::folds::{Split, geometric_grid, stratified};
use crate::linalg::vector;
use crate::model::Output;

/// Gap to which the fits along a path are solved: far below the noise of held-out losses.
const PATH_TOL: f64 = 1e-5;
/// The grid's last strength as a part of its first.
const DEPTH: f64 = 1e-5;

/// What cross-validation chose.
pub(super) struct Choice {
    pub alpha: f64,
    pub normalize: bool,
    /// One row a candidate: alpha, normalize, mean and standard deviation of the held-out loss.
    pub results: Option<Output>,
}

/// Chooses the candidate with the smallest mean held-out loss; ties go to the larger `alpha`, then
/// to the data as they are.
///
/// Folds are dealt from the merged rows, so that a weight and repetition give the same folds. In
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
    let grids: Vec<Vec<f64>> =
        scalings.iter().map(|&normalize| grid(params, data, normalize)).collect();
    let seed = params.random_state.unwrap_or(0);
    let splits = stratified(data.labels(), params.n_folds, params.n_repeats, seed);
    let tasks: Vec<(usize, &Split)> =
        (0..scalings.len()).flat_map(|s| splits.iter().map(move |split| (s, split))).collect();
    let done = AtomicU64::new(0);
    let losses: Vec<Option<Vec<f64>>> = tasks
        .par_iter()
        .map(|&(s, split)| {
            let losses = held_out(params, data, split, scalings[s], &grids[s], control)?;
            control.progress(1 + done.fetch_add(1, Ordering::Relaxed), tasks.len() as u64);
            Ok(losses)
        })
        .collect::<Result<_>>()?;

    let mut rows: Vec<(f64, bool, f64, f64)> = Vec::new();
    for (s, &normalize) in scalings.iter().enumerate() {
        let folds: Vec<&Vec<f64>> =
            losses[s * splits.len()..(s + 1) * splits.len()].iter().flatten().collect();
        if folds.is_empty() {
            return Err(Error::BadData(
                "no fold leaves training rows of every class; cross-validation needs more different rows of \
                 each: give alpha and normalize as values"
                    .into(),
            ));
        }
        for (k, &alpha) in grids[s].iter().enumerate() {
            let values: Vec<f64> = folds.iter().map(|fold| fold[k]).collect();
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
            rows.push((alpha, normalize, mean, spread.sqrt()));
        }
    }
    let better = |a: &(f64, bool, f64, f64), b: &(f64, bool, f64, f64)| {
        a.2.total_cmp(&b.2).then(b.0.total_cmp(&a.0)).then(a.1.cmp(&b.1))
    };
    let Some(best) = rows.iter().copied().min_by(better) else {
        return Err(Error::BadData("no candidate to choose from".into()));
    };
    Ok(Choice { alpha: best.0, normalize: best.1, results: Some(table(&rows)) })
}

fn table(rows: &[(f64, bool, f64, f64)]) -> Output {
    let numbers =
        |f: fn(&(f64, bool, f64, f64)) -> f64| Output::Vector(rows.iter().map(f).collect());
    Output::Table(vec![
        ("alpha".into(), numbers(|r| r.0)),
        ("normalize".into(), Output::Integers(rows.iter().map(|r| i64::from(r.1)).collect())),
        ("mean_loss".into(), numbers(|r| r.2)),
        ("std".into(), numbers(|r| r.3)),
    ])
}

/// Mean held-out loss of every strength of `grid`; `None` if the training rows lack a class that
/// the held-out rows have.
fn held_out(
    params: &PenalizedParams,
    data: &Dataset,
    split: &Split,
    normalize: bool,
    grid: &[f64],
    control: &Control,
) -> Result<Option<Vec<f64>>> {
    let (train, test) = (data.select_rows(&split.train), data.select_rows(&split.holdout));
    if train.len() < 2
        || test.is_empty()
        || test.labels().iter().any(|l| !train.labels().contains(l))
    {
        return Ok(None);
    }
    let setting = Setting::new(params, &train, normalize);
    let weights = shares(&test);
    let problems: Vec<usize> =
        if data.n_classes() == 2 { vec![1] } else { (0..data.n_classes()).collect() };
    let budget = Budget { tol: params.tol.max(PATH_TOL), max_iter: params.max_iter, control };
    let mut losses = vec![0.0; grid.len()];
    for &positive in &problems {
        let y = train.signs(positive);
        let truth = test.signs(positive);
        let solver = setting.solver(&y);
        let mut last: Option<Solution> = None;
        for (k, &alpha) in grid.iter().enumerate() {
            let (w, b) = if let Some(sign) = only_sign(&y) {
                (vec![0.0; data.n_features()], one_sided(params.loss, sign))
            } else {
                let (l1, l2) = params.strengths(alpha);
                let found = solver.solve(l1, l2, last.as_ref(), &budget)?;
                let answer = solver.answer(&found)?;
                last = Some(found);
                (answer.weights, answer.intercept)
            };
            let scores = test.features().mul_vec(&w);
            let loss: f64 = scores
                .iter()
                .zip(&truth)
                .zip(&weights)
                .map(|((score, y), s)| s * params.loss.get().value(y * (score + b)))
                .sum();
            losses[k] += loss / problems.len() as f64;
        }
    }
    Ok(Some(losses))
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
            / ratio.max(1e-3)
    } else {
        let lengths: Vec<f64> = spread.iter().zip(&units).map(|(d, u)| d / u).collect();
        vector::norm(&lengths).powi(2)
    };
    // Features without any spread, or beyond all scales: any grid will do.
    let top = if top > 1e-290 && top < 1e300 { top } else { 1.0 };
    geometric_grid(top, DEPTH * top, params.n_alphas)
}

/// The largest $|r_j|$ when the rows of `class` and the others balance as they do at $w = 0$.
fn first_weight(data: &Dataset, shares: &[f64], units: &[f64], class: usize) -> f64 {
    let y = data.signs(class);
    let positive: f64 = y.iter().zip(shares).filter(|(y, _)| **y > 0.0).map(|(_, s)| s).sum();
    let negative = 1.0 - positive;
    let pull: Vec<f64> = y
        .iter()
        .zip(shares)
        .map(|(y, s)| if *y > 0.0 { s * negative } else { -s * positive })
        .collect();
    let r = data.features().tr_mul_vec(&pull);
    r.iter().zip(units).fold(0.0, |m: f64, (r, u)| m.max((r / u).abs()))
}
