//! How far a point is from the optimum at most, from the data and the point alone.

mod worst;

pub(super) use worst::{certify as certify_worst, lower_bound};

use super::labels::Correction;
use super::problem::{Problem, State, growth_of};
use crate::certificate::Certificate;
use crate::linalg::vector;

/// The interval that a point proves; `None` for the problem that is not convex.
pub(super) fn certify(problem: &Problem<'_>, w: &[f64], b: f64) -> Option<Certificate> {
    if problem.correction == Correction::Forward {
        return None;
    }
    let state = problem.state(w, b);
    Some(Certificate { primal: state.value, dual: state.value - excess(problem, &state, b) })
}

/// A bound on `$F(w, b) - \min F$` from the gradient `$(g, t)$` at `$(w, b)$`.
///
/// `$F - \frac{\alpha}{2}\|w\|^2$` is convex, so for the optimum `$(w^*, b^*)$`
/// ```math
/// F^* \ge F + g^\top (w^* - w) + t (b^* - b) + \tfrac{\alpha}{2}\|w^* - w\|^2
///       \ge F - \frac{\|g\|^2}{2\alpha} - |t|\,|b^* - b|,
/// ```
/// and `$|b^*|$` is bounded by [`farthest`]. Nothing here is a stopping heuristic: it holds at every point.
pub(super) fn excess(problem: &Problem<'_>, state: &State, b: f64) -> f64 {
    let own = vector::norm_sq(&state.slope) / (2.0 * problem.alpha);
    if state.tilt == 0.0 {
        return own;
    }
    own + state.tilt.abs() * (Reach::new(problem).farthest(problem.alpha, state.value) + b.abs())
}

/// The same from the gradient in `$(w, b)$`, `$b$`, and the value there.
pub(super) fn excess_of(alpha: f64, slope: &[f64], b: f64, value: f64, reach: &Reach) -> f64 {
    let Some((tilt, slope)) = slope.split_last() else { return f64::INFINITY };
    let own = vector::norm_sq(slope) / (2.0 * alpha);
    if *tilt == 0.0 { own } else { own + tilt.abs() * (reach.farthest(alpha, value) + b.abs()) }
}

/// What bounds the intercept, of the rows labelled +1 and -1: shares, label corrections, and lengths of the mean rows.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    pub shares: (f64, f64),
    pub kappas: (f64, f64),
    pub far: (f64, f64),
}

impl Reach {
    fn new(problem: &Problem<'_>) -> Self {
        let (up, down) = problem.class_shares();
        let length = |sign: f64, share: f64| {
            let pick = |(y, s): (&f64, &f64)| if *y == sign { s / share } else { 0.0 };
            let weights: Vec<f64> = problem.y.iter().zip(problem.shares).map(pick).collect();
            vector::norm(&problem.rows.mean.tr_mul_vec(&weights))
        };
        let far = (length(1.0, up), length(-1.0, down));
        Self { shares: (up, down), kappas: problem.kappas(), far }
    }
}

impl Reach {
    /// A bound on `$|b^*|$` where `$F^* \le$` `value`.
    ///
    /// By Jensen's inequality, and `$\varphi(m) \ge \max(0, -m)$`, with `$s_\pm$` the shares, `$\bar m_\pm$` the
    /// means of the classes, `$u_\pm = w^\top \bar m_\pm$` and `$\kappa_\pm$` the label corrections, the losses are at least
    /// ```math
    /// A b + s_-(1 + \kappa_-) u_- - s_+ \kappa_+ u_+ \quad\text{and}\quad
    ///   -B b - s_+(1 + \kappa_+) u_+ + s_- \kappa_- u_-
    /// ```
    /// with `$A, B$` of [`Problem::growth`]. The mean of both, weighted so that `$b$` vanishes, is at least
    /// `$-c\|w\|$`, hence `$\frac\alpha2 R^2 - c R \le F$` bounds `$R = \|w^*\|$`, and each of the two then bounds `$b^*$` on one side.
    fn farthest(&self, alpha: f64, value: f64) -> f64 {
        let ((up, down), (k_up, k_down)) = (self.shares, self.kappas);
        let (a, b) = growth_of(self.shares, self.kappas);
        if a <= 0.0 || b <= 0.0 {
            return f64::INFINITY;
        }
        let (far_up, far_down) = self.far;
        let c = if k_up == 0.0 && k_down == 0.0 {
            0.0
        } else {
            (down * (b * (1.0 + k_down) + a * k_down) * far_down
                + up * (b * k_up + a * (1.0 + k_up)) * far_up)
                / (a + b)
        };
        let radius = (c + (c * c + 2.0 * alpha * value).max(0.0).sqrt()) / alpha;
        let above =
            (value.abs() + radius * (down * (1.0 + k_down) * far_down + up * k_up * far_up)) / a;
        let below =
            (value.abs() + radius * (up * (1.0 + k_up) * far_up + down * k_down * far_down)) / b;
        above.max(below)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::Dense;
    use crate::robust::average::Blurred;
    use crate::robust::labels::Rates;

    const ROWS: usize = 5;

    proptest! {
        /// The bound that one point proves is below the objective of every other point.
        #[test]
        fn no_bound_lies_above_any_objective(
            x in prop::collection::vec(-3.0..3.0_f64, 2 * ROWS),
            own in prop::collection::vec(0.0..2.0_f64, 2 * ROWS),
            point in (prop::collection::vec(-2.0..2.0_f64, 2), -3.0..3.0_f64),
            other in (prop::collection::vec(-2.0..2.0_f64, 2), -3.0..3.0_f64),
            rates in (0.0..0.4_f64, 0.0..0.4_f64),
            alpha in 0.01..2.0_f64,
            (blurred, backward, intercept) in any::<(bool, bool, bool)>(),
        ) {
            let mut rows = Blurred::known(Dense::from_rows(ROWS, 2, x));
            rows.own = blurred.then(|| Dense::from_rows(ROWS, 2, own));
            let problem = Problem {
                rows: &rows,
                y: &[1.0, -1.0, 1.0, -1.0, -1.0],
                shares: &[0.1, 0.3, 0.2, 0.15, 0.25],
                alpha,
                rates: Rates { negative: rates.0, positive: rates.1 },
                correction: if backward { Correction::Backward } else { Correction::After },
                intercept,
            };
            let free = f64::from(u8::from(intercept));
            let found = certify(&problem, &point.0, free * point.1).unwrap();
            prop_assert!(found.dual <= found.primal, "{found:?}");
            for (w, b) in [(other.0, free * other.1), (vec![0.0; 2], 0.0)] {
                let value = problem.value(&w, b);
                prop_assert!(found.dual <= value + 1e-12 * value.abs().max(1.0), "{value} {found:?}");
            }
        }
    }

    /// Where the likelihood is not convex nothing is claimed.
    #[test]
    fn the_likelihood_of_observed_labels_has_no_certificate() {
        let rows = Blurred::known(Dense::from_rows(2, 1, vec![1.0, -1.0]));
        let problem = Problem {
            rows: &rows,
            y: &[1.0, -1.0],
            shares: &[0.5, 0.5],
            alpha: 1.0,
            rates: Rates { negative: 0.1, positive: 0.1 },
            correction: Correction::Forward,
            intercept: true,
        };
        assert!(certify(&problem, &[0.5], 0.0).is_none());
    }
}
