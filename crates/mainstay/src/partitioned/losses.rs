//! Penalised and stable losses over partitions: one binary problem for every class, all in one pass.

use super::ask::Question;
use super::binary::{Binary, Place, Setting};
use super::first_look::FirstLook;
use super::kernels::{KernelAsk, KernelSums};
use super::message::Sums;
use super::problem::Problem;
use super::sample::{Sample, Start};
use super::spec::Spec;
use super::task::{MOST_PASSES, Task, misplaced, open_classes};
use super::units::Units;
use super::zero_weights::{Outcome, ZeroTrial};
use crate::certificate::Certificate;
use crate::error::Result;
use crate::linalg::Dense;
use crate::loss::Loss;
use crate::model::{Fitted, Linear, Model};

/// What a user should know of a model without weights.
const ZERO_WEIGHTS: &str = "zero weights are optimal, so that the model is constant: the worst `k` rows of the classes cannot be \
                            told apart; a larger `k` may help";

/// A fit of such losses.
#[derive(Debug, Clone)]
pub(super) struct LossFit {
    spec: Spec,
    fit: Option<Fit>,
}

/// What the first look made possible.
#[derive(Debug, Clone)]
struct Fit {
    units: Units,
    gram: Dense,
    classes: Vec<Class>,
}

/// One class against the rest.
#[derive(Debug, Clone)]
enum Class {
    /// Rows of one sign only: an intercept answers it.
    OneSided {
        intercept: f64,
        columns: usize,
    },
    /// Zero weights seem optimal; if they are not, the fit starts there.
    Zero {
        trial: Box<ZeroTrial>,
        else_at: Box<Binary>,
        proven: bool,
    },
    Open(Box<Binary>),
}

impl Task for LossFit {
    fn settle(&mut self, look: &FirstLook, starts: Option<&[Place]>) -> Result<()> {
        self.spec.check_classes(look.names.len())?;
        let (factors, sides) =
            open_classes(look, &self.spec.class_weight, self.spec.fit_intercept)?;
        let units = Units::new(look, factors, (self.spec.fit_intercept, self.spec.normalize))?;
        let sample = Sample::new(look, &units)?;
        let mut open = Vec::with_capacity(sides.len());
        for (at, side) in sides.iter().enumerate() {
            if let Some(sign) = side.only {
                let size = if self.spec.loss == Loss::Logistic { 40.0 } else { 1.0 };
                open.push(Class::OneSided { intercept: sign * size, columns: look.columns });
                continue;
            }
            let setting = self.setting(&units, side.total, side.positive)?;
            let start = match starts.and_then(|s| s.get(at)) {
                Some(place) => Start::At(place.clone()),
                None => sample.start(&setting)?,
            };
            open.push(Class::new(setting, start));
        }
        self.fit = Some(Fit { units, gram: sample.gram, classes: open });
        Ok(())
    }

    fn ask(&self) -> Option<KernelAsk> {
        let fit = self.fit.as_ref()?;
        let mut pass = fit.units.pass();
        pass.questions = fit.classes.iter().filter_map(Class::question).collect();
        (!pass.questions.is_empty()).then_some(KernelAsk::Losses(pass))
    }

    fn absorb(&mut self, answer: KernelSums) -> Result<()> {
        let (KernelSums::Losses(answers), Some(fit)) = (answer, &mut self.fit) else {
            return Err(misplaced());
        };
        let mut answers = answers.into_iter();
        for class in fit.classes.iter_mut().filter(|class| class.question().is_some()) {
            let sums = answers.next().ok_or_else(misplaced)?;
            class.absorb(&sums, &fit.gram, self.spec.tol)?;
        }
        Ok(())
    }

    fn places(&self) -> Vec<Place> {
        let place = |class: &Class| match class {
            Class::OneSided { columns, .. } => Binary::zero(*columns),
            Class::Zero { else_at, .. } => else_at.place().clone(),
            Class::Open(binary) => binary.place().clone(),
        };
        self.fit.iter().flat_map(|fit| fit.classes.iter().map(place)).collect()
    }

    fn gap(&self) -> f64 {
        let Some(fit) = &self.fit else { return f64::INFINITY };
        fit.classes.iter().map(|c| c.certificate(&self.spec).gap()).fold(0.0, f64::max)
    }

