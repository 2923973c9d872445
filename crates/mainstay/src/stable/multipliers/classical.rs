//! The fit in which every row counts, for squared hinges: Newton's method from strong to weak ridges.

use super::SAMPLE_GAP;
use super::newton::{Newton, NewtonStart};
use crate::error::Result;
use crate::optim::{Bracket, Budget};
use crate::stable::certificate::Dual;
use crate::stable::feasible::cheapest_shares;
use crate::stable::problem::{Problem, Target};
use crate::stable::row_space::Reduced;
use crate::stable::solution::{Found, Iterate};

/// Powers of ten between the strongest regularisation and the asked one.
const RIDGES: i32 = 8;
/// Width of the smoothing, in units of loss: every share is at its bound whatever the width, and a wide one
/// damps the intercept least.
const WIDTH: f64 = 1e6;

/// The classical fit, if it also solves `problem`: where no more than `k` rows have a loss (the others have no
/// slope, so that their shares do not matter), or where losses are next to nothing.
///
/// Without a threshold every score has a problem of its own.
pub(in crate::stable) fn solve(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    budget: &mut Budget<'_>,
) -> Result<Option<Found>> {
    let (n, q, tol) = (problem.n(), problem.q(), budget.tol());
    let (mut alpha, mut v) = (vec![0.0; n * q], Vec::new());
    for j in 0..q {
        let signs = (0..n).map(|i| problem.target.sign(i, j)).collect();
        let (target, k) = (Target::Signs(signs), problem.total());
        let score = Problem { target, k, ..problem.clone() };
        let limit = budget.left();
        let one =
            budget.stage(tol / q as f64, limit, |budget| solve_score(&score, reduced, budget))?;
        let reached = one.certificate().gap() <= tol;
        let (Some(iterate), Some(dual), true) = (one.point(), one.proof(), reached) else {
            return Ok(None);
        };
        dual.alpha.iter().enumerate().for_each(|(i, a)| alpha[i * q + j] = *a);
        v.extend_from_slice(&iterate.v);
    }
    let hyperplanes = reduced.hyperplanes(&v);
    let dual = Dual { share: cheapest_shares(problem, &alpha), alpha };
    let mut found = Bracket::new();
    found.offer_primal(reduced.objective(problem, &v, &hyperplanes), || Iterate { v, hyperplanes });
    found.offer_dual(reduced.bound(problem, &dual), || dual);
    Ok(Some(found).filter(|found| found.certificate().gap() <= tol))
}

/// The classical fit of one score: Newton's plain method.
///
/// On separable data fewer rows than weights have a loss in the end, and steps from afar are short; from a fit with ten
/// times the ridge they are not.
fn solve_score(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    budget: &mut Budget<'_>,
) -> Result<Found> {
    let (features, tol) = (&reduced.features, budget.tol());
    let ridge = 2.0 * reduced.ridge(problem.ridge) / problem.scale;
    let newton = |v: Vec<f64>, power: i32| {
        let start = NewtonStart { v, width: WIDTH, theta: Some(0.0) };
        let mut newton = Newton::new(problem, features, ridge * 10f64.powi(power), start);
        newton.set_reference(problem.weights);
        newton
    };
    let mut v = vec![0.0; features.z.ncols()];
    for power in (1..=RIDGES).rev() {
        let mut easier = newton(v, power);
        easier.run(SAMPLE_GAP, budget, |_| true)?;
        v = easier.v;
    }
    let mut found = Bracket::new();
    let mut last = newton(v, 0);
    last.run(tol, budget, |newton| {
        newton.offer(reduced, &mut found);
        found.certificate().gap() <= tol
    })?;
    last.offer(reduced, &mut found);
    Ok(found)
}
