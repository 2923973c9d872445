//! The interior point's linear system, $M_{jk} = \mathrm{tr}(A_j Z A_k S^{-1})$, in two shapes.

use super::sym2::Sym2;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Dense, SymmetricEigen, vector};

/// Multiplier increments or right-hand sides.
#[derive(Debug, Clone)]
pub(super) struct Multipliers {
    pub(super) sigma: f64,
    pub(super) h: Vec<f64>,
    pub(super) g: Vec<f64>,
    /// 0 in the priced form.
    pub(super) price: f64,
}

impl Multipliers {
    fn add(&mut self, scale: f64, other: &Self) {
        self.sigma += scale * other.sigma;
        self.price += scale * other.price;
        vector::axpy(scale, &other.h, &mut self.h);
        vector::axpy(scale, &other.g, &mut self.g);
    }
}

/// The contribution of one row's own cones to M, in the order (h, g, price).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Own {
    pub(super) hh: f64,
    pub(super) hg: f64,
    pub(super) gg: f64,
    pub(super) hp: f64,
    pub(super) gp: f64,
    pub(super) pp: f64,
}

impl Own {
    /// $\mathrm{tr}(A_j Z A_k S^{-1})$ for the 2 x 2 cone, plus the slack's `ratio` on h; `c` is the
    /// row's weight, which multiplies the price.
    pub(super) fn new(z: Sym2, inverse: Sym2, ratio: f64, c: f64) -> Self {
        Self {
            hh: z.c * inverse.a + 2.0 * z.b * inverse.b + z.a * inverse.c + ratio,
            hg: inverse.b * z.c + inverse.c * z.b,
            gg: z.c * inverse.c,
            hp: c * (inverse.a * z.b + inverse.b * z.a),
            gp: c * z.b * inverse.b,
            pp: c * c * z.a * inverse.a,
        }
    }
}

/// What the system is made of.
pub(super) struct Parts<'a> {
    /// Rows $(1, -y_i x_i)$.
    pub(super) xt: &'a Dense,
    pub(super) z: &'a Dense,
    pub(super) s: &'a Dense,
    /// $S^{-1}$.
    pub(super) inverse: &'a Dense,
    pub(super) z_factor: &'a Cholesky,
    pub(super) own: &'a [Own],
    /// Whether the price is unknown (budget form).
    pub(super) budget: bool,
}

/// A factored system.
pub(super) enum Schur {
    /// Order 2n + 1: for kernels and few rows.
    Points(Points),
    /// Order (p+1)(p+2)/2 by the Woodbury identity: for many rows.
    Cone(Box<Cone>),
}

impl Schur {
    pub(super) fn new(parts: &Parts<'_>, by_points: bool) -> Result<Self> {
        if by_points {
            Points::new(parts).map(Self::Points)
        } else {
            Cone::new(parts).map(|c| Self::Cone(Box::new(c)))
        }
    }

    /// Solves with iterative refinement.
    pub(super) fn solve(&self, rhs: &Multipliers) -> Multipliers {
        match self {
            Self::Points(points) => points.solve(rhs),
            Self::Cone(cone) => {
                let mut x = cone.once(rhs);
                for _ in 0..2 {
                    let mut rest = rhs.clone();
                    rest.add(-1.0, &cone.multiply(&x));
                    x.add(1.0, &cone.once(&rest));
                }
                x
            }
        }
    }
}

fn singular() -> Error {
    Error::Numerical("interior point: the step equations became singular".into())
}

/// The whole matrix, order $1 + 2n$ (+ 1), symmetrically scaled.
pub(super) struct Points {
    matrix: Dense,
    factor: Cholesky,
    scales: Vec<f64>,
    n: usize,
}

impl Points {
    fn new(parts: &Parts<'_>) -> Result<Self> {
        let n = parts.xt.nrows();
        let order = 1 + 2 * n + usize::from(parts.budget);
        let (zx, sx) = (parts.xt.mul(parts.z), parts.xt.mul(parts.inverse));
        let (zv, sv) = (zx.mul_tr(parts.xt), sx.mul_tr(parts.xt));
        let (z00, s00) = (parts.z[(0, 0)], parts.inverse[(0, 0)]);
        let mut m = Dense::zeros(order, order);
        m[(0, 0)] = z00 * s00;
        // Lower triangle only; the order of unknowns is sigma, h, g, price.
        for i in 0..n {
            let (zi, si, own) = (zx[(i, 0)], sx[(i, 0)], parts.own[i]);
            let row = m.row_mut(1 + i);
            row[0] = -(z00 * si + zi * s00);
            for j in 0..=i {
                let (zj, sj) = (zx[(j, 0)], sx[(j, 0)]);
                row[1 + j] = zi * sj + si * zj + zv[(i, j)] * s00 + z00 * sv[(i, j)];
            }
            row[1 + i] += own.hh;
            let row = m.row_mut(1 + n + i);
            row[0] = zi * si;
            for j in 0..n {
                row[1 + j] = -(zi * sv[(i, j)] + zv[(i, j)] * si);
            }
            row[1 + i] += own.hg;
            for j in 0..=i {
                row[1 + n + j] = zv[(i, j)] * sv[(i, j)];
            }
            row[1 + n + i] += own.gg;
        }
        if parts.budget {
            let row = m.row_mut(1 + 2 * n);
            for (i, own) in parts.own.iter().enumerate() {
                row[1 + i] = own.hp;
                row[1 + n + i] = own.gp;
                row[1 + 2 * n] += own.pp;
            }
        }
        let scales: Vec<f64> = (0..order).map(|i| 1.0 / m[(i, i)].sqrt()).collect();
        for i in 0..order {
            for (v, s) in m.row_mut(i)[..=i].iter_mut().zip(&scales) {
                *v *= s * scales[i];
            }
        }
        m.mirror_lower();
        m.add_diagonal(1e-14);
        let factor = Cholesky::new(&m).or_else(|| {
            m.add_diagonal(1e-10);
            Cholesky::new(&m)
        });
        Ok(Self { factor: factor.ok_or_else(singular)?, matrix: m, scales, n })
    }

