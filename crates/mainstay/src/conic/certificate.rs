//! The interval around the optimum, recomputed from the rows and the answer alone.

use super::problem::Dual;
use crate::certificate::Certificate;
use crate::error::Result;
use crate::linalg::{Dense, SymmetricEigen, vector};

/// What the rows are given by.
#[derive(Debug, Clone, Copy)]
pub(super) enum Geometry<'a> {
    /// The rows themselves; an answer is a vector of their space.
    Rows(&'a Dense),
    /// Their inner products; an answer is a combination of the rows.
    Gram(&'a Dense),
}

/// An answer to be judged, in the units of the geometry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim<'a> {
    /// The hyperplane.
    pub w: &'a [f64],
    /// `$V = F^\top F$`, one row of `$F$` per direction.
    pub factor: &'a Dense,
    /// The proof.
    pub dual: &'a Dual,
    /// The budget `$\kappa\sum c_i$`, or `None` where `$\lambda$` is the given price.
    pub budget: Option<f64>,
}

/// What the rows say about the answer.
#[derive(Debug, Clone)]
pub(super) struct Verdict {
    /// Objective and lower bound, in the units of the geometry.
    pub certificate: Certificate,
    /// The indicators.
    pub z: Vec<f64>,
    /// `$g$` as it was used in the bound.
    pub shape: Vec<f64>,
}

impl Geometry<'_> {
    /// Inner products of `v` with all rows, and its squared length.
    fn image(self, v: &[f64]) -> (Vec<f64>, f64) {
        match self {
            Self::Rows(x) => (x.mul_vec(v), vector::norm_sq(v)),
            Self::Gram(k) => {
                let scores = k.mul_vec(v);
                let length = vector::dot(v, &scores);
                (scores, length)
            }
        }
    }

    /// Eigenvalues `$e$` of `$\sum g_i x_i x_i^\top$` and the coordinates of `$\sum h_i y_i x_i$` and `$\sum g_i y_i x_i$`
    /// in its eigenvectors, through whichever of the two Gram matrices is smaller.
    fn spectrum(self, y: &[f64], h: &[f64], g: &[f64]) -> Result<[Vec<f64>; 3]> {
        if let Self::Rows(x) = self
            && x.ncols() <= x.nrows()
        {
            let eigen = SymmetricEigen::new(&x.weighted_gram(g))?;
            let project = |v: &[f64]| {
                let signed: Vec<f64> = v.iter().zip(y).map(|(v, y)| v * y).collect();
                eigen.vectors.tr_mul_vec(&x.tr_mul_vec(&signed))
            };
            return Ok([eigen.values.clone(), project(h), project(g)]);
        }
        // Rows without g have no h either: they play no part.
        let used: Vec<usize> = (0..g.len()).filter(|&i| g[i] > 0.0).collect();
        let root: Vec<f64> = used.iter().map(|&i| g[i].sqrt()).collect();
        let m = used.len();
        let gram = match self {
            Self::Rows(x) => {
                let chosen = x.select_rows(&used);
                let full = chosen.outer_gram();
                Dense::from_fn(m, m, |a, b| root[a] * full[(a, b)] * root[b])
            }
            Self::Gram(k) => Dense::from_fn(m, m, |a, b| root[a] * k[(used[a], used[b])] * root[b]),
        };
        let eigen = SymmetricEigen::new(&gram)?;
        let project = |v: &[f64]| {
            let over: Vec<f64> = used.iter().zip(&root).map(|(&i, r)| v[i] * y[i] / r).collect();
            let mut out = eigen.vectors.tr_mul_vec(&over);
            for (o, e) in out.iter_mut().zip(&eigen.values) {
                *o *= e.max(0.0).sqrt();
            }
            out
        };
        Ok([eigen.values.clone(), project(h), project(g)])
    }
}

/// Tries of how far below 1 the largest eigenvalue is pushed: `$10^{-1}$` to `$10^{-14}$`. The bound loses in
/// proportion, rounding is lost in inverse proportion.
const SLACK_EXPONENTS: std::ops::RangeInclusive<i32> = 1..=14;

