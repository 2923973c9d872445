//! Eq. (9): the fit on the reliable subspace, with the ridge of reading R4.

use super::hinge;
use super::line::least_smooth;
use super::losses::PaperLoss;
use super::secants::Secants;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, GrowingCholesky, vector};
use crate::loss::Loss;

/// Columns $y_i$ and $y_i \sqrt n\, U_{i1}, \dots, y_i \sqrt n\, U_{ik}$, one a row of the answer: the
/// scores of the first k principal components, scaled to unit mean square, times the label. `known` holds
/// the first of them, or nothing.
pub(super) fn signed_columns(known: Dense, u: &Dense, y: &[f64], k: usize) -> Dense {
    let root = (u.nrows() as f64).sqrt();
    let first = known.nrows();
    let mut data = known.into_data();
    data.reserve((k + 1 - first) * y.len());
    for j in first..=k {
        let score = |(i, y): (usize, &f64)| if j == 0 { *y } else { y * root * u[(i, j - 1)] };
        data.extend(y.iter().enumerate().map(score));
    }
    Dense::from_rows(k + 1, y.len(), data)
}

/// Decrease that Newton's model promises at which a solution is exact: the step taken then squares what is
/// left, or with a curvature from elsewhere leaves scores that are right to about 1e-10.
pub(super) const EXACT: f64 = 1e-17;
/// A step that promises less is not checked: the logistic loss is as good as quadratic there. Losses with corners
/// in their slopes are checked down to what rounding allows.
const SAFE: f64 = 1e-8;
const SAFE_WITH_CORNERS: f64 = 1e-13;
/// A curvature from elsewhere is good enough while it makes the promised decrease this much smaller
/// from step to step; a fresh one costs about as much as ten steps.
const STALE: f64 = 1e-2;
/// What a curvature from elsewhere leaves after a step is not squared: it has to promise this much less.
const STALE_ENOUGH: f64 = 1e-4;

/// A minimiser, and what the next fit can start from.
#[derive(Debug, Clone, Default)]
pub(super) struct Fit {
    pub(super) theta: Vec<f64>,
    /// Labels times scores of the rows.
    pub(super) margins: Vec<f64>,
    curvature: Option<Curvature>,
}

/// A Hessian, factored, the weights of the rows it was made of, and what steps since then have shown.
#[derive(Debug, Clone)]
struct Curvature {
    weights: Vec<f64>,
    factor: GrowingCholesky,
    secants: Secants,
}

impl Fit {
    /// A start without curvature: for other ridges.
    pub(super) fn from_theta(theta: Vec<f64>) -> Self {
        Self { theta, ..Self::default() }
    }
}

impl Curvature {
    fn new(columns: &Dense, weights: Vec<f64>, ridge: &[f64]) -> Result<Self> {
        let mut scaled = Vec::with_capacity(columns.data().len());
        for j in 0..columns.nrows() {
            scaled.extend(columns.row(j).iter().zip(&weights).map(|(v, w)| v * w));
        }
        let scaled = Dense::from_rows(columns.nrows(), columns.ncols(), scaled);
        let mut hessian = scaled.mul_tr(columns);
        for (j, r) in ridge.iter().enumerate() {
            hessian[(j, j)] += r;
        }
        let factor = Cholesky::new(&hessian).ok_or_else(|| {
            Error::Numerical("Newton step of the fit on the top components".into())
        })?;
        let factor = GrowingCholesky::new(&factor);
        Ok(Self { weights, factor, secants: Secants::default() })
    }

    /// The same with the columns that `columns` has more: O(n k) each. `None` if rounding forbids it.
    fn grown(mut self, columns: &Dense, ridge: &[f64]) -> Option<Self> {
        self.secants = Secants::default();
        for j in self.factor.order()..columns.nrows() {
            let scaled: Vec<f64> =
                self.weights.iter().zip(columns.row(j)).map(|(w, v)| w * v).collect();
            let mut border = columns.mul_vec(&scaled);
            border.truncate(j + 1);
            border[j] += ridge[j];
            if !self.factor.push(border) {
                return None;
            }
        }
        Some(self)
    }

