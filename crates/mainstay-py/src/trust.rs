//! Summaries of models, and how far single predictions can be trusted.
#![expect(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "the arguments of a Python function, as PyO3 hands them over"
)]

use std::sync::Arc;

use mainstay::Control;
use mainstay::certify::{Column, Units};
use mainstay::data::Dataset;
use mainstay::methods::{self, Method};
use mainstay::model::{Fitted as Core, ScoreMap};
use mainstay::trust::{Described, Known, ModelSummary, RULE, Refit, RowTrust, bootstrap};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::fitted::Fitted;
use crate::run::{run, threads, to_python};
use crate::{Rows, convert};

/// What a model is called and was made with.
struct Made {
    method: &'static Method,
    params: Value,
    classes: Vec<String>,
    features: Vec<String>,
    fitted: Arc<Core>,
}

impl Made {
    fn new(
        method: &str,
        params: &Bound<'_, PyDict>,
        classes: Vec<String>,
        features: Vec<String>,
        fitted: &Bound<'_, Fitted>,
    ) -> PyResult<Self> {
        Ok(Self {
            method: methods::find(method).map_err(|e| to_python(&e))?,
            params: convert::dict_to_json(params)?,
            classes,
            features,
            fitted: Arc::clone(&fitted.get().0),
        })
    }

    fn refit(&self) -> Refit<'_> {
        let standardized = self.fitted.training.as_ref().is_some_and(|t| t.standardized);
        Refit::of(&self.fitted.model, self.method, &self.params, standardized)
    }
}

/// Training rows: (x, y, sample weights or None).
type Training<'py> =
    (Bound<'py, PyAny>, PyReadonlyArray1<'py, i64>, Option<PyReadonlyArray1<'py, f64>>);

fn rows(training: &Training<'_>, made: &Made) -> PyResult<Rows> {
    let (x, y, weights) = training;
    Ok(Rows::new(x, y, made.classes.len(), weights.as_ref(), None)?
        .with_nan(made.refit().nan_rule()))
}

/// A model in words and numbers: (content, text, markdown).
#[pyfunction]
#[pyo3(signature = (method, params, classes, features, fitted, *, claimed=false, training=None, n_bootstrap=0, seed=0, n_jobs=None))]
pub(crate) fn summary<'py>(
    py: Python<'py>,
    method: &str,
    params: &Bound<'py, PyDict>,
    classes: Vec<String>,
    features: Vec<String>,
    fitted: &Bound<'py, Fitted>,
    claimed: bool,
    training: Option<Training<'py>>,
    n_bootstrap: usize,
    seed: u64,
    n_jobs: Option<i64>,
) -> PyResult<(Bound<'py, PyAny>, String, String)> {
    let made = Made::new(method, params, classes, features, fitted)?;
    let rows = training.map(|t| rows(&t, &made)).transpose()?;
    let found = run(py, threads(n_jobs)?, None, move |control| {
        let refits = match rows.map(Rows::dataset).transpose()? {
            Some(data) if n_bootstrap > 0 => {
                bootstrap(made.refit(), &data, n_bootstrap, seed, control)?
            }
            _ => Vec::new(),
        };
        let described = Described {
            method: made.method,
            params: &made.params,
            classes: &made.classes,
            features: &made.features,
            target: None,
            encoder: None,
            fitted: &made.fitted,
            claimed,
        };
        Ok(ModelSummary::new(&described, &refits))
    })?;
    let content = serde_json::to_value(&found)
        .map_err(|e| pyo3::exceptions::PyValueError::new_err(e.to_string()))?;
    Ok((convert::from_json(py, &content)?, found.text(), found.markdown()))
}

/// How far each prediction can be trusted, by column.
#[pyfunction]
#[pyo3(signature = (method, params, classes, features, fitted, x, *, training=None, n_refits=0, errors=None, seed=0, n_jobs=None))]
pub(crate) fn trust<'py>(
    py: Python<'py>,
    method: &str,
    params: &Bound<'py, PyDict>,
    classes: Vec<String>,
    features: Vec<String>,
    fitted: &Bound<'py, Fitted>,
    x: &Bound<'py, PyAny>,
    training: Option<Training<'py>>,
    n_refits: usize,
    errors: Option<Vec<f64>>,
    seed: u64,
    n_jobs: Option<i64>,
) -> PyResult<Bound<'py, PyDict>> {
    let made = Made::new(method, params, classes, features, fitted)?;
    let rows = training.map(|t| rows(&t, &made)).transpose()?;
    let x = convert::matrix(x)?;
    let names = made.features.clone();
    let found = run(py, threads(n_jobs)?, None, move |control| {
        let data = rows.map(Rows::dataset).transpose()?;
        judge(&made, data.as_ref(), &x, n_refits, errors.as_deref(), seed, control)
    })?;
    columns(py, &found, &names)
}

fn judge(
    made: &Made,
    data: Option<&Dataset>,
    x: &mainstay::linalg::Matrix,
    refits: usize,
    errors: Option<&[f64]>,
    seed: u64,
    control: &Control,
) -> mainstay::Result<RowTrust> {
    let ranges = made.fitted.training.as_ref().and_then(|t| t.features.as_ref());
    let units = ranges.map(|r| Units {
        means: r.means.clone(),
        sizes: r.deviations.clone(),
        columns: (0..r.means.len()).map(Column::Number).collect(),
    });
    let known = Known {
        training: data.map(|data| (made.refit(), data)),
        refits,
        seed,
        errors,
        units: units.as_ref(),
    };
    mainstay::trust::trust(&made.fitted, &made.features, &made.classes, x, &known, control)
}

fn columns<'py>(
    py: Python<'py>,
    found: &RowTrust,
    names: &[String],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    #[expect(clippy::cast_possible_wrap, reason = "class indices are small")]
    let predicted = found.predicted.iter().map(|&k| k as i64);
    dict.set_item("predicted", PyArray1::from_iter(py, predicted))?;
    for (name, values) in found.columns() {
        dict.set_item(name, PyArray1::from_slice(py, values))?;
    }
    if let Some(p) = &found.p_values {
        dict.set_item("p_values", convert::array2(py, p)?)?;
    }
    let outside = found
        .outside
        .iter()
        .map(|row| row.iter().map(|&j| names[j].as_str()).collect::<Vec<_>>().join(", "));
    dict.set_item("outside", outside.collect::<Vec<String>>())?;
    dict.set_item("verdict", found.verdict.iter().map(|v| v.words()).collect::<Vec<_>>())?;
    dict.set_item("reasons", &found.reasons)?;
    dict.set_item("notes", &found.notes)?;
    dict.set_item("rule", RULE)?;
    Ok(dict)
}

/// Probabilities of `new` scores after a map was learned on `scores`, `positive` (0 or 1) and `weights`.
#[pyfunction]
pub(crate) fn calibration_map<'py>(
    py: Python<'py>,
    kind: &str,
    scores: PyReadonlyArray1<'py, f64>,
    positive: PyReadonlyArray1<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
    new: PyReadonlyArray1<'py, f64>,
) -> Bound<'py, PyArray1<f64>> {
    let (scores, positive, weights) = (scores.as_array(), positive.as_array(), weights.as_array());
    let rows: Vec<(f64, bool, f64)> =
        (0..scores.len()).map(|i| (scores[i], positive[i] > 0.5, weights[i])).collect();
    let map =
        if kind == "isotonic" { ScoreMap::isotonic(&rows) } else { ScoreMap::sigmoid(&rows).0 };
    PyArray1::from_iter(py, new.as_array().iter().map(|s| map.probability(*s)))
}
