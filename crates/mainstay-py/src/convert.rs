//! Values at the border: parameters and matrices in, results out.

use std::sync::Arc;

use mainstay::data::{RowUncertainty, Shape};
use mainstay::linalg::{Csr, Dense, Matrix};
use mainstay::model::Output;
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::Value;

use crate::run::to_python;

/// Lists in lists: no parameter needs more, and one that holds itself has no end.
const DEPTH: usize = 32;

/// A parameter as the JSON value it would be in a model file. `name` is for the error message.
pub(crate) fn to_json(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested_to_json(name, value, DEPTH)
}

fn nested_to_json(name: &str, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(PyValueError::new_err(format!(
            "`{name}`: lists or dicts more than {DEPTH} deep, or one that holds itself"
        )));
    };
    let refuse = |what: &str| {
        let shown = value.repr().map_or_else(|_| String::new(), |r| r.to_string());
        Err(PyValueError::new_err(format!("`{name}` = {shown}: {what}")))
    };
    if value.is_none() {
        Ok(Value::Null)
    } else if value.is_instance_of::<PyBool>() {
        Ok(Value::from(value.extract::<bool>()?))
    } else if value.is_instance_of::<PyInt>() {
        match value.extract::<i64>().map(Value::from).or_else(|_| value.extract().map(u64::into)) {
            Ok(integer) => Ok(integer),
            Err(_) => refuse("too large an integer"),
        }
    } else if value.is_instance_of::<PyFloat>() {
        serde_json::Number::from_f64(value.extract()?)
            .map_or_else(|| refuse("must be a finite number"), |number| Ok(Value::Number(number)))
    } else if let Ok(text) = value.cast::<PyString>() {
        Ok(Value::from(text.to_cow()?.into_owned()))
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        value
            .try_iter()?
            .map(|item| nested_to_json(name, &item?, depth))
            .collect::<PyResult<Vec<_>>>()
            .map(Value::from)
    } else if let Ok(dict) = value.cast::<PyDict>() {
        nested_dict_to_json(dict, depth)
    } else if value.hasattr("tolist")? {
        // numpy scalars and arrays
        nested_to_json(name, &value.call_method0("tolist")?, depth)
    } else {
        refuse("a value of this type has no meaning here")
    }
}

/// Parameters by name; errors speak of the name.
pub(crate) fn dict_to_json(params: &Bound<'_, PyDict>) -> PyResult<Value> {
    nested_dict_to_json(params, DEPTH)
}

fn nested_dict_to_json(params: &Bound<'_, PyDict>, depth: usize) -> PyResult<Value> {
    let mut object = serde_json::Map::new();
    for (key, value) in params {
        let key: String = key.extract()?;
        object.insert(key.clone(), nested_to_json(&key, &value, depth)?);
    }
    Ok(Value::Object(object))
}

