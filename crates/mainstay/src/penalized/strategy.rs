//! Which solver works on a binary problem, and what follows if its answer misses the gap.
//!
//! | penalty | loss | stage |
//! | --- | --- | --- |
//! | any | any, many rows | passes |
//! | with L1 | any | working set |
//! | L2 | hinge | interior point; rounded hinge where that is too large |
//! | L2 | others | newton; newton by conjugate gradients where that is too large |
//!
//! Passes over chunks (the room `partitioned`) take three or four looks at the rows where Newton's method takes six or
//! seven iterations, compute the losses in vector registers, need no copy of the rows in solver units and use all
//! threads on one fit.
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
use crate::data::{ClassWeight, Dataset};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::loss::Loss;
use crate::model::Link;
use crate::optim::hinge_qp::Shape;
use crate::optim::program::penalty_weight;
use crate::optim::{Bracket, Budget, Program};
use crate::partitioned::{Objective, Spec, WholeRows};

/// Largest order of a system that Newton's method factors.
const MOST_DIRECT: usize = 1500;
/// The same for the interior point method, whose alternative is slower.
const MOST_INTERIOR: usize = 4000;
/// Rows, and rows per column, from which problems are solved by passes over chunks.
const MANY_ROWS: usize = 50_000;
/// See [`MANY_ROWS`].
const MANY_PER_COLUMN: usize = 200;
/// Columns up to which they are: every thread holds matrices of that order.
const MOST_IN_PASSES: usize = 1000;
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

/// One binary problem, ready to be solved for any strength of the penalty.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub design: &'a Design<'a>,
    /// The problem in as many columns as there are rows, where that is fewer; L2 only.
    pub row_space: Option<&'a RowSpace>,
    pub y: &'a [f64],
    pub shares: &'a [f64],
    pub loss: Loss,
    /// What passes over chunks of rows need, where these may solve it.
    pub passes: Option<Passes<'a>>,
}

/// The rows as passes see them.
#[derive(Clone, Copy)]
pub(super) struct Passes<'a> {
    pub rows: &'a WholeRows<'a>,
    /// The class whose rows have the sign +1.
    pub positive: usize,
    /// Whether the penalty sees standardised features.
    pub normalize: bool,
}

/// Whether there are rows enough for passes over chunks of them.
pub(super) fn many_rows(data: &Dataset) -> bool {
    let (n, p) = (data.len(), data.n_features());
    p <= MOST_IN_PASSES && n >= MANY_ROWS.max(MANY_PER_COLUMN * p)
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
        let mut solution = budget.stage(tol, usize::MAX, |budget| {
            task.solve(problem.l1, problem.l2, last.as_ref(), budget)
        })?;
        task.route(problem.l1, &solution).into_iter().for_each(|name| proven.enter(name));
        let candidate = task.candidate(&mut solution)?;
        let certificate = certify(problem, &candidate);
        proven.offer_primal(certificate.primal, || (candidate.weights, candidate.intercept));
        proven.offer_dual(certificate.dual, || candidate.duals);
        if proven.gap(1.0) <= budget.tol() || budget.left() == 0 {
            break;
        }
        last = Some(solution);
        // The row space loses digits when the features' sizes differ by orders of magnitude, passes by their centring.
        task.row_space = None;
        task.passes = None;
        tol *= STRICTER;
    }
    Ok(proven)
}

