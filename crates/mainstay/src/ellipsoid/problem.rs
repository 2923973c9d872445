//! What is minimised: a plain SVM whose rows may lie anywhere in their ellipsoids.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use rayon::prelude::*;

use crate::linalg::{Dense, vector};
use crate::uncertainty::ellipsoid::{Spread, View};

/// ```math
/// \min_{w, b}\ \tfrac12 \|w\|^2 + \sum_i C_i \max(0,\ 1 + m_i \|L_{j(i)}^\top w\| - y_i(w^\top x_i + b)).
/// ```
///
/// This is (34) with labels `$\pm 1$`: for every point of the ellipsoid around `$x_i$` the margin is at
/// least `$1 - v_i$`. Rows of equal shape share one cone `$\|L_j^\top w\| \le \rho_j$`; `$m_i$` is the size of
/// row `$i$`'s ellipsoid in units of its shape (0: an exact row). The intercept is free.
///
/// Map to the paper: `$d$` is `$y$`, their `$\xi$` is `$C$`, `$\Sigma_j$` of (34d) is `$P_j^{1/2}$`, `$u_j$` is `$\rho_j$`
/// and `$E$` is `$(j, m)$`.
#[derive(Debug)]
pub(super) struct Problem<'a> {
    /// One row per sample.
    pub x: &'a Dense,
    /// +1 or -1.
    pub y: &'a [f64],
    /// `$C_i$`.
    pub cap: &'a [f64],
    /// `$j(i)$`.
    pub of: &'a [usize],
    /// `$m_i$`.
    pub multiplier: &'a [f64],
    /// The shapes.
    pub shapes: &'a [View<'a>],
}

/// A primal point: the plane `$w^\top x + b = 0$`.
#[derive(Debug, Clone)]
pub(super) struct Plane {
    /// Weights.
    pub w: Vec<f64>,
    /// Intercept.
    pub b: f64,
}

/// A dual point.
#[derive(Debug, Clone)]
pub(super) struct Multipliers {
    /// Of the margins, one per row.
    pub a: Vec<f64>,
    /// Of `$L_j^\top w$`, one row per shape.
    pub zeta: Dense,
}

impl Problem<'_> {
    /// Row j of `out` is `$(L_j^\top w, P_j w)$`.
    pub(super) fn pull_each(&self, w: &[f64], out: &mut Dense) {
        let p = w.len();
        let one = |(shape, row): (&View<'_>, &mut [f64])| {
            let (own, image) = row.split_at_mut(p);
            vector::vectorized!(pull(*shape, w, own, image));
        };
        let rows = out.data_mut().par_chunks_mut(2 * p);
        self.shapes.par_iter().zip(rows).with_min_len(self.grain()).for_each(one);
    }

    /// `$\sum_j c_j P_j$`, in the same order of additions for any number of threads.
    pub(super) fn spread_sum(&self, c: impl Fn(usize) -> f64 + Sync) -> Spread {
        let p = self.x.ncols();
        let parts: Vec<Spread> = self
            .shapes
            .par_chunks(SHAPES)
            .enumerate()
            .map(|(k, part)| {
                let terms = part.iter().enumerate().map(|(j, shape)| (c(k * SHAPES + j), *shape));
                Spread::sum(p, terms)
            })
            .collect();
        Spread::total(p, &parts)
    }

    /// Shapes worth a task of their own.
    fn grain(&self) -> usize {
        let p = self.x.ncols();
        let full = self.shapes.iter().any(|shape| matches!(shape, View::Full(..)));
        (20_000 / if full { p * p } else { p }.max(1)).max(1)
    }

    /// Total cap of the rows of either sign: (positive, negative).
    pub(super) fn caps(&self) -> (f64, f64) {
        self.by_class(self.cap)
    }

    /// `$\sum_{i \in j} m_i a_i$` for every shape: how far multipliers of this size move its points.
    pub(super) fn reach(&self, a: &[f64]) -> Vec<f64> {
        let mut reach = vec![0.0; self.shapes.len()];
        for (i, a) in a.iter().enumerate() {
            if self.multiplier[i] > 0.0 {
                reach[self.of[i]] += self.multiplier[i] * a;
            }
        }
        reach
    }

    /// Sums of `a` over the rows of either sign: (positive, negative).
    pub(super) fn by_class(&self, a: &[f64]) -> (f64, f64) {
        let total = |sign: f64| -> f64 {
            self.y.iter().zip(a).filter(|(y, _)| **y == sign).map(|(_, a)| a).sum()
        };
        (total(1.0), total(-1.0))
    }

    /// `$m_i \rho_{j(i)}$` from the support of every shape.
    pub(super) fn spread(&self, rho: &[f64]) -> Vec<f64> {
        let one = |(&j, &m): (&usize, &f64)| if m > 0.0 { m * rho[j] } else { 0.0 };
        self.of.iter().zip(self.multiplier).map(one).collect()
    }

    /// Objective at scores `f` = Xw and intercept `b`.
    pub(super) fn objective(&self, w: &[f64], f: &[f64], b: f64, spread: &[f64]) -> f64 {
        let loss: f64 = (0..self.y.len())
            .map(|i| self.cap[i] * (1.0 + spread[i] - self.y[i] * (f[i] + b)).max(0.0))
            .sum();
        0.5 * vector::norm_sq(w) + loss
    }

    /// The best intercept for given scores: a weighted quantile of the break points.
    pub(super) fn best_intercept(&self, f: &[f64], spread: &[f64]) -> f64 {
        let breaks: Vec<f64> = (0..f.len()).map(|i| self.y[i] * (1.0 + spread[i]) - f[i]).collect();
        let mut order: Vec<usize> = (0..f.len()).collect();
        order.sort_by(|&i, &j| breaks[i].total_cmp(&breaks[j]));
        // Left of every break all positive rows pull up; each break crossed takes one cap off.
        let mut pull = self.caps().0;
        for &i in &order {
            pull -= self.cap[i];
            if pull <= 0.0 {
                return breaks[i];
            }
        }
        order.last().map_or(0.0, |&i| breaks[i])
    }
}

