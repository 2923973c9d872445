//! The loop of a partitioned fit, turned inside out: it asks, somebody looks at the rows, it goes on with the answer.

use super::ask::{Ask, FirstAsk, Inner as Asked, Question};
use super::binary::{Binary, Place, Setting};
use super::checkpoint::Checkpoint;
use super::first_look::FirstLook;
use super::message::{Inner as Said, Message, Sums};
use super::problem::Problem;
use super::sample::{Sample, Start};
use super::spec::Spec;
use super::units::Units;
use super::zero_weights::{Outcome, ZeroTrial};
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::linalg::Dense;
use crate::loss::Loss;
use crate::model::{Fitted, Linear, Model};

/// Rows of the sample, and most numbers in it.
const SAMPLE_ROWS: usize = 20_000;
const SAMPLE_NUMBERS: usize = 8_000_000;
/// More columns than this make messages of hundreds of megabytes.
const MOST_COLUMNS: usize = 4000;
/// With fewer rows per column than this a curvature is too rough for Newton's steps.
const LEAST_CURVATURE_ROWS: usize = 20;
/// Passes after which a fit ends with the gap it has.
const MOST_PASSES: usize = 200;

/// What a user should know of a model without weights.
const ZERO_WEIGHTS: &str = "zero weights are optimal, so that the model is constant: the worst `k` rows of the classes cannot be \
                            told apart; a larger `k` may help";

/// What to do next.
#[derive(Debug, Clone)]
pub enum Step {
    /// Put this to every partition, merge the answers in partition order and come back with the result.
    Ask(Ask),
    /// The fit is finished.
    Done(Box<Fitted>),
}

/// A fit over partitions. It reads nothing and keeps nothing that grows with the number of rows.
#[derive(Debug, Clone)]
pub struct Driver {
    spec: Spec,
    /// What makes the problem this one: method and parameters.
    identity: String,
    /// Rows per column from which curvature is taken; none is all rows.
    curvature_rows: Option<usize>,
    resume: Option<Checkpoint>,
    fit: Option<Fit>,
    passes: usize,
}

/// What the first look made possible.
#[derive(Debug, Clone)]
struct Fit {
    units: Units,
    gram: Dense,
    classes: Vec<Class>,
    fingerprint: u64,
    rows: usize,
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

impl Driver {
    /// A fit of `spec`; `identity` tells it from other problems in checkpoints.
    pub fn new(spec: Spec, identity: String) -> Self {
        Self { spec, identity, curvature_rows: None, resume: None, fit: None, passes: 0 }
    }

    /// Takes the curvature of losses without a threshold from about `rows` rows per column, chosen by their place, instead
    /// of all rows. Values, slopes and bounds still come from every row, so that the proof is as good: a pass is
    /// cheaper where there are many columns, and a fit takes two to three passes more.
    pub fn with_curvature_rows(mut self, rows: Option<usize>) -> Result<Self> {
        if rows.is_some_and(|rows| rows < LEAST_CURVATURE_ROWS) {
            return Err(Error::BadParams(format!(
                "`curvature_rows` = {}: must be at least {LEAST_CURVATURE_ROWS} per column, or none for all rows",
                rows.unwrap_or_default()
            )));
        }
        self.curvature_rows = rows;
        Ok(self)
    }

    /// Goes on where the fit that left this checkpoint was. Whether the data are the same shows in the first look.
    pub fn resume(mut self, checkpoint: &[u8]) -> Result<Self> {
        let checkpoint = Checkpoint::from_bytes(checkpoint)?;
        checkpoint.check_problem(&self.identity)?;
        self.resume = Some(checkpoint);
        Ok(self)
    }

    /// Where the fit is, as bytes; `None` before the first look.
    pub fn checkpoint(&self) -> Option<Vec<u8>> {
        let fit = self.fit.as_ref()?;
        let places: Vec<Place> = fit
            .classes
            .iter()
            .map(|class| match class {
                Class::OneSided { columns, .. } => Binary::zero(*columns),
                Class::Zero { else_at, .. } => else_at.place().clone(),
                Class::Open(binary) => binary.place().clone(),
            })
            .collect();
        Some(Checkpoint::new(&self.identity, fit.fingerprint, places).to_bytes())
    }

    /// Looks at all rows so far.
    pub fn passes(&self) -> usize {
        self.passes
    }

    /// Rows of all partitions, once they are counted.
    pub fn rows(&self) -> Option<usize> {
        self.fit.as_ref().map(|fit| fit.rows)
    }

    /// The largest proven gap over the classes; infinite before the first pass.
    pub fn gap(&self) -> f64 {
        let Some(fit) = &self.fit else { return f64::INFINITY };
        fit.classes.iter().map(|c| c.certificate(&self.spec).gap()).fold(0.0, f64::max)
    }

