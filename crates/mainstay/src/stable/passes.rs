//! Many rows of two classes: a few passes over chunks of them (the room `partitioned`), on all threads and without a copy
//! of the rows.

use super::certificate::{Dual, certify};
use super::degenerate;
use super::problem::{Hyperplanes, Problem, RowLoss, Target};
use super::solution::{Iterate, Solution};
use crate::error::Result;
use crate::loss::Loss;
use crate::optim::Budget;
use crate::optim::design::ColumnUnits;
use crate::partitioned::WholeProblem;

/// Rows, and rows per column, from which passes are the choice.
const MANY_ROWS: usize = 50_000;
/// See [`MANY_ROWS`].
const MANY_PER_COLUMN: usize = 200;
/// Columns up to which they are: every thread holds matrices of that order.
const MOST_COLUMNS: usize = 1000;
/// Passes after which other solvers take over.
const MOST_PASSES: usize = 40;

/// Whether there are rows enough, and iterations for other solvers if passes do not get there.
pub(super) fn suits(rows: usize, columns: usize, max_iter: usize) -> bool {
    let many = rows >= MANY_ROWS.max(MANY_PER_COLUMN * columns);
    many && columns <= MOST_COLUMNS && max_iter > 2 * MOST_PASSES
}

/// The answer to a two-class `problem` with its proof; none where the passes do not prove the gap, or zero weights may be
/// the best.
pub(super) fn solve(
    problem: &Problem<'_>,
    units: &ColumnUnits,
    budget: &mut Budget<'_>,
) -> Result<Option<Solution>> {
    let Target::Signs(y) = &problem.target else { return Ok(None) };
    // Classical fits are solved further than asked, by others.
    if problem.k >= problem.total() {
        return Ok(None);
    }
    let whole = WholeProblem {
        x: problem.x,
        units,
        y,
        weights: problem.weights,
        loss: match problem.loss {
            RowLoss::Hinge => Loss::Hinge,
            RowLoss::SquaredHinge => Loss::SquaredHinge,
            RowLoss::Logistic => Loss::Logistic,
        },
        worst: Some(problem.k),
        scale: problem.scale,
        squares: units.factors.iter().map(|t| problem.ridge * t * t).collect(),
        lasso: vec![0.0; units.factors.len()],
        intercept: problem.fit_intercept,
    };
    let found = budget.stage(budget.tol(), MOST_PASSES, |budget| whole.solve(None, budget))?;
    let Some(found) = found else { return Ok(None) };
    let (w, b) = units.to_user(&found.v, found.b)?;
    let hyperplanes = Hyperplanes { coef: vec![w], intercept: vec![b] };
    let rows = || y.iter().zip(problem.weights);
    let alpha = found.pulls.iter().zip(rows()).map(|(s, (y, c))| -y * c * s).collect();
    let share = found.shares.iter().zip(problem.weights).map(|(a, c)| a * c).collect();
    let dual = Dual { share, alpha };
    let certificate = certify(problem, &hyperplanes, &dual);
    let enough = certificate.gap() <= budget.tol()
        && degenerate::beats_constant(problem, certificate.primal, budget.control())?;
    // No other problem starts from here: reduced weights are not needed.
    let iterate = Iterate { v: Vec::new(), hyperplanes };
    let route = vec!["passes"];
    Ok(enough.then_some(Solution { iterate, dual, certificate, route }))
}
