//! The Gaussian model of the features, and predictions that average over what it leaves open.

use std::sync::Arc;

use mainstay::linalg::{Dense, Matrix};
use mainstay::model::{GaussianLinear, Linear, Link, Model};
use mainstay::uncertainty::feature_model::{FeatureModel as Core, Rows, Shrinkage};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert;
use crate::fitted::Fitted;
use crate::run::{run, threads, to_python};

/// Mean and shrunk covariance of the features.
#[pyclass(frozen, module = "mainstay._core")]
#[derive(Debug)]
pub(crate) struct FeatureModel(Arc<Core>);

type Scatters<'py> = Vec<(Vec<usize>, Bound<'py, PyArray2<f64>>)>;
/// Mean of every row, its group, and the scatter of every group.
type Posteriors<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<i64>>, Scatters<'py>);

fn dense(x: &Bound<'_, PyAny>) -> PyResult<Dense> {
    Ok(match convert::matrix(x)? {
        Matrix::Dense(dense) => dense,
        sparse @ Matrix::Sparse(_) => sparse.to_dense(),
    })
}

fn errors(errors: Option<&PyReadonlyArray2<'_, f64>>) -> Option<Dense> {
    errors.map(|e| {
        let view = e.as_array();
        Dense::from_rows(view.nrows(), view.ncols(), view.iter().copied().collect())
    })
}

#[pymethods]
impl FeatureModel {
    /// Learns from rows in which NaN is a missing cell.
    #[new]
    #[pyo3(signature = (x, shrinkage, *, errors=None, sample_weight=None, n_jobs=None))]
    #[expect(clippy::needless_pass_by_value, reason = "the arguments of a Python function")]
    fn new(
        x: &Bound<'_, PyAny>,
        shrinkage: &Bound<'_, PyAny>,
        errors: Option<PyReadonlyArray2<'_, f64>>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        n_jobs: Option<i64>,
    ) -> PyResult<Self> {
        let shrinkage: Shrinkage =
            serde_json::from_value(convert::to_json("shrinkage", shrinkage)?)
                .map_err(|e| PyValueError::new_err(format!("`shrinkage`: {e}")))?;
        let (rows, known) = (dense(x)?, self::errors(errors.as_ref()));
        let weights = sample_weight.map(|w| w.as_array().to_vec());
        let model = run(x.py(), threads(n_jobs)?, None, move |control| {
            let rows = Rows { x: &rows, weights: weights.as_deref(), errors: known.as_ref() };
            Core::learn(rows, shrinkage, control)
        })?;
        Ok(Self(Arc::new(model)))
    }

