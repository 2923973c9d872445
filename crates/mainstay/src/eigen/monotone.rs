//! The robust plane by majorisation: the worst-case ratio falls in every iteration.

use super::majoriser::Majoriser;
use super::robust_ratio::{Evaluated, RobustRatio, Side};
use crate::control::Control;
use crate::error::Result;
use crate::linalg::{TINY, vector};
use crate::partitioned::kernels::planes::{CLAMP, own_part};
use crate::uncertainty::ellipsoid::Spread;

/// Spread that a feature counts with, at least, relative to the largest one.
const LEAST_SPREAD: f64 = 1e-9;
/// Distance from the constraint, relative to one plus its constant, at which the multiplier is found.
const ON_THE_BOUND: f64 = 1e-9;
/// Coordinate axes that are tried as starts, at most.
const AXES: usize = 64;
/// Steps to the multiplier of the constraint, at most.
const MOST_STEPS: usize = 40;

/// A plane and how the ratio fell on the way to it.
#[derive(Debug, Clone)]
pub(super) struct Descent {
    pub z: Vec<f64>,
    pub history: Vec<f64>,
    /// The ratio without regularisation.
    pub plain: f64,
}

impl RobustRatio<'_> {
    /// A plane with finite ratio to start from: `nominal`, or else along the difference of means or one
    /// feature; `None` if all of them are reached by every ellipsoid of the other class.
    fn start(&self, nominal: &[f64]) -> Option<(Vec<f64>, Evaluated)> {
        let at = self.at(nominal);
        if self.plain_ratio(nominal, &at).is_finite() {
            return Some((nominal.to_vec(), at));
        }
        let p = nominal.len() - 1;
        let mean = |side: &Side| {
            let total: f64 = side.weights.iter().sum();
            let mut mean = side.rows.tr_mul_vec(&side.weights);
            vector::scale(&mut mean, 1.0 / total);
            mean
        };
        let (own, other) = (mean(&self.own), mean(&self.other));
        let difference: Vec<f64> = (0..p).map(|j| own[j] - other[j]).collect();
        let spread = self.ellipsoids.weighted_sum(&self.own.index, &self.own.weights);
        let mut directions = vec![difference.clone()];
        if let Spread::Diagonal(d) = &spread {
            let floor = LEAST_SPREAD * d.iter().copied().fold(0.0, f64::max);
            directions.push(difference.iter().zip(d).map(|(v, d)| v / (d + floor)).collect());
        }
        directions.extend((0..p.min(AXES)).map(|j| {
            let mut axis = vec![0.0; p];
            axis[j] = 1.0;
            axis
        }));
        let candidates = directions.into_iter().filter_map(|w| {
            let gamma = vector::dot(&w, &own[..p]);
            let z: Vec<f64> = w.into_iter().chain([gamma]).collect();
            let at = self.at(&z);
            (self.plain_ratio(&z, &at).is_finite() && at.ratio().is_finite()).then_some((z, at))
        });
        candidates.min_by(|a, b| a.1.ratio().total_cmp(&b.1.ratio()))
    }

    /// Descends from `nominal` until the ratio falls by less than `tol` of itself.
    ///
    /// One iteration majorises `$(|d| + \rho)^2 \le d^2/\theta + \rho^2/(1 - \theta)$` with `$\theta = |d|/(|d| + \rho)$` and
    /// minorises the root of the denominator by its tangent, with `$\rho \le (w^\top P w/\rho_0 + \rho_0)/2$`. What
    /// is left, `$\min z^\top \hat G z$` with `$l^\top z - z^\top Q z/2 \ge 1 + c_0$`, is solved by `$z = (\tau \hat G + Q)^{-1} l$`, one
    /// number `$\tau$` by Newton's method. Cost: one weighted Gram matrix of the own rows.
    ///
    /// `None` if no plane with finite ratio is found to start from.
    pub(super) fn descend(
        &self,
        nominal: &[f64],
        tol: f64,
        max_iter: usize,
        control: &Control,
    ) -> Result<Option<Descent>> {
        let Some((mut z, mut at)) = self.start(nominal) else { return Ok(None) };
        let mut history = vec![at.ratio()];
        for _ in 0..max_iter {
            control.check()?;
            let last = history[history.len() - 1];
            let Some(next) = self.step(&z, &at) else { break };
            let there = self.at(&next);
            let ratio = there.ratio();
            // A ratio that is not a number ends the descent too.
            if ratio.is_nan() || ratio >= last {
                break;
            }
            (z, at) = (next, there);
            history.push(ratio);
            if ratio > last * (1.0 - tol) {
                break;
            }
        }
        let plain = self.plain_ratio(&z, &at);
        Ok(Some(Descent { z, history, plain }))
    }

    /// The minimiser of the majorised problem at `z`.
    fn step(&self, z: &[f64], at: &Evaluated) -> Option<Vec<f64>> {
        let scale = at.bottom.sqrt();
        let z: Vec<f64> = z.iter().map(|v| v / scale).collect();
        let (gram, own_spread) = self.numerator_majoriser(at);
        let tangent = self.denominator_tangent(&z, at, scale);
        let form = Majoriser::new(self, &gram, &own_spread, &tangent.spread);
        let start = 1.0 / form.numerator(&z).max(TINY);
        minimise(&form, &tangent.slope, tangent.constant, start)
    }

    /// Weights of the squared distances of the own rows, and the sum of multiples of their P, that majorise the
    /// numerator.
    fn numerator_majoriser(&self, at: &Evaluated) -> (Vec<f64>, Spread) {
        let (f, (d, rho)) = (self.share, &at.own);
        let theta: Vec<f64> = d.iter().zip(rho).map(|(d, r)| own_part(*d, *r)).collect();
        let exact = |k: usize| rho[k] == 0.0;
        let gram: Vec<f64> = (0..d.len())
            .map(|k| self.own.weights[k] / if exact(k) { 1.0 } else { theta[k] })
            .collect();
        let spread: Vec<f64> =
            (0..d.len()).map(|k| f * f * self.own.weights[k] / (1.0 - theta[k])).collect();
        (gram, self.ellipsoids.weighted_sum(&self.own.index, &spread))
    }

    /// Tangent of the denominator's root: l'z - sum of u rho, with u = c max(|d| - rho, 0)/root, and rho majorised.
    fn denominator_tangent(&self, z: &[f64], at: &Evaluated, scale: f64) -> Tangent {
        let (f, (d, rho)) = (self.share, &at.other);
        let u: Vec<f64> = (0..d.len())
            .map(|k| self.other.weights[k] * (d[k].abs() - rho[k]).max(0.0) / scale)
            .collect();
        let signed: Vec<f64> = u.iter().zip(d).map(|(u, d)| u.copysign(*d)).collect();
        let mut slope = self.other.rows.tr_mul_vec(&signed);
        self.denominator.add_product(1.0, z, &mut slope);
        let floor = |k: usize| (rho[k] / scale).max(CLAMP * d[k].abs() / scale).max(TINY);
        let curvature: Vec<f64> = (0..d.len()).map(|k| f * f * u[k] / floor(k)).collect();
        let spread = self.ellipsoids.weighted_sum(&self.other.index, &curvature);
        let certain = f == 0.0 || at.own.1.iter().chain(rho).all(|r| *r == 0.0);
        let constant: f64 = (0..d.len()).map(|k| 0.5 * u[k] * floor(k)).sum();
        Tangent { slope, spread, constant: if certain { 0.0 } else { constant } }
    }
}

