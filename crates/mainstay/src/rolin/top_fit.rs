//! Eq. (9): the fit on the reliable subspace, with the ridge of reading R4.

use super::hinge;
use super::line::least_smooth;
use super::losses::PaperLoss;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, vector};
use crate::loss::Loss;

/// Rows $y_i (1, \sqrt n\, U_{i1}, \dots, \sqrt n\, U_{ik})$: the score columns of the first k
/// principal components, scaled to unit mean square, times the label.
pub(super) fn signed_rows(u: &Dense, y: &[f64], k: usize) -> Dense {
    let root = (u.nrows() as f64).sqrt();
    let mut data = Vec::with_capacity(u.nrows() * (k + 1));
    for (i, y) in y.iter().enumerate() {
        data.push(*y);
        data.extend(u.row(i)[..k].iter().map(|v| y * root * v));
    }
    Dense::from_rows(u.nrows(), k + 1, data)
}

/// Decrease that Newton's model promises at which a solution is exact to rounding: the step taken then
/// squares what is left.
pub(super) const EXACT: f64 = 1e-20;

/// Minimises $\frac1n \sum_i \ell(a_i^\top\theta) + \frac12\sum_j \epsilon_j\theta_j^2$.
///
/// Smooth losses: Newton's method, where a full step that does not decrease the objective is replaced
/// by an exact line search; O(n k^2) an iteration, few of them from a warm start. Hinge loss: its
/// quadratic program (all $\epsilon_j$ equal there).
pub(super) fn minimise(
    loss: PaperLoss,
    rows: &Dense,
    ridge: &[f64],
    start: &[f64],
    enough: f64,
) -> Result<Vec<f64>> {
    if loss.0 == Loss::Hinge {
        return hinge::minimise(rows, ridge[0]);
    }
    let mut theta = start.to_vec();
    theta.resize(rows.ncols(), 0.0);
    let mut margins = rows.mul_vec(&theta);
    let penalty = |a: &[f64], b: &[f64]| (0..a.len()).map(|j| ridge[j] * a[j] * b[j]).sum::<f64>();
    let objective =
        |margins: &[f64], theta: &[f64]| loss.mean(margins) + 0.5 * penalty(theta, theta);
    let mut value = objective(&margins, &theta);
    // Close to the minimum the curvature hardly changes: its factor serves several steps there.
    let mut kept: Option<Cholesky> = None;
    let mut last = f64::INFINITY;
    for _ in 0..200 {
        let (slopes, curvatures) = loss.weights(&margins);
        let mut gradient = rows.tr_mul_vec(&slopes);
        gradient.iter_mut().zip(ridge.iter().zip(&theta)).for_each(|(g, (r, t))| *g += r * t);
        let newton = |factor: &Cholesky| {
            let mut step = factor.solve(&gradient);
            vector::scale(&mut step, -1.0);
            let decrease = -vector::dot(&gradient, &step);
            (step, decrease)
        };
        let cheap = kept.take().map(|factor| (newton(&factor), factor));
        let ((step, decrease), factor) = match cheap {
            Some(((step, decrease), factor)) if decrease <= 1e-3 * last => {
                ((step, decrease), factor)
            }
            _ => {
                let mut hessian = rows.weighted_gram(&curvatures);
                for (j, r) in ridge.iter().enumerate() {
                    hessian[(j, j)] += r;
                }
                let factor = Cholesky::new(&hessian).ok_or_else(|| {
                    Error::Numerical("Newton step of the fit on the top components".into())
                })?;
                (newton(&factor), factor)
            }
        };
        last = decrease;
        if decrease <= 1e-5 {
            kept = Some(factor);
        }
        let along = rows.mul_vec(&step);
        let mut length = 1.0;
        if decrease > 1e-13 {
            let trial: Vec<f64> = margins.iter().zip(&along).map(|(m, s)| m + s).collect();
            let moved: Vec<f64> = theta.iter().zip(&step).map(|(t, s)| t + s).collect();
            if objective(&trial, &moved) > value - 1e-4 * decrease {
                let extra = (penalty(&theta, &step), penalty(&step, &step));
                length = least_smooth(loss, &margins, &along, extra, 1.0);
            }
        }
        vector::axpy(length, &step, &mut theta);
        margins = rows.mul_vec(&theta);
        value = objective(&margins, &theta);
        // Quadratic convergence: the step just taken squared what was left.
        if decrease <= enough || length == 0.0 {
            break;
        }
    }
    Ok(theta)
}
