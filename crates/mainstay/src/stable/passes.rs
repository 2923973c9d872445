//! Many rows of two classes: a few passes over chunks of them (the room `partitioned`), on all threads and without a copy
//! of the rows.

use super::certificate::{Dual, certify};
use super::degenerate;
use super::problem::{Hyperplanes, Problem, Target};
use super::solution::{Iterate, Solution};
use crate::error::Result;
use crate::optim::Budget;
use crate::partitioned::{Spec, WholeRows, WholeSolution};

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

/// The answer to a two-class `problem`, which is `spec` for the class `positive` of `rows`, with its proof; none where the passes do not prove the gap, or zero weights may be
/// the best.
pub(super) fn solve(
    problem: &Problem<'_>,
    (rows, spec, positive): (&WholeRows<'_>, &Spec, usize),
    budget: &mut Budget<'_>,
) -> Result<Option<Solution>> {
    let Target::Signs(y) = &problem.target else { return Ok(None) };
    // Classical fits are solved further than asked, by others.
    if problem.k >= problem.total() {
        return Ok(None);
    }
    let found = budget
        .stage(budget.tol(), MOST_PASSES, |budget| rows.solve(spec, positive, None, budget))?;
    let Some(found) = found else { return Ok(None) };
    // In place: rows are many.
    let WholeSolution { weights, intercept, pulls: mut alpha, shares: mut share } = found;
    let hyperplanes = Hyperplanes { coef: vec![weights], intercept: vec![intercept] };
    for ((alpha, share), (y, c)) in
        alpha.iter_mut().zip(&mut share).zip(y.iter().zip(problem.weights))
    {
        (*alpha, *share) = (-y * c * *alpha, c * *share);
    }
    let dual = Dual { share, alpha };
    let certificate = certify(problem, &hyperplanes, &dual);
    let enough = certificate.gap() <= budget.tol()
        && degenerate::beats_constant(problem, certificate.primal, budget.control())?;
    // No other problem starts from here: reduced weights are not needed.
    let iterate = Iterate { v: Vec::new(), hyperplanes };
    let route = vec!["passes"];
    Ok(enough.then_some(Solution { iterate, dual, certificate, route }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::data::Dataset;
    use crate::linalg::Dense;
    use crate::model::{Estimator, Fitted};
    use crate::stable::{K, StableLogisticParams, StableSvcParams, SvmLoss};

    fn rows() -> Dataset {
        let cell = |i: usize, j: usize| ((1 + 3 * i + 7 * j + i * j) as f64 * 0.47).sin();
        let noise = |i: usize| 0.8 * ((13 * i) as f64 * 0.31).sin();
        let label = |i: usize| usize::from(cell(i, 0) + cell(i, 1) + noise(i) > 0.1);
        let labels = (0..MANY_ROWS).map(label).collect();
        Dataset::new(Dense::from_fn(MANY_ROWS, 3, cell).into(), labels, 2).unwrap()
    }

    /// A path of two settings is solved without passes: both answers prove the gap, so that their objectives lie within it
    /// of each other, and as many rows count.
    fn assert_agree(one: &Fitted, path: &[Fitted]) {
        assert_eq!(one.route, ["passes"]);
        assert_ne!(path[0].route, ["passes"]);
        let (a, b) = (one.certificates[0], path[0].certificates[0]);
        assert!(a.gap() <= 1e-6 && b.gap() <= 1e-6, "{a:?} {b:?}");
        assert!((a.primal - b.primal).abs() <= 1e-6 * a.primal.max(1.0), "{a:?} {b:?}");
        let counted =
            |fitted: &Fitted| -> f64 { fitted.worst_rows.as_ref().unwrap().weight.iter().sum() };
        let (a, b) = (counted(one), counted(&path[0]));
        assert!((a / b - 1.0).abs() <= 0.01, "{a} {b}");
    }

    #[test]
    fn many_rows_are_solved_in_passes() {
        let (data, k) = (rows(), K::Fraction(0.7));
        let control = Control::new();
        for loss in [SvmLoss::Hinge, SvmLoss::SquaredHinge] {
            let svm = StableSvcParams { k, c: 1e-3, loss, ..Default::default() }.check().unwrap();
            let one = svm.fit(&data, &control).unwrap();
            assert_agree(&one, &svm.path(&data, &[k, k], &control).unwrap());
            let threads = Control::new().with_threads(3);
            assert_eq!(svm.fit(&data, &threads).unwrap(), one);
        }
        let params = StableLogisticParams { k, alpha: 1e-3, ..Default::default() };
        let logistic = params.check().unwrap();
        let one = logistic.fit(&data, &control).unwrap();
        assert_agree(&one, &logistic.path(&data, &[k, k], &control).unwrap());
    }
}
