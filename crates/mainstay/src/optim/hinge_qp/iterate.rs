//! Iterates of the interior point of the hinge program, and one step from each to the next.

use super::super::normal_equations::NormalEquations;
use super::super::program::Program;
use super::super::step;
use super::Shape;
use crate::linalg::vector;

/// Smallest and largest part of a weight at the start, in units of the scaled features.
const START: (f64, f64) = (1e-2, 1e2);

/// Steps shorter than this part of the way end the iteration: arithmetic has broken down.
const SHORTEST_STEP: f64 = 1e-13;
/// The smallest centring: a corrector that aims lower gains nothing.
const LEAST_CENTRING: f64 = 1e-8;

/// An interior point: every entry of `t`, `xi`, `a`, `g`, and of a column's four, is positive (where
/// the dual has no bound `xi` is 0 and `g` 1).
pub(super) struct Iterate {
    shape: Shape,
    accurate: bool,
    pub(super) v: Vec<f64>,
    pub(super) b: f64,
    /// Margin beyond what the loss asks for.
    pub(super) t: Vec<f64>,
    /// Shortfall beyond what the bound on the multiplier covers; it costs the bound per unit.
    pub(super) xi: Vec<f64>,
    /// Duals.
    pub(super) a: Vec<f64>,
    /// B - a, kept apart so that it keeps its digits where a is close to B.
    pub(super) g: Vec<f64>,
    columns: Vec<Column>,
}

