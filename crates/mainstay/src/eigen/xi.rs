//! Choosing xi, Eq. (32): how much of the ellipsoids counts.

use rand_distr::{ChiSquared, Distribution, StandardNormal, Uniform};

use super::robust_ratio::{RobustRatio, Side};
use crate::folds::generator;
use crate::linalg::TINY;

/// Values of xi that compete, from nominal to fully robust.
pub(super) const GRID: [f64; 6] = [1.0, 0.8, 0.6, 0.4, 0.2, 0.0];

/// Random realisations of every row: by how much of its support `$\rho_i(w)$` the distance changes.
///
/// For a point uniform in an ellipsoid, `$w^\top d / \rho(w)$` is distributed as one coordinate of a point
/// uniform in the unit ball, whatever w is; so one number per row is a whole scenario.
#[derive(Debug)]
pub(super) struct Scenarios(Vec<Vec<f64>>);

/// Number of scenarios.
const COUNT: usize = 20;

impl Scenarios {
    pub(super) fn new(rows: usize, p: usize, seed: u64) -> Self {
        let mut rng = generator(seed);
        let unit = Uniform::new(0.0, 1.0).ok();
        let rest = ChiSquared::new((p.max(2) - 1) as f64).ok();
        let mut draw = || {
            let g: f64 = StandardNormal.sample(&mut rng);
            let others = match &rest {
                Some(rest) if p > 1 => rest.sample(&mut rng),
                _ => 0.0,
            };
            let u: f64 = unit.map_or(1.0, |unit| unit.sample(&mut rng));
            g / (g * g + others).sqrt().max(TINY) * u.powf(1.0 / p as f64)
        };
        Self((0..COUNT).map(|_| (0..rows).map(|_| draw()).collect()).collect())
    }

    /// Mean of the objective (1) over the scenarios at plane `z`, with the whole ellipsoids.
    pub(super) fn mean_ratio(&self, problem: &RobustRatio<'_>, z: &[f64]) -> f64 {
        let p = z.len() - 1;
        let side =
            |side: &Side| (side.rows.mul_vec(z), problem.ellipsoids.supports(&side.index, &z[..p]));
        let (own, other) = (side(&problem.own), side(&problem.other));
        let sum = |side: &Side, (d, rho): &(Vec<f64>, Vec<f64>), t: &[f64]| -> f64 {
            (0..d.len()).map(|k| side.weights[k] * (d[k] + rho[k] * t[side.index[k]]).powi(2)).sum()
        };
        let one =
            |t: &Vec<f64>| sum(&problem.own, &own, t) / sum(&problem.other, &other, t).max(TINY);
        self.0.iter().map(one).sum::<f64>() / COUNT as f64
    }
}
