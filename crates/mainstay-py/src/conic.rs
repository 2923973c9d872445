//! What the conic SVM needs beside `fit`: whole paths, and the paper's data sets.

use mainstay::conic::ConicParams;
use mainstay::data::{self, Dataset, Outliers};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert;
use crate::fitted::Fitted;
use crate::run::{run, threads, to_python};

/// One fit of the conic SVM for every kappa, in the order given, warm-started.
#[pyfunction]
#[pyo3(signature = (params, kappas, x, y, n_classes, *, sample_weight=None, n_jobs=None, progress=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the arguments of a Python function, as PyO3 hands them over"
)]
pub(crate) fn conic_path(
    py: Python<'_>,
    params: &Bound<'_, PyDict>,
    kappas: Vec<f64>,
    x: &Bound<'_, PyAny>,
    y: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    n_jobs: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Fitted>> {
    let params = convert::dict_to_json(params)?;
    let estimator = mainstay::methods::parse::<ConicParams>(&params)
        .and_then(ConicParams::check)
        .map_err(|e| to_python(&e))?;
    let given = crate::Rows::new(x, &y, n_classes, sample_weight.as_ref(), None)?;
    let fits = run(py, threads(n_jobs)?, progress, move |control| {
        estimator.path(&given.dataset()?, &kappas, control)
    })?;
    Ok(fits.into_iter().map(Fitted::new).collect())
}

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
