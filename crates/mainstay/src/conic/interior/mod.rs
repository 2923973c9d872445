//! A structured interior point for what the low-rank Newton method cannot finish.

mod iterate;
mod schur;
mod sym2;

use iterate::Iterate;

use super::problem::{Dual, Form, Hyperplane, RowTerms, Rows, retraction};
use crate::error::Result;
use crate::linalg::{Cholesky, Dense, SymmetricEigen, vector};
use crate::optim::{Bracket, Budget};

/// Directions of `$V$` below this part of its largest eigenvalue are rounding.
const NEGLIGIBLE: f64 = 1e-15;

/// Primal-dual interior point (HKM direction, Mehrotra's predictor and corrector) on the dual
/// ```math
/// \max \sigma\,[{} - \lambda\kappa\textstyle\sum c_i] \quad h \ge 0,\; \begin{pmatrix}\lambda c_i & h_i\\ h_i & g_i\end{pmatrix} \succeq 0,\;
/// \begin{pmatrix}0&\\&I\end{pmatrix} - \sigma e_0e_0^\top - \sum g_i \tilde x_i\tilde x_i^\top + \sum h_i(e_0\tilde x_i^\top + \tilde x_ie_0^\top) \succeq 0,
/// ```
/// `$\tilde x_i = (1, -y_ix_i)$`, whose primal is `$Z = (1, w^\top; w, V + ww^\top)$` with blocks `$(z, -v; -v, q)$`.
///
/// Both sides have obvious interior points and every iterate yields a certificate. It minds neither
/// "pinned" rows (`$a_i = 0$` and `$Vx_i = 0$`, where `$z_i$` jumps) nor `$V = 0$`, and takes 10 to 30
/// iterations, each a Cholesky factorisation of order `$\min(2n + 2, (p+1)(p+2)/2)$`.
pub(super) fn interior_point(
    rows: &Rows<'_>,
    form: Form,
    floor: f64,
    budget: &mut Budget<'_>,
) -> Result<Bracket<Hyperplane, Dual>> {
    let xt = extended(rows);
    let mut iterate = Iterate::start(rows, form, &xt)?;
    // $(w, V)$ and the dual terms.
    let mut bracket: Bracket<(Vec<f64>, Dense), Dual> = Bracket::new();
    loop {
        offer(rows, form, &iterate, &mut bracket);
        if bracket.gap(floor) <= budget.tol() || !budget.take()? {
            break;
        }
        // A breakdown this late means the accuracy of the numbers is used up: keep the best so far.
        match iterate.advance(rows, form, &xt) {
            Ok(true) => {}
            Ok(false) | Err(_) => break,
        }
    }
    let mut found = Bracket::new();
    let (upper, lower) = (bracket.upper(), bracket.lower());
    let (primal, dual) = bracket.into_points();
    if let Some((w, v)) = primal {
        let factor = root(&v)?;
        found.offer_primal(upper, || Hyperplane { w, factor });
    }
    if let Some(dual) = dual {
        found.offer_dual(lower, || dual);
    }
    Ok(found)
}

/// Both bounds of an iterate.
fn offer(
    rows: &Rows<'_>,
    form: Form,
    iterate: &Iterate,
    bracket: &mut Bracket<(Vec<f64>, Dense), Dual>,
) {
    let (w, mut v) = iterate.primal();
    let (value, scale) = evaluate(rows, form, &w, &v);
    bracket.offer_primal(value, || {
        vector::scale(v.data_mut(), scale);
        (w, v)
    });
    let dual = iterate.dual();
    let mut lower = theta(rows, &dual.h, &dual.g);
    if let Form::Budget(target) = form {
        lower -= dual.price * target;
    }
    bracket.offer_dual(lower, || dual);
}

/// `$F$` with `$F^\top F$` = the positive part of `v`, negligible directions dropped.
fn root(v: &Dense) -> Result<Dense> {
    let p = v.nrows();
    let eigen = SymmetricEigen::new(v)?;
    let top = eigen.values.last().copied().unwrap_or(0.0).max(0.0);
    let kept: Vec<usize> = (0..p)
        .rev()
        .filter(|&j| eigen.values[j] > NEGLIGIBLE * top && eigen.values[j] > 0.0)
        .collect();
    Ok(Dense::from_fn(kept.len(), p, |k, j| {
        eigen.values[kept[k]].sqrt() * eigen.vectors[(j, kept[k])]
    }))
}

/// Rows `$(1, -y_i x_i)$`.
fn extended(rows: &Rows<'_>) -> Dense {
    let (n, p) = (rows.x.nrows(), rows.x.ncols());
    let mut data = Vec::with_capacity(n * (p + 1));
    for (i, y) in rows.y.iter().enumerate() {
        data.push(1.0);
        data.extend(rows.x.row(i).iter().map(|v| -y * v));
    }
    Dense::from_rows(n, p + 1, data)
}

/// Objective at (w, V), V scaled to the budget; infinite if no scale reaches it.
fn evaluate(rows: &Rows<'_>, form: Form, w: &[f64], v: &Dense) -> (f64, f64) {
    let mut terms = RowTerms::new(rows, w, &Dense::zeros(0, w.len()));
    let image = rows.x.mul(v);
    for (i, s) in terms.s.iter_mut().enumerate() {
        *s = vector::dot(image.row(i), rows.x.row(i)).max(0.0);
    }
    let trace: f64 = (0..v.nrows()).map(|j| v[(j, j)]).sum();
    let norm = vector::norm_sq(w);
    match form {
        Form::Budget(target) => {
            let k = retraction(&terms.a, &terms.s, rows.c, target);
            let value = norm + k * trace;
            (if value.is_nan() { f64::INFINITY } else { value }, k)
        }
        Form::Price(price) => {
            let paid: f64 = (0..rows.c.len())
                .filter(|&i| terms.a[i] > 0.0)
                .map(|i| rows.c[i] / (1.0 + terms.s[i] / terms.a[i] / terms.a[i]))
                .sum();
            (norm + trace + price * paid, 1.0)
        }
    }
}

/// `$\theta(h, g)$`, or minus infinity where `$S$` is not positive definite.
fn theta(rows: &Rows<'_>, h: &[f64], g: &[f64]) -> f64 {
    let mut s = rows.x.weighted_gram(g);
    vector::scale(s.data_mut(), -1.0);
    s.add_diagonal(1.0);
    let Some(factor) = Cholesky::new(&s) else { return f64::NEG_INFINITY };
    let signed: Vec<f64> = h.iter().zip(g).zip(rows.y).map(|((h, g), y)| (h - g) * y).collect();
    let b = rows.x.tr_mul_vec(&signed);
    let sum: f64 = h.iter().zip(g).map(|(h, g)| 2.0 * h - g).sum();
    sum - vector::dot(&b, &factor.solve(&b))
}
