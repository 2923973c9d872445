use super::interior::{Shape, interior};
use super::newton::{Steps, newton};
use super::prox_newton::prox_newton;
use super::scaled::{Point, Scaled};
use super::solution::{Budget, Solution};
use crate::error::Result;
use crate::loss::Loss;

/// With this many columns or fewer all of them are worked on at once; as many are added at least.
const FEW: usize = 100;

/// Iterations of proximal Newton after which a piecewise quadratic loss goes to the interior point
/// method: with little curvature the model is a poor guide.
const PATIENCE: usize = 30;
/// Rounds after which idle columns stay: from then on the set only grows, so the rounds end.
const PRUNED: usize = 15;

/// L1 and elastic net by working sets.
///
/// Solves the problem restricted to a set of columns, looks at all columns once for those whose
/// optimality condition $|r_j| \le \lambda_j$ fails, adds the worst of them (as many as are in use, so
/// that the set at least doubles), drops the idle ones and repeats. Only the columns that matter are ever copied or
/// factored; every round costs one pass over the data on top.
///
/// # Reference
///
/// M. Massias, A. Gramfort, J. Salmon (2018), *Celer: a fast solver for the Lasso with dual
/// extrapolation*, ICML, Algorithm 4 (the growth rule).
pub(super) fn working_set(
    problem: &Scaled<'_>,
    start: Option<(&[f64], f64)>,
    loss: Loss,
    budget: &Budget<'_>,
) -> Result<Solution> {
    let p = problem.z.ncols();
    let (mut v, mut b) = start.map_or((vec![0.0; p], 0.0), |(v, b)| (v.to_vec(), b));
    let mut working: Vec<usize> =
        if p <= FEW { (0..p).collect() } else { (0..p).filter(|&j| v[j] != 0.0).collect() };
    // The hinge has no other solver; its relatives are harder the closer the data are to separable.
    let by_interior = Shape::of(loss).filter(|_| loss == Loss::Hinge || p > problem.z.nrows());
    let (mut n_iter, mut rounds) = (0, 0);
    // Early rounds need not be solved to the end: the set will change.
    let mut tol = if working.len() == p { budget.tol } else { budget.tol.max(1e-2) };
    loop {
        let part = problem.z.select_columns(&working);
        let pick = |all: &[f64]| -> Vec<f64> { working.iter().map(|&j| all[j]).collect() };
        let sub =
            Scaled { z: &part, l1: pick(&problem.l1), l2: pick(&problem.l2), ..problem.clone() };
        let left =
            Budget { tol, max_iter: budget.max_iter.saturating_sub(n_iter).max(1), ..*budget };
        let found = match by_interior {
            Some(shape) => interior(&sub, shape, &left)?,
            None if working.is_empty() => newton(&sub, Some((&[], b)), Steps::Direct, &left)?,
            None => {
                let first = Budget { max_iter: left.max_iter.min(PATIENCE), ..left };
                let found = prox_newton(&sub, (&pick(&v), b), &first)?;
                match Shape::of(loss) {
                    Some(shape) if found.n_iter == PATIENCE => interior(&sub, shape, &left)?,
                    Some(_) => found,
                    None if found.n_iter < PATIENCE => found,
                    None => prox_newton(&sub, (&found.v, found.b), &left)?,
                }
            }
        };
        n_iter += found.n_iter;
        v.fill(0.0);
        for (&j, x) in working.iter().zip(&found.v) {
            v[j] = *x;
        }
        b = found.b;
        let done = |v: Vec<f64>, duals| Ok(Solution::new(v, b, duals, n_iter));
        if working.len() == p && tol <= budget.tol || n_iter >= budget.max_iter {
            return done(v, found.duals);
        }

        let pull = problem.pull(&found.duals);
        let r = problem.z.tr_mul_vec(&pull);
        let margins = sub.margins(&found.v, b);
        let imbalance: f64 = pull.iter().sum();
        let point = Point { margins: &margins, v: &v, b, duals: &found.duals, r: &r, imbalance };
        let value = problem.value(&margins, &v);
        let gap = problem.gap(&point);
        if gap <= 2.0 * budget.target(value) {
            return done(v, found.duals);
        }
        let excess = |j: usize| r[j].abs() / problem.l1[j];
        let mut outside = vec![true; p];
        for &j in &working {
            outside[j] = false;
        }
        let mut violators: Vec<usize> = (0..p).filter(|&j| outside[j] && excess(j) > 1.0).collect();
        if violators.is_empty() && tol <= budget.tol {
            return done(v, found.duals);
        }
        let limit = if violators.is_empty() { 0.1 * tol } else { tol };
        tol = (0.3 * gap / value.abs().max(1.0)).min(limit).max(budget.tol);
        violators.sort_by(|&i, &j| excess(j).total_cmp(&excess(i)).then(i.cmp(&j)));
        let support = v.iter().filter(|x| **x != 0.0).count();
        violators.truncate(support.max(FEW));
        rounds += 1;
        if rounds < PRUNED {
            working.retain(|&j| v[j] != 0.0 || excess(j) > 0.95);
        }
        working.extend(violators);
        working.sort_unstable();
    }
}
