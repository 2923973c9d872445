//! Fits over partitions: driver, looks and merges as bytes, so that any engine can carry them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay::Error;
use mainstay::linalg::Dense;
use mainstay::partitioned::{self, Ask, Block, MergeTree, Message, Proof, Step};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};

use crate::fitted::Fitted;
use crate::run::{run, threads, to_python};
use crate::{class_indices, convert};

/// A fit over partitions: asks, and takes the merged answers of all partitions in.
#[pyclass(frozen, module = "mainstay._core")]
#[derive(Debug)]
pub(crate) struct Driver(Arc<Mutex<partitioned::Driver>>);

/// The next ask, or the fit.
type Next<'py> = (Option<Bound<'py, PyBytes>>, Option<Fitted>);

impl Driver {
    fn with<T>(&self, work: impl FnOnce(&mut partitioned::Driver) -> T) -> T {
        work(&mut lock(&self.0))
    }
}

fn lock(driver: &Mutex<partitioned::Driver>) -> MutexGuard<'_, partitioned::Driver> {
    driver.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Driver {
    /// A fit of the method called `method`; `checkpoint` is where an earlier one was, `curvature_rows` how many rows per
    /// column tell the curvature, `rows` about how many rows there are.
    #[new]
    #[pyo3(signature = (method, params, checkpoint=None, curvature_rows=None, rows=None))]
    fn new(
        method: &str,
        params: &Bound<'_, PyDict>,
        checkpoint: Option<&[u8]>,
        curvature_rows: Option<usize>,
        rows: Option<usize>,
    ) -> PyResult<Self> {
        let params = convert::dict_to_json(params)?;
        let driver = mainstay::methods::driver(method, &params)
            .and_then(|d| d.expecting(rows).with_curvature_rows(curvature_rows));
        let driver = match checkpoint {
            Some(bytes) => driver.and_then(|d| d.resume(bytes)),
            None => driver,
        };
        Ok(Self(Arc::new(Mutex::new(driver.map_err(|e| to_python(&e))?))))
    }

    /// Takes the merged answer to the last ask in (None at the start) and returns the next ask, or the fit.
    #[pyo3(signature = (message=None))]
    fn next<'py>(&self, py: Python<'py>, message: Option<&[u8]>) -> PyResult<Next<'py>> {
        let message = message.map(Message::from_bytes).transpose().map_err(|e| to_python(&e))?;
        let driver = Arc::clone(&self.0);
        // Between the passes nothing else is done: every core may help.
        let cores = threads(Some(-1))?;
        match run(py, cores, None, move |_| lock(&driver).next(message))? {
            Step::Ask(ask) => Ok((Some(PyBytes::new(py, &ask.to_bytes())), None)),
            Step::Done(fitted) => Ok((None, Some(Fitted::new(*fitted)))),
        }
    }

    /// Where the fit is; None before the first look.
    fn checkpoint<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.with(|driver| driver.checkpoint()).map(|bytes| PyBytes::new(py, &bytes))
    }

    /// What proves the bounds again in one pass: an argument of `proof_ask` and `proof_bounds`. None where there is no
    /// such proof.
    fn proof<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let proof = self.with(|driver| driver.proof());
        proof.map(|proof| PyBytes::new(py, &proof.to_bytes()))
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

/// One partition: its number, features, class indices, weights, names of its classes, and errors (one column of radii, or
/// one of semi-axes for every feature).
type Partition<'py> = (
    usize,
    Bound<'py, PyAny>,
    PyReadonlyArray1<'py, i64>,
    Option<PyReadonlyArray1<'py, f64>>,
    Option<Vec<String>>,
    Option<PyReadonlyArray2<'py, f64>>,
);

fn block(part: Partition<'_>) -> PyResult<Block<'static>> {
    let (partition, x, y, weights, names, errors) = part;
    let (matrix, labels) = (convert::matrix(&x)?, class_indices(&y)?);
    let weights = weights.map(|w| w.as_array().to_vec());
    let block =
        Block::new(partition, matrix, labels, weights).with_names(names.unwrap_or_default());
    Ok(match errors {
        Some(errors) => {
            let (rows, columns) = errors.as_array().dim();
            let values = errors.as_array().iter().copied().collect();
            block.with_errors(Dense::from_rows(rows, columns, values))
        }
        None => block,
    })
}

/// The answers of neighbouring partitions to `ask`, each `size` of them merged into one. In the first look class indices
/// count the names of their partition.
#[pyfunction]
pub(crate) fn look<'py>(
    py: Python<'py>,
    ask: &[u8],
    parts: Vec<Partition<'py>>,
    size: usize,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let blocks = parts.into_iter().map(block).collect::<PyResult<Vec<_>>>()?;
    let ask = Ask::from_bytes(ask).map_err(|e| to_python(&e))?;
    // One thread: how many looks are taken at a time is the caller's choice.
    let answers = run(py, threads(None)?, None, move |_| {
        let merged = |blocks: &[Block<'static>]| {
            let mut tree = MergeTree::new();
            for block in blocks {
                tree.push(partitioned::look(block, &ask)?)?;
            }
            let merged = tree.finish()?.map(|message| message.to_bytes());
            merged.ok_or_else(|| Error::BadData("there is no partition to look at".into()))
        };
        blocks.chunks(size.max(1)).map(merged).collect::<Result<Vec<_>, Error>>()
    })?;
    Ok(answers.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
}

/// Messages in partition order as one.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the arguments of a Python function")]
pub(crate) fn merge_messages(
    py: Python<'_>,
    messages: Vec<PyBackedBytes>,
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

/// Whether every partition needs the answer of the one before it.
#[pyfunction]
pub(crate) fn in_sequence(ask: &[u8]) -> PyResult<bool> {
    Ask::from_bytes(ask).map(|ask| ask.in_sequence()).map_err(|e| to_python(&e))
}

/// What the partition behind the one that gave `message` is asked.
#[pyfunction]
pub(crate) fn ask_after<'py>(
    py: Python<'py>,
    ask: &[u8],
    message: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let next = Ask::from_bytes(ask).and_then(|ask| Ok(ask.after(&Message::from_bytes(message)?)));
    next.map(|ask| PyBytes::new(py, &ask.to_bytes())).map_err(|e| to_python(&e))
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

/// What all partitions are to be asked to prove the bounds of a fit again.
#[pyfunction]
pub(crate) fn proof_ask<'py>(py: Python<'py>, proof: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let proof = Proof::from_bytes(proof).map_err(|e| to_python(&e))?;
    Ok(PyBytes::new(py, &proof.ask().to_bytes()))
}

/// Upper and lower bound of every problem of a fit, from the merged answer to `proof_ask`.
#[pyfunction]
pub(crate) fn proof_bounds(proof: &[u8], message: &[u8]) -> PyResult<Vec<(f64, f64)>> {
    let bounds = Proof::from_bytes(proof)
        .and_then(|proof| proof.bounds(Message::from_bytes(message)?))
        .map_err(|e| to_python(&e))?;
    Ok(bounds.iter().map(|bound| (bound.primal, bound.dual)).collect())
}
