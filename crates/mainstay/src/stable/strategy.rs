//! Which solver runs when, and what follows if it does not reach the gap: one list of stages.
//!
//! Each stage offers what it finds to one bracket and takes its iterations from one budget. A stage runs
//! if it applies and the gap is still open; the route taken is part of the answer.

use super::degenerate;
use super::estimator::Solver;
use super::interior::{self, SHORT_STEPS, USUAL};
use super::problem::{Problem, RowLoss};
use super::row_space::Reduced;
use super::smallest_k::SmallestK;
use super::solution::{Found, Iterate, Solution, Start};
use super::{cutting_plane, multipliers};
use crate::error::Result;
use crate::optim::{Bracket, Budget};

/// Unknowns (classes times features) of a joint problem beyond which cutting planes, whose memory is linear in
/// the unknowns, take the place of interior points, which factor a dense matrix of that order.
const LARGEST_SYSTEM: usize = 6000;
/// Relative gap of an answer near enough to the optimum for an interior point to start from it.
const NEAR: f64 = 1e-2;
/// Part of the asked gap to which a classical fit (`k` = all rows) is solved: it is compared with the fits of
/// classical solvers.
const CLASSICAL: f64 = 1e-3;
/// Relative gap to which a classical fit is solved at most.
const CLASSICAL_FLOOR: f64 = 1e-9;
/// Asked gap beyond which it is not: who asks for a rough answer does not compare its digits, and the steps to them are most
/// of the work.
const ROUGH: f64 = 1e-3;

/// What is solved, and the answer to the problem before it on the path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'t, 'a> {
    pub problem: &'t Problem<'a>,
    pub reduced: &'t Reduced<'a>,
    pub neighbour: Option<Start<'t>>,
}

/// What the stages know so far.
struct State<'s> {
    found: Found,
    /// Remembered along a path.
    smallest_k: &'s mut Option<SmallestK>,
    /// Whether the method of multipliers gave up because most rows share the threshold.
    crowded: bool,
    /// A classical fit with a small objective, close to the stable one without being it.
    small_objective: Option<Found>,
}

/// One way to close the gap.
struct Stage {
    name: &'static str,
    applies: fn(&Task<'_, '_>, &State<'_>) -> bool,
    run: fn(&Task<'_, '_>, &mut State<'_>, &mut Budget<'_>) -> Result<()>,
}

/// Newton's methods: the method of multipliers where there are many rows, the interior point otherwise; where
/// one does not get there, the other goes on.
const NEWTON: &[Stage] = &[
    Stage {
        name: "multipliers",
        applies: |task, _| multipliers::suits(task.problem, task.reduced),
        run: by_multipliers,
    },
    // Most rows share the threshold where zero weights are optimal.
    Stage { name: "zero weights", applies: |_, state| state.crowded, run: by_zero_weights },
    // On separable data few rows have a loss, and the classical fit is the stable one.
    Stage {
        name: "classical fit",
        applies: |task, _| task.problem.loss == RowLoss::SquaredHinge,
        run: by_classical_fit,
    },
    Stage {
        name: "warm interior point",
        applies: |task, state| state.start(task).is_some(),
        run: by_warm_interior_point,
    },
    Stage {
        name: "interior point",
        applies: |_, _| true,
        run: |task, state, budget| {
            interior::solve_from(task.problem, task.reduced, None, USUAL, &mut state.found, budget)
        },
    },
    // Full steps may lead astray where the curvature of most rows has vanished.
    Stage {
        name: "centred steps",
        applies: |task, _| task.problem.loss == RowLoss::Logistic,
        run: |task, state, budget| {
            interior::solve_by_centring(task.problem, task.reduced, &mut state.found, budget)
        },
    },
    Stage {
        name: "interior point from there",
        applies: |task, state| {
            task.problem.loss == RowLoss::Logistic && state.found.certificate().gap() <= NEAR
        },
        run: by_warm_interior_point,
    },
    Stage {
        name: "small objective",
        applies: |_, state| state.small_objective.is_some(),
        run: |_, state, _| {
            state.small_objective.take().into_iter().for_each(|known| state.found.take_over(known));
            Ok(())
        },
    },
    // Nothing in the Newton system keeps rows from being thrown over the kink of a squared hinge.
    Stage {
        name: "short steps",
        applies: |task, _| task.problem.loss == RowLoss::SquaredHinge,
        run: |task, state, budget| {
            let found = &mut state.found;
            interior::solve_from(task.problem, task.reduced, None, SHORT_STEPS, found, budget)
        },
    },
    Stage {
        name: "continuation",
        applies: |_, _| true,
        run: |task, state, budget| {
            let found = &mut state.found;
            interior::solve_by_continuation(task.problem, task.reduced, found, budget)
        },
    },
];

/// The paper's own method.
const CUTTING_PLANES: &[Stage] = &[Stage {
    name: "cutting planes",
    applies: |_, _| true,
    run: |task, state, budget| {
        cutting_plane::solve(task.problem, task.reduced, &mut state.found, budget)
    },
}];

/// Solves `task` by one stage after the other until the gap is reached or nothing is left to spend.
pub(super) fn solve(
    task: &Task<'_, '_>,
    solver: Solver,
    smallest_k: &mut Option<SmallestK>,
    budget: &mut Budget<'_>,
) -> Result<Solution> {
    let mut state =
        State { found: Bracket::new(), smallest_k, crowded: false, small_objective: None };
    let order = task.problem.q() * task.reduced.features.z.ncols();
    let newton =
        solver == Solver::InteriorPoint && (task.problem.q() == 1 || order <= LARGEST_SYSTEM);
    for stage in if newton { NEWTON } else { CUTTING_PLANES } {
        let exhausted = budget.left() == 0 && state.found.point().is_some();
        if exhausted || state.found.certificate().gap() <= budget.tol() {
            break;
        }
        if (stage.applies)(task, &state) {
            state.found.enter(stage.name);
            (stage.run)(task, &mut state, budget)?;
        }
    }
    if newton {
        refine_classical(task, &mut state.found, budget)?;
    }
    if state.found.certificate().gap() > budget.tol() {
        offer_zero_weights(task, &mut state.found);
    }
    Solution::new(state.found)
}

/// What every answer must beat, whatever went wrong on the way; nothing where there is none at all.
fn offer_zero_weights(task: &Task<'_, '_>, found: &mut Found) {
    let Task { problem, reduced, .. } = *task;
    let v = vec![0.0; problem.q() * reduced.features.z.ncols()];
    let hyperplanes = reduced.hyperplanes(&v);
    if found.point().is_some() {
        let value = reduced.objective(problem, &v, &hyperplanes);
        found.offer_primal(value, || Iterate { v, hyperplanes });
    }
}

impl State<'_> {
    /// Where the interior point may start: an answer that is near, or a neighbour's.
    fn start<'s>(&'s self, task: &Task<'s, '_>) -> Option<Start<'s>> {
        let near = self.found.certificate().gap() <= NEAR;
        Start::of(&self.found).filter(|_| near).or(task.neighbour)
    }
}

