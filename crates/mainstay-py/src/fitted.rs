//! A fit as a Python object.

use std::sync::Arc;

use mainstay::Status;
use mainstay::linalg::Matrix;
use mainstay::model::{Fitted as Core, Model};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert;
use crate::run::{run, threads};

/// A fitted model and everything its fit has to say.
#[pyclass(frozen, module = "mainstay._core")]
#[derive(Debug)]
pub(crate) struct Fitted(pub(crate) Arc<Core>);

impl Fitted {
    pub(crate) fn new(fitted: Core) -> Self {
        Self(Arc::new(fitted))
    }

    /// Asks the model about the rows of `x`, off the interpreter's lock.
    fn ask<T: Send + 'static>(
        &self,
        x: &Bound<'_, PyAny>,
        n_jobs: Option<i64>,
        question: impl FnOnce(&Model, &Matrix) -> mainstay::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let matrix = convert::matrix(x)?;
        let fitted = Arc::clone(&self.0);
        run(x.py(), threads(n_jobs)?, None, move |_| question(&fitted.model, &matrix))
    }
}

#[pymethods]
impl Fitted {
    /// Scores: (n,) for two classes, otherwise (n, K).
    #[pyo3(signature = (x, n_jobs=None))]
    fn decision<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        n_jobs: Option<i64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let scores = self.ask(x, n_jobs, Model::decision)?;
        if scores.ncols() == 1 {
            return Ok(PyArray1::from_slice(x.py(), scores.data()).into_any());
        }
        Ok(convert::array2(x.py(), &scores)?.into_any())
    }

    /// Class indices.
    #[pyo3(signature = (x, n_jobs=None))]
    fn predict<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        n_jobs: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let codes = self.ask(x, n_jobs, Model::predict)?;
        #[expect(clippy::cast_possible_wrap, reason = "class indices are small")]
        let codes = codes.into_iter().map(|code| code as i64);
        Ok(PyArray1::from_iter(x.py(), codes))
    }

    /// Class probabilities (n, K), or None where the model defines none.
    #[pyo3(signature = (x, n_jobs=None))]
    fn probabilities<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        n_jobs: Option<i64>,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let probabilities = self.ask(x, n_jobs, Model::probabilities)?;
        probabilities.map(|p| convert::array2(x.py(), &p)).transpose()
    }

    /// Results by name, without the trailing underscore.
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.0.named_results() {
            dict.set_item(name, convert::output(py, value)?)?;
        }
        Ok(dict)
    }

    /// (1, p) or (K, p) for a linear model, otherwise None.
    #[getter]
    fn coef<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        match &self.0.model {
            Model::Linear(m) => convert::rows(py, m.coef.iter().map(Vec::as_slice)).map(Some),
            Model::GaussianLinear(m) => {
                convert::rows(py, m.linear.coef.iter().map(Vec::as_slice)).map(Some)
            }
            Model::Calibrated(_) => match self.0.model.hyperplanes().or(self.0.model.weights()) {
                Some(m) => convert::rows(py, m.coef.iter().map(Vec::as_slice)).map(Some),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// (1,) or (K,) for a linear or kernel model, otherwise None.
    #[getter]
    fn intercept<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        match &self.0.model {
            Model::Linear(m) => Some(PyArray1::from_slice(py, &m.intercept)),
            Model::Kernel(m) => Some(PyArray1::from_slice(py, &m.intercept)),
            Model::Calibrated(m) => {
                match (self.0.model.hyperplanes().or(m.model.weights()), &*m.model) {
                    (Some(linear), _) => Some(PyArray1::from_slice(py, &linear.intercept)),
                    (None, Model::Kernel(kernel)) => {
                        Some(PyArray1::from_slice(py, &kernel.intercept))
                    }
                    (None, _) => None,
                }
            }
            Model::GaussianLinear(m) => Some(PyArray1::from_slice(py, &m.linear.intercept)),
            _ => None,
        }
    }

    /// Objective of every binary problem; empty where the method has no certificate.
    #[getter]
    fn objectives<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.0.certificates.iter().map(|c| c.primal))
    }

    /// The stages of the strategy that worked on the fit, in order.
    #[getter]
    fn route(&self) -> Vec<String> {
        self.0.route.clone()
    }

    /// The largest proven relative gap, or None.
    #[getter]
    fn dual_gap(&self) -> Option<f64> {
        self.0.dual_gap()
    }

    /// The gap that was asked for.
    #[getter]
    fn tol(&self) -> f64 {
        self.0.tol
    }

    /// Iterations of the solver, at least 1.
    #[getter]
    fn n_iter(&self) -> usize {
        self.0.n_iter
    }

    /// Whether the dual points behind the certificates were kept.
    #[getter]
    fn has_proof(&self) -> bool {
        self.0.proof.is_some()
    }

    /// Number of features a row must have.
    #[getter]
    fn n_features(&self) -> usize {
        self.0.model.n_features()
    }

    /// Number of classes.
    #[getter]
    fn n_classes(&self) -> usize {
        self.0.model.n_classes()
    }

    /// Plain sentences the user should read.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    /// "certified", "not-certified" or "no-certificate".
    #[getter]
    fn status(&self) -> &'static str {
        match self.0.status() {
            Status::Certified => "certified",
            Status::NotCertified => "not-certified",
            Status::NoCertificate => "no-certificate",
        }
    }

    /// The whole fit as text; `from_json` gives it back bit for bit.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&*self.0).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The fit behind a text of `to_json`, after checking it.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let fitted: Core = serde_json::from_str(text)
            .map_err(|e| PyValueError::new_err(format!("not a fitted model: {e}")))?;
        fitted.model.validate().map_err(|e| crate::run::to_python(&e))?;
        Ok(Self::new(fitted))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("from_json")?, (self.to_json()?,)))
    }

    fn __repr__(&self) -> String {
        format!("<mainstay._core.Fitted: {}, {} iterations>", self.status(), self.0.n_iter)
    }
}
