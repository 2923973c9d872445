//! How many repeats there are, and how large they may be.

/// Fewest repeats that give intervals.
pub const MIN_REPEATS: usize = 2;
/// More repeats hardly narrow the intervals: the rows stay the same.
pub const MAX_REPEATS: usize = 20;

/// Repeats that the progress expects until the first one has been timed.
const GUESS: usize = 8;

/// Rows of a training set with `p` features, at most: the more features the fewer, so that hundreds of fits take
/// about a minute.
pub fn usual_rows(p: usize) -> usize {
    (30_000 / p.max(1)).clamp(200, 1000)
}

/// Whether there is time for one more repeat, `done` of them having taken `elapsed` of `budget` seconds: as long
/// as one of the same mean length, and what follows the last one (less than a repeat), end within the budget. At least
/// [`MIN_REPEATS`], at most [`MAX_REPEATS`] are run.
pub fn another_repeat(done: usize, elapsed: f64, budget: f64) -> bool {
    let each = elapsed / done.max(1) as f64;
    done < MIN_REPEATS || (done < MAX_REPEATS && elapsed + 2.0 * each <= budget)
}

/// How many repeats there will be in all if all take as long as the `done` so far, which took `elapsed` seconds.
pub(super) fn expected_repeats(done: usize, elapsed: f64, budget: f64) -> usize {
    if done == 0 {
        return GUESS;
    }
    let each = elapsed / done as f64;
    let last = (done..MAX_REPEATS).find(|&k| !another_repeat(k, each * k as f64, budget));
    last.unwrap_or(MAX_REPEATS).max(MIN_REPEATS)
}

/// When a comparison has repeats enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Extent {
    /// After this many repeats.
    Repeats(usize),
    /// When another one would not end within so many seconds of the control's clock, of which `spent` are over
    /// already. Methods too slow for that are left out: see [`super::Session::run`].
    Seconds {
        /// The budget.
        budget: f64,
        /// What reading and preparing took of it.
        spent: f64,
    },
}
