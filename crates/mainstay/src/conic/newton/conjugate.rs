//! Products with the Hessian that never form it, and conjugate gradients on them.

use crate::conic::problem::{RowTerms, Rows};
use crate::linalg::{Dense, PanelCholesky, vector};

/// The Hessian of `$\|w\|^2 + \mathrm{tr}\,V + \lambda\sum c_i z_i$` in `$(w, F)$`, plus a damping, as a map.
///
/// With `$\xi = x^\top dw$`, `$\nu = dF\,x$` and `$\rho = Fx$` a row contributes `$A\xi + B\rho^\top\nu$` times `$x$` to `$w$` and `$\rho_k(B\xi +
/// C\rho^\top\nu) - D\nu_k$` times `$x$` to `$F_k$`. A product costs `$4np(r + 1)$` flops; the matrix itself would cost `$np^2(r + 1)(r + 2)$`.
pub(super) struct Curvature<'a> {
    x: &'a Dense,
    rho: &'a Dense,
    /// `$A$`, `$B$`, `$C$`, `$D$` of every row; zero where the row has no loss.
    rows: Vec<[f64; 4]>,
    /// What is added to the diagonal, per column.
    lift: Vec<f64>,
}

impl<'a> Curvature<'a> {
    /// At `terms` with the price `$\lambda$`; `damping` is in units of the squared column scales.
    pub(super) fn new(
        rows: &Rows<'a>,
        terms: &'a RowTerms,
        price: f64,
        damping: f64,
    ) -> Curvature<'a> {
        let one = |i: usize| {
            let (a, s) = (terms.a[i], terms.s[i]);
            if a <= 0.0 {
                return [0.0; 4];
            }
            // Normalised by q: powers of it would leave the range of the numbers first.
            let q = s + a * a;
            let (sq, aq, unit) = (s / q, a * a / q, price * rows.c[i] / q);
            [
                2.0 * unit * sq * (sq - 3.0 * aq),
                -4.0 * rows.y[i] * unit * (a / q) * (aq - sq),
                8.0 * unit * aq / q,
                2.0 * unit * aq,
            ]
        };
        Self {
            x: rows.x,
            rho: &terms.rho,
            rows: (0..rows.c.len()).map(one).collect(),
            lift: rows.damping.iter().map(|d| damping * d).collect(),
        }
    }

    /// The product with `d`, ordered as `$w$`, then the rows of `$F$`.
    pub(super) fn times(&self, d: &[f64]) -> Vec<f64> {
        let (p, width) = (self.x.ncols(), self.rho.ncols() + 1);
        let direction = Dense::from_rows(width, p, d.to_vec());
        let mut image = self.x.mul_tr(&direction);
        for (i, (row, [ww, wr, rr, own])) in
            image.data_mut().chunks_exact_mut(width).zip(&self.rows).enumerate()
        {
            let rho = self.rho.row(i);
            let along: f64 = rho.iter().zip(&row[1..]).map(|(r, v)| r * v).sum();
            let (first, rest) = (row[0], &mut row[1..]);
            let pull = wr * first + rr * along;
            for (v, r) in rest.iter_mut().zip(rho) {
                *v = r * pull - own * *v;
            }
            row[0] = ww * first + wr * along;
        }
        let mut out = image.tr_mul(self.x).into_data();
        for (k, (out, d)) in out.iter_mut().zip(d).enumerate() {
            *out += (2.0 + self.lift[k % p]) * d;
        }
        out
    }

    /// `$d^\top L d$` with the damping `$L$`.
    fn lifted(&self, d: &[f64]) -> f64 {
        let p = self.lift.len();
        d.iter().enumerate().map(|(k, d)| self.lift[k % p] * d * d).sum()
    }
}

/// The preconditioner, restricted to what is orthogonal to the normal of the budget.
pub(super) struct Tangent<'a> {
    factor: Option<&'a PanelCholesky>,
    normal: &'a [f64],
    /// The preconditioner applied to the normal.
    across: Vec<f64>,
}

impl<'a> Tangent<'a> {
    /// `factor` is of a matrix near the Hessian; none is the identity. `normal` is empty in the priced form.
    pub(super) fn new(factor: Option<&'a PanelCholesky>, normal: &'a [f64]) -> Self {
        let across = match factor {
            Some(factor) if !normal.is_empty() => factor.solve(normal),
            _ => normal.to_vec(),
        };
        Self { factor, normal, across }
    }

    fn precondition(&self, r: &[f64]) -> Vec<f64> {
        let mut v = self.factor.map_or_else(|| r.to_vec(), |f| f.solve(r));
        if !self.normal.is_empty() {
            let share = vector::dot(self.normal, &v) / vector::dot(self.normal, &self.across);
            vector::axpy(-share, &self.across, &mut v);
        }
        v
    }
}

