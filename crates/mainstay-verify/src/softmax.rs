//! The stable logistic regression of more than two classes at once.
//!
//! ```math
//! \min_{W,b}\ \alpha\|W\|^2 + \tfrac1k \max_{0 \le a \le c,\ \sum a \le k} \sum_i a_i \Big(\ln\sum_j e^{f_{ij}} - f_{i,y_i}\Big),
//!   \qquad f_{ij} = x_i^\top w_j + b_j.
//! ```
//!
//! Multipliers `$\beta_{ij} \ge 0$` for the classes `$j \ne y_i$` with `$\sum_j \beta_{ij} \le a_i$` prove
//! ```math
//! \tfrac1k\sum_i a_i H(\beta_i/a_i) - \frac{1}{4\alpha k^2}\sum_j \|r_j\|^2, \qquad
//!   r_j = \sum_{i: y_i \ne j} \beta_{ij} x_i - \sum_{i: y_i = j} \sum_l \beta_{il} x_i,
//! ```
//! with `$H$` the entropy of the shares and of what is left of 1. Where intercepts are free, what flows into a class must
//! flow out of it. What rounding leaves of that is taken, for each class but the first, from one multiplier between it
//! and the first; the first class then balances by itself, and `$r_0 = -\sum_{j>0} r_j$`.

use crate::exact::Exact;
use crate::interval::{Interval, Sum, sum};
use crate::margin::Penalty;
use crate::rows::{Pivot, Rows};
use crate::worst::{WorstSum, within};

/// The problem.
#[derive(Debug)]
pub(crate) struct Softmax<'a> {
    pub rows: Rows<'a>,
    pub labels: &'a [usize],
    pub classes: usize,
    pub weights: Vec<f64>,
    pub k: Interval,
    pub alpha: f64,
    pub fit_intercept: bool,
}

/// A multiplier that was moved to balance a class: (row, class), and its new value.
type Moved = ((usize, usize), Interval);

