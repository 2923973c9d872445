//! What is minimised: ridge plus the weighted sum of the `k` largest row losses.

use crate::linalg::{Matrix, vector};

pub use super::row_loss::RowLoss;

/// What the scores should say.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// One score per row; its sign should be this one.
    Signs(Vec<f64>),
    /// One score per class; that of the row's own class should be largest.
    Classes {
        /// Class of every row.
        labels: Vec<usize>,
        /// Number of classes.
        count: usize,
    },
}

impl Target {
    /// Number of scores of a row, `$q$`.
    pub fn scores(&self) -> usize {
        match self {
            Self::Signs(_) => 1,
            Self::Classes { count, .. } => *count,
        }
    }

    /// `$y_{ij}$`: +1 or -1.
    pub fn sign(&self, i: usize, j: usize) -> f64 {
        match self {
            Self::Signs(y) => y[i],
            Self::Classes { labels, .. } => {
                if labels[i] == j {
                    1.0
                } else {
                    -1.0
                }
            }
        }
    }

    /// The target of some of the rows.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Signs(y) => Self::Signs(rows.iter().map(|&i| y[i]).collect()),
            Self::Classes { labels, count } => {
                Self::Classes { labels: rows.iter().map(|&i| labels[i]).collect(), count: *count }
            }
        }
    }

    /// A number for each group of rows that should get the same scores.
    pub(super) fn label(&self, i: usize) -> usize {
        match self {
            Self::Signs(y) => usize::from(y[i] > 0.0),
            Self::Classes { labels, .. } => labels[i],
        }
    }
}

/// minimise over `$W$` (`$q$` hyperplanes) and `$b$`
/// ```math
/// \rho \|W\|^2 + \lambda \max_{0 \le a \le c,\ \sum a \le k} \sum_i a_i L_i(W x_i + b).
/// ```
///
/// The inner maximum is the sum of the `k` largest losses, where row `$i$` counts `$c_i$` times; by
/// duality it equals `$\min_{\theta \ge 0} k\theta + \sum c_i \max(0, L_i - \theta)$`, the paper's (7)
/// with `$u_i = \max(0, L_i - \theta)$`. The paper's `$\lambda$`: `$\rho = 1$`, `$\lambda = C$` in (8) and
/// (10), and `$\rho = \lambda_{paper}$`, `$\lambda = 1/k$` in (12).
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    /// One row per sample.
    pub x: &'a Matrix,
    /// What the scores should say.
    pub target: Target,
    /// `$c$`: positive weight of every row.
    pub weights: &'a [f64],
    /// `$L$`.
    pub loss: RowLoss,
    /// `$k$` in units of weight, at most the total weight.
    pub k: f64,
    /// `$\rho > 0$`.
    pub ridge: f64,
    /// `$\lambda > 0$`.
    pub scale: f64,
    /// Whether `$b$` is free; otherwise it is 0.
    pub fit_intercept: bool,
}

/// `$W$` and `$b$`.
#[derive(Debug, Clone, PartialEq)]
pub struct Hyperplanes {
    /// One row per score.
    pub coef: Vec<Vec<f64>>,
    /// One number per score.
    pub intercept: Vec<f64>,
}

impl Hyperplanes {
    /// Whether all numbers are.
    pub fn is_finite(&self) -> bool {
        self.coef.iter().flatten().chain(&self.intercept).all(|v| v.is_finite())
    }
}

impl Problem<'_> {
    /// Number of rows.
    pub fn n(&self) -> usize {
        self.weights.len()
    }

    /// Number of scores of a row.
    pub fn q(&self) -> usize {
        self.target.scores()
    }

    /// Total weight.
    pub fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// Scores of every row, row by row.
    pub fn scores(&self, point: &Hyperplanes) -> Vec<f64> {
        let q = self.q();
        if let ([w], [b]) = (point.coef.as_slice(), point.intercept.as_slice()) {
            return self.x.scores(w, *b);
        }
        let mut f = vec![0.0; self.n() * q];
        for (j, (w, b)) in point.coef.iter().zip(&point.intercept).enumerate() {
            for (i, score) in self.x.scores(w, *b).into_iter().enumerate() {
                f[i * q + j] = score;
            }
        }
        f
    }

    /// Loss of every row at the scores `f`.
    pub fn losses(&self, f: &[f64]) -> Vec<f64> {
        f.chunks_exact(self.q()).enumerate().map(|(i, f)| self.row_loss(i, f)).collect()
    }

    /// Loss of every row at `point`; where a row has one score, in place of that.
    pub fn losses_at(&self, point: &Hyperplanes) -> Vec<f64> {
        let mut f = self.scores(point);
        if self.q() > 1 {
            return self.losses(&f);
        }
        f.iter_mut().enumerate().for_each(|(i, f)| *f = self.row_loss(i, &[*f]));
        f
    }

    /// `$\rho\|W\|^2$`.
    pub fn penalty(&self, point: &Hyperplanes) -> f64 {
        self.ridge * point.coef.iter().map(|w| vector::norm_sq(w)).sum::<f64>()
    }

    /// The objective at `point`.
    pub fn objective(&self, point: &Hyperplanes) -> f64 {
        let losses = self.losses_at(point);
        self.penalty(point) + self.scale * worst_sum(&losses, self.weights, self.k).sum
    }
}

