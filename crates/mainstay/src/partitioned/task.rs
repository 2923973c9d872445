//! What a method of another room brings to a fit over partitions.

use std::fmt::Debug;

use super::ask::Inner as Asked;
use super::binary::Place;
use super::course::{Course, misplaced};
use super::first_look::FirstLook;
use super::kernels::{KernelAsk, KernelSums};
use super::message::Inner as Said;
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

impl Course for Box<dyn Task> {
    fn settle(&mut self, look: &FirstLook, starts: Option<&[Place]>) -> Result<()> {
        (**self).settle(look, starts)
    }

    fn ask(&self) -> Option<Asked> {
        (**self).ask().map(Asked::Kernel)
    }

    fn absorb(&mut self, said: Said) -> Result<()> {
        match said {
            Said::Kernel(answer) => (**self).absorb(answer),
            _ => Err(misplaced()),
        }
    }

    fn places(&self) -> Vec<Place> {
        (**self).places()
    }

    fn gap(&self) -> f64 {
        (**self).gap()
    }

    fn finish(&self, passes: usize) -> Result<Fitted> {
        (**self).finish(passes)
    }
}
