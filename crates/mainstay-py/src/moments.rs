//! Sums over rows that arrive in batches, as a Python object.

use std::sync::{Mutex, PoisonError};

use mainstay::eigen::{Moments as Core, RegecParams};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::fitted::Fitted;
use crate::run::{run, threads, to_python};
use crate::{Rows, convert};

/// What ReGEC needs to know about the rows seen so far.
#[pyclass(frozen, module = "mainstay._core")]
#[derive(Debug)]
pub(crate) struct Moments(Mutex<Core>);

impl Moments {
    fn get(&self) -> Core {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[pymethods]
impl Moments {
    /// Sums over the rows of `x`.
    #[new]
    #[pyo3(signature = (x, y, n_classes, sample_weight=None))]
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
    fn new(
        x: &Bound<'_, PyAny>,
        y: PyReadonlyArray1<'_, i64>,
        n_classes: usize,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let rows = Rows::new(x, &y, n_classes, sample_weight.as_ref(), None)?;
        let sums = run(x.py(), 1, None, move |control| Core::new(&rows.batch()?, control))?;
        Ok(Self(Mutex::new(sums)))
    }

    /// Adds later rows.
    #[pyo3(signature = (x, y, n_classes, sample_weight=None))]
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 hands arguments over")]
    fn add(
        &self,
        x: &Bound<'_, PyAny>,
        y: PyReadonlyArray1<'_, i64>,
        n_classes: usize,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<()> {
        let rows = Rows::new(x, &y, n_classes, sample_weight.as_ref(), None)?;
        let mut sums = self.get();
        let sums = run(x.py(), 1, None, move |control| {
            sums.add(&rows.batch()?, control)?;
            Ok(sums)
        })?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sums;
        Ok(())
    }

    /// Adds sums taken elsewhere.
    fn merge(&self, other: &Self) -> PyResult<()> {
        let mut sums = self.get();
        sums.merge(&other.get()).map_err(|e| to_python(&e))?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sums;
        Ok(())
    }

    /// Rows of positive weight seen, by class.
    #[getter]
    fn counts(&self) -> Vec<usize> {
        self.get().counts().to_vec()
    }

    /// The planes of the rows seen so far.
    fn fit(&self, py: Python<'_>, params: &Bound<'_, PyDict>) -> PyResult<Fitted> {
        let params = serde_json::from_value::<RegecParams>(convert::dict_to_json(params)?)
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        let estimator = params.check().map_err(|e| to_python(&e))?;
        let sums = self.get();
        let fitted =
            run(py, threads(None)?, None, move |control| estimator.fit_moments(&sums, control))?;
        Ok(Fitted::new(fitted))
    }

    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.get()).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let sums: Core = serde_json::from_str(text)
            .map_err(|e| PyValueError::new_err(format!("not sums of rows: {e}")))?;
        Ok(Self(Mutex::new(sums)))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("from_json")?, (self.to_json()?,)))
    }
}
