//! A smoothed problem on its way to a proven gap, by Newton steps with an ever narrower smoothing.

use std::fmt::Debug;

use super::ask::{PassAsk, Point};
use super::binary::Place;
use super::block::Block;
use super::kernels::{KernelAsk, KernelSums};
use super::newton_step::Step;
use super::units::Units;
use crate::certificate::Certificate;
use crate::error::{Error, Result};

/// A convex problem in weights and intercept, smoothed over a width: its sums over rows bring a step and a proof.
pub(super) trait Smoothed: Debug + Clone + Send + Sync + 'static {
    /// What is asked about one problem.
    type Question: Debug + Clone;
    /// The answer, summed over rows.
    type Sums: Debug + Clone;

    /// Rows of this class are positive.
    fn positive(&self) -> usize;
    /// The question at `place`; `before` is the width at which the value is wanted too.
    fn question(&self, place: &Place, before: Option<f64>) -> Self::Question;
    /// Answers from the rows of one block.
    fn look(
        &self,
        block: &Block<'_>,
        rows: &PassAsk,
        questions: &[Self::Question],
    ) -> Result<Vec<Self::Sums>>;
    /// The questions of all problems as one ask.
    fn ask(&self, rows: PassAsk, questions: Vec<Self::Question>) -> KernelAsk;
    /// The answers to it; none if these are answers to something else.
    fn answers(said: KernelSums) -> Option<Vec<Self::Sums>>;
    /// Both bounds from the sums at `point`.
    fn certify(&self, point: &Point, sums: &Self::Sums) -> Certificate;
    /// Values of the smoothed objective at `point`.
    fn values(&self, point: &Point, sums: &Self::Sums) -> Values;
    /// The minimiser of the quadratic model.
    fn step(&self, place: &Place, sums: &Self::Sums) -> Step;
    /// How the smoothing is narrowed.
    fn pace(&self) -> Pace;
    /// The same problem for a part of the rows that stands for all of them; `own` is the share of positive rows in its
    /// weight.
    fn for_part(&self, weight: f64, own: f64) -> Self;
    /// Where a fit without any knowledge starts.
    fn start(&self) -> Place;
    /// The best model without weights, and its objective.
    fn constant(&self) -> (Point, f64);
    /// A problem whose shares at its optimum, with this fixed width, prove that zero weights are optimal if they are.
    fn zero_trial(&self) -> (Self, Place);
    /// Weights and intercept for the features as given.
    fn to_user(&self, point: &Point, units: &Units) -> Result<(Vec<f64>, f64)>;
}

/// The smoothed objective in numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values {
    /// With the present width.
    pub here: f64,
    /// With the width before.
    pub before: f64,
    /// What smoothing leaves between the bounds at this point.
    pub open: f64,
}

/// How the smoothing is narrowed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Narrow once the step promises less than this many times what smoothing leaves open.
    pub ready: f64,
    /// By this factor at most.
    pub least: f64,
    /// Until smoothing leaves this part of the gap open.
    pub share: f64,
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Proven gap to reach.
    pub tol: f64,
    /// Most passes.
    pub passes: usize,
}

/// The point before a step, as far as the step is judged by it.
#[derive(Debug, Clone)]
struct Before {
    value: f64,
    fall: f64,
    from: Place,
    step: Point,
    length: f64,
}

/// One binary problem under way.
#[derive(Debug, Clone)]
pub(super) struct Continuation<S> {
    problem: S,
    limits: Limits,
    place: Place,
    before: Option<Before>,
    best: Option<Point>,
    certificate: Certificate,
    spent: usize,
    fixed_width: bool,
    done: bool,
}

impl<S: Smoothed> Continuation<S> {
    /// Starts at `place`.
    pub(super) fn new(problem: S, place: Place, limits: Limits) -> Self {
        Self {
            problem,
            limits,
            place,
            before: None,
            best: None,
            certificate: Certificate { primal: f64::INFINITY, dual: 0.0 },
            spent: 0,
            fixed_width: false,
            done: false,
        }
    }

    /// The same for the smoothed problem itself: its width stays, and no gap ends it.
    pub(super) fn with_fixed_width(problem: S, place: Place) -> Self {
        let limits = Limits { tol: -1.0, passes: usize::MAX };
        Self { fixed_width: true, ..Self::new(problem, place, limits) }
    }

    pub(super) fn done(&self) -> bool {
        self.done
    }

    pub(super) fn problem(&self) -> &S {
        &self.problem
    }

    /// Where a fit that starts again would go on.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The best point so far; the start before the first pass.
    pub(super) fn point(&self) -> &Point {
        self.best.as_ref().unwrap_or(&self.place.point)
    }

    /// The best bounds so far.
    pub(super) fn certificate(&self) -> Certificate {
        self.certificate
    }

    /// What to ask in the next pass.
    pub(super) fn question(&self) -> S::Question {
        self.problem.question(&self.place, self.before.as_ref().map(|b| b.from.width))
    }

    /// Takes the answer to [`Continuation::question`] in.
    pub(super) fn absorb(&mut self, sums: &S::Sums) -> Result<()> {
        self.spent += 1;
        let found = self.problem.certify(&self.place.point, sums);
        if !found.primal.is_finite() {
            let text = "a partitioned fit left the range of floating point; rescale the features";
            return Err(Error::Numerical(text.into()));
        }
        // A bound once proven stays proven.
        self.certificate.dual = self.certificate.dual.max(found.dual);
        if found.primal < self.certificate.primal {
            self.certificate.primal = found.primal;
            self.best = Some(self.place.point.clone());
        }
        if self.certificate.gap() <= self.limits.tol || self.spent >= self.limits.passes {
            self.done = true;
            return Ok(());
        }
        let values = self.problem.values(&self.place.point, sums);
        if !self.shorten(values) {
            self.advance(sums, values);
        }
        Ok(())
    }

    /// Undoes part of a step that was too long; whether it was.
    fn shorten(&mut self, values: Values) -> bool {
        const SHORTEST: f64 = 1e-3;
        let Some(before) = self.before.take() else { return false };
        let wanted = before.value - 1e-4 * before.length * before.fall;
        if values.before <= wanted + 1e-12 * before.value.abs() || before.length < SHORTEST {
            return false;
        }
        // The parabola through value and slope there and the value here.
        let fall = before.length * before.fall;
        let part = 0.5 * fall / (values.before - before.value + fall);
        let length = before.length * part.clamp(0.1, 0.6);
        let point = before.from.point.moved(&before.step, length);
        self.place = Place { point, ..before.from.clone() };
        self.before = Some(Before { length, ..before });
        true
    }

    /// A Newton step on, and a narrower smoothing once little is left to gain with this one.
    fn advance(&mut self, sums: &S::Sums, values: Values) {
        let step = self.problem.step(&self.place, sums);
        let pace = self.problem.pace();
        let mut width = self.place.width;
        if !self.fixed_width && step.fall <= pace.ready * values.open {
            // What smoothing leaves open falls with the square of its width.
            let goal = pace.share * self.limits.tol * self.certificate.primal.abs().max(1.0);
            let wanted = (goal / values.open.max(f64::MIN_POSITIVE)).sqrt();
            width *= wanted.clamp(pace.least, 1.0);
        }
        let point = self.place.point.moved(&step.to, 1.0);
        self.done = point == self.place.point && width == self.place.width;
        self.before = Some(Before {
            value: values.here,
            fall: step.fall,
            from: self.place.clone(),
            step: step.to,
            length: 1.0,
        });
        self.place = Place { point, width, ..self.place.clone() };
    }
}
