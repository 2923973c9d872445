//! The second-order model that proximal Newton minimises.

use crate::linalg::{Cholesky, Dense, Matrix, vector};

/// Sweeps over the coordinates before the support is solved for exactly.
const SWEEPS: usize = 10;
/// Rounds of sweeps and support solves before the outer iteration gets its turn.
const ROUNDS: usize = 100;
/// Weights that one support solve may drop.
const CUTS: usize = 5;
/// Largest support that is worth a factorisation.
const MOST_SUPPORT: usize = 1500;
/// Relative lift of the diagonal, so that a singular curvature can be factored.
const DIAGONAL_SHIFT: f64 = 1e-12;
/// A violation counts as smaller if it is below this part of the smallest so far.
const BETTER: f64 = 0.9;
/// Rounds without a smaller violation after which only rounding errors are left.
const PATIENCE: usize = 5;

/// `$q(x) = h^\top (x - u) + \tfrac12 (x-u)^\top (Z^\top D Z + M)(x-u) + \sum_j \lambda_j |x_j|$` over
/// the weights and, last, the intercept (`$\lambda = 0$`): the model that proximal Newton minimises.
pub(super) enum Curvature<'a> {
    /// The matrix itself: an update costs `$O(p)$`.
    Gram(Dense),
    /// Columns (transposed data), `$d$`, `$M$`: an update costs `$O(n)$`; for more columns than rows.
    Factored { columns: &'a Matrix, weights: &'a [f64], diagonal: Vec<f64>, ridge: &'a [f64] },
}

/// The state of a minimisation of the model.
pub(super) struct Quadratic<'a> {
    curvature: Curvature<'a>,
    l1: Vec<f64>,
    /// The point.
    pub x: Vec<f64>,
    /// Gradient of the smooth part at `x` (Gram form) or at the start (factored form).
    gradient: Vec<f64>,
    start: Vec<f64>,
    /// `$D Z (x - u)$`, factored form only.
    moved: Vec<f64>,
}

impl<'a> Quadratic<'a> {
    /// The model around `u` with gradient `h` there.
    pub(super) fn new(curvature: Curvature<'a>, l1: &[f64], u: Vec<f64>, h: Vec<f64>) -> Self {
        let rows = match &curvature {
            Curvature::Gram(_) => 0,
            Curvature::Factored { weights, .. } => weights.len(),
        };
        let mut l1 = l1.to_vec();
        l1.push(0.0);
        Self { curvature, l1, x: u.clone(), gradient: h, start: u, moved: vec![0.0; rows] }
    }

    /// Minimises until no coordinate violates its optimality condition by more than `tol`.
    ///
    /// Coordinate descent finds the support; a Newton step on the support, cut short where a weight
    /// would change its sign, makes the rest exact however ill conditioned the model is.
    pub(super) fn minimise(&mut self, tol: f64) {
        let mut best = f64::INFINITY;
        let mut since_best = 0;
        for _ in 0..ROUNDS {
            let mut worst = 0.0;
            for _ in 0..SWEEPS {
                worst = self.sweep();
                if worst <= tol {
                    return;
                }
            }
            if let Curvature::Gram(_) = self.curvature {
                self.solve_support();
            }
            // At the level of rounding errors nothing improves any more.
            since_best = if worst < BETTER * best { 0 } else { since_best + 1 };
            best = best.min(worst);
            if since_best >= PATIENCE {
                return;
            }
        }
    }

    /// One pass over the coordinates; the largest violation met.
    fn sweep(&mut self) -> f64 {
        let mut worst: f64 = 0.0;
        for j in 0..self.x.len() {
            let (gradient, diagonal) = self.slope_at(j);
            let violation = if self.x[j] == 0.0 {
                (gradient.abs() - self.l1[j]).max(0.0)
            } else {
                (gradient + self.l1[j] * self.x[j].signum()).abs()
            };
            worst = worst.max(violation);
            if violation == 0.0 || diagonal <= 0.0 {
                continue;
            }
            let next = if self.l1[j] == 0.0 {
                self.x[j] - gradient / diagonal
            } else {
                soft(self.x[j] - gradient / diagonal, self.l1[j] / diagonal)
            };
            self.shift(j, next - self.x[j]);
            self.x[j] = next;
        }
        worst
    }

    fn slope_at(&self, j: usize) -> (f64, f64) {
        match &self.curvature {
            Curvature::Gram(h) => (self.gradient[j], h[(j, j)]),
            Curvature::Factored { columns, diagonal, ridge, .. } => {
                let inner = if j < columns.nrows() {
                    columns.row(j).dot(&self.moved) + ridge[j] * (self.x[j] - self.start[j])
                } else {
                    self.moved.iter().sum()
                };
                (self.gradient[j] + inner, diagonal[j])
            }
        }
    }

    fn shift(&mut self, j: usize, by: f64) {
        match &self.curvature {
            Curvature::Gram(h) => vector::axpy(by, h.row(j), &mut self.gradient),
            Curvature::Factored { columns, weights, .. } => {
                if j < columns.nrows() {
                    for (i, v) in columns.row(j).entries() {
                        self.moved[i] += by * weights[i] * v;
                    }
                } else {
                    vector::axpy(by, weights, &mut self.moved);
                }
            }
        }
    }

