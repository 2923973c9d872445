//! Problems whose losses depend on margins: penalised and stable classifiers of two classes, and the stable SVM of more.
//!
//! ```math
//! \min_{W,b}\ \sum_{jt} \lambda_1|u_t w_{jt}| + \tfrac{\lambda_2}{2}(u_t w_{jt})^2
//!   + s \max_{0 \le a \le c,\ \sum a \le k} \sum_i a_i \sum_j \varphi(y_{ij} (x_i^\top w_j + b_j))
//! ```
//!
//! Without `k` every row counts in full. For any `$a$` in that set and `$0 \le \beta_{ij} \le a_i\,\max|\varphi'|$`, with `$\sum_i
//! \beta_{ij} y_{ij} = 0$` where there is an intercept, Fenchel's inequality and the minimum over `$W$` bound the optimum by
//! ```math
//! s \sum_{ij} -a_i \varphi^*(-\beta_{ij}/a_i) - \sum_{jt} \frac{(s|r_{jt}|/u_t - \lambda_1)_+^2}{2\lambda_2},
//!   \qquad r_j = \sum_i \beta_{ij} y_{ij} x_i,
//! ```
//! where `$\lambda_2 = 0$` asks for `$s|r| \le \lambda_1 u$`.

use crate::interval::{Interval, Sum, sum};
use crate::loss::Loss;
use crate::rows::{Pivot, Rows, balance};
use crate::worst::{WorstSum, within};

/// The problem; `y` has one list of signs per hyperplane.
#[derive(Debug)]
pub(crate) struct Margins<'a> {
    pub rows: Rows<'a>,
    pub y: Vec<Vec<f64>>,
    pub weights: Vec<f64>,
    pub loss: Loss,
    /// Weight of the worst rows; all of it where there is none.
    pub k: Option<Interval>,
    /// What the losses are multiplied by.
    pub scale: Interval,
    pub penalty: Penalty,
    pub fit_intercept: bool,
}

/// `$\lambda_1$`, `$\lambda_2$` and `$u$`.
#[derive(Debug)]
pub(crate) struct Penalty {
    pub l1: Interval,
    pub l2: Interval,
    pub units: Vec<f64>,
}

impl Penalty {
    /// `$\rho\|w\|^2$`.
    pub(crate) fn ridge(rho: f64, columns: usize) -> Self {
        let l2 = Interval::point(2.0) * Interval::point(rho);
        Self { l1: Interval::point(0.0), l2, units: vec![1.0; columns] }
    }

    pub(crate) fn value(&self, w: &[f64]) -> Interval {
        let seen =
            || w.iter().zip(&self.units).map(|(w, u)| Interval::point(*w) * Interval::point(*u));
        let (l1, l2) = (sum(seen().map(Interval::abs)), sum(seen().map(Interval::square)));
        self.l1 * l1 + self.l2 * l2 * Interval::point(0.5)
    }

    /// What the sums `r` take from the bound when they are multiplied by `factor`; infinite where that is not allowed.
    fn conjugate(&self, r: &[Interval], factor: Interval) -> Interval {
        let excess = |(r, u): (&Interval, &f64)| {
            ((factor * r.abs()) / Interval::point(*u) - self.l1).positive_part()
        };
        let over = r.iter().zip(&self.units).map(excess);
        if self.l2.low > 0.0 {
            return sum(over.map(Interval::square)) / (self.l2 * Interval::point(2.0));
        }
        let most = over.fold(0.0, |m: f64, e| m.max(e.high));
        Interval::point(if most > 0.0 { f64::INFINITY } else { 0.0 })
    }

    /// The largest factor at most 1 for which no sum exceeds `$\lambda_1$`.
    fn allowed(&self, r: &[Interval], scale: Interval) -> f64 {
        let size = |(r, u): (&Interval, &f64)| (scale * r.abs() / Interval::point(*u)).high;
        let largest = r.iter().zip(&self.units).map(size).fold(0.0, f64::max);
        // A few units in the last place below, so that rounding does not put it above.
        (self.l1.low / largest * (1.0 - 16.0 * f64::EPSILON)).min(1.0)
    }
}

