//! Iterates of the interior point and one step from each to the next.

use super::schur::{Multipliers, Own, Parts, Schur};
use super::sym2::Sym2;
use super::theta;
use crate::conic::problem::{Dual, Form, Rows};
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, SymmetricEigen, vector};
use crate::optim::step;

/// Part of the way to the boundary that the predictor goes.
const PREDICTOR_DAMPING: f64 = 0.99;
/// Part of the way that the corrector goes: at least the first, and the second more after a predictor
/// that went all the way.
const CORRECTOR_DAMPING: [f64; 2] = [0.9, 0.09];
/// The centring stays between these.
const CENTRING: [f64; 2] = [1e-6, 0.8];
/// Steps shorter than this part of the way end the iteration.
const SHORTEST_STEP: f64 = 1e-6;

/// The first `$v$`, above every `$a = 1$`.
const START_V: f64 = 1.5;
/// The first `$g$` as a part of what (13) allows, and the first `$h$` as a part of what that `$g$` allows.
const START_G: f64 = 0.5;
const START_H: f64 = 0.5;
/// The first indicators as a part of the budget.
const START_SHARE: f64 = 0.999;
/// The first `$V$` meets the budget this many times over, unless that takes more than the second value.
const START_REACH: f64 = 3.0;
const LARGEST_START: f64 = 1e8;
/// Squared lengths of rows, and budgets, count as at least these at the start.
const LEAST_LENGTH: f64 = 1e-12;
const LEAST_BUDGET: f64 = 1e-9;
/// Multiples of the identity that a start in the priced form chooses from, as quarters of powers of ten.
const START_SCALES: std::ops::Range<i32> = -16..24;

/// A strictly interior primal-dual pair.
pub(super) struct Iterate {
    /// `$Z$`, order p + 1.
    z: Dense,
    /// Per row `$(z, -v; -v, q)$`.
    zb: Vec<Sym2>,
    /// Slack `$2(v - a)$`, the partner of h.
    slack: Vec<f64>,
    sigma: f64,
    h: Vec<f64>,
    g: Vec<f64>,
    price: f64,
    by_rows: bool,
}

/// Increments of everything.
struct Direction {
    y: Multipliers,
    s: Dense,
    sb: Vec<Sym2>,
    z: Dense,
    zb: Vec<Sym2>,
    slack: Vec<f64>,
}

/// The conditions at an iterate, linearised.
struct Linearised {
    s: Dense,
    s_factor: Cholesky,
    s_inverse: Dense,
    z_factor: Cholesky,
    sb: Vec<Sym2>,
    sb_inverse: Vec<Sym2>,
    mu: f64,
}

/// Right-hand side of one solve: target `$\mu$` and the predictor's second-order terms, if any.
struct Aim<'a> {
    mu: f64,
    predictor: Option<&'a Direction>,
}

impl Iterate {
    /// `$Z = \mathrm{diag}(1, \alpha I)$` with `$v = 1.5$`, and `$g$` at half of what (13) allows, `$h = \sqrt{\lambda c g}/2$`.
    pub(super) fn start(rows: &Rows<'_>, form: Form, xt: &Dense) -> Result<Self> {
        let (n, p) = (rows.x.nrows(), rows.x.ncols());
        let gram = if p <= n { rows.x.weighted_gram(&vec![1.0; n]) } else { rows.x.outer_gram() };
        let top = SymmetricEigen::values(&gram)?.last().copied().unwrap_or(0.0);
        if top.is_nan() || top <= 0.0 {
            return Err(Error::Numerical("interior point: all features are zero".into()));
        }
        let norms: Vec<f64> = (0..n).map(|i| vector::norm_sq(rows.x.row(i))).collect();
        let StartScales { alpha, price, share } = start_scales(rows, form, &norms, top);
        let g = vec![START_G / top; n];
        let h: Vec<f64> =
            rows.c.iter().zip(&g).map(|(c, g)| START_H * (price * c * g).sqrt()).collect();
        let bound = theta(rows, &h, &g);
        let mut z = Dense::identity(p + 1);
        for j in 1..=p {
            z[(j, j)] = alpha;
        }
        let v = START_V;
        let zb = norms
            .iter()
            .map(|norm| {
                let q = 1.0 + alpha * norm;
                Sym2::new((START_V * v * v / q).max(share), -v, q)
            })
            .collect();
        Ok(Self {
            z,
            zb,
            slack: vec![2.0 * (v - 1.0); n],
            sigma: bound - bound.abs().max(1.0),
            h,
            g,
            price,
            by_rows: 2 * n <= xt.ncols() * (xt.ncols() + 1) / 2,
        })
    }

