//! Which solver works on a binary problem, and what follows if its answer misses the gap.
//!
//! | penalty | loss | stage |
//! | --- | --- | --- |
//! | with L1 | any | working set |
//! | L2 | hinge | interior point; rounded hinge where that is too large; passes over chunks where there are many rows |
//! | L2 | others | newton; newton by conjugate gradients where that is too large |
//!
//! Passes over chunks (the room `partitioned`) use all threads on one fit. They are the choice for the hinge alone: at 200,000 x 50
//! they took five passes where the interior point took 22 steps, while Newton's method, the working sets and the
//! stable fits' method of multipliers are as fast on one core (0.6 s of its time each) and stay.
//!
//! L2 with more columns than rows goes through the row space first. A proof that misses the gap because the
//! solver judged itself too kindly is followed by stricter tries on all columns.

use super::certificate::certify;
use super::design::Design;
use super::newton::{Steps, newton};
use super::problem::{Candidate, Problem};
use super::row_space::RowSpace;
use super::smooth_hinge::rounded_hinge;
use super::solution::Solution;
use super::working_set::{interior_point, working_set};
use crate::error::Result;
use crate::loss::Loss;
use crate::optim::hinge_qp::Shape;
use crate::optim::program::penalty_weight;
use crate::optim::{Bracket, Budget, Program};
use crate::partitioned::solve_program;

/// Largest order of a system that Newton's method factors.
const MOST_DIRECT: usize = 1500;
/// The same for the interior point method, whose alternative is slower.
const MOST_INTERIOR: usize = 4000;
/// Rows from which the hinge is solved by passes over chunks, and rows per column.
const MANY_ROWS: usize = 50_000;
const MANY_PER_COLUMN: usize = 200;
/// Tries in all; each but the first aims at [`STRICTER`] times the gap of the one before.
const TRIES: usize = 3;
/// See [`TRIES`].
const STRICTER: f64 = 0.05;

/// Solves a program from weights and an intercept, if given.
type Run = fn(&Program<'_>, Option<(&[f64], f64)>, &mut Budget<'_>) -> Result<Solution>;

/// A solver of problems with an L2 penalty alone.
struct Stage {
    /// Name in the route.
    name: &'static str,
    /// Whether it serves this loss on a system of this order, if no earlier stage does.
    fits: fn(Loss, usize) -> bool,
    run: Run,
}

/// The first that fits solves.
const RIDGE_STAGES: [Stage; 4] = [
    Stage {
        name: "interior point",
        fits: |loss, order| loss == Loss::Hinge && order <= MOST_INTERIOR,
        run: |program, start, budget| match Shape::of(Loss::Hinge) {
            Some(shape) => interior_point(program, shape, budget.tol(), budget),
            None => rounded_hinge(program, start, budget),
        },
    },
    Stage { name: "rounded hinge", fits: |loss, _| loss == Loss::Hinge, run: rounded_hinge },
    Stage {
        name: "newton",
        fits: |_, order| order <= MOST_DIRECT,
        run: |program, start, budget| newton(program, start, Steps::Direct, budget),
    },
    Stage {
        name: "newton by conjugate gradients",
        fits: |_, _| true,
        run: |program, start, budget| newton(program, start, Steps::ConjugateGradient, budget),
    },
];

/// The hinge of many rows: a few passes over fixed chunks.
const PASSES: Stage = Stage {
    name: "passes",
    fits: |_, _| true,
    run: |program, _, budget| {
        let found = solve_program(program, Loss::Hinge, budget)?;
        Ok(Solution::new(found.v, found.b, found.duals))
    },
};

/// One binary problem, ready to be solved for any strength of the penalty.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub design: &'a Design,
    /// The problem in as many columns as there are rows, where that is fewer; L2 only.
    pub row_space: Option<&'a RowSpace>,
    pub y: &'a [f64],
    pub shares: &'a [f64],
    pub loss: Loss,
}

