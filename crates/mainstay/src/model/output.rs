//! Method-specific results by public name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a fit tells beside its model, by public name without the trailing underscore
/// (`z`, `worst_rows`, `cv_results`, ...).
pub type Outputs = BTreeMap<String, Output>;

/// A value that Rust, JSON and Python understand alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// Yes or no.
    Flag(bool),
    /// A count or an index.
    Integer(i64),
    /// A number.
    Number(#[serde(with = "crate::json::number")] f64),
    /// A word.
    Text(String),
    /// One number each.
    Vector(#[serde(with = "crate::json::numbers")] Vec<f64>),
    /// One count or index each.
    Integers(Vec<i64>),
    /// One yes or no each.
    Flags(Vec<bool>),
    /// One word each.
    Texts(Vec<String>),
    /// Numbers in rows.
    Matrix(Vec<FloatRow>),
    /// Named columns (a data frame in Python).
    Table(Vec<(String, Output)>),
    /// Named parts (a dict in Python).
    Parts(Vec<(String, Output)>),
}

/// One row of [`Output::Matrix`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FloatRow(#[serde(with = "crate::json::numbers")] pub Vec<f64>);

impl From<f64> for Output {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<Vec<f64>> for Output {
    fn from(values: Vec<f64>) -> Self {
        Self::Vector(values)
    }
}

impl From<Vec<i64>> for Output {
    fn from(values: Vec<i64>) -> Self {
        Self::Integers(values)
    }
}

impl From<Vec<bool>> for Output {
    fn from(values: Vec<bool>) -> Self {
        Self::Flags(values)
    }
}

impl From<bool> for Output {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<i64> for Output {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<&crate::linalg::Dense> for Output {
    fn from(m: &crate::linalg::Dense) -> Self {
        Self::Matrix((0..m.nrows()).map(|i| FloatRow(m.row(i).to_vec())).collect())
    }
}
