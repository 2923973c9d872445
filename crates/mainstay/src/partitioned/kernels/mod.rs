//! Kernels of methods that are no penalised margin loss: what the rows of one block answer.
//!
//! What is asked next and what an answer means is the method's own ([`Task`](super::Task)), in the room of the method.

pub(crate) mod conic;
pub(crate) mod expected;
pub(crate) mod perceptron;
pub(crate) mod planes;
mod rows;

pub(crate) use rows::RowUnits;

use self::conic::{ConicAsk, ConicSums};
use self::expected::{ExpectedAsk, ExpectedSums};
use self::perceptron::{PerceptronAsk, PerceptronStep};
use self::planes::{PlanesAsk, PlanesSums};
use super::block::Block;
use super::wire::{Reader, Wire, damaged};
use crate::error::{Error, Result};

/// A question of one of the kernels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KernelAsk {
    Planes(PlanesAsk),
    Perceptron(PerceptronAsk),
    Conic(ConicAsk),
    Expected(ExpectedAsk),
}

/// Its answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KernelSums {
    Planes(PlanesSums),
    Perceptron(PerceptronStep),
    /// One for every question.
    Conic(Vec<ConicSums>),
    /// One for every question.
    Expected(Vec<ExpectedSums>),
}

impl KernelAsk {
    pub(super) fn look(&self, block: &Block<'_>) -> Result<KernelSums> {
        match self {
            Self::Planes(ask) => ask.look(block).map(KernelSums::Planes),
            Self::Perceptron(ask) => ask.look(block).map(KernelSums::Perceptron),
            Self::Conic(ask) => ask.look(block).map(KernelSums::Conic),
            Self::Expected(ask) => ask.look(block).map(KernelSums::Expected),
        }
    }

    /// Whether a block needs the answer of the block before it.
    pub(super) fn in_sequence(&self) -> bool {
        matches!(self, Self::Perceptron(_))
    }

    /// What the block behind the one that answered is asked.
    pub(super) fn after(&self, answer: &KernelSums) -> Self {
        match (self, answer) {
            (Self::Perceptron(ask), KernelSums::Perceptron(state)) => {
                Self::Perceptron(PerceptronAsk { state: state.clone(), ..ask.clone() })
            }
            _ => self.clone(),
        }
    }
}

impl KernelSums {
    pub(super) fn merge(self, next: Self) -> Result<Self> {
        match (self, next) {
            (Self::Planes(a), Self::Planes(b)) => a.merge(b).map(Self::Planes),
            (Self::Conic(a), Self::Conic(b)) if a.len() == b.len() => {
                let pairs = a.into_iter().zip(&b);
                Ok(Self::Conic(pairs.map(|(a, b)| a.merge(b)).collect::<Result<_>>()?))
            }
            (Self::Expected(a), Self::Expected(b)) if a.len() == b.len() => {
                let pairs = a.into_iter().zip(&b);
                Ok(Self::Expected(pairs.map(|(a, b)| a.merge(b)).collect::<Result<_>>()?))
            }
            (Self::Perceptron(_), Self::Perceptron(_)) => Err(Error::Mismatch(
                "answers of a perceptron follow each other and cannot be merged".into(),
            )),
            _ => Err(Error::Mismatch("answers to different questions".into())),
        }
    }
}

/// The answer of one block, for tests of the methods.
#[cfg(test)]
pub(crate) fn look_alone(block: &Block<'_>, ask: &KernelAsk) -> Result<KernelSums> {
    ask.look(block)
}

/// Writes and reads an enumeration of kernels, each under its number.
macro_rules! numbered {
    ($name:ident { $($number:literal => $kernel:ident),* }) => {
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$kernel(value) => {
                        out.push($number);
                        value.put(out);
                    })*
                }
            }

            fn get(from: &mut Reader<'_>) -> Result<Self> {
                Ok(match from.byte()? {
                    $($number => Self::$kernel(Wire::get(from)?),)*
                    _ => return Err(damaged("an unknown kernel")),
                })
            }
        }
    };
}

numbered!(KernelAsk { 0 => Planes, 1 => Perceptron, 2 => Conic, 3 => Expected });
numbered!(KernelSums { 0 => Planes, 1 => Perceptron, 2 => Conic, 3 => Expected });