    /// Newton's step, and twice the decrease that its model promises.
    fn newton(&self, gradient: &[f64]) -> (Vec<f64>, f64) {
        let mut step = self.secants.apply(gradient, |g| self.factor.solve(g));
        vector::scale(&mut step, -1.0);
        let decrease = -vector::dot(gradient, &step);
        (step, decrease)
    }
}

/// Minimises $\frac1n \sum_i \ell(a_i^\top\theta) + \frac12\sum_j \epsilon_j\theta_j^2$, where the rows of
/// `columns` hold the first entries of all $a_i$, the second, and so on.
///
/// Smooth losses: Newton's method, where a full step that does not decrease the objective is replaced
/// by an exact line search. A fresh Hessian costs O(n k^2); that of `start`, a minimiser for the first
/// of `columns`, is taken over, corrected by what the steps show ([`Secants`]), and kept while it serves,
/// which makes a step O(n k). Hinge loss: its quadratic program (all $\epsilon_j$ equal there).
pub(super) fn minimise(
    loss: PaperLoss,
    columns: &Dense,
    ridge: &[f64],
    start: Fit,
    enough: f64,
) -> Result<Fit> {
    if loss.0 == Loss::Hinge {
        let theta = hinge::minimise(&columns.transpose(), ridge[0])?;
        return Ok(Fit { margins: columns.tr_mul_vec(&theta), theta, curvature: None });
    }
    let mut theta = start.theta;
    theta.resize(columns.nrows(), 0.0);
    // New columns have no weight yet.
    let known = start.margins.len() == columns.ncols();
    let mut margins = if known { start.margins } else { columns.tr_mul_vec(&theta) };
    let penalty = |a: &[f64], b: &[f64]| (0..a.len()).map(|j| ridge[j] * a[j] * b[j]).sum::<f64>();
    let objective =
        |margins: &[f64], theta: &[f64]| loss.mean(margins) + 0.5 * penalty(theta, theta);
    let mut value = objective(&margins, &theta);
    let safe = if loss.0 == Loss::Logistic { SAFE } else { SAFE_WITH_CORNERS };
    let mut kept = start.curvature.and_then(|c| c.grown(columns, ridge));
    let mut before: Option<(Vec<f64>, Vec<f64>)> = None;
    let mut last = f64::INFINITY;
    for _ in 0..200 {
        let (slopes, weights) = loss.weights(&margins);
        let mut gradient = columns.mul_vec(&slopes);
        gradient.iter_mut().zip(ridge.iter().zip(&theta)).for_each(|(g, (r, t))| *g += r * t);
        if let (Some((step, old)), Some(kept)) = (before.take(), &mut kept) {
            let change = gradient.iter().zip(&old).map(|(new, old)| new - old).collect();
            kept.secants.learn(step, change);
        }
        let stale = kept.as_ref().map(|kept| kept.newton(&gradient));
        let stale = stale.filter(|(_, decrease)| *decrease <= STALE * last);
        let fresh = stale.is_none();
        let (step, decrease) = match stale {
            Some(found) => found,
            None => kept.insert(Curvature::new(columns, weights, ridge)?).newton(&gradient),
        };
        let along = columns.tr_mul_vec(&step);
        let mut length = 1.0;
        if decrease > safe {
            let trial: Vec<f64> = margins.iter().zip(&along).map(|(m, s)| m + s).collect();
            let moved: Vec<f64> = theta.iter().zip(&step).map(|(t, s)| t + s).collect();
            let reached = objective(&trial, &moved);
            if reached > value - 1e-4 * decrease {
                let extra = (penalty(&theta, &step), penalty(&step, &step));
                length = least_smooth(loss, &margins, &along, extra, 1.0);
            }
            value = reached;
        }
        vector::axpy(length, &step, &mut theta);
        vector::axpy(length, &along, &mut margins);
        if length < 1.0 {
            value = objective(&margins, &theta);
        }
        // What the next step would promise: a square, or as much less as this one was less than the last.
        let done = if fresh { decrease <= enough } else { decrease <= STALE_ENOUGH * enough };
        let shrunk = decrease * decrease / last <= STALE_ENOUGH * enough && last.is_finite();
        if done || (shrunk && length == 1.0) || length == 0.0 {
            break;
        }
        last = decrease;
        if length == 1.0 {
            before = Some((step, gradient));
        }
    }
    let margins = columns.tr_mul_vec(&theta);
    Ok(Fit { theta, margins, curvature: kept })
}