/// `$l^\top z - z^\top Q z/2 - c_0$`, below the root of the denominator.
struct Tangent {
    /// l.
    slope: Vec<f64>,
    /// Q.
    spread: Spread,
    /// `$c_0$`.
    constant: f64,
}

/// Minimises `$z^\top \hat G z$` with `$l^\top z - z^\top Q z/2 \ge 1 + c_0$`: the `$\tau$` at which the constraint is tight, by
/// Newton's method within a bracket.
pub(super) fn minimise(form: &Majoriser, l: &[f64], constant: f64, start: f64) -> Option<Vec<f64>> {
    let mut tau = start;
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut best = None;
    for _ in 0..MOST_STEPS {
        let factor = form.factor(tau)?;
        let found = factor.solve(l);
        let (lz, top) = (vector::dot(l, &found), form.numerator(&found));
        if !(lz.is_finite() && top.is_finite()) {
            return None;
        }
        // z'Qz = l'z - tau z'Gz.
        let excess = lz - 0.5 * (lz - tau * top) - 1.0 - constant;
        let product = form.product(&found);
        let change = factor.solve(&product);
        let moved = vector::dot(l, &change);
        let slope = -(moved - (moved - tau * vector::dot(&product, &change)));
        best = Some(found);
        if excess >= 0.0 {
            low = tau;
        } else {
            high = tau;
        }
        if excess.abs() <= ON_THE_BOUND * (1.0 + constant) {
            break;
        }
        tau = next_multiplier(tau, tau - excess / slope, low, high);
        if !(tau > TINY && tau < 1.0 / TINY) {
            break;
        }
    }
    best
}

