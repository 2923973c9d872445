//! Smoothed problems of all classes in one pass: the sample start, the trial of zero weights, and the model.

use std::fmt::Debug;

use super::ask::Point;
use super::continuation::{Continuation, Limits, Place, Smoothed};
use super::first_look::FirstLook;
use super::kernels::{KernelAsk, KernelSums};
use super::proof::Proof;
use super::sample::{Sample, Start};
use super::task::{ClassSide, MOST_PASSES, Task, misplaced, open_classes};
use super::units::Units;
use super::zero_weights::{Outcome, Trial};
use crate::certificate::Certificate;
use crate::data::ClassWeight;
use crate::error::Result;
use crate::model::{Fitted, Linear, Link, Model};

/// What a method wants solved, one class against the rest.
pub(super) trait ClassPlan: Debug + Clone + Send + Sync + 'static {
    /// The problem of one class.
    type Problem: Smoothed;

    /// Refuses data that the method cannot use.
    fn check(&self, _look: &FirstLook) -> Result<()> {
        Ok(())
    }
    /// Weight of each class.
    fn class_weight(&self) -> &ClassWeight;
    /// Whether the intercept is free; otherwise it is zero.
    fn free_intercept(&self) -> bool {
        true
    }
    /// Proven gap and most passes.
    fn limits(&self) -> Limits;
    /// The part of that gap which the sums of the passes must prove.
    fn aim(&self) -> f64 {
        1.0
    }
    /// Features in solver units.
    fn units(&self, look: &FirstLook, factors: Vec<f64>) -> Result<Units>;
    /// The problem of one class.
    fn problem(
        &self,
        look: &FirstLook,
        units: &Units,
        sample: &Sample,
        side: &ClassSide,
    ) -> Result<Self::Problem>;
    /// The intercept with which rows of one sign only have no loss, or nearly none, and the objective there.
    fn one_sided(&self, look: &FirstLook) -> Result<(f64, f64)>;
    /// How scores become probabilities.
    fn link(&self) -> Link {
        Link::None
    }
    /// Adds what the method tells beside weights and proof; `points` are the answers of all classes in solver units.
    fn complete(&self, fitted: Fitted, points: &[Point]) -> Result<Fitted>;
    /// What a user should know of a model without weights.
    fn constant_model(&self) -> String;
    /// What proves the bounds of these problems again in one pass; none where the method has no such form.
    fn proof(&self, _units: &Units, _open: &[&Continuation<Self::Problem>]) -> Option<Proof> {
        None
    }
}

/// A fit of such problems.
#[derive(Debug, Clone)]
pub(super) struct OneVersusRest<P: ClassPlan> {
    plan: P,
    /// The one class that is solved; none where all are.
    only: Option<usize>,
    fit: Option<Fit<P::Problem>>,
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
        objective: f64,
    },
    /// Zero weights seem optimal; if they are not, the fit starts there.
    Zero(Box<Trial<S>>),
    Open(Box<Continuation<S>>),
}

impl<S: Smoothed> Class<S> {
    fn new(problem: S, start: Start, limits: Limits) -> Self {
        let (place, shares) = match start {
            Start::At(place) => (place, None),
            Start::Zero { shares, else_at } => (else_at, Some(shares)),
        };
        let fit = Continuation::new(problem, place, limits);
        match shares.and_then(|shares| Trial::new(fit.clone(), Some(shares))) {
            Some(trial) => Self::Zero(Box::new(trial)),
            None => Self::Open(Box::new(fit)),
        }
    }

    /// What is to be asked; `None` once there is nothing.
    fn question(&self) -> Option<S::Question> {
        match self {
            Self::Zero(trial) if !trial.proven() => Some(trial.shares().question()),
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
                    *self = Self::Open(Box::new(trial.else_at().clone()));
                }
            }
        }
        Ok(())
    }

    fn certificate(&self) -> Certificate {
        match self {
            // Losses are not negative, so that zero is a bound.
            Self::OneSided { objective, .. } => Certificate { primal: *objective, dual: 0.0 },
            Self::Zero(trial) => trial.certificate(),
            Self::Open(continuation) => continuation.certificate(),
        }
    }

    fn place(&self, columns: usize) -> Place {
        match self {
            Self::OneSided { .. } => Place::at(vec![0.0; columns], 0.0),
            Self::Zero(trial) => trial.else_at().place().clone(),
            Self::Open(continuation) => continuation.place().clone(),
        }
    }

    /// The answer, in solver units.
    fn point(&self, columns: usize) -> Point {
        match self {
            Self::OneSided { intercept, .. } => {
                Point { v: vec![0.0; columns], b: *intercept, theta: 0.0 }
            }
            Self::Zero(trial) => trial.else_at().problem().constant().0,
            Self::Open(continuation) => continuation.point().clone(),
        }
    }

    /// The same in the user's units.
    fn plane(&self, units: &Units, columns: usize) -> Result<(Vec<f64>, f64)> {
        match self.problem() {
            None => {
                let Point { v, b, .. } = self.point(columns);
                Ok((v, b))
            }
            Some(problem) => problem.to_user(&self.point(columns), units),
        }
    }

    /// None where the answer has no weights.
    fn continuation(&self) -> Option<&Continuation<S>> {
        match self {
            Self::Open(continuation) => Some(continuation),
            Self::OneSided { .. } | Self::Zero(_) => None,
        }
    }

    /// None where rows have one sign only.
    fn problem(&self) -> Option<&S> {
        match self {
            Self::OneSided { .. } => None,
            Self::Zero(trial) => Some(trial.else_at().problem()),
            Self::Open(continuation) => Some(continuation.problem()),
        }
    }
}

