//! The plain hinge program, its piecewise quadratic relatives and the hard margin: one interior point.
//!
//! Penalised classifiers, the neighbours of the conic SVM (hinge and hard margin) and ROLIN's hinge fits
//! all minimise a [`Program`] whose loss is one of these. They differ in what they ask for (a free
//! intercept, an L1 part, bounds that fit their units, an exact answer), not in the method.

mod exact;
mod iterate;
mod shape;

pub use exact::exact_hinge;
pub use shape::{HARD_MARGIN, HardMargin, Shape};

use iterate::Iterate;

use super::bracket::Bracket;
use super::budget::Budget;
use super::program::{PrimalDual, Program};
use crate::error::Result;
use crate::linalg::vector;

/// Below this gap the rounding errors of the faster form of the linear system show.
const ACCURATE: f64 = 2e-8;
/// Iterations without a smaller gap before giving up; early ones, where the dual point is not yet
/// feasible, need not show any.
const PATIENCE: usize = 40;

/// Multiple of duals that prove a hard margin impossible: beyond every bound that is asked for.
const CANCELLED: f64 = 1e100;

/// A hinge program and when its solution is good enough.
#[derive(Clone)]
pub struct HingeQp<'a> {
    /// The program; its loss must be the one of `shape`.
    pub program: Program<'a>,
    /// The loss as a quadratic program.
    pub shape: Shape,
    /// Objectives below this count as this in the relative gap.
    pub floor: f64,
    /// A lower bound beyond this ends the search: a hard margin that needs such weights does not exist.
    pub unbounded: f64,
}

/// What was found, and the solver's own bounds on the optimum.
#[derive(Debug, Clone)]
pub struct HingeSolution {
    /// Weights.
    pub v: Vec<f64>,
    /// Intercept; 0 where there is none.
    pub b: f64,
    /// `$a_i$` of every row.
    pub duals: Vec<f64>,
    /// Objective; infinite where no feasible point was met.
    pub upper: f64,
    /// The best dual value.
    pub lower: f64,
}

/// Primal-dual interior point method for the hinge and its relatives, with any of the penalties.
///
/// With slacks `$\xi, t \ge 0$`, `$m_i + \kappa a_i + \xi_i - t_i = 1$` ([`Shape`]), and the weights split
/// as `$v = v^+ - v^-$` where `$\lambda_j > 0$`, the optimality conditions are
///
/// ```math
/// t_i a_i = 0,\quad \xi_i(B - a_i) = 0,\quad v_j^+\pi_j = 0,\quad v_j^-(2\lambda_j - \pi_j) = 0,
///   \qquad \pi_j = \lambda_j + \mu_j v_j - r_j,\quad \textstyle\sum_i s_i a_i y_i = 0
/// ```
///
/// with `$r = Z^\top(s a y)$` (and `$\mu_j v_j = r_j$` where `$\lambda_j = 0$`; the last condition is the
/// intercept's). Newton's method follows the path on which the zeros are replaced by `$\nu$` (times `$1/n$` for
/// the columns) as `$\nu \to 0$`, with Mehrotra's predictor and corrector. Eliminating all but `$(v, b)$` leaves
/// [`super::normal_equations`] with `$d_i = s_i / (t_i/a_i + \kappa + \xi_i/(B-a_i))$` and `$\tau_j = \mu_j +
/// 1/(v_j^+/\pi_j + v_j^-/(2\lambda_j - \pi_j))$`: one factorisation of order `$\min(n, p) + 1$` per iteration,
/// some twenty iterations.
///
/// Rows enter the path in proportion to their weight, so weights and repetition follow one path.
///
/// # Reference
///
/// S. Mehrotra (1992), *On the implementation of a primal-dual interior point method*, SIAM J.
/// Optim. 2(4).
impl HingeQp<'_> {
    /// Solves until the relative gap is at most the budget's.
    pub fn solve(&self, budget: &mut Budget<'_>) -> Result<HingeSolution> {
        let mut run = Run::new(self, budget.tol());
        run.until(budget.tol(), PATIENCE, budget)?;
        let gap = run.bracket.upper() - run.bracket.lower();
        let idle = run.iterate.idle_columns();
        let mut found = run.into_solution();
        if self.program.has_l1() {
            self.drop_idle(&idle, &mut found, gap.max(budget.tol() * self.floor));
        }
        Ok(found)
    }

    /// Sets to exactly zero the weights whose multipliers say so, if that costs less than `room`.
    fn drop_idle(&self, idle: &[bool], found: &mut HingeSolution, room: f64) {
        let mut v = found.v.clone();
        for (v, idle) in v.iter_mut().zip(idle) {
            if *idle {
                *v = 0.0;
            }
        }
        let value = |v: &[f64]| self.program.value(&self.program.margins(v, found.b), v);
        if value(&v) <= value(&found.v) + room {
            found.v = v;
        }
    }
}

