//! The classifier whose features an adversary deletes: problem (4) of Dekel and Shamir (2008).
//!
//! ```math
//! \min_{\|w\|_\infty \le C,\ b}\ \frac{1}{\gamma\sum\omega}\sum_i \omega_i \Big[\max_\tau \sum_j \tau_j\big(\tfrac{\gamma v_j}{P} -
//!   y_i w_j x_{ij}\big) - y_i b\Big]_+, \qquad 0 \le \tau \le 1,\ \sum_j v_j\tau_j \ge P.
//! ```
//!
//! For `$0 \le \sigma_i \le \omega_i$` with `$\sum_i \sigma_i y_i = 0$` where there is an intercept, and parts `$\tau_{ij} \in [0, 1]$` of each
//! row with `$\sum_j v_j \tau_{ij} \ge P$`,
//! ```math
//! \frac{1}{\gamma\sum\omega}\Big(\frac\gamma P \sum_{ij} v_j \sigma_i \tau_{ij} - C\sum_j\Big|\sum_i y_i x_{ij} \sigma_i \tau_{ij}\Big|\Big)
//! ```
//! bounds the optimum. Features that are zero in a row are kept whole (`$\tau = 1$`).

use crate::interval::{Interval, Sum, sum};
use crate::rows::{Pivot, Rows, balance};

/// The problem.
#[derive(Debug)]
pub(crate) struct Missing<'a> {
    pub rows: Rows<'a>,
    pub y: Vec<f64>,
    /// `$\omega$`.
    pub weights: Vec<f64>,
    /// `$v$`.
    pub values: Vec<f64>,
    /// What may be deleted, `$V - P$`.
    pub budget: f64,
    /// `$\gamma$`.
    pub margin: f64,
    /// `$C$`.
    pub c: f64,
    pub fit_intercept: bool,
}

