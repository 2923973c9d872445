//! Rows and ellipsoids in the units of the solver, and the way back.

use super::certificate::{Evaluated, Given, certify};
use super::estimator::EllipsoidParams;
use super::problem::{Multipliers, Plane, Problem};
use super::strategy;
use crate::control::Control;
use crate::data::{Dataset, Shape, check_squares};
use crate::error::{Error, Result};
use crate::linalg::{Dense, vector};
use crate::model::{BinaryFit, BinaryProblem, one_each};
use crate::optim::design::{ColumnUnits, RowSpace, finite_model, power_of_two_above};
use crate::optim::{Bracket, Budget};
use crate::uncertainty::ellipsoid::Ellipsoids;

/// Caps beyond this, in solver units, leave no trace of `$\|w\|^2/2$` in the objective. All are scaled down alike then,
/// which moves the optimum by less than rounding and keeps squares within the range of numbers.
const LARGEST_CAP: f64 = 1e24;

/// A new intercept must lower the objective by this part: rounding is no improvement.
const WORTHWHILE: f64 = 1e-9;

/// The part of the gap that the solver must prove: the rest is room for the certificate's allowance for rounding.
const AIM: f64 = 0.5;

/// Rows centred, divided by a power of two, and as coordinates in their own span where only lengths of w
/// matter and there are more features than rows; ellipsoids scaled alike.
pub(super) struct Prepared {
    /// One row per sample.
    x: Dense,
    units: ColumnUnits,
    scale: f64,
    space: Option<RowSpace>,
    pub ellipsoids: Ellipsoids,
    /// Whether all rows have the ellipsoid of the parameters.
    alike: bool,
}

impl Prepared {
    pub(super) fn new(data: &Dataset, given: &Dataset, shared: &Shape) -> Result<Self> {
        let mut x = data.features().to_dense();
        let (n, p) = (x.nrows(), x.ncols());
        check_squares(x.max_abs())?;
        let means = x.means(&vec![1.0 / n as f64; n]);
        for i in 0..n {
            x.row_mut(i).iter_mut().zip(&means).for_each(|(v, m)| *v -= m);
        }
        let scale = power_of_two_above(x.max_abs());
        vector::scale(x.data_mut(), 1.0 / scale);
        let mut ellipsoids = Ellipsoids::traced(data, given, shared)?.scaled(1.0 / scale);
        let mut space = None;
        if p > n
            && let Some(balls) = ellipsoids.balls_in(n)
        {
            let found = RowSpace::new(&x);
            x = found.coordinates.clone();
            space = Some(found);
            ellipsoids = balls;
        }
        let units = ColumnUnits { factors: vec![1.0 / scale; p], means };
        let alike = given.uncertainty().is_none();
        Ok(Self { x, units, scale, space, ellipsoids, alike })
    }

    /// Solves one binary problem with these ellipsoids and losses of weight `c`.
    pub(super) fn fit(
        &self,
        binary: &BinaryProblem<'_>,
        ellipsoids: &Ellipsoids,
        c: f64,
        params: &EllipsoidParams,
        control: &Control,
    ) -> Result<BinaryFit> {
        let unit = self.scale * self.scale;
        let cap: Vec<f64> = binary.weights.iter().map(|w| c * w).collect();
        let unit = unit.min(LARGEST_CAP / vector::norm_inf(&cap));
        let solver_cap: Vec<f64> = cap.iter().map(|c| c * unit).collect();
        let grouped = ellipsoids.grouped(self.x.nrows());
        let problem = Problem {
            x: &self.x,
            y: &binary.y,
            cap: &solver_cap,
            of: &grouped.of,
            multiplier: &grouped.multiplier,
            shapes: &grouped.shapes,
        };
        let mut budget = Budget::new(AIM * params.tol, params.max_iter, control);
        let found = strategy::solve(&problem, unit, &mut budget)?;
        let given = Given { rows: binary.x, y: &binary.y, cap: &cap, scale: self.scale };
        let shares = found.proof().map(|m| m.a.iter().zip(&solver_cap).map(|(a, cap)| a / cap));
        let proof = match shares {
            Some(shares) if control.wants_proof() && self.alike => {
                vec![("multipliers", one_each(shares))]
            }
            _ => Vec::new(),
        };
        let fit = self.in_user_units(&problem, &given, found, params.tol, budget.spent())?;
        Ok(BinaryFit { proof, ..fit })
    }

    /// The returned numbers and their proof.
    fn in_user_units(
        &self,
        problem: &Problem<'_>,
        given: &Given<'_>,
        found: Bracket<Plane, Multipliers>,
        tol: f64,
        n_iter: usize,
    ) -> Result<BinaryFit> {
        let route = found.route().to_vec();
        let (Some(plane), Some(multipliers)) = found.into_points() else {
            return Err(Error::Numerical(
                "the ellipsoid SVM has no answer; rescale the features".into(),
            ));
        };
        let spanned = match &self.space {
            Some(space) => space.lift(&plane.w),
            None => plane.w,
        };
        let (w, b) = self.units.to_user(&spanned, plane.b)?;
        let (plane, evaluated) = settle_intercept(problem, given, Plane { w, b })?;
        let certificate = certify(problem, &evaluated, &multipliers, given.scale);
        let mut warnings = Vec::new();
        let (up, down) = problem.caps();
        let zero = plane.w.iter().all(|v| *v == 0.0) && up > 0.0 && down > 0.0;
        if zero && certificate.gap() <= tol {
            warnings.push(why_zero(problem).into());
        }
        Ok(BinaryFit {
            weights: plane.w,
            intercept: plane.b,
            certificate: Some(certificate),
            n_iter,
            row_outputs: Vec::new(),
            outputs: Vec::new(),
            warnings,
            route,
            proof: Vec::new(),
        })
    }
}

/// What to do where zero weights are optimal. Multipliers that prove it are a multiple of C: it is so for every C.
fn why_zero(problem: &Problem<'_>) -> &'static str {
    if problem.shapes.is_empty() {
        "w = 0 is optimal even without uncertainty, whatever `C`: all rows get one class; try `class_weight` = \
         \"balanced\" if one class is rare, or other features"
    } else {
        "the uncertainty is so large that w = 0 is optimal: all rows get one class; try a smaller `uncertainty`, or \
         `class_weight` = \"balanced\" if one class is rare"
    }
}

/// The best intercept for the weights that are returned, and what it leaves of the objective.
///
/// Where features are far from zero for their spread, rounding the weights moves all scores; a new intercept takes
/// most of that back.
fn settle_intercept(
    problem: &Problem<'_>,
    given: &Given<'_>,
    plane: Plane,
) -> Result<(Plane, Evaluated)> {
    let now = given.evaluate(problem, &plane);
    let needed = now.objective - WORTHWHILE * now.objective.max(1.0);
    let moved = problem.best_intercept(&now.scores, &now.spread);
    let scores: Vec<f64> = now.scores.iter().map(|score| score + moved).collect();
    if given.objective(&plane.w, &scores, &now.spread).0 < needed {
        // The new intercept is rounded too: what counts is what it does.
        let (w, b) = finite_model(plane.w.clone(), plane.b + moved)?;
        let other = Plane { w, b };
        let then = given.evaluate(problem, &other);
        if then.objective < needed {
            return Ok((other, then));
        }
    }
    Ok((plane, now))
}