/// Part by which a budget may be exceeded: rounding.
const BUDGET_ROUNDING: f64 = 1e-12;
/// Factor by which the upper end of the search for a `$V$` within the budget grows, and beyond which there is none.
const SEARCH_FACTOR: f64 = 16.0;
const LARGEST_FACTOR: f64 = 1e60;
/// Halvings of that search: more than a double has digits.
const HALVINGS: usize = 60;

/// Judges `claim` on rows with labels `y` and weights `c`.
///
/// The objective is that of the point itself, with `$V$` enlarged if rounding left the budget
/// exceeded. The bound is `$\theta(kh, k^2g)$` for the best of a few `$k \le 1$` after `$g$` was raised to
/// `$h^2/(\lambda c)$` where it is below: whatever `$h$` and `$g$` are, the bound holds.
pub(super) fn verdict(
    geometry: Geometry<'_>,
    y: &[f64],
    c: &[f64],
    claim: &Claim<'_>,
) -> Result<Verdict> {
    let (primal, z) = objective(geometry, y, c, claim);
    let price = claim.dual.price;
    let h: Vec<f64> = claim.dual.h.iter().map(|h| h.max(0.0)).collect();
    let mut g: Vec<f64> = claim.dual.g.clone();
    for ((g, h), c) in g.iter_mut().zip(&h).zip(c) {
        *g = g.max(h * h / (price * c)).max(0.0);
    }
    // h without g would divide by zero below; a row may always be left out of the bound.
    let h: Vec<f64> = h.iter().zip(&g).map(|(h, g)| if *g > 0.0 { *h } else { 0.0 }).collect();
    let (mut dual, mut shrink) = (f64::NEG_INFINITY, 0.0);
    if price >= 0.0 && g.iter().all(|g| g.is_finite()) {
        let paid = claim.budget.map_or(0.0, |b| if b == 0.0 { 0.0 } else { price * b });
        (dual, shrink) = best_bound(geometry, y, &h, &g, paid)?;
    }
    vector::scale(&mut g, shrink);
    // The objective is never negative: a bound that needs no proof.
    Ok(Verdict { certificate: Certificate { primal, dual: dual.max(0.0) }, z, shape: g })
}

/// The largest `$\theta(kh, k^2g)$` less what is `paid` for the budget, and its `$k^2$`.
fn best_bound(
    geometry: Geometry<'_>,
    y: &[f64],
    h: &[f64],
    g: &[f64],
    paid: f64,
) -> Result<(f64, f64)> {
    let [e, hx, gx] = geometry.spectrum(y, h, g)?;
    let (sum_h, sum_g): (f64, f64) = (h.iter().sum(), g.iter().sum());
    let top = e.last().copied().unwrap_or(0.0);
    let mut best = (f64::NEG_INFINITY, 0.0);
    for exponent in SLACK_EXPONENTS {
        let k2 = 1.0 / (top.max(1.0) * (1.0 + 10f64.powi(-exponent)));
        let k = k2.sqrt();
        let mut bound = 2.0 * k * sum_h - k2 * sum_g - paid;
        for ((e, h), g) in e.iter().zip(&hx).zip(&gx) {
            bound -= (k * h - k2 * g).powi(2) / (1.0 - k2 * e);
        }
        if bound > best.0 {
            best = (bound, k2);
        }
    }
    Ok(best)
}

fn objective(geometry: Geometry<'_>, y: &[f64], c: &[f64], claim: &Claim<'_>) -> (f64, Vec<f64>) {
    let (scores, norm) = geometry.image(claim.w);
    let a: Vec<f64> = scores.iter().zip(y).map(|(m, y)| (1.0 - y * m).max(0.0)).collect();
    let (mut s, mut trace) = (vec![0.0; y.len()], 0.0);
    for k in 0..claim.factor.nrows() {
        let (image, length) = geometry.image(claim.factor.row(k));
        trace += length;
        for (s, v) in s.iter_mut().zip(image) {
            *s += v * v;
        }
    }
    let z = indicators(&a, &s, 1.0);
    let Some(budget) = claim.budget else {
        return (norm + trace + claim.dual.price * vector::dot(c, &z), z);
    };
    let within = |z: &[f64]| vector::dot(c, z) <= budget * (1.0 + BUDGET_ROUNDING);
    if within(&z) {
        return (norm + trace, z);
    }
    match enlarged(&|scale| within(&indicators(&a, &s, scale))) {
        Some(scale) => (norm + scale * trace, indicators(&a, &s, scale)),
        None => (f64::INFINITY, z),
    }
}