/// A solver on its way.
struct Run<'a, 'b> {
    qp: &'a HingeQp<'b>,
    iterate: Iterate,
    /// Best `$(v, b)$` and best duals.
    bracket: Bracket<(Vec<f64>, f64), Vec<f64>>,
    broken: bool,
}

impl<'a, 'b> Run<'a, 'b> {
    fn new(qp: &'a HingeQp<'b>, tol: f64) -> Self {
        let iterate = Iterate::start(&qp.program, qp.shape, tol < ACCURATE);
        Self { qp, iterate, bracket: Bracket::new(), broken: false }
    }

    /// Iterates until the relative gap is `tol`, nothing improves for `patience` iterations, the budget
    /// is spent or arithmetic breaks down.
    fn until(&mut self, tol: f64, patience: usize, budget: &mut Budget<'_>) -> Result<()> {
        let program = &self.qp.program;
        let (mut least, mut since_least) = (f64::INFINITY, 0);
        loop {
            let margins = program.margins(&self.iterate.v, self.iterate.b);
            let signed = program.signed_duals(&self.iterate.a);
            let r = program.z.tr_mul_vec(&signed);
            let imbalance = if program.intercept { signed.iter().sum() } else { 0.0 };
            self.offer(&margins, &r, imbalance);
            let gap = self.bracket.upper() - self.bracket.lower();
            since_least = if gap < least { 0 } else { since_least + 1 };
            least = least.min(gap);
            let proven = self.bracket.gap(self.qp.floor) <= tol;
            if proven || self.bracket.lower() > self.qp.unbounded || since_least >= patience {
                return Ok(());
            }
            if self.broken || !budget.take()? {
                return Ok(());
            }
            self.broken = !self.iterate.advance(program, &margins, &r, imbalance);
            if self.broken {
                return Ok(());
            }
        }
    }

    /// Both bounds of the present iterate.
    fn offer(&mut self, margins: &[f64], r: &[f64], imbalance: f64) {
        let (program, at) = (&self.qp.program, &self.iterate);
        if self.qp.shape.is_hard() {
            return self.offer_hard(margins, r);
        }
        let value = program.value(margins, &at.v);
        self.bracket.offer_primal(value, || (at.v.clone(), at.b));
        let pair = PrimalDual { margins, v: &at.v, b: at.b, duals: &at.a, r, imbalance };
        self.bracket.offer_dual(program.lower(&pair), || at.a.clone());
    }

    /// With a hard margin any multiple is feasible that lifts the smallest margin to 1, and any multiple of
    /// the duals; the best one is in closed form.
    fn offer_hard(&mut self, margins: &[f64], r: &[f64]) {
        let (program, at) = (&self.qp.program, &self.iterate);
        let smallest = margins.iter().fold(f64::INFINITY, |m, v| m.min(*v));
        if smallest > 0.0 {
            let scaled: Vec<f64> = at.v.iter().map(|v| v / smallest).collect();
            let value = program.penalty(&scaled);
            self.bracket.offer_primal(value, || (scaled, at.b / smallest));
        }
        let sum = vector::dot(&at.a, program.shares);
        let curved: f64 = r.iter().zip(&program.l2).map(|(r, mu)| r * (r / mu)).sum();
        // Duals whose rows cancel prove that no margin exists: any multiple is a bound.
        let scale = if curved > 0.0 { sum / curved } else { CANCELLED };
        let lower = scale * (sum - 0.5 * scale * curved);
        self.bracket.offer_dual(lower, || at.a.iter().map(|a| scale * a).collect());
    }

