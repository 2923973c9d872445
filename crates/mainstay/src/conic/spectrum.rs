//! The solver's own lower bound, and the directions in which its `$V$` should grow.

use super::problem::{Dual, Form, RowTerms, Rows};
use crate::error::Result;
use crate::linalg::{Dense, PanelCholesky, SymmetricEigen, thin_qr, vector};

/// How far below 1 the largest eigenvalue of `$\sum g_i x_i x_i^\top$` is pushed: the bound loses in
/// proportion, rounding is lost in inverse proportion, so all are tried.
const SLACKS: [f64; 13] =
    [1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1];

/// The same for a look without eigenvectors, which pays a Cholesky factorisation for each and ends with the first that is
/// good enough. The bound loses about the slack and about the squared residual over it, so that those near the residual come first.
const GLANCE_SLACKS: [f64; 6] = [1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5];
/// Directions of `$S$` join the factor if they are this part as steep as the steepest.
const STEEP: f64 = 0.1;

/// Bound and curvature at a primal point, from one eigendecomposition of `$\sum g x x^\top$`.
pub(super) struct Spectrum {
    /// The best lower bound found.
    pub lower: f64,
    /// The factor `$k$` on `$t$` that gave it.
    pub shrink: f64,
    /// Eigenvalues of `$S = I - \sum g x x^\top$`, ascending.
    pub values: Vec<f64>,
    /// Row `j` is the eigenvector of `values[j]`.
    pub vectors: Dense,
}

/// What the bound needs to know of `$h$` and `$g$`.
pub(super) struct DualSums {
    /// `$\sum h_i$`.
    pub h: f64,
    /// `$\sum g_i$`.
    pub g: f64,
    /// `$\sum h_i y_i x_i$`.
    pub hx: Vec<f64>,
    /// `$\sum g_i y_i x_i$`.
    pub gx: Vec<f64>,
    /// `$\sum g_i x_i x_i^\top$`.
    pub gram: Dense,
}

impl DualSums {
    /// Of `$h = \lambda ct$` and `$g = \lambda ct^2$`.
    fn new(rows: &Rows<'_>, at: &RowTerms, price: f64) -> Self {
        let h: Vec<f64> = rows.c.iter().zip(&at.t).map(|(c, t)| price * c * t).collect();
        let g: Vec<f64> = h.iter().zip(&at.t).map(|(h, t)| h * t).collect();
        let image = |v: &[f64]| -> Vec<f64> {
            let v: Vec<f64> = v.iter().zip(rows.y).map(|(v, y)| v * y).collect();
            rows.x.tr_mul_vec(&v)
        };
        Self {
            h: h.iter().sum(),
            g: g.iter().sum(),
            hx: image(&h),
            gx: image(&g),
            gram: rows.x.weighted_gram(&g),
        }
    }
}

/// What the budget costs at this price.
fn paid(price: f64, form: Form) -> f64 {
    match form {
        Form::Budget(target) => price * target,
        Form::Price(_) => 0.0,
    }
}

/// The dual point `$h = k\lambda ct$`, `$g = k^2\lambda ct^2$`.
pub(super) fn dual_at(rows: &Rows<'_>, at: &RowTerms, price: f64, k: f64) -> Dual {
    let h: Vec<f64> = rows.c.iter().zip(&at.t).map(|(c, t)| k * price * c * t).collect();
    let g = h.iter().zip(&at.t).map(|(h, t)| k * h * t).collect();
    Dual { h, g, price }
}

/// What a look without eigenvectors is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// A bound that ends the search for a better one.
    pub enough: f64,
    /// Length of the gradient relative to that of the objective's.
    pub residual: f64,
}

/// A lower bound and its `$k$` without eigenvectors; `None` where `$S$` has a negative direction outside the span of `factor`.
///
/// At the optimum the null space of `$S$` is the span of `$F$`, so the largest eigenvalue of `$\sum g x x^\top$` is looked for there
/// (one power step, then Rayleigh and Ritz). That it is the largest is proven by the Cholesky factor of `$S$`.
pub(super) fn glance(
    rows: &Rows<'_>,
    at: &RowTerms,
    factor: &Dense,
    price: f64,
    form: Form,
    wanted: Wanted,
) -> Result<Option<(f64, f64)>> {
    let sums = DualSums::new(rows, at, price);
    if price < 0.0 || !vector::all_finite(sums.gram.data()) || factor.nrows() == 0 {
        return Ok(None);
    }
    let basis = thin_qr(&sums.gram.mul(&thin_qr(&factor.transpose()).0)).0;
    let inside = basis.tr_mul(&sums.gram.mul(&basis));
    let top = SymmetricEigen::values(&inside)?.last().copied().unwrap_or(0.0).max(1.0);
    let away = |slack: &f64| (slack / wanted.residual).log10().abs();
    let mut slacks = GLANCE_SLACKS;
    slacks.sort_by(|a, b| away(a).total_cmp(&away(b)));
    let mut best: Option<(f64, f64)> = None;
    for slack in slacks {
        let k2 = 1.0 / (top * (1.0 + slack));
        let k = k2.sqrt();
        let Some(root) = without(&sums.gram, k2) else { continue };
        let b: Vec<f64> = sums.hx.iter().zip(&sums.gx).map(|(h, g)| k * h - k2 * g).collect();
        let value =
            2.0 * k * sums.h - k2 * sums.g - paid(price, form) - vector::dot(&b, &root.solve(&b));
        if value.is_finite() && best.is_none_or(|(lower, _)| value > lower) {
            best = Some((value, k));
        }
        if value >= wanted.enough {
            break;
        }
    }
    Ok(best)
}

