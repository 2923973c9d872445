//! A smoothed problem on its way to a proven gap, by Newton steps with an ever narrower smoothing.

use std::fmt::Debug;

use super::ask::{PassAsk, Point};
use super::block::Block;
use super::kernels::{KernelAsk, KernelSums};
use super::newton_step::Step;
use super::sample::Sampling;
use super::units::Units;
use super::wire::wire;
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::linalg::ARMIJO;

/// Rounding of an objective, relative to its size: values that differ by less are the same.
const ROUNDING: f64 = 1e-12;
/// Part of a Newton step below which it is not shortened any more.
const SHORTEST: f64 = 1e-3;
/// A shortened step is at least and at most this part of the one before it.
const SHORTENED: (f64, f64) = (0.1, 0.6);

/// A convex problem in weights and intercept, smoothed over a width: its sums over rows bring a step and a proof.
pub(super) trait Smoothed: Debug + Clone + Send + Sync + 'static {
    /// What is asked about one problem.
    type Question: Debug + Clone;
    /// The answer, summed over rows.
    type Sums: Debug + Clone;

    /// Rows of this class are positive.
    fn positive(&self) -> usize;
    /// The question at `place`, where the step `before` led; `near` is [`Memory::near`].
    fn question(&self, place: &Place, before: Option<&Before>, near: Option<f64>)
    -> Self::Question;
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
    /// How the smoothing is narrowed after this step from `place`; none where its width stays.
    fn pace(&self, place: &Place, step: &Step) -> Option<Pace>;
    /// The same problem for a part of the rows that stands for all of them; `own` is the share of positive rows in its
    /// weight.
    fn for_part(&self, weight: f64, own: f64) -> Self;
    /// Where a fit without any knowledge starts.
    fn start(&self) -> Place;
    /// How a sample of the rows is solved, on the way to the gap `tol` of all rows.
    fn sampling(&self, whole: bool, tol: f64) -> Sampling {
        Sampling::in_two_stages(whole, tol, self.start().width)
    }
    /// The best model without weights, and its objective, for problems that have a trial of it.
    fn constant(&self) -> (Point, f64);
    /// A problem whose shares at its optimum, with this fixed width, prove that zero weights are optimal if they are; none
    /// where weights are zero only if the penalty says so.
    fn zero_trial(&self) -> Option<(Self, Place)>;
    /// The bound that such shares, from the sums of the trial at `point`, prove for zero weights.
    fn zero_bound(&self, point: &Point, sums: &Self::Sums) -> f64 {
        // The shares are feasible for the problem itself, whatever point they come from.
        self.certify(point, sums).dual
    }
    /// Weights and intercept for the features as given.
    fn to_user(&self, point: &Point, units: &Units) -> Result<(Vec<f64>, f64)>;

    /// The step to `here` without the part of it that was too long, and where that leads; none where it may stay.
    fn shorten(
        &self,
        _here: &Place,
        before: &Before,
        _sums: &Self::Sums,
        values: Values,
    ) -> Option<(Place, Before)> {
        (before.length >= SHORTEST).then(|| before.by_parabola(values))
    }
    /// The next place where the sums show one without a Newton step.
    fn jump(
        &self,
        _place: &Place,
        _sums: &Self::Sums,
        _goal: Goal,
        _memory: &mut Memory,
    ) -> Option<Place> {
        None
    }
    /// The place `to` that a Newton step from `from` leads to, with all that belongs to it beside point and width.
    fn arrive(
        &self,
        _from: &Place,
        _step: &Step,
        _sums: &Self::Sums,
        to: Place,
        _memory: &mut Memory,
    ) -> Place {
        to
    }
}

/// Where a fit is: all that a checkpoint must hold of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    pub point: Point,
    pub width: f64,
    pub positive_only: bool,
}

wire!(Place { point, width, positive_only });

impl Place {
    /// A place that is a point alone.
    pub(crate) fn at(v: Vec<f64>, b: f64) -> Self {
        Self { point: Point { v, b, theta: 0.0 }, width: 1.0, positive_only: false }
    }

    /// Zero weights, smoothed over this width.
    pub(super) fn zero(columns: usize, width: f64) -> Self {
        Self { width, ..Self::at(vec![0.0; columns], 0.0) }
    }
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
    /// Not below this width.
    pub narrowest: f64,
}

impl Pace {
    /// The width after `width`, where smoothing leaves `open`.
    fn next(&self, width: f64, open: f64, goal: Goal) -> f64 {
        // What smoothing leaves open falls with the square of its width.
        let part = (self.share * goal.tol * goal.scale / open.max(f64::MIN_POSITIVE)).sqrt();
        width.min((width * part).max(self.least * width).max(self.narrowest))
    }
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Proven gap to reach.
    pub tol: f64,
    /// Most passes.
    pub passes: usize,
}