    fn solve(&self, rhs: &Multipliers) -> Multipliers {
        let mut b = vec![rhs.sigma];
        b.extend_from_slice(&rhs.h);
        b.extend_from_slice(&rhs.g);
        if self.scales.len() > b.len() {
            b.push(rhs.price);
        }
        for (b, s) in b.iter_mut().zip(&self.scales) {
            *b *= s;
        }
        let mut x = self.factor.solve(&b);
        vector::axpy(-1.0, &self.matrix.mul_vec(&x), &mut b);
        vector::axpy(1.0, &self.factor.solve(&b), &mut x);
        for (x, s) in x.iter_mut().zip(&self.scales) {
            *x *= s;
        }
        let n = self.n;
        let price = x.get(1 + 2 * n).copied().unwrap_or(0.0);
        Multipliers { sigma: x[0], h: x[1..=n].to_vec(), g: x[n + 1..=2 * n].to_vec(), price }
    }
}

/// The same system with every row's own 2 x 2 block eliminated.
///
/// With $Z = LL^\top$ and $S^{-1} = L\,\mathrm{diag}(\mu) L^\top$ the coupling is $B^\top B$, whose columns are the upper
/// triangles of $L^\top A_j L$ weighted by $\sqrt{(\mu_a + \mu_b)/2}$. Rows are handled in blocks: memory does not
/// grow with n beyond the rows themselves.
pub(super) struct Cone {
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

const BLOCK: usize = 128;

impl Cone {
    fn new(parts: &Parts<'_>) -> Result<Self> {
        let n = parts.xt.nrows();
        let order = parts.z.nrows();
        let lower = parts.z_factor.lower();
        let eigen = SymmetricEigen::new(&lower.tr_mul(&parts.s.mul(&lower)))?;
        let l = lower.mul(&eigen.vectors);
        let mu: Vec<f64> = eigen.values.iter().map(|v| 1.0 / v).collect();
        if mu.iter().any(|v| !(v.is_finite() && *v > 0.0)) {
            return Err(singular());
        }
        let mut weights = Vec::with_capacity(order * (order + 1) / 2);
        for a in 0..order {
            for b in a..order {
                let w = f64::midpoint(mu[a], mu[b]).sqrt();
                weights.push(if a == b { w } else { w * std::f64::consts::SQRT_2 });
            }
        }
        let blocks: Vec<Sym2> = parts.own.iter().map(|o| Sym2::new(o.hh, o.hg, o.gg)).collect();
        let inverses: Vec<Sym2> = blocks.iter().map(|d| d.inverse()).collect();
        let e0 = l.row(0).to_vec();
        let mut cone = Self {
            xh: parts.xt.mul(&l),
            sigma: Vec::new(),
            sigma_solved: Vec::new(),
            e0,
            weights,
            blocks,
            inverses,
            own: parts.own.to_vec(),
            factor: Cholesky::new(&Dense::identity(1)).ok_or_else(singular)?,
            price: None,
        };
        let mut normal = Dense::identity(cone.weights.len());
        for first in (0..n).step_by(BLOCK) {
            let block = cone.coupling(first..n.min(first + BLOCK));
            let gram = block.weighted_gram(&vec![1.0; block.nrows()]);
            vector::axpy(1.0, gram.data(), normal.data_mut());
        }
        cone.factor = Cholesky::new(&normal).ok_or_else(singular)?;
        let e0 = cone.e0.clone();
        cone.sigma = cone.triangle(|a, b| e0[a] * e0[b]);
        cone.sigma_solved = cone.factor.solve(&cone.sigma);
        if parts.budget {
            let (mut h, mut g, mut taken) = (vec![0.0; n], vec![0.0; n], 0.0);
            for (i, (own, d)) in parts.own.iter().zip(&cone.inverses).enumerate() {
                h[i] = d.a * own.hp + d.b * own.gp;
                g[i] = d.b * own.hp + d.c * own.gp;
                taken += own.hp * h[i] + own.gp * g[i];
            }
            let image = cone.forward(&h, &g);
            let image_solved = cone.factor.solve(&image);
            let full = parts.own.iter().map(|o| o.pp).sum();
            cone.price = Some(PriceBorder { h, g, image, image_solved, full, taken });
        }
        Ok(cone)
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

    /// Two rows a sample: the columns of B times a square root of the own block's inverse.
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

    /// $B (h, g)$.
    fn forward(&self, h: &[f64], g: &[f64]) -> Vec<f64> {
        let square = self.xh.weighted_gram(g);
        let v = self.xh.tr_mul_vec(h);
        let e0 = &self.e0;
        self.triangle(|a, b| square[(a, b)] - e0[a] * v[b] - v[a] * e0[b])
    }

    /// $B^\top x$, its h and g parts.
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

    fn once(&self, rhs: &Multipliers) -> Multipliers {
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

    fn multiply(&self, v: &Multipliers) -> Multipliers {
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
