//! A penalised or stable loss as a smoothed problem: its Newton step, its way back, and the rows near its threshold.

use std::sync::Arc;

use super::ask::{BACKTRACK, Backtrack, Counting, PassAsk, Point, Question};
use super::block::Block;
use super::certificate::{bound, certify};
use super::continuation::{Before, Goal, Memory, Pace, Place, Smoothed, Values};
use super::kernel::look_at;
use super::kernels::{KernelAsk, KernelSums};
use super::message::{Side, Sums};
use super::near_rows::finish;
use super::newton_step::{Damping, Expansion, Step, newton_step};
use super::problem::Problem;
use super::sample::{Sampling, WHOLE_TOL};
use super::units::Units;
use crate::certificate::Certificate;
use crate::error::Result;
use crate::linalg::{Dense, vector};
use crate::loss::Loss;

/// Width of the first smoothing, in units of the loss: every row bends.
const START_WIDTH: f64 = 4.0;
/// The smoothing is narrowed to a fifth at most, once the step promises less than four times what it leaves open, and
/// until it leaves a quarter of the gap open; see [`Pace`].
const PACE: Pace = Pace { ready: 4.0, least: 0.2, share: 0.25, narrowest: 0.0 };
/// The smoothing stays as wide as this part of the root mean square change of the scores: a narrower one would show the
/// next step the rows of the last place.
const WIDTH_PER_CHANGE: f64 = 0.5;

/// Near rows that a driver takes, per column.
const NEAR_PER_COLUMN: usize = 200;
/// Near rows that a driver takes however few columns there are.
const NEAR_LEAST: usize = 20_000;
/// Rows on the threshold per column below which they are sent as they are.
const FEW_PER_COLUMN: f64 = 30.0;
/// Rows count as near within this many times the root mean square change of the scores.
const NEAR_PER_CHANGE: f64 = 4.0;
/// And within this many widths of the smoothing.
const NEAR_PER_WIDTH: f64 = 2.0;
/// The same after a solution of the near rows, whose width is the last one.
const NEAR_PER_LAST_WIDTH: f64 = 3.0;
/// Root mean square change of the scores, in widths, from which the rows near the threshold will be others.
const UNSTEADY: f64 = 4.0;

/// How often the threshold may come back to zero before its smoothing stays.
const MOST_RETURNS: usize = 3;
/// Rounding of a sum of shares, relative to it.
const SHARE_ROUNDING: f64 = 1e-12;
/// Rows on the threshold per column below which nothing holds the weights of a hinge.
const HELD_PER_COLUMN: f64 = 2.0;
/// The damping of such a step, as a part of the curvature if all rows were on the threshold.
const DAMPING: f64 = 0.25;
/// Part of a step that is undone if no part of it leads down.
const NEARLY_ALL: f64 = 0.99;

/// Gap to which a sample is solved: its own error is far larger.
const SAMPLE_TOL: f64 = 1e-4;
/// Width of the trial of zero weights; any does, but the threshold stays positive where it is small beside 1.
const TRIAL_WIDTH: f64 = 0.01;
/// The ridge that keeps the system of the trial regular.
const TRIAL_RIDGE: f64 = 1e-9;

/// One binary problem.
#[derive(Debug, Clone)]
pub(super) struct LossProblem {
    pub problem: Problem,
    /// Rows of this class are positive.
    pub positive: usize,
    /// Mean of `$(z, 1)(z, 1)^\top$`.
    pub gram: Arc<Dense>,
}

impl LossProblem {
    /// How rows count at `place`.
    pub(super) fn counting(&self, place: &Place) -> Counting {
        let usual = self.problem.counting();
        let positive = usual == Counting::Above && place.positive_only;
        if positive { Counting::Positive } else { usual }
    }

    /// Root mean square change of a score for a change of the weights and, last, the intercept.
    fn change(&self, moved: &[f64]) -> f64 {
        vector::dot(moved, &self.gram.mul_vec(moved)).max(0.0).sqrt()
    }

    /// The same for a step.
    fn change_by(&self, step: &Point) -> f64 {
        let mut moved = step.v.clone();
        moved.push(step.b);
        self.change(&moved)
    }

    /// How near the threshold rows are worth asking for after a step to `to`; none where they are too many.
    fn near_after(&self, from: &Place, step: &Step, sums: &Sums, to: &Place) -> Option<f64> {
        let (p, change) = (from.point.v.len(), self.change_by(&step.to));
        let within = (NEAR_PER_CHANGE * change).max(NEAR_PER_WIDTH * to.width);
        let count = sums.band * 2.0 * within / from.width;
        let most = NEAR_LEAST.max(NEAR_PER_COLUMN * p) as f64;
        let few = sums.band * to.width / from.width < FEW_PER_COLUMN * p as f64;
        let steady = change < UNSTEADY * from.width;
        (count <= most && few && steady).then_some(within)
    }

