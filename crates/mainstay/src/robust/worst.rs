//! The fit with `protect = "worst"`: from parameters and rows to answers.

use std::ops::Range;

use super::average::{Blurred, Met};
use super::certificate::{certify, certify_worst};
use super::estimator::{Learnt, Stated, finish};
use super::interior;
use super::labels::{Correction, Rates};
use super::newton::{Hyperplane, minimise};
use super::params::{RobustLogisticParams, Strength};
use super::problem::Problem;
use super::training::{counts, effective_rows, shares};
use super::tuning;
use super::worst_problem::{HalfAxes, Losable, Multipliers, Plane, WorstCase};
use crate::certificate::Certificate;
use crate::control::Control;
use crate::data::{Dataset, Merged};
use crate::error::{Error, Result};
use crate::folds::{Parts, Split};
use crate::linalg::{Dense, vector};
use crate::loss::CERTAIN;
use crate::model::{BinaryFit, Fitted, WorstRows, each_class};
use crate::optim::Budget;

/// Gap of the fits that compete for a strength: far below the differences between candidates.
const PATH_TOL: f64 = 1e-4;

/// What all binary problems share.
struct Threats<'a> {
    params: &'a RobustLogisticParams,
    rates: Rates,
    axes: Option<HalfAxes>,
    losable: Option<Losable>,
}

/// Some of the rows.
struct Sample<'a> {
    x: &'a Dense,
    y: &'a [f64],
    shares: &'a [f64],
    axes: Option<&'a HalfAxes>,
}

/// An answer, and how much each row counts in it with which loss.
struct Found {
    plane: Plane,
    certificate: Option<Certificate>,
    n_iter: usize,
    /// Which part of each row counts.
    parts: Vec<f64>,
    losses: Vec<f64>,
}

/// The features that may be lost, how many of them in a row, and where they lie then in rows without `centre`.
fn losable(missing: &[f64], means: &[f64], centre: &[f64]) -> Losable {
    let columns: Vec<usize> = (0..missing.len()).filter(|&j| missing[j] > 0.0).collect();
    let centre = columns.iter().map(|&j| means[j] - centre[j]).collect();
    Losable { columns, budget: missing.iter().sum(), centre }
}

/// Fits; missing cells of the training rows are where the feature model expects them.
pub(super) fn fit(
    params: &RobustLogisticParams,
    data: &Dataset,
    learnt: Learnt,
    control: &Control,
) -> Result<Fitted> {
    let Learnt { merged, expected, x, model } = learnt;
    let mut x = model.posterior(&x, None)?.mean;
    let shares = shares(&merged.data);
    let means = x.means(&shares);
    // With an intercept a feature at its mean says nothing; without one it says what the mean says.
    let centre = if params.fit_intercept { means.clone() } else { vec![0.0; means.len()] };
    subtract(&centre, &mut x);
    let losable = expected.missing.as_ref().map(|missing| losable(missing, &means, &centre));
    let axes = match expected.errors {
        Some(each) => each.data().iter().any(|v| *v > 0.0).then_some(HalfAxes::Each(each)),
        None => expected.shared.map(HalfAxes::Shared),
    };
    let threats =
        Threats { params, rates: params.wrong_labels.rates(data.n_classes())?, axes, losable };
    threats.afford(&x, control)?;
    let (alpha, table) = match params.alpha {
        Strength::Fixed(alpha) => (alpha, None),
        Strength::Rule(_) => {
            let rows = (&x, shares.as_slice(), counts(data, &merged));
            let found = control.install(|| threats.choose(rows, &merged.data, control))?;
            (found.0, Some(found.1))
        }
    };
    let found = each_class(&merged, control, |binary| {
        let sample = Sample { x: &x, y: &binary.y, shares: &shares, axes: threats.axes.as_ref() };
        threats.solve(&sample, alpha, params.tol, control)
    })?;
    let answer = |(class, found)| threats.answer(found, &x, &centre, &signs(&merged, class));
    let fits: Vec<BinaryFit> = found.iter().enumerate().map(answer).collect();
    let stated = Stated { params, rates: threats.rates, errors: None, met: Met::default() };
    let mut fitted = finish(&merged, &fits, &stated, model, (alpha, table))?;
    fitted.worst_rows = Some(worst_rows(&merged, data, &found));
    Ok(fitted)
}

fn subtract(centre: &[f64], x: &mut Dense) {
    for i in 0..x.nrows() {
        x.row_mut(i).iter_mut().zip(centre).for_each(|(v, c)| *v -= c);
    }
}

