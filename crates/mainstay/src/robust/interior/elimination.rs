//! One Newton system: what belongs to single rows is eliminated, weights, intercept and threshold remain.

use super::cells::Cells;
use super::iterate::Iterate;
use super::rows::Rows;
use crate::linalg::{Cholesky, Dense, GramSum, TINY, vector};
use crate::optim::cone::{Scaling, image};

/// Added to the unit diagonal of the scaled system, and what is tried if that is not enough.
const SHIFTS: [f64; 3] = [1e-14, 1e-11, 1e-8];
/// The largest number below 1: a probability that is never certain.
const LAST_BELOW_ONE: f64 = 1.0 - 1e-16;

/// What is left of a row's loss once its count and excess are eliminated: `$dg = \hat g - e\,d\theta - h\,dm$`.
pub(super) struct LossPart {
    /// `$\pi + \kappa$`: minus the slope of the loss.
    pub slope: f64,
    /// Inverse of the counts' own curvature; 0 where counts are fixed.
    pub d: f64,
    /// `$h$`.
    pub h: f64,
    /// `$a\,\varphi''$`.
    pub bend: f64,
    /// `$g - a(\pi + \kappa)$`, as far as the iterate is off.
    pub off: f64,
    /// How far the excess is off.
    pub excess_off: f64,
}

/// What is left of the deletions: `im`, `f` and `e` of every cell.
pub(super) struct DeletionPart {
    pub im: Vec<f64>,
    pub f: Vec<f64>,
    pub e: Vec<f64>,
    /// `$\sum_j E_j + \ell/\lambda$`.
    pub price: Vec<f64>,
    /// `$N - \sum_j F_j$`.
    pub left: Vec<f64>,
}

/// What is left of the cones.
pub(super) struct ConePart {
    pub scaling: Scaling,
    /// `$2 w_0 / (2 w_0^2 - 1)$`.
    pub twist: Vec<f64>,
    /// Head of `$W^{-2}$`.
    pub head: Vec<f64>,
}

/// The factored system at an iterate.
pub(super) struct Elimination<'a> {
    pub rows: &'a Rows<'a>,
    pub losses: Vec<LossPart>,
    pub deletions: Option<DeletionPart>,
    pub cones: Option<ConePart>,
    /// `$1/h$` plus what deletions and cones add.
    pub soft: Vec<f64>,
    /// Gradient in the weights.
    pub rw: Vec<f64>,
    pub rb: f64,
    pub rtheta: f64,
    matrix: Dense,
    unit: Vec<f64>,
    factor: Cholesky,
}

impl<'a> Elimination<'a> {
    /// `None` where arithmetic gives out.
    pub(super) fn new(rows: &'a Rows<'a>, at: &Iterate) -> Option<Self> {
        let losses = loss_parts(rows, at);
        let mut soft: Vec<f64> = losses.iter().map(|l| 1.0 / l.h).collect();
        let deletions = DeletionPart::new(rows, at, &mut soft);
        let cones = ConePart::new(rows, at, &mut soft);
        let matrix = matrix(rows, at, (&losses, &soft), deletions.as_ref(), cones.as_ref());
        let unit: Vec<f64> = (0..matrix.nrows()).map(|j| matrix[(j, j)].sqrt()).collect();
        let order = unit.len();
        let mut scaled = Dense::from_fn(order, order, |i, j| matrix[(i, j)] / (unit[i] * unit[j]));
        let factor = SHIFTS.iter().find_map(|shift| {
            scaled.add_diagonal(*shift);
            Cholesky::symmetric(&scaled)
        })?;
        let (rw, rb, rtheta) = residuals(rows, at);
        Some(Self { rows, losses, deletions, cones, soft, rw, rb, rtheta, matrix, unit, factor })
    }