    /// Loss and slope of a row with score zero.
    fn at_zero(&self) -> (f64, f64) {
        let loss = self.problem.loss.get();
        (loss.value(0.0), -loss.slope(0.0))
    }
}

impl Smoothed for LossProblem {
    type Question = Question;
    type Sums = Sums;

    fn positive(&self) -> usize {
        self.positive
    }

    fn question(&self, place: &Place, before: Option<&Before>, near: Option<f64>) -> Question {
        let back = |b: &Before| Backtrack { step: b.step.clone(), width: b.from.width };
        Question {
            positive: self.positive,
            loss: self.problem.loss,
            counting: self.counting(place),
            point: place.point.clone(),
            width: place.width,
            back: before.map(back),
            near,
        }
    }

    fn look(&self, block: &Block<'_>, rows: &PassAsk, questions: &[Question]) -> Result<Vec<Sums>> {
        look_at(block, &PassAsk { questions: questions.to_vec(), ..rows.clone() })
    }

    fn ask(&self, rows: PassAsk, questions: Vec<Question>) -> KernelAsk {
        KernelAsk::Losses(PassAsk { questions, ..rows })
    }

    fn answers(said: KernelSums) -> Option<Vec<Sums>> {
        if let KernelSums::Losses(sums) = said { Some(sums) } else { None }
    }

    fn certify(&self, point: &Point, sums: &Sums) -> Certificate {
        certify(&self.problem, point, sums)
    }

    fn values(&self, point: &Point, sums: &Sums) -> Values {
        let (beside, scale) = (self.problem.beside_losses(point), self.problem.scale);
        Values {
            here: beside + scale * sums.value,
            before: beside + scale * sums.value_before,
            open: scale * sums.open,
        }
    }

    fn step(&self, place: &Place, sums: &Sums) -> Step {
        let problem = &self.problem;
        let [plus, minus] = &sums.sides;
        let mut slope: Vec<f64> =
            plus.pulled.iter().zip(&minus.pulled).map(|(a, b)| a + b).collect();
        slope.push(minus.pull - plus.pull);
        let p = place.point.v.len();
        let none = (Dense::zeros(p + 1, p + 1), vec![0.0; p + 1]);
        let (curvature, cross, threshold) = match &sums.curvature {
            Some(c) => (&c.matrix.0, &c.cross, c.threshold),
            None => (&none.0, &none.1, 0.0),
        };
        // Nothing holds the weights where no row is on the threshold: hold them as if some were.
        let loose = problem.loss == Loss::Hinge && sums.band < HELD_PER_COLUMN * p as f64;
        let strength =
            if loose { DAMPING * problem.scale * problem.total / place.width } else { 0.0 };
        let expansion = Expansion { curvature, cross, threshold, slope, share: sums.share };
        newton_step(problem, &place.point, &expansion, Damping { strength, gram: &self.gram })
    }

    fn pace(&self, place: &Place, step: &Step) -> Option<Pace> {
        let narrowest = WIDTH_PER_CHANGE * self.change_by(&step.to);
        (self.counting(place) == Counting::Above).then_some(Pace { narrowest, ..PACE })
    }

    fn for_part(&self, weight: f64, _: f64) -> Self {
        Self { problem: self.problem.for_part(weight), ..self.clone() }
    }

    fn start(&self) -> Place {
        Place::zero(self.problem.squares.len(), START_WIDTH)
    }

    fn sampling(&self, whole: bool, tol: f64) -> Sampling {
        let tol = if whole { WHOLE_TOL * tol } else { SAMPLE_TOL.max(tol) };
        Sampling { first_rows: None, first_tol: tol, tol, trial_tol: tol, rough_width: 1.0 }
    }

    /// Zero weights and the loss that all rows have: the best where all rows that count have a score of zero.
    fn constant(&self) -> (Point, f64) {
        let theta = self.at_zero().0;
        let v = vec![0.0; self.problem.squares.len()];
        (Point { v, b: 0.0, theta }, self.problem.scale * self.problem.k * theta)
    }

