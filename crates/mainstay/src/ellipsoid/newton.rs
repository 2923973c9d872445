//! Newton's directions of one interior point iteration: predictor and corrector.

use super::interior::State;
use super::normal::{Eliminated, Members, Normal};
use super::problem::Problem;
use crate::linalg::vector;
use crate::optim::cone::{Points, Scaling};
use crate::optim::step;

/// Centring never aims lower than this part of the present complementarity.
const LEAST_CENTRING: f64 = 1e-8;

/// A direction, named like the state; `x` holds those of w and of b.
#[derive(Debug)]
pub(super) struct Direction {
    pub x: Vec<f64>,
    pub s: Vec<f64>,
    pub v: Vec<f64>,
    pub a: Vec<f64>,
    pub k: Points,
    pub z: Points,
}

/// Which path the iteration follows: the complementary products are kept proportional to these.
#[derive(Debug)]
pub(super) struct Centring {
    /// Of s and a.
    margins: Vec<f64>,
    /// Of v and C - a.
    bounds: Vec<f64>,
    /// Of k and z.
    cones: Vec<f64>,
    total: f64,
}

impl Centring {
    /// The central path: all products alike.
    pub(super) fn central(rows: usize, cones: usize) -> Self {
        let total = (2 * rows + cones) as f64;
        Self { margins: vec![1.0; rows], bounds: vec![1.0; rows], cones: vec![1.0; cones], total }
    }

    /// The weighted path through `state`.
    pub(super) fn through(state: &State) -> Self {
        let products = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).collect();
        let margins: Vec<f64> = products(&state.s, &state.a);
        let bounds: Vec<f64> = products(&state.v, &state.g);
        let cones: Vec<f64> = products(&state.k.head, &state.z.head);
        let total = margins.iter().chain(&bounds).chain(&cones).sum();
        Self { margins, bounds, cones, total }
    }
}

/// Everything about an iteration that both directions share.
#[derive(Debug)]
pub(super) struct Newton<'a> {
    problem: &'a Problem<'a>,
    state: &'a State,
    scaling: Scaling,
    normal: Normal,
    eliminated: Eliminated,
    d: Vec<f64>,
    residual: Residual,
    /// Sum of the images `$L_j z_j$`.
    pushed: Vec<f64>,
}

/// What is left of the equations at an iterate.
#[derive(Debug)]
struct Residual {
    margins: Vec<f64>,
    w: Vec<f64>,
    b: f64,
    rho: Vec<f64>,
}

impl Residual {
    fn new(problem: &Problem<'_>, state: &State, pushed: &[f64]) -> Self {
        let scores = problem.x.mul_vec(&state.w);
        let spread = problem.spread(&state.k.head);
        let margins = (0..problem.y.len()).map(|i| {
            let margin = problem.y[i] * (scores[i] + state.b);
            state.s[i] - (margin - 1.0 + state.v[i] - spread[i])
        });
        let signed: Vec<f64> = state.a.iter().zip(problem.y).map(|(a, y)| a * y).collect();
        let mut w = state.w.clone();
        vector::axpy(-1.0, &problem.x.tr_mul_vec(&signed), &mut w);
        vector::axpy(-1.0, pushed, &mut w);
        let reach = problem.reach(&state.a);
        Self {
            margins: margins.collect(),
            w,
            b: -signed.iter().sum::<f64>(),
            rho: reach.iter().zip(&state.z.head).map(|(r, z)| r - z).collect(),
        }
    }
}

/// `$\sum_j L_j t_j$`.
fn pushed(problem: &Problem<'_>, points: &Points) -> Vec<f64> {
    let mut out = vec![0.0; problem.x.ncols()];
    points.add_images(|_| 1.0, &mut out);
    out
}

impl<'a> Newton<'a> {
    /// Factors the system at `state`; `None` if arithmetic breaks down.
    pub(super) fn new(
        problem: &'a Problem<'a>,
        members: &Members,
        state: &'a State,
    ) -> Option<Self> {
        let scaling = Scaling::new(&state.k, &state.z);
        let curvature = |i: usize| 1.0 / (state.s[i] / state.a[i] + state.v[i] / state.g[i]);
        let d: Vec<f64> = (0..problem.y.len()).map(curvature).collect();
        let (normal, eliminated) = Normal::new(problem, members, &d, &scaling)?;
        let pushed = pushed(problem, &state.z);
        let residual = Residual::new(problem, state, &pushed);
        Some(Self { problem, state, scaling, normal, eliminated, d, residual, pushed })
    }

