//! Where a fit is, in a few numbers per column: what lets it go on after a crash.

use super::continuation::Place;
use super::first_look::fingerprint;
use super::wire::{tagged, untagged, wire};
use crate::error::{Error, Result};

/// Tag and version of a checkpoint.
const TAG: [u8; 8] = *b"mschk\0\0\x01";

/// Points and widths of all binary problems, and what tells problem and data from others.
///
/// Bounds are not kept: the first pass after a restart proves them anew.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checkpoint {
    problem: u64,
    data: u64,
    places: Vec<Place>,
}

wire!(Checkpoint { problem, data, places });

impl Checkpoint {
    pub(super) fn new(identity: &str, data: u64, places: Vec<Place>) -> Self {
        Self { problem: fingerprint(identity.as_bytes()), data, places }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        tagged(TAG, self)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        untagged(TAG, bytes, "a checkpoint of a partitioned fit")
    }

    /// An error if it was left by a fit of another problem.
    pub(super) fn check_problem(&self, identity: &str) -> Result<()> {
        if self.problem == fingerprint(identity.as_bytes()) {
            return Ok(());
        }
        Err(Error::Mismatch(
            "the checkpoint was left by a fit of another method or with other parameters; remove it or name another file"
                .into(),
        ))
    }

    /// Where to go on, if it was left by a fit of these data.
    pub(super) fn places(&self, data: u64, columns: usize) -> Result<Vec<Place>> {
        let fits = self.places.iter().all(|p| {
            p.point.v.len() == columns
                && p.width > 0.0
                && p.width.is_finite()
                && p.point.theta >= 0.0
                && p.point.v.iter().chain([&p.point.b, &p.point.theta]).all(|v| v.is_finite())
        });
        if self.data == data && fits {
            return Ok(self.places.clone());
        }
        Err(Error::Mismatch(
            "the checkpoint was left by a fit of other data (their rows, classes, means or deviations differ); remove it \
             or name another file"
                .into(),
        ))
    }
}
