//! Which computation finds a plane, and what follows if it does not work.

use super::moments::Moments;
use super::nominal::{Plane, pair};
use super::problem::Regularization;
use super::robust_ratio::RobustRatio;
use super::units::PlaneUnits;
use crate::control::Control;
use crate::data::Dataset;
use crate::error::Result;

/// Eigenvectors of the sums over the rows of both classes.
pub(super) const SUMS: &str = "sums";
/// Singular vectors of the rows themselves, whose condition number is not squared.
pub(super) const ROWS: &str = "rows";
/// No ellipsoid counts: the nominal plane.
pub(super) const NOMINAL: &str = "nominal plane";
/// The paper's alternation.
pub(super) const PAPER: &str = "paper's iteration";
/// Descent with the ellipsoids as they are.
pub(super) const DESCENT: &str = "descent";
/// Descent with the largest ellipsoids for which a plane among the rows is best.
pub(super) const SMALLER_ELLIPSOIDS: &str = "smaller ellipsoids";

/// A worst-case ratio this close to that of the plane at infinity means that no plane among the rows is better
/// (errata B9).
pub(super) const NO_BETTER: f64 = 1e-3;

/// Halvings of the interval in which the largest size that works is searched: to 1/256.
const HALVINGS: usize = 8;

/// Planes of every class against every other, in the order of the other classes.
pub(super) type PairPlanes = Vec<Vec<Plane>>;

/// Planes of all pairs of classes from `moments`; the flag says that these were too ill-conditioned to be trusted.
pub(super) fn planes_of(
    moments: &Moments,
    kind: Regularization,
    delta: f64,
    control: &Control,
) -> Result<(PairPlanes, bool)> {
    let classes = moments.counts().len();
    let mut planes = vec![Vec::new(); classes];
    let mut any_poor = false;
    for a in 0..classes {
        for b in a + 1..classes {
            control.check()?;
            let ([first, second], poor) = pair(moments, (a, b), kind, delta, control)?;
            planes[a].push(first);
            planes[b].push(second);
            any_poor |= poor;
        }
    }
    Ok((planes, any_poor))
}

/// Planes without uncertainty: from sums over the rows, and from the rows themselves where the sums are too
/// ill-conditioned. The last value is the route.
pub(super) fn nominal_planes(
    data: &Dataset,
    kind: Regularization,
    delta: f64,
    control: &Control,
) -> Result<(Moments, PairPlanes, Vec<&'static str>)> {
    let moments = Moments::new(data, control)?;
    let (planes, poor) = planes_of(&moments, kind, delta, control)?;
    if !poor {
        return Ok((moments, planes, vec![SUMS]));
    }
    let moments = Moments::keep_rows(data, control)?;
    let planes = planes_of(&moments, kind, delta, control)?.0;
    Ok((moments, planes, vec![SUMS, ROWS]))
}

/// A robust plane and how it was found.
#[derive(Debug)]
pub(super) struct RobustPlane {
    pub plane: Plane,
    pub n_iter: usize,
    pub stage: &'static str,
    /// Where the ellipsoids are too large: the part of them that the plane is robust against.
    pub works: Option<f64>,
}

/// Minimises the worst-case ratio from a start that is at least as good as the nominal plane; where the plane at
/// infinity is better, with the largest part of the ellipsoids for which it is not.
pub(super) fn robust_plane(
    mut problem: RobustRatio<'_>,
    units: &PlaneUnits,
    (nominal, warm): (&Plane, Option<&Plane>),
    (tol, max_iter): (f64, usize),
    control: &Control,
) -> Result<RobustPlane> {
    let inside = |plane: &Plane| units.inside(&plane.w, plane.gamma);
    let nominal_z = inside(nominal);
    let warm_z = warm.map(inside).filter(|z| problem.ratio(z) <= problem.ratio(&nominal_z));
    let share = problem.share;
    let mut at_size = |size: f64, from: &[f64]| -> Result<Option<(Plane, usize)>> {
        problem.share = size * share;
        let Some(found) = problem.descend(from, tol, max_iter, control)? else { return Ok(None) };
        if found.plain >= problem.at_infinity() * (1.0 - NO_BETTER) {
            return Ok(None);
        }
        let Some((w, gamma)) = units.outside(&found.z) else { return Ok(None) };
        let quotient = found.history[found.history.len() - 1];
        Ok(Some((Plane { w, gamma, quotient }, found.history.len().max(2) - 1)))
    };
    if let Some((plane, n_iter)) = at_size(1.0, warm_z.as_deref().unwrap_or(&nominal_z))? {
        return Ok(RobustPlane { plane, n_iter, stage: DESCENT, works: None });
    }
    let (mut low, mut high) = (0.0, 1.0);
    let mut best = (nominal.clone(), 1);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        match at_size(middle, &nominal_z)? {
            Some(found) => (best, low) = (found, middle),
            None => high = middle,
        }
    }
    let (plane, n_iter) = best;
    Ok(RobustPlane { plane, n_iter, stage: SMALLER_ELLIPSOIDS, works: Some(low) })
}

