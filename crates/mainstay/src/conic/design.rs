//! From the user's features to solver units and back.

use crate::error::Result;
use crate::linalg::{Dense, Matrix, vector};
use crate::optim::design::{RowSpace, finite_model, power_of_two};

/// Squared column scales below this part of the largest damp no less than this.
const LEAST_DAMPING: f64 = 1e-12;

/// The rows the solver works on: the user's, with the constant feature, divided by one power of two.
///
/// With `$x = \sigma \tilde x$` the problem in `$\tilde w = \sigma w$` is the same one with the objective and `$\lambda$`
/// multiplied by `$\sigma^2$`, so a common scale changes nothing but the range of the numbers. Scaling the
/// columns one by one would change the problem (the trace norm is in the user's units); their
/// scales are only used as the metric in which a Newton step is damped. More features than rows:
/// the optimum lies in the row space, so the rows are replaced by coordinates in it.
#[derive(Debug, Clone)]
pub(super) struct Design {
    /// Rows in solver coordinates, n x min(n, p + 1).
    pub x: Dense,
    /// Rows divided by `unit`, in the user's coordinates (constant last); absent when `x` is already that.
    wide: Option<Wide>,
    /// Squared column scales of `x`, at most 1.
    pub damping: Vec<f64>,
    /// `$\sigma$`.
    pub unit: f64,
    intercept: bool,
}

#[derive(Debug, Clone)]
struct Wide {
    rows: Dense,
    space: RowSpace,
}

impl Design {
    /// Adds the constant feature if `intercept`, scales, and reduces to the row space if that is smaller.
    pub(super) fn new(features: &Matrix, intercept: bool) -> Self {
        let (n, p) = (features.nrows(), features.ncols());
        let width = p + usize::from(intercept);
        let mut data = Vec::with_capacity(n * width);
        for row in features.rows() {
            let first = data.len();
            data.resize(first + width, 0.0);
            for (j, v) in row.entries() {
                data[first + j] = v;
            }
            if intercept {
                data[first + p] = 1.0;
            }
        }
        let unit = power_of_two(vector::norm_inf(&data));
        for v in &mut data {
            *v /= unit;
        }
        Self::scaled(Dense::from_rows(n, width, data), unit, intercept)
    }

    /// Coordinates that are already in solver units (a factor of a kernel matrix).
    pub(super) fn from_coordinates(mut x: Dense) -> Self {
        let unit = power_of_two(x.max_abs());
        vector::scale(x.data_mut(), 1.0 / unit);
        Self::scaled(x, unit, false)
    }

    fn scaled(rows: Dense, unit: f64, intercept: bool) -> Self {
        let (x, wide) = if rows.ncols() > rows.nrows() {
            let space = RowSpace::new(&rows);
            (space.coordinates.clone(), Some(Wide { rows, space }))
        } else {
            (rows, None)
        };
        let mut damping = vec![0.0; x.ncols()];
        for i in 0..x.nrows() {
            for (d, v) in damping.iter_mut().zip(x.row(i)) {
                *d = f64::max(*d, v * v);
            }
        }
        for d in &mut damping {
            *d = d.clamp(LEAST_DAMPING, 1.0);
        }
        Self { x, wide, damping, unit, intercept }
    }

    /// Whether the coordinates are the features, up to the unit.
    pub(super) fn is_narrow(&self) -> bool {
        self.wide.is_none()
    }

    /// Rows divided by `unit`, in the user's coordinates.
    pub(super) fn user_rows(&self) -> &Dense {
        self.wide.as_ref().map_or(&self.x, |w| &w.rows)
    }

    /// Solver coordinates of a vector as coordinates of `user_rows`.
    pub(super) fn lift(&self, v: &[f64]) -> Vec<f64> {
        self.wide.as_ref().map_or_else(|| v.to_vec(), |wide| wide.space.lift(v))
    }

    /// Weights and intercept in the user's units, from coordinates of `user_rows`.
    pub(super) fn model(&self, v: &[f64]) -> Result<(Vec<f64>, f64)> {
        let mut w: Vec<f64> = v.iter().map(|v| v / self.unit).collect();
        let intercept = if self.intercept { w.pop().unwrap_or(0.0) } else { 0.0 };
        finite_model(w, intercept)
    }
}