impl<P: ClassPlan> OneVersusRest<P> {
    pub(super) fn new(plan: P) -> Self {
        Self { plan, only: None, fit: None }
    }

    /// The problem of the class `positive` alone.
    pub(super) fn of_class(plan: P, positive: usize) -> Self {
        Self { plan, only: Some(positive), fit: None }
    }

    /// The units and the problems under way; none where one has an answer without weights.
    pub(super) fn open(&self) -> Option<(&Units, Vec<&Continuation<P::Problem>>)> {
        let fit = self.fit.as_ref()?;
        let all: Option<Vec<_>> = fit.classes.iter().map(Class::continuation).collect();
        all.map(|all| (&fit.units, all))
    }
}

impl<P: ClassPlan> Task for OneVersusRest<P> {
    fn settle(&mut self, look: &FirstLook, starts: Option<&[Place]>) -> Result<()> {
        self.plan.check(look)?;
        let (factors, sides) =
            open_classes(look, self.plan.class_weight(), self.plan.free_intercept())?;
        let units = self.plan.units(look, factors)?;
        let sample = Sample::new(look, &units);
        let mut limits = self.plan.limits();
        limits.passes = limits.passes.min(MOST_PASSES);
        limits.tol *= self.plan.aim();
        let mut classes = Vec::with_capacity(sides.len());
        let wanted = |side: &&ClassSide| self.only.is_none_or(|only| only == side.positive);
        for (at, side) in sides.iter().filter(wanted).enumerate() {
            if let Some(sign) = side.only {
                let (intercept, objective) = self.plan.one_sided(look)?;
                classes.push(Class::OneSided { intercept: sign * intercept, objective });
                continue;
            }
            let problem = self.plan.problem(look, &units, &sample, side)?;
            let start = match starts.and_then(|s| s.get(at)) {
                Some(place) => Start::At(place.clone()),
                None => sample.start(&problem, limits)?,
            };
            classes.push(Class::new(problem, start, limits));
        }
        self.fit = Some(Fit { units, classes, columns: look.columns });
        Ok(())
    }

    fn ask(&self) -> Option<KernelAsk> {
        let fit = self.fit.as_ref()?;
        let questions: Vec<_> = fit.classes.iter().filter_map(Class::question).collect();
        let problem = fit.classes.iter().find_map(Class::problem)?;
        (!questions.is_empty()).then(|| problem.ask(fit.units.pass(), questions))
    }

    fn absorb(&mut self, answer: KernelSums) -> Result<()> {
        let answers = P::Problem::answers(answer).ok_or_else(misplaced)?;
        let fit = self.fit.as_mut().ok_or_else(misplaced)?;
        let mut answers = answers.into_iter();
        for class in fit.classes.iter_mut().filter(|class| class.question().is_some()) {
            let sums = answers.next().ok_or_else(misplaced)?;
            class.absorb(&sums, self.plan.limits().tol)?;
        }
        Ok(())
    }

    fn places(&self) -> Vec<Place> {
        let of = |fit: &Fit<P::Problem>| -> Vec<Place> {
            fit.classes.iter().map(|class| class.place(fit.columns)).collect()
        };
        self.fit.as_ref().map(of).unwrap_or_default()
    }

    fn proof(&self) -> Option<Proof> {
        let (units, open) = self.open()?;
        self.plan.proof(units, &open)
    }

    fn gap(&self) -> f64 {
        let Some(fit) = &self.fit else { return f64::INFINITY };
        fit.classes.iter().map(|class| class.certificate().gap()).fold(0.0, f64::max)
    }

    fn finish(&self, passes: usize) -> Result<Fitted> {
        let fit = self.fit.as_ref().ok_or_else(misplaced)?;
        let planes = fit.classes.iter().map(|class| class.plane(&fit.units, fit.columns));
        let (coef, intercept) = planes.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let model = Model::Linear(Linear { coef, intercept, link: self.plan.link() });
        let points: Vec<Point> = fit.classes.iter().map(|c| c.point(fit.columns)).collect();
        let mut fitted = self.plan.complete(Fitted::new(model, passes), &points)?;
        fitted.certificates = fit.classes.iter().map(Class::certificate).collect();
        if fit.classes.iter().any(|class| matches!(class, Class::Zero(_))) {
            fitted.warnings.push(self.plan.constant_model());
        }
        fitted.tol = self.plan.limits().tol;
        fitted.route = vec!["partitions".into()];
        Ok(fitted)
    }
}
