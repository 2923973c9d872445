//! Validation: refits done here for our own methods, or in Python for any classifier.

use std::sync::Arc;

use mainstay::linalg::Dense;
use mainstay::metrics::{Metric, Predictions};
use mainstay::validate::{Refit, Validation as Core, ValidationPlan};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::run::{run, threads, to_python};
use crate::{Rows, class_indices, convert};

/// A validation under way.
#[pyclass(frozen)]
pub(crate) struct Validation(Arc<Core>);

#[pymethods]
impl Validation {
    #[new]
    #[pyo3(signature = (y, n_classes, *, bootstrap, folds, repeats, curve_repeats, metric, seed, groups=None))]
    #[expect(
        clippy::too_many_arguments,
        clippy::needless_pass_by_value,
        reason = "the arguments of a Python function, as PyO3 hands them over"
    )]
    fn new(
        y: PyReadonlyArray1<'_, i64>,
        n_classes: usize,
        bootstrap: usize,
        folds: usize,
        repeats: usize,
        curve_repeats: usize,
        metric: &str,
        seed: u64,
        groups: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        let metric = Metric::find(metric).map_err(|e| to_python(&e))?;
        let plan =
            ValidationPlan { bootstrap, folds, repeats, curve_repeats, metric, seed, groups };
        let core = Core::new(plan, &class_indices(&y)?, n_classes);
        Ok(Self(Arc::new(core.map_err(|e| to_python(&e))?)))
    }

    /// Rows to fit to and rows to predict, for every refit that is still to be done: (job, train, judged).
    fn open_jobs(&self) -> Vec<(usize, Vec<usize>, Vec<usize>)> {
        let jobs = self.0.jobs().iter().enumerate().filter(|(k, _)| self.0.open(*k));
        jobs.map(|(k, job)| (k, job.train.clone(), job.judged.clone())).collect()
    }

    /// Refits done and to be done in all.
    #[getter]
    fn progress(&self) -> (usize, usize) {
        (self.0.done(), self.0.jobs().len())
    }

    /// Takes in what a classifier says: class indices, scores (n, 1) or (n, K), probabilities (n, K).
    #[pyo3(signature = (job, predicted, scores=None, probabilities=None))]
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
    fn add(
        &self,
        job: usize,
        predicted: PyReadonlyArray1<'_, i64>,
        scores: Option<PyReadonlyArray2<'_, f64>>,
        probabilities: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<()> {
        let table = |found: PyReadonlyArray2<'_, f64>| {
            let found = found.as_array();
            Dense::from_rows(found.nrows(), found.ncols(), found.iter().copied().collect())
        };
        let made = Predictions {
            predicted: class_indices(&predicted)?,
            scores: scores.map(table),
            probabilities: probabilities.map(table),
        };
        self.0.add(Refit::new(job, made)).map_err(|e| to_python(&e))
    }

    /// Takes in that a refit could not be done.
    fn add_failure(&self, job: usize, why: String) -> PyResult<()> {
        self.0.add(Refit::failed(job, why)).map_err(|e| to_python(&e))
    }

    /// Does the refits of one of our own methods.
    #[pyo3(signature = (method, params, x, y, n_classes, *, n_jobs=None, progress=None))]
    #[expect(
        clippy::too_many_arguments,
        clippy::needless_pass_by_value,
        reason = "the arguments of a Python function, as PyO3 hands them over"
    )]
    fn run(
        &self,
        py: Python<'_>,
        method: &str,
        params: &Bound<'_, PyDict>,
        x: &Bound<'_, PyAny>,
        y: PyReadonlyArray1<'_, i64>,
        n_classes: usize,
        n_jobs: Option<i64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let method = mainstay::methods::find(method).map_err(|e| to_python(&e))?;
        let params = convert::dict_to_json(params)?;
        let estimator = method.estimator(&params).map_err(|e| to_python(&e))?;
        let rows = Rows::new(x, &y, n_classes, None, None)?.with_nan(method.nan_rule(&params));
        let core = Arc::clone(&self.0);
        run(py, threads(n_jobs)?, progress, move |control| {
            core.run(estimator.as_ref(), &rows.dataset()?, control, &|_| ())
        })
    }

    /// What the refits so far add up to, as JSON.
    #[pyo3(signature = (*, n_jobs=None))]
    fn finish(&self, py: Python<'_>, n_jobs: Option<i64>) -> PyResult<String> {
        let core = Arc::clone(&self.0);
        run(py, threads(n_jobs)?, None, move |_| {
            let found = core.finish()?;
            let mut value = serde_json::to_value(&found)
                .map_err(|e| mainstay::Error::BadModel(e.to_string()))?;
            value["headline"] = found.headline(core.metric()).into();
            Ok(value.to_string())
        })
    }
}
