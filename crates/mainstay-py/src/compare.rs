//! A comparison, repeat by repeat, so that Python can look at its clock and keep what is finished.

use std::sync::{Arc, Mutex, MutexGuard};

use mainstay::compare::{self, Comparison, Subject};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::Rows;
use crate::run::{run, threads, to_python};

/// A comparison under way.
#[pyclass]
pub(crate) struct Session {
    inner: Arc<Mutex<compare::Session>>,
}

#[pymethods]
impl Session {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
    fn new(
        x: &Bound<'_, PyAny>,
        y: PyReadonlyArray1<'_, i64>,
        features: Vec<String>,
        classes: Vec<String>,
        name: String,
        seed: u64,
    ) -> PyResult<Self> {
        let rows = Rows::new(x, &y, classes.len(), None, None)?;
        let found = rows.dataset().and_then(|data| {
            let rows = (1..=data.len()).collect();
            compare::Session::new(Subject { data, name, features, classes, rows }, seed)
        });
        Ok(Self { inner: Arc::new(Mutex::new(found.map_err(|e| to_python(&e))?)) })
    }

    /// Runs the next repeat of `expected`.
    #[pyo3(signature = (expected, *, n_jobs=None, progress=None))]
    fn next_repeat(
        &self,
        py: Python<'_>,
        expected: usize,
        n_jobs: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let inner = Arc::clone(&self.inner);
        run(py, threads(n_jobs)?, progress, move |control| {
            lock(&inner)?.next_repeat(expected, &[], control, &|_| ())
        })
    }

    /// Leaves out `without`, and with a `budget` in seconds also what is too slow for it; cuts training sets.
    #[pyo3(signature = (without, budget=None, max_rows=None))]
    fn limit(
        &self,
        py: Python<'_>,
        without: Vec<String>,
        budget: Option<f64>,
        max_rows: Option<usize>,
    ) -> PyResult<()> {
        let inner = Arc::clone(&self.inner);
        py.detach(move || {
            let mut session = lock(&inner)?;
            if let Some(seconds) = budget {
                session.set_budget(seconds);
            }
            if let Some(rows) = max_rows {
                session.set_max_rows(rows)?;
            }
            session.leave_out(&without)
        })
        .map_err(|e: mainstay::Error| to_python(&e))
    }

    /// Methods without results, because they are too slow or on request.
    #[getter]
    fn left_out(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let inner = Arc::clone(&self.inner);
        py.detach(move || Ok(lock(&inner)?.left_out().into_iter().map(Into::into).collect()))
            .map_err(|e: mainstay::Error| to_python(&e))
    }

    /// Repeats that are finished.
    #[getter]
    fn repeats(&self, py: Python<'_>) -> PyResult<usize> {
        let inner = Arc::clone(&self.inner);
        py.detach(move || Ok(lock(&inner)?.repeats())).map_err(|e: mainstay::Error| to_python(&e))
    }

    /// Sums up the finished repeats, as JSON. The session is over then.
    #[pyo3(signature = (command, *, n_jobs=None))]
    fn finish(&self, py: Python<'_>, command: String, n_jobs: Option<i64>) -> PyResult<String> {
        let inner = Arc::clone(&self.inner);
        let found = run(py, threads(n_jobs)?, None, move |control| {
            lock(&inner)?.finish(&command, control)
        })?;
        serde_json::to_string(&found).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }
}

fn lock(inner: &Mutex<compare::Session>) -> mainstay::Result<MutexGuard<'_, compare::Session>> {
    inner.lock().map_err(|_| mainstay::Error::Numerical("an earlier repeat broke down".into()))
}

/// Whether there is time for one more repeat.
#[pyfunction]
pub(crate) fn another_repeat(done: usize, elapsed: f64, budget: f64) -> bool {
    compare::another_repeat(done, elapsed, budget)
}

fn parse(text: &str) -> PyResult<Comparison> {
    serde_json::from_str(text)
        .map_err(|e| PyValueError::new_err(format!("this is not a comparison: {e}")))
}

/// The report on a comparison given as JSON: one HTML page.
#[pyfunction]
pub(crate) fn report_html(py: Python<'_>, json: &str) -> PyResult<String> {
    py.detach(|| {
        mainstay_report::html(&parse(json)?).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    })
}

/// Writes a text file, completely or not at all.
#[pyfunction]
pub(crate) fn write_text(path: &str, text: &str) -> PyResult<()> {
    let path = std::path::Path::new(path);
    mainstay_io::write_file(path, |out| out.write_all(text.as_bytes()))
        .map_err(|e| pyo3::exceptions::PyOSError::new_err(e.to_string()))
}