    /// At `$v = 0$`, `$b = 0$` all rows have the same loss `$L_0$` and every choice of shares is as bad as another. Zero is optimal
    /// if some choice `$0 \le a \le c$` of weight `$k/2$` in each class balances the rows, `$\sum a_i y_i z_i = 0$`: the reduced
    /// convex hulls of the classes intersect. Such shares are those of a hinge with a fixed smoothing: its optimality
    /// condition is that balance, but for the ridge, which is as small as we like. Newton's method finds them in a few
    /// passes, where the smoothing of the problem itself would have to be narrowed for ever.
    fn zero_trial(&self) -> Option<(Self, Place)> {
        if !(self.problem.worst && self.problem.intercept) {
            return None;
        }
        let p = self.problem.squares.len();
        let problem = Problem {
            loss: Loss::Hinge,
            scale: 1.0 / self.problem.k,
            squares: vec![TRIAL_RIDGE; p],
            lasso: vec![0.0; p],
            ..self.problem.clone()
        };
        let mut place = Place::zero(p, TRIAL_WIDTH);
        place.point.theta = 1.0;
        Some((Self { problem, ..self.clone() }, place))
    }

    /// The same shares with the slope and the gain of a row whose score is zero.
    fn zero_bound(&self, _: &Point, sums: &Sums) -> f64 {
        let (loss, slope) = self.at_zero();
        let side = |side: &Side| Side {
            share: side.share,
            gain: loss * side.share,
            pull: slope * side.share,
            pulled: side.pulled.iter().map(|v| slope * v).collect(),
        };
        bound(&self.problem, &[side(&sums.sides[0]), side(&sums.sides[1])])
    }

    fn to_user(&self, point: &Point, units: &Units) -> Result<(Vec<f64>, f64)> {
        units.to_user(point)
    }

    /// To the lowest of the points along the step whose values came with the same pass.
    fn shorten(
        &self,
        here: &Place,
        before: &Before,
        sums: &Sums,
        values: Values,
    ) -> Option<(Place, Before)> {
        let problem = &self.problem;
        let value = |i: usize| {
            let point = here.point.moved(&before.step, -BACKTRACK[i]);
            problem.beside_losses(&point) + problem.scale * sums.back[i]
        };
        let back: [f64; BACKTRACK.len()] = std::array::from_fn(value);
        let lowest = (0..BACKTRACK.len()).fold(0, |a, b| if back[b] < back[a] { b } else { a });
        if back[lowest] >= values.before && values.before <= before.value {
            return None;
        }
        let part = if back[lowest] < before.value { BACKTRACK[lowest] } else { NEARLY_ALL };
        let point = here.point.moved(&before.step, -part);
        let left = |d: f64| (1.0 - part) * d;
        let step = Point {
            v: before.step.v.iter().map(|d| left(*d)).collect(),
            b: left(before.step.b),
            theta: left(before.step.theta),
        };
        let place = Place { point, width: before.from.width, ..here.clone() };
        Some((place, Before { step, ..before.clone() }))
    }

    fn jump(&self, place: &Place, sums: &Sums, goal: Goal, memory: &mut Memory) -> Option<Place> {
        // A squared hinge whose threshold is zero needs no smoothing, unless more than `k` rows have a loss.
        let most = self.problem.k * (1.0 + SHARE_ROUNDING);
        if self.counting(place) == Counting::Positive && sums.share > most {
            memory.returns += 1;
            return Some(Place { positive_only: false, ..place.clone() });
        }
        let end = finish(&self.problem, place, sums.near.as_ref()?, &self.gram, goal);
        let mut moved: Vec<f64> =
            end.point.v.iter().zip(&place.point.v).map(|(a, b)| a - b).collect();
        moved.push(end.point.b - place.point.b);
        let still = moved.iter().all(|d| *d == 0.0) && end.width == place.width;
        // The next pass both checks this answer and collects anew.
        let within =
            || (NEAR_PER_CHANGE * self.change(&moved)).max(NEAR_PER_LAST_WIDTH * end.width);
        memory.near = (!still).then(within);
        Some(Place { point: end.point, width: end.width, positive_only: false })
    }

    fn arrive(
        &self,
        from: &Place,
        step: &Step,
        sums: &Sums,
        mut to: Place,
        memory: &mut Memory,
    ) -> Place {
        to.positive_only = self.problem.worst
            && self.problem.loss == Loss::SquaredHinge
            && to.point.theta == 0.0
            && memory.returns < MOST_RETURNS;
        let smoothed = self.counting(from) == Counting::Above;
        if smoothed && to.positive_only == from.positive_only {
            memory.near = self.near_after(from, step, sums, &to);
        }
        to
    }
}