    fn finish(&self, passes: usize) -> Result<Fitted> {
        let Some(fit) = &self.fit else { return Err(misplaced()) };
        let planes = fit.classes.iter().map(|c| c.plane(&fit.units)).collect::<Result<Vec<_>>>()?;
        let (coef, intercept) = planes.into_iter().unzip();
        let model = Model::Linear(Linear { coef, intercept, link: self.spec.link });
        let mut fitted = Fitted::new(model, passes);
        for (name, value) in &self.spec.outputs {
            fitted = fitted.with(name, value.clone());
        }
        if self.spec.worst() {
            let thresholds: Vec<f64> = fit.classes.iter().map(Class::threshold).collect();
            fitted = match thresholds.as_slice() {
                [threshold] => fitted.with("threshold", *threshold),
                _ => fitted.with("threshold", thresholds),
            };
        }
        fitted.certificates = fit.classes.iter().map(|c| c.certificate(&self.spec)).collect();
        if fit.classes.iter().any(|class| matches!(class, Class::Zero { .. })) {
            fitted.warnings.push(ZERO_WEIGHTS.into());
        }
        fitted.tol = self.spec.tol;
        fitted.route = vec!["partitions".into()];
        Ok(fitted)
    }
}

impl LossFit {
    pub(super) fn new(spec: Spec) -> Self {
        Self { spec, fit: None }
    }

    fn setting(&self, units: &Units, total: f64, positive: usize) -> Result<Setting> {
        let strengths = self.spec.strengths(total)?;
        let problem = Problem {
            loss: self.spec.loss,
            worst: self.spec.worst() && strengths.k < total,
            k: strengths.k,
            scale: strengths.scale,
            squares: units.penalised().map(|u| strengths.squares * u * u).collect(),
            lasso: units.penalised().map(|u| strengths.l1 * u).collect(),
            intercept: self.spec.fit_intercept,
            total,
        };
        let passes = self.spec.max_iter.min(MOST_PASSES);
        Ok(Setting { problem, positive, tol: self.spec.tol, passes })
    }
}

impl Class {
    fn new(setting: Setting, start: Start) -> Self {
        match start {
            Start::At(place) => Self::Open(Box::new(Binary::new(setting, place))),
            Start::Zero { shares, else_at } => Self::Zero {
                trial: Box::new(ZeroTrial::new(setting.clone(), Some(shares))),
                else_at: Box::new(Binary::new(setting, else_at)),
                proven: false,
            },
        }
    }

    /// What is to be asked; `None` once there is nothing.
    fn question(&self) -> Option<Question> {
        match self {
            Self::Zero { trial, proven: false, .. } => Some(trial.question()),
            Self::Open(binary) if !binary.done() => Some(binary.question()),
            _ => None,
        }
    }

    /// Takes the answer in.
    fn absorb(&mut self, sums: &Sums, gram: &Dense, tol: f64) -> Result<()> {
        match self {
            Self::OneSided { .. } => {}
            Self::Open(binary) => binary.absorb(sums, gram)?,
            Self::Zero { trial, else_at, proven } => match trial.absorb(sums, gram, tol)? {
                Outcome::Open => {}
                Outcome::Proven => *proven = true,
                Outcome::GivenUp => *self = Self::Open(else_at.clone()),
            },
        }
        Ok(())
    }

    fn plane(&self, units: &Units) -> Result<(Vec<f64>, f64)> {
        match self {
            Self::OneSided { intercept, columns } => Ok((vec![0.0; *columns], *intercept)),
            Self::Zero { trial, .. } => units.to_user(&trial.point()),
            Self::Open(binary) => units.to_user(binary.point()),
        }
    }

    fn threshold(&self) -> f64 {
        match self {
            Self::OneSided { .. } => 0.0,
            Self::Zero { trial, .. } => trial.point().theta,
            Self::Open(binary) => binary.point().theta,
        }
    }

    fn certificate(&self, spec: &Spec) -> Certificate {
        match self {
            // Losses are not negative, so that zero is a bound.
            Self::OneSided { intercept, .. } => {
                let primal = spec.loss.get().value(intercept.abs());
                Certificate { primal, dual: 0.0 }
            }
            Self::Zero { trial, .. } => trial.certificate(),
            Self::Open(binary) => binary.certificate(),
        }
    }
}
