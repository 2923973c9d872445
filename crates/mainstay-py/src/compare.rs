//! A comparison under way and what it found.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard};

use mainstay::compare::{self, Cell, Extent, MethodInfo, Role, Subject};
use mainstay::data::Handled;
use mainstay::metrics::Metric;
use mainstay::stress::Threat;
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
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: PyReadonlyArray1<'_, i64>,
        features: Vec<String>,
        classes: Vec<String>,
        name: String,
        seed: u64,
    ) -> PyResult<Self> {
        let rows = Rows::new(x, &y, classes.len(), None, None)?;
        let session = run(py, threads(None)?, None, move |_| {
            let data = rows.dataset()?;
            let rows = (1..=data.len()).collect();
            let handled = Handled::default();
            compare::Session::new(Subject { data, name, features, classes, rows, handled }, seed)
        })?;
        Ok(Self { inner: Arc::new(Mutex::new(session)) })
    }

    /// Runs `repeats` repeats, or as many as end within `budget` seconds.
    #[pyo3(signature = (repeats, budget, *, n_jobs=None, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        repeats: Option<usize>,
        budget: f64,
        n_jobs: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let extent = repeats.map_or(Extent::Seconds { budget, spent: 0.0 }, Extent::Repeats);
        let inner = Arc::clone(&self.inner);
        run(py, threads(n_jobs)?, progress, move |control| {
            lock(&inner)?.run(extent, &[], control, &|_| ())
        })
    }

    /// Leaves out the methods `without`; cuts training sets to `max_rows`.
    #[pyo3(signature = (without, max_rows=None))]
    fn limit(&self, py: Python<'_>, without: Vec<String>, max_rows: Option<usize>) -> PyResult<()> {
        let inner = Arc::clone(&self.inner);
        py.detach(move || {
            let mut session = lock(&inner)?;
            if let Some(rows) = max_rows {
                session.set_max_rows(rows)?;
            }
            session.leave_out(&without)
        })
        .map_err(|e: mainstay::Error| to_python(&e))
    }

    /// Judges by `metric`, runs `threats` alone, keeps rows of the same entry of `groups` together.
    #[pyo3(signature = (metric=None, threats=None, groups=None, few_levels=false))]
    fn choose(
        &self,
        py: Python<'_>,
        metric: Option<String>,
        threats: Option<Vec<String>>,
        groups: Option<Vec<usize>>,
        few_levels: bool,
    ) -> PyResult<()> {
        let inner = Arc::clone(&self.inner);
        py.detach(move || {
            let mut session = lock(&inner)?;
            if let Some(name) = metric {
                session.set_metric(Metric::find(&name)?)?;
            }
            if let Some(names) = threats {
                let found: mainstay::Result<Vec<Threat>> =
                    names.iter().map(|name| Threat::find(name)).collect();
                session.set_threats(&found?)?;
            }
            if few_levels {
                session.set_few_levels();
            }
            session.set_groups(groups)
        })
        .map_err(|e: mainstay::Error| to_python(&e))
    }

    /// Adds methods that take part on request alone; says how many cells of the user's table were filled.
    #[pyo3(signature = (include, filled=None))]
    fn add(
        &self,
        py: Python<'_>,
        include: Vec<String>,
        filled: Option<(Vec<(String, usize)>, String)>,
    ) -> PyResult<()> {
        let inner = Arc::clone(&self.inner);
        py.detach(move || {
            let mut session = lock(&inner)?;
            if let Some((cells_filled, with)) = filled {
                let filled_with = (!cells_filled.is_empty()).then_some(with);
                session.set_handled(Handled { cells_filled, filled_with, ..Handled::default() });
            }
            include.iter().try_for_each(|name| session.include(name))
        })
        .map_err(|e: mainstay::Error| to_python(&e))
    }

    /// Adds the cells of an estimator of the user's own, as JSON.
    fn add_guest(&self, py: Python<'_>, name: String, title: String, cells: &str) -> PyResult<()> {
        let cells: Vec<Cell> =
            serde_json::from_str(cells).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let tuning = "your own estimator, as you gave it".into();
        let method = MethodInfo { name, title, role: Role::Guest, tuning };
        let inner = Arc::clone(&self.inner);
        py.detach(move || lock(&inner)?.add_guest(method, cells))
            .map_err(|e: mainstay::Error| to_python(&e))
    }

    /// The threats of every repeat with their levels.
    #[getter]
    fn trials(&self, py: Python<'_>) -> PyResult<Vec<(String, Vec<f64>)>> {
        let inner = Arc::clone(&self.inner);
        py.detach(move || {
            let session = lock(&inner)?;
            let trials = session.plan().trials.iter();
            Ok(trials.map(|t| (t.threat.name().into(), t.levels.clone())).collect())
        })
        .map_err(|e: mainstay::Error| to_python(&e))
    }

    /// The rows of a repeat to learn from and to be judged on.
    fn rows(&self, py: Python<'_>, repeat: usize) -> PyResult<(Vec<usize>, Vec<usize>)> {
        let inner = Arc::clone(&self.inner);
        py.detach(move || lock(&inner)?.rows(repeat)).map_err(|e: mainstay::Error| to_python(&e))
    }

    /// Methods without results, because they are too slow or on request.
    #[getter]
    fn left_out(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let inner = Arc::clone(&self.inner);
        py.detach(move || Ok(lock(&inner)?.left_out().into_iter().map(Into::into).collect()))
            .map_err(|e: mainstay::Error| to_python(&e))
    }

    /// Whether one level of every threat to the training rows was run.
    #[getter]
    fn few_levels(&self, py: Python<'_>) -> PyResult<bool> {
        let inner = Arc::clone(&self.inner);
        py.detach(move || Ok(lock(&inner)?.few_levels()))
            .map_err(|e: mainstay::Error| to_python(&e))
    }

    /// Repeats that are finished.
    #[getter]
    fn repeats(&self, py: Python<'_>) -> PyResult<usize> {
        let inner = Arc::clone(&self.inner);
        py.detach(move || Ok(lock(&inner)?.repeats())).map_err(|e: mainstay::Error| to_python(&e))
    }

    /// Sums up the finished repeats.
    /// `ids` has one text per row.
    #[pyo3(signature = (command, *, ids=None, n_jobs=None))]
    fn finish(
        &self,
        py: Python<'_>,
        command: String,
        ids: Option<Vec<String>>,
        n_jobs: Option<i64>,
    ) -> PyResult<Comparison> {
        let inner = Arc::clone(&self.inner);
        let mut found = run(py, threads(n_jobs)?, None, move |control| {
            lock(&inner)?.finish(&command, control)
        })?;
        if let Some(ids) = ids {
            found.name_rows(|row| ids.get(row - 1).cloned());
        }
        Ok(Comparison(Arc::new(found)))
    }
}

