//! Model files, through the one reader and writer of `mainstay-io`.
#![expect(clippy::needless_pass_by_value, reason = "arguments as PyO3 hands them over")]

use std::io;
use std::path::PathBuf;

use mainstay::data::{Classes, Label};
use mainstay::methods;
use mainstay_io::{Error, ModelFile};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};
use serde_json::Value;

use crate::Rows;
use crate::convert;
use crate::encoder::{Encoder, scaling_of};
use crate::fitted::Fitted;
use crate::run::{run, threads, to_python};

/// The file system's refusals keep their kind (a missing file is `FileNotFoundError`).
pub(crate) fn file_error(error: Error) -> PyErr {
    match error {
        Error::Read { ref source, .. } | Error::Write { ref source, .. } => {
            io::Error::new(source.kind(), error.to_string()).into()
        }
        Error::Core(core) => to_python(&core),
        other => PyValueError::new_err(other.to_string()),
    }
}

fn label(value: &Bound<'_, PyAny>) -> PyResult<Label> {
    if value.is_instance_of::<PyBool>() {
        value.extract().map(Label::Boolean)
    } else if value.is_instance_of::<PyInt>() {
        value.extract().map(Label::Integer)
    } else if value.is_instance_of::<PyFloat>() {
        value.extract().map(Label::Number)
    } else {
        value.extract().map(Label::Text).map_err(|_| {
            PyValueError::new_err("class labels must be text, whole numbers, numbers or booleans")
        })
    }
}

/// The names of classes as Python has them.
pub(crate) fn labels<'py>(py: Python<'py>, classes: &Classes) -> PyResult<Bound<'py, PyAny>> {
    let labels = classes.names().iter().map(|name| match name {
        Label::Boolean(value) => Value::from(*value),
        Label::Integer(value) => Value::from(*value),
        Label::Number(value) => Value::from(*value),
        Label::Text(value) => Value::from(value.as_str()),
    });
    convert::from_json(py, &labels.collect())
}

/// Writes a fitted model, completely or not at all. With `scaling`, means and scales, the model was fitted to
/// features standardised by them and is written for raw ones, as the command line does.
#[pyfunction]
#[pyo3(signature = (path, method, params, classes, feature_names, fitted, *, encoder=None, target=None, scaling=None, proof=false))]
#[expect(clippy::too_many_arguments, reason = "the parts of a file")]
pub(crate) fn save(
    py: Python<'_>,
    path: PathBuf,
    method: &str,
    params: &Bound<'_, PyDict>,
    classes: Vec<Bound<'_, PyAny>>,
    feature_names: Option<Vec<String>>,
    fitted: &Bound<'_, Fitted>,
    encoder: Option<&Bound<'_, Encoder>>,
    target: Option<String>,
    scaling: Option<(PyReadonlyArray1<'_, f64>, PyReadonlyArray1<'_, f64>)>,
    proof: bool,
) -> PyResult<()> {
    let names = classes.iter().map(label).collect::<PyResult<Vec<_>>>()?;
    let method = methods::find(method).map_err(|e| to_python(&e))?;
    let mut fitted = fitted.get().0.as_ref().clone();
    if !proof {
        fitted.proof = None;
    }
    let fitted = match &scaling {
        Some(parts) => fitted.in_raw_units(scaling_of(parts)),
        None => fitted,
    };
    let file = ModelFile {
        method: method.name.to_owned(),
        params: method.all_params(&convert::dict_to_json(params)?),
        classes: Classes::new(names).map_err(|e| to_python(&e))?,
        target,
        feature_names,
        encoder: encoder.map(|e| e.get().0.clone()),
        fitted,
    };
    py.detach(|| file.save(&path)).map_err(file_error)
}

/// What a model file holds, checked: `method`, `class`, `params`, `classes`,
/// `feature_names`, `fitted`, `encoder` and `target`.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let file = py.detach(|| ModelFile::load(&path)).map_err(file_error)?;
    let method = methods::find(&file.method).map_err(|e| to_python(&e))?;
    let encoded = file.encoder.as_ref().map(mainstay::data::Encoder::feature_names);
    let dict = PyDict::new(py);
    dict.set_item("method", method.name)?;
    dict.set_item("class", method.class)?;
    dict.set_item("params", convert::from_json(py, &file.params)?)?;
    dict.set_item("classes", labels(py, &file.classes)?)?;
    dict.set_item("feature_names", encoded.or(file.feature_names))?;
    dict.set_item("fitted", Fitted::new(file.fitted))?;
    dict.set_item("encoder", file.encoder.map(Encoder))?;
    dict.set_item("target", file.target)?;
    Ok(dict)
}

/// Checks the proof that a fit kept, on its training rows: `proved`, `gap`, `tol`, `objectives_as_claimed` and `problems`.
#[pyfunction]
#[pyo3(signature = (method, params, fitted, x, y, *, sample_weight=None, tol=None))]
#[expect(clippy::too_many_arguments, reason = "the arguments of a Python function")]
pub(crate) fn verify<'py>(
    py: Python<'py>,
    method: &str,
    params: &Bound<'_, PyDict>,
    fitted: &Bound<'_, Fitted>,
    x: &Bound<'_, PyAny>,
    y: PyReadonlyArray1<'_, i64>,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    tol: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let method = methods::find(method).map_err(|e| to_python(&e))?;
    let fitted = fitted.get().0.as_ref().clone();
    let classes = fitted.model.n_classes();
    let names = (0..classes).map(|k| Label::Text(k.to_string())).collect();
    let file = ModelFile {
        method: method.name.to_owned(),
        params: method.all_params(&convert::dict_to_json(params)?),
        classes: Classes::new(names).map_err(|e| to_python(&e))?,
        target: None,
        feature_names: None,
        encoder: None,
        fitted,
    };
    let rows = Rows::new(x, &y, classes, sample_weight.as_ref(), None)?.with_nan(method.nan);
    let found = run(py, threads(None)?, None, move |_| {
        file.verify(&rows.dataset()?, tol).map_err(Error::into_core)
    })?;
    let told = serde_json::json!({
        "proved": found.proved(),
        "gap": found.gap(),
        "tol": found.tol,
        "objectives_as_claimed": found.objectives_as_claimed(),
        "problems": found.problems,
    });
    convert::from_json(py, &told)
}
