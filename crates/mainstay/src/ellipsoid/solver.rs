//! Primal-dual interior point method with Nesterov-Todd scaling.

use super::normal::{Eliminated, Members, Normal};
use super::problem::{Answer, Problem};
use super::scaling::{Points, Scaling};
use crate::control::Control;
use crate::error::Result;
use crate::linalg::vector;

/// Gap to reach and when to give up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    /// Absolute gap that is small enough whatever the objective.
    pub absolute: f64,
    /// Gap relative to the objective.
    pub relative: f64,
    /// Iterations.
    pub max_iter: usize,
}

/// Iterate: slacks s, v and multipliers a, C - a of the rows; cone points k = (rho, L'w) and z.
struct State {
    w: Vec<f64>,
    b: f64,
    s: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
    g: Vec<f64>,
    k: Points,
    z: Points,
}

/// A direction, named like the state.
struct Direction {
    x: Vec<f64>,
    s: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
    k: Points,
    z: Points,
}

/// Solves the cone program: s = y(Xw + b) - 1 + v - m rho >= 0 (multiplier a), v >= 0 (multiplier C - a),
/// (rho_j, L_j'w) in the second-order cone (multiplier z_j).
///
/// Mehrotra's predictor and corrector; one iteration is one or two Gram matrices of the rows and a
/// Cholesky factorisation of order p + 1 ([`Normal`]), about 15 in all. Steps stay half a percent away
/// from the boundary, since singular P makes solutions with $w_j = 0$ common.
pub(super) fn solve(
    problem: &Problem<'_>,
    stop: Stop,
    control: &Control,
) -> Result<(Answer, usize)> {
    let members = Members::new(problem);
    let mut state = State::start(problem, &members);
    let mut best = Best::new(problem, &state);
    let mut iterations = 0;
    while iterations < stop.max_iter && !best.reached(stop) {
        control.check()?;
        iterations += 1;
        let Some(finite) = advance(problem, &members, &mut state) else { break };
        best.look(problem, &state);
        if !finite {
            break;
        }
    }
    Ok((best.answer, iterations))
}

impl State {
    fn start(problem: &Problem<'_>, members: &Members) -> Self {
        let (n, p) = (problem.x.nrows(), problem.x.ncols());
        let (up, down) = problem.caps();
        let lighter = up.min(down);
        let share = |y: f64| 0.5 * lighter / if y > 0.0 { up } else { down };
        let a: Vec<f64> = (0..n).map(|i| problem.cap[i] * share(problem.y[i])).collect();
        let z = reach(problem, members, &a);
        Self {
            w: vec![0.0; p],
            b: 0.0,
            s: vec![1.0; n],
            v: problem.multiplier.iter().map(|m| 2.0 + m).collect(),
            g: a.iter().zip(problem.cap).map(|(a, c)| c - a).collect(),
            k: Points::new(vec![1.0; z.len()], p),
            z: Points::new(z, p),
            a,
        }
    }

    fn complementarity(&self) -> f64 {
        vector::dot(&self.s, &self.a) + vector::dot(&self.v, &self.g) + self.k.dot(&self.z)
    }

    fn degree(&self) -> f64 {
        (2 * self.s.len() + self.k.len()) as f64
    }

