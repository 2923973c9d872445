//! Planes of pairs of classes without uncertainty, and how many planes become one.

use super::generalized_eigen::{self, Eigenpair};
use super::lanczos::{self, DiagonalPlusGram};
use super::moments::{ClassMoments, Moments};
use super::problem::{Diagonal, Penalty, Regularization, ScaledDiagonal};
use super::units::PlaneUnits;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::linalg::{Dense, Svd, vector};
use crate::optim::design::RowSpace;

/// Reciprocal condition number of the moments below which too few digits of a plane are right.
const ILL_CONDITIONED: f64 = 1e-9;

/// A plane with unit normal in the user's coordinates, and the quotient it was found with.
#[derive(Debug, Clone)]
pub(super) struct Plane {
    pub w: Vec<f64>,
    pub gamma: f64,
    pub quotient: f64,
}

impl Plane {
    pub(super) fn as_borrowed(&self) -> (&[f64], f64) {
        (&self.w, self.gamma)
    }

    pub(super) fn from_units(units: &PlaneUnits, eigenpair: &Eigenpair) -> Result<Self> {
        let (w, gamma) = units.outside(&eigenpair.z).ok_or_else(no_plane)?;
        Ok(Self { w, gamma, quotient: eigenpair.value })
    }
}

fn no_plane() -> Error {
    Error::BadData(
        "no plane tells the classes apart: their rows are constant or equal; drop constant features"
            .into(),
    )
}

/// The planes of classes `a` (against `b`) and `b` (against `a`): ends of the pencil (4) or (7). The flag
/// says that the sums were too ill-conditioned to be trusted.
pub(super) fn pair(
    moments: &Moments,
    (a, b): (usize, usize),
    kind: Regularization,
    delta: f64,
    control: &Control,
) -> Result<([Plane; 2], bool)> {
    let units = &moments.units;
    let (own, other) = (moments.diagonal(a), moments.diagonal(b));
    let penalty = |own, other| Penalty::new(kind, delta, own, other);
    let (forth, back) = (penalty(&own, &other), penalty(&other, &own));
    let (eigenpairs, poor) = match (moments.part(a), moments.part(b)) {
        (ClassMoments::Gram(g), ClassMoments::Gram(h)) => {
            let ends = |g: &Dense, h: &Dense, penalty: &Penalty| {
                let (mut n, mut d) = (g.clone(), h.clone());
                ScaledDiagonal::new(&penalty.numerator, units).add_to(&mut n);
                ScaledDiagonal::new(&penalty.denominator, units).add_to(&mut d);
                generalized_eigen::both_ends(&n, &d)?.ok_or_else(no_plane)
            };
            let ([first, mut second], mut condition) = ends(&g, &h, &forth)?;
            if kind == Regularization::Tikhonov {
                let ([own, _], more) = ends(&h, &g, &back)?;
                second = own;
                condition = condition.min(more);
            }
            ([first, second], condition < ILL_CONDITIONED)
        }
        (ClassMoments::Rows(x), ClassMoments::Rows(y)) => {
            let one = |x: &Dense, y: &Dense, penalty: &Penalty| {
                smallest_of_rows((x, y), penalty, kind, units, control)
            };
            ([one(&x, &y, &forth)?, one(&y, &x, &back)?], false)
        }
        _ => return Err(Error::Numerical("sums of different kinds".into())),
    };
    let [first, second] = eigenpairs;
    Ok(([Plane::from_units(units, &first)?, Plane::from_units(units, &second)?], poor))
}

/// The smallest quotient for classes given by rows; without a matrix of order p where these are fewer than features.
fn smallest_of_rows(
    (x, y): (&Dense, &Dense),
    penalty: &Penalty,
    kind: Regularization,
    units: &PlaneUnits,
    control: &Control,
) -> Result<Eigenpair> {
    let wide = x.nrows() + y.nrows() < x.ncols();
    if wide && kind != Regularization::None {
        let numerator = form(x, &penalty.numerator, units);
        return lanczos::minimise(&numerator, &form(y, &penalty.denominator, units), control);
    }
    let [low, _] = generalized_eigen::both_ends_of_rows(
        &with_rows(x, &penalty.numerator, units),
        &with_rows(y, &penalty.denominator, units),
    )?
    .ok_or_else(no_plane)?;
    Ok(low)
}

/// Rows and penalty as rows'rows + diagonal.
fn form(rows: &Dense, penalty: &Diagonal, units: &PlaneUnits) -> DiagonalPlusGram {
    let inside = ScaledDiagonal::new(penalty, units);
    let mut data = rows.data().to_vec();
    let mut height = rows.nrows();
    if inside.weight > 0.0 {
        data.extend(inside.row.iter().map(|v| v * inside.weight.sqrt()));
        height += 1;
    }
    let diagonal = inside.diagonal.iter().copied().chain([0.0]).collect();
    DiagonalPlusGram { rows: Dense::from_rows(height, rows.ncols(), data), diagonal }
}

