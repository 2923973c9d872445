//! The module `mainstay._core`: convert, release the interpreter's lock, call, convert back.
//!
//! Every method goes through `mainstay::methods` by name, so a new one needs no code here.

mod audit;
mod certify;
mod compare;
mod conic;
mod convert;
mod encoder;
mod far_rows;
mod features;
mod files;
mod fitted;
mod metrics;
mod missing;
mod moments;
mod partitioned;
mod run;
mod scan;
mod selection;
mod stability;
mod stress;
mod table;
mod told;
mod trust;
mod validate;
mod words;

use std::ffi::OsString;

use mainstay::data::generate::{Ndc, ndc};
use mainstay::data::{Dataset, NanRule, RowUncertainty};
use mainstay::linalg::Matrix;
use numpy::{PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use fitted::Fitted;
use moments::Moments;
use run::{run, threads, to_python};

/// Fits the method called `method` to the rows of `x`.
///
/// `params` are the public parameters by name, checked here; `y` holds class indices
/// `0..n_classes`. `n_jobs` is scikit-learn's; it never changes a result. `progress(done, total)`
/// is called now and then from the calling thread.
#[pyfunction]
#[pyo3(signature = (method, params, x, y, n_classes, *, sample_weight=None, uncertainty=None, n_jobs=None, progress=None, proof=false, remedies=true))]
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
    uncertainty: Option<&Bound<'_, PyAny>>,
    n_jobs: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
    proof: bool,
    remedies: bool,
) -> PyResult<Fitted> {
    let method = mainstay::methods::find(method).map_err(|e| to_python(&e))?;
    let params = convert::dict_to_json(params)?;
    let estimator = method.estimator(&params).map_err(|e| to_python(&e))?;
    let rows = Rows::new(x, &y, n_classes, sample_weight.as_ref(), uncertainty)?
        .with_nan(method.nan_rule(&params));
    let fitted = run(py, threads(n_jobs)?, progress, move |control| {
        let data = rows.dataset()?;
        let control = control.clone().with_proof(proof).with_checked_remedies(remedies);
        estimator.fit(&data, &control)?.remember(&data, false)
    })?;
    Ok(Fitted::new(fitted))
}

/// Fits a method along a path: one fit for each of `points`, in that order. A point is a dict of the
/// parameters that change, `{"k": 20, "C": 1.0}`.
///
/// The other arguments are those of `fit`.
#[pyfunction]
#[pyo3(signature = (method, params, points, x, y, n_classes, *, sample_weight=None, uncertainty=None, n_jobs=None, progress=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the arguments of a Python function, as PyO3 hands them over"
)]
fn fit_path(
    py: Python<'_>,
    method: &str,
    params: &Bound<'_, PyDict>,
    points: &Bound<'_, PyAny>,
    x: &Bound<'_, PyAny>,
    y: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    uncertainty: Option<&Bound<'_, PyAny>>,
    n_jobs: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Fitted>> {
    let method = mainstay::methods::find(method).map_err(|e| to_python(&e))?;
    let estimator = method.estimator(&convert::dict_to_json(params)?).map_err(|e| to_python(&e))?;
    let points = mainstay::methods::path_points(&convert::to_json("points", points)?)
        .map_err(|e| to_python(&e))?;
    let rows = Rows::new(x, &y, n_classes, sample_weight.as_ref(), uncertainty)?;
    let path = run(py, threads(n_jobs)?, progress, move |control| {
        estimator.fit_path(&points, &rows.dataset()?, control)
    })?;
    Ok(path.into_iter().map(Fitted::new).collect())
}

/// Rows as they came from Python; checked when they become a data set.
pub(crate) struct Rows {
    features: Matrix,
    labels: Vec<usize>,
    n_classes: usize,
    weights: Option<Vec<f64>>,
    uncertainty: Option<RowUncertainty>,
    nan: NanRule,
}

impl Rows {
    pub(crate) fn new(
        x: &Bound<'_, PyAny>,
        y: &PyReadonlyArray1<'_, i64>,
        n_classes: usize,
        weights: Option<&PyReadonlyArray1<'_, f64>>,
        uncertainty: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self {
            features: convert::matrix(x)?,
            labels: class_indices(y)?,
            n_classes,
            weights: weights.map(|w| w.as_array().to_vec()),
            uncertainty: uncertainty.map(convert::uncertainty).transpose()?,
            nan: NanRule::Refuse,
        })
    }

    /// What NaN means.
    pub(crate) fn with_nan(self, nan: NanRule) -> Self {
        Self { nan, ..self }
    }

    /// One of several batches: classes may be absent.
    pub(crate) fn batch(self) -> mainstay::Result<Dataset> {
        Dataset::batch(self.features, self.labels, self.n_classes, self.weights)
    }

    pub(crate) fn dataset(self) -> mainstay::Result<Dataset> {
        let mut data = self.nan.dataset(self.features, self.labels, self.n_classes)?;
        if let Some(weights) = self.weights {
            data = data.with_weights(weights)?;
        }
        match self.uncertainty {
            Some(uncertainty) => data.with_uncertainty(uncertainty),
            None => Ok(data),
        }
    }
}

