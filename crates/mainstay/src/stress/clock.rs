//! The time that the fits of one method may take.

use std::sync::Mutex;

use crate::control::Control;

/// The seconds that the fits of one method have taken, of what they may take.
pub(crate) struct Clock {
    limit: Option<f64>,
    spent: Mutex<f64>,
}

impl Clock {
    pub(crate) fn new(limit: Option<f64>) -> Self {
        Self { limit, spent: Mutex::default() }
    }

    /// Runs the next fit with a control that stops it when the time is over; none if it already is.
    pub(crate) fn time<T>(&self, control: &Control, fit: impl FnOnce(&Control) -> T) -> Option<T> {
        let (Some(limit), Some(start)) = (self.limit, control.now()) else {
            return Some(fit(control));
        };
        let left = limit - self.spent.lock().map_or(0.0, |spent| *spent);
        let found = (left > 0.0).then(|| fit(&control.until(start + left)))?;
        if let (Ok(mut spent), Some(end)) = (self.spent.lock(), control.now()) {
            *spent += end - start;
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A clock that every fit moves on by `seconds`.
    fn fits_within(limit: Option<f64>, seconds: u64) -> usize {
        let now = Arc::new(AtomicU64::new(0));
        let shown = Arc::clone(&now);
        let control = Control::new().with_clock(move || shown.load(Ordering::Relaxed) as f64);
        let clock = Clock::new(limit);
        let fit = |_: &Control| now.fetch_add(seconds, Ordering::Relaxed);
        (0..10).filter(|_| clock.time(&control, fit).is_some()).count()
    }

    #[test]
    fn fits_run_until_the_time_of_their_method_is_spent() {
        assert_eq!(fits_within(Some(7.0), 2), 4);
        assert_eq!(fits_within(Some(0.0), 2), 0);
    }

    #[test]
    fn without_a_limit_or_a_clock_every_fit_runs() {
        assert_eq!(fits_within(None, 2), 10);
        let clock = Clock::new(Some(0.0));
        assert_eq!(clock.time(&Control::new(), |_| 5), Some(5));
    }
}
