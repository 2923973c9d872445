//! The conic paper's data sets.

use mainstay::data::{self, Dataset, Outliers};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert;
use crate::run::to_python;

pub(crate) type Rows<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<i64>>);

pub(crate) fn rows(py: Python<'_>, data: mainstay::Result<Dataset>) -> PyResult<Rows<'_>> {
    let data = data.map_err(|e| to_python(&e))?;
    #[expect(clippy::cast_possible_wrap, reason = "class indices are small")]
    let labels = data.labels().iter().map(|&label| label as i64);
    Ok((convert::array2(py, &data.features().to_dense())?, PyArray1::from_iter(py, labels)))
}

/// Two normal classes with outliers; `kind` is "none", "clustered" or "spread".
#[pyfunction]
pub(crate) fn make_outliers<'py>(
    py: Python<'py>,
    n: usize,
    p: usize,
    sigma: f64,
    kind: &str,
    fraction: f64,
    seed: u64,
) -> PyResult<Rows<'py>> {
    let kind = match kind {
        "none" => Outliers::None,
        "clustered" => Outliers::Clustered,
        "spread" => Outliers::Spread,
        other => {
            return Err(PyValueError::new_err(format!(
                "`kind` = {other:?}: must be \"none\", \"clustered\" or \"spread\""
            )));
        }
    };
    rows(py, data::make_outliers(n, p, sigma, kind, fraction, seed))
}

/// Separable rows with a share `tau` of the labels flipped.
#[pyfunction]
pub(crate) fn make_label_noise(
    py: Python<'_>,
    n: usize,
    p: usize,
    tau: f64,
    seed: u64,
) -> PyResult<Rows<'_>> {
    rows(py, data::make_label_noise(n, p, tau, seed))
}