impl Missing<'_> {
    fn total_value(&self) -> Interval {
        sum(self.values.iter().map(|v| Interval::point(*v)))
    }

    fn kept(&self) -> Interval {
        self.total_value() - Interval::point(self.budget)
    }

    fn demand(&self) -> Interval {
        Interval::point(self.margin) / self.kept()
    }

    /// What the sum over rows is divided by.
    fn unit(&self) -> Interval {
        Interval::point(self.margin) * sum(self.weights.iter().map(|w| Interval::point(*w)))
    }

    /// The objective at these very numbers; infinite outside the box.
    pub(crate) fn objective(&self, w: &[f64], b: f64) -> Interval {
        if w.iter().any(|w| w.abs() > self.c) {
            return Interval::point(f64::INFINITY);
        }
        let scores = self.rows.scores(w, b);
        let intact = self.demand() * self.total_value();
        let mut losses = Sum::default();
        for (i, score) in scores.into_iter().enumerate() {
            let margin = if self.y[i] > 0.0 { score } else { -score };
            let lost = intact - margin + self.stolen(i, w);
            losses.add(Interval::point(self.weights[i]) * lost.positive_part());
        }
        losses.value() / self.unit()
    }

    /// The most that deletions within the budget take from the margin of a row: the best ratios of gain to value
    /// first, the last in part. From above by the price `$\theta$` of the budget at which that ends: `$N\theta + \sum (g_j -
    /// v_j\theta)_+$`.
    fn stolen(&self, i: usize, w: &[f64]) -> Interval {
        let demand = self.demand();
        let mut gains: Vec<(f64, Interval)> = Vec::new();
        for (j, x) in self.rows.row(i).filter(|(_, x)| *x != 0.0) {
            let pull = Interval::point(self.y[i] * w[j]) * Interval::point(x);
            let gain = pull - demand * Interval::point(self.values[j]);
            if gain.high > 0.0 {
                gains.push((self.values[j], gain));
            }
        }
        gains.sort_by(|a, b| (b.1.high / b.0).total_cmp(&(a.1.high / a.0)));
        let (mut room, mut theta, mut low) = (self.budget, 0.0, Sum::default());
        for (value, gain) in &gains {
            let part = if *value <= room { 1.0 } else { (room / value).next_down().max(0.0) };
            low.add(Interval::point(part) * gain.positive_part());
            if *value > room {
                theta = gain.high / value;
                break;
            }
            room = (room - value).next_down();
        }
        let price = Interval::point(theta);
        let over = |(value, gain): &(f64, Interval)| {
            (*gain - Interval::point(*value) * price).positive_part()
        };
        let high = Interval::point(self.budget) * price + sum(gains.iter().map(over));
        Interval::new(low.value().low.max(0.0), high.high)
    }

    /// A lower bound from `$\sigma$` per unit of weight and the parts of every nonzero entry, whatever they are.
    pub(crate) fn bound(&self, sigma: &[f64], parts: &[f64]) -> f64 {
        let clipped = |i: usize| {
            let share = if sigma[i] > 0.0 { sigma[i].min(1.0) } else { 0.0 };
            self.y[i] * (share * self.weights[i]).min(self.weights[i])
        };
        let mut signed: Vec<f64> = (0..self.y.len()).map(clipped).collect();
        let mut pivot = None;
        if self.fit_intercept {
            pivot = balance(&mut signed);
            if pivot.is_none() {
                return 0.0;
            }
        }
        let mut pulls = vec![Sum::default(); self.rows.columns()];
        let mut value = Sum::default();
        let mut next = 0;
        for (i, c) in signed.iter().enumerate() {
            let count = self.rows.row(i).filter(|(_, x)| *x != 0.0).count();
            let own = &parts[next..next + count];
            next += count;
            let size = match &pivot {
                Some(Pivot { row, value, .. }) if *row == i => value.abs(),
                _ => Interval::point(c.abs()),
            };
            if size.high > 0.0 {
                self.add_row(i, size, own, &mut pulls, &mut value);
            }
        }
        let pulled = sum(pulls.iter().map(|pull| pull.value().abs()));
        let bound = self.demand() * value.value() - Interval::point(self.c) * pulled;
        (bound / self.unit()).low.max(0.0)
    }

    /// Adds what a row keeps and how it pulls at every weight.
    fn add_row(&self, i: usize, size: Interval, parts: &[f64], pulls: &mut [Sum], value: &mut Sum) {
        let entries: Vec<(usize, f64)> = self.rows.row(i).filter(|(_, x)| *x != 0.0).collect();
        let parts = self.kept_parts(&entries, parts);
        let mut lost = Sum::default();
        for ((j, x), part) in entries.iter().zip(&parts) {
            let kept = size * *part;
            pulls[*j].add(Interval::point(self.y[i]) * kept * Interval::point(*x));
            lost.add(Interval::point(self.values[*j]) * (Interval::point(1.0) - *part));
        }
        value.add(size * (self.total_value() - lost.value()));
    }

    /// Parts in [0, 1], moved towards 1 until the row keeps its value.
    fn kept_parts(&self, entries: &[(usize, f64)], parts: &[f64]) -> Vec<Interval> {
        let mut parts: Vec<f64> =
            parts.iter().map(|p| if *p >= 0.0 { p.min(1.0) } else { 1.0 }).collect();
        for _ in 0..4 {
            let value = |(j, _): &(usize, f64)| Interval::point(self.values[*j]);
            let lost = sum(entries.iter().zip(&parts).map(|(entry, part)| {
                value(entry) * (Interval::point(1.0) - Interval::point(*part))
            }));
            if lost.high <= self.budget {
                return parts.into_iter().map(Interval::point).collect();
            }
            let share = self.budget / lost.high * (1.0 - 8.0 * f64::EPSILON);
            for part in &mut parts {
                *part = 1.0 - (1.0 - *part) * share;
            }
        }
        vec![Interval::point(1.0); parts.len()]
    }
}
