//! Smoothed problems of all classes in one pass: the sample start, the trial of zero weights, and the model.

use std::fmt::Debug;

use super::binary::Place;
use super::continuation::{Continuation, Limits, Smoothed};
use super::first_look::FirstLook;
use super::kernels::{KernelAsk, KernelSums};
use super::sample::{STEPS, Sample};
use super::task::{ClassSide, MOST_PASSES, Task, misplaced, open_classes};
use super::units::Units;
use crate::certificate::Certificate;
use crate::data::ClassWeight;
use crate::error::Result;
use crate::model::{Fitted, Linear, Link, Model};

/// How near the value of zero weights the optimum of the sample must be for a trial.
const SUSPECT: f64 = 0.99;
/// Gap of zero weights on the sample below which they are tried on all rows.
const NEARLY: f64 = 1e-2;
/// Passes after which a trial is given up.
const TRIAL_PASSES: usize = 12;
/// Gap to which a sample is solved: its own error is larger.
const SAMPLE_TOL: f64 = 1e-3;
/// Rows of the sample that are solved first, by themselves.
const FIRST_ROWS: usize = 2000;

/// What a method wants solved, one class against the rest.
pub(super) trait Recipe: Debug + Clone + Send + Sync + 'static {
    /// The problem of one class.
    type Problem: Smoothed;

    /// Weight of each class.
    fn class_weight(&self) -> &ClassWeight;
    /// Whether the intercept is free; otherwise it is zero.
    fn free_intercept(&self) -> bool {
        true
    }
    /// Proven gap and most passes.
    fn limits(&self) -> Limits;
    /// Features in solver units.
    fn units(&self, look: &FirstLook, factors: Vec<f64>) -> Result<Units>;
    /// The problem of one class.
    fn problem(&self, look: &FirstLook, units: &Units, side: &ClassSide) -> Result<Self::Problem>;
    /// The intercept with which rows of one sign only have no loss.
    fn one_sided(&self, look: &FirstLook) -> Result<f64>;
    /// Adds what the method tells beside weights and proof.
    fn complete(&self, fitted: Fitted, columns: usize) -> Result<Fitted>;
    /// What a user should know of a model without weights.
    fn constant_model(&self) -> String;
}

/// A fit of such problems.
#[derive(Debug, Clone)]
pub(super) struct OneVersusRest<R: Recipe> {
    recipe: R,
    fit: Option<Fit<R::Problem>>,
}

/// What the first look made possible.
#[derive(Debug, Clone)]
struct Fit<S> {
    units: Units,
    classes: Vec<Class<S>>,
    columns: usize,
}

/// One class against the rest.
#[derive(Debug, Clone)]
enum Class<S> {
    /// Rows of one sign only: an intercept answers it.
    OneSided {
        intercept: f64,
    },
    /// Zero weights seem optimal; if they are not, the fit starts there.
    Zero(Box<Trial<S>>),
    Open(Box<Continuation<S>>),
}

/// Whether zero weights are optimal.
#[derive(Debug, Clone)]
struct Trial<S> {
    shares: Continuation<S>,
    certificate: Certificate,
    else_at: Continuation<S>,
    spent: usize,
    proven: bool,
}

/// How a trial stands.
enum Outcome {
    Open,
    Proven,
    GivenUp,
}

impl<S: Smoothed> Trial<S> {
    /// A trial that starts from these shares.
    fn new(else_at: Continuation<S>, start: Option<Place>) -> Self {
        let (problem, place) = else_at.problem().zero_trial();
        let (_, primal) = else_at.problem().constant();
        Self {
            shares: Continuation::with_fixed_width(problem, start.unwrap_or(place)),
            certificate: Certificate { primal, dual: 0.0 },
            else_at,
            spent: 0,
            proven: false,
        }
    }

    fn absorb(&mut self, sums: &S::Sums, tol: f64) -> Result<Outcome> {
        self.spent += 1;
        // The shares are feasible for the problem itself, whatever point they come from.
        let found = self.else_at.problem().certify(&self.shares.place().point, sums);
        self.certificate.dual = self.certificate.dual.max(found.dual);
        if self.certificate.gap() <= tol {
            self.proven = true;
            return Ok(Outcome::Proven);
        }
        self.shares.absorb(sums)?;
        let stuck = self.shares.done() || self.spent >= TRIAL_PASSES;
        Ok(if stuck { Outcome::GivenUp } else { Outcome::Open })
    }
}

