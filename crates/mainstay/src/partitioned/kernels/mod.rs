//! Kernels: what the rows of one block answer.
//!
//! What is asked next and what an answer means is the method's own ([`Task`](super::Task)). Kernels of margin losses,
//! missing features and ellipsoids stand beside this folder, those of single methods in it.

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
use super::ask::PassAsk;
use super::block::Block;
use super::ellipsoid_rows::{self, EllipsoidAsk};
use super::kernel::look_at;
use super::message::{SmoothedSums, Sums};
use super::missing_rows::{self, MissingAsk};
use super::wire::{Reader, Wire, damaged};
use crate::error::{Error, Result};

/// A question of one of the kernels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KernelAsk {
    /// Values, slopes, curvatures and both halves of a certificate of margin losses at a point.
    Losses(PassAsk),
    /// The same for the worst deletion of features.
    Missing(MissingAsk),
    /// The same for rows that are ellipsoids.
    Ellipsoid(EllipsoidAsk),
    Planes(PlanesAsk),
    Perceptron(PerceptronAsk),
    Conic(ConicAsk),
    Expected(ExpectedAsk),
}

/// Its answer; lists hold one for every question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KernelSums {
    Losses(Vec<Sums>),
    Missing(Vec<SmoothedSums>),
    Ellipsoid(Vec<SmoothedSums>),
    Planes(PlanesSums),
    Perceptron(PerceptronStep),
    Conic(Vec<ConicSums>),
    Expected(Vec<ExpectedSums>),
}

impl KernelAsk {
    pub(super) fn look(&self, block: &Block<'_>) -> Result<KernelSums> {
        match self {
            Self::Losses(ask) => look_at(block, ask).map(KernelSums::Losses),
            Self::Missing(ask) => missing_rows::look(block, ask).map(KernelSums::Missing),
            Self::Ellipsoid(EllipsoidAsk { rows, questions }) => {
                ellipsoid_rows::look(block, rows, questions).map(KernelSums::Ellipsoid)
            }
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
            (Self::Losses(a), Self::Losses(b)) => in_pairs(a, b, Sums::merge).map(Self::Losses),
            (Self::Missing(a), Self::Missing(b)) => {
                in_pairs(a, b, |a, b| a.merge(&b)).map(Self::Missing)
            }
            (Self::Ellipsoid(a), Self::Ellipsoid(b)) => {
                in_pairs(a, b, |a, b| a.merge(&b)).map(Self::Ellipsoid)
            }
            (Self::Planes(a), Self::Planes(b)) => a.merge(b).map(Self::Planes),
            (Self::Conic(a), Self::Conic(b)) => in_pairs(a, b, |a, b| a.merge(&b)).map(Self::Conic),
            (Self::Expected(a), Self::Expected(b)) => {
                in_pairs(a, b, |a, b| a.merge(&b)).map(Self::Expected)
            }
            (Self::Perceptron(_), Self::Perceptron(_)) => Err(Error::Mismatch(
                "answers of a perceptron follow each other and cannot be merged".into(),
            )),
            _ => Err(different()),
        }
    }
}

pub(super) fn different() -> Error {
    Error::Mismatch("answers to different questions".into())
}

/// Merges the answers to every question.
fn in_pairs<T>(a: Vec<T>, b: Vec<T>, merge: impl Fn(T, T) -> Result<T>) -> Result<Vec<T>> {
    if a.len() != b.len() {
        return Err(different());
    }
    a.into_iter().zip(b).map(|(a, b)| merge(a, b)).collect()
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

numbered!(KernelAsk {
    0 => Planes, 1 => Perceptron, 2 => Conic, 3 => Expected, 4 => Losses, 5 => Missing, 6 => Ellipsoid
});
numbered!(KernelSums {
    0 => Planes, 1 => Perceptron, 2 => Conic, 3 => Expected, 4 => Losses, 5 => Missing, 6 => Ellipsoid
});
