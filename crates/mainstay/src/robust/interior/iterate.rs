//! The variables of the interior point, primal and dual, and how far they may move.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::cells::Cells;
use super::rows::Rows;
use crate::linalg::vector;
use crate::optim::cone::Points;
use crate::optim::step::{longest, ratio};

/// Variables of the rows' excesses over the threshold: `$\xi_i \ge 0$` and `$r_i = \xi_i + \theta - \varphi_i \ge 0$`.
#[derive(Debug, Clone)]
pub(super) struct Excess {
    pub xi: Vec<f64>,
    pub r: Vec<f64>,
}

/// Variables of the deletions, written by their dual: price `$\lambda_i \ge 0$` of the budget, `$\zeta_{ij} \ge 0$` above it, slack
/// `$\lambda_i + \zeta_{ij} - w_j a_{ij} \ge 0$`, and the slack's multiplier `$\tau_{ij}$`; one entry of each for every cell. With a
/// budget of at most 1 all `$\zeta$` are 0.
#[derive(Debug, Clone)]
pub(super) struct Deleting {
    pub lambda: Vec<f64>,
    pub zeta: Vec<f64>,
    pub slack: Vec<f64>,
    pub tau: Vec<f64>,
}

/// `$(\rho_i, L_i w)$` and its multiplier, whose head is the pull `$g_i$`; with shared half-axes one `$(\rho, L w)$` for all
/// rows, and the sum of their pulls.
#[derive(Debug, Clone)]
pub(super) struct Cones {
    pub k: Points,
    pub z: Points,
}

/// A point strictly inside all cones, or a direction.
#[derive(Debug, Clone)]
pub(super) struct Iterate {
    pub w: Vec<f64>,
    pub b: f64,
    /// Pull of every row.
    pub g: Vec<f64>,
    /// Count of every row.
    pub a: Vec<f64>,
    pub excess: Option<Excess>,
    /// Threshold of the worst share; 0 where all rows count.
    pub theta: f64,
    /// Multiplier of `$\theta \ge 0$`, which only the hinge loss needs.
    pub floor: f64,
    pub deleting: Option<Deleting>,
    pub cones: Option<Cones>,
}

/// Sum of the products of all complementary pairs, and how many there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Complementarity {
    pub total: f64,
    count: f64,
}

impl Complementarity {
    pub(super) fn mean(self) -> f64 {
        self.total / self.count.max(1.0)
    }
}

/// Smallest and largest share of its cap that a row counts for at the start: well inside the interior.
const START_SHARES: (f64, f64) = (1e-3, 0.95);
/// What the errors of a row may cost its margin at the start, in units of the margin.
const START_REACH: f64 = 0.3;
/// Price of a deletion at the start, in units of the margin.
const START_PRICE: f64 = 0.1;
/// Variables that are looked at together for whether one of them limits the step.
const TOGETHER: usize = 64;
/// Multiplier of the threshold at the start, at least, relative to `k`.
const START_FLOOR: f64 = 0.1;

/// Total cap of the smaller class over that of the row's own class: 1 in the smaller one.
fn class_balance(rows: &Rows<'_>) -> Vec<f64> {
    let y = rows.problem.y;
    let of = |sign: f64| -> f64 {
        y.iter().zip(&rows.caps).filter(|(y, _)| **y == sign).map(|(_, c)| c).sum()
    };
    let (up, down) = (of(1.0), of(-1.0));
    y.iter().map(|y| up.min(down) / if *y > 0.0 { up } else { down }).collect()
}

/// How much every row counts at the start: half of the worst `k`, both classes alike.
fn start_counts(rows: &Rows<'_>, balance: &[f64]) -> Vec<f64> {
    let part = if rows.top() { rows.k / rows.len() as f64 } else { 1.0 };
    let share = |balance: &f64| {
        let (least, most) = START_SHARES;
        if rows.counted() { (0.5 * part * balance).clamp(least, most) } else { 1.0 }
    };
    balance.iter().zip(&rows.caps).map(|(b, cap)| share(b) * cap).collect()
}

