//! Raw columns from Python: arrays and words, or any frame with Arrow's C stream interface.
#![expect(clippy::needless_pass_by_value, reason = "arguments as PyO3 hands them over")]

use std::ffi::CStr;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use mainstay::data::{Cells, Column, Table as Core, WordList};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::files::file_error;
use crate::run::to_python;

/// What Arrow calls the capsule of a stream.
const STREAM: &CStr = c"arrow_array_stream";
/// What errors call a frame.
const NAME: &str = "X";

/// Named raw columns.
#[pyclass(frozen, module = "mainstay._core")]
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) inner: Core,
    /// Columns whose type says that they hold categories.
    categorical: Vec<String>,
}

/// A column of numbers, or the place of every cell in a list of words (negative: no value).
#[derive(FromPyObject)]
enum ColumnCells<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Words(PyReadonlyArray1<'py, i64>, Vec<String>),
}

#[pymethods]
impl Table {
    /// From names and as many columns: float64 arrays, or pairs of int64 codes and the words they stand for.
    #[staticmethod]
    #[pyo3(signature = (names, columns, categorical=Vec::new()))]
    fn from_columns(
        names: Vec<String>,
        columns: Vec<ColumnCells<'_>>,
        categorical: Vec<String>,
    ) -> PyResult<Self> {
        let cells = columns.iter().map(|part| match part {
            ColumnCells::Numbers(values) => Cells::Numbers(values.as_array().to_vec()),
            ColumnCells::Words(codes, words) => {
                let mut list = WordList::default();
                for code in codes.as_array() {
                    let word = usize::try_from(*code).ok().and_then(|k| words.get(k));
                    list.push(word.map(String::as_str));
                }
                Cells::Words(list)
            }
        });
        let columns = names.into_iter().zip(cells).map(|(name, cells)| Column { name, cells });
        let inner = Core::new(columns.collect()).map_err(|e| to_python(&e))?;
        Ok(Self { inner, categorical })
    }

    /// From the capsule that `__arrow_c_stream__` of a frame returns.
    #[staticmethod]
    #[expect(unsafe_code, reason = "Arrow's C interface hands over a pointer")]
    fn from_arrow(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds an initialised stream, by Arrow's PyCapsule interface. The reader takes
        // the stream over and leaves an empty one, so that the capsule's destructor finds nothing to release.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
        let reader = reader.map_err(|e| PyValueError::new_err(format!("{NAME}: {e}")))?;
        let schema = reader.schema();
        let dictionaries = schema.fields().iter().filter(|f| f.dict_is_ordered().is_some());
        let categorical = dictionaries.map(|field| field.name().clone()).collect();
        let inner = mainstay_io::table_from_arrow(reader, NAME).map_err(file_error)?;
        Ok(Self { inner, categorical })
    }

    /// Number of rows.
    #[getter]
    fn nrows(&self) -> usize {
        self.inner.nrows()
    }

    /// Names of the columns.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.inner.names().collect()
    }

    /// Columns whose type says that they hold categories.
    #[getter]
    fn categorical(&self) -> Vec<String> {
        self.categorical.clone()
    }

    /// The cells of a column as text; None where there is no value.
    fn texts(&self, name: &str) -> PyResult<Vec<Option<String>>> {
        let column = self.inner.column(name).map_err(|e| to_python(&e))?;
        Ok((0..self.inner.nrows()).map(|i| column.text(i)).collect())
    }

    /// Number of cells without a value in every column.
    fn gaps(&self) -> Vec<usize> {
        let count = |c: &Column| (0..c.len()).filter(|&i| c.is_missing(i)).count();
        self.inner.columns().iter().map(count).collect()
    }
}
