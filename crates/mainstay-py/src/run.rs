//! Work off the interpreter's lock, with Ctrl-C and progress looked at from outside.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use mainstay::{Control, Error};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::words;

/// How often signals and progress are looked at.
const POLL: Duration = Duration::from_millis(50);
/// How long cancelled work may take to notice; then it is left behind to end by itself.
const GRACE: Duration = Duration::from_millis(700);

/// The Python exception for a library error: every one of them is about the call or the data.
pub(crate) fn to_python(error: &Error) -> PyErr {
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::Memory(text) => PyMemoryError::new_err(text.clone()),
        other => PyValueError::new_err(words::python(&other.to_string())),
    }
}

/// The number of threads behind scikit-learn's `n_jobs`: none means 1, -1 every core, -2 all but one.
pub(crate) fn threads(n_jobs: Option<i64>) -> PyResult<usize> {
    match n_jobs {
        None => Ok(1),
        Some(0) => {
            Err(PyValueError::new_err("`n_jobs` = 0: must be positive, or -1 for all cores"))
        }
        Some(n) => {
            let size = usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
            if n > 0 {
                return Ok(size.min(256));
            }
            // To ask for them reads files of the system.
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            Ok((cores + 1).saturating_sub(size).max(1))
        }
    }
}

/// A control with a clock and the memory there is; progress (done, total) is stored in `seen`.
fn controlled(seen: Option<Arc<[AtomicU64; 2]>>) -> Control {
    let start = Instant::now();
    let mut control = Control::new()
        .with_clock(move || start.elapsed().as_secs_f64())
        .with_free_memory(mainstay_io::available_memory);
    if let Some(bytes) = mainstay_io::stated_memory() {
        control = control.with_memory(bytes);
    }
    let Some(seen) = seen else { return control };
    control.with_progress(move |done, total| {
        seen[0].store(done, Ordering::Relaxed);
        seen[1].store(total, Ordering::Relaxed);
    })
}

/// Runs `work` on a thread pool of its own with the interpreter's lock released, while the calling
/// thread looks for signals and hands `progress(done, total)` to Python.
///
/// The pool lives as long as the call. A pool that outlived it would be dead in a forked child and
/// would make concurrent fits of one process wait for each other.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Control) -> mainstay::Result<T> + Send + 'static,
) -> PyResult<T> {
    // Long because starting, waiting, reporting and stopping share the channel.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| PyRuntimeError::new_err(format!("cannot start {threads} threads: {e}")))?;
    let seen = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let control = controlled(progress.is_some().then(|| Arc::clone(&seen)));
    let (sender, mut receiver) = mpsc::channel();
    let inner = control.clone();
    pool.spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&inner)));
        // Nobody listens any more if the call was interrupted.
        let _ = sender.send(outcome);
    });
    let mut shown = (0, 0);
    loop {
        let received;
        (received, receiver) = py.detach(move || (receiver.recv_timeout(POLL), receiver));
        let now = (seen[0].load(Ordering::Relaxed), seen[1].load(Ordering::Relaxed));
        match received {
            Ok(Ok(result)) => {
                report(progress, shown, now)?;
                return result.map_err(|e| to_python(&e));
            }
            Ok(Err(panic)) => return Err(bug(panic.as_ref())),
            Err(RecvTimeoutError::Disconnected) => return Err(bug(&"the work vanished")),
            // The only exit on which the work goes on: it is told to stop and given a moment.
            Err(RecvTimeoutError::Timeout) => {
                let told = py.check_signals().and_then(|()| report(progress, shown, now));
                if let Err(error) = told.and_then(|()| main_thread_interrupted(py)) {
                    control.cancel();
                    py.detach(move || {
                        let _ = receiver.recv_timeout(GRACE);
                    });
                    return Err(error);
                }
                shown = now;
            }
        }
    }
}

fn report(progress: Option<&Bound<'_, PyAny>>, shown: (u64, u64), now: (u64, u64)) -> PyResult<()> {
    match progress {
        Some(callback) if now != shown => callback.call1(now).map(|_| ()),
        _ => Ok(()),
    }
}

/// Signals reach the main thread only. A fit in another thread would keep the process alive after
/// Ctrl-C ended the main thread, so it looks whether that is what happened.
fn main_thread_interrupted(py: Python<'_>) -> PyResult<()> {
    let main = py.import("threading")?.call_method0("main_thread")?;
    if main.call_method0("is_alive")?.extract()? {
        return Ok(());
    }
    let last = py.import("sys")?.getattr_opt("last_type")?;
    match last {
        Some(kind) if kind.is(py.get_type::<PyKeyboardInterrupt>()) => {
            Err(PyKeyboardInterrupt::new_err(()))
        }
        _ => Ok(()),
    }
}

fn bug(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    PyRuntimeError::new_err(format!("internal error, please report it: {text}"))
}
