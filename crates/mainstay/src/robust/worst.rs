//! The worst case within the stated damage: what is minimised, and its smooth upper bound.

use rayon::prelude::*;

use crate::linalg::{Dense, vector};
use crate::loss::expected_logistic;

/// $$\min_{w, b}\ F(w, b) = \frac{\alpha}{2}\|w\|^2 + \max_{a \in A} \sum_i a_i \psi_i(m_i), \qquad
///   m_i = y_i (x_i^\top w + b) - \|L_i w\| - \max_{d \in \Delta} \sum_j d_j\, y_i x_{ij} w_j,$$
///
/// with $\psi_i(m) = \log(1 + e^{-m}) - \kappa_i m$, deletions $\Delta = \{0 \le d \le 1, \sum_j d_j \le N\}$ of
/// features that may go missing, semi-axes $L_i$ of the errors, and the worst share $\rho$ of the rows,
/// $A = \{0 \le a \le s/\rho, \sum_i a_i = 1\}$. Every $m_i$ is concave and $\psi_i$ convex and falling, so F is
/// convex: papers 002 (deletions), 003 (worst rows) and 004 (ellipsoids) in one problem.
#[derive(Debug)]
pub(super) struct Worst<'a> {
    /// Complete rows around the values that deleted features take.
    pub x: &'a Dense,
    /// $L$: semi-axes along the features, one row for each row of `x` or one for all.
    pub axes: Option<&'a Dense>,
    /// Features that may go missing.
    pub deletable: &'a [usize],
    /// $N$.
    pub budget: f64,
    /// +1 or -1.
    pub y: &'a [f64],
    /// $s$, adding up to 1.
    pub shares: &'a [f64],
    /// $\alpha$.
    pub alpha: f64,
    /// $\kappa$ of rows labelled +1 and -1.
    pub kappas: (f64, f64),
    /// $\rho$.
    pub share: f64,
    /// Whether b is free; otherwise it is 0.
    pub intercept: bool,
}

/// A smooth upper bound on F at one point: every maximum softened by `soft`, and the maximisers, which are
/// feasible multipliers.
pub(super) struct Softened {
    /// The bound.
    pub value: f64,
    /// Softened margins.
    pub margins: Vec<f64>,
    /// Weight of every row, $a$.
    pub weights: Vec<f64>,
    /// Derivative of $a_i$ by its own loss.
    pub sharpness: Vec<f64>,
    /// Deletions $d$ of the deletable features, one row for each row.
    pub deletions: Dense,
    /// Whether the budget of deletions is used up in a row.
    pub full: Vec<bool>,
    /// Softened lengths $\sqrt{\|L_i w\|^2 + \epsilon^2}$; empty without errors.
    pub lengths: Vec<f64>,
}

