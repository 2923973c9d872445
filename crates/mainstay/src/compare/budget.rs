//! How many repeats are run, and what is given up where time is short.

use super::advice::SURE;
use super::extent::{Extent, another_repeat, expected_repeats};
use super::outcome::Cell;
use super::session::Session;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::stress::{CLEAN, TOO_SLOW, Trial};

/// Cells that are known already, and who is told of new ones: those of [`crate::stress::Plan::run`].
#[derive(Clone, Copy)]
struct Ledger<'a> {
    known: &'a [Cell],
    done: &'a (dyn Fn(&[Cell]) + Sync),
}

/// The time there is, by the clock of a control.
struct Time<'a> {
    control: &'a Control,
    start: f64,
    budget: f64,
}

impl Time<'_> {
    fn spent(&self) -> Result<f64> {
        Ok(now(self.control)? - self.start)
    }
}

fn now(control: &Control) -> Result<f64> {
    control
        .now()
        .ok_or_else(|| Error::BadParams("a budget of seconds needs a control with a clock".into()))
}

impl Session {
    /// Runs repeats until `extent` is reached; finished ones count. `known` and `done` are those of
    /// [`crate::stress::Plan::run`]. If it fails the session keeps the repeats that were finished before.
    ///
    /// Under a budget levels are given up first, then methods and repeats. The first repeat runs one level of every threat to
    /// the training rows; the others follow if all levels leave time for [`SURE`] repeats, and are given up again if that was
    /// mistaken or if they make a method too slow. A method is too slow whose fits take so much of the budget that the rest could
    /// not end in time: in one of [`super::MIN_REPEATS`] repeats, half as much again as its fair share (and at least two
    /// seconds).
    pub fn run(
        &mut self,
        extent: Extent,
        known: &[Cell],
        control: &Control,
        done: &(dyn Fn(&[Cell]) + Sync),
    ) -> Result<()> {
        match extent {
            Extent::Repeats(repeats) => {
                while self.repeats < repeats {
                    self.next_repeat(repeats, known, control, done)?;
                }
                Ok(())
            }
            Extent::Seconds { budget, spent } => {
                let time = Time { control, start: now(control)? - spent, budget };
                self.set_budget(budget);
                self.run_within(&time, Ledger { known, done })
            }
        }
    }

    fn run_within(&mut self, time: &Time<'_>, ledger: Ledger<'_>) -> Result<()> {
        let Ledger { known, done } = ledger;
        let before = self.repeats;
        let all = self.plan.trials.clone();
        let whole = self.plan.fits_each() as f64;
        if before == 0 && !self.few_levels {
            self.plan.thin();
            self.few_levels = (self.plan.fits_each() as f64) < whole;
        }
        let mut more_levels = before == 0 && self.few_levels;
        loop {
            let timed = self.repeats - before;
            let expected = expected_repeats(timed, time.spent()?, time.budget);
            self.next_repeat(before + expected, known, time.control, done)?;
            let share = whole / self.plan.fits_each() as f64;
            if std::mem::take(&mut more_levels)
                && expected_repeats(1, time.spent()? * share, time.budget) >= SURE
            {
                self.add_levels(all.clone(), time, ledger)?;
            }
            let timed = timed + 1;
            let expected = expected_repeats(timed, time.spent()?, time.budget);
            if !self.few_levels && before == 0 && before + expected < SURE {
                self.give_up_levels();
            }
            if !another_repeat(timed, time.spent()?, time.budget) {
                return Ok(());
            }
        }
    }

    /// Runs the first repeat again with the levels of `trials`; cells that are there already stay. If that makes a method too
    /// slow that was not, the levels are given up again: a method is worth more than a level.
    fn add_levels(
        &mut self,
        trials: Vec<Trial>,
        time: &Time<'_>,
        Ledger { known, done }: Ledger<'_>,
    ) -> Result<()> {
        let thin = std::mem::replace(&mut self.plan.trials, trials);
        self.repeats = 0;
        let known = [known, &self.cells].concat();
        let finished = self.one_repeat(1, &known, time.control, done);
        self.repeats = 1;
        match finished {
            Ok(cells) if slow(&cells) == slow(&self.cells) => {
                (self.cells, self.few_levels) = (cells, false);
                Ok(())
            }
            other => {
                self.plan.trials = thin;
                other.map(|_| ())
            }
        }
    }

    /// Goes on with one level of every threat to the training rows, and forgets the others.
    fn give_up_levels(&mut self) {
        let before = self.plan.fits_each();
        self.plan.thin();
        if self.plan.fits_each() == before {
            return;
        }
        self.few_levels = true;
        let trials = &self.plan.trials;
        self.cells.retain(|cell| {
            let own = |t: &Trial| t.threat.name() == cell.threat && t.levels.contains(&cell.level);
            cell.threat == CLEAN || trials.iter().any(own)
        });
    }
}

/// Methods that are too slow.
fn slow(cells: &[Cell]) -> Vec<&str> {
    let mut names: Vec<&str> = cells
        .iter()
        .filter(|c| c.problem.as_deref() == Some(TOO_SLOW))
        .map(|c| c.method.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