fn signs(merged: &Merged, problem: usize) -> Vec<f64> {
    let positive = if merged.data.n_classes() == 2 { 1 } else { problem };
    merged.data.signs(positive)
}

impl Threats<'_> {
    fn problem<'b>(&'b self, sample: &Sample<'b>, alpha: f64) -> WorstCase<'b> {
        let kappas = match self.params.correction {
            Correction::Backward => (self.rates.slope(1.0), self.rates.slope(-1.0)),
            Correction::After | Correction::Forward | Correction::Averaged => (0.0, 0.0),
        };
        WorstCase {
            x: sample.x,
            y: sample.y,
            shares: sample.shares,
            worst_share: self.params.worst_share,
            alpha,
            loss: self.params.loss,
            kappas,
            axes: sample.axes,
            losable: self.losable.as_ref(),
            intercept: self.params.fit_intercept,
        }
    }

    /// Says what the interior point would take, before it takes it.
    fn afford(&self, x: &Dense, control: &Control) -> Result<()> {
        let (n, p) = (x.nrows() as f64, x.ncols() as f64);
        let lost = self.losable.as_ref().map_or(0.0, |l| l.columns.len() as f64);
        let moved = if self.axes.is_some() { 2.0 * p } else { 0.0 };
        let bytes = 8.0 * (n * (2.0 * p + 22.0 * lost + 10.0 * moved + 30.0) + 4.0 * p * p);
        control.afford(bytes, &format!("protect=\"worst\" on {n} rows of {p} features"))
    }

    fn solve(&self, s: &Sample<'_>, alpha: f64, tol: f64, control: &Control) -> Result<Found> {
        let problem = self.problem(s, alpha);
        let mut budget = Budget::new(tol, self.params.max_iter, control);
        let (plane, certificate) = if s.y.iter().all(|y| *y == s.y[0]) {
            let b = if self.params.fit_intercept { CERTAIN * s.y[0] } else { 0.0 };
            let plane = Plane { w: vec![0.0; s.x.ncols()], b };
            let certificate = Certificate { primal: problem.value(&plane.w, b), dual: 0.0 };
            (plane, Some(certificate))
        } else {
            self.bounded(&problem)?;
            if problem.harmless() {
                self.plain(s, alpha, &mut budget)?
            } else {
                let bracket = interior::solve(&problem, &mut budget)?;
                let (plane, proof) = bracket.into_points();
                let plane = plane.unwrap_or(Plane { w: vec![0.0; s.x.ncols()], b: 0.0 });
                let certificate =
                    proof.map(|proof: Multipliers| certify_worst(&problem, &plane, &proof));
                (plane, certificate)
            }
        };
        let losses = problem.losses(&plane.w, plane.b);
        let mut parts = problem.heaviest(&losses);
        parts.iter_mut().enumerate().for_each(|(i, a)| *a /= problem.cap(i));
        Ok(Found { plane, certificate, n_iter: budget.spent().max(1), parts, losses })
    }

    /// No threat to the rows: the smooth problem of exact rows.
    fn plain(
        &self,
        s: &Sample<'_>,
        alpha: f64,
        budget: &mut Budget<'_>,
    ) -> Result<(Plane, Option<Certificate>)> {
        let rows = Blurred::known(s.x.clone());
        let correction = if self.rates.any() { self.params.correction } else { Correction::After };
        let problem = Problem {
            rows: &rows,
            y: s.y,
            shares: s.shares,
            alpha,
            rates: self.rates,
            correction,
            intercept: self.params.fit_intercept,
        };
        let at = minimise(&problem, &Hyperplane { w: vec![0.0; s.x.ncols()], b: 0.0 }, budget)?;
        let certificate = certify(&problem, &at.w, at.b);
        Ok((Plane { w: at.w, b: at.b }, certificate))
    }

    /// Refuses label rates with which the corrected loss has no minimum.
    fn bounded(&self, problem: &WorstCase<'_>) -> Result<()> {
        let (up, down) = problem.growth();
        if !self.params.fit_intercept || (up > 0.0 && down > 0.0) {
            return Ok(());
        }
        Err(Error::Infeasible(
            "with `wrong_labels` as stated the corrected worst-case loss has no minimum: one class is so rare that \
             fewer of its labels are wrong than stated; lower the rate, or use correction=\"after\""
                .into(),
        ))
    }

    fn answer(&self, found: &Found, x: &Dense, centre: &[f64], y: &[f64]) -> BinaryFit {
        let Plane { w, b } = &found.plane;
        let trusted = |(score, y): (f64, &f64)| {
            let p = 1.0 / (1.0 + (-y * (score + b)).exp());
            self.rates.trusted(self.params.correction, *y, p)
        };
        let right = x.mul_vec(w).into_iter().zip(y).map(trusted).collect();
        BinaryFit {
            intercept: b - vector::dot(w, centre),
            weights: w.clone(),
            certificate: found.certificate,
            n_iter: found.n_iter,
            row_outputs: vec![("label_posterior", right)],
            outputs: Vec::new(),
            warnings: Vec::new(),
            route: Vec::new(),
            proof: Vec::new(),
        }
    }

    /// The strength with the least held-out worst-case loss.
    fn choose(
        &self,
        (x, shares, copies): (&Dense, &[f64], Vec<f64>),
        data: &Dataset,
        control: &Control,
    ) -> Result<(f64, crate::model::Output)> {
        let grid = tuning::strengths(self.params, x, shares, effective_rows(shares, &copies));
        let parts = Parts::or_whole(data);
        let labels: Vec<usize> = parts.rows.iter().map(|&i| data.labels()[i]).collect();
        let (labels, shares) = (labels.as_slice(), parts.divided(shares, data));
        let positives: Range<usize> =
            if data.n_classes() == 2 { 1..2 } else { 0..data.n_classes() };
        let judge = |split: &Split, grid: &[f64]| {
            if !tuning::usable(split, labels, positives.clone()) {
                return Ok(None);
            }
            let mut scores = vec![0.0; grid.len()];
            for class in positives.clone().filter(|c| split.train.iter().any(|&i| labels[i] == *c))
            {
                let part = |of: &[usize]| {
                    let rows: Vec<usize> = of.iter().map(|&k| parts.rows[k]).collect();
                    let y = of.iter().map(|&k| if labels[k] == class { 1.0 } else { -1.0 });
                    SplitRows::new(self, x, y.collect(), of.iter().map(|&k| shares[k]), &rows)
                };
                let (train, test) = (part(&split.train), part(&split.holdout));
                for (k, &alpha) in grid.iter().enumerate() {
                    let tol = self.params.tol.max(PATH_TOL);
                    if self.bounded(&self.problem(&train.sample(), alpha)).is_err() {
                        return Ok(None);
                    }
                    let found = self.solve(&train.sample(), alpha, tol, control)?;
                    let judge = self.problem(&test.sample(), alpha);
                    scores[k] -= judge.mean_loss(&found.plane.w, found.plane.b);
                }
            }
            Ok(Some(scores))
        };
        tuning::by_judge(self.params, labels, &grid, judge, control)
    }
}

