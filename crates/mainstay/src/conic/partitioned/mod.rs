//! The linear conic-loss SVM over partitions of rows.
//!
//! Every pass brings value, slope and curvature of `$\sum c_i z_i$` at `$(w, F)$`, and the sums from which the lower bound
//! comes; `$\lambda$` is chosen when they are merged. A sample solved in memory is the start.

mod bounds;
mod descent;
mod sample;
mod task;

use self::task::ConicTask;
use super::estimator::{ConicParams, KernelKind};
use crate::error::{Error, Result};
use crate::partitioned::Task;

impl ConicParams {
    /// The fit over partitions; kernels have none.
    pub(crate) fn partitioned(self) -> Result<Box<dyn Task>> {
        if self.kernel != KernelKind::Linear {
            return Err(Error::BadParams(
                "`kernel`: a kernel matrix holds all pairs of rows and has no fit over partitions; use kernel=\"linear\", or \
                 fit a sample of the rows in memory"
                    .into(),
            ));
        }
        if self.kappa == Some(0.0) {
            return Err(Error::BadParams(
                "`kappa` = 0: the hard margin hangs on single rows and has no fit over partitions; use a small `kappa`, say \
                 0.005, or `C`"
                    .into(),
            ));
        }
        self.clone().check()?;
        Ok(Box::new(ConicTask::new(self)))
    }
}
