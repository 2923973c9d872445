//! Penalised fits of the extended variant: mean loss + $\frac\lambda2\|w\|^2$, intercept free.

use super::line::least_smooth;
use super::losses::PaperLoss;
use super::top_fit::{self, Fit};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, vector};

/// Promised decrease at which a candidate is good enough: its scores are then right to about 1e-4, far
/// below what averaging can see.
const ENOUGH: f64 = 1e-8;
/// Keeps the intercept finite where the training rows have one class.
const INTERCEPT_RIDGE: f64 = 1e-7;

/// Weights and intercept for each of `strengths` (descending: each fit starts from the last).
pub(super) fn path(
    loss: PaperLoss,
    rows: &Dense,
    y: &[f64],
    strengths: &[f64],
    control: &Control,
) -> Result<Vec<(Vec<f64>, f64)>> {
    if 2 * rows.ncols() > rows.nrows() {
        dual(loss, rows, y, strengths, control)
    } else {
        primal(loss, rows, y, strengths, control)
    }
}

fn primal(
    loss: PaperLoss,
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
        theta = top_fit::minimise(loss, &signed, &ridge, Fit::from_theta(theta), ENOUGH)?.theta;
        out.push((theta[1..].to_vec(), theta[0]));
    }
    Ok(out)
}

/// In the span of the rows, $w = A^\top\alpha$ and $K = A A^\top$. With $\Lambda = \lambda n$, slopes s
/// and curvatures W of the losses at the scores f, Newton's step solves
/// $(\Lambda I + W K)\alpha = W f - s - W 1 b$, $1^\top\alpha = 0$, through the Cholesky factor of
/// $I + W^{1/2} K W^{1/2}/\Lambda$: O(n^3/3) a step, whatever the number of columns.
fn dual(
    loss: PaperLoss,
    rows: &Dense,
    y: &[f64],
    strengths: &[f64],
    control: &Control,
) -> Result<Vec<(Vec<f64>, f64)>> {
    let n = rows.nrows();
    let kernel = rows.outer_gram();
    let mut b = Dense::zeros(n, n);
    let (mut alpha, mut intercept) = (vec![0.0; n], 0.0);
    let mut fitted = vec![0.0; n];
    let mut out = Vec::new();
    for &strength in strengths {
        let lambda = strength * n as f64;
        for _ in 0..60 {
            control.check()?;
            let scores: Vec<f64> = fitted.iter().map(|f| f + intercept).collect();
            let margins: Vec<f64> = scores.iter().zip(y).map(|(f, y)| f * y).collect();
            let (slopes, curvatures) = loss.weights(&margins);
            // `weights` belong to the mean loss; the equations above to the sum.
            let count = n as f64;
            let w: Vec<f64> = curvatures.iter().map(|c| c * count).collect();
            let root: Vec<f64> = w.iter().map(|w| w.sqrt()).collect();
            // Only this triangle is read.
            for i in 0..n {
                let by = root[i] / lambda;
                let row = b.row_mut(i)[..=i].iter_mut().zip(kernel.row(i)).zip(&root);
                row.for_each(|((b, k), root)| *b = by * k * root);
            }
            b.add_diagonal(1.0);
            let factor = Cholesky::new(&b)
                .ok_or_else(|| Error::Numerical("Newton step of a penalised fit".into()))?;
            let spread = |v: &[f64]| {
                let mut inner = kernel.mul_vec(v);
                inner.iter_mut().zip(&root).for_each(|(k, r)| *k *= r);
                factor.solve_in_place(&mut inner);
                (0..n).map(|i| v[i] - root[i] * inner[i] / lambda).collect::<Vec<f64>>()
            };
            let target: Vec<f64> =
                (0..n).map(|i| w[i] * scores[i] - count * slopes[i] * y[i]).collect();
            let (z1, z2) = (spread(&target), spread(&w));
            let held = INTERCEPT_RIDGE * count;
            let next = z1.iter().sum::<f64>() / (z2.iter().sum::<f64>() + held);
            let d_alpha: Vec<f64> =
                (0..n).map(|i| (z1[i] - next * z2[i]) / lambda - alpha[i]).collect();
            let d_fitted = kernel.mul_vec(&d_alpha);
            let d_intercept = next - intercept;
            let along: Vec<f64> = (0..n).map(|i| y[i] * (d_fitted[i] + d_intercept)).collect();
            let extra = (
                strength * vector::dot(&alpha, &d_fitted)
                    + INTERCEPT_RIDGE * intercept * d_intercept,
                strength * vector::dot(&d_alpha, &d_fitted)
                    + INTERCEPT_RIDGE * d_intercept * d_intercept,
            );
            let decrease = -(vector::dot(&slopes, &along) + extra.0);
            let value =
                |t: f64| loss.mean_along(&margins, &along, t) + t * extra.0 + 0.5 * t * t * extra.1;
            let mut length = 1.0;
            if decrease > ENOUGH && value(1.0) > value(0.0) - 1e-4 * decrease {
                length = least_smooth(loss, &margins, &along, extra, 1.0);
            }
            vector::axpy(length, &d_alpha, &mut alpha);
            vector::axpy(length, &d_fitted, &mut fitted);
            intercept += length * d_intercept;
            if decrease <= ENOUGH || length == 0.0 {
                break;
            }
        }
        out.push((rows.tr_mul_vec(&alpha), intercept));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Loss;

    #[test]
    fn both_forms_find_the_same_minimum() {
        let rows = Dense::from_fn(14, 9, |i, j| ((i * 7 + j * 5 + i * j) as f64).sin());
        let y: Vec<f64> = (0..14).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        for loss in [Loss::Logistic, Loss::SquaredHinge, Loss::ModifiedHuber].map(PaperLoss) {
            let strengths = [10.0, 1.0, 1e-2, 1e-4];
            let (a, b) = (
                primal(loss, &rows, &y, &strengths, &Control::new()).unwrap(),
                dual(loss, &rows, &y, &strengths, &Control::new()).unwrap(),
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
