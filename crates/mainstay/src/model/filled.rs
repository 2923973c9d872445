//! Rows with missing cells, completed as a model completes them.

use super::Model;
use crate::data::Standardize;
use crate::error::Result;
use crate::linalg::{Dense, Matrix};

impl Model {
    /// The rows with every missing cell (NaN) at its mean given the others, for a model that makes its own sense of such
    /// cells ([`Model::fills_cells`]); none where no cell is missing or the model does not.
    ///
    /// The score of a completed row is the mean of the scores that the row may have. [`Model::decision`] averages
    /// probabilities over these where it has some, so that it may call a row otherwise that is near the boundary.
    pub fn filled(&self, x: &Matrix) -> Result<Option<Dense>> {
        if !self.fills_cells() || x.values().iter().all(|v| !v.is_nan()) {
            return Ok(None);
        }
        self.check_width(x)?;
        let mut rows = x.to_dense();
        let completed = self.completed(&rows)?;
        for i in 0..rows.nrows() {
            let found = completed.row(i).to_vec();
            // Cells that are known keep their last digit.
            for (cell, value) in rows.row_mut(i).iter_mut().zip(found).filter(|(c, _)| c.is_nan()) {
                *cell = value;
            }
        }
        Ok(Some(rows))
    }

    fn completed(&self, rows: &Dense) -> Result<Dense> {
        match self {
            Self::GaussianLinear(model) => Ok(model.features.posterior(rows, None)?.mean),
            Self::Calibrated(outer) => outer.model.completed(rows),
            Self::Standardized(outer) => {
                let (means, scales) = (outer.means.clone(), outer.scales.clone());
                let scaling = Standardize { means, scales };
                let inner = outer.model.completed(&scaling.apply(&rows.clone().into()))?;
                Ok(Dense::from_fn(inner.nrows(), inner.ncols(), |i, j| {
                    inner[(i, j)] * outer.scales[j] + outer.means[j]
                }))
            }
            // Nothing is known of how their features hang together.
            Self::Linear(_) | Self::Kernel(_) | Self::Planes(_) => Ok(rows.clone()),
        }
    }
}
