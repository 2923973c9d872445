//! The threats as functions of arrays, and the splits and seeds of a stress test.

use mainstay::data::Standardize;
use mainstay::linalg::{Dense, Matrix};
use mainstay::model::{Linear, Link};
use mainstay::stress::{self, DamagedRows, OutlierKind, Threat};
use mainstay::uncertainty::{Attack, Deletions};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::run::{run, threads, to_python};
use crate::{class_indices, convert};

type Floats<'py> = Bound<'py, PyArray2<f64>>;
type Codes<'py> = Bound<'py, PyArray1<i64>>;

fn dense(x: &PyReadonlyArray2<'_, f64>) -> PyResult<Dense> {
    let (rows, columns) = x.as_array().dim();
    let x = Dense::from_rows(rows, columns, x.as_array().iter().copied().collect());
    match Matrix::Dense(x.clone()).first_not_finite() {
        None => Ok(x),
        Some((row, column, value)) => Err(PyValueError::new_err(format!(
            "row {row}, column {column}: {value} is not a finite number; drop or impute it"
        ))),
    }
}

fn array(py: Python<'_>, x: mainstay::Result<Dense>) -> PyResult<Floats<'_>> {
    convert::array2(py, &x.map_err(|e| to_python(&e))?)
}

#[expect(clippy::cast_possible_wrap, reason = "indices of rows and classes are small")]
fn codes(py: Python<'_>, values: Vec<usize>) -> Codes<'_> {
    PyArray1::from_iter(py, values.into_iter().map(|v| v as i64))
}

/// Every threat: name, name for people, "training" or "test", usual levels.
#[pyfunction]
pub(crate) fn threats() -> Vec<(&'static str, &'static str, &'static str, Vec<f64>)> {
    let part = |t: Threat| if t.part() == DamagedRows::Training { "training" } else { "test" };
    Threat::ALL
        .iter()
        .map(|t| (t.name(), t.title(), part(*t), t.default_levels().to_vec()))
        .collect()
}

/// Refuses a level that means nothing for the threat.
#[pyfunction]
pub(crate) fn check_level(threat: &str, level: f64) -> PyResult<()> {
    Threat::find(threat).and_then(|t| t.check_level(level)).map_err(|e| to_python(&e))
}

/// Rows of a repeat to learn from and to be judged on; rows with the same entry of `groups` stay on one side.
#[pyfunction]
#[pyo3(signature = (y, repeat, seed, groups=None))]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
pub(crate) fn stress_split<'py>(
    py: Python<'py>,
    y: PyReadonlyArray1<'_, i64>,
    repeat: usize,
    seed: u64,
    groups: Option<Vec<usize>>,
) -> PyResult<(Codes<'py>, Codes<'py>)> {
    let split = stress::split_together(&class_indices(&y)?, groups.as_deref(), repeat, seed);
    Ok((codes(py, split.train), codes(py, split.holdout)))
}

/// Seed of a threat's damage in a repeat.
#[pyfunction]
pub(crate) fn stress_seed(seed: u64, repeat: usize, threat: &str) -> PyResult<u64> {
    let threat = Threat::find(threat).map_err(|e| to_python(&e))?;
    Ok(stress::seed_of(seed, repeat, Some(threat)))
}

/// Means and deviations of the columns; a constant column has deviation 1.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
pub(crate) fn column_scaling(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, f64>,
) -> PyResult<(Vec<f64>, Vec<f64>)> {
    let x = dense(&x)?.into();
    let scaling = run(py, threads(None)?, None, move |_| Ok(Standardize::learn(&x, None)))?;
    Ok((scaling.means, scaling.scales))
}

/// Rows that stay.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
pub(crate) fn few_samples<'py>(
    py: Python<'py>,
    y: PyReadonlyArray1<'_, i64>,
    level: f64,
    seed: u64,
) -> PyResult<Codes<'py>> {
    let rows = stress::few_samples(&class_indices(&y)?, level, seed);
    Ok(codes(py, rows.map_err(|e| to_python(&e))?))
}

/// Labels, some of them wrong.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
pub(crate) fn label_noise<'py>(
    py: Python<'py>,
    y: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    level: f64,
    seed: u64,
) -> PyResult<Codes<'py>> {
    let labels = stress::label_noise(&class_indices(&y)?, n_classes, level, seed);
    Ok(codes(py, labels.map_err(|e| to_python(&e))?))
}

