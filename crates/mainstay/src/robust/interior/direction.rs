//! Newton's direction to a given complementarity: predictor and corrector.
#![expect(clippy::inline_always, reason = "inlined into code compiled for wider vectors")]

use super::cells::Cells;
use super::elimination::{Elimination, LossPart};
use super::iterate::{Cones, Deleting, Excess, Iterate};
use crate::linalg::vector;
use crate::optim::cone::{Points, image};

/// Right-hand sides of the equations that belong to single rows.
struct Targets {
    /// Of the loss: counts, then pulls.
    count: Vec<f64>,
    pull: Vec<f64>,
    /// Of the deletions: excess over the price, and multipliers of the slacks.
    above: Option<Vec<f64>>,
    tau: Option<Vec<f64>>,
    /// Of the price.
    price: Vec<f64>,
    /// Of the margin.
    margin: Vec<f64>,
    cones: Option<Points>,
}

/// Linear in the direction of the weights.
struct Along {
    /// `$q_i^\top dw$` and more: how the margins change.
    margin: Vec<f64>,
    /// `$u_i^\top dw$`.
    pushed: Vec<f64>,
}

impl Elimination<'_> {
    /// The direction in which every complementary product goes to `goal`; `predictor` corrects the products of changes.
    pub(super) fn direction(
        &self,
        at: &Iterate,
        goal: f64,
        predictor: Option<&Iterate>,
    ) -> Iterate {
        let rows = self.rows;
        let p = rows.signed.ncols();
        let targets = self.targets(at, goal, predictor);
        let x = self.solve(&self.right_hand_side(at, &targets, goal, predictor));
        let (w, b) = (x[..p].to_vec(), x[p]);
        let theta = rows.theta_at().map_or(0.0, |t| x[t]);
        let reach = rows.reach_at().map(|r| x[r]);
        let along = self.along(&w, (b, reach.unwrap_or(0.0), theta));
        let n = rows.len();
        let (mut g, mut lambda) = (vec![0.0; n], vec![0.0; n]);
        for i in 0..n {
            let rest = targets.margin[i] - along.margin[i];
            (lambda[i], g[i]) = self.pair(i, targets.price[i] + along.pushed[i], rest);
        }
        let deleting = self.deleting(at, &targets, (&w, &g), lambda);
        let cones = self.cones(&targets, (&w, reach), &g);
        let (a, excess) = match &at.excess {
            Some(excess) => {
                let a = self.counts(&targets, &g, theta);
                let products = self.products(at, goal, predictor);
                let excess = self.excess(at, excess, &a, products);
                (a, Some(excess))
            }
            None => (vec![0.0; n], None),
        };
        let floor = if rows.top() && rows.hinge() {
            (floor_product(at, goal, predictor) - at.floor * theta) / at.theta
        } else {
            0.0
        };
        Iterate { w, b, g, a, excess, theta, floor, deleting, cones }
    }

    /// Solves the two equations of a row in price and pull.
    fn pair(&self, i: usize, price: f64, margin: f64) -> (f64, f64) {
        let Some(part) = &self.deletions else { return (0.0, margin / self.soft[i]) };
        let (own, left, soft) = (part.price[i], part.left[i], self.soft[i]);
        let det = own * soft + left * left;
        ((soft * price - left * margin) / det, (left * price + own * margin) / det)
    }

    /// What the products `$a r$` and `$\beta\xi$` have to change by.
    fn products(
        &self,
        at: &Iterate,
        goal: f64,
        predictor: Option<&Iterate>,
    ) -> (Vec<f64>, Vec<f64>) {
        let n = self.rows.len();
        let (mut kept, mut over) = (vec![0.0; n], vec![0.0; n]);
        if let Some(e) = &at.excess {
            for i in 0..n {
                kept[i] = goal - at.a[i] * e.r[i];
                over[i] = goal - (self.rows.caps[i] - at.a[i]) * e.xi[i];
                if let Some((d, de)) = predictor.and_then(|d| Some((d, d.excess.as_ref()?))) {
                    kept[i] -= d.a[i] * de.r[i];
                    over[i] += d.a[i] * de.xi[i];
                }
            }
        }
        (kept, over)
    }

    fn targets(&self, at: &Iterate, goal: f64, predictor: Option<&Iterate>) -> Targets {
        let n = self.rows.len();
        let (kept, over) = self.products(at, goal, predictor);
        let count = |(i, l): (usize, &LossPart)| {
            if at.excess.is_none() {
                return 0.0;
            }
            l.d * (kept[i] / at.a[i] - over[i] / (self.rows.caps[i] - at.a[i]) + l.excess_off)
        };
        let count: Vec<f64> = self.losses.iter().enumerate().map(count).collect();
        let pull: Vec<f64> =
            self.losses.iter().zip(&count).map(|(l, c)| l.slope * c - l.off).collect();
        let mut targets = Targets {
            margin: pull.iter().zip(&self.losses).map(|(g, l)| g / l.h).collect(),
            count,
            pull,
            above: None,
            tau: None,
            price: vec![0.0; n],
            cones: None,
        };
        self.deletion_targets(at, goal, predictor, &mut targets);
        if let (Some(part), Some(cones)) = (&self.cones, &at.cones) {
            let found = if let Some(d) = predictor.and_then(|d| d.cones.as_ref()) {
                part.scaling.corrector(&cones.z, &d.k, &d.z, &vec![goal; cones.z.len()])
            } else {
                let mut back = Points::new(vec![0.0; cones.z.len()], at.w.len());
                back.add_scaled(-1.0, &cones.z);
                back
            };
            if self.rows.shared_axes().is_none() {
                for i in 0..n {
                    targets.margin[i] += found.head[i] / part.head[i];
                }
            }
            targets.cones = Some(found);
        }
        targets
    }

    /// Change of the counts.
    fn counts(&self, targets: &Targets, g: &[f64], theta: f64) -> Vec<f64> {
        let count = |i: usize| {
            let l = &self.losses[i];
            let margin = (targets.pull[i] - g[i] - l.d * l.slope * theta) / l.h;
            targets.count[i] - l.d * theta - l.d * l.slope * margin
        };
        (0..g.len()).map(count).collect()
    }

    /// Change of the excesses that goes with the change `a` of the counts.
    fn excess(
        &self,
        at: &Iterate,
        e: &Excess,
        a: &[f64],
        (kept, over): (Vec<f64>, Vec<f64>),
    ) -> Excess {
        let r = |i: usize| (kept[i] - e.r[i] * a[i]) / at.a[i];
        let xi = |i: usize| (over[i] + e.xi[i] * a[i]) / (self.rows.caps[i] - at.a[i]);
        Excess { r: (0..a.len()).map(r).collect(), xi: (0..a.len()).map(xi).collect() }
    }

    fn deletion_targets(
        &self,
        at: &Iterate,
        goal: f64,
        predictor: Option<&Iterate>,
        targets: &mut Targets,
    ) {
        let (Some(part), Some(x)) = (&self.deletions, &at.deleting) else { return };
        let Some(cells) = &self.rows.cells else { return };
        let (mut above, mut tau) = (vec![0.0; cells.len()], vec![0.0; cells.len()]);
        let (budget, capless) = (self.rows.budget(), self.rows.capless());
        let change = predictor.and_then(|d| Some((d, d.deleting.as_ref()?)));
        let unspent = |at: &Iterate, x: &Deleting, i: usize| {
            budget * at.g[i] - vector::sum(&x.tau[cells.of(i)])
        };
        vector::vectorized!({
            for i in 0..self.rows.len() {
                let of = cells.of(i);
                let more = change.map_or(0.0, |(d, dx)| unspent(d, dx, i) * dx.lambda[i]);
                targets.price[i] = (goal - unspent(at, x, i) * x.lambda[i] - more) / x.lambda[i];
                let (above, tau) = (&mut above[of.clone()], &mut tau[of.clone()]);
                let change = change.map(|(d, dx)| RowCells::of(cells, d, dx, i));
                let own = RowCells::of(cells, at, x, i);
                if capless {
                    capless_targets(goal, &own, change.as_ref(), tau);
                } else {
                    let (f, im) = (&part.f[of.clone()], &part.im[of]);
                    cell_targets(goal, &own, change.as_ref(), f, (&mut *above, &mut *tau));
                    targets.margin[i] += vector::dot(above, im);
                }
                targets.price[i] += vector::sum(tau);
            }
        });
        targets.above = Some(above);
        targets.tau = Some(tau);
    }

    /// Adds to the weights' right-hand side what eliminating the deletions and the cone of row `i` leaves.
    fn add_eliminated(
        &self,
        targets: &Targets,
        i: usize,
        (price, pull): (f64, f64),
        rhs: &mut [f64],
    ) {
        let rows = self.rows;
        if let (Some(part), Some(cells), Some(tau)) = (&self.deletions, &rows.cells, &targets.tau) {
            for k in cells.of(i) {
                rhs[cells.feature[k]] +=
                    cells.away[k] * (price * part.e[k] - pull * part.f[k] - tau[k]);
            }
        }
        if let (Some(part), Some(c), None) = (&self.cones, &targets.cones, rows.shared_axes()) {
            vector::axpy(1.0, image(c.tail.row(i)), rhs);
            let scale = part.twist[i] * (c.head[i] - pull);
            vector::axpy(scale, image(part.scaling.w1.row(i)), rhs);
        }
    }

    fn right_hand_side(
        &self,
        at: &Iterate,
        targets: &Targets,
        goal: f64,
        predictor: Option<&Iterate>,
    ) -> Vec<f64> {
        let rows = self.rows;
        let p = rows.signed.ncols();
        let mut rhs: Vec<f64> = self.rw.iter().map(|r| -r).collect();
        rhs.push(-self.rb);
        rhs.extend(rows.reach_at().map(|_| 0.0));
        rhs.extend(rows.theta_at().map(|_| -self.rtheta));
        if let (Some(r), Some(c)) = (rows.reach_at(), &targets.cones) {
            vector::axpy(1.0, image(c.tail.row(0)), &mut rhs[..p]);
            rhs[r] = c.head[0];
        }
        let mut pulls = vec![0.0; rows.len()];
        for (i, kept) in pulls.iter_mut().enumerate() {
            let (price, pull) = self.pair(i, targets.price[i], targets.margin[i]);
            *kept = pull;
            rhs[p] += rows.problem.y[i] * pull;
            self.add_eliminated(targets, i, (price, pull), &mut rhs[..p]);
            if let Some(r) = rows.reach_at() {
                rhs[r] -= pull;
            }
            if let Some(t) = rows.theta_at() {
                let l = &self.losses[i];
                let tilt = l.d * l.slope / l.h;
                rhs[t] += tilt * pull + targets.count[i] - tilt * targets.pull[i];
            }
        }
        vector::axpy(1.0, &rows.signed.tr_mul_vec(&pulls), &mut rhs[..p]);
        if !rows.problem.intercept {
            rhs[p] = 0.0;
        }
        if let Some(t) = rows.theta_at().filter(|_| rows.hinge()) {
            rhs[t] += floor_product(at, goal, predictor) / at.theta;
        }
        rhs
    }

    fn along(&self, w: &[f64], (b, reach, theta): (f64, f64, f64)) -> Along {
        let rows = self.rows;
        let mut margin = rows.signed.mul_vec(w);
        let mut pushed = vec![0.0; rows.len()];
        for i in 0..rows.len() {
            let l = &self.losses[i];
            margin[i] += rows.problem.y[i] * b - reach + l.d * l.slope / l.h * theta;
            if let (Some(part), Some(cells)) = (&self.deletions, &rows.cells) {
                for k in cells.of(i) {
                    let seen = cells.away[k] * w[cells.feature[k]];
                    margin[i] -= part.f[k] * seen;
                    pushed[i] += part.e[k] * seen;
                }
            }
            if let Some(part) = self.cones.as_ref().filter(|_| rows.shared_axes().is_none()) {
                margin[i] -= part.twist[i] * vector::dot(image(part.scaling.w1.row(i)), w);
            }
        }
        Along { margin, pushed }
    }

    fn deleting(
        &self,
        at: &Iterate,
        targets: &Targets,
        (w, g): (&[f64], &[f64]),
        lambda: Vec<f64>,
    ) -> Option<Deleting> {
        let (part, cells) = (self.deletions.as_ref()?, self.rows.cells.as_ref()?);
        let (above, target) = (targets.above.as_ref()?, targets.tau.as_ref()?);
        let [mut zeta, mut slack, mut tau] = [(); 3].map(|()| vec![0.0; cells.len()]);
        for i in 0..at.g.len() {
            for k in cells.of(i) {
                let over = lambda[i] - cells.away[k] * w[cells.feature[k]];
                zeta[k] = (above[k] - g[i]) * part.im[k] - part.f[k] * over;
                tau[k] = target[k] - part.e[k] * over + part.f[k] * g[i];
                slack[k] = over + zeta[k];
            }
        }
        Some(Deleting { lambda, zeta, slack, tau })
    }

    /// Change of the cones; `reach` is that of the shared one.
    fn cones(
        &self,
        targets: &Targets,
        (w, reach): (&[f64], Option<f64>),
        g: &[f64],
    ) -> Option<Cones> {
        let (part, target) = (self.cones.as_ref()?, targets.cones.as_ref()?);
        let axes = self.rows.problem.axes?;
        let (count, p) = (self.rows.cones(), w.len());
        let mut k = Points::new(vec![0.0; count], p);
        for (i, (whole, twist)) in part.head.iter().zip(&part.twist).enumerate() {
            let e = image(part.scaling.w1.row(i));
            k.head[i] = reach
                .unwrap_or_else(|| (target.head[i] - g[i]) / whole + twist * vector::dot(e, w));
            let (own, pushed) = k.tail.row_mut(i).split_at_mut(p);
            for (j, axis) in axes.of(i).iter().enumerate() {
                own[j] = axis * w[j];
                pushed[j] = axis * own[j];
            }
        }
        let mut z = target.clone();
        part.scaling.subtract_inverse_square(&k, &mut z);
        z.head = self.rows.heads(g);
        Some(Cones { k, z })
    }
}

