//! What a partition answers, and how two answers become one.

use super::ask::{Ask, BACKTRACK, Inner as Asked};
use super::block::Block;
use super::first_look::{FirstLook, first_look};
use super::kernels::{KernelSums, different};
use super::wire::{Reader, Symmetric, Wire, damaged, tagged, untagged, wire};
use crate::error::{Error, Result};
use crate::linalg::{Dense, vector};

/// Tag and version of a message.
const TAG: [u8; 8] = *b"msmsg\0\0\x04";

/// The answer of one partition, or of several, to one [`Ask`].
#[derive(Debug, Clone, PartialEq)]
pub struct Message(pub(super) Inner);

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Inner {
    First(Box<FirstLook>),
    /// Of a kernel.
    Kernel(KernelSums),
}

/// Answers a question from the rows of one partition. One thread, no state: the same block and the same question give
/// the same bits everywhere.
pub fn look(block: &Block<'_>, ask: &Ask) -> Result<Message> {
    Ok(Message(match &ask.0 {
        Asked::First(ask) => Inner::First(Box::new(first_look(block, ask)?)),
        Asked::Kernel(ask) => Inner::Kernel(ask.look(block)?),
    }))
}

impl Message {
    /// The answer of both parts together. Not commutative: engines merge in the order of the partitions.
    pub fn merge(self, next: Self) -> Result<Self> {
        Ok(Self(match (self.0, next.0) {
            (Inner::First(a), Inner::First(b)) => Inner::First(Box::new(a.merge(*b)?)),
            (Inner::Kernel(a), Inner::Kernel(b)) => Inner::Kernel(a.merge(b)?),
            _ => return Err(different()),
        }))
    }

    /// The message as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        tagged(TAG, &self.0)
    }

    /// The message behind such bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        untagged(TAG, bytes, "a message of a partitioned fit").map(Self)
    }
}

impl Wire for Inner {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::First(look) => {
                out.push(0);
                look.put(out);
            }
            Self::Kernel(sums) => {
                out.push(1);
                sums.put(out);
            }
        }
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match from.byte()? {
            0 => Self::First(Box::new(FirstLook::get(from)?.check()?)),
            1 => Self::Kernel(KernelSums::get(from)?),
            _ => return Err(damaged("an unknown answer")),
        })
    }
}

/// Sums over the rows of one class of a binary problem, from which the certificate comes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Side {
    /// `$\sum a_i$` over rows that pull.
    pub share: f64,
    /// `$\sum -a_i \varphi^*(-s_i)$`: what the rows add to the dual.
    pub gain: f64,
    /// `$\sum a_i s_i$` with `$s_i = -\varphi'(m_i)$`.
    pub pull: f64,
    /// `$\sum -y_i a_i s_i z_i$`.
    pub pulled: Vec<f64>,
}

wire!(Side { share, gain, pull, pulled });

/// Sums over rows for Newton's step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curvature {
    /// Of order p + 1, the intercept last.
    pub matrix: Symmetric,
    /// `$\sum \frac{c_i}{h} \frac{dL_i}{df} (z_i, 1)$` over rows on the threshold.
    pub cross: Vec<f64>,
    /// `$\sum c_i / h$` over rows on the threshold.
    pub threshold: f64,
}

wire!(Curvature { matrix, cross, threshold });

/// Rows near the threshold as they are, and a model of those above it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NearRows {
    /// z, sign and weight of every near row, one after the other.
    pub rows: Vec<f64>,
    /// `$\sum c_i L_i$` of the rows above.
    pub value: f64,
    /// `$\sum c_i$` of the rows above.
    pub weight: f64,
    /// `$\sum c_i \frac{dL_i}{df} (z_i, 1)$` of the rows above.
    pub slope: Vec<f64>,
    /// `$\sum c_i \frac{d^2L_i}{df^2} (z_i, 1)(z_i, 1)^\top$` of the rows above; none where losses are straight.
    pub bend: Option<Symmetric>,
}

wire!(NearRows { rows, value, weight, slope, bend });

/// The answer to one question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sums {
    /// Smoothed losses.
    pub value: f64,
    /// The same with the width of the point before.
    pub value_before: f64,
    /// The same along the way back.
    pub back: [f64; BACKTRACK.len()],
    /// `$\sum c_i \max(0, L_i - \theta)$`: what makes the objective.
    pub primal: f64,
    /// What smoothing leaves between shares and maximum.
    pub open: f64,
    /// `$\sum a_i$` over all rows.
    pub share: f64,
    /// Rows on the threshold.
    pub band: f64,
    /// Positive rows, negative rows.
    pub sides: [Side; 2],
    pub curvature: Option<Curvature>,
    pub near: Option<NearRows>,
}