    /// Newton's step over the support with the present signs.
    fn support_step(&self, h: &Dense, support: &[usize]) -> Option<Vec<f64>> {
        let k = support.len();
        let mut part = Dense::from_fn(k, k, |a, b| h[(support[a], support[b])]);
        // Singular where fewer rows are curved than weights are in use: a step along the flat
        // direction, cut short, drops one of them, as it should.
        for a in 0..k {
            part[(a, a)] *= 1.0 + DIAGONAL_SHIFT;
        }
        let factor = Cholesky::new(&part)?;
        let sign = |j: usize| if self.l1[j] == 0.0 { 0.0 } else { self.x[j].signum() };
        let mut step: Vec<f64> =
            support.iter().map(|&j| -(self.gradient[j] + self.l1[j] * sign(j))).collect();
        factor.solve_in_place(&mut step);
        step.iter().all(|d| d.is_finite()).then_some(step)
    }

    /// How far the step goes, at most 1, before a penalised weight would change its sign, and which one does.
    fn first_sign_change(&self, support: &[usize], step: &[f64]) -> (f64, Option<usize>) {
        let (mut tau, mut hit) = (1.0, None);
        for (a, &j) in support.iter().enumerate() {
            if self.l1[j] > 0.0 && self.x[j] * (self.x[j] + step[a]) < 0.0 {
                let reach = -self.x[j] / step[a];
                if reach < tau {
                    (tau, hit) = (reach, Some(a));
                }
            }
        }
        (tau, hit)
    }

    /// Goes to the minimum over the present support with the present signs, stopping (and dropping
    /// the weight) wherever a sign would change.
    fn solve_support(&mut self) {
        let Curvature::Gram(h) = &self.curvature else { return };
        let mut support: Vec<usize> =
            (0..self.x.len()).filter(|&j| self.x[j] != 0.0 || self.l1[j] == 0.0).collect();
        if support.len() > MOST_SUPPORT {
            return;
        }
        for _ in 0..CUTS {
            let Some(step) = self.support_step(h, &support) else { return };
            let (tau, hit) = self.first_sign_change(&support, &step);
            for (a, &j) in support.iter().enumerate() {
                let by = if Some(a) == hit { -self.x[j] } else { tau * step[a] };
                vector::axpy(by, h.row(j), &mut self.gradient);
                self.x[j] = if Some(a) == hit { 0.0 } else { self.x[j] + by };
            }
            match hit {
                Some(a) => support.remove(a),
                None => return,
            };
        }
    }
}

/// `$\max(|x| - t, 0)$` with the sign of `$x$`.
fn soft(x: f64, t: f64) -> f64 {
    if x > t {
        x - t
    } else if x < -t {
        x + t
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Separable curvature diag(2, 4), gradient (-3, 1) at 0, l1 = 1 on the weight: the weight goes to
    /// (3 - 1) / 2 = 1, the intercept to -1/4.
    #[test]
    fn a_separable_model_has_its_closed_form() {
        let gram = Curvature::Gram(Dense::from_rows(2, 2, vec![2.0, 0.0, 0.0, 4.0]));
        let mut model = Quadratic::new(gram, &[1.0], vec![0.0, 0.0], vec![-3.0, 1.0]);
        model.minimise(1e-14);
        assert_eq!(model.x, [1.0, -0.25]);
    }

    /// Both forms of the curvature have one minimiser.
    #[test]
    fn the_factored_form_has_the_same_minimiser() {
        let z = Matrix::from(Dense::from_fn(4, 3, |i, j| ((5 * i + 3 * j + 1) as f64).cos()));
        let (weights, ridge, l1) = ([0.2, 0.5, 0.1, 0.4], [0.3, 0.3, 0.3], [0.05, 0.1, 0.2]);
        let h = vec![0.5, -1.0, 0.1, 0.2];
        let ones = [1.0; 4];
        let full = Matrix::from(Dense::from_fn(4, 4, |i, j| {
            if j < 3 { z.row(i).dot(&unit(j)) } else { ones[i] }
        }));
        let mut gram = full.weighted_gram(&weights);
        for j in 0..3 {
            gram[(j, j)] += ridge[j];
        }
        let columns = z.transpose();
        let diagonal = (0..4).map(|j| gram[(j, j)]).collect();
        let factored =
            Curvature::Factored { columns: &columns, weights: &weights, diagonal, ridge: &ridge };
        let solve = |curvature| {
            let mut model = Quadratic::new(curvature, &l1, vec![0.1; 4], h.clone());
            model.minimise(1e-12);
            model.x
        };
        let (one, other) = (solve(Curvature::Gram(gram)), solve(factored));
        assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-8), "{one:?} {other:?}");
    }

    fn unit(j: usize) -> Vec<f64> {
        (0..3).map(|k| f64::from(u8::from(k == j))).collect()
    }
}