/// The sum of the worst losses and the loss at which it stops counting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstSum {
    /// `$\max \sum a_i L_i$` over `$0 \le a \le c$`, `$\sum a = \min(k, \sum c)$`.
    pub sum: f64,
    /// `$\theta$`: losses above it count in full, below it not at all.
    pub threshold: f64,
}

/// The sum of the `k` largest losses, row `i` counting `weights[i]` times. Expected cost O(n).
///
/// Losses must not be negative.
pub fn worst_sum(losses: &[f64], weights: &[f64], k: f64) -> WorstSum {
    let mut rows: Vec<(f64, f64)> = losses.iter().copied().zip(weights.iter().copied()).collect();
    worst_of(&mut rows, k)
}

/// [`worst_sum`] of pairs of loss and weight, which it puts into another order.
fn worst_of(mut open: &mut [(f64, f64)], k: f64) -> WorstSum {
    let (mut sum, mut room) = (0.0, k);
    // Halve the open part: its upper half is either taken whole or holds the threshold.
    while open.len() > 1 {
        let half = open.len() / 2;
        open.select_nth_unstable_by(half, |a, b| b.0.total_cmp(&a.0));
        let (upper, lower) = open.split_at_mut(half);
        let weight: f64 = upper.iter().map(|r| r.1).sum();
        if weight <= room {
            sum += upper.iter().map(|r| r.0 * r.1).sum::<f64>();
            room -= weight;
            open = lower;
        } else {
            open = upper;
        }
    }
    let last = open.first().copied().unwrap_or((0.0, 0.0));
    WorstSum { sum: sum + last.0 * last.1.min(room), threshold: last.0 }
}

/// Bits of a loss that its bin does not tell: 2^16 bins hold losses that agree in their exponent and five digits.
const BIN: u32 = 47;

/// Rows up to which a copy of them costs less than the bins.
const FEW_ROWS: usize = 4096;

/// The threshold of [`worst_sum`], without a copy of all rows where they are many.
pub fn worst_threshold(losses: &[f64], weights: &[f64], k: f64) -> f64 {
    if losses.len() <= FEW_ROWS {
        return worst_sum(losses, weights, k).threshold;
    }
    binned_threshold(losses, weights, k)
}

/// The threshold of [`worst_sum`]: only rows whose losses begin with its digits are sorted.
fn binned_threshold(losses: &[f64], weights: &[f64], k: f64) -> f64 {
    let bin = |loss: f64| usize::try_from(loss.abs().to_bits() >> BIN).unwrap_or(0);
    let mut bins = vec![0.0; 1 << (u64::BITS - BIN - 1)];
    for (loss, c) in losses.iter().zip(weights) {
        bins[bin(*loss)] += c;
    }
    // The first bin from above that does not fit as a whole; the lowest one if all fit.
    let (mut room, mut found) = (k, (0, k));
    for (at, weight) in bins.iter().enumerate().rev().filter(|(_, weight)| **weight > 0.0) {
        found = (at, room);
        if *weight > room {
            break;
        }
        room -= weight;
    }
    let (at, room) = found;
    let here = || losses.iter().zip(weights).filter(|(loss, _)| bin(**loss) == at);
    let Some((&first, _)) = here().next() else { return 0.0 };
    if here().all(|(loss, _)| *loss == first) {
        return first;
    }
    let mut rows: Vec<(f64, f64)> = here().map(|(loss, c)| (*loss, *c)).collect();
    worst_of(&mut rows, room).threshold
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_sum_counts_fractions_of_a_row() {
        let losses = [3.0, 1.0, 2.0, 2.0];
        let found = worst_sum(&losses, &[1.0, 1.0, 0.5, 1.0], 2.25);
        assert_eq!(found, WorstSum { sum: 3.0 + 0.5 * 2.0 + 0.75 * 2.0, threshold: 2.0 });
        assert_eq!(worst_sum(&losses, &[1.0; 4], 4.0).sum, 8.0);
        assert_eq!(worst_sum(&[5.0], &[2.0], 0.5).sum, 2.5);
    }

    /// Losses with many ties, zeros, and values a digit apart; weights that are sums of powers of two, so that no order of
    /// adding them rounds.
    #[test]
    fn the_threshold_needs_no_order_of_all_rows() {
        let loss = |i: usize| match i % 5 {
            0 => 0.0,
            1 => 1.0 + (i % 7) as f64 * f64::EPSILON,
            2 => 2.0,
            _ => {
                ((i * i) as f64 * 0.37).sin().abs() * 10f64.powi(i32::try_from(i % 9).unwrap() - 4)
            }
        };
        let losses: Vec<f64> = (0..997).map(loss).collect();
        let weights: Vec<f64> = (0..997).map(|i| 0.25 + f64::from(i % 4)).collect();
        let total: f64 = weights.iter().sum();
        for step in 0..=40 {
            let k = total * f64::from(step) / 40.0;
            let wanted = worst_sum(&losses, &weights, k).threshold;
            assert_eq!(worst_threshold(&losses, &weights, k), wanted, "{k}");
            assert_eq!(binned_threshold(&losses, &weights, k), wanted, "{k}");
        }
        assert_eq!(binned_threshold(&[3.0, 3.0], &[1.0, 1.0], 1.5), 3.0);
    }
}