impl Softmax<'_> {
    fn scale(&self) -> Interval {
        Interval::point(1.0) / self.k
    }

    /// The objective at these very numbers.
    pub(crate) fn objective(&self, coef: &[Vec<f64>], intercept: &[f64]) -> Interval {
        let scores: Vec<Vec<Interval>> =
            coef.iter().zip(intercept).map(|(w, b)| self.rows.scores(w, *b)).collect();
        let losses: Vec<Interval> = (0..self.labels.len()).map(|i| self.loss(&scores, i)).collect();
        let penalty = Penalty::ridge(self.alpha, self.rows.columns());
        let worst = WorstSum { weights: &self.weights, k: Some(self.k) }.of(&losses);
        sum(coef.iter().map(|w| penalty.value(w))) + self.scale() * worst
    }

    /// `$\ln \sum_j e^{f_j - f_y}$` by adding up two at a time: `$\ln(e^a + e^b) = a + \ln(1 + e^{b-a})$`.
    fn loss(&self, scores: &[Vec<Interval>], i: usize) -> Interval {
        let own = scores[self.labels[i]][i];
        let others = (0..self.classes).filter(|j| *j != self.labels[i]);
        others.map(|j| scores[j][i] - own).fold(Interval::point(0.0), |all, more| {
            let (high, low) = if more.high > all.high { (more, all) } else { (all, more) };
            high + (high - low).softplus_of_negative()
        })
    }

    /// A lower bound from shares and multipliers per unit of weight, whatever they are; multipliers row by row.
    pub(crate) fn bound(&self, multipliers: &[f64], shares: &[f64]) -> f64 {
        let q = self.classes;
        let (counted, factor) = within(&self.weights, Some(self.k), |i| shares[i]);
        let mut beta: Vec<f64> = Vec::with_capacity(multipliers.len());
        for (i, own) in multipliers.chunks_exact(q).enumerate() {
            beta.extend(self.clipped(i, own, factor, counted[i]));
        }
        let moved = if self.fit_intercept { self.balance(&mut beta) } else { Some(Vec::new()) };
        moved.map_or(0.0, |moved| self.value(&beta, &moved, &counted).max(0.0))
    }

    /// Multipliers of a row that stay within its share.
    fn clipped(&self, i: usize, own: &[f64], factor: f64, most: f64) -> Vec<f64> {
        let of = |(j, m): (usize, &f64)| {
            let wanted = factor * m * self.weights[i];
            if j != self.labels[i] && wanted > 0.0 && most > 0.0 { wanted } else { 0.0 }
        };
        let mut row: Vec<f64> = own.iter().enumerate().map(of).collect();
        let total = sum(row.iter().map(|b| Interval::point(*b))).high;
        if total > most {
            let shrink = most / total * (1.0 - 4.0 * f64::EPSILON);
            for b in &mut row {
                *b *= shrink;
            }
        }
        row
    }

    /// What flows into class `j` less what flows out of it.
    fn flow(&self, beta: &[f64], j: usize) -> Exact {
        let mut sum = Exact::default();
        for (i, row) in beta.chunks_exact(self.classes).enumerate() {
            if self.labels[i] == j {
                for b in row {
                    sum.add(-b);
                }
            } else {
                sum.add(row[j]);
            }
        }
        sum
    }

    /// Takes from one multiplier per class what the class is out of balance by; it is 0 in `beta` then.
    fn balance(&self, beta: &mut [f64]) -> Option<Vec<Moved>> {
        let q = self.classes;
        let mut all = Vec::new();
        for j in 1..q {
            let flow = self.flow(beta, j);
            let size = flow.enclosed();
            if size == Interval::point(0.0) {
                continue;
            }
            // Too much flows in: less from class 0. Too much flows out: less to class 0.
            let (from, to) = if size.high > 0.0 { (0, j) } else { (j, 0) };
            let row = (0..self.labels.len())
                .filter(|&i| self.labels[i] == from)
                .max_by(|&a, &b| beta[a * q + to].total_cmp(&beta[b * q + to]))?;
            let at = row * q + to;
            if beta[at] < size.abs().high {
                return None;
            }
            all.push(((row, to), (Interval::point(beta[at]) - size.abs()).positive_part()));
            beta[at] = 0.0;
        }
        Some(all)
    }

    fn value(&self, beta: &[f64], moved: &[Moved], counted: &[f64]) -> f64 {
        let q = self.classes;
        let at = |i: usize, j: usize| {
            let found = moved.iter().find(|(place, _)| *place == (i, j));
            found.map_or_else(|| Interval::point(beta[i * q + j]), |(_, value)| *value)
        };
        let mut gains = Sum::default();
        for (i, a) in counted.iter().enumerate().filter(|(_, a)| **a > 0.0) {
            let a = Interval::point(*a);
            let shares = || (0..q).filter(|j| *j != self.labels[i]).map(|j| at(i, j) / a);
            let rest = (Interval::point(1.0) - sum(shares())).positive_part();
            gains.add(a * (sum(shares().map(Interval::entropy)) + rest.entropy()));
        }
        let sums: Vec<Vec<Interval>> = (1..q).map(|j| self.sums(beta, moved, j)).collect();
        let first = if self.fit_intercept {
            let total = |t: usize| -sum(sums.iter().map(|r| r[t]));
            (0..self.rows.columns()).map(total).collect()
        } else {
            self.sums(beta, moved, 0)
        };
        let squares = sum(sums.iter().flatten().chain(&first).map(|r| r.square()));
        let lost = squares * self.scale().square() / Interval::point(4.0 * self.alpha);
        (self.scale() * gains.value() - lost).low
    }

    /// `$r_j$`; with intercepts, in terms of the row whose multiplier was moved.
    fn sums(&self, beta: &[f64], moved: &[Moved], j: usize) -> Vec<Interval> {
        let q = self.classes;
        let mut terms = Vec::new();
        for (i, row) in beta.chunks_exact(q).enumerate() {
            if self.labels[i] == j {
                terms.extend(row.iter().filter(|b| **b > 0.0).map(|b| (i, -b)));
            } else if row[j] > 0.0 {
                terms.push((i, row[j]));
            }
        }
        let mine = |place: (usize, usize)| place.1 == j || self.labels[place.0] == j;
        let Some(((row, _), _)) = moved.iter().find(|(place, _)| mine(*place)) else {
            return self.rows.column_sums(&terms, None);
        };
        let mut others = Exact::default();
        for (_, c) in &terms {
            others.add(*c);
        }
        match Pivot::against(*row, &others) {
            Some(pivot) => self.rows.column_sums(&terms, Some(&pivot)),
            None => vec![Interval::ALL; self.rows.columns()],
        }
    }
}
