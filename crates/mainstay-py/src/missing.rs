//! What the methods for missing features need beside `fit`: streams, worst cases, reports, bounds.

use std::sync::Arc;

use mainstay::data;
use mainstay::linalg::Matrix;
use mainstay::missing::bounds::risk_bound;
use mainstay::missing::{
    Batch, Damage, MissingPerceptronParams, PerceptronState, Replacement, RobustHinge,
    missing_report as report,
};
use mainstay::model::{Fitted as Core, Linear};
use mainstay::uncertainty::{Attack, Deletions};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::conic::{Rows, rows};
use crate::fitted::Fitted;
use crate::run::{run, threads, to_python};
use crate::{class_indices, convert};

/// Goes on with a stream of the perceptron: the state as text, or None for the first rows.
#[pyfunction]
#[pyo3(signature = (params, state, x, y, n_classes, sample_weight=None))]
#[expect(clippy::needless_pass_by_value, reason = "the arguments of a Python function")]
pub(crate) fn perceptron_partial_fit(
    py: Python<'_>,
    params: &Bound<'_, PyDict>,
    state: Option<String>,
    x: &Bound<'_, PyAny>,
    y: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    sample_weight: Option<Vec<f64>>,
) -> PyResult<Fitted> {
    let params = convert::dict_to_json(params)?;
    let learner = mainstay::methods::parse::<MissingPerceptronParams>(&params)
        .and_then(MissingPerceptronParams::check)
        .map_err(|e| to_python(&e))?;
    let features = convert::matrix(x)?.nan_to_zero();
    let labels = class_indices(&y)?;
    let fitted = run(py, 1, None, move |control| {
        let mut state = match state {
            Some(text) => PerceptronState::from_text(&text)?,
            None => learner.start(features.ncols(), n_classes)?,
        };
        let weights = sample_weight.as_deref();
        let batch = Batch { x: &features, labels: &labels, weights };
        learner.partial_fit(&mut state, &batch, control)?;
        state.fitted(1)
    })?;
    Ok(Fitted::new(fitted))
}

fn linear(fitted: &Arc<Core>) -> mainstay::Result<Linear> {
    let text = "missing features need a linear model";
    fitted.model.hyperplanes().ok_or_else(|| mainstay::Error::Mismatch(text.into()))
}

/// Accuracy of `fitted` on rows damaged by the adversary `attack`: "exact", "greedy" or "random".
#[pyfunction]
#[pyo3(signature = (fitted, x, y, values, budget, *, attack="exact", seed=0, n_jobs=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the arguments of a Python function"
)]
pub(crate) fn missing_score(
    py: Python<'_>,
    fitted: &Fitted,
    x: &Bound<'_, PyAny>,
    y: PyReadonlyArray1<'_, i64>,
    values: Vec<f64>,
    budget: f64,
    attack: &str,
    seed: u64,
    n_jobs: Option<i64>,
) -> PyResult<f64> {
    let attack = match attack {
        "exact" => Attack::Exact,
        "greedy" => Attack::Greedy,
        "random" => Attack::Random,
        other => {
            let rule = "must be \"exact\", \"greedy\" or \"random\"";
            return Err(PyValueError::new_err(format!("`attack` = {other:?}: {rule}")));
        }
    };
    let features = convert::matrix(x)?.nan_to_zero();
    let labels = class_indices(&y)?;
    let fitted = Arc::clone(&fitted.0);
    run(py, threads(n_jobs)?, None, move |_| {
        let deletions = Deletions::new(values, budget)?;
        let replacement = Replacement::Zero;
        let damage = Damage { deletions: &deletions, attack, replacement, seed };
        damage.accuracy(&linear(&fitted)?, &features, &labels)
    })
}

/// What is missing in every row, by name of column.
#[pyfunction]
pub(crate) fn missing_report<'py>(
    fitted: &Fitted,
    x: &Bound<'py, PyAny>,
    values: Vec<f64>,
    budget: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let py = x.py();
    let features = convert::matrix(x)?;
    let fitted = Arc::clone(&fitted.0);
    let found = run(py, 1, None, move |_| {
        report(&linear(&fitted)?, &features, &Deletions::new(values, budget)?)
    })?;
    #[expect(clippy::cast_possible_wrap, reason = "counts and class indices are small")]
    let integers = |values: &[usize]| PyArray1::from_iter(py, values.iter().map(|&v| v as i64));
    let dict = PyDict::new(py);
    dict.set_item("missing", integers(&found.missing))?;
    dict.set_item("missing_value", PyArray1::from_slice(py, &found.missing_value))?;
    dict.set_item("covered", PyArray1::from_slice(py, &found.covered))?;
    dict.set_item("prediction", integers(&found.prediction))?;
    dict.set_item("margin", PyArray1::from_slice(py, &found.margin))?;
    dict.set_item("worst_margin", PyArray1::from_slice(py, &found.worst_margin))?;
    Ok(dict)
}

/// Theorem 2 for a two-class model: the bound. `y` holds class indices.
#[pyfunction]
#[pyo3(signature = (fitted, x, y, values, *, budget, margin, c, fit_intercept, delta))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the arguments of a Python function"
)]
pub(crate) fn missing_risk_bound(
    py: Python<'_>,
    fitted: &Fitted,
    x: &Bound<'_, PyAny>,
    y: PyReadonlyArray1<'_, i64>,
    values: Vec<f64>,
    budget: f64,
    margin: f64,
    c: f64,
    fit_intercept: bool,
    delta: f64,
) -> PyResult<f64> {
    let features: Matrix = convert::matrix(x)?.nan_to_zero();
    let labels = class_indices(&y)?;
    let fitted = Arc::clone(&fitted.0);
    run(py, 1, None, move |_| {
        let model = &linear(&fitted)?;
        let [w] = model.coef.as_slice() else {
            let text = "Theorem 2 does not apply: it is about two classes";
            return Err(mainstay::Error::BadData(text.into()));
        };
        let deletions = Deletions::leaving_something(values, budget)?;
        let signs: Vec<f64> = labels.iter().map(|&l| if l == 1 { 1.0 } else { -1.0 }).collect();
        let weights = vec![1.0; signs.len()];
        let problem = RobustHinge {
            x: &features,
            y: &signs,
            weights: &weights,
            deletions: &deletions,
            margin,
            c,
            fit_intercept,
        };
        risk_bound(&problem, w, delta).map(|found| found.bound)
    })
}

/// The sanity check of the missing-features paper.
#[pyfunction]
pub(crate) fn make_separable_copies(py: Python<'_>, seed: u64) -> PyResult<Rows<'_>> {
    rows(py, data::make_separable_copies(seed))
}