impl<S: Smoothed> Class<S> {
    /// Starts from the sample, by a trial of zero weights if these seem optimal there.
    fn new(problem: &S, sample: &Sample, limits: Limits) -> Result<Self> {
        let (place, objective) = solve_sample(problem, sample, limits)?;
        let continuation = Continuation::new(problem.clone(), place.clone(), limits);
        let (weight, own) = sample.weights_of(usize::MAX, problem.positive());
        if own <= 0.0 || own >= 1.0 {
            return Ok(Self::Open(Box::new(continuation)));
        }
        let part = problem.for_part(weight, own);
        if objective < SUSPECT * part.constant().1 {
            return Ok(Self::Open(Box::new(continuation)));
        }
        let mut trial = Trial::new(Continuation::new(part, place, limits), None);
        let mut proven = false;
        for _ in 0..STEPS {
            let sums = look(sample, &trial.shares, usize::MAX)?;
            match trial.absorb(&sums, limits.tol)? {
                Outcome::Open => {}
                Outcome::Proven => proven = true,
                Outcome::GivenUp => break,
            }
            if proven {
                break;
            }
        }
        if proven || trial.certificate.gap() <= NEARLY {
            let shares = trial.shares.place().clone();
            return Ok(Self::Zero(Box::new(Trial::new(continuation, Some(shares)))));
        }
        Ok(Self::Open(Box::new(continuation)))
    }

    /// What is to be asked; `None` once there is nothing.
    fn question(&self) -> Option<S::Question> {
        match self {
            Self::Zero(trial) if !trial.proven => Some(trial.shares.question()),
            Self::Open(continuation) if !continuation.done() => Some(continuation.question()),
            _ => None,
        }
    }

    /// Takes the answer in.
    fn absorb(&mut self, sums: &S::Sums, tol: f64) -> Result<()> {
        match self {
            Self::OneSided { .. } => {}
            Self::Open(continuation) => continuation.absorb(sums)?,
            Self::Zero(trial) => {
                if matches!(trial.absorb(sums, tol)?, Outcome::GivenUp) {
                    *self = Self::Open(Box::new(trial.else_at.clone()));
                }
            }
        }
        Ok(())
    }

    fn certificate(&self) -> Certificate {
        match self {
            Self::OneSided { .. } => Certificate { primal: 0.0, dual: 0.0 },
            Self::Zero(trial) => trial.certificate,
            Self::Open(continuation) => continuation.certificate(),
        }
    }

    fn place(&self, columns: usize) -> Place {
        match self {
            Self::OneSided { .. } => super::binary::Binary::zero(columns),
            Self::Zero(trial) => trial.else_at.place().clone(),
            Self::Open(continuation) => continuation.place().clone(),
        }
    }

    fn plane(&self, units: &Units, columns: usize) -> Result<(Vec<f64>, f64)> {
        match self {
            Self::OneSided { intercept } => Ok((vec![0.0; columns], *intercept)),
            Self::Zero(trial) => {
                let problem = trial.else_at.problem();
                problem.to_user(&problem.constant().0, units)
            }
            Self::Open(continuation) => continuation.problem().to_user(continuation.point(), units),
        }
    }
}

/// One question about the first `rows` rows of the sample.
fn look<S: Smoothed>(
    sample: &Sample,
    continuation: &Continuation<S>,
    rows: usize,
) -> Result<S::Sums> {
    let question = [continuation.question()];
    let mut answers = continuation.problem().look(&sample.part(rows), sample.pass(), &question)?;
    answers.pop().ok_or_else(misplaced)
}

/// Where a fit of all rows starts, and the objective of the sample there.
fn solve_sample<S: Smoothed>(problem: &S, sample: &Sample, limits: Limits) -> Result<(Place, f64)> {
    let mut place = problem.start();
    let mut objective = 0.0;
    let all = sample.len();
    for rows in [FIRST_ROWS, usize::MAX] {
        let last = rows >= all;
        let (weight, own) = sample.weights_of(rows, problem.positive());
        if (!last && all < 2 * rows) || own <= 0.0 || own >= 1.0 {
            continue;
        }
        let whole = last && sample.whole();
        let tol = if whole { 0.5 * limits.tol } else { SAMPLE_TOL.max(limits.tol) };
        let part = problem.for_part(weight, own);
        let mut continuation = Continuation::new(part, place, Limits { tol, passes: STEPS });
        while !continuation.done() {
            let sums = look(sample, &continuation, rows)?;
            continuation.absorb(&sums)?;
        }
        objective = continuation.certificate().primal;
        place = Place { point: continuation.point().clone(), ..continuation.place().clone() };
        if !whole {
            // The error of the sample: its rows near the margin are not those of all rows.
            let rough = (place.point.v.len() as f64 / rows.min(all) as f64).sqrt();
            place.width = place.width.max(rough.min(1.0) * problem.start().width);
        }
    }
    Ok((place, objective))
}

