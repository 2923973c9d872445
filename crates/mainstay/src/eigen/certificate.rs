//! The worst-case ratio of a plane, from the data alone.

use rayon::prelude::*;

use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::linalg::vector;
use crate::uncertainty::ellipsoid::Ellipsoids;

/// Rows per task.
const CHUNK: usize = 8192;

/// The largest value of (1) that rows inside their ellipsoids can produce, for every plane:
/// ```math
/// R(w, \gamma) = \frac{\sum_A (|w^\top a - \gamma| + \rho_a)^2}{\sum_B \max(|w^\top b - \gamma| - \rho_b, 0)^2};
/// ```
/// infinite if every ellipsoid of the other class reaches the plane. Without ellipsoids it is (1) itself.
///
/// `side(k, label)` says on which side of plane k's quotient rows with this label stand. One pass over the rows.
pub(super) fn worst_case_ratios(
    data: &Dataset,
    ellipsoids: Option<&Ellipsoids>,
    planes: &[(&[f64], f64)],
    side: impl Fn(usize, usize) -> Side + Sync,
    control: &Control,
) -> Result<Vec<f64>> {
    let norms = |chunk: usize| {
        control.check()?;
        let rows: Vec<usize> = (chunk * CHUNK..data.len().min((chunk + 1) * CHUNK)).collect();
        let reach = |(w, _): &(&[f64], f64)| ellipsoids.map(|all| all.supports(&rows, w));
        let reach: Vec<Option<Vec<f64>>> = planes.iter().map(reach).collect();
        let mut terms = vec![(Vec::new(), Vec::new()); planes.len()];
        for (at, &i) in rows.iter().enumerate() {
            let root = data.weights().map_or(1.0, |w| w[i].sqrt());
            for (k, (w, gamma)) in planes.iter().enumerate() {
                let rho = reach[k].as_ref().map_or(0.0, |r| r[at]);
                let distance = || (data.features().row(i).dot(w) - gamma).abs();
                match side(k, data.labels()[i]) {
                    Side::Own => terms[k].0.push(root * (distance() + rho)),
                    Side::Other => terms[k].1.push(root * (distance() - rho).max(0.0)),
                    Side::Neither => {}
                }
            }
        }
        // Roots are summed as norms, so that no square overflows.
        Ok(terms.iter().map(|(own, other)| (vector::norm(own), vector::norm(other))).collect())
    };
    let parts: Vec<Vec<(f64, f64)>> =
        (0..data.len().div_ceil(CHUNK)).into_par_iter().map(norms).collect::<Result<_>>()?;
    let ratio = |k: usize| {
        let norm = |pick: fn(&(f64, f64)) -> f64| {
            vector::norm(&parts.iter().map(|part| pick(&part[k])).collect::<Vec<_>>())
        };
        let (top, bottom) = (norm(|p| p.0), norm(|p| p.1));
        if bottom > 0.0 { (top / bottom).powi(2) } else { f64::INFINITY }
    };
    Ok((0..planes.len()).map(ratio).collect())
}

/// Where a row stands in the quotient of a plane.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    /// In the numerator: a row of the plane's class.
    Own,
    /// In the denominator.
    Other,
    /// Nowhere: a row of a third class.
    Neither,
}

/// The plane of class `a` against class `b`.
pub(super) fn pair_side((a, b): (usize, usize)) -> impl Fn(usize, usize) -> Side + Sync {
    move |_, label| {
        if label == a {
            Side::Own
        } else if label == b {
            Side::Other
        } else {
            Side::Neither
        }
    }
}
