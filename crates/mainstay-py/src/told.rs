//! The told comparison.

use mainstay::compare::{Expectation, told as run_told};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::Rows;
use crate::run::{run, threads};

/// Every method told what to expect (`wrong_labels`, `missing`, `errors`); the result as the command line's `--json`
/// has it.
#[pyfunction]
#[pyo3(signature = (x, y, n_classes, expected, repeats, seed, *, n_jobs=None, progress=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "the arguments of a Python function, as PyO3 hands them over"
)]
pub(crate) fn told(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: PyReadonlyArray1<'_, i64>,
    n_classes: usize,
    expected: (f64, f64, f64),
    repeats: usize,
    seed: u64,
    n_jobs: Option<i64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let rows = Rows::new(x, &y, n_classes, None, None)?;
    let (wrong_labels, missing, errors) = expected;
    let expected = Expectation { wrong_labels, missing, errors };
    let found = run(py, threads(n_jobs)?, progress, move |control| {
        run_told(&rows.dataset()?, expected, repeats, seed, control)
    })?;
    serde_json::to_string(&found).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}
