//! What is minimised.

use rayon::prelude::*;

use super::average::Blurred;
use super::labels::{Correction, Rates};
use crate::linalg::{TINY, vector};
use crate::loss::{Terms, expected_logistic};

/// ```math
/// \min_{w, b}\ F(w, b) = \frac{\alpha}{2}\|w\|^2 + \sum_i s_i f_i(\mu_i, v_i), \qquad
///   \mu_i = y_i (m_i^\top w + b),\quad v_i = w^\top V_i w.
/// ```
///
/// With `after` and `backward` `$f_i = E\,\varphi(M) - \kappa_i \mu_i$` for `$M \sim N(\mu_i, v_i)$` and the logistic loss
/// `$\varphi$` (`$\kappa = 0$` with `after`): an expectation of convex functions of linear forms, so `$F$` is
/// `$\alpha$`-strongly convex in `$w$` and convex in `$(w, b)$`. With `forward` `$f_i$` is minus the log
/// likelihood of the observed label, `$-\log(r_{-y} + (1 - r_- - r_+) E\,\sigma(M))$`, which is not convex.
#[derive(Debug)]
pub(super) struct Problem<'a> {
    /// The rows, as far as they are known.
    pub rows: &'a Blurred,
    /// +1 or -1.
    pub y: &'a [f64],
    /// `$s$`, adding up to 1.
    pub shares: &'a [f64],
    /// `$\alpha$`.
    pub alpha: f64,
    /// How often labels are wrong.
    pub rates: Rates,
    /// What is done about it.
    pub correction: Correction,
    /// Whether `$b$` is free; otherwise it is 0.
    pub intercept: bool,
}

/// Value and derivatives of the loss terms at one point.
pub(super) struct State {
    /// F.
    pub value: f64,
    /// One for each row, share included.
    pub terms: Vec<Terms>,
    /// Gradient in w.
    pub slope: Vec<f64>,
    /// Derivative in b; 0 where there is no intercept.
    pub tilt: f64,
}

impl Problem<'_> {
    /// `$\mu$` of every row.
    pub(super) fn margins(&self, w: &[f64], b: f64) -> Vec<f64> {
        let scores = self.rows.mean.mul_vec(w);
        scores.iter().zip(self.y).map(|(s, y)| y * (s + b)).collect()
    }

    /// `$f_i$` at a mean and a variance, with derivatives.
    ///
    /// With `forward` the second derivatives are those of Gauss and Newton, which are never negative.
    fn term(&self, y: f64, margin: f64, variance: f64) -> Terms {
        let plain = expected_logistic(margin, variance);
        match self.correction {
            Correction::After => plain,
            Correction::Backward => {
                let kappa = self.rates.slope(y);
                Terms { value: plain.value - kappa * margin, m: plain.m - kappa, ..plain }
            }
            Correction::Forward | Correction::Averaged => {
                // P(label is y | row) and its derivatives; E sigma = 1 + plain.m.
                let kept = self.rates.kept();
                let seen = (self.rates.of(-y) + kept * (1.0 + plain.m)).max(TINY);
                let (by_m, by_v) = (kept * plain.mm / seen, kept * plain.mv / seen);
                Terms {
                    value: -seen.ln(),
                    m: -by_m,
                    v: -by_v,
                    mm: by_m * by_m,
                    mv: by_m * by_v,
                    vv: by_v * by_v,
                }
            }
        }
    }

    /// The loss terms of all rows, share included.
    fn terms(&self, w: &[f64], b: f64) -> Vec<Terms> {
        let (margins, variances) = (self.margins(w, b), self.rows.variances(w));
        let one = |i: usize| {
            let (t, s) = (self.term(self.y[i], margins[i], variances[i]), self.shares[i]);
            Terms {
                value: s * t.value,
                m: s * t.m,
                v: s * t.v,
                mm: s * t.mm,
                mv: s * t.mv,
                vv: s * t.vv,
            }
        };
        (0..self.y.len()).into_par_iter().with_min_len(512).map(one).collect()
    }

    /// F.
    pub(super) fn value(&self, w: &[f64], b: f64) -> f64 {
        let losses: f64 = self.terms(w, b).iter().map(|t| t.value).sum();
        losses + 0.5 * self.alpha * vector::norm_sq(w)
    }

    /// F with its gradient and what the second derivatives need.
    pub(super) fn state(&self, w: &[f64], b: f64) -> State {
        let terms = self.terms(w, b);
        let losses: f64 = terms.iter().map(|t| t.value).sum();
        let pull: Vec<f64> = terms.iter().zip(self.y).map(|(t, y)| t.m * y).collect();
        let mut slope = self.rows.mean.tr_mul_vec(&pull);
        vector::axpy(self.alpha, w, &mut slope);
        if !self.rows.exact() {
            let c: Vec<f64> = terms.iter().map(|t| 2.0 * t.v).collect();
            vector::axpy(1.0, &self.rows.spread(&c, w), &mut slope);
        }
        let tilt = if self.intercept { pull.iter().sum() } else { 0.0 };
        State { value: losses + 0.5 * self.alpha * vector::norm_sq(w), terms, slope, tilt }
    }

    /// Total share of the rows labelled +1 and -1.
    pub(super) fn class_shares(&self) -> (f64, f64) {
        let positive: f64 =
            self.y.iter().zip(self.shares).filter(|(y, _)| **y > 0.0).map(|(_, s)| s).sum();
        (positive, self.shares.iter().sum::<f64>() - positive)
    }

    /// `$\kappa$` of rows labelled +1 and -1.
    pub(super) fn kappas(&self) -> (f64, f64) {
        match self.correction {
            Correction::Backward => (self.rates.slope(1.0), self.rates.slope(-1.0)),
            Correction::After | Correction::Forward | Correction::Averaged => (0.0, 0.0),
        }
    }

    /// The slopes with which F grows at least for `$b \to \infty$` and `$b \to -\infty$`; F is bounded from below
    /// for every w only if both are positive.
    pub(super) fn growth(&self) -> (f64, f64) {
        growth_of(self.class_shares(), self.kappas())
    }
}

/// [`Problem::growth`] from shares and label corrections of the rows labelled +1 and -1.
pub(super) fn growth_of((up, down): (f64, f64), (k_up, k_down): (f64, f64)) -> (f64, f64) {
    (down * (1.0 + k_down) - up * k_up, up * (1.0 + k_up) - down * k_down)
}