    /// Solves the remaining system, with one step of refinement.
    pub(super) fn solve(&self, rhs: &[f64]) -> Vec<f64> {
        let once = |v: &[f64]| {
            let mut x: Vec<f64> = v.iter().zip(&self.unit).map(|(v, u)| v / u).collect();
            self.factor.solve_in_place(&mut x);
            x.iter_mut().zip(&self.unit).for_each(|(x, u)| *x /= u);
            x
        };
        let mut x = once(rhs);
        let residual: Vec<f64> =
            self.matrix.mul_vec(&x).iter().zip(rhs).map(|(a, r)| r - a).collect();
        vector::axpy(1.0, &once(&residual), &mut x);
        x
    }
}

fn loss_parts(rows: &Rows<'_>, at: &Iterate) -> Vec<LossPart> {
    let margins = at.margins(rows);
    let one = |i: usize| {
        let (a, m) = (at.a[i], margins[i]);
        let (slope, bend, off, loss) = if rows.hinge() {
            (1.0, 0.0, at.g[i] - a, 1.0 - m)
        } else {
            // The slope is a variable; the margin that belongs to it may differ from that of the row.
            let pi = (at.g[i] / a - rows.kappa[i]).clamp(TINY, LAST_BELOW_ONE);
            let (up, down) = ((1.0 - pi).ln(), pi.ln());
            let (slope, bend) = (pi + rows.kappa[i], a * pi * (1.0 - pi));
            let entropy = -(pi * down + (1.0 - pi) * up);
            (slope, bend, -bend * (up - down - m), entropy - slope * m)
        };
        let (d, excess_off) = at.excess.as_ref().map_or((0.0, 0.0), |e| {
            let d = 1.0 / (e.r[i] / a + e.xi[i] / (rows.caps[i] - a));
            (d, e.r[i] - (e.xi[i] + at.theta - loss))
        });
        let h = (d * slope * slope + bend).max(TINY);
        LossPart { slope, d, h, bend, off, excess_off }
    };
    (0..rows.len()).map(one).collect()
}

impl DeletionPart {
    fn new(rows: &Rows<'_>, at: &Iterate, soft: &mut [f64]) -> Option<Self> {
        let (x, cells) = (at.deleting.as_ref()?, rows.cells.as_ref()?);
        let n = rows.len();
        let [im, f, e] = [(); 3].map(|()| vec![0.0; cells.len()]);
        let mut part = Self { im, f, e, price: vec![0.0; n], left: vec![rows.budget(); n] };
        if rows.capless() {
            let cells = part.e.iter_mut().zip(&x.tau).zip(&x.slack);
            vector::vectorized!(cells.for_each(|((e, tau), slack)| *e = tau / slack));
        }
        vector::vectorized!({
            for (i, soft) in soft.iter_mut().enumerate() {
                let (g, of) = (at.g[i], cells.of(i));
                let tau = &x.tau[of.clone()];
                if !rows.capless() {
                    let (slack, zeta) = (&x.slack[of.clone()], &x.zeta[of.clone()]);
                    let (im, f, e) = (
                        &mut part.im[of.clone()],
                        &mut part.f[of.clone()],
                        &mut part.e[of.clone()],
                    );
                    for j in 0..tau.len() {
                        // tau/slack and (g - tau)/zeta, over one common denominator.
                        let (by_slack, by_zeta) = (tau[j] * zeta[j], (g - tau[j]) * slack[j]);
                        let whole = 1.0 / (by_slack + by_zeta);
                        im[j] = slack[j] * zeta[j] * whole;
                        f[j] = by_slack * whole;
                        e[j] = tau[j] * (g - tau[j]) * whole;
                    }
                    part.left[i] -= vector::sum(f);
                    *soft += vector::sum(im);
                }
                let unspent = rows.budget() * g - vector::sum(tau);
                part.price[i] = vector::sum(&part.e[of]) + unspent / x.lambda[i];
            }
        });
        Some(part)
    }
}

