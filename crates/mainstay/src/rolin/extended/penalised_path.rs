//! Penalised fits of the extended variant: mean loss + `$\frac\lambda2\|w\|^2$`, intercept free.

use crate::control::Control;
use crate::error::{Error, Result};
use crate::linalg::{ARMIJO, Cholesky, Dense, vector};
use crate::rolin::shared::line_search::least_smooth;
use crate::rolin::shared::losses::PaperLoss;
use crate::rolin::shared::ridge_newton::{self, Fit};

/// A step that promises less is the last one: what it leaves of the decrease is of the order of its square, far
/// below what averaging can see.
const ENOUGH: f64 = 1e-8;
/// Newton steps for each strength, at most; a fit takes about five.
const MAX_STEPS: usize = 60;
/// Keeps the intercept finite where the training rows have one class.
const INTERCEPT_RIDGE: f64 = 1e-7;

/// Weights and intercept for each of `strengths` (descending: each fit starts from the last).
pub(super) fn fit_path(
    loss: PaperLoss<'_>,
    rows: &Dense,
    y: &[f64],
    strengths: &[f64],
    control: &Control,
) -> Result<Vec<(Vec<f64>, f64)>> {
    if 2 * rows.ncols() > rows.nrows() {
        fit_in_row_span(loss, rows, y, strengths, control)
    } else {
        fit_columns(loss, rows, y, strengths, control)
    }
}

fn fit_columns(
    loss: PaperLoss<'_>,
    rows: &Dense,
    y: &[f64],
    strengths: &[f64],
    control: &Control,
) -> Result<Vec<(Vec<f64>, f64)>> {
    let signed = Dense::from_fn(rows.ncols() + 1, rows.nrows(), |j, i| {
        if j == 0 { y[i] } else { y[i] * rows[(i, j - 1)] }
    });
    let mut theta = Vec::new();
    let mut out = Vec::new();
    for &strength in strengths {
        control.check()?;
        let mut ridge = vec![strength; signed.nrows()];
        ridge[0] = INTERCEPT_RIDGE;
        theta =
            ridge_newton::minimise(loss, &signed, &ridge, Fit::from_theta(theta), ENOUGH)?.theta;
        out.push((theta[1..].to_vec(), theta[0]));
    }
    Ok(out)
}

/// In the span of the rows, `$w = A^\top\alpha$` and `$K = A A^\top$`: O(n^3/3) per step, whatever the number of columns.
fn fit_in_row_span(
    loss: PaperLoss<'_>,
    rows: &Dense,
    y: &[f64],
    strengths: &[f64],
    control: &Control,
) -> Result<Vec<(Vec<f64>, f64)>> {
    let mut fit = RowSpanFit::new(loss, rows, y);
    let mut out = Vec::new();
    for &strength in strengths {
        for _ in 0..MAX_STEPS {
            control.check()?;
            if fit.step(strength)? {
                break;
            }
        }
        out.push((rows.tr_mul_vec(&fit.alpha), fit.intercept));
    }
    Ok(out)
}

/// Where a fit in the span of the rows stands.
struct RowSpanFit<'a> {
    loss: PaperLoss<'a>,
    y: &'a [f64],
    /// K.
    kernel: Dense,
    alpha: Vec<f64>,
    /// `$K\alpha$`.
    fitted: Vec<f64>,
    intercept: f64,
    /// Newton's matrix, written anew in every step.
    system: Dense,
}

/// A change of all that moves.
struct Move {
    alpha: Vec<f64>,
    fitted: Vec<f64>,
    intercept: f64,
}

impl<'a> RowSpanFit<'a> {
    fn new(loss: PaperLoss<'a>, rows: &Dense, y: &'a [f64]) -> Self {
        let n = rows.nrows();
        let (kernel, system) = (rows.outer_gram(), Dense::zeros(n, n));
        Self { loss, y, kernel, alpha: vec![0.0; n], fitted: vec![0.0; n], intercept: 0.0, system }
    }

