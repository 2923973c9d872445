//! Algorithm 1: the classifier for one setting `$\psi = (k, \sigma_{ratio}, b_{max})$`.
//!
//! `$X = U D V^\top$` splits the feature space: `$\mathcal S_0$` is spanned by the first k columns of V,
//! where the training loss itself is minimised (Eq. 9); in the rest only moments are believed, and the
//! best direction against the most uncertain distribution with these moments is, for every loss,
//! `$\eta \propto V (D^2 + \sigma_{bound} I)^{-1} V^\top X^\top y$` (Theorem 1; readings R2, R3). Its
//! length minimises the training loss over `$[0, b_{max}]$`.

use crate::error::Result;
use crate::linalg::Dense;
use crate::linalg::vector::{self, vectorized};
use crate::rolin::shared::line_search::least_along;
use crate::rolin::shared::losses::PaperLoss;
use crate::rolin::shared::ridge_newton::{self, Fit};
use crate::rolin::shared::spectrum::Spectrum;

/// `$\psi$`: what cross-validation chooses. `sigma_ratio` = `b_max` = 0 is the fit on the top alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Psi {
    pub(super) k: usize,
    pub(super) sigma_ratio: f64,
    pub(super) b_max: f64,
}

/// The parts of `$\beta$`, in principal coordinates.
#[derive(Debug, Clone)]
pub(super) struct Beta {
    pub(super) intercept: f64,
    /// `$\beta_{\mathcal S_0}$`.
    pub(super) top: Vec<f64>,
    /// The unit vector `$\eta$`; zero if the tail says nothing.
    pub(super) direction: Vec<f64>,
    /// `$\|\beta_{\mathcal S_1 \cup \mathcal S_2}\|$`.
    pub(super) length: f64,
}

/// Unit vectors `$\nu / \|\nu\|$` in the basis V, one row for each ratio; the first k entries are zero.
///
/// `uty` is `$U^\top y$`, so that `$V^\top X^\top y = D\,U^\top y$`.
pub(super) fn directions(spectrum: &Spectrum, uty: &[f64], k: usize, ratios: &[f64]) -> Dense {
    let d = &spectrum.d;
    let mut out = Dense::zeros(ratios.len(), d.len());
    let Some(&head) = d.get(k).filter(|head| **head > 0.0) else {
        return out;
    };
    // In units of the head: no square can overflow.
    let relative = d[k..spectrum.rank].iter().map(|d| d / head);
    let (squares, loads): (Vec<f64>, Vec<f64>) =
        relative.zip(&uty[k..]).map(|(d, uty)| (d * d, d * uty)).unzip();
    for (r, ratio) in ratios.iter().enumerate() {
        let row = out.row_mut(r);
        vectorized!({
            for ((v, square), load) in row[k..].iter_mut().zip(&squares).zip(&loads) {
                *v = load / (square + ratio);
            }
        });
        let length = vector::norm(row);
        if length > 0.0 {
            vector::scale(row, 1.0 / length);
        }
    }
    out
}

/// Columns `$y_i$` and `$y_i \sqrt n\, U_{i1}, \dots, y_i \sqrt n\, U_{ik}$`, one per row of the result: the
/// scores of the first k principal components, scaled to unit mean square, times the label. `known` holds
/// the first of them, or nothing.
pub(super) fn signed_columns(known: Dense, spectrum: &Spectrum, y: &[f64], k: usize) -> Dense {
    let mut scale: Vec<f64> = y.iter().map(|y| y * spectrum.total().sqrt()).collect();
    spectrum.unscale(&mut scale);
    let u = &spectrum.u;
    let first = known.nrows();
    let mut data = known.into_data();
    data.reserve((k + 1 - first) * y.len());
    for j in first..=k {
        let score = |(i, y): (usize, &f64)| if j == 0 { *y } else { scale[i] * u[(i, j - 1)] };
        data.extend(y.iter().enumerate().map(score));
    }
    Dense::from_rows(k + 1, y.len(), data)
}

/// Scores of the top fit on other rows: `theta` belongs to the whitened columns, `rows` are in basis V.
pub(super) fn top_weights(spectrum: &Spectrum, theta: &[f64]) -> Vec<f64> {
    let root = spectrum.total().sqrt();
    theta[1..].iter().zip(&spectrum.d).map(|(t, d)| t * root / d).collect()
}

/// CALCBETA on the rows behind `spectrum`.
pub(super) fn calc_beta(
    loss: PaperLoss<'_>,
    spectrum: &Spectrum,
    y: &[f64],
    psi: Psi,
    ridge: f64,
) -> Result<Beta> {
    let signed = signed_columns(Dense::zeros(0, y.len()), spectrum, y, psi.k);
    let start = Fit::default();
    let fit =
        ridge_newton::minimise(loss, &signed, &vec![ridge; psi.k + 1], start, ridge_newton::EXACT)?;
    let mut top = top_weights(spectrum, &fit.theta);
    top.resize(spectrum.d.len(), 0.0);
    let uty = spectrum.loads(y);
    let mut nu = vec![0.0; spectrum.d.len()];
    let mut length = 0.0;
    if psi.b_max > 0.0 {
        nu = directions(spectrum, &uty, psi.k, &[psi.sigma_ratio]).into_data();
        let along: Vec<f64> = nu.iter().zip(&spectrum.d).map(|(v, d)| v * d).collect();
        let mut slope = spectrum.u.mul_vec(&along);
        spectrum.unscale(&mut slope);
        slope.iter_mut().zip(y).for_each(|(s, y)| *s *= y);
        length = least_along(loss, &fit.margins, &slope, psi.b_max);
    }
    Ok(Beta { intercept: fit.theta[0], top, direction: nu, length })
}
