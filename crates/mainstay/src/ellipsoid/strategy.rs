//! Which solver runs when: the stages of a fit, in order.

use super::interior;
use super::problem::{Multipliers, Plane, Problem};
use crate::error::Result;
use crate::linalg::Dense;
use crate::optim::cone::Points;
use crate::optim::{Bracket, Budget};

/// All rows of positive weight are of one class: w = 0 has no loss.
const ONE_CLASS: &str = "one class";
/// w = 0 and its bound, before any iteration.
const ZERO_WEIGHTS: &str = "zero weights";
/// The second-order cone program.
const INTERIOR_POINT: &str = "interior point";
/// The same along a path on which rows of small weight have small products, for weights over many decades.
const WEIGHTED_PATH: &str = "weighted path";

/// The best plane and the best multipliers of all stages, until the gap is the budget's.
///
/// The objective is counted as at least `floor`.
pub(super) fn solve(
    problem: &Problem<'_>,
    floor: f64,
    budget: &mut Budget<'_>,
) -> Result<Bracket<Plane, Multipliers>> {
    let mut bracket = Bracket::new();
    let (up, down) = problem.caps();
    if up == 0.0 || down == 0.0 {
        bracket.enter(ONE_CLASS);
        zero_weights(problem, &mut bracket);
        return Ok(bracket);
    }
    bracket.enter(ZERO_WEIGHTS);
    zero_weights(problem, &mut bracket);
    for (stage, weighted) in [(INTERIOR_POINT, false), (WEIGHTED_PATH, true)] {
        if bracket.gap(floor) > budget.tol() && budget.left() > 0 {
            bracket.enter(stage);
            interior::solve(problem, weighted, floor, &mut bracket, budget)?;
        }
    }
    Ok(bracket)
}

/// Offers w = 0, the answer for large ellipsoids, which interior points only approach, and the bound of all
/// caps of the lighter class, which is tight in the limit of small features.
fn zero_weights(problem: &Problem<'_>, bracket: &mut Bracket<Plane, Multipliers>) {
    let (n, p) = (problem.x.nrows(), problem.x.ncols());
    let (up, down) = problem.caps();
    let b = if up >= down { 1.0 } else { -1.0 };
    bracket.offer_primal(2.0 * up.min(down), || Plane { w: vec![0.0; p], b });
    let cones = problem.shapes.len();
    bracket.offer_dual(0.0, || Multipliers { a: vec![0.0; n], zeta: Dense::zeros(cones, p) });
    interior::offer_dual(problem, problem.cap, &Points::new(vec![0.0; cones], p), bracket);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::uncertainty::ellipsoid::View;

    /// Rows on a line with a ball of radius `r` around each; C is 1.
    fn route(x: &[f64], y: &[f64], r: f64) -> Bracket<Plane, Multipliers> {
        weighted_route(x, y, &vec![1.0; x.len()], r)
    }

    /// The same with caps.
    fn weighted_route(x: &[f64], y: &[f64], cap: &[f64], r: f64) -> Bracket<Plane, Multipliers> {
        let (n, control) = (x.len(), Control::new());
        let problem = Problem {
            x: &Dense::from_rows(n, 1, x.to_vec()),
            y,
            cap,
            of: &vec![0; n],
            multiplier: &vec![1.0; n],
            shapes: &[View::Ball(r)],
        };
        let mut budget = Budget::new(1e-6, 100, &control);
        let bracket = solve(&problem, 1.0, &mut budget).unwrap_or_default();
        assert!(bracket.gap(1.0) <= 1e-6, "{:?}", bracket.certificate());
        bracket
    }

    #[test]
    fn rows_of_one_class_need_no_weights() {
        let bracket = route(&[-1.0, 1.0], &[-1.0, -1.0], 0.1);
        assert_eq!(bracket.route(), [ONE_CLASS]);
        assert_eq!(bracket.delivered_by(), (ONE_CLASS, ONE_CLASS));
        assert_eq!(bracket.upper(), 0.0);
        assert!(bracket.point().is_some_and(|plane| plane.b == -1.0 && plane.w == [0.0]));
    }

    #[test]
    fn classes_with_the_same_rows_get_zero_weights_without_an_iteration() {
        let bracket = route(&[-1.0, 1.0, -1.0, 1.0], &[-1.0, -1.0, 1.0, 1.0], 0.1);
        assert_eq!(bracket.route(), [ZERO_WEIGHTS]);
        assert_eq!(bracket.upper(), 4.0);
    }

    /// At -1 and 1 with radius 1/2 the nearest points are at -1/2 and 1/2: w = 2 C / 2 = 1, objective 1/2 + 1.
    #[test]
    fn classes_apart_are_told_apart_by_the_interior_point() {
        let bracket = route(&[-1.0, 1.0], &[-1.0, 1.0], 0.5);
        assert_eq!(bracket.route(), [ZERO_WEIGHTS, INTERIOR_POINT]);
        assert_eq!(bracket.delivered_by(), (INTERIOR_POINT, INTERIOR_POINT));
        assert!((bracket.upper() - 1.5).abs() <= 2e-6, "{}", bracket.upper());
    }

    /// Balls of radius 1.2 around -1 and 1 overlap: w = 0, which only the bound has to be found for.
    #[test]
    fn ellipsoids_that_overlap_leave_the_plane_to_zero_weights_and_the_bound_to_the_interior_point()
    {
        let bracket = route(&[-1.0, 1.0], &[-1.0, 1.0], 1.2);
        assert_eq!(bracket.delivered_by(), (ZERO_WEIGHTS, INTERIOR_POINT));
        assert_eq!(bracket.upper(), 2.0);
    }

    #[test]
    fn rows_of_very_different_weight_are_left_to_the_weighted_path() {
        let x = [-1.0, -0.8, 0.3, 0.2, 1.0, -0.4, 0.9, -0.1];
        let y = [-1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0];
        let cap = [1e6, 1e-6, 3e-4, 2.0, 1e5, 4e-5, 1e-3, 1e2];
        let bracket = weighted_route(&x, &y, &cap, 0.1);
        assert_eq!(bracket.route(), [ZERO_WEIGHTS, INTERIOR_POINT, WEIGHTED_PATH]);
        assert_eq!(bracket.delivered_by(), (WEIGHTED_PATH, WEIGHTED_PATH));
    }
}
