//! The system with every row's own block eliminated: for many rows.

use super::super::sym2::Sym2;
use super::{Multipliers, Own, Parts, singular};
use crate::error::Result;
use crate::linalg::{Cholesky, Dense, SymmetricEigen, vector};

/// The same system with every row's own 2 x 2 block eliminated.
///
/// With `$Z = LL^\top$` and `$S^{-1} = L\,\mathrm{diag}(\mu) L^\top$` the coupling is `$B^\top B$`, whose columns are the upper
/// triangles of `$L^\top A_j L$` weighted by `$\sqrt{(\mu_a + \mu_b)/2}$`. Rows are handled in blocks: memory does not
/// grow with n beyond the rows themselves.
pub(in crate::conic::interior) struct ReducedSystem {
    /// Rows of `xt` times L.
    xh: Dense,
    /// First row of L.
    e0: Vec<f64>,
    /// Weight of entry (a, b), a <= b, row by row.
    weights: Vec<f64>,
    blocks: Vec<Sym2>,
    inverses: Vec<Sym2>,
    own: Vec<Own>,
    factor: Cholesky,
    sigma: Vec<f64>,
    sigma_solved: Vec<f64>,
    price: Option<PriceBorder>,
}

struct PriceBorder {
    /// Own block inverse times the row's coupling to the price, (h, g).
    h: Vec<f64>,
    g: Vec<f64>,
    image: Vec<f64>,
    image_solved: Vec<f64>,
    /// The (price, price) entry and what elimination takes from it.
    full: f64,
    taken: f64,
}

/// Rows whose coupling is formed at once.
const BLOCK: usize = 128;

impl ReducedSystem {
    pub(super) fn new(parts: &Parts<'_>) -> Result<Self> {
        let lower = parts.z_factor.lower();
        let eigen = SymmetricEigen::new(&lower.tr_mul(&parts.s.mul(&lower)))?;
        let l = lower.mul(&eigen.vectors);
        let mu: Vec<f64> = eigen.values.iter().map(|v| 1.0 / v).collect();
        if mu.iter().any(|v| !(v.is_finite() && *v > 0.0)) {
            return Err(singular());
        }
        let blocks: Vec<Sym2> = parts.own.iter().map(|o| Sym2::new(o.hh, o.hg, o.gg)).collect();
        let inverses: Vec<Sym2> = blocks.iter().map(|d| d.inverse()).collect();
        let e0 = l.row(0).to_vec();
        let mut system = Self {
            xh: parts.xt.mul(&l),
            sigma: Vec::new(),
            sigma_solved: Vec::new(),
            e0,
            weights: triangle_weights(&mu),
            blocks,
            inverses,
            own: parts.own.to_vec(),
            factor: Cholesky::new(&Dense::identity(1)).ok_or_else(singular)?,
            price: None,
        };
        system.factor = system.normal_factor()?;
        let e0 = system.e0.clone();
        system.sigma = system.triangle(|a, b| e0[a] * e0[b]);
        system.sigma_solved = system.factor.solve(&system.sigma);
        if parts.budget {
            system.price = Some(system.price_border());
        }
        Ok(system)
    }

    /// Factor of the normal matrix, from the coupling block by block.
    fn normal_factor(&self) -> Result<Cholesky> {
        let n = self.xh.nrows();
        let mut normal = Dense::identity(self.weights.len());
        for first in (0..n).step_by(BLOCK) {
            let block = self.coupling(first..n.min(first + BLOCK));
            let gram = block.weighted_gram(&vec![1.0; block.nrows()]);
            vector::axpy(1.0, gram.data(), normal.data_mut());
        }
        Cholesky::new(&normal).ok_or_else(singular)
    }

    fn price_border(&self) -> PriceBorder {
        let n = self.own.len();
        let (mut h, mut g, mut taken) = (vec![0.0; n], vec![0.0; n], 0.0);
        for (i, (own, d)) in self.own.iter().zip(&self.inverses).enumerate() {
            h[i] = d.a * own.hp + d.b * own.gp;
            g[i] = d.b * own.hp + d.c * own.gp;
            taken += own.hp * h[i] + own.gp * g[i];
        }
        let image = self.forward(&h, &g);
        let image_solved = self.factor.solve(&image);
        let full = self.own.iter().map(|o| o.pp).sum();
        PriceBorder { h, g, image, image_solved, full, taken }
    }

    /// Weighted upper triangle of the matrix with the given entries.
    fn triangle(&self, entry: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let order = self.e0.len();
        let mut out = Vec::with_capacity(self.weights.len());
        for a in 0..order {
            for b in a..order {
                out.push(self.weights[out.len()] * entry(a, b));
            }
        }
        out
    }

