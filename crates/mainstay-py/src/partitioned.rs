//! Fits over partitions: driver, looks and merges as bytes, so that any engine can carry them.

use std::sync::{Mutex, PoisonError};

use mainstay::Error;
use mainstay::partitioned::{self, Ask, Block, MergeTree, Message, Step};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::fitted::Fitted;
use crate::run::to_python;
use crate::{class_indices, convert};

/// A fit over partitions: asks, and takes the merged answers of all partitions in.
#[pyclass(frozen, module = "mainstay._core")]
#[derive(Debug)]
pub(crate) struct Driver(Mutex<partitioned::Driver>);

/// The next ask, or the fit.
type Next<'py> = (Option<Bound<'py, PyBytes>>, Option<Fitted>);

impl Driver {
    fn with<T>(&self, work: impl FnOnce(&mut partitioned::Driver) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Driver {
    /// A fit of the method called `method`; `checkpoint` is where an earlier one was, `curvature_rows` how many rows per
    /// column tell the curvature.
    #[new]
    #[pyo3(signature = (method, params, checkpoint=None, curvature_rows=None))]
    fn new(
        method: &str,
        params: &Bound<'_, PyDict>,
        checkpoint: Option<&[u8]>,
        curvature_rows: Option<usize>,
    ) -> PyResult<Self> {
        let params = convert::dict_to_json(params)?;
        let driver = mainstay::methods::driver(method, &params)
            .and_then(|d| d.with_curvature_rows(curvature_rows));
        let driver = match checkpoint {
            Some(bytes) => driver.and_then(|d| d.resume(bytes)),
            None => driver,
        };
        Ok(Self(Mutex::new(driver.map_err(|e| to_python(&e))?)))
    }

    /// Takes the merged answer to the last ask in (None at the start) and returns the next ask, or the fit.
    #[pyo3(signature = (message=None))]
    fn next<'py>(&self, py: Python<'py>, message: Option<&[u8]>) -> PyResult<Next<'py>> {
        let message = message.map(Message::from_bytes).transpose().map_err(|e| to_python(&e))?;
        let step = py.detach(|| self.with(|driver| driver.next(message)));
        match step.map_err(|e| to_python(&e))? {
            Step::Ask(ask) => Ok((Some(PyBytes::new(py, &ask.to_bytes())), None)),
            Step::Done(fitted) => Ok((None, Some(Fitted::new(*fitted)))),
        }
    }

    /// Where the fit is; None before the first look.
    fn checkpoint<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.with(|driver| driver.checkpoint()).map(|bytes| PyBytes::new(py, &bytes))
    }

    /// Looks at all rows so far.
    #[getter]
    fn passes(&self) -> usize {
        self.with(|driver| driver.passes())
    }

    /// The largest proven gap over the classes.
    #[getter]
    fn gap(&self) -> f64 {
        self.with(|driver| driver.gap())
    }

    /// Rows of all partitions, once they are counted.
    #[getter]
    fn rows(&self) -> Option<usize> {
        self.with(|driver| driver.rows())
    }
}

/// The answer of one partition to `ask`. `y` holds class indices; in the first look they count `names`.
#[pyfunction]
#[pyo3(signature = (ask, partition, x, y, *, sample_weight=None, names=None))]
#[expect(clippy::needless_pass_by_value, reason = "the arguments of a Python function")]
pub(crate) fn look<'py>(
    ask: &[u8],
    partition: usize,
    x: &Bound<'py, PyAny>,
    y: PyReadonlyArray1<'py, i64>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    names: Option<Vec<String>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = x.py();
    let (matrix, labels) = (convert::matrix(x)?, class_indices(&y)?);
    let weights = sample_weight.map(|w| w.as_array().to_vec());
    let answer = py.detach(|| {
        let ask = Ask::from_bytes(ask)?;
        let block = Block::new(partition, matrix, labels, weights);
        let block = block.with_names(names.unwrap_or_default());
        partitioned::look(&block, &ask).map(|message| message.to_bytes())
    });
    answer.map(|bytes| PyBytes::new(py, &bytes)).map_err(|e| to_python(&e))
}

/// Messages in partition order as one.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the arguments of a Python function")]
pub(crate) fn merge_messages(
    py: Python<'_>,
    messages: Vec<Vec<u8>>,
) -> PyResult<Bound<'_, PyBytes>> {
    let merged = py.detach(|| {
        let mut tree = MergeTree::new();
        for bytes in &messages {
            tree.push(Message::from_bytes(bytes)?)?;
        }
        tree.finish()?.ok_or_else(|| Error::BadData("there is no message to merge".into()))
    });
    merged.map(|m| PyBytes::new(py, &m.to_bytes())).map_err(|e| to_python(&e))
}

/// What the classes of a first look are called.
#[pyfunction]
pub(crate) fn message_classes(message: &[u8]) -> PyResult<Vec<String>> {
    let message = Message::from_bytes(message).map_err(|e| to_python(&e))?;
    let names = message.class_names().map(<[String]>::to_vec);
    names.ok_or_else(|| PyValueError::new_err("only the first look names classes"))
}

/// A first look with its classes in another order: number `order[c]` becomes number `c`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the arguments of a Python function")]
pub(crate) fn reorder_classes<'py>(
    py: Python<'py>,
    message: &[u8],
    order: Vec<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut message = Message::from_bytes(message).map_err(|e| to_python(&e))?;
    message.reorder_classes(&order).map_err(|e| to_python(&e))?;
    Ok(PyBytes::new(py, &message.to_bytes()))
}