/// The two halves of a weight with an L1 penalty and their multipliers.
#[derive(Clone, Copy)]
struct Column {
    plus: f64,
    minus: f64,
    /// Multiplier of `plus`.
    pi: f64,
    /// Multiplier of `minus`.
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

/// The linearised conditions at an iterate, factored: what both steps of an iteration share.
struct Linearised<'a, 'b> {
    program: &'a Program<'b>,
    margins: &'a [f64],
    r: &'a [f64],
    imbalance: f64,
    weights: &'a [f64],
    /// Curvature of the barrier of each L1 column.
    barrier: &'a [f64],
    equations: NormalEquations<'a>,
}

impl Iterate {
    /// Zero weights, and slacks and duals whose products are all alike: in the middle, not feasible.
    pub(super) fn start(program: &Program<'_>, shape: Shape, accurate: bool) -> Self {
        let (n, p) = program.shape();
        let a = vec![0.5; n];
        let column = |l1: &f64| {
            let size = (1.0 / (n as f64 * l1)).clamp(START.0, START.1);
            Column { plus: size, minus: size, pi: *l1, kappa: *l1 }
        };
        let columns =
            if program.has_l1() { program.l1.iter().map(column).collect() } else { Vec::new() };
        let bounded = shape.is_bounded();
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
    pub(super) fn advance(
        &mut self,
        program: &Program<'_>,
        margins: &[f64],
        r: &[f64],
        imbalance: f64,
    ) -> bool {
        let kappa = self.shape.kappa;
        let soft = |i: usize| self.t[i] / self.a[i] + kappa + self.xi[i] / self.g[i];
        let weights: Vec<f64> = (0..self.t.len()).map(|i| program.shares[i] / soft(i)).collect();
        let soft = |c: &Column| c.plus / c.pi + c.minus / c.kappa;
        let barrier: Vec<f64> = self.columns.iter().map(|c| 1.0 / soft(c)).collect();
        let mut ridge = program.l2.clone();
        for (ridge, barrier) in ridge.iter_mut().zip(&barrier) {
            *ridge += barrier;
        }
        let z = program.z;
        let equations = NormalEquations::new(z, &weights, &ridge, program.intercept, self.accurate);
        let (weights, barrier) = (&weights[..], &barrier[..]);
        let at = Linearised { program, margins, r, imbalance, weights, barrier, equations };

        let affine = self.affine_targets();
        let predictor = self.step(&at, &affine);
        let corrected = self.corrected_targets(program.shares, &affine, &predictor);
        let step = self.step(&at, &corrected);
        let tau = step::damped(self.longest(&step));
        let next = self.moved(&step, tau);
        let finite = next.v.iter().chain([&next.b]).all(|v| v.is_finite());
        if !tau.is_finite() || !finite || tau < SHORTEST_STEP {
            return false;
        }
        *self = next;
        true
    }

    /// All products to zero.
    fn affine_targets(&self) -> Targets {
        let row = |i: usize| (-self.t[i] * self.a[i], -self.xi[i] * self.g[i]);
        Targets {
            rows: (0..self.t.len()).map(row).collect(),
            columns: self.columns.iter().map(|c| (-c.plus * c.pi, -c.minus * c.kappa)).collect(),
        }
    }

    /// Mehrotra's correction: centred as far as the predictor's success suggests, and without the
    /// second-order terms that it shows.
    fn corrected_targets(&self, shares: &[f64], affine: &Targets, predictor: &Step) -> Targets {
        let n = self.t.len();
        let bounded = self.shape.is_bounded();
        let whole = if bounded { 2.0 } else { 1.0 } + 2.0 * self.columns.len() as f64 / n as f64;
        let products = self.products(shares);
        let tau = self.longest(predictor).min(1.0);
        let after = self.moved(predictor, tau).products(shares);
        let nu = step::centring(after, products, LEAST_CENTRING) * products / whole;
        // A predictor that could not go far says little about second-order effects.
        let trust = tau * tau;
        let row = |(i, (ta, xg)): (usize, &(f64, f64))| {
            let (da, dt, dxi) = (predictor.a[i], predictor.t[i], predictor.xi[i]);
            let other = if bounded { nu + xg + trust * dxi * da } else { 0.0 };
            (nu + ta - trust * dt * da, other)
        };
        let column = |((plus, minus), d): (&(f64, f64), &Column)| {
            let target = nu / n as f64;
            (target + plus - trust * d.plus * d.pi, target + minus - trust * d.minus * d.kappa)
        };
        Targets {
            rows: affine.rows.iter().enumerate().map(row).collect(),
            columns: affine.columns.iter().zip(&predictor.columns).map(column).collect(),
        }
    }

    /// The duality gap of a feasible point: all products, rows by weight.
    fn products(&self, shares: &[f64]) -> f64 {
        let rows: f64 = (0..self.t.len())
            .map(|i| shares[i] * (self.t[i] * self.a[i] + self.xi[i] * self.g[i]))
            .sum();
        rows + self.columns.iter().map(|c| c.plus * c.pi + c.minus * c.kappa).sum::<f64>()
    }

    /// Newton's step towards `targets`.
    fn step(&self, at: &Linearised<'_, '_>, targets: &Targets) -> Step {
        let program = at.program;
        let n = self.t.len();
        // da = weights / shares * (drive - y (z'dv + db))
        let drive: Vec<f64> = (0..n)
            .map(|i| {
                let (ta, xg) = targets.rows[i];
                let reach = at.margins[i] + self.shape.kappa * self.a[i] + self.xi[i];
                let infeasible = reach - self.t[i] - 1.0;
                ta / self.a[i] - xg / self.g[i] - infeasible
            })
            .collect();
        let mut v = at.equations.solve(&self.right_hand_side(at, targets, &drive));
        let b = if program.intercept { v.pop().unwrap_or(0.0) } else { 0.0 };
        let along = program.margins(&v, b);
        let (mut t, mut xi, mut a) =
            (Vec::with_capacity(n), Vec::with_capacity(n), Vec::with_capacity(n));
        for i in 0..n {
            let (ta, xg) = targets.rows[i];
            let da = at.weights[i] / program.shares[i] * (drive[i] - along[i]);
            t.push((ta - self.t[i] * da) / self.a[i]);
            xi.push((xg + self.xi[i] * da) / self.g[i]);
            a.push(da);
        }
        let columns = self.column_steps(at, targets, &v);
        Step { v, b, t, xi, a, columns }
    }

    fn right_hand_side(
        &self,
        at: &Linearised<'_, '_>,
        targets: &Targets,
        drive: &[f64],
    ) -> Vec<f64> {
        let program = at.program;
        let signed: Vec<f64> =
            (0..drive.len()).map(|i| at.weights[i] * program.y[i] * drive[i]).collect();
        let mut rhs = program.z.tr_mul_vec(&signed);
        for (j, rhs) in rhs.iter_mut().enumerate() {
            *rhs += at.r[j] - program.l2[j] * self.v[j];
            if let Some(c) = self.columns.get(j) {
                let (plus, minus) = targets.columns[j];
                *rhs += c.pi - program.l1[j] + at.barrier[j] * (plus / c.pi - minus / c.kappa);
            }
        }
        if program.intercept {
            rhs.push(signed.iter().sum::<f64>() + at.imbalance);
        }
        rhs
    }

    fn column_steps(&self, at: &Linearised<'_, '_>, targets: &Targets, dv: &[f64]) -> Vec<Column> {
        let one = |(j, c): (usize, &Column)| {
            let (plus, minus) = targets.columns[j];
            let dpi = at.barrier[j] * (plus / c.pi - minus / c.kappa - dv[j]);
            Column {
                plus: (plus - c.plus * dpi) / c.pi,
                minus: (minus + c.minus * dpi) / c.kappa,
                pi: dpi,
                kappa: -dpi,
            }
        };
        self.columns.iter().enumerate().map(one).collect()
    }

    /// How far along `step` everything stays nonnegative.
    fn longest(&self, step: &Step) -> f64 {
        let mut tau = step::longest(&self.t, &step.t, f64::INFINITY);
        tau = step::longest(&self.a, &step.a, tau);
        if self.shape.is_bounded() {
            tau = step::longest(&self.xi, &step.xi, tau);
            tau = step::longest_against(&self.g, &step.a, tau);
        }
        for (c, d) in self.columns.iter().zip(&step.columns) {
            tau = step::ratio(c.plus, d.plus, step::ratio(c.minus, d.minus, tau));
            tau = step::ratio(c.pi, d.pi, step::ratio(c.kappa, d.kappa, tau));
        }
        tau
    }

    fn moved(&self, step: &Step, tau: f64) -> Self {
        let go = |x: &[f64], tau: f64, dx: &[f64]| {
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
            go(&self.v, tau, &step.v)
        } else {
            columns.iter().map(|c| c.plus - c.minus).collect()
        };
        let bounded = self.shape.is_bounded();
        Self {
            shape: self.shape,
            accurate: self.accurate,
            v,
            b: self.b + tau * step.b,
            t: go(&self.t, tau, &step.t),
            xi: go(&self.xi, tau, &step.xi),
            a: go(&self.a, tau, &step.a),
            g: if bounded { go(&self.g, -tau, &step.a) } else { self.g.clone() },
            columns,
        }
    }

    /// Columns whose multipliers say that their weight is zero.
    pub(super) fn idle_columns(&self) -> Vec<bool> {
        self.columns.iter().map(|c| c.plus.max(c.minus) < c.pi.min(c.kappa)).collect()
    }
}