/// Rows of one side of a split.
struct SplitRows {
    x: Dense,
    y: Vec<f64>,
    shares: Vec<f64>,
    axes: Option<HalfAxes>,
}

impl SplitRows {
    fn new(
        threats: &Threats<'_>,
        x: &Dense,
        y: Vec<f64>,
        shares: impl Iterator<Item = f64> + Clone,
        rows: &[usize],
    ) -> Self {
        let total: f64 = shares.clone().sum();
        Self {
            x: x.select_rows(rows),
            y,
            shares: shares.map(|share| share / total).collect(),
            axes: threats.axes.as_ref().map(|axes| axes.select(rows)),
        }
    }

    fn sample(&self) -> Sample<'_> {
        Sample { x: &self.x, y: &self.y, shares: &self.shares, axes: self.axes.as_ref() }
    }
}

/// The given rows that count, heaviest loss first, and how much of their weight does.
fn worst_rows(merged: &Merged, data: &Dataset, found: &[Found]) -> WorstRows {
    let mut rows: Vec<(usize, usize, f64, f64)> = Vec::new();
    for (class, found) in found.iter().enumerate() {
        for (row, position) in merged.position.iter().enumerate() {
            if let Some(at) = position.filter(|&at| found.parts[at] > 0.0) {
                let given = data.weights().map_or(1.0, |w| w[row]);
                rows.push((class, row, found.parts[at] * given, found.losses[at]));
            }
        }
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(b.3.total_cmp(&a.3)).then(a.1.cmp(&b.1)));
    WorstRows {
        class: (found.len() > 1).then(|| rows.iter().map(|r| r.0).collect()),
        row: rows.iter().map(|r| r.1).collect(),
        weight: rows.iter().map(|r| r.2).collect(),
        loss: rows.iter().map(|r| r.3).collect(),
    }
}