/// What the user reads where only a part `works` of the ellipsoids leaves a plane among the rows.
pub(super) fn too_large((own, other): (usize, usize), works: f64) -> String {
    let what = if works > 0.0 {
        format!(
            "the plane returned is robust against {works:.2} times the uncertainty, which still works"
        )
    } else {
        "the nominal plane is returned; less than 0.01 times the uncertainty would work".into()
    };
    format!(
        "the uncertainty is too large for the plane of class index {own} against {other}: the plane at infinity is \
         optimal; {what}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Shape;
    use crate::eigen::{RobustRegecParams, Xi};
    use crate::linalg::Dense;
    use crate::model::{Estimator, Fitted};

    /// Two classes along two lines, `apart` from each other.
    fn lines(apart: f64) -> Dataset {
        let x = Dense::from_fn(20, 2, |i, j| match j {
            0 => (i % 10) as f64 - 4.5,
            _ => (if i < 10 { 0.0 } else { apart }) + 0.1 * ((7 * i % 5) as f64 - 2.0),
        });
        let labels = (0..20).map(|i| usize::from(i >= 10)).collect();
        Dataset::new(x.into(), labels, 2).unwrap_or_else(|e| unreachable!("{e}"))
    }

    #[test]
    fn well_conditioned_classes_are_solved_from_sums() {
        let found = nominal_planes(&lines(3.0), Regularization::Cross, 1e-4, &Control::new());
        assert_eq!(found.map(|f| f.2).unwrap_or_default(), [SUMS]);
    }

    /// A third feature equals the first up to 1e-6: squared, that is beyond what sums can tell from rounding.
    #[test]
    fn nearly_collinear_features_are_solved_from_the_rows() {
        let plain = lines(3.0).features().to_dense();
        let x = Dense::from_fn(20, 3, |i, j| match j {
            2 => plain[(i, 0)] + 1e-6 * ((3 * i % 7) as f64 - 3.0),
            _ => plain[(i, j)],
        });
        let data = Dataset::new(x.into(), lines(3.0).labels().to_vec(), 2)
            .unwrap_or_else(|e| unreachable!("{e}"));
        let found = nominal_planes(&data, Regularization::None, 0.0, &Control::new());
        assert_eq!(found.map(|f| f.2).unwrap_or_default(), [SUMS, ROWS]);
    }

    fn robust(radius: f64) -> Fitted {
        let params = RobustRegecParams {
            uncertainty: Shape::Ball(radius),
            xi: Xi::Fixed(0.0),
            ..RobustRegecParams::default()
        };
        let fitted = params.check().and_then(|e| e.fit(&lines(3.0), &Control::new()));
        fitted.unwrap_or_else(|e| unreachable!("{e}"))
    }

    #[test]
    fn small_ellipsoids_are_met_by_one_descent() {
        assert_eq!(robust(0.1).route, [SUMS, DESCENT]);
    }

    /// Balls of radius 4 around lines 3 apart: every plane among the rows is reached by all of them.
    #[test]
    fn ellipsoids_that_cover_everything_are_made_smaller() {
        let fitted = robust(4.0);
        assert!(fitted.route.iter().any(|stage| stage == SMALLER_ELLIPSOIDS), "{:?}", fitted.route);
        assert!(fitted.warnings.iter().any(|w| w.contains("too large")), "{:?}", fitted.warnings);
    }

    #[test]
    fn points_need_no_descent() {
        assert_eq!(robust(0.0).route, [SUMS, NOMINAL]);
    }
}
