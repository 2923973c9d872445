//! What the driver asks of every partition.

use super::first_look::FirstLook;
use super::kernels::KernelAsk;
use super::message::{Inner as Said, Message};
use super::wire::{Reader, Wire, damaged, tagged, untagged, wire};
use crate::error::Result;
use crate::loss::Loss;

/// Tag and version of an ask.
const TAG: [u8; 8] = *b"msask\0\0\x04";
/// Rows of the sample, and most numbers in it.
const SAMPLE_ROWS: usize = 20_000;
const SAMPLE_NUMBERS: usize = 8_000_000;
/// Rows that are drawn, on average, where it is known how many there are: so many more than wanted that there are never too few.
const DRAWN_ROWS: u64 = 24_000;

/// One question to all partitions; the answers are merged into one [`Message`](super::Message).
#[derive(Debug, Clone, PartialEq)]
pub struct Ask(pub(super) Inner);

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Inner {
    /// Classes, counts, moments, finiteness, and a sample of at most so many bytes and rows.
    First(FirstAsk),
    /// What a kernel knows to answer.
    Kernel(KernelAsk),
}

/// Size of the sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FirstAsk {
    /// Most rows.
    pub sample_rows: usize,
    /// Most numbers in them.
    pub sample_numbers: usize,
    /// Rows with a larger draw are left out: others are known, or expected, to be enough. The sample of all rows is the
    /// same for every limit that leaves enough of them.
    pub limit: u64,
}

wire!(FirstAsk { sample_rows, sample_numbers, limit });

impl FirstAsk {
    /// The first ask where about so many rows are expected; none where nothing is known.
    pub(super) fn expecting(rows: Option<usize>) -> Self {
        let rows = rows.map_or(0, |n| n as u64);
        let limit = if rows > DRAWN_ROWS { u64::MAX / rows * DRAWN_ROWS } else { u64::MAX };
        Self { sample_rows: SAMPLE_ROWS, sample_numbers: SAMPLE_NUMBERS, limit }
    }

    /// Whether the limit left a sample of all rows with too few of them.
    pub(super) fn fell_short(&self, look: &FirstLook) -> bool {
        self.limit < u64::MAX && look.sample.len() < look.sample_rows.min(look.rows())
    }
}

/// All that one pass must bring.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PassAsk {
    /// `$t_j$`: a row is seen as `$z_j = (x_j - m_j) t_j$`.
    pub factors: Vec<f64>,
    /// `$m_j$`; empty where nothing is subtracted.
    pub means: Vec<f64>,
    /// Factor on the weight of every row of a class.
    pub class_factors: Vec<f64>,
    /// One row in so many, chosen by its place, tells the curvature of losses without a threshold; 1 is all rows.
    pub thin: u64,
    /// One for every binary problem that is still open.
    pub questions: Vec<Question>,
}

wire!(PassAsk { factors, means, class_factors, thin, questions });

/// A point of one binary problem, in solver units.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Point {
    /// Weight of every column of z.
    pub v: Vec<f64>,
    /// Intercept.
    pub b: f64,
    /// Threshold of the worst rows; 0 where all rows count.
    pub theta: f64,
}

wire!(Point { v, b, theta });

impl Point {
    /// The point `length` times `step` further on; the threshold stays at zero or above.
    pub(super) fn moved(&self, step: &Self, length: f64) -> Self {
        let v = self.v.iter().zip(&step.v).map(|(v, d)| v + length * d).collect();
        let theta = (self.theta + length * step.theta).max(0.0);
        Self { v, b: self.b + length * step.b, theta }
    }
}

/// The last step, along which values are wanted too: a step that was too long then costs no search.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Backtrack {
    /// From the point before to this one.
    pub step: Point,
    /// Width of the smoothing at the point before.
    pub width: f64,
}

wire!(Backtrack { step, width });

/// Parts of the last step by which values are wanted back from the present point.
pub(super) const BACKTRACK: [f64; 4] = [0.5, 0.75, 0.9, 0.97];

/// One binary problem at one point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    /// Rows of this class are positive, all others negative.
    pub positive: usize,
    /// The loss.
    pub loss: Loss,
    /// Which rows count.
    pub counting: Counting,
    /// Where.
    pub point: Point,
    /// Width `$h$` of the smoothing.
    pub width: f64,
    /// Values along the way back.
    pub back: Option<Backtrack>,
    /// Rows whose loss is this near the threshold are sent as they are, instead of a curvature.
    pub near: Option<f64>,
}

wire!(Question { positive, loss, counting, point, width, back, near });

/// How much of its weight a row counts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counting {
    /// Every row in full; the loss is smooth.
    All,
    /// Rows with a loss above the threshold, smoothed over the width.
    Above,
    /// Rows with a loss, in full: the threshold is zero and the loss smooth there.
    Positive,
}

impl Wire for Counting {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(match self {
            Self::All => 0,
            Self::Above => 1,
            Self::Positive => 2,
        });
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match from.byte()? {
            0 => Self::All,
            1 => Self::Above,
            2 => Self::Positive,
            _ => return Err(damaged("an unknown way of counting")),
        })
    }
}

impl Wire for Loss {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(match self {
            Self::Logistic => 0,
            Self::Hinge => 1,
            Self::SquaredHinge => 2,
            Self::ModifiedHuber => 3,
        });
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match from.byte()? {
            0 => Self::Logistic,
            1 => Self::Hinge,
            2 => Self::SquaredHinge,
            3 => Self::ModifiedHuber,
            _ => return Err(damaged("an unknown loss")),
        })
    }
}

impl Wire for Inner {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::First(ask) => {
                out.push(0);
                ask.put(out);
            }
            Self::Kernel(ask) => {
                out.push(1);
                ask.put(out);
            }
        }
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match from.byte()? {
            0 => Self::First(FirstAsk::get(from)?),
            1 => Self::Kernel(KernelAsk::get(from)?),
            _ => return Err(damaged("an unknown question")),
        })
    }
}

impl Ask {
    /// The ask as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        tagged(TAG, &self.0)
    }

    /// Whether every partition needs the answer of the one before it: nothing is merged then.
    pub fn in_sequence(&self) -> bool {
        matches!(&self.0, Inner::Kernel(ask) if ask.in_sequence())
    }

    /// What the partition behind the one that answered is asked; the same unless they follow each other.
    #[must_use]
    pub fn after(&self, answer: &Message) -> Self {
        match (&self.0, &answer.0) {
            (Inner::Kernel(ask), Said::Kernel(sums)) => Self(Inner::Kernel(ask.after(sums))),
            _ => self.clone(),
        }
    }

    /// The same for partitions whose rows with a larger draw than `limit` cannot be in the sample any more; none where that
    /// changes nothing.
    pub(super) fn within(&self, limit: u64) -> Option<Self> {
        match &self.0 {
            Inner::First(ask) if limit < ask.limit => {
                Some(Self(Inner::First(FirstAsk { limit, ..ask.clone() })))
            }
            _ => None,
        }
    }

    /// The ask behind such bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        untagged(TAG, bytes, "an ask of a partitioned fit").map(Self)
    }
}