/// The gap to reach, and the size of the objective to which it is relative.
#[derive(Debug, Clone, Copy)]
pub(super) struct Goal {
    pub tol: f64,
    pub scale: f64,
}

/// What a problem remembers from pass to pass beside its place.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// Rows whose loss is this near the threshold are wanted as they are in the next pass.
    pub near: Option<f64>,
    /// How often the threshold came back from zero.
    pub returns: usize,
}

/// The point before a step, as far as the step is judged by it.
#[derive(Debug, Clone)]
pub(super) struct Before {
    pub value: f64,
    pub fall: f64,
    pub from: Place,
    pub step: Point,
    pub length: f64,
}

impl Before {
    /// Whether the step falls far enough.
    fn descends(&self, values: Values) -> bool {
        let wanted = self.value - ARMIJO * self.length * self.fall;
        values.before <= wanted + ROUNDING * self.value.abs()
    }

    /// Shortened to the minimum of the parabola through value and slope at its start and the value at its end.
    fn by_parabola(&self, values: Values) -> (Place, Self) {
        let fall = self.length * self.fall;
        let part = 0.5 * fall / (values.before - self.value + fall);
        let length = self.length * part.clamp(SHORTENED.0, SHORTENED.1);
        let point = self.from.point.moved(&self.step, length);
        (Place { point, ..self.from.clone() }, Self { length, ..self.clone() })
    }
}

/// One binary problem under way.
#[derive(Debug, Clone)]
pub(super) struct Continuation<S> {
    problem: S,
    limits: Limits,
    place: Place,
    memory: Memory,
    before: Option<Before>,
    best: Option<Point>,
    /// The place whose shares prove the bound.
    proof: Option<Place>,
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
            memory: Memory::default(),
            before: None,
            best: None,
            proof: None,
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

    /// Whether nothing is left to ask.
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

    /// The place whose shares prove the best bound; none before the first pass.
    pub(super) fn proof(&self) -> Option<&Place> {
        self.proof.as_ref()
    }

    /// The best bounds so far.
    pub(super) fn certificate(&self) -> Certificate {
        self.certificate
    }

    /// What to ask in the next pass.
    pub(super) fn question(&self) -> S::Question {
        self.problem.question(&self.place, self.before.as_ref(), self.memory.near)
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
        if found.dual > self.certificate.dual {
            self.certificate.dual = found.dual;
            self.proof = Some(self.place.clone());
        }
        if found.primal < self.certificate.primal {
            self.certificate.primal = found.primal;
            self.best = Some(self.place.point.clone());
        }
        if self.certificate.gap() <= self.limits.tol || self.spent >= self.limits.passes {
            self.done = true;
            return Ok(());
        }
        self.memory.near = None;
        let values = self.problem.values(&self.place.point, sums);
        if !self.step_back(sums, values) {
            self.advance(sums, values);
        }
        Ok(())
    }

    /// Undoes part of a step that was too long; whether it was.
    fn step_back(&mut self, sums: &S::Sums, values: Values) -> bool {
        let Some(before) = self.before.take().filter(|b| !b.descends(values)) else { return false };
        let Some((place, before)) = self.problem.shorten(&self.place, &before, sums, values) else {
            return false;
        };
        self.place = place;
        self.before = Some(before);
        true
    }

    /// A Newton step on, and a narrower smoothing once little is left to gain with this one.
    fn advance(&mut self, sums: &S::Sums, values: Values) {
        let scale = self.certificate.primal.abs().max(1.0);
        let goal = Goal { tol: self.limits.tol, scale };
        if let Some(place) = self.problem.jump(&self.place, sums, goal, &mut self.memory) {
            self.place = place;
            return;
        }
        let step = self.problem.step(&self.place, sums);
        let point = self.place.point.moved(&step.to, 1.0);
        let mut next = Place { point, ..self.place.clone() };
        if !self.fixed_width {
            let pace = self.problem.pace(&self.place, &step);
            if let Some(pace) = pace.filter(|pace| step.fall <= pace.ready * values.open) {
                next.width = pace.next(self.place.width, values.open, goal);
            }
            next = self.problem.arrive(&self.place, &step, sums, next, &mut self.memory);
        }
        self.done = next == self.place && self.memory.near.is_none();
        // Values of two ways to count rows do not compare.
        let compare = next.positive_only == self.place.positive_only;
        let from = std::mem::replace(&mut self.place, next);
        self.before = compare.then_some(Before {
            value: values.here,
            fall: step.fall,
            from,
            step: step.to,
            length: 1.0,
        });
    }
}