/// Rows, and the penalty as more rows.
fn with_rows(rows: &Dense, penalty: &Diagonal, units: &PlaneUnits) -> Dense {
    let DiagonalPlusGram { rows, diagonal } = form(rows, penalty, units);
    let q = rows.ncols();
    let (mut height, mut data) = (rows.nrows(), rows.into_data());
    for (j, d) in diagonal.iter().enumerate().filter(|(_, d)| **d > 0.0) {
        let start = data.len();
        data.resize(start + q, 0.0);
        data[start + j] = d.sqrt();
        height += 1;
    }
    Dense::from_rows(height, q, data)
}

/// Theorem 1: the plane of `a` against `b` when G may be off by `eta_a` and H by `eta_b` in norm,
/// from `$(G + \eta_a I) z = \lambda (H - \eta_b I) z$`.
///
/// The theorem's smallest eigenvalue is right only for `eta_b` below the smallest eigenvalue of H;
/// beyond that it is the smallest positive one (errata B6).
pub(super) fn norm_robust(
    moments: &Moments,
    (a, b): (usize, usize),
    eta_a: f64,
    eta_b: f64,
) -> Result<Plane> {
    let p = moments.n_features();
    let units = &moments.units;
    let none = || {
        Error::Infeasible(format!(
            "no robust plane exists for class index {a}: `eta_b` = {eta_b} is at least every eigenvalue of the \
             matrix of class index {b}; use a smaller `eta_b`"
        ))
    };
    let eigenpair = match (moments.part(a), moments.part(b)) {
        (ClassMoments::Gram(mut g), ClassMoments::Gram(mut h)) => {
            ScaledDiagonal::new(&Diagonal::constant(p, eta_a), units).add_to(&mut g);
            ScaledDiagonal::new(&Diagonal::constant(p, -eta_b), units).add_to(&mut h);
            generalized_eigen::smallest_positive(&g, &h)?.ok_or_else(none)?
        }
        (ClassMoments::Rows(x), ClassMoments::Rows(y)) => {
            return norm_robust_of_rows(units, (&x, &y), eta_a, eta_b)?.ok_or_else(none);
        }
        _ => return Err(Error::Numerical("sums of different kinds".into())),
    };
    Plane::from_units(units, &eigenpair)
}

/// [`norm_robust`] for few rows: with identity penalties the answer lies in the span of the rows (x, -1) in the
/// user's units. `None` if no robust plane exists.
fn norm_robust_of_rows(
    units: &PlaneUnits,
    (x, y): (&Dense, &Dense),
    eta_a: f64,
    eta_b: f64,
) -> Result<Option<Plane>> {
    let p = x.ncols() - 1;
    let raw = |rows: &Dense| {
        Dense::from_fn(rows.nrows(), p + 1, |i, j| {
            if j == p {
                rows[(i, p)]
            } else {
                rows[(i, j)] * units.scale[j] - rows[(i, p)] * units.center[j]
            }
        })
    };
    let (x, y) = (raw(x), raw(y));
    let unit = x.max_abs().max(y.max_abs()).max(1.0);
    let data: Vec<f64> = x.data().iter().chain(y.data()).map(|v| v / unit).collect();
    let height = x.nrows() + y.nrows();
    let space = RowSpace::new(&Dense::from_rows(height, p + 1, data));
    let gram = |rows: std::ops::Range<usize>, shift: f64| {
        let part = space.coordinates.select_rows(&rows.collect::<Vec<_>>());
        let mut gram = part.tr_mul(&part);
        gram.add_diagonal(shift / unit / unit);
        gram
    };
    let (n, d) = (gram(0..x.nrows(), eta_a), gram(x.nrows()..height, -eta_b));
    let Some(found) = generalized_eigen::smallest_positive(&n, &d)? else { return Ok(None) };
    let z = space.lift(&found.z);
    let length = vector::norm(&z[..p]);
    if length.is_nan() || length <= 0.0 {
        return Err(no_plane());
    }
    let first = z[..p].iter().fold(0.0, |m: f64, v| if v.abs() > m.abs() { *v } else { m });
    let unit = length.copysign(first);
    let w = z[..p].iter().map(|v| v / unit).collect();
    Ok(Some(Plane { w, gamma: z[p] / unit, quotient: found.value }))
}

/// One plane for class `k` from its planes against every other class: unit normals merged by their
/// leading singular vector, offset the mean of `$w^\top x$` over the class (errata B8). A single plane stays.
pub(super) fn merge(moments: &Moments, k: usize, planes: &[Plane]) -> Result<(Vec<f64>, f64)> {
    if let [plane] = planes {
        return Ok((plane.w.clone(), plane.gamma));
    }
    let p = moments.n_features();
    let stacked = Dense::from_fn(planes.len(), p, |i, j| planes[i].w[j]);
    let mut w = Svd::new(&stacked)?.v.column(0);
    let first = w.iter().fold(0.0, |m: f64, v| if v.abs() > m.abs() { *v } else { m });
    let unit = vector::norm(&w).copysign(first);
    vector::scale(&mut w, 1.0 / unit);
    let gamma = moments.mean_score(k, &w);
    Ok((w, gamma))
}