    /// `$(w, V)$` of this iterate.
    pub(super) fn primal(&self) -> (Vec<f64>, Dense) {
        let p = self.z.nrows() - 1;
        let corner = self.z[(0, 0)];
        let w: Vec<f64> = self.z.row(0)[1..].iter().map(|v| v / corner).collect();
        let v = Dense::from_fn(p, p, |i, j| self.z[(i + 1, j + 1)] / corner - w[i] * w[j]);
        (w, v)
    }

    pub(super) fn dual(&self) -> Dual {
        Dual { h: self.h.clone(), g: self.g.clone(), price: self.price }
    }

    /// One predictor-corrector step; false when steps have become negligible.
    pub(super) fn advance(&mut self, rows: &Rows<'_>, form: Form, xt: &Dense) -> Result<bool> {
        let at = self.linearise(rows, xt)?;
        let own: Vec<Own> = (0..rows.c.len())
            .map(|i| Own::new(self.zb[i], at.sb_inverse[i], self.slack[i] / self.h[i], rows.c[i]))
            .collect();
        let schur = Schur::new(
            &Parts {
                xt,
                z: &self.z,
                s: &at.s,
                inverse: &at.s_inverse,
                z_factor: &at.z_factor,
                own: &own,
                budget: matches!(form, Form::Budget(_)),
            },
            self.by_rows,
        )?;
        let solve = |aim: &Aim<'_>| self.direction(rows, form, xt, &at, &schur, aim);
        let affine = solve(&Aim { mu: 0.0, predictor: None });
        let (primal, dual) = self.steps(&at, &affine)?;
        let (primal, dual) =
            ((PREDICTOR_DAMPING * primal).min(1.0), (PREDICTOR_DAMPING * dual).min(1.0));
        let ahead = self.mu_after(&at, &affine, primal, dual);
        let least = primal.min(dual);
        let power = (3.0 * least * least).max(1.0);
        let centring = (ahead / at.mu).max(0.0).powf(power).clamp(CENTRING[0], CENTRING[1]);
        let aim = Aim { mu: centring * at.mu, predictor: Some(&affine) };
        let step = solve(&aim);
        let keep = CORRECTOR_DAMPING[0] + CORRECTOR_DAMPING[1] * least;
        let (primal, dual) = self.steps(&at, &step)?;
        let (primal, dual) = ((keep * primal).min(1.0), (keep * dual).min(1.0));
        if primal.is_nan() || dual.is_nan() || primal.max(dual) < SHORTEST_STEP {
            return Ok(false);
        }
        self.go(&step, primal, dual);
        Ok(true)
    }

    fn go(&mut self, step: &Direction, primal: f64, dual: f64) {
        self.sigma += dual * step.y.sigma;
        self.price += dual * step.y.price;
        vector::axpy(dual, &step.y.h, &mut self.h);
        vector::axpy(dual, &step.y.g, &mut self.g);
        vector::axpy(primal, step.z.data(), self.z.data_mut());
        vector::axpy(primal, &step.slack, &mut self.slack);
        for (z, d) in self.zb.iter_mut().zip(&step.zb) {
            *z = z.plus(primal, *d);
        }
    }

    /// `$\mathrm{diag}(0, I)$` (if `base`) `$- \sigma e_0e_0^\top - \sum g \tilde x\tilde x^\top + \sum h (e_0\tilde x^\top + \tilde xe_0^\top)$`.
    fn dual_matrix(xt: &Dense, y: &Multipliers, base: bool) -> Dense {
        let mut s = xt.weighted_gram(&y.g);
        vector::scale(s.data_mut(), -1.0);
        let border = xt.tr_mul_vec(&y.h);
        for (j, v) in border.iter().enumerate() {
            s[(0, j)] += v;
            s[(j, 0)] += v;
        }
        if base {
            s.add_diagonal(1.0);
            s[(0, 0)] -= 1.0;
        }
        s[(0, 0)] -= y.sigma;
        s
    }

