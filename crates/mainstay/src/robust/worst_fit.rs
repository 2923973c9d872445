//! Fits of the worst case.

use super::estimator::{Rest, shares};
use super::labels::Correction;
use super::newton::Point;
use super::params::Strength;
use super::smoothing::minimise;
use super::worst::Worst;
use super::worst_certificate::bound;
use crate::certificate::Certificate;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::folds::{Split, geometric_grid, stratified};
use crate::linalg::{Dense, vector};
use crate::loss::expected_probability;
use crate::model::{BinaryFit, Fitted, Output, each_class};
use crate::optim::{Budget, Candidates, Scores};

/// The worst case forms a square matrix of this order at most.
const MOST_FEATURES: usize = 2000;
/// Strengths that are tried, and the gap of the fits.
const PATH: (usize, f64) = (8, 1e-3);

/// Rows made ready once for all classes, strengths and folds.
struct Ready<'a> {
    rest: &'a Rest<'a>,
    x: Dense,
    deletable: Vec<usize>,
    budget: f64,
    shares: Vec<f64>,
    centre: Vec<f64>,
}

impl Rest<'_> {
    /// Rows with the conditional means of their missing cells, as measured otherwise; deleted features are at
    /// their means, and the semi-axes of the ellipsoids are the stated errors.
    pub(super) fn worst(self, x: &Dense, control: &Control) -> Result<Fitted> {
        if x.ncols() > MOST_FEATURES {
            return Err(Error::BadData(format!(
                "{} features: protect=\"worst\" is for at most {MOST_FEATURES}; use protect=\"average\"",
                x.ncols()
            )));
        }
        let ready = Ready::new(&self, x)?;
        let (alpha, table) = match self.params.alpha {
            Strength::Fixed(alpha) => (alpha, None),
            Strength::Rule(_) => {
                let (alpha, table) = ready.choose(control)?;
                (alpha, Some(table))
            }
        };
        let fits = each_class(self.merged, control, |binary| ready.fit(&binary.y, alpha, control))?;
        let worst: Vec<i64> = match fits.as_slice() {
            [one] => ready.worst_rows(&one.row_outputs[1].1),
            _ => Vec::new(),
        };
        let fitted = self.finish(&fits, Vec::new(), (alpha, table));
        let mut fitted = if fits.len() == 1 { fitted.with("worst_rows", worst) } else { fitted };
        fitted.outputs.remove("row_weight");
        Ok(fitted)
    }
}

impl<'a> Ready<'a> {
    fn new(rest: &'a Rest<'a>, x: &Dense) -> Result<Self> {
        let p = x.ncols();
        let mut x = rest.model.posterior(x, None)?.mean;
        let centre =
            if rest.params.fit_intercept { rest.model.means.clone() } else { vec![0.0; p] };
        for i in 0..x.nrows() {
            x.row_mut(i).iter_mut().zip(&centre).for_each(|(v, c)| *v -= c);
        }
        let missing = rest.expected.missing.clone().unwrap_or_else(|| vec![0.0; p]);
        let deletable: Vec<usize> = (0..p).filter(|&j| missing[j] > 0.0).collect();
        let budget = missing.iter().sum();
        Ok(Self { rest, x, deletable, budget, shares: shares(&rest.merged.data), centre })
    }

