//! Primal-dual interior point method with Nesterov-Todd scaling.

use super::newton::{Centring, Direction, Newton};
use super::normal::Members;
use super::problem::{Multipliers, Plane, Problem};
use crate::error::Result;
use crate::linalg::{TINY, vector};
use crate::optim::cone::Points;
use crate::optim::{Bracket, Budget, step};

/// A step shorter than this is none: the iteration has come to its end.
const SHORTEST_STEP: f64 = 1e-9;
/// Share of the way to the boundary where the predictor reaches nothing; [`step::DAMPING`] where it takes a full step.
const CAUTIOUS_DAMPING: f64 = 0.9;
/// Share of the lighter class's cap that the first multipliers of each class add up to.
const START_SHARE: f64 = 0.5;

/// Iterate: slacks s, v and multipliers a, g = C - a of the rows; cone points k = (rho, L'w) and z.
#[derive(Debug)]
pub(super) struct State {
    pub w: Vec<f64>,
    pub b: f64,
    pub s: Vec<f64>,
    pub v: Vec<f64>,
    pub a: Vec<f64>,
    pub g: Vec<f64>,
    pub k: Points,
    pub z: Points,
}

/// Solves the cone program: s = y(Xw + b) - 1 + v - m rho >= 0 (multiplier a), v >= 0 (multiplier C - a),
/// (rho_j, L_j'w) in the second-order cone (multiplier z_j).
///
/// Mehrotra's predictor and corrector; one iteration is one or two Gram matrices of the rows and a
/// Cholesky factorisation of order p + 1 ([`super::normal::Normal`]), about 15 in all. Steps stay half a percent
/// away from the boundary, since singular P makes solutions with `$w_j = 0$` common.
///
/// Follows the central path or, if `weighted`, the path through the start, on which the products of a row are
/// proportional to its cap: rows of very different weight never get products that their caps do not allow.
///
/// Stops when the gap of `bracket`, with the objective counted as at least `floor`, is the budget's.
pub(super) fn solve(
    problem: &Problem<'_>,
    weighted: bool,
    floor: f64,
    bracket: &mut Bracket<Plane, Multipliers>,
    budget: &mut Budget<'_>,
) -> Result<()> {
    let members = Members::new(problem);
    let mut state = State::start(problem);
    let centring = if weighted {
        Centring::through(&state)
    } else {
        Centring::central(problem.y.len(), problem.shapes.len())
    };
    while bracket.gap(floor) > budget.tol() && budget.take()? {
        if advance(problem, &members, &centring, &mut state).is_none() {
            break;
        }
        offer(problem, &state, bracket);
    }
    Ok(())
}

/// One iteration; `None` if no step can be taken.
fn advance(
    problem: &Problem<'_>,
    members: &Members,
    centring: &Centring,
    state: &mut State,
) -> Option<()> {
    let newton = Newton::new(problem, members, state)?;
    let predictor = newton.predictor();
    let reachable = state.longest_step(&predictor).min(1.0);
    let corrector = newton.corrector(&predictor, reachable, centring);
    // Bold where the predictor was.
    let damping = CAUTIOUS_DAMPING + (step::DAMPING - CAUTIOUS_DAMPING) * reachable;
    let t = (state.longest_step(&corrector) * damping).min(1.0);
    let usable = t.is_finite() && corrector.x.iter().all(|v| v.is_finite());
    if !usable || t < SHORTEST_STEP {
        return None;
    }
    state.go(t, &corrector);
    Some(())
}

impl State {
    fn start(problem: &Problem<'_>) -> Self {
        let (n, p) = (problem.x.nrows(), problem.x.ncols());
        let (up, down) = problem.caps();
        let lighter = up.min(down);
        let share = |y: f64| START_SHARE * lighter / if y > 0.0 { up } else { down };
        let a: Vec<f64> = (0..n).map(|i| problem.cap[i] * share(problem.y[i])).collect();
        let z = problem.reach(&a);
        Self {
            w: vec![0.0; p],
            b: 0.0,
            s: vec![1.0; n],
            // With w = 0 and rho = 1 the margin is missed by 1 + m, and the slack s is 1.
            v: problem.multiplier.iter().map(|m| 2.0 + m).collect(),
            g: a.iter().zip(problem.cap).map(|(a, c)| c - a).collect(),
            k: Points::new(vec![1.0; z.len()], p),
            z: Points::new(z, p),
            a,
        }
    }

    pub(super) fn complementarity(&self) -> f64 {
        vector::dot(&self.s, &self.a) + vector::dot(&self.v, &self.g) + self.k.dot(&self.z)
    }

    fn longest_step(&self, d: &Direction) -> f64 {
        step::longest(&self.s, &d.s, f64::INFINITY)
            .min(step::longest(&self.v, &d.v, f64::INFINITY))
            .min(step::longest(&self.a, &d.a, f64::INFINITY))
            .min(step::longest_against(&self.g, &d.a, f64::INFINITY))
            .min(self.k.longest_step(&d.k))
            .min(self.z.longest_step(&d.z))
    }

    fn go(&mut self, t: f64, d: &Direction) {
        let p = self.w.len();
        vector::axpy(t, &d.x[..p], &mut self.w);
        self.b += t * d.x[p];
        vector::axpy(t, &d.s, &mut self.s);
        vector::axpy(t, &d.v, &mut self.v);
        vector::axpy(t, &d.a, &mut self.a);
        vector::axpy(-t, &d.a, &mut self.g);
        self.k.add_scaled(t, &d.k);
        self.z.add_scaled(t, &d.z);
    }
}

/// Offers the iterate: its weights with its own and with the best intercept, and its multipliers.
fn offer(problem: &Problem<'_>, state: &State, bracket: &mut Bracket<Plane, Multipliers>) {
    let rho: Vec<f64> =
        (0..state.k.len()).map(|j| vector::norm_sq(state.k.own(j)).sqrt()).collect();
    let (scores, spread) = (problem.x.mul_vec(&state.w), problem.spread(&rho));
    for b in [state.b, problem.best_intercept(&scores, &spread)] {
        let value = problem.objective(&state.w, &scores, b, &spread);
        bracket.offer_primal(value, || Plane { w: state.w.clone(), b });
    }
    offer_dual(problem, &state.a, &state.z, bracket);
}

/// Offers the bound of `certificate::lower_bound`, with its own repair of the multipliers; images under L come
/// from `z` instead of from the matrices.
pub(super) fn offer_dual(
    problem: &Problem<'_>,
    a: &[f64],
    z: &Points,
    bracket: &mut Bracket<Plane, Multipliers>,
) {
    let (up, down) = problem.by_class(a);
    let scale = |y: f64| if y > 0.0 { (down / up).min(1.0) } else { (up / down).min(1.0) };
    let a: Vec<f64> = a.iter().zip(problem.y).map(|(a, y)| a * scale(*y)).collect();
    let reach = problem.reach(&a);
    let signed: Vec<f64> = a.iter().zip(problem.y).map(|(a, y)| a * y).collect();
    let mut gradient = problem.x.tr_mul_vec(&signed);
    let shorter = |j: usize| {
        let length = vector::norm_sq(z.own(j)).sqrt().max(TINY);
        (reach[j] / length).min(1.0)
    };
    z.add_images(shorter, &mut gradient);
    let value = a.iter().sum::<f64>() - 0.5 * vector::norm_sq(&gradient);
    bracket.offer_dual(value, || Multipliers { a, zeta: z.vectors() });
}
