//! The SVM whose rows are ellipsoids of one shape.
//!
//! ```math
//! \min_{w,b}\ \tfrac12\|w\|^2 + \sum_i c_i \max(0, 1 + \sqrt{w^\top P w} - y_i(w^\top x_i + b))
//! ```
//!
//! For `$0 \le \beta_i \le c_i$` with `$\sum \beta_i y_i = 0$` and any `$d$` in the ellipsoid, `$\sqrt{w^\top P w} \ge w^\top d$` gives
//! ```math
//! \sum_i \beta_i - \tfrac12\Big\|\sum_i \beta_i y_i x_i - R\,d\Big\|^2, \qquad R = \sum_i \beta_i.
//! ```
//! Every `$d = t\,Pv/\sqrt{v^\top P v}$` with `$0 \le t \le 1$` is in the ellipsoid. The directions `$v$` that are tried: the weights,
//! and what the sum becomes once `$d$` is subtracted, a few times; the best bound counts.

use crate::interval::{Interval, Sum, sum};
use crate::rows::{Rows, balance};

/// Directions tried.
const TRIES: usize = 40;

/// `$P$`.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Of a ball, by its radius.
    Ball(f64),
    /// By the half-axes along the features.
    Axes(Vec<f64>),
    /// All of it.
    Full(Vec<Vec<f64>>),
}

/// The problem.
#[derive(Debug)]
pub(crate) struct Ellipsoid<'a> {
    pub rows: Rows<'a>,
    pub y: Vec<f64>,
    /// `$c_i$`.
    pub caps: Vec<f64>,
    pub shape: Shape,
}

impl Shape {
    /// `$Pv$`.
    fn image(&self, v: &[f64]) -> Vec<Interval> {
        let square = |r: f64| Interval::point(r) * Interval::point(r);
        match self {
            Self::Ball(r) => v.iter().map(|v| square(*r) * Interval::point(*v)).collect(),
            Self::Axes(axes) => {
                v.iter().zip(axes).map(|(v, r)| square(*r) * Interval::point(*v)).collect()
            }
            Self::Full(rows) => rows
                .iter()
                .map(|row| crate::exact::dot(row.iter().copied().zip(v.iter().copied())))
                .collect(),
        }
    }

    /// `$\sqrt{v^\top P v}$`.
    fn support(&self, v: &[f64]) -> Interval {
        let length =
            |sizes: &mut dyn Iterator<Item = Interval>| sum(sizes.map(Interval::square)).sqrt();
        match self {
            Self::Ball(r) => {
                Interval::point(*r) * length(&mut v.iter().map(|v| Interval::point(*v)))
            }
            Self::Axes(axes) => {
                let seen = |(v, r): (&f64, &f64)| Interval::point(*v) * Interval::point(*r);
                length(&mut v.iter().zip(axes).map(seen))
            }
            Self::Full(_) => {
                let image = self.image(v);
                sum(image.iter().zip(v).map(|(p, v)| *p * Interval::point(*v))).sqrt()
            }
        }
    }

    /// The direction along which the ellipsoid reaches furthest towards `g` itself, where that is simple.
    fn towards(&self, g: &[f64]) -> Vec<f64> {
        match self {
            Self::Axes(axes) => {
                let over = |(g, r): (&f64, &f64)| if *r > 0.0 { g / r / r } else { 0.0 };
                g.iter().zip(axes).map(over).collect()
            }
            Self::Ball(_) | Self::Full(_) => g.to_vec(),
        }
    }
}

impl Ellipsoid<'_> {
    /// The objective at these very numbers.
    pub(crate) fn objective(&self, w: &[f64], b: f64) -> Interval {
        let reach = Interval::point(1.0) + self.shape.support(w);
        let scores = self.rows.scores(w, b);
        let mut losses = Sum::default();
        for ((score, y), cap) in scores.into_iter().zip(&self.y).zip(&self.caps) {
            let margin = if *y > 0.0 { score } else { -score };
            losses.add(Interval::point(*cap) * (reach - margin).positive_part());
        }
        let square = sum(w.iter().map(|w| Interval::point(*w).square()));
        square * Interval::point(0.5) + losses.value()
    }

    /// A lower bound from multipliers as parts of their caps, whatever they are.
    pub(crate) fn bound(&self, shares: &[f64], w: &[f64]) -> f64 {
        let clipped = |i: usize| {
            let part = if shares[i] > 0.0 { shares[i].min(1.0) } else { 0.0 };
            self.y[i] * (part * self.caps[i]).min(self.caps[i])
        };
        let mut signed: Vec<f64> = (0..self.y.len()).map(clipped).collect();
        let Some(pivot) = balance(&mut signed) else { return 0.0 };
        let terms: Vec<(usize, f64)> = signed.iter().copied().enumerate().collect();
        let g = self.rows.column_sums(&terms, Some(&pivot));
        let total = sum(signed.iter().map(|c| Interval::point(c.abs()))) + pivot.value.abs();
        let middle: Vec<f64> = g.iter().map(|g| 0.5 * g.low + 0.5 * g.high).collect();
        let mut best = 0.0_f64;
        let mut direction = w.to_vec();
        for attempt in 0..TRIES {
            let (bound, left) = self.with_direction(&g, total, &direction);
            best = best.max(bound);
            direction = if attempt == 0 { self.shape.towards(&middle) } else { left };
        }
        best
    }

    /// The bound for a direction, and what it leaves of the sum.
    fn with_direction(&self, g: &[Interval], total: Interval, v: &[f64]) -> (f64, Vec<f64>) {
        let support = self.shape.support(v);
        let mut point = vec![Interval::point(0.0); v.len()];
        if support.low > 0.0 {
            let image = self.shape.image(v);
            let reach: Vec<Interval> = image.iter().map(|p| total * *p / support).collect();
            let inner = |f: &dyn Fn(usize) -> f64| (0..g.len()).map(f).sum::<f64>();
            let along =
                inner(&|t| g[t].low * reach[t].low) / inner(&|t| reach[t].low * reach[t].low);
            let part = Interval::point(if along > 0.0 { along.min(1.0) } else { 0.0 });
            point = reach.iter().map(|r| part * *r).collect();
        }
        let left: Vec<Interval> = g.iter().zip(&point).map(|(g, d)| *g - *d).collect();
        let square = sum(left.iter().map(|l| l.square()));
        let bound = (total - square * Interval::point(0.5)).low;
        (bound, left.iter().map(|l| 0.5 * l.low + 0.5 * l.high).collect())
    }
}