wire!(Sums { value, value_before, back, primal, open, share, band, sides, curvature, near });

/// The answer to one question about a loss that is smoothed as a whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SmoothedSums {
    /// Smoothed losses.
    pub value: f64,
    /// The same with the width of the point before.
    pub value_before: f64,
    /// The losses themselves.
    pub primal: f64,
    /// What smoothing leaves between shares and maximum.
    pub open: f64,
    /// Positive rows, negative rows; the kernels say what they gain.
    pub sides: [Side; 2],
    pub curvature: Curvature,
}

wire!(SmoothedSums { value, value_before, primal, open, sides, curvature });

impl SmoothedSums {
    /// Nothing seen yet.
    pub(super) fn empty(p: usize) -> Self {
        let side = || Side { pulled: vec![0.0; p], ..Side::default() };
        let matrix = Symmetric(Dense::zeros(p + 1, p + 1));
        Self {
            value: 0.0,
            value_before: 0.0,
            primal: 0.0,
            open: 0.0,
            sides: [side(), side()],
            curvature: Curvature { matrix, cross: vec![0.0; p + 1], threshold: 0.0 },
        }
    }

    pub(super) fn merge(mut self, next: &Self) -> Result<Self> {
        self.value += next.value;
        self.value_before += next.value_before;
        self.primal += next.primal;
        self.open += next.open;
        for (total, part) in self.sides.iter_mut().zip(&next.sides) {
            total.add(part)?;
        }
        self.curvature = self.curvature.merge(&next.curvature)?;
        Ok(self)
    }
}

pub(super) fn add(total: &mut [f64], part: &[f64]) -> Result<()> {
    if total.len() != part.len() {
        return Err(damaged("parts of different length"));
    }
    vector::axpy(1.0, part, total);
    Ok(())
}

pub(super) fn add_matrix(total: &mut Dense, part: &Dense) -> Result<()> {
    if total.nrows() != part.nrows() {
        return Err(damaged("matrices of different order"));
    }
    vector::axpy(1.0, part.data(), total.data_mut());
    Ok(())
}

/// Merges parts that both messages have, or neither.
fn both<T>(a: Option<T>, b: Option<T>, merge: impl Fn(T, T) -> Result<T>) -> Result<Option<T>> {
    match (a, b) {
        (Some(a), Some(b)) => merge(a, b).map(Some),
        (None, None) => Ok(None),
        _ => Err(damaged("answers to different questions")),
    }
}

impl Side {
    pub(super) fn add(&mut self, next: &Self) -> Result<()> {
        self.share += next.share;
        self.gain += next.gain;
        self.pull += next.pull;
        add(&mut self.pulled, &next.pulled)
    }
}

impl Curvature {
    pub(super) fn merge(mut self, next: &Self) -> Result<Self> {
        add_matrix(&mut self.matrix.0, &next.matrix.0)?;
        add(&mut self.cross, &next.cross)?;
        self.threshold += next.threshold;
        Ok(self)
    }
}

impl NearRows {
    pub(super) fn merge(mut self, next: Self) -> Result<Self> {
        self.rows.extend(next.rows);
        self.value += next.value;
        self.weight += next.weight;
        add(&mut self.slope, &next.slope)?;
        self.bend = both(self.bend, next.bend, |mut a, b| {
            add_matrix(&mut a.0, &b.0)?;
            Ok(a)
        })?;
        Ok(self)
    }
}

impl Sums {
    pub(super) fn merge(mut self, next: Self) -> Result<Self> {
        self.value += next.value;
        self.value_before += next.value_before;
        for (total, part) in self.back.iter_mut().zip(next.back) {
            *total += part;
        }
        self.primal += next.primal;
        self.open += next.open;
        self.share += next.share;
        self.band += next.band;
        for (total, part) in self.sides.iter_mut().zip(&next.sides) {
            total.add(part)?;
        }
        self.curvature = both(self.curvature, next.curvature, |a, b| a.merge(&b))?;
        self.near = both(self.near, next.near, NearRows::merge)?;
        Ok(self)
    }
}

impl Message {
    /// What the classes are called, in a message of the first look.
    pub fn class_names(&self) -> Option<&[String]> {
        match &self.0 {
            Inner::First(look) => Some(&look.names),
            Inner::Kernel(_) => None,
        }
    }

    /// Puts the classes of a first look into another order: number `order[c]` becomes number `c`.
    pub fn reorder_classes(&mut self, order: &[usize]) -> Result<()> {
        match &mut self.0 {
            Inner::First(look) => look.reorder(order),
            Inner::Kernel(_) => Err(Error::Mismatch("only the first look names classes".into())),
        }
    }
}
