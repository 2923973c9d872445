//! Every method by name: one table for the command line, Python and the model files.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::model::Estimator;
use crate::penalized::PenalizedParams;

/// What a user should know about a method before choosing it.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Name on the command line and in model files.
    pub name: &'static str,
    /// Class in the Python package.
    pub class: &'static str,
    /// One line: what it is for.
    pub summary: &'static str,
    /// Whether a missing value (NaN) is a legal feature value.
    pub allows_nan: bool,
    build: fn(&Value) -> Result<Box<dyn Estimator>>,
}

/// All methods, in the order in which `mainstay methods` lists them.
pub const METHODS: &[Method] = &[Method {
    name: "l2",
    class: "PenalizedClassifier",
    summary: "ridge-penalised logistic regression or SVM: the plain baseline",
    allows_nan: false,
    build: |params| Ok(Box::new(parse::<PenalizedParams>(params)?.check()?)),
}];

/// The method called `name`, on the command line or in Python.
pub fn find(name: &str) -> Result<&'static Method> {
    METHODS.iter().find(|m| m.name == name).ok_or_else(|| {
        let names: Vec<&str> = METHODS.iter().map(|m| m.name).collect();
        Error::BadParams(format!("no method `{name}`; there are: {}", names.join(", ")))
    })
}

impl Method {
    /// Parses and checks parameters given as a JSON object; unknown names are errors.
    pub fn estimator(&self, params: &Value) -> Result<Box<dyn Estimator>> {
        (self.build)(params)
    }
}

fn parse<T: DeserializeOwned>(params: &Value) -> Result<T> {
    T::deserialize(params).map_err(|e| Error::BadParams(e.to_string()))
}