impl Iterate {
    /// No weights, moderate slacks, classes in balance.
    pub(super) fn start(rows: &Rows<'_>) -> Self {
        let (n, p) = (rows.len(), rows.signed.ncols());
        let balance = class_balance(rows);
        let a = start_counts(rows, &balance);
        let g: Vec<f64> = if rows.hinge() {
            a.clone()
        } else {
            (0..n).map(|i| a[i] * (0.5 * balance[i] + rows.kappa[i])).collect()
        };
        let (theta, floor) = match (rows.top(), rows.hinge()) {
            (false, _) => (0.0, 0.0),
            (true, false) => (0.5, 0.0),
            (true, true) => (0.5, (rows.k - a.iter().sum::<f64>()).max(START_FLOOR * rows.k)),
        };
        let cones = rows.problem.axes.map(|_| Cones {
            k: Points::new(vec![START_REACH; rows.cones()], p),
            z: Points::new(rows.heads(&g), p),
        });
        let mut at = Self {
            w: vec![0.0; p],
            b: 0.0,
            deleting: Deleting::start(rows, &g),
            cones,
            g,
            a,
            excess: None,
            theta,
            floor,
        };
        at.excess = rows.counted().then(|| at.start_excess(rows));
        at
    }

    /// Excess of every row's loss over the threshold, one unit inside its bounds.
    fn start_excess(&self, rows: &Rows<'_>) -> Excess {
        let (n, theta, margins) = (rows.len(), self.theta, self.margins(rows));
        let loss = |i: usize| {
            if rows.hinge() { 1.0 - margins[i] } else { rows.problem.loss(i, margins[i]) }
        };
        let xi: Vec<f64> = (0..n).map(|i| (loss(i) - theta).max(0.0) + 1.0).collect();
        let r = (0..n).map(|i| xi[i] + theta - loss(i)).collect();
        Excess { xi, r }
    }

    /// Margins as the variables have them: at most those of the plane, and equal at the optimum.
    pub(super) fn margins(&self, rows: &Rows<'_>) -> Vec<f64> {
        let mut margins = rows.signed.mul_vec(&self.w);
        for (i, m) in margins.iter_mut().enumerate() {
            *m += rows.problem.y[i] * self.b;
            if let Some(c) = &self.cones {
                *m -= c.head(i);
            }
            if let (Some(d), Some(cells)) = (&self.deleting, &rows.cells) {
                *m -= rows.budget() * d.lambda[i] + vector::sum(&d.zeta[cells.of(i)]);
            }
        }
        margins
    }

    pub(super) fn complementarity(&self, rows: &Rows<'_>) -> Complementarity {
        let mut sum = Complementarity { total: 0.0, count: 0.0 };
        let n = rows.len() as f64;
        if let Some(e) = &self.excess {
            sum.total += (0..rows.len())
                .map(|i| self.a[i] * e.r[i] + (rows.caps[i] - self.a[i]) * e.xi[i])
                .sum::<f64>();
            sum.count += 2.0 * n;
            if rows.top() && rows.hinge() {
                sum.total += self.theta * self.floor;
                sum.count += 1.0;
            }
        }
        if let (Some(d), Some(cells)) = (&self.deleting, &rows.cells) {
            for i in 0..rows.len() {
                let (g, of) = (self.g[i], cells.of(i));
                let (tau, slack, zeta) = (&d.tau[of.clone()], &d.slack[of.clone()], &d.zeta[of]);
                sum.total += (rows.budget() * g - vector::sum(tau)) * d.lambda[i];
                let pairs = tau.iter().zip(slack).zip(zeta);
                sum.total += pairs.map(|((t, s), z)| t * s + (g - t) * z).sum::<f64>();
            }
            let each = if rows.capless() { 1.0 } else { 2.0 };
            sum.count += n + each * cells.len() as f64;
        }
        if let Some(c) = &self.cones {
            sum.total += c.k.dot(&c.z);
            sum.count += rows.cones() as f64;
        }
        sum
    }

    /// The longest step along `d` that stays inside all cones.
    pub(super) fn longest(&self, rows: &Rows<'_>, d: &Self) -> f64 {
        let mut step = f64::INFINITY;
        if let (Some(e), Some(de)) = (&self.excess, &d.excess) {
            step = longest(&self.a, &d.a, step);
            for i in 0..rows.len() {
                step = ratio(rows.caps[i] - self.a[i], -d.a[i], step);
            }
            step = longest(&e.r, &de.r, longest(&e.xi, &de.xi, step));
            if rows.top() && rows.hinge() {
                step = ratio(self.theta, d.theta, ratio(self.floor, d.floor, step));
            }
        }
        if !rows.hinge() {
            // The slope of the logistic loss is between 0 and -1.
            for i in 0..rows.len() {
                let k = rows.kappa[i];
                step = ratio(self.g[i] - k * self.a[i], d.g[i] - k * d.a[i], step);
                step = ratio((1.0 + k) * self.a[i] - self.g[i], (1.0 + k) * d.a[i] - d.g[i], step);
            }
        }
        if let (Some(x), Some(dx), Some(cells)) = (&self.deleting, &d.deleting, &rows.cells) {
            step = x.longest((cells, &self.g), (dx, &d.g), rows.budget(), step);
        }
        if let (Some(c), Some(dc)) = (&self.cones, &d.cones) {
            step = step.min(c.k.longest_step(&dc.k)).min(c.z.longest_step(&dc.z));
        }
        step
    }