impl ConePart {
    fn new(rows: &Rows<'_>, at: &Iterate, soft: &mut [f64]) -> Option<Self> {
        let cones = at.cones.as_ref()?;
        let scaling = Scaling::new(&cones.k, &cones.z);
        let spread = |w0: &f64| 2.0 * w0 * w0 - 1.0;
        let twist = scaling.w0.iter().map(|w0| 2.0 * w0 / spread(w0)).collect();
        let head: Vec<f64> =
            scaling.w0.iter().zip(&scaling.eta).map(|(w0, eta)| spread(w0) / (eta * eta)).collect();
        if rows.shared_axes().is_none() {
            soft.iter_mut().zip(&head).for_each(|(s, h)| *s += 1.0 / h);
        }
        Some(Self { scaling, twist, head })
    }
}

/// Gradient in weights, intercept and threshold.
pub(super) fn residuals(rows: &Rows<'_>, at: &Iterate) -> (Vec<f64>, f64, f64) {
    let mut rw = rows.signed.tr_mul_vec(&at.g);
    rw.iter_mut().zip(&at.w).for_each(|(r, w)| *r = rows.ridge * w - *r);
    if let (Some(x), Some(cells)) = (&at.deleting, &rows.cells) {
        for ((j, away), tau) in cells.feature.iter().zip(&cells.away).zip(&x.tau) {
            rw[*j] += tau * away;
        }
    }
    if let Some(c) = &at.cones {
        c.z.add_images(|_| -1.0, &mut rw);
    }
    let rb = -vector::dot(&at.g, rows.problem.y);
    let rtheta = if rows.top() { rows.k - at.a.iter().sum::<f64>() - at.floor } else { 0.0 };
    (rw, rb, rtheta)
}

/// Rows with fewer cells than this part of the features are taken off cell by cell.
const FEW_CELLS: f64 = 0.25;

/// What deletions and cones add to the matrix, row by row.
struct RowSums {
    /// Diagonal that is added.
    own: Vec<f64>,
    /// Outer products that are taken off: of many entries, and of few.
    minus: GramSum,
    few: Dense,
    /// The present row as the system sees it.
    q: Vec<f64>,
    /// Scratch: how the price of deletions in the present row pushes the weights.
    u: Vec<f64>,
}

impl RowSums {
    fn new(rows: &Rows<'_>) -> Self {
        let p = rows.signed.ncols();
        let (q, u) = (vec![0.0; p], vec![0.0; p]);
        Self { own: vec![rows.ridge; p], minus: GramSum::new(p), few: Dense::zeros(p, p), q, u }
    }

    /// Eliminates the deletions of row `i`; returns what they add to its stiffness.
    fn add_deletions(&mut self, part: &DeletionPart, cells: &Cells, i: usize) -> f64 {
        let (price, left, of) = (part.price[i], part.left[i], cells.of(i));
        let (ratio, whole) = (left / price, price.recip());
        let (away, feature) = (&cells.away[of.clone()], &cells.feature[of.clone()]);
        let (f, e) = (&part.f[of.clone()], &part.e[of]);
        let few = (away.len() as f64) < FEW_CELLS * self.q.len() as f64;
        let root = whole.sqrt();
        for (k, &j) in feature.iter().enumerate() {
            let push = e[k] * away[k];
            self.own[j] += push * away[k];
            self.q[j] -= f[k] * away[k] + ratio * push;
            if few {
                let row = self.few.row_mut(j);
                for l in 0..away.len() {
                    row[feature[l]] += whole * push * (e[l] * away[l]);
                }
            } else {
                self.u[j] = root * push;
            }
        }
        if !few {
            self.minus.next_row().copy_from_slice(&self.u);
            for &j in feature {
                self.u[j] = 0.0;
            }
        }
        left * ratio
    }

    /// Eliminates the cone of row `i`, whose ellipsoid has the half-axes `axes`.
    fn add_cone(&mut self, part: &ConePart, axes: &[f64], i: usize) {
        let weight = part.scaling.eta[i].powi(-2);
        let e = image(part.scaling.w1.row(i));
        let root = weight * (2.0 / part.head[i]).sqrt();
        for (j, axis) in axes.iter().enumerate() {
            self.q[j] -= part.twist[i] * e[j];
            self.own[j] += weight * axis * axis;
        }
        self.minus.next_row().iter_mut().zip(e).for_each(|(out, e)| *out = root * e);
    }
}

