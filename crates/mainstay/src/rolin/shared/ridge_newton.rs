//! Newton's method for a mean loss with a ridge: Eq. (9) on the reliable subspace (reading R4), and the
//! penalised fits of the extended variant.

use super::line_search::least_smooth;
use super::losses::PaperLoss;
use super::secants::Secants;
use crate::error::{Error, Result};
use crate::linalg::{ARMIJO, Cholesky, Dense, GrowingCholesky, vector};
use crate::loss::Loss;
use crate::optim::hinge_qp::exact_hinge;

/// Decrease that Newton's model promises at which a solution is exact: the step taken then squares what is
/// left, or with a curvature from elsewhere leaves scores that are right to about 1e-10.
pub(in crate::rolin) const EXACT: f64 = 1e-17;
/// A step that promises less is not checked: the logistic loss is as good as quadratic there. Losses with corners
/// in their slopes are checked down to what rounding allows, this share of the objective: on separable rows
/// nothing but the ridge is left of it.
const SAFE: f64 = 1e-8;
/// The share for losses with corners.
const SAFE_WITH_CORNERS: f64 = 1e-12;
/// Newton steps, at most; a fit takes about ten.
const MAX_STEPS: usize = 200;
/// A curvature from elsewhere is good enough while it makes the promised decrease this much smaller
/// from step to step; a fresh one costs about as much as ten steps.
const STALE: f64 = 1e-2;
/// What a curvature from elsewhere leaves after a step is not squared: it has to promise this much less.
const STALE_ENOUGH: f64 = 1e-4;

/// A minimiser, and what the next fit can start from.
#[derive(Debug, Clone, Default)]
pub(in crate::rolin) struct Fit {
    pub(in crate::rolin) theta: Vec<f64>,
    /// Labels times scores of the rows.
    pub(in crate::rolin) margins: Vec<f64>,
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
    pub(in crate::rolin) fn from_theta(theta: Vec<f64>) -> Self {
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

/// Mean loss of the rows plus the ridge.
struct Objective<'a> {
    loss: PaperLoss<'a>,
    /// The first entries of all rows, the second, and so on.
    columns: &'a Dense,
    ridge: &'a [f64],
}

impl Objective<'_> {
    fn penalty(&self, a: &[f64], b: &[f64]) -> f64 {
        (0..a.len()).map(|j| self.ridge[j] * a[j] * b[j]).sum()
    }

    fn value(&self, theta: &[f64], margins: &[f64]) -> f64 {
        self.loss.mean(margins) + 0.5 * self.penalty(theta, theta)
    }

    /// The gradient, and the rows' weights in the Hessian.
    fn derivatives(&self, theta: &[f64], margins: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (slopes, weights) = self.loss.weights(margins);
        let mut gradient = self.columns.mul_vec(&slopes);
        let terms = self.ridge.iter().zip(theta);
        gradient.iter_mut().zip(terms).for_each(|(g, (r, t))| *g += r * t);
        (gradient, weights)
    }

    fn has_corners(&self) -> bool {
        self.loss.loss != Loss::Logistic
    }

    /// Newton's step with the curvature `kept` while that serves, a fresh one otherwise; `last` is what the
    /// last step promised.
    fn step(
        &self,
        gradient: &[f64],
        weights: Vec<f64>,
        last: f64,
        kept: &mut Option<Curvature>,
    ) -> Result<Step> {
        let stale = kept.as_ref().map(|kept| kept.newton(gradient));
        let stale = stale.filter(|(_, decrease)| *decrease <= STALE * last);
        let fresh = stale.is_none();
        let (direction, decrease) = match stale {
            Some(found) => found,
            None => {
                kept.insert(Curvature::new(self.columns, weights, self.ridge)?).newton(gradient)
            }
        };
        let along = self.columns.tr_mul_vec(&direction);
        Ok(Step { direction, along, decrease, fresh })
    }

    /// Whether the next step would promise too little: the square of this one, or as much less as this one was less
    /// than the last. Behind a corner curvature vanishes, and neither an old one nor the last steps say what
    /// is left.
    fn is_done(&self, step: &Step, length: f64, last: f64, enough: f64) -> bool {
        if self.has_corners() {
            return step.fresh && step.decrease <= enough;
        }
        let stale_enough = STALE_ENOUGH * enough;
        let least = if step.fresh { enough } else { stale_enough };
        let shrunk = step.decrease * step.decrease / last <= stale_enough && last.is_finite();
        step.decrease <= least || (shrunk && length == 1.0)
    }

