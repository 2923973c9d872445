//! L1 and elastic net by working sets of columns.

use super::newton::{Steps, newton};
use super::prox_newton::prox_newton;
use super::solution::{AIM, Solution, target};
use crate::error::Result;
use crate::loss::Loss;
use crate::optim::hinge_qp::{HingeQp, Shape};
use crate::optim::program::PrimalDual;
use crate::optim::{Budget, Program};

/// With this many columns or fewer all of them are worked on at once; as many are added at least.
const FEW: usize = 100;
/// Iterations of proximal Newton after which a piecewise quadratic loss goes to the interior point
/// method: with little curvature the model is a poor guide.
const PATIENCE: usize = 30;
/// Rounds after which idle columns stay: from then on the set only grows, so the rounds end.
const PRUNED: usize = 15;
/// Relative gap of the first round: early rounds need not be solved to the end, the set will change.
const FIRST_TOL: f64 = 1e-2;
/// A column outside stays idle while its `$|r_j|/\lambda_j$` is below this.
const IDLE: f64 = 0.95;
/// The gap asked of the working set relative to the last one, where no variable outside it is violated.
const SHARPER: f64 = 0.1;
/// The gap asked of the working set relative to that of all variables.
const OF_GAP: f64 = 0.3;

/// Solves the problem restricted to a set of columns, looks at all columns once for those whose
/// optimality condition `$|r_j| \le \lambda_j$` fails, adds the worst of them (as many as are in use, so
/// that the set at least doubles), drops the idle ones and repeats. Only the columns that matter are
/// ever copied or factored; every round costs one pass over the data on top.
///
/// # Reference
///
/// M. Massias, A. Gramfort, J. Salmon (2018), *Celer: a fast solver for the Lasso with dual
/// extrapolation*, ICML, Algorithm 4 (the growth rule).
pub(super) fn working_set(
    program: &Program<'_>,
    start: Option<(&[f64], f64)>,
    loss: Loss,
    budget: &mut Budget<'_>,
) -> Result<Solution> {
    let mut set = WorkingSet::new(program, start, loss, budget.tol());
    loop {
        let found = set.solve(budget)?;
        let whole = set.columns.len() == program.z.ncols() && set.tol <= budget.tol();
        if whole || budget.left() == 0 || !set.grow(&found, budget) {
            return Ok(Solution::new(set.v, set.b, found.duals));
        }
    }
}

struct WorkingSet<'a, 'b> {
    program: &'a Program<'b>,
    loss: Loss,
    /// The set, ascending.
    columns: Vec<usize>,
    v: Vec<f64>,
    b: f64,
    /// Relative gap of this round.
    tol: f64,
    rounds: usize,
}

/// What a round found beside the weights.
struct Round {
    duals: Vec<f64>,
    margins: Vec<f64>,
}

impl<'a, 'b> WorkingSet<'a, 'b> {
    fn new(program: &'a Program<'b>, start: Option<(&[f64], f64)>, loss: Loss, tol: f64) -> Self {
        let p = program.z.ncols();
        let (v, b) = start.map_or((vec![0.0; p], 0.0), |(v, b)| (v.to_vec(), b));
        let columns: Vec<usize> =
            if p <= FEW { (0..p).collect() } else { (0..p).filter(|&j| v[j] != 0.0).collect() };
        let tol = if columns.len() == p { tol } else { tol.max(FIRST_TOL) };
        Self { program, loss, columns, v, b, tol, rounds: 0 }
    }

