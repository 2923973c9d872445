//! The fit in which every row counts, for squared hinges.

use super::{Newton, ROUGH, Start};
use crate::error::Result;
use crate::stable::certificate::{Dual, certify, cheapest_shares};
use crate::stable::interior::{Limits, Solution};
use crate::stable::problem::{Problem, Target};
use crate::stable::reduce::Reduced;

/// Powers of ten between the strongest regularisation and the asked one.
const WALK: i32 = 8;
/// Every share is at its bound whatever the width; a wide one holds the intercept least.
const WIDTH: f64 = 1e6;

/// The classical fit, if it also solves `problem`: where no more than `k` rows have a loss (the others have no slope, so
/// that their shares do not matter), or where losses are next to nothing.
///
/// Without a threshold every score has a problem of its own.
pub(in crate::stable) fn classical(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    limits: Limits<'_>,
) -> Result<Option<Solution>> {
    let (n, q) = (problem.n(), problem.q());
    let part = Limits { tol: limits.tol / q as f64, ..limits };
    let (mut pull, mut warm, mut n_iter) = (vec![0.0; n * q], Vec::new(), 0);
    for j in 0..q {
        let signs = (0..n).map(|i| problem.target.sign(i, j)).collect();
        let (target, k) = (Target::Signs(signs), problem.total());
        let found = alone(&Problem { target, k, ..problem.clone() }, reduced, part)?;
        let reached = found.certificate.gap() <= limits.tol;
        if !reached {
            return Ok(None);
        }
        found.dual.pull.iter().enumerate().for_each(|(i, v)| pull[i * q + j] = *v);
        warm.extend(found.warm);
        n_iter = n_iter.max(found.n_iter);
    }
    let point = reduced.point(&warm);
    let dual = Dual { share: cheapest_shares(problem, &pull), pull };
    let certificate = certify(problem, &point, &dual);
    let solves = certificate.gap() <= limits.tol;
    Ok(solves.then_some(Solution { point, dual, certificate, n_iter, warm }))
}

/// The classical fit of one score: Newton's plain method.
///
/// On separable data fewer rows than weights have a loss in the end, and steps from afar are short; from a fit with ten
/// times the ridge they are not.
fn alone(problem: &Problem<'_>, reduced: &Reduced<'_>, limits: Limits<'_>) -> Result<Solution> {
    let features = &reduced.features;
    let ridge = 2.0 * reduced.ridge(problem.ridge) / problem.scale;
    let newton = |v: Vec<f64>, power: i32| {
        let start = Start { v, width: WIDTH, theta: Some(0.0) };
        let mut newton = Newton::new(problem, features, ridge * 10f64.powi(power), start);
        newton.reference.share.copy_from_slice(problem.weights);
        newton.weigh();
        newton
    };
    let (mut v, mut steps) = (vec![0.0; features.z.ncols()], 0);
    for power in (1..=WALK).rev() {
        let mut easier = newton(v, power);
        steps += easier.run(ROUGH, limits.after(steps), |_| true)?;
        v = easier.v;
    }
    let mut last = newton(v, 0);
    steps += last.run(limits.tol, limits.after(steps), |newton| {
        newton.certified(reduced).certificate.gap() <= limits.tol
    })?;
    Ok(Solution { n_iter: steps, ..last.certified(reduced) })
}
