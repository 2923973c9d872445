//! Fits over partitions, whatever is fitted: the door that engines know, and what a method of another room brings.

use std::fmt::Debug;

use super::ask::{Ask, FirstAsk, Inner as Asked};
use super::binary::Place;
use super::checkpoint::Checkpoint;
use super::driver::{Margins, SAMPLE_NUMBERS, SAMPLE_ROWS, Step, check, misplaced};
use super::first_look::FirstLook;
use super::kernels::{KernelAsk, KernelSums};
use super::message::{Inner as Said, Message};
use super::spec::Spec;
use crate::error::Result;
use crate::model::Fitted;

/// The side of a method in a fit over partitions: what to ask next, and what the merged answer means.
pub(crate) trait Task: Debug + Send {
    /// From the first look to the problem; `resume` is where an earlier fit of the same problem and data was.
    fn settle(&mut self, look: &FirstLook, resume: Option<&[Place]>) -> Result<()>;
    /// What all rows are to be asked; `None` once the fit is done.
    fn ask(&self) -> Option<KernelAsk>;
    /// Takes the merged answer in.
    fn absorb(&mut self, answer: KernelSums) -> Result<()>;
    /// The largest proven gap; infinite before there is one.
    fn gap(&self) -> f64;
    /// Where the fit is, for a checkpoint.
    fn places(&self) -> Vec<Place>;
    /// The model, once there is nothing left to ask; `passes` counts all looks.
    fn finish(&self, passes: usize) -> Result<Fitted>;
}

/// A fit over partitions. It reads nothing and keeps nothing that grows with the number of rows.
#[derive(Debug)]
pub struct Driver(Kind);

#[derive(Debug)]
enum Kind {
    Margins(Box<Margins>),
    Task(Box<Tasked>),
}

/// A [`Task`] under way.
#[derive(Debug)]
struct Tasked {
    task: Box<dyn Task>,
    identity: String,
    resume: Option<Checkpoint>,
    /// Fingerprint and number of the rows, once the first look is there.
    known: Option<(u64, usize)>,
    passes: usize,
}

impl Driver {
    /// A fit of `spec`; `identity` tells it from other problems in checkpoints.
    pub fn new(spec: Spec, identity: String) -> Self {
        Self(Kind::Margins(Box::new(Margins::new(spec, identity))))
    }

    /// A fit of a method with kernels of its own.
    pub(crate) fn of_task(task: Box<dyn Task>, identity: String) -> Self {
        let tasked = Tasked { task, identity, resume: None, known: None, passes: 0 };
        Self(Kind::Task(Box::new(tasked)))
    }

    /// Goes on where the fit that left this checkpoint was. Whether the data are the same shows in the first look.
    pub fn resume(self, checkpoint: &[u8]) -> Result<Self> {
        Ok(Self(match self.0 {
            Kind::Margins(margins) => Kind::Margins(Box::new(margins.resume(checkpoint)?)),
            Kind::Task(mut tasked) => {
                let checkpoint = Checkpoint::from_bytes(checkpoint)?;
                checkpoint.check_problem(&tasked.identity)?;
                tasked.resume = Some(checkpoint);
                Kind::Task(tasked)
            }
        }))
    }

    /// Where the fit is, as bytes; `None` before the first look.
    pub fn checkpoint(&self) -> Option<Vec<u8>> {
        match &self.0 {
            Kind::Margins(margins) => margins.checkpoint(),
            Kind::Task(tasked) => {
                let (fingerprint, _) = tasked.known?;
                let places = tasked.task.places();
                Some(Checkpoint::new(&tasked.identity, fingerprint, places).to_bytes())
            }
        }
    }

    /// Looks at all rows so far.
    pub fn passes(&self) -> usize {
        match &self.0 {
            Kind::Margins(margins) => margins.passes(),
            Kind::Task(tasked) => tasked.passes,
        }
    }

    /// Rows of all partitions, once they are counted.
    pub fn rows(&self) -> Option<usize> {
        match &self.0 {
            Kind::Margins(margins) => margins.rows(),
            Kind::Task(tasked) => tasked.known.map(|(_, rows)| rows),
        }
    }

    /// The largest proven gap over the classes; infinite before the first pass, and for methods without a proof.
    pub fn gap(&self) -> f64 {
        match &self.0 {
            Kind::Margins(margins) => margins.gap(),
            Kind::Task(tasked) => tasked.known.map_or(f64::INFINITY, |_| tasked.task.gap()),
        }
    }

    /// Takes the merged answer to the last ask in; `None` at the start.
    pub fn next(&mut self, message: Option<Message>) -> Result<Step> {
        match &mut self.0 {
            Kind::Margins(margins) => margins.next(message),
            Kind::Task(tasked) => tasked.next(message),
        }
    }
}

impl Tasked {
    fn next(&mut self, message: Option<Message>) -> Result<Step> {
        let Some(message) = message else {
            self.known = None;
            self.passes = 0;
            let first = FirstAsk { sample_rows: SAMPLE_ROWS, sample_numbers: SAMPLE_NUMBERS };
            return Ok(Step::Ask(Ask(Asked::First(first))));
        };
        self.passes += 1;
        match (message.0, self.known) {
            (Said::First(look), None) => {
                check(&look)?;
                let fingerprint = look.fingerprint();
                let places = self
                    .resume
                    .as_ref()
                    .map(|c| c.places(fingerprint, look.columns))
                    .transpose()?;
                self.task.settle(&look, places.as_deref())?;
                self.known = Some((fingerprint, look.rows()));
            }
            (Said::Kernel(answer), Some(_)) => self.task.absorb(answer)?,
            _ => return Err(misplaced()),
        }
        match self.task.ask() {
            Some(ask) => Ok(Step::Ask(Ask(Asked::Kernel(ask)))),
            None => self.task.finish(self.passes).map(|fitted| Step::Done(Box::new(fitted))),
        }
    }
}
