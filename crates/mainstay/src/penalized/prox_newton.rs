//! Proximal Newton for smooth losses with an L1 part in the penalty.

use super::quadratic::{Curvature, Quadratic};
use super::solution::{Solution, target};
use crate::error::Result;
use crate::linalg::{Dense, Matrix, vector};
use crate::optim::program::FirstOrder;
use crate::optim::step::{MOST_HALVINGS, ROUNDING};
use crate::optim::{Budget, Program};

/// Up to this many columns the second-derivative matrix is formed even if there are fewer rows.
const MOST_GRAM: usize = 1500;
/// Iterations without a decrease that rounding cannot explain, after which the fit ends.
const MOST_STALLS: usize = 3;
/// Part of the decrease promised by the model's slope that a step must bring.
const SUFFICIENT: f64 = 0.25;
/// Violation of the model's optimality conditions that is left, as a part of that at its start: the first
/// iterations are rough, later ones ten times finer each, down to the last of these.
const MODEL_ACCURACY: [f64; 2] = [0.1, 1e-6];
/// The accuracy of a model relative to that of the one before.
const SHARPER: f64 = 0.1;
/// Violation of the model's optimality, in units of the gradient, below which sweeps change nothing.
const LEAST_VIOLATION: f64 = 1e-16;
/// Curvature of a coordinate, at least, relative to the largest one.
const LEAST_CURVATURE: f64 = 1e-10;
/// Curvature of a coordinate, at least, where no row is curved (losses per unit of weight squared).
const LEAST_CURVATURE_AT_ALL: f64 = 1e-12;
/// Curvatures from here on come from overflow and say nothing about the others.
const UNBOUNDED: f64 = 1e100;

/// Proximal Newton for a smooth loss with an L1 part in the penalty.
///
/// Every iteration minimises the second-order model of the smooth part plus the exact L1 term
/// ([`Quadratic`]) and searches along the way to its minimiser, halving until the decrease is a
/// quarter of what the model's slope promises. Once the support has settled the iterations are
/// Newton's on the support: quadratic convergence. `$O(np^2)$` per iteration, or `$O(np)$` per sweep of
/// the model where there are more columns than rows.
///
/// # Reference
///
/// J. Lee, Y. Sun, M. Saunders (2014), *Proximal Newton-type methods for minimizing composite
/// functions*, SIAM J. Optim. 24(3), Algorithm 1.
pub(super) fn prox_newton(
    program: &Program<'_>,
    start: (&[f64], f64),
    budget: &mut Budget<'_>,
) -> Result<Solution> {
    let (n, p) = program.shape();
    // Weights and, last, the intercept.
    let mut u = start.0.to_vec();
    u.push(start.1);
    let mut margins = program.margins(start.0, start.1);
    let transposed = (p > MOST_GRAM.max(n)).then(|| program.z.transpose());
    let mut stalls = 0;
    let [mut accuracy, finest] = MODEL_ACCURACY;
    loop {
        let here = program.first_order(&margins, &u[..p], u[p]);
        let done = here.gap <= target(budget, here.value) || stalls >= MOST_STALLS;
        if done || !budget.take()? {
            let b = u.pop().unwrap_or(0.0);
            return Ok(Solution::new(u, b, here.duals));
        }
        let mut gradient: Vec<f64> = (0..p).map(|j| program.l2[j] * u[j] - here.r[j]).collect();
        gradient.push(-here.imbalance);
        let worst = violation(program, &u[..p], &gradient);
        let weights = program.curvature(&margins);
        let curvature = curvature(program, transposed.as_ref(), &weights);
        let mut model = Quadratic::new(curvature, &program.l1, u.clone(), gradient.clone());
        model.minimise((accuracy * worst).max(LEAST_VIOLATION));
        accuracy = (SHARPER * accuracy).max(finest);
        let minimiser = model.x;
        let Some(next) = line_search(program, &u, minimiser, &gradient, &here) else {
            stalls = MOST_STALLS;
            continue;
        };
        let gained = here.value - next.value;
        stalls = if gained <= ROUNDING * here.value.abs() { stalls + 1 } else { 0 };
        (u, margins) = (next.u, next.margins);
    }
}

