//! Decoders of others that panic on damaged files: their panic is caught and is not printed.

use std::cell::Cell;
#[cfg(any(feature = "parquet", feature = "spreadsheet"))]
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What `work` returns; `None` if it panicked.
#[cfg(any(feature = "parquet", feature = "spreadsheet"))]
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    GUARDED.with(|flag| flag.set(true));
    let found = catch_unwind(AssertUnwindSafe(work)).ok();
    GUARDED.with(|flag| flag.set(false));
    found
}

/// Whether a panic of this thread, now, will be caught and told as a damaged file: a panic hook should keep quiet.
pub fn panics_are_caught() -> bool {
    GUARDED.with(Cell::get)
}
