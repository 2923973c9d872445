use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::control::Control;

/// The time that the fits of one method have taken, of what they may take.
pub(crate) struct Clock {
    limit: Option<Duration>,
    spent: Mutex<Duration>,
}

impl Clock {
    pub(crate) fn new(seconds: Option<f64>) -> Self {
        let limit = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
        Self { limit, spent: Mutex::default() }
    }

    /// A control that stops the next fit when the time is over; none if it already is.
    pub(crate) fn start(&self, control: &Control) -> Option<Control> {
        let Some(limit) = self.limit else { return Some(control.clone()) };
        let spent = self.spent.lock().map_or(Duration::ZERO, |spent| *spent);
        let left = limit.checked_sub(spent).filter(|left| !left.is_zero())?;
        // A limit beyond the range of clocks is none.
        Some(Instant::now().checked_add(left).map_or_else(|| control.clone(), |t| control.until(t)))
    }

    pub(crate) fn stop(&self, started: Instant) {
        if let Ok(mut spent) = self.spent.lock() {
            *spent += started.elapsed();
        }
    }
}