/// The factor of `$I - k^2 G$`, if that is positive definite.
fn without(gram: &Dense, k2: f64) -> Option<PanelCholesky> {
    PanelCholesky::from_columns(gram.nrows(), |j, column| {
        column.iter_mut().zip(&gram.row(j)[j..]).for_each(|(v, g)| *v = -k2 * g);
        column[0] += 1.0;
    })
}

impl Spectrum {
    /// With `$h = k\lambda c t$`, `$g = k^2\lambda c t^2$`, the best of a few `$k \le 1$` that make `$S \succ 0$`.
    pub(super) fn new(rows: &Rows<'_>, at: &RowTerms, price: f64, form: Form) -> Result<Self> {
        Self::of_sums(&DualSums::new(rows, at, price), price, form)
    }

    /// The same from sums over the rows.
    pub(super) fn of_sums(sums: &DualSums, price: f64, form: Form) -> Result<Self> {
        let eigen = SymmetricEigen::new(&sums.gram)?;
        let hx = eigen.vectors.tr_mul_vec(&sums.hx);
        let gx = eigen.vectors.tr_mul_vec(&sums.gx);
        let (sum_h, sum_g) = (sums.h, sums.g);
        let paid = paid(price, form);
        let top = eigen.values.last().copied().unwrap_or(0.0);
        let (mut lower, mut shrink) = (f64::NEG_INFINITY, 0.0);
        for slack in SLACKS {
            let k2 = 1.0 / (top.max(1.0) * (1.0 + slack));
            let k = k2.sqrt();
            let mut value = 2.0 * k * sum_h - k2 * sum_g - paid;
            for ((e, h), g) in eigen.values.iter().zip(&hx).zip(&gx) {
                let b = k * h - k2 * g;
                value -= b * b / (1.0 - k2 * e);
            }
            if value > lower {
                (lower, shrink) = (value, k);
            }
        }
        if price < 0.0 {
            lower = f64::NEG_INFINITY;
        }
        let p = eigen.values.len();
        let values = eigen.values.iter().rev().map(|e| 1.0 - e).collect();
        let vectors = Dense::from_fn(p, p, |j, i| eigen.vectors[(i, p - 1 - j)]);
        Ok(Self { lower, shrink, values, vectors })
    }

    /// Unit-norm matrix of all clearly negative directions of `$S$`, steeper ones longer; `None` if
    /// `$S$` has none.
    pub(super) fn growth(&self) -> Option<Dense> {
        let steepest = *self.values.first()?;
        if steepest >= 0.0 {
            return None;
        }
        let chosen: Vec<usize> =
            (0..self.values.len()).filter(|&j| self.values[j] <= STEEP * steepest).collect();
        let mut out = self.vectors.select_rows(&chosen);
        for (row, &j) in chosen.iter().enumerate() {
            let length = (self.values[j] / steepest / chosen.len() as f64).sqrt();
            vector::scale(out.row_mut(row), length);
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weak duality: at any point the bound is below the point's own objective in the priced form.
    #[test]
    fn a_glance_never_claims_more_than_the_objective() {
        let x = Dense::from_fn(40, 5, |i, j| ((i * 3 + j * 11) as f64 * 0.37).sin());
        let y: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let (c, damping) = (vec![1.0; 40], vec![1.0; 5]);
        let rows = Rows { x: &x, y: &y, c: &c, damping: &damping };
        let mut found = 0;
        for seed in 0..60 {
            let draw = |k: usize| (f64::from(seed) * 1.7 + k as f64 * 2.3).sin();
            let w: Vec<f64> = (0..5).map(draw).collect();
            let size = 0.1 * 1.1_f64.powi(seed);
            let factor = Dense::from_fn(2, 5, |k, j| size * draw(7 + 5 * k + j));
            let at = RowTerms::new(&rows, &w, &factor);
            for price in [0.1, 1.0] {
                let objective = vector::norm_sq(&w)
                    + vector::norm_sq(factor.data())
                    + price * at.z.iter().sum::<f64>();
                let wanted = Wanted { enough: f64::INFINITY, residual: 1e-7 };
                let form = Form::Price(price);
                let Ok(glanced) = glance(&rows, &at, &factor, price, form, wanted) else {
                    unreachable!("numbers are finite");
                };
                if let Some((lower, k)) = glanced {
                    found += 1;
                    assert!(lower <= objective * (1.0 + 1e-12), "{lower} {objective}");
                    assert!(k <= 1.0);
                }
            }
        }
        assert!(found > 10, "{found}");
    }
}
