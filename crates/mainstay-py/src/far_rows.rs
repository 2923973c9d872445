//! Rows far from the bulk of their class.

use mainstay::linalg::Matrix;
use mainstay::uncertainty::far_rows::{FarRows, Share};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert;
use crate::run::run;

type Found<'py> = (Bound<'py, PyArray1<f64>>, Vec<(usize, f64, usize, Option<f64>)>);

/// Distance of every row in units of the cut-off of its class, and the far rows: (row, distance, feature,
/// factor that repairs the unit or None), farthest first. Rows of weight 0 are absent.
#[pyfunction]
#[pyo3(signature = (x, y, n_classes, share, weights=None))]
#[expect(clippy::needless_pass_by_value, reason = "the arguments of a Python function")]
pub(crate) fn far_rows<'py>(
    x: &Bound<'py, PyAny>,
    y: PyReadonlyArray1<'py, i64>,
    n_classes: usize,
    share: &Bound<'py, PyAny>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Found<'py>> {
    let share: Share = serde_json::from_value(convert::to_json("share", share)?)
        .map_err(|e| PyValueError::new_err(format!("`share`: {e}")))?;
    let rows = match convert::matrix(x)? {
        Matrix::Dense(dense) => dense,
        sparse @ Matrix::Sparse(_) => sparse.to_dense(),
    };
    let labels = crate::class_indices(&y)?;
    let weights: Option<Vec<f64>> = weights.map(|w| w.as_array().to_vec());
    let given = [Some(labels.len()), weights.as_ref().map(Vec::len)];
    if given.into_iter().flatten().any(|n| n != rows.nrows()) {
        return Err(PyValueError::new_err("rows, labels and weights differ in number"));
    }
    let found = run(x.py(), 1, None, move |_| {
        FarRows::find(&rows, (&labels, n_classes), weights.as_deref(), share)
    })?;
    let far = found.far.iter().map(|r| (r.row, r.distance, r.feature, r.unit)).collect();
    Ok((PyArray1::from_slice(x.py(), &found.distances), far))
}