    fn linearise(&self, rows: &Rows<'_>, xt: &Dense) -> Result<Linearised> {
        let lost = || Error::Numerical("interior point: left the interior".into());
        let y = Multipliers {
            sigma: self.sigma,
            h: self.h.clone(),
            g: self.g.clone(),
            price: self.price,
        };
        let s = Self::dual_matrix(xt, &y, true);
        let s_factor = Cholesky::new(&s).ok_or_else(lost)?;
        let z_factor = Cholesky::new(&self.z).ok_or_else(lost)?;
        let s_inverse = s_factor.solve_matrix(&Dense::identity(s.nrows()));
        let sb: Vec<Sym2> = (0..rows.c.len())
            .map(|i| Sym2::new(rows.c[i] * self.price, self.h[i], self.g[i]))
            .collect();
        let sb_inverse = sb.iter().map(|b| b.inverse()).collect();
        let mut at = Linearised { s, s_factor, s_inverse, z_factor, sb, sb_inverse, mu: 0.0 };
        at.mu = self.complementarity(&at.s, &at.sb, &self.h, self);
        Ok(at)
    }

    /// Mean of the complementarity products of this dual side with `primal`'s primal side.
    fn complementarity(&self, s: &Dense, sb: &[Sym2], h: &[f64], primal: &Self) -> f64 {
        let cones: f64 = sb.iter().zip(&primal.zb).map(|(s, z)| s.trace_product(*z)).sum();
        let order = s.nrows() + 3 * self.h.len();
        (vector::dot(s.data(), primal.z.data()) + cones + vector::dot(h, &primal.slack))
            / order as f64
    }

    fn mu_after(&self, at: &Linearised, d: &Direction, primal: f64, dual: f64) -> f64 {
        let mut s = at.s.clone();
        vector::axpy(dual, d.s.data(), s.data_mut());
        let mut z = self.z.clone();
        vector::axpy(primal, d.z.data(), z.data_mut());
        let mut sum = vector::dot(s.data(), z.data());
        for i in 0..self.h.len() {
            let sb = at.sb[i].plus(dual, d.sb[i]);
            sum += sb.trace_product(self.zb[i].plus(primal, d.zb[i]));
            sum += (self.h[i] + dual * d.y.h[i]) * (self.slack[i] + primal * d.slack[i]);
        }
        sum / (s.nrows() + 3 * self.h.len()) as f64
    }

    /// Targets of `$Z$`, of the rows' blocks and of the slacks: mu times the inverse, less the predictor's
    /// products.
    fn targets(&self, at: &Linearised, aim: &Aim<'_>) -> (Dense, Vec<Sym2>, Vec<f64>) {
        let mut t = at.s_inverse.clone();
        vector::scale(t.data_mut(), aim.mu);
        let mut tb: Vec<Sym2> =
            at.sb_inverse.iter().map(|b| Sym2::default().plus(aim.mu, *b)).collect();
        let mut tl: Vec<f64> = self.h.iter().map(|h| aim.mu / h).collect();
        if let Some(d) = aim.predictor {
            add_symmetric(&mut t, -1.0, &d.z.mul(&d.s).mul(&at.s_inverse));
            for i in 0..self.h.len() {
                tb[i] = tb[i].plus(-1.0, d.zb[i].triple(d.sb[i], at.sb_inverse[i]));
                tl[i] -= d.slack[i] * d.y.h[i] / self.h[i];
            }
        }
        (t, tb, tl)
    }

