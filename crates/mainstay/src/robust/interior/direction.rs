//! Newton's direction to a given complementarity: predictor and corrector.

use super::elimination::{Elimination, LossPart};
use super::iterate::{Cones, Deleting, Excess, Iterate};
use crate::linalg::{Dense, vector};
use crate::optim::cone::{Points, image};

/// Right-hand sides of the equations that belong to single rows.
struct Targets {
    /// Of the loss: counts, then pulls.
    count: Vec<f64>,
    pull: Vec<f64>,
    /// Of the deletions: excess over the price, and multipliers of the slacks.
    above: Option<Dense>,
    tau: Option<Dense>,
    /// Of the price.
    price: Vec<f64>,
    /// Of the margin.
    margin: Vec<f64>,
    cones: Option<Points>,
}

/// Linear in the direction of the weights.
struct Along {
    /// $q_i^\top dw$ and more: how the margins change.
    margin: Vec<f64>,
    /// $u_i^\top dw$.
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
        let theta = self.theta_at().map_or(0.0, |t| x[t]);
        let along = self.along(&w, b, theta);
        let n = rows.len();
        let (mut g, mut lambda) = (vec![0.0; n], vec![0.0; n]);
        for i in 0..n {
            let rest = targets.margin[i] - along.margin[i];
            (lambda[i], g[i]) = self.pair(i, targets.price[i] + along.pushed[i], rest);
        }
        let deleting = self.deleting(at, &targets, (&w, &g), lambda);
        let cones = self.cones(&targets, &w, &g);
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

