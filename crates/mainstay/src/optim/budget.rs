//! How much a fit may still spend: one object handed from stage to stage.

use crate::control::Control;
use crate::error::Result;

/// The gap to reach, the iterations left, and who may interrupt.
///
/// A fit has one budget. Each stage takes iterations from it, so that `max_iter` limits the whole
/// fit and [`Budget::spent`] is what was done, whichever stage delivered the answer.
#[derive(Debug, Clone)]
pub struct Budget<'a> {
    tol: f64,
    limit: usize,
    spent: usize,
    control: &'a Control,
}

impl<'a> Budget<'a> {
    /// A proven relative gap of `tol` within `max_iter` iterations.
    pub fn new(tol: f64, max_iter: usize, control: &'a Control) -> Self {
        Self { tol, limit: max_iter, spent: 0, control }
    }

    /// The proven relative gap to reach.
    pub fn tol(&self) -> f64 {
        self.tol
    }

    /// Iterations left.
    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.spent)
    }

    /// Iterations made so far.
    pub fn spent(&self) -> usize {
        self.spent
    }

    /// Who may interrupt, and whom to tell about progress.
    pub fn control(&self) -> &'a Control {
        self.control
    }

    /// Takes one iteration; `false` when none is left. Fails when the fit was interrupted.
    pub fn take(&mut self) -> Result<bool> {
        self.control.check()?;
        let more = self.left() > 0;
        self.spent += usize::from(more);
        Ok(more)
    }

    /// Runs a stage that may spend at most `most` of what is left and aims at the gap `tol`; what it
    /// spends is taken from this budget.
    pub fn stage<T>(
        &mut self,
        tol: f64,
        most: usize,
        run: impl FnOnce(&mut Budget<'a>) -> Result<T>,
    ) -> Result<T> {
        let mut part = Budget::new(tol, most.min(self.left()), self.control);
        let result = run(&mut part);
        self.spent += part.spent;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_share_one_limit() {
        let control = Control::new();
        let mut budget = Budget::new(1e-6, 5, &control);
        let run = |stage: &mut Budget<'_>| {
            while stage.take()? {}
            Ok(stage.spent())
        };
        assert_eq!(budget.stage(1e-3, 3, run).unwrap_or(0), 3);
        assert_eq!(budget.stage(1e-6, 100, run).unwrap_or(0), 2);
        assert_eq!((budget.spent(), budget.left()), (5, 0));
        assert!(!budget.take().unwrap_or(true));
    }

    #[test]
    fn an_interrupted_fit_takes_no_iteration() {
        let control = Control::new();
        control.cancel();
        assert!(Budget::new(1e-6, 5, &control).take().is_err());
    }
}
