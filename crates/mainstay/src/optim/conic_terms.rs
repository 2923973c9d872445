//! What every row means for the conic loss, `$z = a^2/q$` with `$q = s + a^2$`: value, slope and curvature.
//!
//! Shared by the fit in memory and the one over partitions; see `conic/problem.rs` for the letters.

use crate::linalg::{Dense, vector};

/// Signed, weighted rows in solver units (divided by one power of two).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// One row per sample, the constant feature included.
    pub x: &'a Dense,
    /// +1 or -1.
    pub y: &'a [f64],
    /// Positive weights (`$c$`).
    pub c: &'a [f64],
    /// Squared column scales, the natural metric for damping a step.
    pub damping: &'a [f64],
}

/// Per-row quantities at `$(w, V)$`, `$V = F^\top F$`.
#[derive(Debug, Clone)]
pub(crate) struct RowTerms {
    /// `$a_i = (1 - y_i x_i^\top w)_+$`.
    pub a: Vec<f64>,
    /// `$F x_i$`, one row per sample.
    pub rho: Dense,
    /// `$s_i = \|F x_i\|^2$`.
    pub s: Vec<f64>,
    /// `$t_i = a_i/q_i$`.
    pub t: Vec<f64>,
    /// `$z_i = a_i t_i$`.
    pub z: Vec<f64>,
}

impl RowTerms {
    /// Cost n p (rank + 1).
    pub(crate) fn new(rows: &Rows<'_>, w: &[f64], factor: &Dense) -> Self {
        let margins = rows.x.mul_vec(w);
        let a = margins.iter().zip(rows.y).map(|(m, y)| (1.0 - y * m).max(0.0)).collect();
        let rho = rows.x.mul_tr(factor);
        let s = (0..rho.nrows()).map(|i| vector::norm_sq(rho.row(i))).collect();
        let mut terms = Self { a, rho, s, t: Vec::new(), z: Vec::new() };
        terms.update();
        terms
    }

    /// The same point with `$V$` multiplied by `scale`.
    pub(crate) fn rescale(&mut self, scale: f64) {
        vector::scale(self.rho.data_mut(), scale.sqrt());
        vector::scale(&mut self.s, scale);
        self.update();
    }

    /// Where `$a = 0$` the indicator is 0, even at the kink `$q = 0$`.
    fn update(&mut self) {
        let slope = |(a, s): (&f64, &f64)| if *a > 0.0 { a / (s + a * a) } else { 0.0 };
        self.t = self.a.iter().zip(&self.s).map(slope).collect();
        self.z = self.a.iter().zip(&self.t).map(|(a, t)| a * t).collect();
    }

    /// Gradient of `$\sum c_i z_i$` in `$(w, F)$`, one direction of `$F$` after the other.
    pub(crate) fn slope(&self, rows: &Rows<'_>) -> Vec<f64> {
        let n = rows.c.len();
        let at_w: Vec<f64> =
            (0..n).map(|i| -2.0 * rows.c[i] * self.t[i] * (1.0 - self.z[i]) * rows.y[i]).collect();
        let mut at_f = self.rho.clone();
        for i in 0..n {
            vector::scale(at_f.row_mut(i), -2.0 * rows.c[i] * self.t[i] * self.t[i]);
        }
        let mut sum_z = rows.x.tr_mul_vec(&at_w);
        sum_z.extend_from_slice(at_f.tr_mul(rows.x).data());
        sum_z
    }

    /// Hessian of `$\lambda\sum c_i z_i$` in `$(w, F)$`, of order p (r + 1); `price` is `$\lambda$`.
    pub(crate) fn curvature(&self, rows: &Rows<'_>, price: f64) -> Dense {
        let (p, r) = (rows.x.ncols(), self.rho.ncols());
        let blocks = (r + 1) * (r + 2) / 2;
        let mut weights = Dense::zeros(rows.c.len(), blocks);
        for i in 0..rows.c.len() {
            let (a, s, rho) = (self.a[i], self.s[i], self.rho.row(i));
            if a <= 0.0 {
                continue;
            }
            let a2 = a * a;
            // Normalised by q: powers of it would leave the range of the numbers first.
            let q = s + a2;
            let (sq, aq) = (s / q, a2 / q);
            let unit = price * rows.c[i] / q;
            let out = weights.row_mut(i);
            out[0] = 2.0 * unit * sq * (sq - 3.0 * aq);
            let mut next = 1;
            for k in 0..r {
                out[next] = -4.0 * rows.y[i] * unit * (a / q) * rho[k] * (aq - sq);
                next += 1;
                for l in 0..=k {
                    out[next] = 8.0 * unit * aq * (rho[k] / q) * rho[l];
                    if k == l {
                        out[next] -= 2.0 * unit * aq;
                    }
                    next += 1;
                }
            }
        }
        unstacked(&rows.x.stacked_grams(&weights), p, r)
    }
}

/// The Hessian from its blocks, which come in the order of the lower triangle, row by row.
fn unstacked(grams: &Dense, p: usize, r: usize) -> Dense {
    let mut hessian = Dense::zeros(p * (r + 1), p * (r + 1));
    let mut block = 0;
    for k in 0..=r {
        for l in 0..=k {
            for i in 0..p {
                let from = grams.row(block * p + i);
                hessian.row_mut(k * p + i)[l * p..(l + 1) * p].copy_from_slice(from);
                // A block is its own transpose.
                hessian.row_mut(l * p + i)[k * p..(k + 1) * p].copy_from_slice(from);
            }
            block += 1;
        }
    }
    hessian
}