/// A JSON value as Python objects.
pub(crate) fn from_json<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(flag) => Ok(PyBool::new(py, *flag).to_owned().into_any()),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => Ok(integer.into_pyobject(py)?.into_any()),
            (None, Some(integer)) => Ok(integer.into_pyobject(py)?.into_any()),
            (None, None) => Ok(number.as_f64().into_pyobject(py)?.into_any()),
        },
        Value::String(text) => Ok(PyString::new(py, text).into_any()),
        Value::Array(items) => {
            let items =
                items.iter().map(|item| from_json(py, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (key, field) in fields {
                dict.set_item(key, from_json(py, field)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

type CsrParts<'py> =
    (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>, usize);

/// Row by row what is stored column by column. A few rows at a time, so that both sides stay in the cache.
fn transposed(by_columns: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    const BLOCK: usize = 32;
    let mut data = vec![0.0; rows * columns];
    for (block, out) in data.chunks_mut(BLOCK * columns).enumerate() {
        for j in 0..columns {
            let column = &by_columns[j * rows + block * BLOCK..];
            for (value, out) in column.iter().zip(out[j..].iter_mut().step_by(columns)) {
                *out = *value;
            }
        }
    }
    data
}

/// Features: a float64 array of any memory layout, or a CSR matrix as the tuple
/// (`indptr` int64, `indices` int64, `data` float64, number of columns).
pub(crate) fn matrix(x: &Bound<'_, PyAny>) -> PyResult<Matrix> {
    if let Ok(array) = x.extract::<PyReadonlyArray2<'_, f64>>() {
        return Ok(dense(&array).into());
    }
    let (starts, indices, values, columns): CsrParts<'_> = x.extract().map_err(|_| {
        PyValueError::new_err("X must be a 2-D float64 array or the parts of a CSR matrix")
    })?;
    let bad = |_| PyValueError::new_err("sparse matrix: an index is negative or too large");
    let starts = starts.as_array().iter().map(|&i| usize::try_from(i)).collect::<Result<_, _>>();
    let indices = indices.as_array().iter().map(|&j| u32::try_from(j)).collect::<Result<_, _>>();
    let values = values.as_array().to_vec();
    Csr::new(columns, starts.map_err(bad)?, indices.map_err(bad)?, values)
        .map(Matrix::from)
        .map_err(|e| to_python(&e))
}

/// The entries of an array: lent by it if they lie row after row, copied otherwise.
///
/// The reference to the array keeps its memory alive, also for work that an interrupted call leaves
/// behind. A program that changes the array in another thread while it is used gets a fit to a mix of both,
/// as with any function of numpy that releases the interpreter's lock.
#[expect(unsafe_code, reason = "the one place where memory of Python is read without a copy")]
fn dense(array: &PyReadonlyArray2<'_, f64>) -> Dense {
    let view = array.as_array();
    let (rows, columns) = view.dim();
    let Some(entries) = view.as_slice() else {
        let data = match view.t().as_slice() {
            Some(by_columns) => transposed(by_columns, rows, columns),
            None => view.iter().copied().collect(),
        };
        return Dense::from_rows(rows, columns, data);
    };
    // SAFETY: the entries are initialised, aligned and `entries.len()` long. They live as long as the array,
    // which `owner` refers to; numpy does not move or free the memory of an array that is referred to.
    // `Dense` hands out no reference that outlives it and its owner.
    let lent = unsafe { std::slice::from_raw_parts(entries.as_ptr(), entries.len()) };
    let owner: Py<PyArray2<f64>> = (**array).clone().unbind();
    Dense::lent(rows, columns, lent, Arc::new(owner))
}

/// Ellipsoids around rows: float64 arrays of one (radii), two (semi-axes) or three (matrices)
/// dimensions, or (group of every row int64, list of shared uncertainties).
pub(crate) fn uncertainty(value: &Bound<'_, PyAny>) -> PyResult<RowUncertainty> {
    if let Ok(radii) = value.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(RowUncertainty::Radii(radii.as_array().to_vec()));
    }
    if let Ok(axes) = value.extract::<PyReadonlyArray2<'_, f64>>() {
        return Ok(RowUncertainty::Axes(dense(&axes)));
    }
    if let Ok(matrices) = value.extract::<PyReadonlyArray3<'_, f64>>() {
        let (rows, height, width) = matrices.as_array().dim();
        if height != width {
            return Err(PyValueError::new_err(format!(
                "uncertainty has shape ({rows}, {height}, {width}), expected square matrices: (n, p, p)"
            )));
        }
        // A view of one matrix per row, where the layout allows it.
        let flat = value.call_method1("reshape", (rows, height * width))?;
        let flat: PyReadonlyArray2<'_, f64> = flat.extract()?;
        return Ok(RowUncertainty::Matrices(dense(&flat)));
    }
    let (group, shapes): (PyReadonlyArray1<'_, i64>, Bound<'_, PyAny>) = value.extract()?;
    let group = group.as_array().iter().map(|&g| usize::try_from(g)).collect::<Result<_, _>>();
    let group =
        group.map_err(|_| PyValueError::new_err("uncertainty: a group index is negative"))?;
    let shapes: Vec<Shape> = serde_json::from_value(to_json("uncertainty", &shapes)?)
        .map_err(|e| PyValueError::new_err(format!("uncertainty of a group: {e}")))?;
    Ok(RowUncertainty::Groups { group, shapes })
}

/// A float64 array of two dimensions.
pub(crate) fn array2<'py>(py: Python<'py>, m: &Dense) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let shape = [m.nrows(), m.ncols()];
    PyArray1::from_slice(py, m.data()).reshape(shape)
}

/// Rows of equal length as a float64 array of two dimensions.
pub(crate) fn rows<'py, 'a>(
    py: Python<'py>,
    rows: impl ExactSizeIterator<Item = &'a [f64]>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let count = rows.len();
    let data: Vec<f64> = rows.flatten().copied().collect();
    let columns = data.len().checked_div(count).unwrap_or(0);
    PyArray1::from_vec(py, data).reshape([count, columns])
}

/// Arrays for numbers, which take them over without a copy, dicts for tables and named parts.
pub(crate) fn output(py: Python<'_>, value: Output) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Output::Flag(flag) => PyBool::new(py, flag).to_owned().into_any(),
        Output::Integer(integer) => integer.into_pyobject(py)?.into_any(),
        Output::Number(number) => number.into_pyobject(py)?.into_any(),
        Output::Text(text) => PyString::new(py, &text).into_any(),
        Output::Vector(values) => PyArray1::from_vec(py, values).into_any(),
        Output::Integers(values) => PyArray1::from_vec(py, values).into_any(),
        Output::Flags(values) => PyArray1::from_vec(py, values).into_any(),
        Output::Texts(values) => py.import("numpy")?.call_method1("array", (values,))?,
        Output::Matrix(values) => rows(py, values.iter().map(|row| row.0.as_slice()))?.into_any(),
        Output::Table(parts) | Output::Parts(parts) => {
            let dict = PyDict::new(py);
            for (name, part) in parts {
                dict.set_item(name, output(py, part)?)?;
            }
            dict.into_any()
        }
    })
}
