use super::scaled::{Point, Scaled};
use super::solution::{Budget, Solution};
use super::system::System;
use crate::error::Result;
use crate::linalg::vector;
use crate::loss::Loss;

/// Below this gap the rounding errors of the faster form of the linear system show.
const ACCURATE: f64 = 1e-7;
/// Iterations without a better gap before giving up; early ones, where the dual point is not yet
/// feasible, need not show any.
const PATIENCE: usize = 40;
/// Fraction of the way to the boundary that a step may go.
const DAMPING: f64 = 0.995;

/// A piecewise quadratic loss as $\min\{\kappa a^2/2 + B\xi\}$ over $m + \kappa a + \xi \ge 1$,
/// $a, \xi \ge 0$; $B = \infty$ leaves out $\xi$.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    kappa: f64,
    bound: f64,
}

impl Shape {
    /// `None` for a loss that is not piecewise quadratic.
    pub(super) fn of(loss: Loss) -> Option<Self> {
        match loss {
            Loss::Hinge => Some(Self { kappa: 0.0, bound: 1.0 }),
            Loss::SquaredHinge => Some(Self { kappa: 0.5, bound: f64::INFINITY }),
            Loss::ModifiedHuber => Some(Self { kappa: 0.5, bound: 4.0 }),
            Loss::Logistic => None,
        }
    }

    fn bounded(self) -> bool {
        self.bound.is_finite()
    }
}

/// Primal-dual interior point method for the hinge and its relatives, with any of the penalties.
///
/// With slacks $\xi, t \ge 0$, $m_i + \kappa a_i + \xi_i - t_i = 1$ ([`Shape`]), and the weights split
/// as $v = v^+ - v^-$ where $\lambda_j > 0$, the optimality conditions are
///
/// $$t_i a_i = 0,\quad \xi_i(B - a_i) = 0,\quad v_j^+\pi_j = 0,\quad v_j^-(2\lambda_j - \pi_j) = 0,
///   \qquad \pi_j = \lambda_j + \mu_j v_j - r_j,\quad \textstyle\sum_i s_i a_i y_i = 0$$
///
/// with $r = Z^\top(s a y)$ (and $\mu_j v_j = r_j$ where $\lambda_j = 0$). Newton's method follows the
/// path on which the zeros are replaced by $\nu$ (times $1/n$ for the columns) as $\nu \to 0$,
/// with Mehrotra's predictor and corrector. Eliminating all but $(v, b)$ leaves [`System`] with
/// $d_i = s_i / (t_i/a_i + \kappa + \xi_i/(B-a_i))$ and $\tau_j = \mu_j + 1/(v_j^+/\pi_j + v_j^-/(2\lambda_j -
/// \pi_j))$: one factorisation of order $\min(n, p) + 1$ an iteration, some twenty iterations.
///
/// Rows enter the path in proportion to their weight, so weights and repetition follow one path.
///
/// # Reference
///
/// S. Mehrotra (1992), *On the implementation of a primal-dual interior point method*, SIAM J.
/// Optim. 2(4).
pub(super) fn interior(
    problem: &Scaled<'_>,
    shape: Shape,
    budget: &Budget<'_>,
) -> Result<Solution> {
    let mut state = State::new(problem, shape, budget.tol < ACCURATE);
    let mut best: Option<(f64, Solution)> = None;
    let mut since_best = 0;
    for n_iter in 0.. {
        budget.control.check()?;
        let margins = problem.margins(&state.v, state.b);
        let pull = problem.pull(&state.a);
        let r = problem.z.tr_mul_vec(&pull);
        let imbalance: f64 = pull.iter().sum();
        let gap = problem.gap(&Point {
            margins: &margins,
            v: &state.v,
            b: state.b,
            duals: &state.a,
            r: &r,
            imbalance,
        });
        if best.as_ref().is_none_or(|(least, _)| gap < *least) {
            let (v, duals) = (state.v.clone(), state.a.clone());
            best = Some((gap, Solution::new(v, state.b, duals, n_iter)));
            since_best = 0;
        } else {
            since_best += 1;
        }
        let value = problem.value(&margins, &state.v);
        if gap <= budget.target(value) || n_iter >= budget.max_iter || since_best >= PATIENCE {
            break;
        }
        if !state.advance(problem, &margins, &r, imbalance) {
            break;
        }
    }
    let (gap, mut found) = best.unwrap_or_else(|| {
        let (v, duals) = (state.v.clone(), state.a.clone());
        (f64::INFINITY, Solution::new(v, state.b, duals, 0))
    });
    if problem.is_sparse() {
        state.drop_idle(problem, &mut found, gap.max(budget.target(0.0)));
    }
    Ok(found)
}

/// An interior point: every entry of `t`, `xi`, `a`, `g`, and of a column's four, is positive (where
/// the dual has no bound `xi` is 0 and `g` 1).
struct State {
    shape: Shape,
    accurate: bool,
    v: Vec<f64>,
    b: f64,
    t: Vec<f64>,
    xi: Vec<f64>,
    a: Vec<f64>,
    /// B - a, kept apart so that it keeps its digits where a is close to B.
    g: Vec<f64>,
    columns: Vec<Column>,
}