    /// Takes the merged answer to the last ask in; `None` at the start.
    pub fn next(&mut self, message: Option<Message>) -> Result<Step> {
        let Some(message) = message else {
            self.fit = None;
            self.passes = 0;
            let first = FirstAsk { sample_rows: SAMPLE_ROWS, sample_numbers: SAMPLE_NUMBERS };
            return Ok(Step::Ask(Ask(Asked::First(first))));
        };
        self.passes += 1;
        match (message.0, &mut self.fit) {
            (Said::First(look), None) => self.fit = Some(self.settle(&look)?),
            (Said::Pass(answers), Some(fit)) => {
                let mut answers = answers.into_iter();
                for class in fit.classes.iter_mut().filter(|class| class.question().is_some()) {
                    let sums = answers.next().ok_or_else(misplaced)?;
                    class.absorb(&sums, &fit.gram, self.spec.tol)?;
                }
            }
            _ => return Err(misplaced()),
        }
        let Some(fit) = &self.fit else { return Err(misplaced()) };
        let mut pass = fit.units.pass();
        pass.thin = self.curvature_rows.map_or(1, |rows| {
            let wanted = rows.saturating_mul(pass.factors.len()).max(1);
            ((fit.rows / wanted) as u64).max(1)
        });
        pass.questions = fit.classes.iter().filter_map(Class::question).collect();
        if pass.questions.is_empty() {
            return self.finish().map(|fitted| Step::Done(Box::new(fitted)));
        }
        Ok(Step::Ask(Ask(Asked::Pass(pass))))
    }

    /// From the first look to the problems.
    fn settle(&self, look: &FirstLook) -> Result<Fit> {
        check(look)?;
        let classes = look.names.len();
        self.spec.check_classes(classes)?;
        let weights: Vec<f64> = look.classes.iter().map(|c| c.weight).collect();
        let factors = self.spec.class_weight.factors_of(&weights)?;
        let factors = factors.unwrap_or_else(|| vec![1.0; classes]);
        let totals: Vec<f64> = weights.iter().zip(&factors).map(|(w, f)| w * f).collect();
        let fingerprint = look.fingerprint();
        let starts =
            self.resume.as_ref().map(|c| c.places(fingerprint, look.columns)).transpose()?;
        let units = Units::new(look, factors, (self.spec.fit_intercept, self.spec.normalize))?;
        let sample = Sample::new(look, &units)?;
        let positives = if classes == 2 { vec![1] } else { (0..classes).collect() };
        let mut open = Vec::with_capacity(positives.len());
        for (at, positive) in positives.into_iter().enumerate() {
            let total: f64 = totals.iter().sum();
            let own = totals[positive];
            if own <= 0.0 || own >= total {
                let sign = if own > 0.0 { 1.0 } else { -1.0 };
                let size = if self.spec.loss == Loss::Logistic { 40.0 } else { 1.0 };
                open.push(Class::OneSided { intercept: sign * size, columns: look.columns });
                continue;
            }
            let setting = self.setting(&units, total, positive)?;
            let start = match starts.as_ref().and_then(|s| s.get(at)) {
                Some(place) => Start::At(place.clone()),
                None => sample.start(&setting)?,
            };
            open.push(Class::new(setting, start));
        }
        let rows = look.rows();
        Ok(Fit { units, gram: sample.gram, classes: open, fingerprint, rows })
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

    fn finish(&self) -> Result<Fitted> {
        let Some(fit) = &self.fit else { return Err(misplaced()) };
        let planes = fit.classes.iter().map(|c| c.plane(&fit.units)).collect::<Result<Vec<_>>>()?;
        let (coef, intercept) = planes.into_iter().unzip();
        let model = Model::Linear(Linear { coef, intercept, link: self.spec.link });
        let mut fitted = Fitted::new(model, self.passes);
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

/// Refuses data that no fit can use.
fn check(look: &FirstLook) -> Result<()> {
    if let Some(bad) = &look.bad {
        return Err(Error::BadData(format!(
            "partition {}, row {}, column {}: {} is not a finite number; drop or impute it",
            bad.partition, bad.row, bad.column, bad.value
        )));
    }
    if look.rows() == 0 || look.columns == 0 {
        let text = format!(
            "{} rows and {} features: at least one of each is needed",
            look.rows(),
            look.columns
        );
        return Err(Error::BadData(text));
    }
    if look.columns > MOST_COLUMNS {
        return Err(Error::BadData(format!(
            "{} features: a fit over partitions takes at most {MOST_COLUMNS}, since every partition sends the curvature \
             of all pairs; leave columns out, or fit a sample of the rows in memory",
            look.columns
        )));
    }
    let present = look.classes.iter().filter(|c| c.weight > 0.0).count();
    if present < 2 {
        let text = "the labels contain only one class; a classifier needs two";
        return Err(Error::BadData(text.into()));
    }
    Ok(())
}

fn misplaced() -> Error {
    Error::Mismatch("an answer to a question that was not asked".into())
}