fn class_indices(y: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let labels: Result<Vec<_>, _> = y.as_array().iter().map(|&c| usize::try_from(c)).collect();
    labels.map_err(|_| PyValueError::new_err("class indices must not be negative"))
}

/// Normally distributed clusters: rows and class indices.
#[pyfunction]
fn make_ndc(
    py: Python<'_>,
    n: usize,
    p: usize,
    centers: usize,
    expand: f64,
    seed: u64,
) -> PyResult<(Bound<'_, PyArray2<f64>>, Vec<usize>)> {
    let (x, y) = ndc(Ndc { n, p, centers, expand }, seed).map_err(|e| to_python(&e))?;
    Ok((convert::array2(py, &x)?, y))
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
    mainstay::methods::METHODS
        .iter()
        .map(|m| (m.name, m.class, m.summary, m.allows_nan()))
        .collect()
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

/// Runs the command line with these arguments, the program's name first, and returns its exit code.
///
/// Ctrl-C is the command's from here on: it ends the process.
#[pyfunction]
fn command_line(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| mainstay_cli::main_from(args))
}

/// Compiled half of the Python package `mainstay`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::audit::{audit, wrong_labels};
    #[pymodule_export]
    use super::certify::certify;
    #[pymodule_export]
    use super::compare::{Comparison, Session, write_text};
    #[pymodule_export]
    use super::conic::{make_label_noise, make_outliers};
    #[pymodule_export]
    use super::encoder::Encoder;
    #[pymodule_export]
    use super::far_rows::far_rows;
    #[pymodule_export]
    use super::features::{FeatureModel, filled, fills_cells, fitted_features, inexact_scores};
    #[pymodule_export]
    use super::files::{load, save, verify};
    #[pymodule_export]
    use super::metrics::{measure, metrics, together};
    #[pymodule_export]
    use super::missing::{
        make_separable_copies, missing_report, missing_risk_bound, missing_score,
        perceptron_partial_fit,
    };
    #[pymodule_export]
    use super::partitioned::{
        Driver, ask_after, in_sequence, look, merge_messages, message_classes, proof_ask,
        proof_bounds, reorder_classes,
    };
    #[pymodule_export]
    use super::scan::ScanRows;
    #[pymodule_export]
    use super::selection::robust_choice;
    #[pymodule_export]
    use super::stability::{sigma_bar, subsets};
    #[pymodule_export]
    use super::stress::{
        adversarial_deletion, check_level, column_scaling, damage_rows, few_samples, label_noise,
        outliers, spoiled, stress_seed, stress_split, threats, unlucky_split,
    };
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::told::told;
    #[pymodule_export]
    use super::trust::{calibration_map, summary, trust};
    #[pymodule_export]
    use super::validate::Validation;
    #[pymodule_export]
    use super::{
        Fitted, Moments, check_params, command_line, defaults, demo_csv, fit, fit_path, make_ndc,
        methods,
    };

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
