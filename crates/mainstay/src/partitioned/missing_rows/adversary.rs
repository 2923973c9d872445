//! The adversary of one row: exactly, and smoothed by an entropy so that every feature is deleted a little.

use crate::linalg::Row;
use crate::linalg::vector::vectorized;
use crate::partitioned::row_terms::{logistic, softplus};
use crate::uncertainty::{Deletions, Gain};

/// A budget below this share of the total value deletes nothing.
const NOTHING: f64 = 1e-12;
/// How exactly a smoothed row keeps the value that it must keep.
const EXACT: f64 = 1e-11;
/// Features of little value have at least this weight in the entropy, in units of the mean value.
const LEAST_ENTROPY: f64 = 0.05;

/// What may be deleted, in units of the margin: a row must provide `$1/P$` for each unit of value that is left.
#[derive(Debug, Clone)]
pub(in crate::partitioned) struct Adversary {
    pub deletions: Deletions,
    /// `$1/P$`.
    pub demand: f64,
    /// `$u_j$`: weight of feature `$j$` in the entropy, 1 on average.
    entropy: Vec<f64>,
}

impl Adversary {
    pub(in crate::partitioned) fn new(deletions: Deletions) -> Self {
        let mean = deletions.total() / deletions.values().len() as f64;
        let weight = |v: &f64| (v / mean).max(LEAST_ENTROPY);
        let entropy = deletions.values().iter().map(weight).collect();
        Self { demand: 1.0 / deletions.kept(), entropy, deletions }
    }

    /// The loss of a row with score 0, before the hinge: `$V/P$`.
    pub(in crate::partitioned) fn intact(&self) -> f64 {
        self.demand * self.deletions.total()
    }
}

/// The nonzeros of one row: what each adds to the shortfall if it is kept, and how much of it is kept.
#[derive(Debug, Default)]
pub(in crate::partitioned) struct RowCase {
    /// Columns of the nonzeros.
    pub columns: Vec<usize>,
    /// The numbers themselves, in solver units.
    pub entries: Vec<f64>,
    /// `$r_j = v_j/P - y w_j x_j$`.
    short: Vec<f64>,
    /// `$v_j$`.
    pub values: Vec<f64>,
    /// `$u_j$`.
    soft: Vec<f64>,
    /// `$\tau_j$`: how much of the feature is kept.
    pub kept: Vec<f64>,
    /// `$d\tau_j / dr_j$` with a fixed multiplier.
    pub bend: Vec<f64>,
    /// Value of the zeros, which are always kept.
    pub rest: f64,
    /// Whether the budget is spent, so that the multiplier moves with the weights.
    pub tight: bool,
    items: Vec<Gain>,
    /// `$(r_j, v_j) / (h u_j)$`.
    base: Vec<f64>,
    rate: Vec<f64>,
    /// Price of the budget in the exact worst case: a start for the smoothed one.
    price: f64,
}

impl RowCase {
    /// Takes a row in; returns its exact worst case `$h_i(w)$`.
    pub(in crate::partitioned) fn take(
        &mut self,
        adversary: &Adversary,
        row: Row<'_>,
        y: f64,
        w: &[f64],
    ) -> f64 {
        for list in [&mut self.entries, &mut self.short, &mut self.values, &mut self.soft] {
            list.clear();
        }
        self.columns.clear();
        self.items.clear();
        let all = adversary.deletions.values();
        let (mut kept, mut short) = (0.0, 0.0);
        for (j, x) in row.entries().filter(|(_, x)| *x != 0.0) {
            let r = adversary.demand * all[j] - y * (w[j] * x);
            self.columns.push(j);
            self.entries.push(x);
            self.short.push(r);
            self.values.push(all[j]);
            self.soft.push(adversary.entropy[j]);
            kept += all[j];
            short += r;
            if r < 0.0 {
                self.items.push(Gain { feature: j, gain: -r });
            }
        }
        self.rest = (adversary.deletions.total() - kept).max(0.0);
        let (gain, price) = adversary.deletions.fractional_with_price(&mut self.items);
        self.price = price;
        adversary.demand * self.rest + short + gain
    }

    /// Nothing is deleted: the value of that.
    pub(in crate::partitioned) fn keep_all(&mut self, adversary: &Adversary) -> f64 {
        self.kept.clear();
        self.kept.resize(self.short.len(), 1.0);
        self.bend.clear();
        self.bend.resize(self.short.len(), 0.0);
        self.tight = false;
        adversary.demand * self.rest + self.short.iter().sum::<f64>()
    }

