//! The library's encoder of raw tables, and the scaling behind it, for Python.
#![expect(clippy::needless_pass_by_value, reason = "arguments as PyO3 hands them over")]

use mainstay::data::{
    Encoder as Core, EncoderOptions, Encoding, Gaps, Missing, Standardize, Treatment,
};
use mainstay::linalg::{Csr, Matrix};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::convert;
use crate::run::{run, threads, to_python};
use crate::table::Table;
use crate::words;

/// How raw columns become features.
#[pyclass(frozen, module = "mainstay._core")]
#[derive(Debug, Clone)]
pub(crate) struct Encoder(pub(crate) Core);

/// Means and scales, or neither.
type Scaling<'py> = Option<(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>;
/// Features, and for columns with unseen categories how many cells hold them.
type Features<'py> = (Bound<'py, PyAny>, Vec<(String, usize)>);
/// Means and scales.
type Learned<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Encoder {
    /// Learns from a table; `aside` are columns that never become features.
    #[staticmethod]
    #[pyo3(signature = (table, *, missing, aside, gaps=None, usual_gaps=true, categorical=Vec::new(), keep=Vec::new(), min_count=1, reference=Vec::new(), drop_first=false))]
    #[expect(clippy::too_many_arguments, reason = "the options by name")]
    fn learn(
        py: Python<'_>,
        table: &Bound<'_, Table>,
        missing: &str,
        aside: Vec<String>,
        gaps: Option<Vec<String>>,
        usual_gaps: bool,
        categorical: Vec<String>,
        keep: Vec<String>,
        min_count: usize,
        reference: Vec<(String, String)>,
        drop_first: bool,
    ) -> PyResult<Self> {
        let gaps = match gaps {
            None if usual_gaps => Gaps::default(),
            Some(words) if usual_gaps => Gaps::also(words),
            words => Gaps::new(words.unwrap_or_default()),
        };
        let missing = missing_rule(missing)?;
        let options =
            EncoderOptions { missing, gaps, categorical, keep, min_count, reference, drop_first };
        let mut rest = table.get().inner.clone();
        for name in &aside {
            rest.take(name).map_err(|e| to_python(&e))?;
        }
        run(py, threads(None)?, None, move |_| Core::learn_with(&rest, &options)).map(Self)
    }

    /// The features of a table, in raw units or scaled: (a float64 array, or the parts of a CSR matrix where
    /// `dense` is false and most entries are 0; the columns with unseen categories and how many cells).
    #[pyo3(signature = (table, *, scaling=None, dense=true))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, Table>,
        scaling: Scaling<'py>,
        dense: bool,
    ) -> PyResult<Features<'py>> {
        let (encoder, table) = (self.0.clone(), table.clone().unbind());
        let scaling = scaling.as_ref().map(scaling_of);
        let (features, unseen) = run(py, threads(None)?, None, move |_| {
            let encoded = encoder.encode(&table.get().inner)?;
            let features = match scaling {
                Some(scaling) => scaling.apply_stored(&encoded.features),
                None => encoded.features,
            };
            Ok((features, encoded.unseen))
        })?;
        let features = match features {
            Matrix::Sparse(csr) if !dense => parts(py, &csr)?.into_any(),
            features => convert::array2(py, &features.to_dense())?.into_any(),
        };
        Ok((features, unseen))
    }

    /// Means and scales by which the features of a table are standardised, as the command line does.
    #[pyo3(signature = (table, weights=None))]
    fn scaling<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, Table>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<Learned<'py>> {
        let (encoder, table) = (self.0.clone(), table.clone().unbind());
        let weights = weights.map(|w| w.as_array().to_vec());
        let learned = run(py, threads(None)?, None, move |_| {
            let encoded = encoder.encode(&table.get().inner)?;
            Ok(Standardize::learn_stored(&encoded.features, weights.as_deref()))
        })?;
        Ok((PyArray1::from_vec(py, learned.means), PyArray1::from_vec(py, learned.scales)))
    }

    /// Names of the features.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.0.feature_names()
    }

    /// The raw columns that become features, and how: "number", "date" or "categories".
    #[getter]
    fn columns(&self) -> Vec<(&str, &'static str)> {
        let kind = |encoding: &Encoding| match encoding {
            Encoding::Numeric { .. } => "number",
            Encoding::Date { .. } => "date",
            Encoding::Categorical { .. } => "categories",
        };
        self.0.columns().map(|(name, encoding)| (name, kind(encoding))).collect()
    }

    /// The categories of a column in the order of its features, the reference without one first.
    fn categories(&self, column: &str) -> Option<Vec<String>> {
        let (_, encoding) = self.0.columns().find(|(name, _)| *name == column)?;
        let Encoding::Categorical { categories, .. } = encoding else { return None };
        Some(categories.clone())
    }

    /// Columns that are left out, and why.
    #[getter]
    fn left_out(&self) -> Vec<(&str, &str)> {
        self.0.left_out().iter().map(|l| (l.column.as_str(), l.why.as_str())).collect()
    }

    /// What the user should know, given the number of rows learned from: (whether a column is left out, a sentence).
    fn notes(&self, nrows: usize) -> Vec<(bool, String)> {
        let gone: Vec<String> = (self.0.plan().into_iter())
            .filter(|plan| plan.treatment == Treatment::LeftOut)
            .map(|plan| format!("column `{}` is left out", plan.column))
            .collect();
        let note = |text: String| (gone.iter().any(|g| text.starts_with(g)), words::python(&text));
        self.0.notes(nrows).into_iter().map(note).collect()
    }

    /// What becomes of missing cells.
    #[getter]
    fn missing(&self) -> PyResult<String> {
        let word = serde_json::to_value(self.0.missing()).ok();
        let word = word.as_ref().and_then(serde_json::Value::as_str).map(str::to_owned);
        word.ok_or_else(|| PyValueError::new_err("the rule for missing cells has no name"))
    }

    /// Words for "no value" other than the usual ones.
    #[getter]
    fn gaps(&self) -> PyResult<Option<Vec<String>>> {
        let list = serde_json::to_value(self.0.gaps()).and_then(serde_json::from_value);
        list.map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The whole encoder as text, as model files hold it; `from_json` gives it back.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The encoder behind a text of `to_json`, after checking it.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let encoder: Core = serde_json::from_str(text)
            .map_err(|e| PyValueError::new_err(format!("not an encoder: {e}")))?;
        encoder.validate().map_err(|e| to_python(&e))?;
        Ok(Self(encoder))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("from_json")?, (self.to_json()?,)))
    }
}

