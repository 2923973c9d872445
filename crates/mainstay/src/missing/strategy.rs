//! Which solver of problem (4) runs when.
//!
//! The first stage that applies solves the problem to the end; none is a fallback of another.

use super::certificate::Dual;
use super::problem::RobustHinge;
use super::program::{Entries, Interior, Scaled, Units};
use crate::control::Control;
use crate::error::Result;
use crate::optim::Budget;

/// A budget of deletions below this share of the total value is none to the solver (not to the
/// certificate): its multipliers would be lost in rounding.
const NO_BUDGET: f64 = 1e-12;

/// Up to this many columns only active entries have variables. With more, nothing but their sum
/// restrains the weights of inactive entries, and activating them takes more iterations than it saves.
const FEW_COLUMNS: usize = 300;

/// If the lighter class has less than this share of the weight, all entries have variables, whatever the number of
/// columns. Its few rows decide which entries of all others are near deletion, and with active entries alone the point leaves
/// the central path: 1 row against 1,000 takes 218 steps, against 5,000 more than 300; with all of them 28 and 17.
const RARE: f64 = 1.0 / 300.0;

/// Nonzeros, at most, of a problem that gets variables at all entries for that reason: they take about 120 bytes each, and
/// beyond this memory matters more than steps.
const FEW_ENTRIES: usize = 1 << 21;

/// From this many columns on, and this many times as many as rows, steps are bent at first: with that many entries some are
/// always near the boundary, and a step that stays within it is a twentieth of a full one.
const MANY_COLUMNS: usize = 2000;
const MANY_TIMES: usize = 4;
/// Bent steps are for gaps of at least this: they come near an optimum soon, not as near as one likes.
const LOOSE: f64 = 1e-5;

/// What a solver of problem (4) returns; `certify` turns it into a proof.
#[derive(Debug, Clone)]
pub struct Solution {
    /// `$w$`.
    pub weights: Vec<f64>,
    /// `$b$`.
    pub intercept: f64,
    /// A nearly feasible dual point.
    pub dual: Dual,
    /// Factorisations.
    pub n_iter: usize,
    /// The stages that worked on it.
    pub route: Vec<&'static str>,
}