    /// Mean of every row, its group, and for every group the uncertain features and a factor F of their covariance
    /// F F'.
    #[pyo3(signature = (x, errors=None, n_jobs=None))]
    #[expect(clippy::needless_pass_by_value, reason = "the arguments of a Python function")]
    fn posterior<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        errors: Option<PyReadonlyArray2<'py, f64>>,
        n_jobs: Option<i64>,
    ) -> PyResult<Posteriors<'py>> {
        let (rows, known, model) = (dense(x)?, self::errors(errors.as_ref()), Arc::clone(&self.0));
        let found =
            run(x.py(), threads(n_jobs)?, None, move |_| model.posterior(&rows, known.as_ref()))?;
        let scatters = found
            .scatters
            .iter()
            .map(|s| Ok((s.features.clone(), convert::array2(x.py(), &s.whole_factor())?)));
        let scatters = scatters.collect::<PyResult<Scatters<'py>>>()?;
        #[expect(clippy::cast_possible_wrap, reason = "row counts fit")]
        let group = PyArray1::from_iter(x.py(), found.group.iter().map(|&g| g as i64));
        Ok((convert::array2(x.py(), &found.mean)?, group, scatters))
    }

    /// Mean of every feature.
    #[getter]
    fn means<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.means)
    }

    /// The shrunk covariance matrix.
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        convert::array2(py, &self.0.covariance())
    }

    /// Class probabilities of a logistic model, averaged over what is not known of each row.
    #[pyo3(signature = (coef, intercept, x, *, errors=None, base_rates=None, n_jobs=None))]
    #[expect(clippy::needless_pass_by_value, reason = "the arguments of a Python function")]
    fn averaged<'py>(
        &self,
        coef: PyReadonlyArray2<'py, f64>,
        intercept: PyReadonlyArray1<'py, f64>,
        x: &Bound<'py, PyAny>,
        errors: Option<PyReadonlyArray2<'py, f64>>,
        base_rates: Option<Vec<f64>>,
        n_jobs: Option<i64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let linear = Linear {
            coef: coef.as_array().outer_iter().map(|row| row.to_vec()).collect(),
            intercept: intercept.as_array().to_vec(),
            link: Link::Logistic,
        };
        let (rows, known) = (convert::matrix(x)?, self::errors(errors.as_ref()));
        let features = (*self.0).clone();
        let found = run(x.py(), threads(n_jobs)?, None, move |_| {
            let mut model = GaussianLinear::new(linear, features, Vec::new(), [0.0; 2], 0.0);
            if let Some(rates) = base_rates {
                model = model.with_base_rates(&rates)?;
            }
            model.probabilities(&rows, known.as_ref())
        })?;
        convert::array2(x.py(), &found)
    }

    /// How far the correlations were shrunk.
    #[getter]
    fn shrinkage(&self) -> f64 {
        self.0.shrinkage
    }

    /// Steps of the EM algorithm.
    #[getter]
    fn n_iter(&self) -> usize {
        self.0.n_iter
    }

    /// The model as text; `from_json` gives it back bit for bit.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&*self.0).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The model behind a text of `to_json`, after checking it.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let model: Core = serde_json::from_str(text)
            .map_err(|e| PyValueError::new_err(format!("not a feature model: {e}")))?;
        model.validate().map_err(|e| to_python(&e))?;
        Ok(Self(Arc::new(model)))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("from_json")?, (self.to_json()?,)))
    }
}

/// The feature model inside a fit, or None.
#[pyfunction]
pub(crate) fn fitted_features(fitted: &Fitted) -> Option<FeatureModel> {
    match &fitted.0.model {
        Model::GaussianLinear(m) => Some(FeatureModel(Arc::new(m.features.clone()))),
        _ => None,
    }
}

/// Whether a fit makes its own sense of missing cells.
#[pyfunction]
pub(crate) fn fills_cells(fitted: &Fitted) -> bool {
    fitted.0.model.fills_cells()
}

/// Rows with every missing cell at its mean given the others, by the fit's model of the features.
#[pyfunction]
pub(crate) fn filled<'py>(
    py: Python<'py>,
    fitted: &Fitted,
    x: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (core, x) = (Arc::clone(&fitted.0), convert::matrix(x)?);
    let rows = run(py, threads(None)?, None, move |_| {
        Ok(core.model.filled(&x)?.unwrap_or_else(|| x.to_dense()))
    })?;
    convert::array2(py, &rows)
}

/// Scores (n, 1) or (n, K), or probabilities (n, K), of rows measured with the given errors.
#[pyfunction]
#[pyo3(signature = (fitted, x, errors, probabilities, n_jobs=None))]
#[expect(clippy::needless_pass_by_value, reason = "the arguments of a Python function")]
pub(crate) fn inexact_scores<'py>(
    fitted: &Fitted,
    x: &Bound<'py, PyAny>,
    errors: PyReadonlyArray2<'py, f64>,
    probabilities: bool,
    n_jobs: Option<i64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (rows, known, fit) =
        (convert::matrix(x)?, self::errors(Some(&errors)), Arc::clone(&fitted.0));
    let scores = run(x.py(), threads(n_jobs)?, None, move |_| match &fit.model {
        Model::GaussianLinear(m) if probabilities => m.probabilities(&rows, known.as_ref()),
        Model::GaussianLinear(m) => m.decision(&rows, known.as_ref()),
        _ => Err(mainstay::Error::Mismatch("this model has no use for errors of its rows".into())),
    })?;
    convert::array2(x.py(), &scores)
}
