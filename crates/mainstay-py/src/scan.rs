//! Rows of files that are read in passes, for fits over partitions.
#![expect(clippy::needless_pass_by_value, reason = "arguments as PyO3 hands them over")]

use std::path::PathBuf;
use std::sync::Arc;

use mainstay::Error;
use mainstay::data::{EncoderOptions, Missing, Preparation};
use mainstay::partitioned::Ask;
use mainstay_io::{ChunkOptions, Input, Scan};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::files::{file_error, labels};
use crate::run::{run, threads, to_python};

/// The rows of files as features and classes, read in passes; they stay in memory if they fit into half of what is allowed.
#[pyclass(frozen, module = "mainstay._core")]
pub(crate) struct ScanRows {
    rows: Arc<mainstay_io::ScanRows>,
    threads: usize,
}

/// What the columns are for.
fn wishes(
    target: String,
    weights: Option<String>,
    categorical: Vec<String>,
    missing: Missing,
) -> Preparation {
    let encoder =
        EncoderOptions { missing, categorical, min_count: 1, ..EncoderOptions::default() };
    Preparation { target, weights, encoder, ..Preparation::default() }
}

/// Every column that is named must be there: otherwise all would be read, and become features.
fn check_columns(scan: &Scan) -> mainstay_io::Result<()> {
    let Some(names) = &scan.options().columns else { return Ok(()) };
    if let Some(Input::Table(table)) = scan.first()? {
        for name in names {
            table.column(name)?;
        }
    }
    Ok(())
}

#[pymethods]
impl ScanRows {
    /// Learns how the rows of all files become features for `method`; `errors` are columns of radii or semi-axes. With
    /// `keep=False` no rows stay in memory: for a single pass.
    #[new]
    #[pyo3(signature = (paths, method, target, *, columns=None, categorical=vec![], sample_weight=None, errors=vec![], impute=None, memory=None, n_jobs=None, keep=true))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of a Python function")]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        method: &str,
        target: String,
        columns: Option<Vec<String>>,
        categorical: Vec<String>,
        sample_weight: Option<String>,
        errors: Vec<String>,
        impute: Option<String>,
        memory: Option<u64>,
        n_jobs: Option<i64>,
        keep: bool,
    ) -> PyResult<Self> {
        let method = mainstay::methods::find(method).map_err(|e| to_python(&e))?;
        let impute = impute.map(|word| word.parse::<Missing>()).transpose();
        let impute = impute.map_err(|e| to_python(&e))?;
        let missing = mainstay_io::missing_rule(impute, method.nan, false);
        let mut options = ChunkOptions::default();
        options.read.categorical.clone_from(&categorical);
        options.columns = columns.map(|mut names| {
            names.extend(sample_weight.iter().chain([&target]).chain(&errors).cloned());
            names
        });
        let scan = py.detach(|| Scan::new(&paths, options)).map_err(file_error)?;
        let memory = memory.or_else(|| mainstay_io::available_memory().map(|free| free / 3));
        let mut wishes = wishes(target, sample_weight, categorical, missing);
        wishes.nan = method.nan;
        let threads = threads(n_jobs)?;
        let rows = run(py, threads, None, move |control| {
            check_columns(&scan)
                .and_then(|()| {
                    let wishes = (&wishes, errors.as_slice());
                    mainstay_io::ScanRows::learn_with_errors(scan, wishes, memory, control, None)
                })
                .map_err(mainstay_io::Error::into_core)
        })?;
        let rows = if keep { rows } else { rows.read_anew() };
        Ok(Self { rows: Arc::new(rows), threads })
    }

    /// The merged answer of all rows to `ask`: one pass.
    fn look<'py>(&self, py: Python<'py>, ask: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let ask = Ask::from_bytes(ask).map_err(|e| to_python(&e))?;
        let rows = Arc::clone(&self.rows);
        let message = run(py, self.threads, None, move |control| {
            let message = rows.answer(&ask, control)?;
            message.ok_or_else(|| Error::BadData("there is no row".into()))
        })?;
        Ok(PyBytes::new(py, &message.to_bytes()))
    }

    /// The classes, in order.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        labels(py, self.rows.classes())
    }

    /// Names of the features; None for LIBSVM files.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.rows.encoder().map(mainstay::data::Encoder::feature_names)
    }

    /// Number of rows.
    #[getter]
    fn n_rows(&self) -> usize {
        self.rows.rows()
    }

    /// Number of features.
    #[getter]
    fn n_features(&self) -> usize {
        self.rows.n_features()
    }

    /// What the user should know about the data.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.rows.notes().to_vec()
    }
}