/// The matrix of the remaining system.
fn matrix(
    rows: &Rows<'_>,
    at: &Iterate,
    (losses, soft): (&[LossPart], &[f64]),
    deletions: Option<&DeletionPart>,
    cones: Option<&ConePart>,
) -> Dense {
    let own_cones = cones.filter(|_| rows.shared_axes().is_none());
    let mut plus = GramSum::new(rows.order());
    let mut sums = RowSums::new(rows);
    for i in 0..rows.len() {
        sums.q.copy_from_slice(rows.signed.row(i));
        let mut stiff = soft[i];
        if let (Some(part), Some(cells)) = (deletions, &rows.cells) {
            stiff += sums.add_deletions(part, cells, i);
        }
        if let (Some(part), Some(axes)) = (own_cones, rows.problem.axes) {
            sums.add_cone(part, axes.of(i), i);
        }
        let root = stiff.sqrt().recip();
        let (row, rest) = plus.next_row().split_at_mut(sums.q.len());
        row.iter_mut().zip(&sums.q).for_each(|(out, q)| *out = root * q);
        let reach = rows.reach_at().map(|_| -root);
        let top = rows.top().then(|| root * losses[i].d * losses[i].slope / losses[i].h);
        let others = [Some(root * rows.problem.y[i]), reach, top];
        rest.iter_mut().zip(others.into_iter().flatten()).for_each(|(out, v)| *out = v);
    }
    let RowSums { own, minus, few, .. } = sums;
    let (mut sum, minus) = (plus.finish(), minus.finish());
    subtract_eliminated(&mut sum, &minus, &few, &own);
    if let Some(part) = cones {
        add_shared_cone(rows, part, &mut sum);
    }
    border(rows, at, losses, &mut sum);
    sum
}

/// What the eliminated variables of single rows take off the block of the weights, and their own diagonal.
fn subtract_eliminated(sum: &mut Dense, minus: &Dense, few: &Dense, own: &[f64]) {
    for (i, own) in own.iter().enumerate() {
        for j in 0..minus.ncols() {
            sum[(i, j)] -= minus[(i, j)] + few[(i, j)];
        }
        sum[(i, i)] += own;
    }
}

/// Curvature of the one cone of shared half-axes, in weights and reach.
fn add_shared_cone(rows: &Rows<'_>, part: &ConePart, sum: &mut Dense) {
    let (Some(axes), Some(r)) = (rows.shared_axes(), rows.reach_at()) else { return };
    let weight = part.scaling.eta[0].powi(-2);
    let (w0, e) = (part.scaling.w0[0], image(part.scaling.w1.row(0)));
    for (i, axis) in axes.iter().enumerate() {
        for j in 0..axes.len() {
            sum[(i, j)] += 2.0 * weight * e[i] * e[j];
        }
        sum[(i, i)] += weight * axis * axis;
        let mixed = 2.0 * weight * w0 * e[i];
        sum[(i, r)] -= mixed;
        sum[(r, i)] -= mixed;
    }
    sum[(r, r)] += part.head[0];
}

/// Rows of intercept and threshold.
fn border(rows: &Rows<'_>, at: &Iterate, losses: &[LossPart], sum: &mut Dense) {
    let p = rows.signed.ncols();
    if !rows.problem.intercept {
        for j in 0..sum.nrows() {
            sum[(p, j)] = 0.0;
            sum[(j, p)] = 0.0;
        }
        sum[(p, p)] = 1.0;
    }
    if let Some(t) = rows.theta_at() {
        sum[(t, t)] += losses.iter().map(|l| l.d * l.bend / l.h).sum::<f64>();
        if rows.hinge() {
            sum[(t, t)] += at.floor / at.theta;
        }
    }
}