/// A direction found by conjugate gradients.
pub(super) struct Direction {
    pub(super) step: Vec<f64>,
    /// What the quadratic model without damping gains along it.
    pub(super) predicted: f64,
    /// Products with the Hessian.
    pub(super) products: usize,
    /// Whether the residual fell as far as was asked for.
    pub(super) converged: bool,
}

/// Solves `curvature` d = -`gradient` along the tangent until the preconditioned residual has fallen to the part
/// `aim` of what it was, with at most `most` products. `None` where a direction without positive curvature is met.
///
/// Every iterate lowers the quadratic model, so that an answer that has not converged is a direction of descent.
pub(super) fn conjugate_gradients(
    curvature: &Curvature<'_>,
    gradient: &[f64],
    tangent: &Tangent<'_>,
    aim: f64,
    most: usize,
) -> Option<Direction> {
    let mut rest: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut step = vec![0.0; rest.len()];
    let mut direction = tangent.precondition(&rest);
    let mut size = vector::dot(&rest, &direction);
    let first = size;
    let (mut products, mut converged) = (0, false);
    while products < most && !converged {
        let image = curvature.times(&direction);
        products += 1;
        let curve = vector::dot(&direction, &image);
        if curve.is_nan() || curve <= 0.0 || !size.is_finite() {
            return None;
        }
        let length = size / curve;
        vector::axpy(length, &direction, &mut step);
        vector::axpy(-length, &image, &mut rest);
        let next = tangent.precondition(&rest);
        let smaller = vector::dot(&rest, &next);
        converged = smaller <= aim * aim * first;
        let turn = smaller / size;
        for (d, v) in direction.iter_mut().zip(&next) {
            *d = v + turn * *d;
        }
        size = smaller;
    }
    // The residual is orthogonal to the step: the model's decrease is half of the slope along it.
    let predicted = 0.5 * (curvature.lifted(&step) - vector::dot(gradient, &step));
    Some(Direction { step, predicted, products, converged })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem() -> (Dense, Vec<f64>, Vec<f64>, Vec<f64>) {
        let x = Dense::from_fn(30, 4, |i, j| ((i * 7 + j * 5) as f64 * 0.7).sin() + 0.1);
        let y = (0..30).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let c = (0..30).map(|i| 1.0 + 0.1 * f64::from(i % 4)).collect();
        (x, y, c, vec![1.0; 4])
    }

    #[test]
    fn products_equal_those_of_the_matrix() {
        let (x, y, c, damping) = problem();
        let rows = Rows { x: &x, y: &y, c: &c, damping: &damping };
        let factor = Dense::from_fn(2, 4, |k, j| ((k + 2 * j) as f64).cos());
        let terms = RowTerms::new(&rows, &[0.3, -0.2, 0.5, 0.1], &factor);
        let mut matrix = terms.curvature(&rows, 1.7);
        matrix.add_diagonal(2.0 + 0.25);
        let d: Vec<f64> = (0..12).map(|k| (f64::from(k) * 1.3).sin()).collect();
        let expected = matrix.mul_vec(&d);
        let found = Curvature::new(&rows, &terms, 1.7, 0.25).times(&d);
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} {b}");
        }
    }

    /// With and without a preconditioner, along the tangent: the direction that a bordered solve gives.
    #[test]
    fn conjugate_gradients_solve_the_system_along_the_tangent() {
        let (x, y, c, damping) = problem();
        let rows = Rows { x: &x, y: &y, c: &c, damping: &damping };
        let factor = Dense::from_fn(2, 4, |k, j| 2.0 * ((k + 2 * j) as f64).cos());
        let terms = RowTerms::new(&rows, &[0.3, -0.2, 0.5, 0.1], &factor);
        let mut matrix = terms.curvature(&rows, 0.5);
        matrix.add_diagonal(6.0);
        let exact = PanelCholesky::symmetric(&matrix).unwrap();
        let gradient: Vec<f64> = (0..12).map(|k| (f64::from(k) * 0.9).cos()).collect();
        let mut normal: Vec<f64> = (0..12).map(|k| (f64::from(k) * 0.4).sin() + 0.2).collect();
        let length = vector::norm(&normal);
        vector::scale(&mut normal, 1.0 / length);
        let (solved, across) = (exact.solve(&gradient), exact.solve(&normal));
        let share = vector::dot(&normal, &solved) / vector::dot(&normal, &across);
        let curvature = Curvature::new(&rows, &terms, 0.5, 4.0);
        let mut near = matrix.clone();
        near.add_diagonal(0.5);
        let near = PanelCholesky::symmetric(&near).unwrap();
        for kept in [None, Some(&near)] {
            let tangent = Tangent::new(kept, &normal);
            let found = conjugate_gradients(&curvature, &gradient, &tangent, 1e-12, 100).unwrap();
            assert!(found.converged && vector::dot(&normal, &found.step).abs() < 1e-10);
            for k in 0..12 {
                let wanted = share * across[k] - solved[k];
                assert!((found.step[k] - wanted).abs() < 1e-9, "{k}");
            }
        }
    }
}