impl<R: Recipe> OneVersusRest<R> {
    pub(super) fn new(recipe: R) -> Self {
        Self { recipe, fit: None }
    }
}

impl<R: Recipe> Task for OneVersusRest<R> {
    fn settle(&mut self, look: &FirstLook, starts: Option<&[Place]>) -> Result<()> {
        let (factors, sides) =
            open_classes(look, self.recipe.class_weight(), self.recipe.free_intercept())?;
        let units = self.recipe.units(look, factors)?;
        let sample = Sample::new(look, &units)?;
        let mut limits = self.recipe.limits();
        limits.passes = limits.passes.min(MOST_PASSES);
        let mut classes = Vec::with_capacity(sides.len());
        for (at, side) in sides.iter().enumerate() {
            let problem = self.recipe.problem(look, &units, side)?;
            classes.push(match (side.only, starts.and_then(|s| s.get(at))) {
                (Some(sign), _) => {
                    Class::OneSided { intercept: sign * self.recipe.one_sided(look)? }
                }
                (None, Some(place)) => {
                    Class::Open(Box::new(Continuation::new(problem, place.clone(), limits)))
                }
                (None, None) => Class::new(&problem, &sample, limits)?,
            });
        }
        self.fit = Some(Fit { units, classes, columns: look.columns });
        Ok(())
    }

    fn ask(&self) -> Option<KernelAsk> {
        let fit = self.fit.as_ref()?;
        let questions: Vec<_> = fit.classes.iter().filter_map(Class::question).collect();
        let problem = fit.classes.iter().find_map(|class| match class {
            Class::OneSided { .. } => None,
            Class::Zero(trial) => Some(trial.else_at.problem()),
            Class::Open(continuation) => Some(continuation.problem()),
        })?;
        (!questions.is_empty()).then(|| problem.ask(fit.units.pass(), questions))
    }

    fn absorb(&mut self, answer: KernelSums) -> Result<()> {
        let answers = R::Problem::answers(answer).ok_or_else(misplaced)?;
        let fit = self.fit.as_mut().ok_or_else(misplaced)?;
        let mut answers = answers.into_iter();
        for class in fit.classes.iter_mut().filter(|class| class.question().is_some()) {
            let sums = answers.next().ok_or_else(misplaced)?;
            class.absorb(&sums, self.recipe.limits().tol)?;
        }
        Ok(())
    }

    fn places(&self) -> Vec<Place> {
        let of = |fit: &Fit<R::Problem>| -> Vec<Place> {
            fit.classes.iter().map(|class| class.place(fit.columns)).collect()
        };
        self.fit.as_ref().map(of).unwrap_or_default()
    }

    fn gap(&self) -> f64 {
        let Some(fit) = &self.fit else { return f64::INFINITY };
        fit.classes.iter().map(|class| class.certificate().gap()).fold(0.0, f64::max)
    }

    fn finish(&self, passes: usize) -> Result<Fitted> {
        let fit = self.fit.as_ref().ok_or_else(misplaced)?;
        let planes = fit.classes.iter().map(|class| class.plane(&fit.units, fit.columns));
        let (coef, intercept) = planes.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let model = Model::Linear(Linear { coef, intercept, link: Link::None });
        let mut fitted = self.recipe.complete(Fitted::new(model, passes), fit.columns)?;
        fitted.certificates = fit.classes.iter().map(Class::certificate).collect();
        if fit.classes.iter().any(|class| matches!(class, Class::Zero(_))) {
            fitted.warnings.push(self.recipe.constant_model());
        }
        fitted.tol = self.recipe.limits().tol;
        fitted.route = vec!["partitions".into()];
        Ok(fitted)
    }
}
