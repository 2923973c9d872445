//! How much coefficients move: the two questions `coefficient_stability` asks.

use numpy::{PyReadonlyArray1, PyReadonlyArray3};
use pyo3::prelude::*;

use crate::class_indices;
use crate::run::to_python;

/// Rows of one random subset for each of `fractions`, a share of every class.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
pub(crate) fn subsets(
    y: PyReadonlyArray1<'_, i64>,
    fractions: Vec<f64>,
    seed: u64,
) -> PyResult<Vec<Vec<usize>>> {
    let labels = class_indices(&y)?;
    mainstay::stable::subsets(&labels, &fractions, seed).map_err(|e| to_python(&e))
}

/// (absolute, relative) spread of coefficients of shape (fits, hyperplanes, features).
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
pub(crate) fn sigma_bar(coefficients: PyReadonlyArray3<'_, f64>) -> PyResult<(f64, f64)> {
    let fits: Vec<Vec<Vec<f64>>> = coefficients
        .as_array()
        .outer_iter()
        .map(|fit| fit.outer_iter().map(|row| row.to_vec()).collect())
        .collect();
    let found = mainstay::stable::sigma_bar(&fits).map_err(|e| to_python(&e))?;
    Ok((found.absolute, found.relative))
}
