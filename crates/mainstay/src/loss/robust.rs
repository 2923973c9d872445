//! The losses of the conic SVM paper's Figure 1 as functions of the margin `u = y x'w`.
//!
//! Only the hinge is convex, so these are plain functions and not `MarginLoss`es: no
//! solver here minimises them one by one. All are scaled to lie below, or cross, the 0-1 loss
//! with cost 1 as in the figure.
//!
//! # Reference
//!
//! Cepeda, Gomez, Han (2024), *Robust support vector machines via conic optimization*,
//! Proposition 1 and Figure 1.

use serde::{Deserialize, Serialize};

/// The conic loss of Proposition 1: what is left of the convexified 0-1 loss of one point once its
/// indicator `z` is minimised out,
/// ```math
/// L(u) = \min_{0 \le z \le 1} \lambda z - \gamma(1-u)^2 + \gamma\frac{(1-u)_+^2}{z}
///   + \gamma\frac{(1-u)_-^2}{1-z}.
/// ```
///
/// It is 0 for `$u \ge 1$`, rises concavely as `$2\sqrt{\lambda\gamma}(1-u) - \gamma(1-u)^2$`, and stays at
/// `$\lambda$` once `$1 - u \ge \sqrt{\lambda/\gamma}$`: an outlier costs no more than any other error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConicLoss {
    /// Cost of one wrong label (`$\lambda$`; the estimator's `C`).
    pub price: f64,
    /// Shape (`$\gamma$`; the estimator's `loss_shape_`): larger is closer to the 0-1 loss.
    pub shape: f64,
}

impl ConicLoss {
    /// The loss at margin `u`.
    pub fn value(&self, u: f64) -> f64 {
        let a = 1.0 - u;
        if a <= 0.0 {
            0.0
        } else if self.shape * a * a <= self.price {
            2.0 * (self.price * self.shape).sqrt() * a - self.shape * a * a
        } else {
            self.price
        }
    }

    /// The minimising indicator `$z = \min(\sqrt{\gamma/\lambda}\,(1-u)_+, 1)$`.
    pub fn indicator(&self, u: f64) -> f64 {
        ((self.shape / self.price).sqrt() * (1.0 - u).max(0.0)).min(1.0)
    }
}

/// The 0-1 loss with margin: 1 where `$u < 1$`.
pub fn zero_one(u: f64) -> f64 {
    if u < 1.0 { 1.0 } else { 0.0 }
}

/// The ramp loss `$\min(1, \max(0, 1-u))$` (Wu and Liu).
pub fn ramp(u: f64) -> f64 {
    (1.0 - u).clamp(0.0, 1.0)
}

/// The `$\psi$`-learning loss (Shen et al.), scaled to height 1: 1 below 0, `$(1-u)/2$` on `$[0, 1)$`, 0 from 1 on.
pub fn psi(u: f64) -> f64 {
    if u < 0.0 { 1.0 } else { (0.5 * (1.0 - u)).max(0.0) }
}

/// The normalised sigmoid loss `$1 - \tanh u$`, halved to height 1 (Mason et al.).
pub fn sigmoid(u: f64) -> f64 {
    0.5 * (1.0 - u.tanh())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bracket of (10) for one z.
    fn inner(u: f64, z: f64, loss: ConicLoss) -> f64 {
        let a = 1.0 - u;
        let over = |v: f64, d: f64| if v == 0.0 { 0.0 } else { v * v / d };
        let strengthening = over(a.max(0.0), z) + over((-a).max(0.0), 1.0 - z) - a * a;
        loss.price * z + loss.shape * strengthening
    }

    #[test]
    fn proposition_1_is_the_minimum_over_the_indicator() {
        for (price, shape) in [(1.0, 1.0), (1.0, 0.1), (0.3, 4.0), (5.0, 0.02)] {
            let loss = ConicLoss { price, shape };
            for k in -60..=40 {
                let u = f64::from(k) / 10.0;
                let grid = (0..=20_000).map(|j| f64::from(j) / 20_000.0);
                let best = grid.map(|z| inner(u, z, loss)).fold(f64::INFINITY, f64::min);
                let value = loss.value(u);
                assert!(best >= value - 1e-12 * (1.0 + price));
                // A grid step of 5e-5 in z moves the bracket by at most its slope there.
                assert!(best - value <= 1e-3 * price.max(shape), "u = {u}: {best} {value}");
                let at = inner(u, loss.indicator(u), loss);
                assert!((at - value).abs() <= 1e-9 * (1.0 + price + shape * (1.0 - u).powi(2)));
            }
        }
    }

    #[test]
    fn the_conic_loss_lies_between_the_ramp_and_the_0_1_loss() {
        let loss = ConicLoss { price: 1.0, shape: 1.0 };
        for k in -300..=300 {
            let u = f64::from(k) / 100.0;
            assert!(loss.value(u) <= zero_one(u) + 1e-15);
            assert!(loss.value(u) >= ramp(u) - 1e-15);
            assert!(ramp(u) <= zero_one(u) && psi(u) <= zero_one(u));
            assert!((0.0..=1.0).contains(&sigmoid(u)));
        }
    }
}