    fn into_solution(self) -> HingeSolution {
        let (upper, lower) = (self.bracket.upper(), self.bracket.lower());
        let (primal, dual) = self.bracket.into_points();
        let (v, b) = primal.unwrap_or((self.iterate.v, self.iterate.b));
        HingeSolution { v, b, duals: dual.unwrap_or(self.iterate.a), upper, lower }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::linalg::{Dense, Matrix};
    use crate::loss::Loss;

    fn solve(x: &[f64], y: &[f64], l2: f64, shape: Option<Shape>) -> HingeSolution {
        let (n, p) = (y.len(), x.len() / y.len());
        let z = Matrix::from(Dense::from_rows(n, p, x.to_vec()));
        let shares = vec![1.0 / n as f64; n];
        let program = Program {
            z: &z,
            y,
            shares: &shares,
            loss: if shape.is_some() { Loss::Hinge.get() } else { &HardMargin },
            l1: vec![0.0; p],
            l2: vec![l2; p],
            intercept: false,
        };
        let qp = HingeQp {
            program,
            shape: shape.unwrap_or(HARD_MARGIN),
            floor: f64::MIN_POSITIVE,
            unbounded: 1e14,
        };
        let control = Control::new();
        let mut budget = Budget::new(1e-10, 100, &control);
        qp.solve(&mut budget).unwrap_or_else(|e| unreachable!("{e}"))
    }

    /// Points at +-1 leave l2 w^2/2 + max(0, 1 - w): w = min(1, 1/l2).
    #[test]
    fn two_points_on_a_line_match_the_closed_form() {
        for l2 in [100.0, 2.0, 1.0, 0.3, 1e-4] {
            let found = solve(&[1.0, -1.0], &[1.0, -1.0], l2, Shape::of(Loss::Hinge));
            let w = f64::min(1.0, 1.0 / l2);
            assert!((found.v[0] - w).abs() < 1e-5, "{l2}: {found:?}");
            assert!(found.upper - found.lower <= 1e-9 * found.upper, "{found:?}");
        }
        let hard = solve(&[1.0, -1.0], &[1.0, -1.0], 0.5, None);
        assert!((hard.v[0] - 1.0).abs() < 1e-9 && (hard.upper - 0.25).abs() < 1e-9, "{hard:?}");
    }

    #[test]
    fn contradictory_points_have_no_hard_margin() {
        let found = solve(&[1.0, 1.0], &[1.0, -1.0], 0.5, None);
        assert!(found.lower > 1e14 && found.upper.is_infinite(), "{found:?}");
    }

    /// The largest margin between (1, 0), (0, 1) and (-1, -1) without intercept: w = (1, 1).
    #[test]
    fn the_hard_margin_is_found() {
        let found = solve(&[1.0, 0.0, 0.0, 1.0, -1.0, -1.0], &[1.0, 1.0, -1.0], 2.0, None);
        assert!((found.upper - 2.0).abs() < 1e-8 && found.upper - found.lower < 1e-8, "{found:?}");
    }

    /// max(0, 1 - (v + b)) + max(0, 1 + b) over two, plus l1 |v|: with l1 > 1/2 the weight stays at 0.
    #[test]
    fn idle_weights_are_exactly_zero() {
        let z = Matrix::from(Dense::from_rows(2, 1, vec![1.0, 0.0]));
        for (l1, idle) in [(0.6, true), (0.1, false)] {
            let program = Program {
                z: &z,
                y: &[1.0, -1.0],
                shares: &[0.5, 0.5],
                loss: Loss::Hinge.get(),
                l1: vec![l1],
                l2: vec![0.0],
                intercept: true,
            };
            let shape = Shape::of(Loss::Hinge).unwrap_or(HARD_MARGIN);
            let qp = HingeQp { program, shape, floor: 1.0, unbounded: f64::INFINITY };
            let control = Control::new();
            let found = qp.solve(&mut Budget::new(1e-8, 100, &control));
            let v = found.map_or(f64::NAN, |f| f.v[0]);
            assert!(if idle { v == 0.0 } else { (v - 2.0).abs() < 1e-5 }, "{l1}: {v}");
        }
    }
}