/// Best weights and intercept, and the multipliers with the best bound, of a certified solution.
pub(super) type Proven = Bracket<(Vec<f64>, f64), Vec<f64>>;

/// Solves `problem`, which `task` describes in solver units, until its certificate reaches the gap.
pub(super) fn solve_certified(
    mut task: Task<'_>,
    problem: &Problem<'_>,
    budget: &mut Budget<'_>,
) -> Result<Proven> {
    let mut proven = Proven::new();
    let mut tol = budget.tol();
    let mut last = None;
    for attempt in 0..TRIES {
        if attempt > 0 {
            proven.enter("stricter");
        }
        task.route(problem.l1).into_iter().for_each(|name| proven.enter(name));
        let solution = budget.stage(tol, usize::MAX, |budget| {
            task.solve(problem.l1, problem.l2, last.as_ref(), budget)
        })?;
        let candidate = task.candidate(&solution)?;
        let certificate = certify(problem, &candidate);
        proven.offer_primal(certificate.primal, || (candidate.weights, candidate.intercept));
        proven.offer_dual(certificate.dual, || candidate.duals);
        if proven.gap(1.0) <= budget.tol() || budget.left() == 0 {
            break;
        }
        last = Some(solution);
        // The row space loses digits when the features' sizes differ by orders of magnitude.
        task.row_space = None;
        tol *= STRICTER;
    }
    Ok(proven)
}

impl Task<'_> {
    /// The stages that [`Task::solve`] goes through.
    fn route(&self, l1: f64) -> Vec<&'static str> {
        if l1 > 0.0 {
            return vec!["working set"];
        }
        let (n, p) = match self.row_space {
            Some(space) => (space.basis.nrows(), space.basis.ncols()),
            None => (self.design.z.nrows(), self.design.z.ncols()),
        };
        let reduced = self.row_space.map(|_| "row space");
        reduced.into_iter().chain([ridge_stage(self.loss, (n, p)).name]).collect()
    }

    /// Solves with penalty strengths `l1` ($\lambda$) and `l2` ($\mu$), from `start` if given.
    pub(super) fn solve(
        &self,
        l1: f64,
        l2: f64,
        start: Option<&Solution>,
        budget: &mut Budget<'_>,
    ) -> Result<Solution> {
        let units = &self.design.units;
        let program = Program {
            z: &self.design.z,
            y: self.y,
            shares: self.shares,
            loss: self.loss.get(),
            l1: units.iter().map(|u| penalty_weight(l1, *u)).collect(),
            l2: units.iter().map(|u| penalty_weight(l2 * u, *u)).collect(),
            intercept: true,
        };
        let from = start.map(|s| (s.v.as_slice(), s.b));
        if l1 > 0.0 {
            return working_set(&program, from, self.loss, budget);
        }
        let Some(space) = self.row_space else {
            return self.solve_ridge(&program, from, budget);
        };
        let inner = Program {
            z: &space.basis,
            l1: vec![0.0; space.squares.len()],
            l2: space.squares.iter().map(|s| penalty_weight(l2, *s)).collect(),
            ..program
        };
        let from = start.and_then(|s| Some((s.inner.as_deref()?, s.b)));
        let found = self.solve_ridge(&inner, from, budget)?;
        Ok(space.lift(self.design, &inner, found, l2))
    }

    /// The solution in the units of the data.
    pub(super) fn candidate(&self, solution: &Solution) -> Result<Candidate> {
        self.design.candidate(&solution.v, solution.b, solution.duals.clone())
    }

    fn solve_ridge(
        &self,
        program: &Program<'_>,
        start: Option<(&[f64], f64)>,
        budget: &mut Budget<'_>,
    ) -> Result<Solution> {
        let (n, p) = program.shape();
        (ridge_stage(self.loss, (n, p)).run)(program, start, budget)
    }
}