fn missing_rule(word: &str) -> PyResult<Missing> {
    match word {
        "refuse" => Ok(Missing::Refuse),
        "keep" => Ok(Missing::Keep),
        word => word.parse().map_err(|e| to_python(&e)),
    }
}

pub(crate) fn scaling_of(
    (means, scales): &(PyReadonlyArray1<'_, f64>, PyReadonlyArray1<'_, f64>),
) -> Standardize {
    Standardize { means: means.as_array().to_vec(), scales: scales.as_array().to_vec() }
}

/// The arrays of a CSR matrix as scipy takes them: `indptr`, `indices`, `data`, number of columns.
fn parts<'py>(py: Python<'py>, csr: &Csr) -> PyResult<Bound<'py, PyTuple>> {
    let (mut starts, mut indices) = (vec![0_i64], Vec::with_capacity(csr.values().len()));
    for i in 0..csr.nrows() {
        let columns = csr.row(i).0;
        indices.extend(columns.iter().map(|&j| i64::from(j)));
        starts.push(i64::try_from(indices.len()).unwrap_or(i64::MAX));
    }
    let arrays = (PyArray1::from_vec(py, starts), PyArray1::from_vec(py, indices));
    (arrays.0, arrays.1, PyArray1::from_slice(py, csr.values()), csr.ncols()).into_pyobject(py)
}