/// Shapes added up by one task.
const SHAPES: usize = 128;

// With a full matrix per row these passes over all triangles are most of the work: the loops are compiled for
// the widest vectors.
#[inline(always)]
fn pull(shape: View<'_>, w: &[f64], own: &mut [f64], image: &mut [f64]) {
    shape.pull(w, own);
    image.fill(0.0);
    shape.push(1.0, own, image);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against every break point of the piecewise linear objective, one of which is a minimiser.
    #[test]
    fn the_best_intercept_is_best_among_all_break_points() {
        let x = Dense::from_fn(7, 1, |i, _| ((5 * i) % 7) as f64 - 2.0);
        let y = [1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0];
        let problem = Problem {
            x: &x,
            y: &y,
            cap: &[1.0, 2.0, 0.5, 3.0, 0.25, 1.5, 1.0],
            of: &[0; 7],
            multiplier: &[1.0, 0.0, 2.0, 0.5, 1.0, 1.0, 0.0],
            shapes: &[View::Ball(0.3)],
        };
        for w in [-1.5, -0.2, 0.0, 0.4, 3.0] {
            let scores = x.mul_vec(&[w]);
            let spread = problem.spread(&[problem.shapes[0].support(&[w])]);
            let value = |b: f64| problem.objective(&[w], &scores, b, &spread);
            let found = value(problem.best_intercept(&scores, &spread));
            let breaks = (0..7).map(|i| y[i] * (1.0 + spread[i]) - scores[i]);
            let best = breaks.map(value).fold(f64::INFINITY, f64::min);
            assert!((found - best).abs() < 1e-12, "w = {w}: {found} {best}");
        }
    }

    #[test]
    fn sums_by_class_and_by_shape_follow_labels_and_multipliers() {
        let x = Dense::zeros(3, 1);
        let problem = Problem {
            x: &x,
            y: &[1.0, -1.0, 1.0],
            cap: &[1.0, 2.0, 4.0],
            of: &[0, 1, 1],
            multiplier: &[0.0, 0.5, 2.0],
            shapes: &[View::Ball(1.0), View::Ball(2.0)],
        };
        assert_eq!(problem.caps(), (5.0, 2.0));
        assert_eq!(problem.reach(&[1.0, 1.0, 1.0]), [0.0, 2.5]);
    }
}