impl Worst<'_> {
    pub(super) fn kappa(&self, i: usize) -> f64 {
        if self.y[i] > 0.0 { self.kappas.0 } else { self.kappas.1 }
    }

    /// Row i's semi-axes.
    pub(super) fn axes_of(&self, i: usize) -> Option<&[f64]> {
        self.axes.map(|axes| axes.row(if axes.nrows() == 1 { 0 } else { i }))
    }

    fn length(&self, i: usize, w: &[f64]) -> f64 {
        self.axes_of(i).map_or(0.0, |axes| {
            axes.iter().zip(w).map(|(l, w)| (l * w) * (l * w)).sum::<f64>().sqrt()
        })
    }

    /// What each deletable feature of row i adds to its margin.
    fn gains(&self, i: usize, w: &[f64]) -> Vec<f64> {
        let (y, row) = (self.y[i], self.x.row(i));
        self.deletable.iter().map(|&j| y * row[j] * w[j]).collect()
    }

    /// The worst case of every margin.
    pub(super) fn margins(&self, w: &[f64], b: f64) -> Vec<f64> {
        let scores = self.x.mul_vec(w);
        let one = |i: usize| {
            let plain = self.y[i] * (scores[i] + b) - self.length(i, w);
            if self.budget > 0.0 { plain - deletion(self.gains(i, w), self.budget) } else { plain }
        };
        (0..self.y.len()).into_par_iter().with_min_len(256).map(one).collect()
    }

    fn losses(&self, margins: &[f64]) -> Vec<f64> {
        let one = |(i, m): (usize, &f64)| expected_logistic(*m, 0.0).value - self.kappa(i) * m;
        margins.iter().enumerate().map(one).collect()
    }

    /// F.
    pub(super) fn value(&self, w: &[f64], b: f64) -> f64 {
        let losses = self.losses(&self.margins(w, b));
        0.5 * self.alpha * vector::norm_sq(w) + self.tail(&losses)
    }

    /// Mean of the worst share of the losses.
    pub(super) fn tail(&self, losses: &[f64]) -> f64 {
        let mut order: Vec<usize> = (0..losses.len()).collect();
        if self.share < 1.0 {
            order.sort_by(|&a, &b| losses[b].total_cmp(&losses[a]));
        }
        let (mut left, mut sum) = (1.0, 0.0);
        for i in order {
            let taken = (self.shares[i] / self.share).min(left);
            sum += taken * losses[i];
            left -= taken;
        }
        sum
    }

    /// The bound for maxima softened by `soft` > 0.
    pub(super) fn soften(&self, w: &[f64], b: f64, soft: f64) -> Softened {
        let (n, q) = (self.y.len(), if self.budget > 0.0 { self.deletable.len() } else { 0 });
        let scores = self.x.mul_vec(w);
        let one = |i: usize| {
            let mut margin = self.y[i] * (scores[i] + b);
            let length = self.axes.map_or(0.0, |_| self.length(i, w).hypot(soft));
            margin -= length;
            let mut gone = Vec::new();
            let mut full = false;
            if q > 0 {
                let (lost, used) = soft_deletion(self.gains(i, w), self.budget, soft, &mut gone);
                margin -= lost;
                full = used;
            }
            (margin, length, gone, full)
        };
        let rows: Vec<(f64, f64, Vec<f64>, bool)> =
            (0..n).into_par_iter().with_min_len(128).map(one).collect();
        let margins: Vec<f64> = rows.iter().map(|r| r.0).collect();
        let (tail, weights, sharpness) = self.soft_tail(&self.losses(&margins), soft);
        let mut deletions = Dense::zeros(n, q);
        for (i, row) in rows.iter().enumerate() {
            deletions.row_mut(i).copy_from_slice(&row.2);
        }
        Softened {
            value: 0.5 * self.alpha * vector::norm_sq(w) + tail,
            margins,
            weights,
            sharpness,
            deletions,
            full: rows.iter().map(|r| r.3).collect(),
            lengths: if self.axes.is_some() { rows.iter().map(|r| r.1).collect() } else { vec![] },
        }
    }

    /// $\min_\theta \theta + \frac1\rho \sum_i s_i\, \epsilon \log(1 + e^{(l_i - \theta)/\epsilon})$, the weights of the
    /// losses and how fast they change.
    fn soft_tail(&self, losses: &[f64], soft: f64) -> (f64, Vec<f64>, Vec<f64>) {
        if self.share >= 1.0 {
            let mean = losses.iter().zip(self.shares).map(|(l, s)| l * s).sum();
            return (mean, self.shares.to_vec(), vec![0.0; losses.len()]);
        }
        let scale: Vec<f64> = self.shares.iter().map(|s| s / self.share).collect();
        let theta = balance(losses, &scale, 1.0, soft, f64::NEG_INFINITY);
        let mut value = theta;
        let mut weights = Vec::with_capacity(losses.len());
        let mut sharpness = Vec::with_capacity(losses.len());
        for (l, s) in losses.iter().zip(&scale) {
            let (plus, share) = soft_plus(l - theta, soft);
            value += s * plus;
            weights.push(s * share);
            sharpness.push(s * share * (1.0 - share) / soft);
        }
        (value, weights, sharpness)
    }
}

/// The most that deletions within `budget` can take.
fn deletion(mut gains: Vec<f64>, budget: f64) -> f64 {
    gains.retain(|g| *g > 0.0);
    gains.sort_by(|a, b| b.total_cmp(a));
    let mut left = budget;
    let mut sum = 0.0;
    for gain in gains {
        let part = left.clamp(0.0, 1.0);
        sum += part * gain;
        left -= part;
    }
    sum
}

/// $\min_{\lambda \ge 0} N \lambda + \epsilon \sum_j \log(1 + e^{(c_j - \lambda)/\epsilon})$, which is at least the
/// largest loss by deletions, and the deletions that attain it.
fn soft_deletion(gains: Vec<f64>, budget: f64, soft: f64, gone: &mut Vec<f64>) -> (f64, bool) {
    let ones = vec![1.0; gains.len()];
    let level = balance(&gains, &ones, budget, soft, 0.0);
    let mut value = budget * level;
    for gain in gains {
        let (plus, share) = soft_plus(gain - level, soft);
        value += plus;
        gone.push(share);
    }
    (value, level > 0.0)
}

/// $\epsilon \log(1 + e^{t/\epsilon})$ and its derivative.
fn soft_plus(t: f64, soft: f64) -> (f64, f64) {
    let terms = expected_logistic(-t / soft, 0.0);
    (soft * terms.value, -terms.m)
}

/// The level at which $\sum_i s_i \sigma((v_i - \text{level})/\epsilon) = $ `total`, but at least `least`.
fn balance(values: &[f64], scale: &[f64], total: f64, soft: f64, least: f64) -> f64 {
    let excess = |level: f64| -> (f64, f64) {
        let (mut sum, mut slope) = (-total, 0.0);
        for (v, s) in values.iter().zip(scale) {
            let share = soft_plus(v - level, soft).1;
            sum += s * share;
            slope -= s * share * (1.0 - share) / soft;
        }
        (sum, slope)
    };
    let all: f64 = scale.iter().sum();
    let (small, large) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
    let reach = soft * (40.0 + (all / total).abs().ln().abs());
    let (mut low, mut high) = ((small - reach).max(least), large + reach);
    if low >= high || excess(low).0 <= 0.0 {
        return low.min(high.max(least));
    }
    let mut level = 0.5 * (low + high);
    for _ in 0..80 {
        let (sum, slope) = excess(level);
        if sum > 0.0 {
            low = level;
        } else {
            high = level;
        }
        if sum.abs() <= 1e-13 * total || high - low <= 1e-16 * level.abs() {
            break;
        }
        let newton = level - sum / slope;
        level = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
    }
    level
}