    /// Full Newton towards complementarity 0, for which the cone term is -z.
    pub(super) fn predictor(&self) -> Direction {
        let state = self.state;
        let mut target = state.z.clone();
        vector::scale(&mut target.head, -1.0);
        vector::scale(target.tail.data_mut(), -1.0);
        let minus: Vec<f64> = self.pushed.iter().map(|v| -v).collect();
        let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| -x * y).collect();
        let (cs, cv): (Vec<f64>, Vec<f64>) =
            (product(&state.s, &state.a), product(&state.v, &state.g));
        self.direction(&cs, &cv, &target, &minus)
    }

    /// Aims at the complementarity that the predictor makes plausible, with its curvature.
    pub(super) fn corrector(
        &self,
        predictor: &Direction,
        reachable: f64,
        centring: &Centring,
    ) -> Direction {
        let (state, n) = (self.state, self.problem.y.len());
        let mu = state.complementarity() / centring.total;
        let after = self.complementarity_after(predictor, reachable) / centring.total;
        let goal = step::centring(after, mu, LEAST_CENTRING) * mu;
        let slack = |i: usize| {
            goal * centring.margins[i] - state.s[i] * state.a[i] - predictor.s[i] * predictor.a[i]
        };
        let bound = |i: usize| {
            goal * centring.bounds[i] - state.v[i] * state.g[i] + predictor.v[i] * predictor.a[i]
        };
        let (cs, cv): (Vec<f64>, Vec<f64>) =
            ((0..n).map(slack).collect(), (0..n).map(bound).collect());
        let goals: Vec<f64> = centring.cones.iter().map(|weight| goal * weight).collect();
        let target = self.scaling.corrector(&state.z, &predictor.k, &predictor.z, &goals);
        let cone = pushed(self.problem, &target);
        self.direction(&cs, &cv, &target, &cone)
    }

    /// Solves the Newton system for complementarity targets `cs`, `cv` of the rows and `target` of the
    /// cones (already divided by lambda and scaled back), with `cone` = the sum of L_j target_j.
    fn direction(&self, cs: &[f64], cv: &[f64], target: &Points, cone: &[f64]) -> Direction {
        let (problem, state) = (self.problem, self.state);
        let (n, p) = (problem.x.nrows(), problem.x.ncols());
        let margin = &self.residual.margins;
        let r: Vec<f64> =
            (0..n).map(|i| cs[i] / state.a[i] - cv[i] / state.g[i] + margin[i]).collect();
        let weighted: Vec<f64> = r.iter().zip(&self.d).map(|(r, d)| r * d).collect();
        let behind = problem.reach(&weighted);
        let q: Vec<f64> =
            (0..state.k.len()).map(|j| target.head[j] - behind[j] - self.residual.rho[j]).collect();
        let x = self.normal.solve(&self.right_hand_side(&weighted, &q, cone));

        let (pivot, coupling) = (&self.eliminated.pivot, &self.eliminated.coupling);
        let head = |j: usize| (q[j] + vector::dot(coupling.row(j), &x)) / pivot[j];
        let mut k = Points::new((0..state.k.len()).map(head).collect(), p);
        problem.pull_each(&x[..p], &mut k.tail);
        let scores = problem.x.mul_vec(&x[..p]);
        let spread = problem.spread(&k.head);
        let a: Vec<f64> = (0..n)
            .map(|i| self.d[i] * (r[i] - problem.y[i] * (scores[i] + x[p]) + spread[i]))
            .collect();
        let mut z = target.clone();
        self.scaling.subtract_inverse_square(&k, &mut z);
        Direction {
            s: (0..n).map(|i| (cs[i] - state.s[i] * a[i]) / state.a[i]).collect(),
            v: (0..n).map(|i| (cv[i] + state.v[i] * a[i]) / state.g[i]).collect(),
            a,
            k,
            z,
            x,
        }
    }

    /// That of the normal equations, after rows and cones are eliminated.
    fn right_hand_side(&self, weighted: &[f64], q: &[f64], cone: &[f64]) -> Vec<f64> {
        let problem = self.problem;
        let signed: Vec<f64> = weighted.iter().zip(problem.y).map(|(v, y)| v * y).collect();
        let mut rhs = problem.x.tr_mul_vec(&signed);
        vector::axpy(1.0, cone, &mut rhs);
        vector::axpy(-1.0, &self.residual.w, &mut rhs);
        rhs.push(signed.iter().sum::<f64>() - self.residual.b);
        for (j, q) in q.iter().enumerate() {
            vector::axpy(q / self.eliminated.pivot[j], self.eliminated.coupling.row(j), &mut rhs);
        }
        rhs
    }

    fn complementarity_after(&self, d: &Direction, t: f64) -> f64 {
        let state = self.state;
        let rows: f64 = (0..state.s.len())
            .map(|i| {
                let da = t * d.a[i];
                (state.s[i] + t * d.s[i]) * (state.a[i] + da)
                    + (state.v[i] + t * d.v[i]) * (state.g[i] - da)
            })
            .sum();
        let cones = state.k.dot(&state.z)
            + t * (state.k.dot(&d.z) + d.k.dot(&state.z))
            + t * t * d.k.dot(&d.z);
        rows + cones
    }
}
