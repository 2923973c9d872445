//! Problem (4) of the paper: the worst-case hinge loss, its value, and the best intercept.

use rayon::prelude::*;

use crate::linalg::{Compensated, Matrix};
use crate::uncertainty::{Deletions, Gain, gains};

/// Problem (4) of Dekel and Shamir (2008), with a weight `$\omega_i$` for every row:
/// ```math
/// \min_{\|w\|_\infty \le C,\, b}\ \frac{1}{\gamma\sum_i\omega_i}\sum_i \omega_i\,\big[h_i(w) - y_i b\big]_+,
/// ```
/// ```math
/// h_i(w) = \max\Big\{\sum_j \tau_j\Big(\frac{\gamma v_j}{P} - y_i w_j x_{ij}\Big) :
///   0 \le \tau \le 1,\ \sum_j v_j\tau_j \ge P\Big\}.
/// ```
///
/// The linear program of the paper is this with the inner maximum (7) written as its dual, which costs
/// `$O(mn)$` variables. The intercept `$b$` is free, or 0 without `fit_intercept`.
#[derive(Debug, Clone, Copy)]
pub struct RobustHinge<'a> {
    /// One row per sample.
    pub x: &'a Matrix,
    /// +1 or -1.
    pub y: &'a [f64],
    /// Positive weight of every row, `$\omega$`.
    pub weights: &'a [f64],
    /// What the adversary may delete: `$v$` and `$N$`, with `$P = V - N > 0$`.
    pub deletions: &'a Deletions,
    /// `$\gamma > 0$`.
    pub margin: f64,
    /// Half the side of the box, `$C \ge 0$`.
    pub c: f64,
    /// Whether there is an intercept.
    pub fit_intercept: bool,
}

impl RobustHinge<'_> {
    /// `$\gamma/P$`: how much margin a unit of value that is left must provide.
    pub fn demand(&self) -> f64 {
        self.margin / self.deletions.kept()
    }

    /// `$h_i(w)$` of every row: the loss before the intercept and the hinge; by sorting, `$O(k \log k)$` for
    /// a row of `k` nonzeros.
    pub fn shortfalls(&self, w: &[f64]) -> Vec<f64> {
        let demand = self.demand();
        let intact = demand * self.deletions.total();
        (0..self.y.len())
            .into_par_iter()
            .with_min_len(256)
            .map_init(Vec::new, |items, i| {
                let row = self.x.row(i);
                gains(row, w, self.y[i], demand, self.deletions.values(), items);
                intact - self.y[i] * row.dot(w) + self.deletions.fractional(items)
            })
            .collect()
    }

    /// The objective at these very numbers, with scores as if in twice the precision: features far from zero, or a wide
    /// box, make small differences of large numbers of them.
    pub fn accurate_value(&self, w: &[f64], intercept: f64) -> f64 {
        let demand = self.demand();
        let intact = demand * self.deletions.total();
        let loss = |items: &mut Vec<Gain>, i: usize| {
            let (row, y) = (self.x.row(i), self.y[i]);
            gains(row, w, y, demand, self.deletions.values(), items);
            let stolen = self.deletions.fractional(items);
            (intact - y * row.compensated_dot(w, intercept) + stolen).max(0.0)
        };
        let rows = (0..self.y.len()).into_par_iter().with_min_len(256);
        let losses: Vec<f64> = rows.map_init(Vec::new, loss).collect();
        let (mut sum, mut total) = (Compensated::default(), 0.0);
        for (loss, weight) in losses.iter().zip(self.weights) {
            sum.add(weight * loss);
            total += weight;
        }
        sum.value() / total / self.margin
    }

    /// The objective given the shortfalls of `$w$`.
    pub fn value(&self, shortfalls: &[f64], intercept: f64) -> f64 {
        let mut sum = 0.0;
        let mut total = 0.0;
        for ((h, y), weight) in shortfalls.iter().zip(self.y).zip(self.weights) {
            sum += weight * (h - y * intercept).max(0.0);
            total += weight;
        }
        sum / total / self.margin
    }

    /// A minimiser over `$b$` of the objective given the shortfalls: of the interval of minimisers, the point
    /// next to `near`.
    ///
    /// The objective is piecewise linear in `$b$` with a kink at `$y_i h_i$`; from kink to kink, ascending, the
    /// slope grows from minus the weight of the positive rows to the weight of the negative ones.
    pub fn best_intercept(&self, shortfalls: &[f64], near: f64) -> f64 {
        if !self.fit_intercept {
            return 0.0;
        }
        let mut kinks: Vec<(f64, f64)> = shortfalls
            .iter()
            .zip(self.y)
            .zip(self.weights)
            .map(|((h, y), w)| (y * h, *w))
            .collect();
        kinks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let positive = self.y.iter().zip(self.weights).filter(|(y, _)| **y > 0.0);
        let mut slope = -positive.map(|(_, w)| w).sum::<f64>();
        let total: f64 = self.weights.iter().sum();
        let flat = FLAT * total;
        let mut low = f64::NEG_INFINITY;
        for (kink, weight) in kinks {
            // Before this kink the slope is `slope`.
            if slope > flat {
                break;
            }
            if slope < -flat {
                low = kink;
            }
            slope += weight;
            if slope > flat {
                return clamp(near, low, kink);
            }
        }
        // Only positive rows: any intercept beyond the last kink.
        clamp(near, low, f64::INFINITY)
    }
}

/// A slope below this share of the total weight is zero: its terms cancel.
const FLAT: f64 = 1e-13;

fn clamp(near: f64, low: f64, high: f64) -> f64 {
    near.max(low).min(high)
}
