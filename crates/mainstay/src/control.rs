//! What a running fit may be told from outside: stop, how many threads, whom to tell about progress.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

type Progress = dyn Fn(u64, u64) + Send + Sync;
type Clock = dyn Fn() -> f64 + Send + Sync;
type FreeMemory = dyn Fn() -> Option<u64> + Send + Sync;

/// Bytes below which nobody is asked how many are free: a process that runs has them, and to ask takes as long as a small
/// part of a fit.
const ASKED_FROM: f64 = 1e7;

/// Cancellation, thread count and progress of a long computation. Cheap to clone.
#[derive(Clone, Default)]
pub struct Control {
    cancelled: Arc<AtomicBool>,
    progress: Option<Arc<Progress>>,
    threads: usize,
    clock: Option<Arc<Clock>>,
    deadline: Option<f64>,
    memory: Option<u64>,
    free_memory: Option<Arc<FreeMemory>>,
    proof: bool,
    remedies: bool,
    known: Option<Arc<BTreeMap<String, f64>>>,
}

impl Control {
    /// Runs to the end on all cores, silently.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses `threads` threads; 0 means one per core. Results do not depend on it.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Calls `report(done, total)` as work proceeds.
    #[must_use]
    pub fn with_progress(mut self, report: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(report));
        self
    }

    /// The same without the listener: for the parts of a computation that reports as a whole.
    #[must_use]
    pub fn without_progress(&self) -> Self {
        Self { progress: None, ..self.clone() }
    }

    /// Gives the computation a clock in seconds, without which it knows no time limits. The library itself never
    /// looks at the time.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Tells the computation how many bytes of memory it may take, without which it knows no limit. The library itself
    /// asks the system nothing.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Lets the computation ask for the bytes that are free, which it does before it takes more than some ten million.
    #[must_use]
    pub fn with_free_memory(
        mut self,
        ask: impl Fn() -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        self.free_memory = Some(Arc::new(ask));
        self
    }

    /// Asks fits to keep the dual points behind their certificates, which take as much memory as a few columns of the
    /// rows, or as the rows themselves (`missing-lp`).
    #[must_use]
    pub fn with_proof(mut self, wanted: bool) -> Self {
        self.proof = wanted;
        self
    }

    /// Whether dual points are to be kept.
    pub(crate) fn wants_proof(&self) -> bool {
        self.proof
    }

    /// Asks a fit that turns out constant to try what might help before it names a remedy: a few more fits.
    #[must_use]
    pub fn with_checked_remedies(mut self, wanted: bool) -> Self {
        self.remedies = wanted;
        self
    }

    /// Whether remedies are to be tried.
    pub(crate) fn tries_remedies(&self) -> bool {
        self.remedies
    }

    /// Tells fits that choose by cross-validation what a fit to similar data chose, by the names of the parameters: they look near it
    /// first, and on from there while the edge of what they looked at wins. Nothing known: they look everywhere.
    #[must_use]
    pub fn near(&self, known: BTreeMap<String, f64>) -> Self {
        Self { known: (!known.is_empty()).then(|| Arc::new(known)), ..self.clone() }
    }

    /// What a fit to similar data chose for the parameter `name`, where that is known.
    pub(crate) fn known(&self, name: &str) -> Option<f64> {
        self.known.as_ref()?.get(name).copied()
    }

    /// All that a fit to similar data chose.
    pub(crate) fn all_known(&self) -> impl Iterator<Item = (&String, &f64)> {
        self.known.iter().flat_map(|known| known.iter())
    }

    /// An error if `what` takes more bytes than there are.
    pub(crate) fn afford(&self, bytes: f64, what: &str) -> Result<()> {
        let ask = self.free_memory.as_ref().filter(|_| bytes > ASKED_FROM);
        let free = ask.and_then(|ask| ask());
        match self.memory.into_iter().chain(free).min() {
            Some(limit) if bytes > limit as f64 => Err(Error::Memory(format!(
                "{what} would take {:.1} GB of memory, but {:.1} GB are free",
                bytes / 1e9,
                limit as f64 / 1e9
            ))),
            _ => Ok(()),
        }
    }

    /// Seconds on the clock, if there is one.
    pub(crate) fn now(&self) -> Option<f64> {
        self.clock.as_ref().map(|clock| clock())
    }

    /// The same, but the computation also stops once the clock shows more than `deadline`.
    #[must_use]
    pub(crate) fn until(&self, deadline: f64) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// Asks the computation to stop; it ends with [`Error::Interrupted`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Solvers call this at least every few milliseconds of work.
    pub fn check(&self) -> Result<()> {
        let late = |deadline: f64| self.now().is_some_and(|now| now > deadline);
        if self.cancelled.load(Ordering::Relaxed) || self.deadline.is_some_and(late) {
            return Err(Error::Interrupted);
        }
        Ok(())
    }

    /// Tells the listener, if any, that `done` of `total` units of work are finished.
    pub fn progress(&self, done: u64, total: u64) {
        if let Some(report) = &self.progress {
            report(done, total);
        }
    }

    /// Number of threads that [`Control::install`] makes use of.
    pub fn n_threads(&self) -> usize {
        if self.threads == 0 { rayon::current_num_threads() } else { self.threads }
    }

    /// Runs `work` where rayon's parallel iterators use this control's number of threads.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        if self.threads == 0 {
            return work();
        }
        match rayon::ThreadPoolBuilder::new().num_threads(self.threads).build() {
            Ok(pool) => pool.install(work),
            // Too few resources for a pool of our own: the shared one gives the same result.
            Err(_) => work(),
        }
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("threads", &self.threads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_memory_is_asked_for_only_where_much_is_wanted() {
        let asked = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&asked);
        let control = Control::new().with_free_memory(move || {
            seen.store(true, Ordering::Relaxed);
            Some(5)
        });
        assert!(control.afford(1e6, "a vector").is_ok());
        assert!(!asked.load(Ordering::Relaxed));
        assert!(control.afford(1e8, "a matrix").is_err());
        assert!(control.with_memory(10).afford(1e6, "a vector").is_err());
    }
}
