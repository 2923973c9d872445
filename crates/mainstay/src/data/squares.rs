//! Features whose squares leave the range of numbers.

use super::Dataset;
use crate::error::{Error, Result};
use crate::linalg::vector;

/// A larger feature value has no finite square.
const LARGEST: f64 = 1e153;
/// The square of a smaller one loses its digits, or is 0.
const SMALLEST: f64 = 1e-153;

/// Refuses features that cannot be squared, by the largest absolute value among them.
pub(crate) fn check_squares(largest: f64) -> Result<()> {
    if largest > LARGEST {
        return Err(Error::BadData(format!(
            "a feature value of {largest:.1e} has no finite square: rescale the features"
        )));
    }
    Ok(())
}

/// Refuses features whose squares vanish, by the largest absolute value of each; a feature that is 0 throughout is none.
pub(crate) fn check_small_squares(sizes: impl IntoIterator<Item = f64>) -> Result<()> {
    match sizes.into_iter().find(|size| *size > 0.0 && *size < SMALLEST) {
        Some(size) => Err(Error::BadData(format!(
            "a feature value of {size:.1e}, the largest of its feature, has no square above 0: rescale the features"
        ))),
        None => Ok(()),
    }
}

impl Dataset {
    /// As [`check_squares`], of the rows that count.
    pub(crate) fn check_squares(&self) -> Result<()> {
        let some_absent = self.weights().is_some_and(|weights| weights.contains(&0.0));
        check_squares(if some_absent {
            self.feature_sizes().into_iter().fold(0.0, f64::max)
        } else {
            vector::norm_inf(self.features().values())
        })
    }

    /// As [`check_small_squares`], of the rows that count.
    pub(crate) fn check_small_squares(&self) -> Result<()> {
        check_small_squares(self.feature_sizes())
    }

    /// The largest absolute value of every feature.
    fn feature_sizes(&self) -> Vec<f64> {
        let mut sizes = vec![0.0_f64; self.n_features()];
        for i in self.counting_rows() {
            for (j, v) in self.features().row(i).entries() {
                sizes[j] = sizes[j].max(v.abs());
            }
        }
        sizes
    }
}