/// The deletions of one row.
struct RowCells<'a> {
    g: f64,
    tau: &'a [f64],
    slack: &'a [f64],
    zeta: &'a [f64],
}

impl<'a> RowCells<'a> {
    #[inline(always)]
    fn of(cells: &Cells, at: &Iterate, x: &'a Deleting, i: usize) -> Self {
        let of = cells.of(i);
        let (tau, slack) = (&x.tau[of.clone()], &x.slack[of.clone()]);
        Self { g: at.g[i], tau, slack, zeta: &x.zeta[of] }
    }
}

/// Right-hand sides of the cells of one row.
#[inline(always)]
fn cell_targets(
    goal: f64,
    x: &RowCells<'_>,
    change: Option<&RowCells<'_>>,
    f: &[f64],
    (above, tau): (&mut [f64], &mut [f64]),
) {
    let m = above.len();
    let (f, tau) = (&f[..m], &mut tau[..m]);
    let (xt, xs, xz) = (&x.tau[..m], &x.slack[..m], &x.zeta[..m]);
    match change {
        None => {
            for j in 0..m {
                let slack = goal / xs[j] - xt[j];
                above[j] = goal / xz[j] - (x.g - xt[j]) + slack;
                tau[j] = slack - f[j] * above[j];
            }
        }
        Some(d) => {
            let (dt, ds, dz) = (&d.tau[..m], &d.slack[..m], &d.zeta[..m]);
            for j in 0..m {
                let slack = (goal - dt[j] * ds[j]) / xs[j] - xt[j];
                let over = (goal - (d.g - dt[j]) * dz[j]) / xz[j] - (x.g - xt[j]);
                above[j] = over + slack;
                tau[j] = slack - f[j] * above[j];
            }
        }
    }
}

/// What the product of threshold and its multiplier has to change by.
fn floor_product(at: &Iterate, goal: f64, predictor: Option<&Iterate>) -> f64 {
    goal - at.theta * at.floor - predictor.map_or(0.0, |d| d.theta * d.floor)
}

/// [`cell_targets`] where the budget alone keeps deletions below 1.
#[inline(always)]
fn capless_targets(goal: f64, x: &RowCells<'_>, change: Option<&RowCells<'_>>, tau: &mut [f64]) {
    for (j, out) in tau.iter_mut().enumerate() {
        let more = change.map_or(0.0, |d| d.tau[j] * d.slack[j]);
        *out = (goal - more) / x.slack[j] - x.tau[j];
    }
}