/// Newton's proposal where it lies within the bracket, else a point well inside.
fn next_multiplier(tau: f64, newton: f64, low: f64, high: f64) -> f64 {
    if newton > low && newton < high {
        newton
    } else if high.is_finite() {
        if low > 0.0 { (low * high).sqrt() } else { 0.5 * high }
    } else {
        4.0 * tau
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eigen::problem::{Diagonal, ScaledDiagonal};
    use crate::eigen::units::PlaneUnits;
    use crate::linalg::Dense;
    use crate::uncertainty::ellipsoid::{Ellipsoid, Ellipsoids};
    use mainstay_testkit::generate::{normal, rng};

    fn problem(seed: u64, p: usize, ellipsoids: &Ellipsoids, share: f64) -> RobustRatio<'_> {
        let mut rng = rng(seed);
        let mut side = |n: usize, shift: f64, first: usize| {
            let mut values = normal(&mut rng, n * p);
            values.iter_mut().step_by(p).for_each(|v| *v = 0.3 * *v + shift);
            let rows =
                Dense::from_fn(n, p + 1, |i, j| if j == p { -1.0 } else { values[i * p + j] });
            Side { rows, weights: vec![1.0; n], index: (first..first + n).collect() }
        };
        let (own, other) = (side(20, 0.0, 0), side(25, 3.0, 20));
        let units = PlaneUnits { center: vec![0.0; p], scale: vec![1.0; p] };
        let form = |v: f64| ScaledDiagonal::new(&Diagonal::constant(p, v), &units);
        let (numerator, denominator) = (form(1e-3), form(1e-3));
        RobustRatio { own, other, ellipsoids, numerator, denominator, share }
    }

    #[test]
    fn the_ratio_falls_in_every_iteration_and_ends_at_a_stationary_point() {
        for (seed, small) in (0..12).zip([2, 3, 4, 5].into_iter().cycle()) {
            // More features than own rows from the eighth on.
            let p = if seed < 8 { small } else { 40 };
            let axes = (0..p).map(|j| 0.05 + 0.1 * (j % 3) as f64).collect();
            let ellipsoids = Ellipsoids::shared(Ellipsoid::Axes(axes), p);
            let problem = problem(seed, p, &ellipsoids, 1.0);
            let nominal: Vec<f64> = normal(&mut rng(seed + 100), p + 1);
            let found = problem.descend(&nominal, 1e-12, 2000, &Control::new()).unwrap().unwrap();
            assert!(found.history.windows(2).all(|pair| pair[1] < pair[0]));
            // No nearby plane is better by more than rounding and the clamp explain.
            let length = vector::norm(&found.z);
            let best = problem.ratio(&found.z);
            let mut rng = rng(seed + 200);
            for _ in 0..200 {
                let step = normal(&mut rng, p + 1);
                let moved: Vec<f64> =
                    found.z.iter().zip(&step).map(|(z, s)| z + 1e-4 * length * s).collect();
                assert!(problem.ratio(&moved) >= best * (1.0 - 1e-5), "seed {seed}");
            }
        }
    }
}