fn by_multipliers(
    task: &Task<'_, '_>,
    state: &mut State<'_>,
    budget: &mut Budget<'_>,
) -> Result<()> {
    let Task { problem, reduced, neighbour } = *task;
    state.crowded = !multipliers::solve(problem, reduced, neighbour, &mut state.found, budget)?;
    Ok(())
}

fn by_zero_weights(
    task: &Task<'_, '_>,
    state: &mut State<'_>,
    budget: &mut Budget<'_>,
) -> Result<()> {
    let proven = degenerate::zero_weights(task.problem, task.reduced, state.smallest_k, budget)?;
    if let Some(proven) = proven.filter(|p| p.certificate().gap() <= budget.tol()) {
        state.found.take_over(proven);
    }
    Ok(())
}

fn by_classical_fit(
    task: &Task<'_, '_>,
    state: &mut State<'_>,
    budget: &mut Budget<'_>,
) -> Result<()> {
    let Some(known) = multipliers::solve_classical(task.problem, task.reduced, budget)? else {
        return Ok(());
    };
    if known.upper() - known.lower() <= budget.tol() * known.upper() {
        state.found.take_over(known);
    } else {
        state.small_objective = Some(known);
    }
    Ok(())
}

fn by_warm_interior_point(
    task: &Task<'_, '_>,
    state: &mut State<'_>,
    budget: &mut Budget<'_>,
) -> Result<()> {
    let Some(Start { iterate, dual }) = state.start(task) else { return Ok(()) };
    let (iterate, dual) = (iterate.clone(), dual.clone());
    let start = Some(Start { iterate: &iterate, dual: &dual });
    interior::solve_from(task.problem, task.reduced, start, USUAL, &mut state.found, budget)
}

/// A few more steps from a classical fit that is good enough already.
fn refine_classical(task: &Task<'_, '_>, found: &mut Found, budget: &mut Budget<'_>) -> Result<()> {
    let Task { problem, reduced, .. } = *task;
    let classical = problem.q() == 1 && problem.k >= problem.total();
    let (gap, tol) = (found.certificate().gap(), (CLASSICAL * budget.tol()).max(CLASSICAL_FLOOR));
    let open = gap > tol && gap <= budget.tol() && budget.left() > 0;
    if !classical || budget.tol() > ROUGH || !open {
        return Ok(());
    }
    let (Some(iterate), Some(dual)) = (found.point().cloned(), found.proof().cloned()) else {
        return Ok(());
    };
    let start = Some(Start { iterate: &iterate, dual: &dual });
    found.enter("classical refinement");
    let left = budget.left();
    budget.stage(tol, left, |budget| {
        interior::solve_from(problem, reduced, start, USUAL, found, budget)
    })
}
