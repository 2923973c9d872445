//! Which labels are wrong.

use mainstay::audit::{AuditPlan, suspicions, tuned_logistic};
use mainstay::data::NanRule;
use mainstay::linalg::Dense;
use mainstay::model::StandardizeFirst;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::run::{run, threads, to_python};
use crate::{Rows, class_indices, convert};

/// How suspicious each label is, as the logarithm of odds, from scores of shape (rows, 1) or (rows, classes).
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
pub(crate) fn wrong_labels<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray2<'_, f64>,
    y: PyReadonlyArray1<'_, i64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let table = scores.as_array();
    let labels = class_indices(&y)?;
    let classes = if table.ncols() == 1 { 2 } else { table.ncols() };
    if table.nrows() != labels.len() || labels.iter().any(|k| *k >= classes) {
        return Err(PyValueError::new_err("scores and labels do not fit together"));
    }
    let scores = Dense::from_rows(table.nrows(), table.ncols(), table.iter().copied().collect());
    let wrong = suspicions(&scores, &labels, None).map_err(|e| to_python(&e))?;
    Ok(PyArray1::from_vec(py, wrong))
}

/// A whole audit as JSON. Without a method: tuned logistic regression on standardised features.
#[pyfunction]
#[pyo3(signature = (method, params, x, y, n_classes, *, repeats, planted, precision, seed, groups=None, n_jobs=None, progress=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the arguments of a Python function, as PyO3 hands them over"
)]
pub(crate) fn audit(
    py: Python<'_>,
    method: Option<&str>,
    params: &Bound<'_, PyDict>,
    x: &Bound<'_, PyAny>,
    y: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    repeats: usize,
    planted: usize,
    precision: f64,
    seed: u64,
    groups: Option<PyReadonlyArray1<'_, i64>>,
    n_jobs: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let params = convert::dict_to_json(params)?;
    let method = method.map(mainstay::methods::find).transpose().map_err(|e| to_python(&e))?;
    let own = method.map(|m| m.estimator(&params)).transpose().map_err(|e| to_python(&e))?;
    let nan = method.map_or(NanRule::Refuse, |m| m.nan_rule(&params));
    let rows = Rows::new(x, &y, n_classes, None, None)?.with_nan(nan);
    let groups = groups.as_ref().map(class_indices).transpose()?;
    let plan = AuditPlan { repeats, planted, precision, seed, groups, ..AuditPlan::default() };
    let found = run(py, threads(n_jobs)?, progress, move |control| {
        let data = rows.dataset()?;
        if let Some(own) = own {
            return plan.run(own.as_ref(), &data, control);
        }
        let tuned = tuned_logistic(&data, control)?;
        plan.run(&StandardizeFirst(tuned.as_ref()), &data, control)
    })?;
    let mut value =
        serde_json::to_value(&found).map_err(|e| PyValueError::new_err(e.to_string()))?;
    value["headline"] = found.headline().into();
    Ok(value.to_string())
}