    /// `$\max_\tau \sum_j \tau_j r_j + h \sum_j u_j H(\tau_j)$` with `$\sum v_j \tau_j \ge P$` and `$H$` the entropy; leaves
    /// `$\tau$` and its derivatives.
    pub(in crate::partitioned) fn smooth(&mut self, adversary: &Adversary, width: f64) -> f64 {
        let count = self.short.len();
        self.kept.resize(count, 0.0);
        self.bend.resize(count, 0.0);
        self.prepare(width);
        let most: f64 = self.values.iter().sum();
        let must = adversary.deletions.kept() - self.rest;
        if must >= most * (1.0 - NOTHING) && must > 0.0 {
            return self.without_budget(adversary, width);
        }
        let multiplier = self.multiplier(must, most);
        self.tight = multiplier > 0.0;
        let mut sum = 0.0;
        vectorized!({
            let parts = self.base.iter().zip(&self.rate).zip(&self.soft);
            for ((((b, r), u), t), k) in parts.zip(&mut self.kept).zip(&mut self.bend) {
                let z = b + multiplier * r;
                *t = logistic(z);
                *k = *t * (1.0 - *t) / (width * u);
                sum += width * u * softplus(z);
            }
        });
        sum - multiplier * must + adversary.demand * self.rest
    }

    fn prepare(&mut self, width: f64) {
        self.base.clear();
        self.rate.clear();
        for ((r, v), u) in self.short.iter().zip(&self.values).zip(&self.soft) {
            let unit = 1.0 / (width * u);
            self.base.push(r * unit);
            self.rate.push(v * unit);
        }
    }

    /// Features of any value are kept; those without value are smoothed.
    fn without_budget(&mut self, adversary: &Adversary, width: f64) -> f64 {
        self.tight = false;
        let mut sum = adversary.demand * self.rest;
        for j in 0..self.short.len() {
            let free = self.values[j] == 0.0;
            let t = if free { logistic(self.base[j]) } else { 1.0 };
            self.kept[j] = t;
            self.bend[j] = if free { t * (1.0 - t) / (width * self.soft[j]) } else { 0.0 };
            sum += if free { width * self.soft[j] * softplus(self.base[j]) } else { self.short[j] };
        }
        sum
    }

    /// `$\lambda \ge 0$` with `$\sum v_j \tau_j = P$`, or 0 where even that keeps enough: Newton's method between bounds.
    fn multiplier(&self, must: f64, most: f64) -> f64 {
        const STEPS: usize = 100;
        let (kept, _) = self.sums(0.0);
        if kept >= must {
            return 0.0;
        }
        let odds = (must / (most - must)).ln();
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for (b, r) in self.base.iter().zip(&self.rate).filter(|(_, r)| **r > 0.0) {
            // Where this feature alone would keep its part.
            let own = (odds - b) / r;
            low = low.min(own);
            high = high.max(own);
        }
        low = low.max(0.0);
        let mut at = self.price.clamp(low, high);
        for _ in 0..STEPS {
            let (kept, slope) = self.sums(at);
            let excess = kept - must;
            if excess.abs() <= EXACT * must {
                break;
            }
            if excess < 0.0 {
                low = at;
            } else {
                high = at;
            }
            let newton = at - excess / slope;
            let inside = newton > low && newton < high;
            at = if inside { newton } else { f64::midpoint(low, high) };
            if high - low <= f64::EPSILON * high {
                break;
            }
        }
        at
    }

    /// `$\sum v_j \tau_j$` and its derivative at a multiplier.
    fn sums(&self, multiplier: f64) -> (f64, f64) {
        let (mut kept, mut slope) = (0.0, 0.0);
        vectorized!({
            for ((b, r), v) in self.base.iter().zip(&self.rate).zip(&self.values) {
                let t = logistic(b + multiplier * r);
                kept += v * t;
                slope += v * r * t * (1.0 - t);
            }
        });
        (kept, slope)
    }

    /// Moves `$\tau$` up by what rounding left of `$\sum v_j \tau_j \ge P$`; returns that sum and `$\sum \tau_j r_j$`, with
    /// the zeros.
    pub(in crate::partitioned) fn make_feasible(&mut self, adversary: &Adversary) -> (f64, f64) {
        let must = adversary.deletions.kept() - self.rest;
        let have: f64 = self.values.iter().zip(&self.kept).map(|(v, t)| v * t).sum();
        if have < must {
            let room = self.values.iter().sum::<f64>() - have;
            let part = if room > must - have { (must - have) / room } else { 1.0 };
            for (t, v) in self.kept.iter_mut().zip(&self.values) {
                if *v > 0.0 {
                    *t += part * (1.0 - *t);
                }
            }
        }
        let (mut value, mut short) = (self.rest, adversary.demand * self.rest);
        for ((t, v), r) in self.kept.iter().zip(&self.values).zip(&self.short) {
            value += t * v;
            short += t * r;
        }
        (value, short)
    }
}
