//! The fits of one repeat: each is run once, within its time, and judged in all its cells.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::clock::Clock;
use super::run::{Cell, Entrant, Job, Plan, TOO_SLOW, fail};
use super::scene::Scene;
use crate::control::Control;
use crate::error::{Error, Result};

/// What the fits of one repeat share.
pub(super) struct Repeat<'a> {
    pub plan: &'a Plan,
    pub scene: &'a Scene,
    pub entrants: &'a [Entrant],
    /// Time that is left to every entrant.
    pub clocks: Vec<Clock>,
    /// Cells of this repeat that were found before.
    pub known: Vec<&'a Cell>,
    pub control: &'a Control,
    /// For the fits: stops with the run, one thread each, no progress.
    pub inner: Control,
}

impl Repeat<'_> {
    /// The cell of an earlier run that `blank` stands for.
    fn stored(&self, blank: &Cell) -> Option<Cell> {
        let same = |c: &&&Cell| {
            c.method == blank.method && c.threat == blank.threat && c.level == blank.level
        };
        self.known.iter().find(same).map(|c| (*c).clone())
    }

    /// Fits once and judges the fit in all its cells; `done` is told unless they were known or the time is up.
    pub(super) fn cells(
        &self,
        job: &Job,
        repeat: usize,
        done: &(dyn Fn(&[Cell]) + Sync),
    ) -> Result<Vec<Cell>> {
        let entrant = &self.entrants[job.entrant];
        let blanks = self.plan.blanks(&entrant.name, job.damage, repeat);
        if let Some(cells) = blanks.iter().map(|blank| self.stored(blank)).collect() {
            return Ok(cells);
        }
        self.control.check()?;
        let work = |limited: &Control| {
            let estimator = entrant.estimator.as_ref();
            let cells = || self.scene.cells(estimator, job.damage, blanks.clone(), limited);
            catch_unwind(AssertUnwindSafe(cells))
        };
        let Some(found) = self.clocks[job.entrant].time(&self.inner, work) else {
            return Ok(fail(&blanks, TOO_SLOW));
        };
        let cells = match found {
            Ok(Err(Error::Interrupted)) => {
                self.control.check()?;
                return Ok(fail(&blanks, TOO_SLOW));
            }
            Ok(Ok(cells)) => cells,
            Ok(Err(error)) => fail(&blanks, &error.to_string()),
            Err(_) => fail(&blanks, "the fit stopped with an internal error; please report it"),
        };
        done(&cells);
        Ok(cells)
    }
}