    fn longest_step(&self, d: &Direction) -> f64 {
        let positive = |x: &[f64], dx: &[f64], sign: f64| {
            x.iter().zip(dx).fold(f64::INFINITY, |t, (x, dx)| {
                let dx = sign * dx;
                if dx < 0.0 { t.min(-x / dx) } else { t }
            })
        };
        positive(&self.s, &d.s, 1.0)
            .min(positive(&self.v, &d.v, 1.0))
            .min(positive(&self.a, &d.a, 1.0))
            .min(positive(&self.g, &d.a, -1.0))
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

/// $\sum_{i \in j} m_i a_i$ for every cone.
fn reach(problem: &Problem<'_>, members: &Members, a: &[f64]) -> Vec<f64> {
    let one = |rows: &Vec<usize>| rows.iter().map(|&i| problem.multiplier[i] * a[i]).sum();
    members.of_cone.iter().map(one).collect()
}

/// $\sum_j L_j t_j$.
fn pushed(problem: &Problem<'_>, points: &Points) -> Vec<f64> {
    let mut out = vec![0.0; problem.x.ncols()];
    points.add_images(|_| 1.0, &mut out);
    out
}

/// Everything about an iteration that both directions share.
struct Step<'a> {
    problem: &'a Problem<'a>,
    members: &'a Members,
    state: &'a State,
    scaling: Scaling,
    normal: Normal,
    eliminated: Eliminated,
    d: Vec<f64>,
    /// Residuals of the margins, of w, of b and of rho.
    rs: Vec<f64>,
    rw: Vec<f64>,
    rb: f64,
    rr: Vec<f64>,
}

/// One iteration; `None` if no step can be taken, `Some(false)` if the last one was tiny.
fn advance(problem: &Problem<'_>, members: &Members, state: &mut State) -> Option<bool> {
    let n = problem.x.nrows();
    let scaling = Scaling::new(&state.k, &state.z);
    let d: Vec<f64> =
        (0..n).map(|i| 1.0 / (state.s[i] / state.a[i] + state.v[i] / state.g[i])).collect();
    let (normal, eliminated) = Normal::new(problem, members, &d, &scaling)?;

    let scores = problem.x.mul_vec(&state.w);
    let spread = problem.spread(&state.k.head);
    let rs = (0..n)
        .map(|i| {
            let margin = problem.y[i] * (scores[i] + state.b);
            state.s[i] - (margin - 1.0 + state.v[i] - spread[i])
        })
        .collect();
    let signed: Vec<f64> = state.a.iter().zip(problem.y).map(|(a, y)| a * y).collect();
    let cone = pushed(problem, &state.z);
    let mut rw = state.w.clone();
    vector::axpy(-1.0, &problem.x.tr_mul_vec(&signed), &mut rw);
    vector::axpy(-1.0, &cone, &mut rw);
    let rr =
        reach(problem, members, &state.a).iter().zip(&state.z.head).map(|(r, z)| r - z).collect();
    let rb = -signed.iter().sum::<f64>();
    let step = Step { problem, members, state, scaling, normal, eliminated, d, rs, rw, rb, rr };

    // Predictor: full Newton towards complementarity 0, for which the cone term is -z.
    let mut target = state.z.clone();
    vector::scale(&mut target.head, -1.0);
    vector::scale(target.tail.data_mut(), -1.0);
    let minus: Vec<f64> = cone.iter().map(|v| -v).collect();
    let cs: Vec<f64> = (0..n).map(|i| -state.s[i] * state.a[i]).collect();
    let cv: Vec<f64> = (0..n).map(|i| -state.v[i] * state.g[i]).collect();
    let affine = step.direction(&cs, &cv, &target, &minus);
    let reachable = state.longest_step(&affine).min(1.0);

    // Corrector: aim at the complementarity the predictor makes plausible, with its curvature.
    let mu = state.complementarity() / state.degree();
    let after = step.complementarity_after(&affine, reachable) / state.degree();
    let goal = (after / mu).clamp(0.0, 1.0).powi(3).max(1e-8) * mu;
    let cs: Vec<f64> =
        (0..n).map(|i| goal - state.s[i] * state.a[i] - affine.s[i] * affine.a[i]).collect();
    let cv: Vec<f64> =
        (0..n).map(|i| goal - state.v[i] * state.g[i] + affine.v[i] * affine.a[i]).collect();
    let target = step.scaling.corrector(&state.z, &affine.k, &affine.z, goal);
    let cone = pushed(problem, &target);
    let corrected = step.direction(&cs, &cv, &target, &cone);
    let t = (state.longest_step(&corrected) * (0.9 + 0.095 * reachable)).min(1.0);
    let usable = t.is_finite() && corrected.x.iter().all(|v| v.is_finite());
    if !usable || t < 1e-9 {
        return None;
    }
    state.go(t, &corrected);
    Some(true)
}

impl Step<'_> {
    /// Solves the Newton system for complementarity targets `cs`, `cv` of the rows and `target` of the
    /// cones (already divided by lambda and scaled back), with `cone` = the sum of L_j target_j.
    fn direction(&self, cs: &[f64], cv: &[f64], target: &Points, cone: &[f64]) -> Direction {
        let (problem, state) = (self.problem, self.state);
        let (n, p) = (problem.x.nrows(), problem.x.ncols());
        let r: Vec<f64> =
            (0..n).map(|i| cs[i] / state.a[i] - cv[i] / state.g[i] + self.rs[i]).collect();
        let pull: Vec<f64> = r.iter().zip(&self.d).map(|(r, d)| r * d).collect();
        let behind = reach(problem, self.members, &pull);
        let q: Vec<f64> =
            (0..state.k.len()).map(|j| target.head[j] - behind[j] - self.rr[j]).collect();
        let signed: Vec<f64> = pull.iter().zip(problem.y).map(|(v, y)| v * y).collect();
        let mut rhs = problem.x.tr_mul_vec(&signed);
        vector::axpy(1.0, cone, &mut rhs);
        vector::axpy(-1.0, &self.rw, &mut rhs);
        rhs.push(signed.iter().sum::<f64>() - self.rb);
        for (j, q) in q.iter().enumerate() {
            vector::axpy(q / self.eliminated.pivot[j], self.eliminated.coupling.row(j), &mut rhs);
        }
        let x = self.normal.solve(&rhs);

        let head = |j: usize| {
            (q[j] + vector::dot(self.eliminated.coupling.row(j), &x)) / self.eliminated.pivot[j]
        };
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

/// The best primal and the best dual point seen so far.
struct Best {
    answer: Answer,
    primal: f64,
    dual: f64,
}

impl Best {
    /// Starts from w = 0, the answer for large ellipsoids, which interior points only approach.
    fn new(problem: &Problem<'_>, state: &State) -> Self {
        let (up, down) = problem.caps();
        let answer = Answer {
            w: vec![0.0; problem.x.ncols()],
            b: if up >= down { 1.0 } else { -1.0 },
            a: state.a.clone(),
            zeta: state.z.vectors(),
        };
        let mut out = Self { answer, primal: 2.0 * up.min(down), dual: 0.0 };
        // All caps of the lighter class: optimal in the limit of small features.
        let full: Vec<f64> = state.a.iter().map(|a| 2.0 * a).collect();
        out.look_dual(problem, &full, &state.z);
        out
    }

    fn reached(&self, stop: Stop) -> bool {
        self.primal - self.dual <= stop.absolute.max(stop.relative * self.primal.abs())
    }

    fn look(&mut self, problem: &Problem<'_>, state: &State) {
        let rho: Vec<f64> =
            (0..state.k.len()).map(|j| vector::norm_sq(state.k.own(j)).sqrt()).collect();
        let (scores, spread) = (problem.x.mul_vec(&state.w), problem.spread(&rho));
        for b in [state.b, problem.best_intercept(&scores, &spread)] {
            let value = problem.objective(&state.w, &scores, b, &spread);
            if value < self.primal {
                self.primal = value;
                self.answer.w.clone_from(&state.w);
                self.answer.b = b;
            }
        }
        self.look_dual(problem, &state.a, &state.z);
    }

    /// The bound of `certificate::certify`, with its own repair of the multipliers.
    fn look_dual(&mut self, problem: &Problem<'_>, a: &[f64], z: &Points) {
        let sum = |sign: f64| -> f64 {
            a.iter().zip(problem.y).filter(|(_, y)| **y == sign).map(|(a, _)| a).sum()
        };
        let (up, down) = (sum(1.0), sum(-1.0));
        let scale = |y: f64| if y > 0.0 { (down / up).min(1.0) } else { (up / down).min(1.0) };
        let a: Vec<f64> = a.iter().zip(problem.y).map(|(a, y)| a * scale(*y)).collect();
        let mut reach = vec![0.0; problem.shapes.len()];
        for (i, a) in a.iter().enumerate() {
            if problem.multiplier[i] > 0.0 {
                reach[problem.of[i]] += problem.multiplier[i] * a;
            }
        }
        let signed: Vec<f64> = a.iter().zip(problem.y).map(|(a, y)| a * y).collect();
        let mut gradient = problem.x.tr_mul_vec(&signed);
        let shorter = |j: usize| {
            let length = vector::norm_sq(z.own(j)).sqrt().max(1e-300);
            (reach[j] / length).min(1.0)
        };
        z.add_images(shorter, &mut gradient);
        let dual = a.iter().sum::<f64>() - 0.5 * vector::norm_sq(&gradient);
        if dual > self.dual {
            self.dual = dual;
            self.answer.a = a;
            self.answer.zeta = z.vectors();
        }
    }
}