impl Task<'_> {
    /// The stages that [`Task::solve`] went through to this solution.
    fn route(&self, l1: f64, found: &Solution) -> Vec<&'static str> {
        if found.by_passes.is_some() {
            return vec!["passes"];
        }
        if l1 > 0.0 {
            return vec!["working set"];
        }
        let (n, p) = match self.row_space {
            Some(space) => (space.basis.nrows(), space.basis.ncols()),
            None => (self.design.x.nrows(), self.design.x.ncols()),
        };
        let reduced = self.row_space.map(|_| "row space");
        reduced.into_iter().chain([ridge_stage(self.loss, (n, p)).name]).collect()
    }

    /// Solves with penalty strengths `l1` (`$\lambda$`) and `l2` (`$\mu$`), from `start` if given.
    pub(super) fn solve(
        &self,
        l1: f64,
        l2: f64,
        start: Option<&Solution>,
        budget: &mut Budget<'_>,
    ) -> Result<Solution> {
        let from = start.map(|s| (s.v.as_slice(), s.b));
        if let Some(found) = self.solve_by_passes((l1, l2), from, budget)? {
            return Ok(found);
        }
        let space = self.row_space.filter(|_| l1 <= 0.0);
        let (z, lasso, ridge) = self.penalties(space, l1, l2);
        let program = Program {
            z,
            y: self.y,
            shares: self.shares,
            loss: self.loss.get(),
            l1: lasso,
            l2: ridge,
            intercept: true,
        };
        if let Some(space) = space {
            let from = start.and_then(|s| Some((s.inner.as_deref()?, s.b)));
            let found = self.solve_ridge(&program, from, budget)?;
            return Ok(space.lift(self.design, &program, found, l2));
        }
        if l1 > 0.0 {
            return working_set(&program, from, self.loss, budget);
        }
        self.solve_ridge(&program, from, budget)
    }

    /// The rows that are solved, and the penalties of their columns: `$z$` is not made where the row space stands for it.
    fn penalties<'b>(
        &'b self,
        space: Option<&'b RowSpace>,
        l1: f64,
        l2: f64,
    ) -> (&'b Matrix, Vec<f64>, Vec<f64>) {
        if let Some(space) = space {
            let ridge = space.squares.iter().map(|s| penalty_weight(l2, *s)).collect();
            return (&space.basis, vec![0.0; space.squares.len()], ridge);
        }
        let units = &self.design.units;
        let lasso = units.iter().map(|u| penalty_weight(l1, *u)).collect();
        let ridge = units.iter().map(|u| penalty_weight(l2 * u, *u)).collect();
        (self.design.z(), lasso, ridge)
    }

    /// The solution in the units of the data. Takes the dual point out of it, which no other fit starts from: rows may be
    /// many.
    pub(super) fn candidate(&self, solution: &mut Solution) -> Result<Candidate> {
        let duals = std::mem::take(&mut solution.duals);
        match solution.by_passes.clone() {
            Some((weights, intercept)) => Ok(Candidate { weights, intercept, duals }),
            None => self.design.candidate(&solution.v, solution.b, duals),
        }
    }

    /// The answer of passes over chunks of rows; none where there are too few rows, or no answer.
    fn solve_by_passes(
        &self,
        (l1, l2): (f64, f64),
        start: Option<(&[f64], f64)>,
        budget: &mut Budget<'_>,
    ) -> Result<Option<Solution>> {
        let Some(passes) = &self.passes else { return Ok(None) };
        let spec = Spec {
            loss: self.loss,
            objective: Objective::Mean { l1, l2 },
            normalize: passes.normalize,
            fit_intercept: true,
            // It is part of the weights already.
            class_weight: ClassWeight::None,
            tol: budget.tol(),
            max_iter: usize::MAX,
            link: Link::None,
            joint: false,
            outputs: Vec::new(),
        };
        let start = start.map(|(v, b)| self.design.columns.to_user(v, b)).transpose()?;
        let start = start.as_ref().map(|(weights, b)| (weights.as_slice(), *b));
        let found = passes.rows.solve(&spec, passes.positive, start, budget)?;
        Ok(found.map(|found| {
            let (v, b) = self.design.of_user(&found.weights, found.intercept);
            let by_passes = Some((found.weights, found.intercept));
            Solution { by_passes, ..Solution::new(v, b, found.pulls) }
        }))
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

    fn task<'a>(
        design: &'a Design<'a>,
        row_space: Option<&'a RowSpace>,
        (y, shares): (&'a [f64], &'a [f64]),
        loss: Loss,
    ) -> Task<'a> {
        Task { design, row_space, y, shares, loss, passes: None }
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
            let task = task(&design, None, (&y, &shares), loss);
            let l2 = 0.05;
            let program = Program {
                z: design.z(),
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
            let found =
                (stage.run)(&program, None, &mut budget).and_then(|mut s| task.candidate(&mut s));
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
        assert_eq!(name(Loss::ModifiedHuber, MOST_DIRECT), "newton");
        assert_eq!(name(Loss::SquaredHinge, MOST_DIRECT + 1), "newton by conjugate gradients");
    }

    /// Passes, and where they may not, the solver that all rows would have: both prove the gap, so that the objectives are
    /// within it of each other.
    #[test]
    fn many_rows_are_solved_in_passes() {
        let (n, l2) = (MANY_ROWS, 1e-3);
        let (x, y) = rows(n, 3);
        let (shares, units) = (vec![1.0 / n as f64; n], vec![1.0; 3]);
        let design = Design::new(&x, &shares, &units);
        let control = Control::new();
        let labels = y.iter().map(|y| usize::from(*y > 0.0)).collect();
        let data = Dataset::new(x.clone(), labels, 2).unwrap();
        let whole = WholeRows::new(&data, &control).unwrap();
        assert!(many_rows(&data));
        for (loss, l1) in [
            (Loss::Logistic, 0.0),
            (Loss::Logistic, 1e-3),
            (Loss::SquaredHinge, 0.0),
            (Loss::ModifiedHuber, 0.0),
            (Loss::Hinge, 0.0),
        ] {
            let passes = Some(Passes { rows: &whole, positive: 1, normalize: false });
            let task = Task { passes, ..task(&design, None, (&y, &shares), loss) };
            let known = loss.get();
            let problem =
                Problem { x: &x, y: &y, shares: &shares, loss: known, l1, l2, units: &units };
            let by = |task| {
                let mut budget = Budget::new(1e-6, 1000, &control);
                solve_certified(task, &problem, &mut budget).unwrap_or_default()
            };
            let (passes, other) = (by(task), by(Task { passes: None, ..task }));
            assert_eq!(passes.route(), ["passes"], "{loss:?}");
            assert_ne!(other.route(), ["passes"]);
            let (a, b) = (passes.certificate(), other.certificate());
            assert!(a.gap() <= 1e-6 && b.gap() <= 1e-6, "{loss:?} {a:?} {b:?}");
            assert!((a.primal - b.primal).abs() <= 1e-6, "{loss:?} {a:?} {b:?}");
        }
    }

    #[test]
    fn wide_rows_go_through_the_row_space() {
        let (x, y) = rows(20, 700);
        let (shares, units) = (vec![0.05; 20], vec![1.0; 700]);
        let design = Design::new(&x, &shares, &units);
        let space = RowSpace::new(&design);
        let loss = Loss::Logistic;
        let task = task(&design, space.as_ref(), (&y, &shares), loss);
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
