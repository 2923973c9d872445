use crate::control::Control;

/// What a solver found, in the units of [`super::frame::Frame`].
#[derive(Debug, Clone)]
pub(super) struct Solution {
    pub v: Vec<f64>,
    pub b: f64,
    /// Candidate dual of every row.
    pub duals: Vec<f64>,
    pub n_iter: usize,
    /// Where to start from in the row space, if it was solved there.
    pub inner: Option<Vec<f64>>,
}

impl Solution {
    pub(super) fn new(v: Vec<f64>, b: f64, duals: Vec<f64>, n_iter: usize) -> Self {
        Self { v, b, duals, n_iter, inner: None }
    }
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget<'a> {
    /// Relative gap to aim for.
    pub tol: f64,
    pub max_iter: usize,
    pub control: &'a Control,
}

impl Budget<'_> {
    /// The absolute gap that is small enough at objective `value`, with room for the repairs of
    /// the certificate.
    pub(super) fn target(&self, value: f64) -> f64 {
        0.2 * self.tol * value.abs().max(1.0)
    }
}
