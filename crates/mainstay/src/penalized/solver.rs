use super::frame::Frame;
use super::interior::{Shape, interior};
use super::newton::{Steps, newton};
use super::problem::Answer;
use super::row_space::RowSpace;
use super::scaled::{Scaled, penalty_weight};
use super::smooth_hinge::SmoothHinge;
use super::solution::{Budget, Solution};
use super::working_set::working_set;
use crate::error::Result;
use crate::loss::Loss;

/// Largest order of a system that Newton's method factors.
const MOST_DIRECT: usize = 1500;
/// The same for the interior point method, whose alternative is slower.
const MOST_INTERIOR: usize = 4000;

/// One binary problem, ready to be solved for any strength of the penalty.
pub(super) struct Solver<'a> {
    pub frame: &'a Frame,
    /// The problem in as many columns as there are rows, where that is fewer; L2 only.
    pub row_space: Option<&'a RowSpace>,
    pub y: &'a [f64],
    pub shares: &'a [f64],
    pub loss: Loss,
}

impl Solver<'_> {
    /// Solves with penalty strengths `l1` ($\lambda$) and `l2` ($\mu$), from `start` if given.
    pub(super) fn solve(
        &self,
        l1: f64,
        l2: f64,
        start: Option<&Solution>,
        budget: &Budget<'_>,
    ) -> Result<Solution> {
        let units = &self.frame.units;
        let problem = Scaled {
            z: &self.frame.z,
            y: self.y,
            shares: self.shares,
            loss: self.loss.get(),
            l1: units.iter().map(|u| penalty_weight(l1, *u)).collect(),
            l2: units.iter().map(|u| penalty_weight(l2 * u, *u)).collect(),
        };
        let from = start.map(|s| (s.v.as_slice(), s.b));
        if l1 > 0.0 {
            return working_set(&problem, from, self.loss, budget);
        }
        let Some(space) = self.row_space else {
            return self.ridge(&problem, from, budget);
        };
        let inner = Scaled {
            z: &space.basis,
            l1: vec![0.0; space.squares.len()],
            l2: space.squares.iter().map(|s| penalty_weight(l2, *s)).collect(),
            ..problem
        };
        let from = start.and_then(|s| Some((s.inner.as_deref()?, s.b)));
        let found = self.ridge(&inner, from, budget)?;
        Ok(space.lift(self.frame, &inner, found, l2))
    }

    /// The solution in the units of the data.
    pub(super) fn answer(&self, solution: &Solution) -> Result<Answer> {
        self.frame.answer(&solution.v, solution.b, solution.duals.clone())
    }

    fn ridge(
        &self,
        problem: &Scaled<'_>,
        start: Option<(&[f64], f64)>,
        budget: &Budget<'_>,
    ) -> Result<Solution> {
        let (n, p) = problem.shape();
        match (self.loss, Shape::of(self.loss)) {
            (Loss::Hinge, Some(shape)) if n.min(p) <= MOST_INTERIOR => {
                interior(problem, shape, budget)
            }
            (Loss::Hinge, _) => rounded_hinge(problem, start, budget),
            _ if n.min(p) <= MOST_DIRECT => newton(problem, start, Steps::Direct, budget),
            _ => newton(problem, start, Steps::ConjugateGradient, budget),
        }
    }
}

/// The hinge by Newton's method on ever sharper corners, each started from the last.
fn rounded_hinge(
    problem: &Scaled<'_>,
    start: Option<(&[f64], f64)>,
    budget: &Budget<'_>,
) -> Result<Solution> {
    let mut from = start.map(|(v, b)| (v.to_vec(), b));
    let mut width = 0.1_f64;
    let mut n_iter = 0;
    loop {
        let smooth = SmoothHinge { width };
        let rounded = Scaled { loss: &smooth, ..problem.clone() };
        let left = Budget {
            tol: budget.tol.max(width),
            max_iter: budget.max_iter.saturating_sub(n_iter).max(1),
            ..*budget
        };
        let from_here = from.as_ref().map(|(v, b)| (v.as_slice(), *b));
        let found = newton(&rounded, from_here, Steps::ConjugateGradient, &left)?;
        n_iter += found.n_iter;
        if width <= 0.5 * budget.tol || n_iter >= budget.max_iter {
            return Ok(Solution { n_iter, ..found });
        }
        from = Some((found.v, found.b));
        width = (0.2 * width).max(0.4 * budget.tol);
    }
}