    /// How far to go along `step` and the value there: all the way if that decreases the objective from `value`
    /// as promised, to the minimum otherwise.
    fn length(&self, theta: &[f64], margins: &[f64], value: f64, step: &Step) -> (f64, f64) {
        if step.decrease <= if self.has_corners() { SAFE_WITH_CORNERS * value } else { SAFE } {
            return (1.0, value);
        }
        let beyond = |length: f64| {
            let by = |v: &[f64], d: &[f64]| -> Vec<f64> {
                v.iter().zip(d).map(|(v, d)| v + length * d).collect()
            };
            self.value(&by(theta, &step.direction), &by(margins, &step.along))
        };
        let reached = beyond(1.0);
        if reached <= value - ARMIJO * step.decrease {
            return (1.0, reached);
        }
        let direction = &step.direction;
        let extra = (self.penalty(theta, direction), self.penalty(direction, direction));
        let length = least_smooth(self.loss, margins, &step.along, extra, 1.0);
        (length, beyond(length))
    }
}

/// Newton's step.
struct Step {
    direction: Vec<f64>,
    /// What it does to the margins.
    along: Vec<f64>,
    /// Twice the decrease that its model promises.
    decrease: f64,
    /// Whether the curvature was made here.
    fresh: bool,
}

/// Minimises `$\frac1n \sum_i \ell(a_i^\top\theta) + \frac12\sum_j \epsilon_j\theta_j^2$`, where the rows of
/// `columns` hold the first entries of all `$a_i$`, the second, and so on.
///
/// Smooth losses: Newton's method, where a full step that does not decrease the objective is replaced
/// by an exact line search. A fresh Hessian costs O(n k^2); that of `start`, a minimiser for the first
/// of `columns`, is taken over, corrected by what the steps show ([`Secants`]), and kept while it serves,
/// which makes a step O(n k). Hinge loss: its quadratic program (all `$\epsilon_j$` equal there).
pub(in crate::rolin) fn minimise(
    loss: PaperLoss<'_>,
    columns: &Dense,
    ridge: &[f64],
    start: Fit,
    enough: f64,
) -> Result<Fit> {
    if loss.loss == Loss::Hinge {
        let theta = exact_hinge(columns.transpose(), loss.shares(), ridge[0])?;
        return Ok(Fit { margins: columns.tr_mul_vec(&theta), theta, curvature: None });
    }
    let objective = Objective { loss, columns, ridge };
    let mut theta = start.theta;
    theta.resize(columns.nrows(), 0.0);
    // New columns have no weight yet.
    let known = start.margins.len() == columns.ncols();
    let mut margins = if known { start.margins } else { columns.tr_mul_vec(&theta) };
    let mut value = objective.value(&theta, &margins);
    let mut kept = start.curvature.and_then(|c| c.grown(columns, ridge));
    let mut before: Option<(Vec<f64>, Vec<f64>)> = None;
    let mut last = f64::INFINITY;
    for _ in 0..MAX_STEPS {
        let (gradient, weights) = objective.derivatives(&theta, &margins);
        if let (Some((step, old)), Some(kept)) = (before.take(), &mut kept) {
            let change = gradient.iter().zip(&old).map(|(new, old)| new - old).collect();
            kept.secants.learn(step, change);
        }
        let step = objective.step(&gradient, weights, last, &mut kept)?;
        let length;
        (length, value) = objective.length(&theta, &margins, value, &step);
        vector::axpy(length, &step.direction, &mut theta);
        vector::axpy(length, &step.along, &mut margins);
        if length == 0.0 || objective.is_done(&step, length, last, enough) {
            break;
        }
        last = step.decrease;
        before = (length == 1.0).then_some((step.direction, gradient));
    }
    Ok(Fit { margins: columns.tr_mul_vec(&theta), theta, curvature: kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The objective is at least as convex as the ridge: a gradient g leaves at most |g|^2 / (2 ridge). Separable
    /// rows (many columns) are those that tell.
    #[test]
    fn little_is_left_to_gain_on_separable_rows_too() {
        const RIDGE: f64 = 1e-6;
        for loss in [Loss::Logistic, Loss::SquaredHinge, Loss::ModifiedHuber].map(PaperLoss::of) {
            let mut start = Fit::default();
            for k in 1..16 {
                let columns = Dense::from_fn(k, 20, |j, i| {
                    1.5 * ((i * 7 + j * 5 + i * j) as f64 * 0.37).sin()
                });
                let ridge = vec![RIDGE; k];
                let warm = minimise(loss, &columns, &ridge, start, EXACT).unwrap();
                let cold = minimise(loss, &columns, &ridge, Fit::default(), EXACT).unwrap();
                for fit in [&warm, &cold] {
                    let mut gradient = columns.mul_vec(&loss.weights(&fit.margins).0);
                    vector::axpy(RIDGE, &fit.theta, &mut gradient);
                    let value = loss.mean(&fit.margins) + 0.5 * RIDGE * vector::norm_sq(&fit.theta);
                    let left = 0.5 * vector::norm_sq(&gradient) / RIDGE;
                    assert!(left <= 1e-10 * value, "{loss:?} {k}: {left:e} of {value:e}");
                }
                start = warm;
            }
        }
    }
}