    /// Newton's direction towards the targets of `aim`.
    fn direction(
        &self,
        rows: &Rows<'_>,
        form: Form,
        xt: &Dense,
        at: &Linearised,
        schur: &Schur,
        aim: &Aim<'_>,
    ) -> Direction {
        let n = rows.c.len();
        let (t, tb, tl) = self.targets(at, aim);
        let image = xt.mul(&t);
        let mut rhs = Multipliers {
            sigma: 1.0 - t[(0, 0)],
            h: (0..n).map(|i| 2.0 * image[(i, 0)] + 2.0 * tb[i].b + tl[i]).collect(),
            g: (0..n).map(|i| tb[i].c - vector::dot(image.row(i), xt.row(i))).collect(),
            price: 0.0,
        };
        if let Form::Budget(target) = form {
            rhs.price = rows.c.iter().zip(&tb).map(|(c, t)| c * t.a).sum::<f64>() - target;
        }
        let y = schur.solve(&rhs);
        let s = Self::dual_matrix(xt, &y, false);
        let mut z = t;
        vector::axpy(-1.0, self.z.data(), z.data_mut());
        add_symmetric(&mut z, -1.0, &self.z.mul(&s).mul(&at.s_inverse));
        let sb: Vec<Sym2> =
            (0..n).map(|i| Sym2::new(rows.c[i] * y.price, y.h[i], y.g[i])).collect();
        let zb = (0..n)
            .map(|i| {
                tb[i].plus(-1.0, self.zb[i]).plus(-1.0, self.zb[i].triple(sb[i], at.sb_inverse[i]))
            })
            .collect();
        let slack =
            (0..n).map(|i| tl[i] - self.slack[i] - self.slack[i] * y.h[i] / self.h[i]).collect();
        Direction { y, s, sb, z, zb, slack }
    }

    /// Largest steps (primal, dual) that stay in the cones.
    fn steps(&self, at: &Linearised, d: &Direction) -> Result<(f64, f64)> {
        let (mut primal, mut dual) = (psd_step(&at.z_factor, &d.z)?, psd_step(&at.s_factor, &d.s)?);
        for i in 0..self.h.len() {
            primal = primal.min(self.zb[i].step(d.zb[i]));
            dual = dual.min(at.sb[i].step(d.sb[i]));
        }
        primal = step::longest(&self.slack, &d.slack, primal);
        dual = step::longest(&self.h, &d.y.h, dual);
        Ok((primal, dual))
    }
}

/// How large the first iterate is.
struct StartScales {
    /// `$V = \alpha I$`.
    alpha: f64,
    price: f64,
    /// The smallest indicator: just within the budget, so that the price has a partner.
    share: f64,
}

/// In the budget form a `$V$` that meets a third of the budget everywhere and a price of its size; in the
/// priced form the best multiple of the identity.
fn start_scales(rows: &Rows<'_>, form: Form, norms: &[f64], top: f64) -> StartScales {
    let p = rows.x.ncols() as f64;
    match form {
        Form::Budget(target) => {
            let share = target / rows.c.iter().sum::<f64>();
            let reach = norms
                .iter()
                .fold(1.0, |m, v| f64::max(m, (START_REACH / share - 1.0) / v.max(LEAST_LENGTH)));
            let alpha = reach.min(LARGEST_START);
            let price = top.max(1.0 / top).max(alpha * p / target.max(LEAST_BUDGET));
            StartScales { alpha, price, share: share * START_SHARE }
        }
        Form::Price(price) => {
            let value = |alpha: f64| {
                let paid = rows.c.iter().zip(norms).map(|(c, v)| price * c / (1.0 + alpha * v));
                alpha * p + paid.sum::<f64>()
            };
            let grid = START_SCALES.map(|k| 10f64.powf(f64::from(k) / 4.0));
            let alpha = grid.fold(1.0, |b, a| if value(a) < value(b) { a } else { b });
            StartScales { alpha, price, share: 0.0 }
        }
    }
}

/// `target += scale * (m + m') / 2`.
fn add_symmetric(target: &mut Dense, scale: f64, m: &Dense) {
    for i in 0..m.nrows() {
        for j in 0..m.ncols() {
            target[(i, j)] += 0.5 * scale * (m[(i, j)] + m[(j, i)]);
        }
    }
}

fn psd_step(factor: &Cholesky, d: &Dense) -> Result<f64> {
    let least = SymmetricEigen::values(&factor.whiten(d))?.first().copied().unwrap_or(0.0);
    Ok(if least < 0.0 { -1.0 / least } else { f64::INFINITY })
}
