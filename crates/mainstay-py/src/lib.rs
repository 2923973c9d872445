//! The module `mainstay._core`: convert, release the interpreter's lock, call, convert back.
//!
//! Every method goes through `mainstay::methods` by name, so a new one needs no code here.

mod conic;
mod convert;
mod files;
mod fitted;
mod missing;
mod run;
mod stability;

use mainstay::data::Dataset;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use fitted::Fitted;
use run::{run, threads, to_python};

/// Fits the method called `method` to the rows of `x`.
///
/// `params` are the public parameters by name, checked here; `y` holds class indices
/// `0..n_classes`. `n_jobs` is scikit-learn's; it never changes a result. `progress(done, total)`
/// is called now and then from the calling thread.
#[pyfunction]
#[pyo3(signature = (method, params, x, y, n_classes, *, sample_weight=None, n_jobs=None, progress=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the arguments of a Python function, as PyO3 hands them over"
)]
fn fit(
    py: Python<'_>,
    method: &str,
    params: &Bound<'_, PyDict>,
    x: &Bound<'_, PyAny>,
    y: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    n_jobs: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Fitted> {
    let method = mainstay::methods::find(method).map_err(|e| to_python(&e))?;
    let estimator = method.estimator(&convert::dict_to_json(params)?).map_err(|e| to_python(&e))?;
    let allows_nan = method.allows_nan;
    let features = convert::matrix(x)?;
    let labels = class_indices(&y)?;
    let weights = sample_weight.map(|w| w.as_array().to_vec());
    let fitted = run(py, threads(n_jobs)?, progress, move |control| {
        let mut data = if allows_nan {
            Dataset::with_missing(features, labels, n_classes)?
        } else {
            Dataset::new(features, labels, n_classes)?
        };
        if let Some(weights) = weights {
            data = data.with_weights(weights)?;
        }
        estimator.fit(&data, control)
    })?;
    Ok(Fitted::new(fitted))
}

/// Fits a method along a path: one fit for each of `values` of its path parameter, in that order.
///
/// The other arguments are those of `fit`.
#[pyfunction]
#[pyo3(signature = (method, params, values, x, y, n_classes, *, sample_weight=None, n_jobs=None, progress=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the arguments of a Python function, as PyO3 hands them over"
)]
fn fit_path(
    py: Python<'_>,
    method: &str,
    params: &Bound<'_, PyDict>,
    values: &Bound<'_, PyAny>,
    x: &Bound<'_, PyAny>,
    y: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    n_jobs: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Fitted>> {
    let method = mainstay::methods::find(method).map_err(|e| to_python(&e))?;
    let estimator = method.estimator(&convert::dict_to_json(params)?).map_err(|e| to_python(&e))?;
    let values = convert::to_json("values", values)?;
    let features = convert::matrix(x)?;
    let labels = class_indices(&y)?;
    let weights = sample_weight.map(|w| w.as_array().to_vec());
    let path = run(py, threads(n_jobs)?, progress, move |control| {
        let mut data = Dataset::new(features, labels, n_classes)?;
        if let Some(weights) = weights {
            data = data.with_weights(weights)?;
        }
        estimator.fit_path(&values, &data, control)
    })?;
    Ok(path.into_iter().map(Fitted::new).collect())
}

fn class_indices(y: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let labels: Result<Vec<_>, _> = y.as_array().iter().map(|&c| usize::try_from(c)).collect();
    labels.map_err(|_| PyValueError::new_err("class indices must not be negative"))
}

/// Checks the parameters of a method without fitting it.
#[pyfunction]
fn check_params(method: &str, params: &Bound<'_, PyDict>) -> PyResult<()> {
    let params = convert::dict_to_json(params)?;
    let checked = mainstay::methods::find(method).and_then(|m| m.estimator(&params));
    checked.map(|_| ()).map_err(|e| to_python(&e))
}

/// Every method: name on the command line, class in Python, one line of summary, NaN allowed.
#[pyfunction]
fn methods() -> Vec<(&'static str, &'static str, &'static str, bool)> {
    mainstay::methods::METHODS.iter().map(|m| (m.name, m.class, m.summary, m.allows_nan)).collect()
}

/// Every parameter of a method with its default.
#[pyfunction]
fn defaults<'py>(py: Python<'py>, method: &str) -> PyResult<Bound<'py, PyAny>> {
    let method = mainstay::methods::find(method).map_err(|e| to_python(&e))?;
    convert::from_json(py, &method.defaults())
}

/// The demo data set as CSV text: a header, 30 features and the diagnosis in the last column.
#[pyfunction]
fn demo_csv() -> &'static str {
    mainstay::data::demo()
}

/// Compiled half of the Python package `mainstay`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::conic::{conic_path, make_label_noise, make_outliers};
    #[pymodule_export]
    use super::files::{load, save};
    #[pymodule_export]
    use super::missing::{
        make_separable_copies, missing_report, missing_risk_bound, missing_score,
        perceptron_partial_fit,
    };
    #[pymodule_export]
    use super::stability::{sigma_bar, subsets};
    #[pymodule_export]
    use super::{Fitted, check_params, defaults, demo_csv, fit, fit_path, methods};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
