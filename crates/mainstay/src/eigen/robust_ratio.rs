//! The worst-case ratio of a plane over the ellipsoids, with its regularisation: what robust planes minimise.

use super::problem::ScaledDiagonal;
use crate::linalg::{Dense, vector};
use crate::uncertainty::ellipsoid::Ellipsoids;

/// Rows of one side, augmented by -1, with weights and their place among the ellipsoids.
#[derive(Debug)]
pub(super) struct Side {
    pub rows: Dense,
    pub weights: Vec<f64>,
    pub index: Vec<usize>,
}

/// ```math
/// R_\delta(z) = \frac{\sum_A c_a (|d_a| + f\rho_a)^2 + z^\top \Pi_N z}{\sum_B c_b \max(|d_b| - f\rho_b, 0)^2 + z^\top \Pi_D z},
/// \qquad d = w^\top x - \gamma,\ \rho = \sqrt{w^\top P w},\ f = 1 - \xi.
/// ```
#[derive(Debug)]
pub(super) struct RobustRatio<'a> {
    pub own: Side,
    pub other: Side,
    pub ellipsoids: &'a Ellipsoids,
    pub numerator: ScaledDiagonal,
    pub denominator: ScaledDiagonal,
    /// f: the part of the ellipsoids that counts.
    pub share: f64,
}

/// Distances, supports and both sums at a plane.
pub(super) struct Evaluated {
    pub own: (Vec<f64>, Vec<f64>),
    pub other: (Vec<f64>, Vec<f64>),
    pub top: f64,
    pub bottom: f64,
}

impl Evaluated {
    pub(super) fn ratio(&self) -> f64 {
        if self.bottom > 0.0 { self.top / self.bottom } else { f64::INFINITY }
    }
}

impl RobustRatio<'_> {
    pub(super) fn at(&self, z: &[f64]) -> Evaluated {
        let p = z.len() - 1;
        let look = |side: &Side| {
            let d = side.rows.mul_vec(z);
            let mut rho = self.ellipsoids.supports(&side.index, &z[..p]);
            vector::scale(&mut rho, self.share);
            (d, rho)
        };
        let (own, other) = (look(&self.own), look(&self.other));
        let sum = |side: &Side, (d, rho): &(Vec<f64>, Vec<f64>), sign: f64| -> f64 {
            let term = |k: usize| (d[k].abs() + sign * rho[k]).max(0.0);
            (0..d.len()).map(|k| side.weights[k] * term(k).powi(2)).sum()
        };
        let top = sum(&self.own, &own, 1.0) + self.numerator.value(z);
        let bottom = sum(&self.other, &other, -1.0) + self.denominator.value(z);
        Evaluated { own, other, top, bottom }
    }

    /// `$R_\delta(z)$`.
    pub(super) fn ratio(&self, z: &[f64]) -> f64 {
        self.at(z).ratio()
    }

    /// The ratio without regularisation, which at `$z = (0, 1)$`, the plane at infinity, is that of the
    /// total weights.
    pub(super) fn plain_ratio(&self, z: &[f64], at: &Evaluated) -> f64 {
        let (top, bottom) =
            (at.top - self.numerator.value(z), at.bottom - self.denominator.value(z));
        if bottom > 0.0 { top / bottom } else { f64::INFINITY }
    }

    /// Ratio of the total weights of both sides.
    pub(super) fn at_infinity(&self) -> f64 {
        self.own.weights.iter().sum::<f64>() / self.other.weights.iter().sum::<f64>()
    }
}
