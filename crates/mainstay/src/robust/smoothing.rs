//! The worst case by Newton's method on ever sharper smooth upper bounds.

use super::newton::{Point, solve_scaled};
use super::worst::{Softened, Worst};
use super::worst_certificate::bound;
use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::loss::expected_logistic;
use crate::optim::{Bracket, Budget};

/// Softness of the first and the last bound, in units of margins.
const FIRST: f64 = 0.3;
const LAST: f64 = 1e-11;
/// Each is this part of the one before.
const SHARPER: f64 = 0.2;

/// The best point, and the point and softness whose multipliers prove the best bound.
pub(super) struct Found {
    pub at: Point,
    pub proof: Option<(Point, f64)>,
}

/// Minimises until primal value and bound are within `budget.tol()`.
///
/// Every maximum of the problem (deletions, lengths, worst rows) is softened by $\epsilon$; the maximisers are
/// feasible multipliers, so each stage proves a bound, and the gap falls with $\epsilon$. A stage starts where the
/// one before ended and takes two or three Newton steps of $O(n p^2)$.
pub(super) fn minimise(
    problem: &Worst<'_>,
    start: &Point,
    budget: &mut Budget<'_>,
) -> Result<Found> {
    let mut at = start.clone();
    let mut bracket: Bracket<Point, (Point, f64)> = Bracket::new();
    bracket.enter("smoothing");
    bracket.offer_primal(problem.value(&at.w, at.b), || at.clone());
    let smooth = problem.share >= 1.0 && problem.axes.is_none() && problem.budget <= 0.0;
    let mut soft = if smooth { 1e-3 } else { FIRST };
    while soft > LAST {
        let before = budget.spent();
        let open = centre(problem, &mut at, soft, budget)?;
        bracket.offer_primal(problem.value(&at.w, at.b), || at.clone());
        bracket.offer_dual(bound(problem, &at, soft), || (at.clone(), soft));
        if bracket.gap(1.0) <= 0.9 * budget.tol() || !open {
            break;
        }
        // Stages that are easy make room for a longer stride.
        soft *= if budget.spent() - before <= 3 { 0.5 * SHARPER } else { SHARPER };
    }
    let (point, proof) = bracket.into_points();
    Ok(Found { at: point.unwrap_or(at), proof })
}

/// Newton steps for one softness; false when the budget is used up.
fn centre(problem: &Worst<'_>, at: &mut Point, soft: f64, budget: &mut Budget<'_>) -> Result<bool> {
    let p = at.w.len();
    let mut state = problem.soften(&at.w, at.b, soft);
    for _ in 0..40 {
        let (slope, matrix) = derivatives(problem, &state, at, soft);
        let downhill: Vec<f64> = slope.iter().map(|g| -g).collect();
        let step = solve_scaled(matrix, &downhill, problem.intercept);
        let promised = vector::dot(&slope, &step);
        // Closer than the softening itself is no use.
        if -promised <= (0.02 * soft).clamp(1e-16, 1e-3) {
            return Ok(true);
        }
        if !budget.take()? {
            return Ok(false);
        }
        let mut tau = 1.0;
        let mut moved = false;
        for _ in 0..40 {
            let mut next = at.clone();
            vector::axpy(tau, &step[..p], &mut next.w);
            next.b += tau * step[p];
            let found = problem.soften(&next.w, next.b, soft);
            if found.value <= state.value + 1e-4 * tau * promised {
                (*at, state, moved) = (next, found, true);
                break;
            }
            tau *= 0.5;
        }
        if !moved {
            return Ok(true);
        }
    }
    Ok(true)
}

/// Rows and weights whose Gram matrices make up the Hessian.
///
/// With $t_i = y_i x_i$, $\sigma_{ij} = d_{ij}(1 - d_{ij})/\epsilon$ and $r_i$ the softened length, a margin has the gradient
/// $t_i \circ (1 - d_i) - L_i^2 w / r_i$ and minus the Hessian
/// $\mathrm{diag}(t_i^2 \sigma_i) - (t_i \sigma_i)(t_i \sigma_i)^\top / \sum_j \sigma_{ij} + L_i^2/r_i - (L_i^2 w)(L_i^2 w)^\top / r_i^3$,
/// the second term where the budget is used up.
struct Parts {
    /// Gradients of the margins, the intercept last.
    slopes: Dense,
    along: Vec<f64>,
    /// $t \sigma$.
    shared: Dense,
    shared_weight: Vec<f64>,
    /// $L^2 w$.
    stretched: Dense,
    stretched_weight: Vec<f64>,
    /// The diagonal.
    own: Vec<f64>,
    /// Minus the derivative of every loss by its margin.
    pulls: Vec<f64>,
}

