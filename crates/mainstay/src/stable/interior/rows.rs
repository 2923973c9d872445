//! What the interior point asks of the rows, whatever their loss.

/// Every row's part in the Newton system; arrays go row by row, `q` numbers per row.
///
/// After eliminating all that belongs to row `$i$` alone, its multiplier moves by
/// `$\delta a = D(\varrho + r^\top \delta f - \delta\theta)$` and its `$\alpha$` by
/// `$r\,\delta a + B\,\delta f + e$`.
#[derive(Debug, Default)]
pub(super) struct Local {
    /// `$\alpha = a \nabla L$` (stationarity in `$W$` adds it up).
    pub alpha: Vec<f64>,
    /// `$r$`.
    pub slope: Vec<f64>,
    /// `$D$`.
    pub gain: Vec<f64>,
    /// `$B$`: lower triangle, row by row.
    pub curve: Vec<f64>,
    /// `$D\varrho$`.
    pub drive: Vec<f64>,
    /// `$e$`; empty where it is zero.
    pub extra: Vec<f64>,
}

impl Local {
    pub(super) fn new(n: usize, q: usize, with_extra: bool) -> Self {
        Self {
            alpha: vec![0.0; n * q],
            slope: vec![0.0; n * q],
            gain: vec![0.0; n],
            curve: vec![0.0; n * q * (q + 1) / 2],
            drive: vec![0.0; n],
            extra: if with_extra { vec![0.0; n * q] } else { Vec::new() },
        }
    }
}

/// The rows' slacks and multipliers, and how they move.
pub(super) trait Rows {
    /// Number of complementarity products.
    fn pairs(&self) -> f64;
    /// Refreshes `local` (all but `drive` and `extra`) at scores `f`.
    fn linearize(&mut self, f: &[f64], theta: f64, local: &mut Local);
    /// Sum of all complementarity products.
    fn products(&self) -> f64;
    /// `$\sum a$`.
    fn share(&self) -> f64;
    /// `$\sum c u$`.
    fn excess(&self) -> f64;
    /// Aims every product at `mu`, with the last direction's second-order term if `second`; fills
    /// `drive` and `extra`.
    fn aim(&mut self, mu: f64, second: bool, local: &mut Local);
    /// The direction of all slacks and multipliers given that of the scores and of theta.
    fn direct(&mut self, df: &[f64], dtheta: f64, local: &Local);
    /// Longest step that keeps everything positive (may be infinite).
    fn longest(&self) -> f64;
    /// [`Rows::products`] after a step.
    fn products_after(&self, step: f64) -> f64;
    /// [`Rows::products`] after a step to scores `f`, where the losses are curved; `None` where the tangent
    /// tells the truth.
    fn products_at(&self, _step: f64, _f: &[f64], _theta: f64) -> Option<f64> {
        None
    }
    /// Takes the step.
    fn advance(&mut self, step: f64);
    /// `$a$`.
    fn shares(&self) -> &[f64];
    /// Rows that may still cross the threshold; `None` where rows never leave.
    fn unsettled(&self, _f: &[f64], _theta: f64, _near: Near<'_>) -> Option<Vec<usize>> {
        None
    }
}

/// Which rows are too near to the threshold to leave.
#[derive(Debug, Clone, Copy)]
pub(super) struct Near<'a> {
    /// The barrier's parameter.
    pub mu: f64,
    /// Multiples of the last move.
    pub caution: f64,
    /// Which part of the way the last move was.
    pub fell: f64,
    /// The last direction of the scores and of theta.
    pub last: &'a (Vec<f64>, f64),
}
