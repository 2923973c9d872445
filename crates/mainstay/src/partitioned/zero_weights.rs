//! Whether zero weights are optimal, which is so where the worst rows of both classes cannot be told apart.
//!
//! At $v = 0$, $b = 0$ all rows have the same loss $L_0$ and every choice of shares is as bad as another. Zero is optimal if
//! some choice $0 \le a \le c$ of weight $k/2$ in each class balances the rows, $\sum a_i y_i z_i = 0$: the reduced convex
//! hulls of the classes intersect. Such shares are those of a hinge with a fixed smoothing: its optimality condition
//! is that balance, but for the ridge, which is as small as we like. Newton's method finds them in a few passes, where
//! the smoothing of the problem itself would have to be narrowed for ever.

use super::ask::{Point, Question};
use super::binary::{Binary, Place, Setting};
use super::certificate::bound;
use super::message::{Side, Sums};
use super::problem::Problem;
use crate::certificate::Certificate;
use crate::error::Result;
use crate::linalg::Dense;
use crate::loss::Loss;

/// Width of the smoothing; any does, but the threshold stays positive where it is small beside 1.
const WIDTH: f64 = 0.01;
/// The ridge that keeps the system regular.
const RIDGE: f64 = 1e-9;
/// Passes after which the trial is given up.
const PASSES: usize = 12;
/// How near the value of zero weights the optimum must seem for a trial.
const SUSPECT: f64 = 0.99;

/// How a trial stands.
pub(super) enum Outcome {
    Open,
    Proven,
    GivenUp,
}

/// A trial under way.
#[derive(Debug, Clone)]
pub(super) struct ZeroTrial {
    setting: Setting,
    shares: Binary,
    certificate: Certificate,
    spent: usize,
}

/// Loss and slope of a row with score zero.
fn at_zero(loss: Loss) -> (f64, f64) {
    let loss = loss.get();
    (loss.value(0.0), -loss.slope(0.0))
}

/// Value of zero weights, if all rows that count have a score of zero.
pub(super) fn value(problem: &Problem) -> f64 {
    problem.scale * problem.k * at_zero(problem.loss).0
}

/// Whether an objective is so near that of zero weights that a trial is worth its passes.
pub(super) fn suspect(problem: &Problem, objective: f64) -> bool {
    problem.worst && problem.intercept && objective >= SUSPECT * value(problem)
}

impl ZeroTrial {
    /// A trial that starts from these shares.
    pub(super) fn new(setting: Setting, start: Option<Place>) -> Self {
        let p = setting.problem.squares.len();
        let problem = Problem {
            loss: Loss::Hinge,
            scale: 1.0 / setting.problem.k,
            squares: vec![RIDGE; p],
            lasso: vec![0.0; p],
            ..setting.problem.clone()
        };
        let inner = Setting { problem, tol: 0.0, passes: usize::MAX, ..setting.clone() };
        let place = start.unwrap_or_else(|| {
            let point = Point { v: vec![0.0; p], b: 0.0, theta: 1.0 };
            Place { point, width: WIDTH, positive_only: false }
        });
        Self {
            certificate: Certificate { primal: value(&setting.problem), dual: 0.0 },
            shares: Binary::with_fixed_width(inner, place),
            setting,
            spent: 0,
        }
    }

    pub(super) fn question(&self) -> Question {
        self.shares.question()
    }

    /// Where the shares are.
    pub(super) fn place(&self) -> &Place {
        self.shares.place()
    }

    pub(super) fn certificate(&self) -> Certificate {
        self.certificate
    }

    /// Zero weights and the loss that all rows have.
    pub(super) fn point(&self) -> Point {
        let v = vec![0.0; self.setting.problem.squares.len()];
        Point { v, b: 0.0, theta: at_zero(self.setting.problem.loss).0 }
    }

    /// Takes an answer in.
    pub(super) fn absorb(&mut self, sums: &Sums, gram: &Dense, tol: f64) -> Result<Outcome> {
        self.spent += 1;
        let (loss, slope) = at_zero(self.setting.problem.loss);
        // The same shares with the slope and the gain of a row whose score is zero.
        let side = |side: &Side| Side {
            share: side.share,
            gain: loss * side.share,
            pull: slope * side.share,
            pulled: side.pulled.iter().map(|v| slope * v).collect(),
        };
        let sides = [side(&sums.sides[0]), side(&sums.sides[1])];
        self.certificate.dual = self.certificate.dual.max(bound(&self.setting.problem, &sides));
        if self.certificate.gap() <= tol {
            return Ok(Outcome::Proven);
        }
        self.shares.absorb(sums, gram)?;
        let stuck = self.shares.done() || self.spent >= PASSES;
        Ok(if stuck { Outcome::GivenUp } else { Outcome::Open })
    }
}