/// One way to solve the problem.
struct Stage {
    name: &'static str,
    /// Whether it is the right one.
    applies: fn(&RobustHinge<'_>, &Units) -> bool,
    solve: fn(&RobustHinge<'_>, Units, &mut Budget<'_>) -> Result<Solution>,
}

/// In this order.
const STAGES: [Stage; 5] = [
    Stage {
        name: "closed form: one class",
        applies: |problem, _| problem.fit_intercept && smaller_class(problem) == 0.0,
        solve: |problem, _, _| Ok(one_class(problem)),
    },
    Stage {
        name: "closed form: intercept only",
        applies: |_, units| units.no_weight_matters(),
        solve: |problem, _, _| Ok(intercept_only(problem)),
    },
    Stage {
        name: "interior point: nothing deleted",
        applies: |problem, _| problem.deletions.budget() <= NO_BUDGET * problem.deletions.total(),
        solve: |problem, units, budget| solve_program(problem, units, Entries::Inactive, budget),
    },
    Stage {
        name: "interior point: active entries",
        applies: |problem, _| problem.x.ncols() <= FEW_COLUMNS && !rare_class(problem),
        solve: |problem, units, budget| solve_program(problem, units, Entries::Chosen, budget),
    },
    Stage {
        name: "interior point: all entries",
        applies: |_, _| true,
        solve: |problem, units, budget| solve_program(problem, units, Entries::All, budget),
    },
];

/// Solves problem (4) to a proven gap of `tol` max(1, objective), by the interior point method unless there is a
/// closed form.
pub fn interior_point(
    problem: &RobustHinge<'_>,
    tol: f64,
    max_iter: usize,
    control: &Control,
) -> Result<Solution> {
    solve(problem, &mut Budget::new(tol, max_iter, control))
}

/// The first stage that applies.
pub(super) fn solve(problem: &RobustHinge<'_>, budget: &mut Budget<'_>) -> Result<Solution> {
    let units = Units::new(problem)?;
    let [.., last] = &STAGES;
    let stage = STAGES.iter().find(|stage| (stage.applies)(problem, &units)).unwrap_or(last);
    let found = (stage.solve)(problem, units, budget)?;
    Ok(Solution { route: vec![stage.name], ..found })
}

fn solve_program(
    problem: &RobustHinge<'_>,
    units: Units,
    entries: Entries,
    budget: &mut Budget<'_>,
) -> Result<Solution> {
    let start = |units: Units| {
        let scaled = Scaled::new(problem, units, entries);
        Interior::new(scaled, balanced_shares(problem), problem.fit_intercept)
    };
    let wide = entries == Entries::All && very_wide(problem) && budget.tol() >= LOOSE;
    let mut point = start(units);
    let proved = wide && point.bend(problem, budget)?;
    // Where bent steps have spent the budget their best weights are the answer.
    if !proved && budget.left() > 0 {
        if wide {
            point = start(Units::new(problem)?);
        }
        point.run(problem, budget)?;
    }
    let (weights, intercept, dual) = point.finish();
    // Where no bound was a number none was kept.
    let dual = if dual.sigma.is_empty() { Dual::zero(problem) } else { dual };
    Ok(Solution { weights, intercept, dual, n_iter: budget.spent().max(1), route: Vec::new() })
}

fn class_weight(problem: &RobustHinge<'_>, sign: f64) -> f64 {
    problem.y.iter().zip(problem.weights).filter(|(y, _)| **y * sign > 0.0).map(|(_, w)| w).sum()
}

/// Whether one class has hardly any weight, and the problem is small enough for variables at all entries.
fn rare_class(problem: &RobustHinge<'_>) -> bool {
    let total: f64 = problem.weights.iter().sum();
    let rare = problem.fit_intercept && smaller_class(problem) < RARE * total;
    rare && problem.x.values().len() <= FEW_ENTRIES
}

/// Whether there are so many columns for so few rows that steps bend at entries.
fn very_wide(problem: &RobustHinge<'_>) -> bool {
    problem.x.ncols() >= MANY_COLUMNS.max(MANY_TIMES * problem.y.len())
}

fn smaller_class(problem: &RobustHinge<'_>) -> f64 {
    class_weight(problem, 1.0).min(class_weight(problem, -1.0))
}

/// Half of `$\sigma$`'s limit for the lighter class, and as much in total for the heavier one (negative
/// class first): with an intercept the classes must balance.
fn balanced_shares(problem: &RobustHinge<'_>) -> [f64; 2] {
    if !problem.fit_intercept {
        return [0.5; 2];
    }
    let least = smaller_class(problem);
    [0.5 * least / class_weight(problem, -1.0), 0.5 * least / class_weight(problem, 1.0)]
}

/// Only one class: no loss at all with an intercept as large as the margin demanded.
fn one_class(problem: &RobustHinge<'_>) -> Solution {
    let sign = problem.y.first().copied().unwrap_or(1.0);
    Solution {
        weights: vec![0.0; problem.x.ncols()],
        intercept: sign * problem.demand() * problem.deletions.total(),
        dual: Dual::zero(problem),
        n_iter: 1,
        route: Vec::new(),
    }
}

/// A box of side 0, or features that are all 0: nothing but the intercept, and nothing deleted.
fn intercept_only(problem: &RobustHinge<'_>) -> Solution {
    let weights = vec![0.0; problem.x.ncols()];
    let shortfalls = problem.shortfalls(&weights);
    let shares = balanced_shares(problem);
    let mut dual = Dual::default();
    for (i, (y, weight)) in problem.y.iter().zip(problem.weights).enumerate() {
        let sigma = 2.0 * shares[usize::from(*y > 0.0)] * weight;
        dual.sigma.push(sigma);
        let entries = problem.x.row(i).entries().filter(|(_, x)| *x != 0.0).count();
        dual.tau.extend(std::iter::repeat_n(sigma, entries));
    }
    let intercept = problem.best_intercept(&shortfalls, 0.0);
    Solution { weights, intercept, dual, n_iter: 1, route: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::super::certificate::certify;
    use super::*;
    use crate::linalg::{Dense, Matrix};
    use crate::uncertainty::Deletions;

    /// Rows `$\pm(1, \dots, 1)$`, values 1, margin 1: by symmetry all weights are equal and the intercept is 0. Below a
    /// weight of 1/P nobody deletes anything, and every row loses `$p/P - pw$`, which is least at `$w = C$`.
    fn solve_signs(p: usize, budget: f64, c: f64, y: &[f64]) -> (f64, f64, Vec<&'static str>) {
        let x =
            Matrix::from(Dense::from_fn(y.len(), p, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 }));
        let deletions = Deletions::new(vec![1.0; p], budget).unwrap();
        let weights = vec![1.0; y.len()];
        let problem = RobustHinge {
            x: &x,
            y,
            weights: &weights,
            deletions: &deletions,
            margin: 1.0,
            c,
            fit_intercept: true,
        };
        let found = interior_point(&problem, 1e-8, 300, &Control::new()).unwrap();
        let proof = certify(&problem, &found.weights, found.intercept, &found.dual);
        (proof.primal, proof.gap(), found.route)
    }

    #[test]
    fn each_stage_solves_the_problem_that_it_alone_applies_to() {
        let both = [1.0, -1.0, 1.0, -1.0];
        let cases = [
            ("closed form: one class", 2, 1.0, 0.5, [1.0; 4], 0.0),
            ("closed form: intercept only", 2, 1.0, 0.0, both, 2.0),
            ("interior point: nothing deleted", 2, 0.0, 0.25, both, 0.5),
            ("interior point: active entries", 2, 1.0, 0.25, both, 1.5),
            ("interior point: all entries", 301, 1.0, 1.0 / 600.0, both, 301.0 / 600.0),
        ];
        for ((name, p, budget, c, y, objective), stage) in cases.into_iter().zip(&STAGES) {
            let (found, gap, route) = solve_signs(p, budget, c, &y);
            assert_eq!((route.as_slice(), stage.name), ([name].as_slice(), name));
            assert!(gap <= 1e-8, "{name}: {gap}");
            assert!((found - objective).abs() <= 2e-8, "{name}: {found} for {objective}");
        }
    }
}