impl Parts {
    fn new(problem: &Worst<'_>, state: &Softened, at: &Point, soft: f64) -> Self {
        let (n, p) = (problem.y.len(), at.w.len());
        let mut parts = Self {
            slopes: Dense::zeros(n, p + 1),
            along: vec![0.0; n],
            shared: Dense::zeros(if state.deletions.ncols() > 0 { n } else { 0 }, p),
            shared_weight: vec![0.0; n],
            stretched: Dense::zeros(if problem.axes.is_some() { n } else { 0 }, p),
            stretched_weight: vec![0.0; n],
            own: vec![problem.alpha; p],
            pulls: vec![0.0; n],
        };
        for i in 0..n {
            let terms = expected_logistic(state.margins[i], 0.0);
            let pull = -terms.m + problem.kappa(i);
            parts.along[i] = state.weights[i] * terms.mm + state.sharpness[i] * pull * pull;
            parts.pulls[i] = pull;
            let row = parts.slopes.row_mut(i);
            row.iter_mut().zip(problem.x.row(i)).for_each(|(out, x)| *out = problem.y[i] * x);
            row[p] = problem.y[i];
            let force = state.weights[i] * pull;
            parts.delete(problem, state, (i, force), soft);
            parts.stretch(problem, state, (i, force), &at.w);
        }
        parts
    }

    /// What deletions do to row i.
    fn delete(
        &mut self,
        problem: &Worst<'_>,
        state: &Softened,
        (i, force): (usize, f64),
        soft: f64,
    ) {
        if state.deletions.ncols() == 0 {
            return;
        }
        let mut total = 0.0;
        for (d, &j) in state.deletions.row(i).iter().zip(problem.deletable) {
            let (signed, sharp) = (problem.y[i] * problem.x[(i, j)], d * (1.0 - d) / soft);
            self.slopes[(i, j)] -= signed * d;
            self.own[j] += force * signed * signed * sharp;
            self.shared[(i, j)] = signed * sharp;
            total += sharp;
        }
        self.shared_weight[i] = if state.full[i] && total > 1e-200 { -force / total } else { 0.0 };
    }

    /// What errors do to row i.
    fn stretch(
        &mut self,
        problem: &Worst<'_>,
        state: &Softened,
        (i, force): (usize, f64),
        w: &[f64],
    ) {
        let Some(axes) = problem.axes_of(i) else { return };
        let length = state.lengths[i];
        for (j, l) in axes.iter().enumerate() {
            let image = l * l * w[j];
            self.slopes[(i, j)] -= image / length;
            self.own[j] += force * l * l / length;
            self.stretched[(i, j)] = image;
        }
        self.stretched_weight[i] = -force / length.powi(3);
    }
}

/// Gradient and Hessian (lower triangle) of the softened problem.
fn derivatives(problem: &Worst<'_>, state: &Softened, at: &Point, soft: f64) -> (Vec<f64>, Dense) {
    let (n, p) = (problem.y.len(), at.w.len());
    let parts = Parts::new(problem, state, at, soft);
    let forces: Vec<f64> = (0..n).map(|i| -state.weights[i] * parts.pulls[i]).collect();
    let mut slope = parts.slopes.tr_mul_vec(&forces);
    vector::axpy(problem.alpha, &at.w, &mut slope[..p]);
    if !problem.intercept {
        slope[p] = 0.0;
    }
    let mut matrix = Dense::zeros(p + 1, p + 1);
    parts.slopes.add_weighted_gram(0..n, &parts.along, &mut matrix);
    let mut square = Dense::zeros(p, p);
    parts.shared.add_weighted_gram(0..parts.shared.nrows(), &parts.shared_weight, &mut square);
    let stretched = &parts.stretched;
    stretched.add_weighted_gram(0..stretched.nrows(), &parts.stretched_weight, &mut square);
    for j in 0..p {
        (0..=j).for_each(|k| matrix[(j, k)] += square[(j, k)]);
        matrix[(j, j)] += parts.own[j];
    }
    // The level of the worst rows follows their losses: one rank less.
    let total: f64 = state.sharpness.iter().sum();
    if total > 1e-200 {
        let sharp: Vec<f64> = (0..n).map(|i| state.sharpness[i] * parts.pulls[i]).collect();
        let common = parts.slopes.tr_mul_vec(&sharp);
        for j in 0..=p {
            (0..=j).for_each(|k| matrix[(j, k)] -= common[j] * common[k] / total);
        }
    }
    (slope, matrix)
}