    /// What the products $a r$ and $\beta\xi$ have to change by.
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
                part.scaling.corrector(&cones.z, &d.k, &d.z, &vec![goal; n])
            } else {
                let mut back = Points::new(vec![0.0; n], at.w.len());
                back.add_scaled(-1.0, &cones.z);
                back
            };
            for i in 0..n {
                targets.margin[i] += found.head[i] / part.head[i];
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
        let (n, m) = (x.tau.nrows(), x.tau.ncols());
        let (mut above, mut tau) = (Dense::zeros(n, m), Dense::zeros(n, m));
        let budget = self.rows.budget();
        let change = predictor.and_then(|d| Some((d, d.deleting.as_ref()?)));
        let unspent = |at: &Iterate, x: &Deleting, i: usize| {
            budget * at.g[i] - x.tau.row(i).iter().sum::<f64>()
        };
        for i in 0..n {
            let g = at.g[i];
            let more = change.map_or(0.0, |(d, dx)| unspent(d, dx, i) * dx.lambda[i]);
            targets.price[i] = (goal - unspent(at, x, i) * x.lambda[i] - more) / x.lambda[i];
            let (xt, xs, xz) = (x.tau.row(i), x.slack.row(i), x.zeta.row(i));
            let (im, f) = (part.im.row(i), part.f.row(i));
            let (above, tau) = (above.row_mut(i), tau.row_mut(i));
            for j in 0..m {
                let mut by_slack = goal - xt[j] * xs[j];
                let mut by_zeta = goal - (g - xt[j]) * xz[j];
                if let Some((d, dx)) = change {
                    let dt = dx.tau[(i, j)];
                    by_slack -= dt * dx.slack[(i, j)];
                    by_zeta -= (d.g[i] - dt) * dx.zeta[(i, j)];
                }
                let slack = by_slack / xs[j];
                above[j] = by_zeta / xz[j] + slack;
                tau[j] = slack - f[j] * above[j];
                targets.price[i] += tau[j];
                targets.margin[i] += above[j] * im[j];
            }
        }
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
        if let (Some(part), Some(away), Some(tau)) = (&self.deletions, &rows.away, &targets.tau) {
            let (away, f, e, tau) = (away.row(i), part.f.row(i), part.e.row(i), tau.row(i));
            for (k, &j) in rows.columns().iter().enumerate() {
                rhs[j] += away[k] * (price * e[k] - pull * f[k] - tau[k]);
            }
        }
        if let (Some(part), Some(c)) = (&self.cones, &targets.cones) {
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
        rhs.extend(self.theta_at().map(|_| -self.rtheta));
        for i in 0..rows.len() {
            let (price, pull) = self.pair(i, targets.price[i], targets.margin[i]);
            vector::axpy(pull, rows.signed.row(i), &mut rhs[..p]);
            rhs[p] += rows.problem.y[i] * pull;
            self.add_eliminated(targets, i, (price, pull), &mut rhs[..p]);
            if let Some(t) = self.theta_at() {
                let l = &self.losses[i];
                let tilt = l.d * l.slope / l.h;
                rhs[t] += tilt * pull + targets.count[i] - tilt * targets.pull[i];
            }
        }
        if !rows.problem.intercept {
            rhs[p] = 0.0;
        }
        if let Some(t) = self.theta_at().filter(|_| rows.hinge()) {
            rhs[t] += floor_product(at, goal, predictor) / at.theta;
        }
        rhs
    }

    fn along(&self, w: &[f64], b: f64, theta: f64) -> Along {
        let rows = self.rows;
        let mut margin = rows.signed.mul_vec(w);
        let mut pushed = vec![0.0; rows.len()];
        for i in 0..rows.len() {
            let l = &self.losses[i];
            margin[i] += rows.problem.y[i] * b + l.d * l.slope / l.h * theta;
            if let (Some(part), Some(away)) = (&self.deletions, &rows.away) {
                let (away, f, e) = (away.row(i), part.f.row(i), part.e.row(i));
                for (k, &j) in rows.columns().iter().enumerate() {
                    margin[i] -= f[k] * away[k] * w[j];
                    pushed[i] += e[k] * away[k] * w[j];
                }
            }
            if let Some(part) = &self.cones {
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
        let (part, away) = (self.deletions.as_ref()?, self.rows.away.as_ref()?);
        let (above, target) = (targets.above.as_ref()?, targets.tau.as_ref()?);
        let (n, m) = (at.g.len(), away.ncols());
        let [mut zeta, mut slack, mut tau] = [(); 3].map(|()| Dense::zeros(n, m));
        let columns = self.rows.columns();
        for i in 0..n {
            let (im, f, e) = (part.im.row(i), part.f.row(i), part.e.row(i));
            let (above, target, away) = (above.row(i), target.row(i), away.row(i));
            let (zeta, slack, tau) = (zeta.row_mut(i), slack.row_mut(i), tau.row_mut(i));
            for k in 0..m {
                let over = lambda[i] - away[k] * w[columns[k]];
                zeta[k] = (above[k] - g[i]) * im[k] - f[k] * over;
                tau[k] = target[k] - e[k] * over + f[k] * g[i];
                slack[k] = over + zeta[k];
            }
        }
        Some(Deleting { lambda, zeta, slack, tau })
    }

    fn cones(&self, targets: &Targets, w: &[f64], g: &[f64]) -> Option<Cones> {
        let (part, target) = (self.cones.as_ref()?, targets.cones.as_ref()?);
        let axes = self.rows.problem.axes?;
        let (n, p) = (g.len(), w.len());
        let mut k = Points::new(vec![0.0; n], p);
        for (i, pull) in g.iter().enumerate() {
            let e = image(part.scaling.w1.row(i));
            k.head[i] = (target.head[i] - pull) / part.head[i] + part.twist[i] * vector::dot(e, w);
            let (own, pushed) = k.tail.row_mut(i).split_at_mut(p);
            for (j, axis) in axes.of(i).iter().enumerate() {
                own[j] = axis * w[j];
                pushed[j] = axis * own[j];
            }
        }
        let mut z = target.clone();
        part.scaling.subtract_inverse_square(&k, &mut z);
        z.head.copy_from_slice(g);
        Some(Cones { k, z })
    }
}

/// What the product of threshold and its multiplier has to change by.
fn floor_product(at: &Iterate, goal: f64, predictor: Option<&Iterate>) -> f64 {
    goal - at.theta * at.floor - predictor.map_or(0.0, |d| d.theta * d.floor)
}