fn ridge_stage(loss: Loss, (n, p): (usize, usize)) -> &'static Stage {
    if loss == Loss::Hinge && n >= MANY_ROWS.max(MANY_PER_COLUMN * p) {
        return &PASSES;
    }
    let order = n.min(p);
    let [.., last] = &RIDGE_STAGES;
    RIDGE_STAGES.iter().find(|stage| (stage.fits)(loss, order)).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::linalg::{Dense, Matrix};

    fn rows(n: usize, p: usize) -> (Matrix, Vec<f64>) {
        let x = Dense::from_fn(n, p, |i, j| ((1 + 3 * i + 7 * j + i * j) as f64 * 0.47).sin());
        let y: Vec<f64> =
            (0..n).map(|i| if x[(i, 0)] + x[(i, 1)] > 0.1 { 1.0 } else { -1.0 }).collect();
        (Matrix::from(x), y)
    }

    /// Each stage on its own, on a problem small enough for all of them, proves its gap.
    #[test]
    fn every_stage_delivers_a_certified_answer_alone() {
        let (x, y) = rows(30, 4);
        let shares = vec![1.0 / 30.0; 30];
        let units = vec![1.0; 4];
        let design = Design::new(&x, &shares, &units);
        let cases = [(0, Loss::Hinge), (1, Loss::Hinge), (2, Loss::Logistic), (3, Loss::Logistic)];
        for (k, loss) in cases {
            let task = Task { design: &design, row_space: None, y: &y, shares: &shares, loss };
            let l2 = 0.05;
            let program = Program {
                z: &design.z,
                y: &y,
                shares: &shares,
                loss: loss.get(),
                l1: vec![0.0; 4],
                l2: design.units.iter().map(|u| l2 * u * u).collect(),
                intercept: true,
            };
            let control = Control::new();
            let mut budget = Budget::new(1e-6, 1000, &control);
            let stage = &RIDGE_STAGES[k];
            let found = (stage.run)(&program, None, &mut budget).and_then(|s| task.candidate(&s));
            let loss = loss.get();
            let problem =
                Problem { x: &x, y: &y, shares: &shares, loss, l1: 0.0, l2, units: &units };
            let gap = found.map_or(f64::INFINITY, |c| certify(&problem, &c).gap());
            assert!(gap <= 1e-6, "{}: {gap:e}", stage.name);
        }
    }

    #[test]
    fn the_first_stage_that_fits_is_taken() {
        let name = |loss, order| ridge_stage(loss, (order, order)).name;
        assert_eq!(name(Loss::Hinge, MOST_INTERIOR), "interior point");
        assert_eq!(name(Loss::Hinge, MOST_INTERIOR + 1), "rounded hinge");
        assert_eq!(ridge_stage(Loss::Hinge, (MANY_ROWS - 1, 4)).name, "interior point");
        assert_eq!(ridge_stage(Loss::Hinge, (MANY_ROWS, 4)).name, "passes");
        assert_eq!(ridge_stage(Loss::Logistic, (MANY_ROWS, 4)).name, "newton");
        assert_eq!(name(Loss::ModifiedHuber, MOST_DIRECT), "newton");
        assert_eq!(name(Loss::SquaredHinge, MOST_DIRECT + 1), "newton by conjugate gradients");
    }

    #[test]
    fn wide_rows_go_through_the_row_space() {
        let (x, y) = rows(20, 700);
        let (shares, units) = (vec![0.05; 20], vec![1.0; 700]);
        let design = Design::new(&x, &shares, &units);
        let space = RowSpace::new(&design);
        let loss = Loss::Logistic;
        let task =
            Task { design: &design, row_space: space.as_ref(), y: &y, shares: &shares, loss };
        let loss = loss.get();
        let problem =
            Problem { x: &x, y: &y, shares: &shares, loss, l1: 0.0, l2: 0.1, units: &units };
        let control = Control::new();
        let proven = solve_certified(task, &problem, &mut Budget::new(1e-6, 100, &control));
        let proven = proven.unwrap_or_default();
        assert_eq!(proven.route(), ["row space", "newton"]);
        assert!(proven.gap(1.0) <= 1e-6);
    }
}
