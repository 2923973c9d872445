//! The whole matrix: for kernels and few rows.

use super::{Multipliers, Parts, singular};
use crate::error::Result;
use crate::linalg::{Cholesky, Dense, vector};

/// Added to the unit diagonal before the factorisation, and where that fails; refinement makes up for it.
const LIFTS: [f64; 2] = [1e-14, 1e-10];

/// The whole matrix, order `$1 + 2n$` (+ 1), symmetrically scaled.
pub(in crate::conic::interior) struct FullSystem {
    matrix: Dense,
    factor: Cholesky,
    scales: Vec<f64>,
    n: usize,
}

impl FullSystem {
    pub(super) fn new(parts: &Parts<'_>) -> Result<Self> {
        let mut m = lower_triangle(parts);
        let order = m.nrows();
        let scales: Vec<f64> = (0..order).map(|i| 1.0 / m[(i, i)].sqrt()).collect();
        for i in 0..order {
            for (v, s) in m.row_mut(i)[..=i].iter_mut().zip(&scales) {
                *v *= s * scales[i];
            }
        }
        m.mirror_lower();
        m.add_diagonal(LIFTS[0]);
        let factor = Cholesky::new(&m).or_else(|| {
            m.add_diagonal(LIFTS[1]);
            Cholesky::new(&m)
        });
        let n = parts.xt.nrows();
        Ok(Self { factor: factor.ok_or_else(singular)?, matrix: m, scales, n })
    }

    pub(super) fn solve(&self, rhs: &Multipliers) -> Multipliers {
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

/// The lower triangle of `$M$`; the order of unknowns is sigma, h, g, price.
fn lower_triangle(parts: &Parts<'_>) -> Dense {
    let n = parts.xt.nrows();
    let order = 1 + 2 * n + usize::from(parts.budget);
    let (zx, sx) = (parts.xt.mul(parts.z), parts.xt.mul(parts.inverse));
    let (zv, sv) = (zx.mul_tr(parts.xt), sx.mul_tr(parts.xt));
    let (z00, s00) = (parts.z[(0, 0)], parts.inverse[(0, 0)]);
    let mut m = Dense::zeros(order, order);
    m[(0, 0)] = z00 * s00;
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
    m
}