/// Rows and labels, some of them outliers; `kind` is "clustered", "spread" or "both".
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
pub(crate) fn outliers<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'_, f64>,
    y: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    level: f64,
    kind: &str,
    seed: u64,
) -> PyResult<(Floats<'py>, Codes<'py>)> {
    let kind: OutlierKind = serde_json::from_value(kind.into()).map_err(|_| {
        PyValueError::new_err(format!(
            "`kind` = {kind:?}: must be \"clustered\", \"spread\" or \"both\""
        ))
    })?;
    let found = stress::outliers(&dense(&x)?, &class_indices(&y)?, n_classes, level, kind, seed);
    let (x, labels) = found.map_err(|e| to_python(&e))?;
    Ok((convert::array2(py, &x)?, codes(py, labels)))
}

/// Rows that stay when one side of every class is missing.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
pub(crate) fn unlucky_split<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'_, f64>,
    y: PyReadonlyArray1<'_, i64>,
    level: f64,
    seed: u64,
) -> PyResult<Codes<'py>> {
    let (x, labels) = (dense(&x)?, class_indices(&y)?);
    let split = move |_: &_| stress::unlucky_split(&x, &labels, level, seed);
    Ok(codes(py, run(py, threads(None)?, None, split)?))
}

/// Damage to rows that are judged: "missing_features", "corrupted_features" or "measurement_error".
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
pub(crate) fn damage_rows<'py>(
    py: Python<'py>,
    threat: &str,
    x: PyReadonlyArray2<'_, f64>,
    means: Vec<f64>,
    scales: Vec<f64>,
    level: f64,
    seed: u64,
) -> PyResult<Floats<'py>> {
    let x = dense(&x)?;
    let scaling = Standardize { means, scales };
    let damaged = match Threat::find(threat).map_err(|e| to_python(&e))? {
        Threat::MissingFeatures => stress::missing_features(&x, &scaling, level, seed),
        Threat::CorruptedFeatures => stress::corrupted_features(&x, &scaling, level, seed),
        Threat::MeasurementError => stress::measurement_error(&x, &scaling, level, seed),
        other => {
            let text = format!("`{}` needs more than rows", other.name());
            return Err(PyValueError::new_err(text));
        }
    };
    array(py, damaged)
}

/// How many of `p` features a level spoils.
#[pyfunction]
pub(crate) fn spoiled(level: f64, p: usize) -> usize {
    stress::spoiled(level, p)
}

/// Rows after the worst deletion against the hyperplanes `coef`, `intercept`. Labels of -1 are unknown to the
/// model: their rows stay.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the arguments of a Python function, as PyO3 hands them over"
)]
pub(crate) fn adversarial_deletion<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'_, f64>,
    y: PyReadonlyArray1<'_, i64>,
    coef: PyReadonlyArray2<'_, f64>,
    intercept: Vec<f64>,
    means: Vec<f64>,
    values: Vec<f64>,
    budget: f64,
    attack: &str,
) -> PyResult<Floats<'py>> {
    let attack: Attack = serde_json::from_value(attack.into()).map_err(|_| {
        PyValueError::new_err(format!("`attack` = {attack:?}: must be \"exact\" or \"greedy\""))
    })?;
    let coef = coef.as_array().outer_iter().map(|row| row.to_vec()).collect();
    let model = Linear { coef, intercept, link: Link::None };
    model.validate().map_err(|e| to_python(&e))?;
    let labels: Vec<Option<usize>> =
        y.as_array().iter().map(|&label| usize::try_from(label).ok()).collect();
    let scaling = Standardize { scales: vec![1.0; means.len()], means };
    let damaged = Deletions::new(values, budget).and_then(|set| {
        stress::adversarial_deletion(&dense_or_error(&x)?, &labels, &model, &scaling, &set, attack)
    });
    array(py, damaged)
}

fn dense_or_error(x: &PyReadonlyArray2<'_, f64>) -> mainstay::Result<Dense> {
    dense(x).map_err(|e| mainstay::Error::BadData(e.to_string()))
}
