//! The start: some rows, solved in memory.

use super::descent::Problem;
use crate::conic::problem::{Form, Hyperplane, Rows};
use crate::conic::strategy::{self, Task, leading};
use crate::control::Control;
use crate::error::Result;
use crate::linalg::Dense;
use crate::optim::Budget;

/// Gap to which a sample is solved: its own error is far larger.
const SAMPLE_TOL: f64 = 1e-4;
/// Iterations spent on a sample.
const SAMPLE_ITERATIONS: usize = 200;

/// Some rows in solver units.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub x: Dense,
    pub labels: Vec<usize>,
    pub c: Vec<f64>,
    /// Total weight, class factors apart.
    pub weight: f64,
    /// Whether these are all rows.
    pub whole: bool,
}

/// The optimum of the sample, whose weight stands for that of all rows.
pub(super) fn solve_sample(problem: &Problem, sample: &Sample, y: &[f64]) -> Result<Hyperplane> {
    let share = sample.weight / problem.weight;
    let form = match problem.form {
        Form::Price(price) => Form::Price(price / share),
        Form::Budget(target) => Form::Budget(target * share),
    };
    let rows = Rows { x: &sample.x, y, c: &sample.c, damping: &problem.damping };
    let floor = problem.unit2.clamp(f64::MIN_POSITIVE, 1.0);
    let tol = if sample.whole { 0.3 * problem.tol } else { SAMPLE_TOL.max(problem.tol) };
    let control = Control::new();
    let mut budget = Budget::new(tol, SAMPLE_ITERATIONS, &control);
    let found = strategy::solve(&Task { rows, form, floor }, &mut budget)?;
    let Hyperplane { w, factor } = found.plane;
    Ok(Hyperplane { w, factor: leading(&factor) })
}
