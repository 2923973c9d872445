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