    /// The problem of some rows: `x` and `axes` hold them already.
    fn problem<'b>(
        &'b self,
        x: &'b Dense,
        axes: Option<&'b Dense>,
        (y, shares): (&'b [f64], &'b [f64]),
        alpha: f64,
    ) -> Worst<'b> {
        let rates = self.rest.rates;
        let backward = self.rest.params.correction == Correction::Backward;
        Worst {
            x,
            axes,
            deletable: &self.deletable,
            budget: self.budget,
            y,
            shares,
            alpha,
            kappas: if backward { (rates.slope(1.0), rates.slope(-1.0)) } else { (0.0, 0.0) },
            share: self.rest.params.worst_share,
            intercept: self.rest.params.fit_intercept,
        }
    }

    fn fit(&self, y: &[f64], alpha: f64, control: &Control) -> Result<BinaryFit> {
        let params = self.rest.params;
        let axes = self.rest.expected.errors.as_ref();
        let problem = self.problem(&self.x, axes, (y, &self.shares), alpha);
        bounded(&problem)?;
        let mut budget = Budget::new(params.tol, params.max_iter, control);
        let start = Point { w: vec![0.0; self.x.ncols()], b: 0.0 };
        let found = minimise(&problem, &start, &mut budget)?;
        let at = found.at;
        let certificate = Certificate {
            primal: problem.value(&at.w, at.b),
            dual: found
                .proof
                .map_or(f64::NEG_INFINITY, |(point, soft)| bound(&problem, &point, soft)),
        };
        let scores = self.x.mul_vec(&at.w);
        let right = (0..y.len())
            .map(|i| {
                let p = expected_probability(y[i] * (scores[i] + at.b), 0.0);
                self.rest.rates.right_by(y[i], p, params.correction)
            })
            .collect();
        let weight = problem.soften(&at.w, at.b, 1e-9).weights;
        let shift = vector::dot(&at.w, &self.centre);
        Ok(BinaryFit {
            intercept: at.b - shift,
            weights: at.w,
            certificate: Some(certificate),
            n_iter: budget.spent().max(1),
            row_outputs: vec![("label_posterior", right), ("row_weight", weight)],
            outputs: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// The given rows that count by more than half of what they could.
    fn worst_rows(&self, weights: &[f64]) -> Vec<i64> {
        let share = self.rest.params.worst_share;
        let counts = |k: usize| weights[k] > 0.5 * self.shares[k] / share;
        let position = self.rest.merged.position.iter().enumerate();
        let rows = position.filter(|(_, k)| k.is_some_and(counts)).map(|(i, _)| i);
        rows.map(|i| i64::try_from(i).unwrap_or(i64::MAX)).collect()
    }

    /// The strength with the least worst-case loss on held-out rows.
    fn choose(&self, control: &Control) -> Result<(f64, Output)> {
        let params = self.rest.params;
        let length: f64 =
            (0..self.x.nrows()).map(|i| self.shares[i] * vector::norm_sq(self.x.row(i))).sum();
        let top = if length > 1e-290 { length } else { 1.0 };
        let grid = geometric_grid(top, 1e-5 * top, PATH.0.min(params.n_alphas));
        let labels = self.rest.merged.data.labels();
        let splits = stratified(labels, params.n_folds, 1, params.random_state.unwrap_or(0));
        let scores =
            Scores::cross_validate(&splits, control, |split| self.held_out(split, &grid, control))?;
        let best = scores.best(|a, b| b.cmp(&a))?;
        let table = scores.table(Candidates::new(grid.len()).with("alpha", grid.clone()));
        Ok((grid[best], table))
    }

    fn held_out(&self, split: &Split, grid: &[f64], control: &Control) -> Result<Option<Vec<f64>>> {
        let data = &self.rest.merged.data;
        let labels = data.labels();
        let positives = if data.n_classes() == 2 { 1..2 } else { 0..data.n_classes() };
        let errors = self.rest.expected.errors.as_ref();
        let part = |rows: &[usize]| {
            let axes = errors.map(|e| if e.nrows() == 1 { e.clone() } else { e.select_rows(rows) });
            let total: f64 = rows.iter().map(|&i| self.shares[i]).sum();
            let shares: Vec<f64> = rows.iter().map(|&i| self.shares[i] / total).collect();
            (self.x.select_rows(rows), axes, shares)
        };
        let (train, test) = (part(&split.train), part(&split.holdout));
        let mut scores = vec![0.0; grid.len()];
        for class in positives {
            let sign = |i: &usize| if labels[*i] == class { 1.0 } else { -1.0 };
            let y: Vec<f64> = split.train.iter().map(sign).collect();
            let truth: Vec<f64> = split.holdout.iter().map(sign).collect();
            if truth.is_empty() || y.iter().all(|s| *s == y[0]) {
                return Ok(None);
            }
            for (k, &alpha) in grid.iter().enumerate() {
                let problem = self.problem(&train.0, train.1.as_ref(), (&y, &train.2), alpha);
                if bounded(&problem).is_err() {
                    return Ok(None);
                }
                let start = Point { w: vec![0.0; self.x.ncols()], b: 0.0 };
                let mut budget = Budget::new(PATH.1, self.rest.params.max_iter, control);
                let at = minimise(&problem, &start, &mut budget)?.at;
                let judge = self.problem(&test.0, test.1.as_ref(), (&truth, &test.2), alpha);
                scores[k] -= judge.value(&at.w, at.b) - 0.5 * alpha * vector::norm_sq(&at.w);
            }
        }
        Ok(Some(scores))
    }
}

/// Refuses problems without a minimum: rows of one class only, or label rates that the labels contradict.
fn bounded(problem: &Worst<'_>) -> Result<()> {
    if !problem.intercept {
        return Ok(());
    }
    let share = |sign: f64| -> f64 {
        problem.y.iter().zip(problem.shares).filter(|(y, _)| **y == sign).map(|(_, s)| s).sum()
    };
    let ((up, down), (k_up, k_down)) = ((share(1.0), share(-1.0)), problem.kappas);
    if down * (1.0 + k_down) > up * k_up && up * (1.0 + k_up) > down * k_down {
        return Ok(());
    }
    Err(Error::Infeasible(
        "the corrected worst-case loss has no minimum: fewer labels are wrong than `wrong_labels` states, or a \
         class has no rows; lower the rate or use correction=\"after\""
            .into(),
    ))
}