    /// One of Newton's steps, as long as the objective falls; tells whether it was the last.
    fn step(&mut self, strength: f64) -> Result<bool> {
        let (loss, y) = (self.loss, self.y);
        let scores: Vec<f64> = self.fitted.iter().map(|f| f + self.intercept).collect();
        let margins: Vec<f64> = scores.iter().zip(y).map(|(f, y)| f * y).collect();
        let (slopes, curvatures) = loss.weights(&margins);
        let moved = self.newton(strength, &scores, &slopes, &curvatures)?;
        let along: Vec<f64> =
            moved.fitted.iter().zip(y).map(|(f, y)| y * (f + moved.intercept)).collect();
        let held = INTERCEPT_RIDGE * moved.intercept;
        let extra = (
            strength * vector::dot(&self.alpha, &moved.fitted) + held * self.intercept,
            strength * vector::dot(&moved.alpha, &moved.fitted) + held * moved.intercept,
        );
        let decrease = -(vector::dot(&slopes, &along) + extra.0);
        let value =
            |t: f64| loss.mean_along(&margins, &along, t) + t * extra.0 + 0.5 * t * t * extra.1;
        let mut length = 1.0;
        if decrease > ENOUGH && value(1.0) > value(0.0) - ARMIJO * decrease {
            length = least_smooth(loss, &margins, &along, extra, 1.0);
        }
        vector::axpy(length, &moved.alpha, &mut self.alpha);
        vector::axpy(length, &moved.fitted, &mut self.fitted);
        self.intercept += length * moved.intercept;
        Ok(decrease <= ENOUGH || length == 0.0)
    }

    /// With `$\Lambda = \lambda n$`, slopes s and curvatures W of the sum of losses at the scores f, solves
    /// `$(\Lambda I + W K)\alpha = W f - s - W 1 b$`, `$1^\top\alpha = 0$`, through the Cholesky factor of
    /// `$I + W^{1/2} K W^{1/2}/\Lambda$`.
    fn newton(
        &mut self,
        strength: f64,
        scores: &[f64],
        slopes: &[f64],
        curvatures: &[f64],
    ) -> Result<Move> {
        let n = scores.len();
        // What is given belongs to the mean loss.
        let count = n as f64;
        let lambda = strength * count;
        let w: Vec<f64> = curvatures.iter().map(|c| c * count).collect();
        let root: Vec<f64> = w.iter().map(|w| w.sqrt()).collect();
        // Only this triangle is read.
        for i in 0..n {
            let by = root[i] / lambda;
            let row = self.system.row_mut(i)[..=i].iter_mut().zip(self.kernel.row(i)).zip(&root);
            row.for_each(|((b, k), root)| *b = by * k * root);
        }
        self.system.add_diagonal(1.0);
        let factor = Cholesky::new(&self.system)
            .ok_or_else(|| Error::Numerical("Newton step of a penalised fit".into()))?;
        let spread = |v: &[f64]| {
            let mut inner = self.kernel.mul_vec(v);
            inner.iter_mut().zip(&root).for_each(|(k, r)| *k *= r);
            factor.solve_in_place(&mut inner);
            (0..n).map(|i| v[i] - root[i] * inner[i] / lambda).collect::<Vec<f64>>()
        };
        let target: Vec<f64> =
            (0..n).map(|i| w[i] * scores[i] - count * slopes[i] * self.y[i]).collect();
        let (z1, z2) = (spread(&target), spread(&w));
        let held = INTERCEPT_RIDGE * count;
        let next = z1.iter().sum::<f64>() / (z2.iter().sum::<f64>() + held);
        let alpha: Vec<f64> =
            (0..n).map(|i| (z1[i] - next * z2[i]) / lambda - self.alpha[i]).collect();
        let fitted = self.kernel.mul_vec(&alpha);
        Ok(Move { alpha, fitted, intercept: next - self.intercept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Loss;

    #[test]
    fn both_forms_find_the_same_minimum() {
        let rows = Dense::from_fn(14, 9, |i, j| ((i * 7 + j * 5 + i * j) as f64).sin());
        let y: Vec<f64> = (0..14).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        for loss in [Loss::Logistic, Loss::SquaredHinge, Loss::ModifiedHuber].map(PaperLoss::of) {
            let strengths = [10.0, 1.0, 1e-2, 1e-4];
            let (a, b) = (
                fit_columns(loss, &rows, &y, &strengths, &Control::new()).unwrap(),
                fit_in_row_span(loss, &rows, &y, &strengths, &Control::new()).unwrap(),
            );
            for (k, ((w, b0), (v, b1))) in a.iter().zip(&b).enumerate() {
                let value = |w: &[f64], b: f64| {
                    let margins: Vec<f64> =
                        (0..14).map(|i| y[i] * (b + vector::dot(rows.row(i), w))).collect();
                    loss.mean(&margins) + 0.5 * strengths[k] * vector::norm_sq(w)
                };
                let (one, other) = (value(w, *b0), value(v, *b1));
                assert!((one - other).abs() <= 1e-7 * one.max(1e-3), "{loss:?}: {one} {other}");
            }
        }
    }
}