fn lock(inner: &Mutex<compare::Session>) -> mainstay::Result<MutexGuard<'_, compare::Session>> {
    inner.lock().map_err(|_| mainstay::Error::Numerical("an earlier repeat broke down".into()))
}

/// Everything that a comparison found.
#[pyclass(frozen, module = "mainstay._core")]
pub(crate) struct Comparison(Arc<compare::Comparison>);

#[pymethods]
impl Comparison {
    /// The report: one HTML page, with a checklist along TRIPOD+AI if asked for.
    #[pyo3(signature = (tripod=false))]
    fn html(&self, py: Python<'_>, tripod: bool) -> PyResult<String> {
        let options = mainstay_report::Options { tripod };
        let write = || mainstay_report::html_with(&self.0, options);
        let page = py.detach(|| catch_unwind(AssertUnwindSafe(write)));
        match page {
            Ok(page) => page.map_err(|e| PyRuntimeError::new_err(e.to_string())),
            // What a session finds fits together; a text given to `from_json` need not.
            Err(_) => Err(PyValueError::new_err(
                "the parts of this comparison do not fit together: its text was altered",
            )),
        }
    }

    /// As the command line's `--json` has it; `from_json` gives it back bit for bit.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&*self.0).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }

    /// The comparison behind a text of `to_json`.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        serde_json::from_str(text)
            .map(|found| Self(Arc::new(found)))
            .map_err(|e| PyValueError::new_err(format!("this is not a comparison: {e}")))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("from_json")?, (self.to_json()?,)))
    }
}

/// Writes a text file, completely or not at all.
#[pyfunction]
pub(crate) fn write_text(path: &str, text: &str) -> PyResult<()> {
    let path = std::path::Path::new(path);
    mainstay_io::write_file(path, |out| out.write_all(text.as_bytes()))
        .map_err(|e| pyo3::exceptions::PyOSError::new_err(e.to_string()))
}
