//! The loop of a partitioned fit, turned inside out: it asks, somebody looks at the rows, it goes on with the answer.

use super::ask::{Ask, FirstAsk, Inner as Asked};
use super::checkpoint::Checkpoint;
use super::kernels::KernelAsk;
use super::message::{Inner as Said, Message};
use super::one_versus_rest::OneVersusRest;
use super::proof::Proof;
use super::spec::Plan;
use super::task::{Task, check, misplaced};
use crate::error::{Error, Result};
use crate::model::Fitted;

/// With fewer rows per column than this a curvature is too rough for Newton's steps.
const LEAST_CURVATURE_ROWS: usize = 20;

/// What to do next.
#[derive(Debug, Clone)]
pub enum Step {
    /// Put this to every partition, merge the answers in partition order and come back with the result.
    Ask(Ask),
    /// The fit is finished.
    Done(Box<Fitted>),
}

/// A fit over partitions. It reads nothing and keeps nothing that grows with the number of rows.
#[derive(Debug)]
pub struct Driver {
    task: Box<dyn Task>,
    /// What makes the problem this one: method and parameters.
    identity: String,
    /// Rows per column from which curvature is taken; none is all rows.
    curvature_rows: Option<usize>,
    first: FirstAsk,
    resume: Option<Checkpoint>,
    settled: Option<Settled>,
    passes: usize,
}

/// What the first look told about the data.
#[derive(Debug, Clone, Copy)]
struct Settled {
    fingerprint: u64,
    rows: usize,
}

impl Driver {
    /// A fit of `plan`; `identity` tells it from other problems in checkpoints.
    pub fn new(plan: impl Into<Plan>, identity: String) -> Self {
        let task: Box<dyn Task> = match plan.into() {
            Plan::Losses(spec) => Box::new(OneVersusRest::new(spec)),
            Plan::Missing(plan) => Box::new(OneVersusRest::new(plan)),
            Plan::Ellipsoid(plan) => Box::new(OneVersusRest::new(plan)),
        };
        Self::of_task(task, identity)
    }

    /// A fit of a method that has its own task.
    pub(crate) fn of_task(task: Box<dyn Task>, identity: String) -> Self {
        let first = FirstAsk::expecting(None);
        Self { task, identity, curvature_rows: None, first, resume: None, settled: None, passes: 0 }
    }

    /// Tells about how many rows there are: partitions then send few more rows than the sample needs. The answer does not
    /// depend on it; where it was far too many the first look is taken again.
    #[must_use]
    pub fn expecting(mut self, rows: Option<usize>) -> Self {
        self.first = FirstAsk::expecting(rows);
        self
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
        let settled = self.settled?;
        let places = self.task.places();
        Some(Checkpoint::new(&self.identity, settled.fingerprint, places).to_bytes())
    }

    /// What proves the bounds of the fit again from the rows in one pass; `None` before the first look, and for methods and
    /// answers that have no such form.
    pub fn proof(&self) -> Option<Proof> {
        self.settled?;
        self.task.proof()
    }

    /// Looks at all rows so far.
    pub fn passes(&self) -> usize {
        self.passes
    }

    /// Rows of all partitions, once they are counted.
    pub fn rows(&self) -> Option<usize> {
        self.settled.map(|settled| settled.rows)
    }

    /// The largest proven gap over the classes; infinite before the first pass.
    pub fn gap(&self) -> f64 {
        self.task.gap()
    }

    /// One row in so many tells the curvature.
    fn thin(&self, columns: usize) -> u64 {
        let rows = self.rows().unwrap_or_default();
        self.curvature_rows.map_or(1, |per_column| {
            let wanted = per_column.saturating_mul(columns).max(1);
            ((rows / wanted) as u64).max(1)
        })
    }

    /// Takes the merged answer to the last ask in; `None` at the start.
    pub fn next(&mut self, message: Option<Message>) -> Result<Step> {
        let Some(message) = message else {
            self.settled = None;
            self.passes = 0;
            return Ok(Step::Ask(Ask(Asked::First(self.first.clone()))));
        };
        self.passes += 1;
        match (message.0, self.settled) {
            (Said::First(look), None) => {
                check(&look)?;
                if self.first.fell_short(&look) {
                    self.first = FirstAsk::expecting(None);
                    return Ok(Step::Ask(Ask(Asked::First(self.first.clone()))));
                }
                let fingerprint = look.fingerprint();
                let resume = self.resume.as_ref();
                let starts = resume.map(|c| c.places(fingerprint, look.columns)).transpose()?;
                self.task.settle(&look, starts.as_deref())?;
                self.settled = Some(Settled { fingerprint, rows: look.rows() });
            }
            (Said::Kernel(answer), Some(_)) => self.task.absorb(answer)?,
            (Said::First(_), Some(_)) | (Said::Kernel(_), None) => return Err(misplaced()),
        }
        match self.task.ask() {
            Some(mut ask) => {
                if let KernelAsk::Losses(pass) = &mut ask {
                    pass.thin = self.thin(pass.factors.len());
                }
                Ok(Step::Ask(Ask(Asked::Kernel(ask))))
            }
            None => self.task.finish(self.passes).map(|fitted| Step::Done(Box::new(fitted))),
        }
    }
}
