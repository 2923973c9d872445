//! The fit in which every row counts, for squared hinges.

use super::{Newton, ROUGH, Start};
use crate::error::Result;
use crate::stable::certificate::certify;
use crate::stable::interior::{Limits, Solution};
use crate::stable::problem::Problem;
use crate::stable::reduce::Reduced;

/// Powers of ten between the strongest regularisation and the asked one.
const WALK: i32 = 8;
/// Every share is at its bound whatever the width; a wide one holds the intercept least.
const WIDTH: f64 = 1e6;

/// The classical fit, if it also solves `problem`: where no more than `k` rows have a loss (the others have no slope, so
/// that their shares do not matter).
///
/// Without a threshold this is Newton's plain method. On separable data fewer rows than weights have a loss in the end,
/// and steps from afar are short; from a fit with ten times the ridge they are not.
pub(in crate::stable) fn classical(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    limits: Limits<'_>,
) -> Result<Option<Solution>> {
    let everything = Problem { k: problem.total(), ..problem.clone() };
    let features = &reduced.features;
    let ridge = 2.0 * reduced.ridge(problem.ridge) / problem.scale;
    let (mut v, mut steps) = (vec![0.0; features.z.ncols()], 0);
    for power in (0..=WALK).rev() {
        let start = Start { v, width: WIDTH, theta: Some(0.0) };
        let ridge = ridge * 10f64.powi(power);
        let mut newton = Newton::new(&everything, features, ridge, start);
        newton.reference.share.copy_from_slice(problem.weights);
        newton.weigh();
        if power > 0 {
            steps += newton.run(ROUGH, limits.after(steps), |_| true)?;
            v = newton.v;
            continue;
        }
        let mut found = None;
        steps += newton.run(limits.tol, limits.after(steps), |newton| {
            let mut answer = newton.certified(reduced);
            for (share, loss) in answer.dual.share.iter_mut().zip(&newton.rows.loss) {
                *share = if *loss > 0.0 { *share } else { 0.0 };
            }
            answer.certificate = certify(problem, &answer.point, &answer.dual);
            let counted = answer.dual.share.iter().sum::<f64>();
            let reached = answer.certificate.gap() <= limits.tol;
            found = reached.then_some(answer);
            reached || counted > problem.k
        })?;
        return Ok(found.map(|found| Solution { n_iter: steps, ..found }));
    }
    Ok(None)
}
