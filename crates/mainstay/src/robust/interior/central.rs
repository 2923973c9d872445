//! Points on the central path for given weights: everything that belongs to single rows is solved for exactly.
//!
//! Where the budget is at most 1 and all rows count, a row's price `$\lambda$` is the root of one increasing function, and pull,
//! excess and multipliers follow in closed form.

use super::cells::Cells;
use super::iterate::{Cones, Deleting, Excess, Iterate};
use super::rows::Rows;
use crate::linalg::vector;
use crate::optim::cone::Points;

/// Newton steps for the price of one row, at most: bisection has halved any interval to rounding by then.
const MOST_STEPS: usize = 80;
/// Relative change of a price below which it is found: the next Newton step would change its square.
const FOUND: f64 = 1e-6;
/// Times that the reach of shared errors and the pulls are made to fit each other.
const ROUNDS: usize = 3;
/// Relative change of the reach below which the pulls are left as they are.
const FITS: f64 = 1e-3;
/// By how much a price grows while nothing bounds it from above.
const GROWTH: f64 = 4.0;
/// Part of the budget that stays unspent where rounding would leave less.
const LEAST_UNSPENT: f64 = 1e-12;

/// One row of the central path.
struct Row {
    lambda: f64,
    g: f64,
    xi: f64,
    r: f64,
}

/// The loss of one row as the central path at `mu` softens it.
struct Softened {
    hinge: bool,
    cap: f64,
    kappa: f64,
    mu: f64,
}

impl Softened {
    /// Pull and its derivative at a margin.
    #[inline]
    fn pull(&self, m: f64) -> (f64, f64) {
        if self.hinge {
            let (_, r, q) = self.excess(m);
            let g = self.mu / r;
            (g, g / r * -0.5 * (1.0 - (1.0 - m) / q))
        } else {
            let e = (-m.abs()).exp();
            let (small, large) = (e / (1.0 + e), 1.0 / (1.0 + e));
            let pi = if m > 0.0 { small } else { large };
            (self.cap * (pi + self.kappa), -self.cap * small * large)
        }
    }

    /// Excess `$\xi$`, its slack `$r$` and the root they share, for the hinge loss: `$\xi - r = 1 - m$`,
    /// `$\mu/\xi + \mu/r$` is the cap.
    #[inline]
    fn excess(&self, m: f64) -> (f64, f64, f64) {
        let (l, c) = (1.0 - m, self.mu / self.cap);
        let q = (l * l + 4.0 * c * c).sqrt();
        let near = c + 2.0 * c * c / (q + l.abs());
        let far = 0.5 * (l.abs() + 2.0 * c + q);
        if l > 0.0 { (far, near, q) } else { (near, far, q) }
    }
}

/// The row whose deletions take `gains` from its margin `m0`, per unit of deletion, with a budget of at most 1.
fn row(loss: &Softened, gains: &[f64], budget: f64, m0: f64) -> Row {
    let top = gains.iter().fold(0.0, |top: f64, v| top.max(*v));
    let mu = loss.mu;
    // The inverse of what price and cells ask for is nearly linear in the distance of the price from the dearest cell.
    let (mut low, mut high) = (0.0, f64::INFINITY);
    // The pull with the dearest cell deleted, whose own share of the budget is most of it.
    let mut t = mu / (budget * loss.pull(m0 - budget * top).0);
    if !t.is_finite() {
        t = mu / budget;
    }
    for _ in 0..MOST_STEPS {
        let lambda = top + t;
        let (mut asked, mut fall) = (1.0 / lambda, 1.0 / (lambda * lambda));
        for v in gains {
            let inverse = 1.0 / (lambda - v);
            asked += inverse;
            fall += inverse * inverse;
        }
        let (g, slope) = loss.pull(m0 - budget * lambda);
        let off = 1.0 / (mu * asked) - 1.0 / (budget * g);
        if off < 0.0 {
            low = t;
        } else {
            high = t;
        }
        let grows = fall / (mu * asked * asked) - slope / (g * g);
        let mut next = t - off / grows;
        if !(next > low && next < high) {
            next = if high.is_finite() { 0.5 * (low + high) } else { GROWTH * t };
        }
        let done = (next - t).abs() <= FOUND * t;
        t = next;
        if done {
            break;
        }
    }
    let lambda = top + t;
    let m = m0 - budget * lambda;
    let (xi, r, _) = if loss.hinge { loss.excess(m) } else { (0.0, 0.0, 0.0) };
    Row { lambda, g: loss.pull(m).0, xi, r }
}

/// Puts row `i` of the iterate on the central path at `mu`, where its margin without deletions is `m0`.
pub(super) fn settle_row(rows: &Rows<'_>, at: &mut Iterate, i: usize, m0: f64, mu: f64) {
    let (Some(cells), Some(x)) = (&rows.cells, &mut at.deleting) else { return };
    let loss = Softened { hinge: rows.hinge(), cap: rows.caps[i], kappa: rows.kappa[i], mu };
    let of = cells.of(i);
    // The slacks are first the gains, then what the price leaves above them.
    let slack = &mut x.slack[of.clone()];
    for (s, k) in slack.iter_mut().zip(of.clone()) {
        *s = cells.away[k] * at.w[cells.feature[k]];
    }
    let found = row(&loss, slack, rows.budget(), m0);
    let whole = rows.budget() * found.g;
    let room = (whole - mu / found.lambda).max(LEAST_UNSPENT * whole);
    let tau = &mut x.tau[of];
    let mut spent = 0.0;
    for (tau, slack) in tau.iter_mut().zip(slack) {
        *slack = found.lambda - *slack;
        *tau = mu / *slack;
        spent += *tau;
    }
    if spent > 0.0 {
        vector::scale(tau, room / spent);
    }
    x.lambda[i] = found.lambda;
    at.g[i] = found.g;
    if let Some(excess) = &mut at.excess {
        at.a[i] = found.g;
        (excess.xi[i], excess.r[i]) = (found.xi, found.r);
    }
}