/// Multipliers of one hyperplane, balanced.
struct Column {
    /// `$\beta_i$`; 0 at the pivot.
    beta: Vec<f64>,
    pivot: Option<Pivot>,
    r: Vec<Interval>,
}

impl Margins<'_> {
    fn losses(&self, coef: &[Vec<f64>], intercept: &[f64]) -> Vec<Interval> {
        let mut all = vec![Sum::default(); self.weights.len()];
        for ((w, b), y) in coef.iter().zip(intercept).zip(&self.y) {
            for (i, score) in self.rows.scores(w, *b).into_iter().enumerate() {
                let margin = if y[i] > 0.0 { score } else { -score };
                all[i].add(self.loss.value(margin));
            }
        }
        all.iter().map(Sum::value).collect()
    }

    /// The objective at these very numbers.
    pub(crate) fn objective(&self, coef: &[Vec<f64>], intercept: &[f64]) -> Interval {
        let penalty = sum(coef.iter().map(|w| self.penalty.value(w)));
        let worst =
            WorstSum { weights: &self.weights, k: self.k }.of(&self.losses(coef, intercept));
        penalty + self.scale * worst
    }

    /// A lower bound from multipliers and shares per unit of weight, whatever they are; `multipliers` row by row.
    pub(crate) fn bound(&self, multipliers: &[f64], shares: Option<&[f64]>) -> f64 {
        let q = self.y.len();
        let (counted, factor) = within(&self.weights, self.k, |i| match shares {
            Some(shares) => shares[i],
            // A hinge needs no more of a row than its largest multiplier.
            None if self.loss == Loss::Hinge && self.k.is_some() => {
                multipliers[i * q..(i + 1) * q].iter().fold(0.0, |m: f64, v| m.max(*v))
            }
            None => 1.0,
        });
        let columns: Vec<Column> =
            (0..q).map(|j| self.column(j, &counted, |i| factor * multipliers[i * q + j])).collect();
        let mut best = self.value(&columns, &counted, 1.0);
        if self.penalty.l1.low > 0.0 {
            let allowed = columns
                .iter()
                .map(|column| self.penalty.allowed(&column.r, self.scale))
                .fold(1.0, f64::min);
            best = best.max(self.value(&columns, &counted, allowed));
        }
        // No term of the objective is negative.
        best.max(0.0)
    }

    /// Multipliers brought into their limits and balanced.
    fn column(&self, j: usize, counted: &[f64], share: impl Fn(usize) -> f64) -> Column {
        let steepest = self.loss.steepest();
        let clipped = |i: usize| {
            let most =
                if steepest.is_finite() { (steepest * counted[i]).next_down() } else { f64::MAX };
            let wanted = share(i) * self.weights[i];
            if counted[i] > 0.0 && wanted > 0.0 { wanted.min(most.max(0.0)) } else { 0.0 }
        };
        let y = &self.y[j];
        let mut signed: Vec<f64> = (0..y.len()).map(|i| y[i] * clipped(i)).collect();
        let mut pivot = None;
        if self.fit_intercept {
            pivot = balance(&mut signed);
            if pivot.is_none() {
                signed.fill(0.0);
            }
        }
        let terms: Vec<(usize, f64)> =
            signed.iter().copied().enumerate().filter(|(_, c)| *c != 0.0).collect();
        let r = self.rows.column_sums(&terms, pivot.as_ref());
        Column { beta: signed.iter().map(|c| c.abs()).collect(), pivot, r }
    }

    /// The bound with all multipliers times `factor`.
    fn value(&self, columns: &[Column], counted: &[f64], factor: f64) -> f64 {
        let factor = Interval::point(factor);
        let mut gains = Sum::default();
        let mut lost = Sum::default();
        for column in columns {
            let pivot = column.pivot.as_ref().map(|pivot| (pivot.row, pivot.value.abs()));
            let others =
                column.beta.iter().enumerate().map(|(i, beta)| (i, Interval::point(*beta)));
            for (i, beta) in others.chain(pivot) {
                if beta.high > 0.0 {
                    gains.add(self.loss.gain(Interval::point(counted[i]), factor * beta));
                }
            }
            lost.add(self.penalty.conjugate(&column.r, self.scale * factor));
        }
        (self.scale * gains.value() - lost.value()).low
    }
}