    /// Minimises over the columns of the set.
    fn solve(&mut self, budget: &mut Budget<'_>) -> Result<Round> {
        let program = self.program;
        let part = program.z.select_columns(&self.columns);
        let pick = |all: &[f64]| -> Vec<f64> { self.columns.iter().map(|&j| all[j]).collect() };
        let (l1, l2) = (pick(&program.l1), pick(&program.l2));
        let restricted = Program { z: &part, l1, l2, ..program.clone() };
        let start = pick(&self.v);
        let found = self.restricted(&restricted, &start, budget)?;
        self.v.fill(0.0);
        for (&j, x) in self.columns.iter().zip(&found.v) {
            self.v[j] = *x;
        }
        self.b = found.b;
        Ok(Round { margins: restricted.margins(&found.v, found.b), duals: found.duals })
    }

    /// The interior point for the hinge, which has no other solver, and for its relatives with more columns
    /// than rows, which are harder the closer the data are to separable; else proximal Newton.
    fn restricted(
        &self,
        program: &Program<'_>,
        start: &[f64],
        budget: &mut Budget<'_>,
    ) -> Result<Solution> {
        let (n, p) = self.program.shape();
        let shape = Shape::of(self.loss);
        if let Some(shape) = shape.filter(|_| self.loss == Loss::Hinge || p > n) {
            return interior_point(program, shape, self.tol, budget);
        }
        let tol = self.tol;
        if self.columns.is_empty() {
            return budget.stage(tol, usize::MAX, |budget| {
                newton(program, Some((&[], self.b)), Steps::Direct, budget)
            });
        }
        let before = budget.spent();
        let found =
            budget.stage(tol, PATIENCE, |budget| prox_newton(program, (start, self.b), budget))?;
        if budget.spent() - before < PATIENCE {
            return Ok(found);
        }
        match shape {
            Some(shape) => interior_point(program, shape, tol, budget),
            None => budget
                .stage(tol, usize::MAX, |budget| prox_newton(program, (&found.v, found.b), budget)),
        }
    }

    /// Takes in the columns whose optimality condition fails; false if the solution is good enough.
    fn grow(&mut self, found: &Round, budget: &Budget<'_>) -> bool {
        let program = self.program;
        let p = program.z.ncols();
        let signed = program.signed_duals(&found.duals);
        let r = program.z.tr_mul_vec(&signed);
        let value = program.value(&found.margins, &self.v);
        let gap = value
            - program.lower(&PrimalDual {
                margins: &found.margins,
                v: &self.v,
                b: self.b,
                duals: &found.duals,
                r: &r,
                imbalance: signed.iter().sum(),
            });
        let excess = |j: usize| r[j].abs() / program.l1[j];
        let mut outside = vec![true; p];
        for &j in &self.columns {
            outside[j] = false;
        }
        let mut violators: Vec<usize> = (0..p).filter(|&j| outside[j] && excess(j) > 1.0).collect();
        let settled = violators.is_empty() && self.tol <= budget.tol();
        if gap <= 2.0 * target(budget, value) || settled {
            return false;
        }
        let limit = if violators.is_empty() { SHARPER * self.tol } else { self.tol };
        self.tol = (OF_GAP * gap / value.abs().max(1.0)).min(limit).max(budget.tol());
        violators.sort_by(|&i, &j| excess(j).total_cmp(&excess(i)).then(i.cmp(&j)));
        let support = self.v.iter().filter(|x| **x != 0.0).count();
        violators.truncate(support.max(FEW));
        self.rounds += 1;
        if self.rounds < PRUNED {
            let v = &self.v;
            self.columns.retain(|&j| v[j] != 0.0 || excess(j) > IDLE);
        }
        self.columns.extend(violators);
        self.columns.sort_unstable();
        true
    }
}

/// The interior point of the hinge program as a solver of this room.
pub(super) fn interior_point(
    program: &Program<'_>,
    shape: Shape,
    tol: f64,
    budget: &mut Budget<'_>,
) -> Result<Solution> {
    let qp = HingeQp { program: program.clone(), shape, floor: 1.0, unbounded: f64::INFINITY };
    let found = budget.stage(AIM * tol, usize::MAX, |budget| qp.solve(budget))?;
    Ok(Solution::new(found.v, found.b, found.duals))
}