/// The point of the central path at `mu` that belongs to weights and intercept; `pulls` is about what the pulls add up to.
pub(super) fn point(rows: &Rows<'_>, (w, b): (&[f64], f64), mu: f64, pulls: f64) -> Iterate {
    let (n, count) = (rows.len(), rows.cells.as_ref().map_or(0, Cells::len));
    let mut at = Iterate {
        w: w.to_vec(),
        b,
        g: vec![0.0; n],
        a: if rows.counted() { vec![0.0; n] } else { rows.caps.clone() },
        excess: rows.counted().then(|| Excess { xi: vec![0.0; n], r: vec![0.0; n] }),
        theta: 0.0,
        floor: 0.0,
        deleting: Some(Deleting {
            lambda: vec![0.0; n],
            zeta: vec![0.0; count],
            slack: vec![0.0; count],
            tau: vec![0.0; count],
        }),
        cones: None,
    };
    let plain = rows.signed.mul_vec(w);
    let image: Option<Vec<f64>> =
        rows.shared_axes().map(|axes| axes.iter().zip(w).map(|(a, w)| a * w).collect());
    let length = image.as_ref().map_or(0.0, |v| vector::norm(v));
    // The root of G = mu rho / (rho^2 - length^2).
    let reach = |pulls: f64| 0.5 * (mu + mu.hypot(2.0 * pulls * length)) / pulls;
    let mut rho = image.as_ref().map_or(0.0, |_| reach(pulls));
    for _ in 0..ROUNDS {
        for (i, plain) in plain.iter().enumerate() {
            let m0 = plain + rows.problem.y[i] * b - rho;
            settle_row(rows, &mut at, i, m0, mu);
        }
        let before = rho;
        if image.is_some() {
            rho = reach(vector::sum(&at.g));
        }
        if (rho - before).abs() <= FITS * rho {
            break;
        }
    }
    at.cones = rows.shared_axes().zip(image).map(|(axes, v)| cone(rows, &at.g, (axes, &v), rho));
    at
}

/// The shared cone and its multiplier on the central path.
fn cone(rows: &Rows<'_>, g: &[f64], (axes, v): (&[f64], &[f64]), rho: f64) -> Cones {
    let p = v.len();
    let (mut k, mut z) = (Points::new(vec![rho], p), Points::new(rows.heads(g), p));
    // Products over rho^2 - length^2, which is the sum of the pulls over rho.
    let scale = z.head[0] / rho;
    for j in 0..p {
        for (point, value) in [(&mut k, v[j]), (&mut z, -scale * v[j])] {
            let row = point.tail.row_mut(0);
            row[j] = value;
            row[p + j] = axes[j] * value;
        }
    }
    Cones { k, z }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;
    use crate::robust::interior::cells::dearest;
    use crate::robust::worst_problem::{HalfAxes, Losable, WorstCase, WorstLoss};

    /// All products are the one asked for, and the pulls are the slopes of the losses at the margins.
    #[test]
    fn points_lie_on_the_central_path() {
        let x = Dense::from_fn(12, 5, |i, j| ((i * 5 + j * 7) % 11) as f64 / 3.0 - 1.6);
        let y: Vec<f64> = (0..12).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        let losable = Losable { columns: vec![0, 1, 2, 4], budget: 0.7, centre: vec![0.1; 4] };
        let axes = HalfAxes::Shared(vec![0.2, 0.0, 0.1, 0.3, 0.1]);
        for loss in [WorstLoss::Logistic, WorstLoss::Hinge] {
            let problem = WorstCase {
                x: &x,
                y: &y,
                shares: &[1.0 / 12.0; 12],
                worst_share: 1.0,
                alpha: 0.1,
                loss,
                kappas: (0.0, 0.0),
                axes: Some(&axes),
                losable: Some(&losable),
                intercept: true,
            };
            let mut rows = Rows::new(&problem);
            let w = [0.9, -0.4, 1.3, 0.2, -2.0];
            rows.cells = Some(dearest(&rows, &w, 3));
            for mu in [0.1, 1e-3, 1e-6] {
                let at = point(&rows, (&w, 0.3), mu, 6.0);
                let mean = at.complementarity(&rows).mean();
                assert!((mean / mu - 1.0).abs() < 1e-6, "{loss:?} {mu}: {mean}");
                for (g, m) in at.g.iter().zip(at.margins(&rows)) {
                    // The softened hinge has mu/r + mu/xi = 1 with xi - r = 1 - m.
                    let slope = match loss {
                        WorstLoss::Logistic => 1.0 / (1.0 + m.exp()),
                        WorstLoss::Hinge => {
                            2.0 * mu / (2.0 * mu - 1.0 + m + (1.0 - m).hypot(2.0 * mu))
                        }
                    };
                    assert!((g - slope).abs() < 0.02, "{loss:?} {mu}: {g} {slope}");
                }
            }
        }
    }
}