    /// Two rows per sample: the columns of B times a square root of the own block's inverse.
    fn coupling(&self, rows: std::ops::Range<usize>) -> Dense {
        let order = self.e0.len();
        let mut data = Vec::with_capacity(2 * rows.len() * self.weights.len());
        for i in rows {
            let (x, d) = (self.xh.row(i), self.inverses[i]);
            let l11 = d.a.sqrt();
            let l21 = d.b / l11;
            let l22 = (d.c - l21 * l21).max(0.0).sqrt();
            let mut next = 0;
            for a in 0..order {
                for b in a..order {
                    let w = self.weights[next];
                    let of_h = -(self.e0[a] * x[b] + x[a] * self.e0[b]);
                    data.push(w * (l11 * of_h + l21 * x[a] * x[b]));
                    next += 1;
                }
            }
            next = 0;
            for a in 0..order {
                for b in a..order {
                    data.push(self.weights[next] * l22 * x[a] * x[b]);
                    next += 1;
                }
            }
        }
        let nrows = data.len() / self.weights.len();
        Dense::from_rows(nrows, self.weights.len(), data)
    }

    /// `$B (h, g)$`.
    fn forward(&self, h: &[f64], g: &[f64]) -> Vec<f64> {
        let square = self.xh.weighted_gram(g);
        let v = self.xh.tr_mul_vec(h);
        let e0 = &self.e0;
        self.triangle(|a, b| square[(a, b)] - e0[a] * v[b] - v[a] * e0[b])
    }

    /// `$B^\top x$`, its h and g parts.
    fn backward(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let order = self.e0.len();
        let mut full = Dense::zeros(order, order);
        let mut next = 0;
        for a in 0..order {
            for b in a..order {
                let v = self.weights[next] * x[next];
                next += 1;
                if a == b {
                    full[(a, a)] = v;
                } else {
                    full[(a, b)] = 0.5 * v;
                    full[(b, a)] = 0.5 * v;
                }
            }
        }
        let of_h = self.xh.mul_vec(&full.mul_vec(&self.e0)).iter().map(|v| -2.0 * v).collect();
        let image = self.xh.mul(&full);
        let of_g = (0..image.nrows()).map(|i| vector::dot(image.row(i), self.xh.row(i))).collect();
        (of_h, of_g)
    }

    /// Own-block inverse applied to (h, g).
    fn divide(&self, h: &[f64], g: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let pairs = || self.inverses.iter().zip(h.iter().zip(g));
        (
            pairs().map(|(d, (h, g))| d.a * h + d.b * g).collect(),
            pairs().map(|(d, (h, g))| d.b * h + d.c * g).collect(),
        )
    }

    pub(super) fn solve_once(&self, rhs: &Multipliers) -> Multipliers {
        let (dh, dg) = self.divide(&rhs.h, &rhs.g);
        let mut x = self.factor.solve(&self.forward(&dh, &dg));
        let free = rhs.sigma - vector::dot(&self.sigma, &x);
        let ss = vector::dot(&self.sigma, &self.sigma_solved);
        let (sigma, price) = match &self.price {
            None => (free / ss, 0.0),
            Some(border) => {
                let sp = -vector::dot(&self.sigma, &border.image_solved);
                let pp =
                    border.full - border.taken + vector::dot(&border.image, &border.image_solved);
                let own = vector::dot(&border.h, &rhs.h) + vector::dot(&border.g, &rhs.g);
                let rest = rhs.price - own + vector::dot(&border.image, &x);
                let det = ss * pp - sp * sp;
                ((free * pp - sp * rest) / det, (ss * rest - sp * free) / det)
            }
        };
        vector::axpy(sigma, &self.sigma_solved, &mut x);
        let (mut h, mut g) = (rhs.h.clone(), rhs.g.clone());
        if let Some(border) = &self.price {
            vector::axpy(-price, &border.image_solved, &mut x);
            for (i, own) in self.own.iter().enumerate() {
                h[i] -= own.hp * price;
                g[i] -= own.gp * price;
            }
        }
        let (bh, bg) = self.backward(&x);
        vector::axpy(-1.0, &bh, &mut h);
        vector::axpy(-1.0, &bg, &mut g);
        let (h, g) = self.divide(&h, &g);
        Multipliers { sigma, h, g, price }
    }

    pub(super) fn multiply(&self, v: &Multipliers) -> Multipliers {
        let mut x = self.forward(&v.h, &v.g);
        vector::axpy(v.sigma, &self.sigma, &mut x);
        let (mut h, mut g) = self.backward(&x);
        let mut price = 0.0;
        for (i, (own, d)) in self.own.iter().zip(&self.blocks).enumerate() {
            h[i] += d.a * v.h[i] + d.b * v.g[i];
            g[i] += d.b * v.h[i] + d.c * v.g[i];
            if self.price.is_some() {
                h[i] += own.hp * v.price;
                g[i] += own.gp * v.price;
                price += own.hp * v.h[i] + own.gp * v.g[i] + own.pp * v.price;
            }
        }
        Multipliers { sigma: vector::dot(&self.sigma, &x), h, g, price }
    }
}

/// Weights `$\sqrt{(\mu_a + \mu_b)/2}$` of the upper triangle, off-diagonal entries counted twice.
fn triangle_weights(mu: &[f64]) -> Vec<f64> {
    let order = mu.len();
    let mut weights = Vec::with_capacity(order * (order + 1) / 2);
    for a in 0..order {
        for b in a..order {
            let w = f64::midpoint(mu[a], mu[b]).sqrt();
            weights.push(if a == b { w } else { w * std::f64::consts::SQRT_2 });
        }
    }
    weights
}