/// The two halves of a weight with an L1 penalty and their multipliers.
#[derive(Clone, Copy)]
struct Column {
    plus: f64,
    minus: f64,
    pi: f64,
    kappa: f64,
}

/// Targets of the products, less what is there: t a, xi g; plus pi, minus kappa.
struct Targets {
    rows: Vec<(f64, f64)>,
    columns: Vec<(f64, f64)>,
}

struct Step {
    v: Vec<f64>,
    b: f64,
    t: Vec<f64>,
    xi: Vec<f64>,
    a: Vec<f64>,
    columns: Vec<Column>,
}

impl State {
    /// Zero weights, and slacks and duals whose products are all alike: in the middle, not feasible.
    fn new(problem: &Scaled<'_>, shape: Shape, accurate: bool) -> Self {
        let (n, p) = problem.shape();
        let a = vec![0.5; n];
        let columns = if problem.is_sparse() {
            let column = |l1: &f64| {
                let size = (1.0 / (n as f64 * l1)).clamp(1e-2, 1e2);
                Column { plus: size, minus: size, pi: *l1, kappa: *l1 }
            };
            problem.l1.iter().map(column).collect()
        } else {
            Vec::new()
        };
        let bounded = shape.bounded();
        Self {
            shape,
            accurate,
            v: vec![0.0; p],
            b: 0.0,
            t: vec![1.0; n],
            xi: vec![if bounded { 0.5 / (shape.bound - 0.5) } else { 0.0 }; n],
            g: a.iter().map(|a| if bounded { shape.bound - a } else { 1.0 }).collect(),
            a,
            columns,
        }
    }

    /// One predictor and one corrector step; false if arithmetic broke down.
    fn advance(
        &mut self,
        problem: &Scaled<'_>,
        margins: &[f64],
        r: &[f64],
        imbalance: f64,
    ) -> bool {
        let n = self.t.len();
        let weights: Vec<f64> = (0..n)
            .map(|i| {
                problem.shares[i]
                    / (self.t[i] / self.a[i] + self.shape.kappa + self.xi[i] / self.g[i])
            })
            .collect();
        let hold: Vec<f64> =
            self.columns.iter().map(|c| 1.0 / (c.plus / c.pi + c.minus / c.kappa)).collect();
        let mut ridge = problem.l2.clone();
        for (ridge, hold) in ridge.iter_mut().zip(&hold) {
            *ridge += hold;
        }
        let system = System::new(problem.z, &weights, &ridge, self.accurate);
        let context = Context { problem, margins, r, imbalance, weights: &weights, hold, system };

        let bounded = self.shape.bounded();
        let whole = if bounded { 2.0 } else { 1.0 } + 2.0 * self.columns.len() as f64 / n as f64;
        let products = self.products(problem.shares);
        let affine = Targets {
            rows: (0..n).map(|i| (-self.t[i] * self.a[i], -self.xi[i] * self.g[i])).collect(),
            columns: self.columns.iter().map(|c| (-c.plus * c.pi, -c.minus * c.kappa)).collect(),
        };
        let predictor = self.step(&context, &affine);
        let tau = self.longest(&predictor).min(1.0);
        let mut ahead = self.moved(&predictor, tau);
        let ratio = (ahead.products(problem.shares) / products).clamp(0.0, 1.0);
        // A predictor that could not go far says little about second-order effects.
        let trust = tau * tau;
        let nu = ratio.powi(3).max(1e-8) * products / whole;
        let corrected = Targets {
            rows: (0..n)
                .map(|i| {
                    let (da, dt, dxi) = (predictor.a[i], predictor.t[i], predictor.xi[i]);
                    let other =
                        if bounded { nu + affine.rows[i].1 + trust * dxi * da } else { 0.0 };
                    (nu + affine.rows[i].0 - trust * dt * da, other)
                })
                .collect(),
            columns: affine
                .columns
                .iter()
                .zip(&predictor.columns)
                .map(|((p, m), d)| {
                    let target = nu / n as f64;
                    (target + p - trust * d.plus * d.pi, target + m - trust * d.minus * d.kappa)
                })
                .collect(),
        };
        let step = self.step(&context, &corrected);
        let tau = (DAMPING * self.longest(&step)).min(1.0);
        ahead = self.moved(&step, tau);
        if !tau.is_finite()
            || ahead.v.iter().chain([&ahead.b]).any(|v| !v.is_finite())
            || tau < 1e-13
        {
            return false;
        }
        *self = ahead;
        true
    }

    /// The duality gap of a feasible point: all products, rows by weight.
    fn products(&self, shares: &[f64]) -> f64 {
        let rows: f64 = (0..self.t.len())
            .map(|i| shares[i] * (self.t[i] * self.a[i] + self.xi[i] * self.g[i]))
            .sum();
        rows + self.columns.iter().map(|c| c.plus * c.pi + c.minus * c.kappa).sum::<f64>()
    }