/// `$a^2/(a^2 + ks)$` of every row.
fn indicators(a: &[f64], s: &[f64], scale: f64) -> Vec<f64> {
    let one = |(a, s): (&f64, &f64)| {
        if *a > 0.0 { 1.0 / (1.0 + (scale * s / a) / a) } else { 0.0 }
    };
    a.iter().zip(s).map(one).collect()
}

/// The smallest factor above 1 with which `$V$` is `within` the budget, if there is one.
fn enlarged(within: &dyn Fn(f64) -> bool) -> Option<f64> {
    let (mut low, mut high) = (1.0, 2.0);
    while !within(high) {
        high *= SEARCH_FACTOR;
        if high > LARGEST_FACTOR {
            return None;
        }
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if within(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One point at 1 with `$\kappa$` = 0: w = 1 is the hard margin, and h = 1 with a large price proves it.
    #[test]
    fn the_hard_margin_of_one_point_is_proven() {
        let x = Dense::from_rows(1, 1, vec![1.0]);
        let dual = Dual { h: vec![1.0], g: vec![1e-12], price: 1e12 };
        let factor = Dense::zeros(0, 1);
        let claim = Claim { w: &[1.0], factor: &factor, dual: &dual, budget: Some(0.0) };
        let found = verdict(Geometry::Rows(&x), &[1.0], &[1.0], &claim);
        let (primal, dual) =
            found.map_or((0.0, 0.0), |v| (v.certificate.primal, v.certificate.dual));
        assert!((primal - 1.0).abs() < 1e-12 && (dual - 1.0).abs() < 1e-6, "{primal} {dual}");
    }

    proptest! {
        /// Weak duality: whatever the dual point is, even an infeasible one, the bound is below the objective of
        /// every point, in both forms and for rows given by themselves or by their inner products.
        #[test]
        fn no_bound_lies_above_any_objective(
            x in prop::collection::vec(-2.0..2.0_f64, 10),
            signs in prop::collection::vec(any::<bool>(), 5),
            w in prop::collection::vec(-3.0..3.0_f64, 2),
            factor in prop::collection::vec(-3.0..3.0_f64, 2),
            h in prop::collection::vec(-0.5..3.0_f64, 5),
            g in prop::collection::vec(-0.5..3.0_f64, 5),
            price in 0.01..20.0_f64,
            share in prop::option::of(0.05..0.9_f64),
        ) {
            let x = Dense::from_rows(5, 2, x);
            let y: Vec<f64> = signs.iter().map(|s| if *s { 1.0 } else { -1.0 }).collect();
            let c = [0.5, 1.0, 2.0, 1.0, 1.5];
            let dual = Dual { h, g, price };
            let budget = share.map(|share| 6.0 * share);
            let factor = Dense::from_rows(1, 2, factor);
            let claim = Claim { w: &w, factor: &factor, dual: &dual, budget };
            let found = verdict(Geometry::Rows(&x), &y, &c, &claim);
            let Ok(Verdict { certificate, .. }) = found else { return Ok(()) };
            let room = 1e-9 * certificate.primal.abs().max(1.0);
            prop_assert!(certificate.dual <= certificate.primal + room, "{certificate:?}");
            // The bound does not depend on how the rows are given.
            let gram = x.outer_gram();
            let none = vec![0.0; 5];
            let idle = Dense::zeros(0, 5);
            let by_gram = Claim { w: &none, factor: &idle, dual: &dual, budget };
            let again = verdict(Geometry::Gram(&gram), &y, &c, &by_gram);
            let Ok(again) = again else { return Ok(()) };
            let room = 1e-6 * certificate.dual.abs().max(1.0);
            prop_assert!((again.certificate.dual - certificate.dual).abs() <= room);
        }
    }
}
