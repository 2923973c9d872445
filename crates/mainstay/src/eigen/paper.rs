//! Algorithm 1 of the paper, repaired (errata B2, B3, B5).

use super::certificate::{pair_side, worst_case_ratios};
use super::moments::Moments;
use super::nominal::{Plane, pair};
use super::problem::Regularization;
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::uncertainty::ellipsoid::Ellipsoids;

/// What the iteration works on: class 0 is the plane's own.
pub(super) struct Iteration<'a> {
    /// Two classes, with weights.
    pub data: &'a Dataset,
    pub ellipsoids: &'a Ellipsoids,
    pub regularization: Regularization,
    pub delta: f64,
    /// f = 1 - xi: rows move this part of the way, Eq. (32).
    pub share: f64,
}

impl Iteration<'_> {
    /// The plane fitted to moved rows, with the sign of the plane before it.
    fn plane_of(&self, moved: Dense, last: &Plane, control: &Control) -> Result<Plane> {
        let moments = Moments::new(&self.data.replace_features(moved.into()), control)?;
        let ([mut plane, _], _) = pair(&moments, (0, 1), self.regularization, self.delta, control)?;
        if vector::dot(&plane.w, &last.w) < 0.0 {
            vector::scale(&mut plane.w, -1.0);
            plane.gamma = -plane.gamma;
        }
        Ok(plane)
    }
}

/// Moves every row to its worst place for the present plane, Eq. (28) (farthest for the own class,
/// nearest for the other, on the plane where the ellipsoid reaches it), fits a plane to the moved rows,
/// and repeats while `$\|z_i - z_{i-1}\| >$` `tol` (unit normals, signs aligned).
///
/// The iteration rarely converges; then the plane with the best worst-case ratio is returned. The last
/// two values are the iterations used and whether it converged.
pub(super) fn iterate(
    problem: &Iteration<'_>,
    nominal: Plane,
    tol: f64,
    max_iter: usize,
    control: &Control,
) -> Result<(Plane, usize, bool)> {
    let data = problem.data;
    let scaled = problem.ellipsoids.clone().scaled(problem.share);
    let judge = |plane: &Plane| -> Result<f64> {
        let (all, one) = (Some(&scaled), [plane.as_borrowed()]);
        Ok(worst_case_ratios(data, all, &one, pair_side((0, 1)), control)?[0])
    };

    let centres = data.features().to_dense();
    let (mut best, mut value) = (nominal.clone(), judge(&nominal)?);
    let mut last = nominal;
    for iteration in 1..=max_iter {
        control.check()?;
        let moved = worst_places(data.labels(), &centres, &scaled, &last);
        let plane = problem.plane_of(moved, &last, control)?;
        let weights = plane.w.iter().zip(&last.w).map(|(a, b)| a - b);
        let change: Vec<f64> = weights.chain([plane.gamma - last.gamma]).collect();
        let ratio = judge(&plane)?;
        if ratio < value {
            value = ratio;
            best = plane.clone();
        }
        if vector::norm(&change) <= tol {
            return Ok((plane, iteration, true));
        }
        last = plane;
    }
    Ok((best, max_iter, false))
}

/// Every row at its worst place for `plane`, Eq. (28).
fn worst_places(labels: &[usize], centres: &Dense, scaled: &Ellipsoids, plane: &Plane) -> Dense {
    let mut moved = Vec::with_capacity(centres.data().len());
    for (i, &class) in labels.iter().enumerate() {
        let view = scaled.row(i);
        moved.extend(if class == 0 {
            view.farthest(centres.row(i), &plane.w, plane.gamma)
        } else {
            view.nearest(centres.row(i), &plane.w, plane.gamma)
        });
    }
    Dense::from_rows(centres.nrows(), centres.ncols(), moved)
}