    fn step(&self, context: &Context<'_, '_>, targets: &Targets) -> Step {
        let problem = context.problem;
        let n = self.t.len();
        // da = weights / shares * (drive - y (z'dv + db))
        let drive: Vec<f64> = (0..n)
            .map(|i| {
                let (ta, xg) = targets.rows[i];
                let reach = context.margins[i] + self.shape.kappa * self.a[i] + self.xi[i];
                let infeasible = reach - self.t[i] - 1.0;
                ta / self.a[i] - xg / self.g[i] - infeasible
            })
            .collect();
        let pull: Vec<f64> = (0..n).map(|i| context.weights[i] * problem.y[i] * drive[i]).collect();
        let mut rhs = problem.z.tr_mul_vec(&pull);
        for (j, rhs) in rhs.iter_mut().enumerate() {
            *rhs += context.r[j] - problem.l2[j] * self.v[j];
            if let Some(c) = self.columns.get(j) {
                let (plus, minus) = targets.columns[j];
                *rhs += c.pi - problem.l1[j] + context.hold[j] * (plus / c.pi - minus / c.kappa);
            }
        }
        rhs.push(pull.iter().sum::<f64>() + context.imbalance);
        let mut dv = context.system.solve(&rhs);
        let db = dv.pop().unwrap_or(0.0);
        let along = problem.margins(&dv, db);
        let mut step = Step {
            v: dv,
            b: db,
            t: Vec::with_capacity(n),
            xi: Vec::with_capacity(n),
            a: Vec::with_capacity(n),
            columns: Vec::with_capacity(self.columns.len()),
        };
        for i in 0..n {
            let (ta, xg) = targets.rows[i];
            let da = context.weights[i] / problem.shares[i] * (drive[i] - along[i]);
            step.t.push((ta - self.t[i] * da) / self.a[i]);
            step.xi.push((xg + self.xi[i] * da) / self.g[i]);
            step.a.push(da);
        }
        for (j, c) in self.columns.iter().enumerate() {
            let (plus, minus) = targets.columns[j];
            let dpi = context.hold[j] * (plus / c.pi - minus / c.kappa - step.v[j]);
            step.columns.push(Column {
                plus: (plus - c.plus * dpi) / c.pi,
                minus: (minus + c.minus * dpi) / c.kappa,
                pi: dpi,
                kappa: -dpi,
            });
        }
        step
    }

    /// How far along `step` everything stays nonnegative.
    fn longest(&self, step: &Step) -> f64 {
        let mut tau = f64::INFINITY;
        let mut limit = |x: f64, dx: f64| {
            if dx < 0.0 {
                tau = tau.min(-x / dx);
            }
        };
        for i in 0..self.t.len() {
            limit(self.t[i], step.t[i]);
            limit(self.a[i], step.a[i]);
            if self.shape.bounded() {
                limit(self.xi[i], step.xi[i]);
                limit(self.g[i], -step.a[i]);
            }
        }
        for (c, d) in self.columns.iter().zip(&step.columns) {
            limit(c.plus, d.plus);
            limit(c.minus, d.minus);
            limit(c.pi, d.pi);
            limit(c.kappa, d.kappa);
        }
        tau
    }

    fn moved(&self, step: &Step, tau: f64) -> Self {
        let go = |x: &[f64], dx: &[f64]| {
            let mut out = x.to_vec();
            vector::axpy(tau, dx, &mut out);
            out
        };
        let column = |(c, d): (&Column, &Column)| Column {
            plus: c.plus + tau * d.plus,
            minus: c.minus + tau * d.minus,
            pi: c.pi + tau * d.pi,
            kappa: c.kappa + tau * d.kappa,
        };
        let columns: Vec<Column> = self.columns.iter().zip(&step.columns).map(column).collect();
        let v = if columns.is_empty() {
            go(&self.v, &step.v)
        } else {
            columns.iter().map(|c| c.plus - c.minus).collect()
        };
        let backwards: Vec<f64> = step.a.iter().map(|d| -d).collect();
        let bounded = self.shape.bounded();
        Self {
            shape: self.shape,
            accurate: self.accurate,
            v,
            b: self.b + tau * step.b,
            t: go(&self.t, &step.t),
            xi: go(&self.xi, &step.xi),
            a: go(&self.a, &step.a),
            g: if bounded { go(&self.g, &backwards) } else { self.g.clone() },
            columns,
        }
    }

    /// Sets to exactly zero the weights whose multipliers say so, if that costs less than `room`.
    fn drop_idle(&self, problem: &Scaled<'_>, found: &mut Solution, room: f64) {
        let idle = |c: &Column| c.plus.max(c.minus) < c.pi.min(c.kappa);
        let mut v = found.v.clone();
        for (v, c) in v.iter_mut().zip(&self.columns) {
            if idle(c) {
                *v = 0.0;
            }
        }
        let value = |v: &[f64]| problem.value(&problem.margins(v, found.b), v);
        if value(&v) <= value(&found.v) + room {
            found.v = v;
        }
    }
}

/// What both steps of an iteration share.
struct Context<'a, 'b> {
    problem: &'a Scaled<'b>,
    margins: &'a [f64],
    r: &'a [f64],
    imbalance: f64,
    weights: &'a [f64],
    hold: Vec<f64>,
    system: System<'a>,
}
