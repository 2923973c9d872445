use super::quadratic::{Curvature, Quadratic};
use super::scaled::{Point, Scaled, moved};
use super::solution::{Budget, Solution};
use crate::error::Result;
use crate::linalg::{Dense, vector};

/// Up to this many columns the second-derivative matrix is formed even if there are fewer rows.
const MOST_GRAM: usize = 1500;

/// Proximal Newton for a smooth loss with an L1 part in the penalty.
///
/// Every iteration minimises the second-order model of the smooth part plus the exact L1 term
/// ([`Quadratic`]) and searches along the way to its minimiser, halving until the decrease is a
/// quarter of what the model's slope promises. Once the support has settled the iterations are
/// Newton's on the support: quadratic convergence. $O(np^2)$ an iteration, or $O(np)$ a sweep of
/// the model where there are more columns than rows.
///
/// # Reference
///
/// J. Lee, Y. Sun, M. Saunders (2014), *Proximal Newton-type methods for minimizing composite
/// functions*, SIAM J. Optim. 24(3), Algorithm 1.
pub(super) fn prox_newton(
    problem: &Scaled<'_>,
    start: (&[f64], f64),
    budget: &Budget<'_>,
) -> Result<Solution> {
    let (n, p) = problem.shape();
    let (mut v, mut b) = (start.0.to_vec(), start.1);
    let mut margins = problem.margins(&v, b);
    let transposed = (p > MOST_GRAM.max(n)).then(|| problem.z.transpose());
    let (mut n_iter, mut stalls) = (0, 0);
    let mut accuracy: f64 = 0.1;
    loop {
        budget.control.check()?;
        let duals = problem.duals(&margins);
        let pull = problem.pull(&duals);
        let r = problem.z.tr_mul_vec(&pull);
        let imbalance: f64 = pull.iter().sum();
        let gap =
            problem.gap(&Point { margins: &margins, v: &v, b, duals: &duals, r: &r, imbalance });
        let value = problem.value(&margins, &v);
        if gap <= budget.target(value) || n_iter >= budget.max_iter || stalls >= 3 {
            return Ok(Solution::new(v, b, duals, n_iter));
        }
        n_iter += 1;

        let weights: Vec<f64> = margins
            .iter()
            .zip(problem.shares)
            .map(|(m, s)| s * problem.loss.curvature(*m).unwrap_or(0.0))
            .collect();
        let mut gradient: Vec<f64> = (0..p).map(|j| problem.l2[j] * v[j] - r[j]).collect();
        gradient.push(-imbalance);
        let worst = violation(problem, &v, &gradient);
        let curvature = match &transposed {
            Some(columns) => {
                let mut diagonal: Vec<f64> = (0..p)
                    .map(|j| {
                        let sum: f64 =
                            columns.row(j).entries().map(|(i, z)| weights[i] * z * z).sum();
                        sum + problem.l2[j]
                    })
                    .collect();
                diagonal.push(weights.iter().sum());
                lift(&mut diagonal);
                Curvature::Factored { columns, weights: &weights, diagonal, ridge: &problem.l2 }
            }
            None => Curvature::Gram(hessian(problem, &weights)),
        };
        let mut u = v.clone();
        u.push(b);
        let mut model = Quadratic::new(curvature, &problem.l1, u.clone(), gradient.clone());
        model.minimise((accuracy * worst).max(1e-16));
        accuracy = (0.1 * accuracy).max(1e-6);

        let step: Vec<f64> = model.x.iter().zip(&u).map(|(x, u)| x - u).collect();
        let slope = vector::dot(&gradient, &step)
            + (0..p).map(|j| problem.l1[j] * (model.x[j].abs() - v[j].abs())).sum::<f64>();
        let mut tau = 1.0;
        let mut next = None;
        for halvings in 0..50 {
            let trial = if halvings == 0 { model.x.clone() } else { moved(&u, tau, &step) };
            let trial_margins = problem.margins(&trial[..p], trial[p]);
            let trial_value = problem.value(&trial_margins, &trial[..p]);
            // The last digits of the objective are noise: a decrease below them need not show.
            if trial_value <= value + 0.25 * tau * slope + 1e-15 * value.abs() {
                next = Some((trial, trial_margins, trial_value));
                break;
            }
            tau *= 0.5;
        }
        let Some((mut trial, trial_margins, trial_value)) = next else {
            stalls = 3;
            continue;
        };
        stalls = if value - trial_value <= 1e-15 * value.abs() { stalls + 1 } else { 0 };
        b = trial.pop().unwrap_or(b);
        v = trial;
        margins = trial_margins;
    }
}

/// The largest violation of a coordinate's optimality condition.
fn violation(problem: &Scaled<'_>, v: &[f64], gradient: &[f64]) -> f64 {
    let p = v.len();
    (0..p).fold(gradient[p].abs(), |worst, j| {
        let (g, l1) = (gradient[j], problem.l1[j]);
        worst.max(if v[j] == 0.0 {
            (g.abs() - l1).max(0.0)
        } else {
            (g + l1 * v[j].signum()).abs()
        })
    })
}

fn hessian(problem: &Scaled<'_>, weights: &[f64]) -> Dense {
    let p = problem.z.ncols();
    let gram = problem.z.weighted_gram(weights);
    let cross = problem.z.tr_mul_vec(weights);
    let mut h = Dense::zeros(p + 1, p + 1);
    for j in 0..p {
        h.row_mut(j)[..p].copy_from_slice(gram.row(j));
        h[(j, j)] += problem.l2[j];
        h[(j, p)] = cross[j];
        h[(p, j)] = cross[j];
    }
    h[(p, p)] = weights.iter().sum();
    let mut diagonal: Vec<f64> = (0..=p).map(|j| h[(j, j)]).collect();
    lift(&mut diagonal);
    for (j, d) in diagonal.iter().enumerate() {
        h[(j, j)] = *d;
    }
    h
}

/// Gives every coordinate a little curvature: where no row is curved a step would have no length.
fn lift(diagonal: &mut [f64]) {
    let largest = diagonal.iter().fold(0.0, |m: f64, d| if *d < 1e100 { m.max(*d) } else { m });
    let least = (1e-10 * largest).max(1e-12);
    for d in diagonal {
        *d = d.max(least);
    }
}