/// Where a line search ended.
struct Trial {
    u: Vec<f64>,
    margins: Vec<f64>,
    value: f64,
}

/// Halves the way from `u` to the model's minimiser until the objective decreases as it should.
fn line_search(
    program: &Program<'_>,
    u: &[f64],
    minimiser: Vec<f64>,
    gradient: &[f64],
    here: &FirstOrder,
) -> Option<Trial> {
    let p = program.z.ncols();
    let step: Vec<f64> = minimiser.iter().zip(u).map(|(x, u)| x - u).collect();
    let slope = vector::dot(gradient, &step)
        + (0..p).map(|j| program.l1[j] * (minimiser[j].abs() - u[j].abs())).sum::<f64>();
    let mut tau = 1.0;
    let mut trial = minimiser;
    for _ in 0..MOST_HALVINGS {
        let margins = program.margins(&trial[..p], trial[p]);
        let value = program.value(&margins, &trial[..p]);
        // The last digits of the objective are noise: a decrease below them need not show.
        if value <= here.value + SUFFICIENT * tau * slope + ROUNDING * here.value.abs() {
            return Some(Trial { u: trial, margins, value });
        }
        tau *= 0.5;
        trial = u.to_vec();
        vector::axpy(tau, &step, &mut trial);
    }
    None
}

/// The curvature of the model, in the cheaper of its two forms.
fn curvature<'a>(
    program: &'a Program<'_>,
    transposed: Option<&'a Matrix>,
    weights: &'a [f64],
) -> Curvature<'a> {
    let Some(columns) = transposed else {
        return Curvature::Gram(hessian(program, weights));
    };
    let of_rows =
        |j: usize| -> f64 { columns.row(j).entries().map(|(i, z)| weights[i] * z * z).sum() };
    let mut diagonal: Vec<f64> = (0..columns.nrows()).map(of_rows).collect();
    diagonal.push(weights.iter().sum());
    lift(&mut diagonal, &program.l2);
    Curvature::Factored { columns, weights, diagonal, ridge: &program.l2 }
}

/// The largest violation of a coordinate's optimality condition.
fn violation(program: &Program<'_>, v: &[f64], gradient: &[f64]) -> f64 {
    let p = v.len();
    (0..p).fold(gradient[p].abs(), |worst, j| {
        let (g, l1) = (gradient[j], program.l1[j]);
        worst.max(if v[j] == 0.0 {
            (g.abs() - l1).max(0.0)
        } else {
            (g + l1 * v[j].signum()).abs()
        })
    })
}

fn hessian(program: &Program<'_>, weights: &[f64]) -> Dense {
    let p = program.z.ncols();
    let gram = program.z.weighted_gram(weights);
    let cross = program.z.tr_mul_vec(weights);
    let mut h = Dense::zeros(p + 1, p + 1);
    for j in 0..p {
        h.row_mut(j)[..p].copy_from_slice(gram.row(j));
        h[(j, p)] = cross[j];
        h[(p, j)] = cross[j];
    }
    h[(p, p)] = weights.iter().sum();
    let mut diagonal: Vec<f64> = (0..=p).map(|j| h[(j, j)]).collect();
    lift(&mut diagonal, &program.l2);
    for (j, d) in diagonal.iter().enumerate() {
        h[(j, j)] = *d;
    }
    h
}

/// Adds the ridge to the rows' curvature and gives every coordinate a little: where no row is curved a step would
/// have no length.
///
/// How little is judged by the rows alone: a column of tiny numbers has a huge ridge, which says nothing about the others.
fn lift(of_rows: &mut [f64], ridge: &[f64]) {
    let largest = of_rows.iter().fold(0.0, |m: f64, d| if *d < UNBOUNDED { m.max(*d) } else { m });
    let least = (LEAST_CURVATURE * largest).max(LEAST_CURVATURE_AT_ALL);
    for (j, d) in of_rows.iter_mut().enumerate() {
        *d = (*d + ridge.get(j).unwrap_or(&0.0)).max(least);
    }
}