    pub(super) fn add_scaled(&mut self, t: f64, d: &Self) {
        vector::axpy(t, &d.w, &mut self.w);
        vector::axpy(t, &d.g, &mut self.g);
        vector::axpy(t, &d.a, &mut self.a);
        self.b += t * d.b;
        self.theta += t * d.theta;
        self.floor += t * d.floor;
        if let (Some(x), Some(dx)) = (&mut self.excess, &d.excess) {
            vector::axpy(t, &dx.xi, &mut x.xi);
            vector::axpy(t, &dx.r, &mut x.r);
        }
        if let (Some(x), Some(dx)) = (&mut self.deleting, &d.deleting) {
            vector::axpy(t, &dx.lambda, &mut x.lambda);
            vector::axpy(t, &dx.zeta, &mut x.zeta);
            vector::axpy(t, &dx.slack, &mut x.slack);
            vector::axpy(t, &dx.tau, &mut x.tau);
        }
        if let (Some(x), Some(dx)) = (&mut self.cones, &d.cones) {
            x.k.add_scaled(t, &dx.k);
            x.z.add_scaled(t, &dx.z);
        }
    }

    pub(super) fn scale(&mut self, t: f64) {
        let copy = self.clone();
        self.add_scaled(t - 1.0, &copy);
    }

    /// Equalities that steps keep, restored to the last digit.
    pub(super) fn settle(&mut self, rows: &Rows<'_>) {
        if rows.hinge() {
            self.g.clone_from(&self.a);
        }
        if let Some(c) = &mut self.cones {
            c.z.head = rows.heads(&self.g);
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        vector::all_finite(&self.w) && vector::all_finite(&self.g) && self.b.is_finite()
    }
}

/// [`longest`] for many variables of which few limit the step: a quotient is taken only where one does.
#[inline(always)]
fn rarely_shorter(x: &[f64], dx: &[f64], limit: f64) -> f64 {
    let mut step = limit;
    for (x, dx) in x.chunks(TOGETHER).zip(dx.chunks(TOGETHER)) {
        let crosses = |(x, dx): (&f64, &f64)| x + step * dx < 0.0;
        if x.iter().zip(dx).map(crosses).fold(false, |any, one| any | one) {
            step = longest(x, dx, step);
        }
    }
    step
}

impl Cones {
    /// How far the errors of row `i` reach.
    fn head(&self, i: usize) -> f64 {
        self.k.head[if self.k.len() == 1 { 0 } else { i }]
    }
}

impl Deleting {
    fn start(rows: &Rows<'_>, g: &[f64]) -> Option<Self> {
        let cells = rows.cells.as_ref()?;
        let (n, count) = (rows.len(), cells.len());
        let m = (count as f64 / n as f64).max(1.0);
        let height = if rows.capless() { 0.0 } else { START_PRICE / m.sqrt() };
        let part = (0.5 * rows.budget() / m).min(0.5);
        Some(Self {
            lambda: vec![START_PRICE; n],
            zeta: vec![height; count],
            slack: vec![START_PRICE + height; count],
            tau: (0..n).flat_map(|i| cells.of(i).map(move |_| part * g[i])).collect(),
        })
    }

    fn longest(
        &self,
        (cells, g): (&Cells, &[f64]),
        (d, dg): (&Self, &[f64]),
        budget: f64,
        most: f64,
    ) -> f64 {
        let mut step = longest(&self.lambda, &d.lambda, most);
        vector::vectorized!({
            for (x, dx) in [(&self.zeta, &d.zeta), (&self.slack, &d.slack), (&self.tau, &d.tau)] {
                step = rarely_shorter(x, dx, step);
            }
            for i in 0..g.len() {
                let (tau, more) = (&self.tau[cells.of(i)], &d.tau[cells.of(i)]);
                for (t, dt) in tau.iter().zip(more) {
                    if g[i] - t + step * (dg[i] - dt) < 0.0 {
                        step = ratio(g[i] - t, dg[i] - dt, step);
                    }
                }
                let (spent, more) = (vector::sum(tau), vector::sum(more));
                step = ratio(budget * g[i] - spent, budget * dg[i] - more, step);
            }
        });
        step
    }
}
