//! Certificates of single predictions, and the report.

use std::sync::Arc;

use mainstay::certify::{Attack, Options, RowCertificates, certify_model};
use mainstay::data::{Dataset, Shape};
use mainstay::linalg::Matrix;
use mainstay::model::{Fitted as Core, Linear, Link, Model};
use mainstay::uncertainty::ellipsoid::Ellipsoids;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert;
use crate::fitted::Fitted;
use crate::run::{run, threads, to_python};

/// A fit of ours, or the hyperplanes of anybody's linear model.
enum Certified {
    Fit(Arc<Core>),
    Planes(Box<Model>),
}

impl Certified {
    fn new(model: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(fitted) = model.cast::<Fitted>() {
            return Ok(Self::Fit(Arc::clone(&fitted.get().0)));
        }
        let (coef, intercept): (PyReadonlyArray2<'_, f64>, PyReadonlyArray1<'_, f64>) =
            model.extract()?;
        let linear = Linear {
            coef: coef.as_array().rows().into_iter().map(|row| row.to_vec()).collect(),
            intercept: intercept.as_array().to_vec(),
            link: Link::None,
        };
        linear.validate().map_err(|e| to_python(&e))?;
        Ok(Self::Planes(Box::new(Model::Linear(linear))))
    }

    fn model(&self) -> &Model {
        match self {
            Self::Fit(fitted) => &fitted.model,
            Self::Planes(model) => model,
        }
    }
}

fn attack(name: &str) -> PyResult<Attack> {
    let all = [
        Attack::L2,
        Attack::L1,
        Attack::Linf,
        Attack::Ellipsoid,
        Attack::Deletions,
        Attack::DeletionValue,
    ];
    all.into_iter().find(|a| a.name() == name).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|a| a.name()).collect();
        PyValueError::new_err(format!("`witness` = {name:?}: must be one of {}", names.join(", ")))
    })
}

/// How much it takes to flip the prediction of every row of `x`, by column.
///
/// `model` is a `Fitted`, or (`coef`, `intercept`) of a linear model with one row for two classes.
#[pyfunction]
#[pyo3(signature = (model, x, *, uncertainty=None, values=None, witness=None, n_jobs=None))]
pub(crate) fn certify<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyAny>,
    x: &Bound<'py, PyAny>,
    uncertainty: Option<&Bound<'py, PyAny>>,
    values: Option<PyReadonlyArray1<'py, f64>>,
    witness: Option<&str>,
    n_jobs: Option<i64>,
) -> PyResult<Bound<'py, PyDict>> {
    let model = Certified::new(model)?;
    let x: Matrix = convert::matrix(x)?;
    let uncertainty = uncertainty.map(convert::uncertainty).transpose()?;
    let values = values.map(|v| v.as_array().to_vec());
    let witness = witness.map(attack).transpose()?;
    let found = run(py, threads(n_jobs)?, None, move |control| {
        let ellipsoids = match uncertainty {
            None => None,
            Some(given) => {
                // Ellipsoids belong to rows of a data set; its labels play no part.
                let labels = vec![0; x.nrows()];
                let rows = Dataset::batch(x.clone(), labels, 1, None)?.with_uncertainty(given)?;
                Some(Ellipsoids::new(&rows, &Shape::Ball(0.0))?)
            }
        };
        let shape = ellipsoids.as_ref().map(|e| |i: usize, d: &[f64]| e.row(i).image(d));
        let options = Options {
            ellipsoid: shape.as_ref().map(|s| s as _),
            values: values.as_deref(),
            witness,
        };
        certify_model(model.model(), &x, &options, control)
    })?;
    columns(py, &found)
}

fn columns<'py>(py: Python<'py>, found: &RowCertificates) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    #[expect(clippy::cast_possible_wrap, reason = "class indices are small")]
    let predicted = found.predicted.iter().map(|&k| k as i64);
    dict.set_item("predicted", PyArray1::from_iter(py, predicted))?;
    dict.set_item("margin", PyArray1::from_slice(py, &found.margin))?;
    dict.set_item("radius_l2", PyArray1::from_slice(py, &found.radius_l2))?;
    dict.set_item("radius_l1", PyArray1::from_slice(py, &found.radius_l1))?;
    dict.set_item("radius_linf", PyArray1::from_slice(py, &found.radius_linf))?;
    if let Some(radii) = &found.radius_ellipsoid {
        dict.set_item("radius_ellipsoid", PyArray1::from_slice(py, radii))?;
    }
    dict.set_item("deletions", PyArray1::from_slice(py, &found.deletions))?;
    dict.set_item("deletion_value", PyArray1::from_slice(py, &found.deletion_value))?;
    if let Some(upper) = &found.deletion_value_upper {
        dict.set_item("deletion_value_upper", PyArray1::from_slice(py, upper))?;
    }
    if let Some(witness) = &found.witness {
        dict.set_item("witness", convert::array2(py, witness)?)?;
    }
    Ok(dict)
}
