//! The attack: hostile problems for every method, damaged files and killed processes for the command line.
//!
//! Each area takes a seed and goes on for as long as it is told to. A failure names the seed it came from and the
//! smallest case that it could be shrunk to. `cargo xtask attack` runs all areas; short runs are part of the tests.

pub mod files;
pub mod mutation;
pub mod problems;
pub mod processes;

use std::time::{Duration, Instant};

/// What an area was put to, and what it did not withstand.
#[derive(Debug, Default)]
pub struct Tally {
    /// Cases tried.
    pub tries: u64,
    /// Seed and smallest case of every failure.
    pub failures: Vec<String>,
    /// What else was counted.
    pub notes: Vec<String>,
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    begun: Instant,
    time: Duration,
    tries: u64,
}

impl Limit {
    /// After this long.
    pub fn time(time: Duration) -> Self {
        Self { begun: Instant::now(), time, tries: u64::MAX }
    }

    /// After this many tries: a run that is the same on every machine.
    pub fn tries(tries: u64) -> Self {
        Self { begun: Instant::now(), time: Duration::MAX, tries }
    }

    /// Whether the area should go on.
    pub fn allows(&self, tally: &Tally) -> bool {
        tally.tries < self.tries && self.begun.elapsed() < self.time && tally.failures.len() < 20
    }
}
