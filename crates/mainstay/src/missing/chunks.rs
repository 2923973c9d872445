//! The paper's average over random parts of the rows, with a certificate for the whole problem.

use super::certificate::Dual;
use super::estimator::MissingFeatureSvcParams;
use super::problem::RobustHinge;
use super::strategy::{self, Solution};
use crate::control::Control;
use crate::error::Result;
use crate::folds::stratified;
use crate::optim::Budget;

/// The paper's way around its solver's limits (section 4): random parts of the rows are trained on by themselves, and
/// the weights averaged.
///
/// The average is feasible for the whole problem, and the dual points of the parts, put together, are too: the fit
/// carries a true certificate, which shows what the averaging costs.
pub(super) fn chunked(
    problem: &RobustHinge<'_>,
    params: &MissingFeatureSvcParams,
    control: &Control,
) -> Result<Solution> {
    let labels: Vec<usize> = problem.y.iter().map(|y| usize::from(*y > 0.0)).collect();
    let parts = stratified(&labels, params.n_chunks, 1, params.random_state.unwrap_or(0));
    let mut weights = vec![0.0; problem.x.ncols()];
    let mut intercept = 0.0;
    let mut n_iter = 1;
    let mut dual = Dual::zero(problem);
    let mut route = Vec::new();
    let offsets = entry_offsets(problem);
    let share = 1.0 / parts.len() as f64;
    for part in &parts {
        let rows = &part.holdout;
        let x = problem.x.select_rows(rows);
        let pick = |from: &[f64]| rows.iter().map(|&i| from[i]).collect::<Vec<f64>>();
        let (y, row_weights) = (pick(problem.y), pick(problem.weights));
        let one = RobustHinge { x: &x, y: &y, weights: &row_weights, ..*problem };
        let found = strategy::solve(&one, &mut Budget::new(params.tol, params.max_iter, control))?;
        crate::linalg::vector::axpy(share, &found.weights, &mut weights);
        intercept += share * found.intercept;
        n_iter = n_iter.max(found.n_iter);
        route.extend(found.route);
        scatter(&found.dual, rows, &offsets, &mut dual);
    }
    Ok(Solution { weights, intercept, dual, n_iter, route })
}

/// Where the nonzeros of every row start.
fn entry_offsets(problem: &RobustHinge<'_>) -> Vec<usize> {
    let mut offsets = vec![0];
    for (i, row) in problem.x.rows().enumerate() {
        offsets.push(offsets[i] + row.entries().filter(|(_, x)| *x != 0.0).count());
    }
    offsets
}

fn scatter(part: &Dual, rows: &[usize], offsets: &[usize], whole: &mut Dual) {
    let mut next = 0;
    for (k, &i) in rows.iter().enumerate() {
        whole.sigma[i] = part.sigma[k];
        let entries = offsets[i]..offsets[i + 1];
        let count = entries.len();
        whole.tau[entries].copy_from_slice(&part.tau[next..next + count]);
        next += count;
    }
}
