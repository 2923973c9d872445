//! What a model file says: the problem, the returned numbers and the dual point, read from its JSON.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::exact::dot;
use crate::rows::Data;

/// Methods that have a checker.
const COVERED: [&str; 9] = [
    "l1",
    "l2",
    "elasticnet",
    "stable-svm",
    "stable-svm-cv",
    "stable-logistic",
    "stable-logistic-cv",
    "ellipsoid-svm",
    "missing-lp",
];

/// A dual point: named lists of numbers.
pub(crate) type DualPoint = BTreeMap<String, Vec<f64>>;

/// The parts of a model file that a proof is about.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    /// Name of the method on the command line.
    pub method: &'a str,
    params: &'a Value,
    outputs: &'a Value,
    /// One list of weights per hyperplane.
    pub coef: Vec<Vec<f64>>,
    /// One number per hyperplane.
    pub intercept: Vec<f64>,
    /// What the file says of every problem.
    pub certificates: Vec<Certificate>,
    /// The gap that was asked for.
    pub tol: f64,
    /// One for every problem.
    pub proof: Vec<DualPoint>,
    /// Number of classes.
    pub classes: usize,
}

/// Bounds as a file has them.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Certificate {
    #[serde(deserialize_with = "number_or_word")]
    pub primal: f64,
    #[serde(deserialize_with = "number_or_word")]
    pub dual: f64,
}

fn number_or_word<'de, D: serde::Deserializer<'de>>(
    input: D,
) -> std::result::Result<f64, D::Error> {
    let value = Value::deserialize(input)?;
    as_number(&value).ok_or_else(|| serde::de::Error::custom("not a number"))
}

/// A number, or one of the words for those that JSON has not.
fn as_number(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        Some(_) => Some(f64::NAN),
        None => value.as_f64(),
    }
}

fn parsed<T: serde::de::DeserializeOwned>(value: &Value, name: &str) -> Result<T> {
    T::deserialize(value).map_err(|e| Error::File(format!("`{name}`: {e}")))
}

impl<'a> Claim<'a> {
    /// Reads the object `model` of a file.
    pub(crate) fn read(model: &'a Value) -> Result<Self> {
        let fitted = &model["fitted"];
        let method = model["method"].as_str().unwrap_or("");
        let kind = fitted["model"]["kind"].as_str().unwrap_or("");
        let certificates: Vec<Certificate> = parsed(&fitted["certificates"], "certificates")?;
        if certificates.is_empty() {
            return Err(Error::Unavailable(format!("`{method}` has no certificate")));
        }
        if kind == "calibrated" || !fitted["outputs"]["calibration"].is_null() {
            let what =
                "its scores were mapped to probabilities after the fit; fit without `calibrate`";
            return Err(Error::Unavailable(what.into()));
        }
        if kind != "linear" || !COVERED.contains(&method) {
            return Err(Error::Unavailable(format!("there is no checker for `{method}` yet")));
        }
        if fitted["proof"].is_null() {
            return Err(Error::NoProof);
        }
        Ok(Self {
            method,
            params: &model["params"],
            outputs: &fitted["outputs"],
            coef: parsed(&fitted["model"]["coef"], "coef")?,
            intercept: parsed(&fitted["model"]["intercept"], "intercept")?,
            tol: as_number(&fitted["tol"]).unwrap_or(0.0),
            proof: parsed(&fitted["proof"], "proof")?,
            classes: model["classes"].as_array().map_or(0, Vec::len),
            certificates,
        })
    }

    /// A parameter.
    pub(crate) fn param(&self, name: &str) -> &Value {
        &self.params[name]
    }

    /// A parameter that is a number, or that the fit settled: where the parameter is a number no result may replace it.
    pub(crate) fn number(&self, name: &str) -> Result<f64> {
        let given = &self.params[name];
        let settled = if given.is_number() { given } else { &self.outputs[name]["number"] };
        as_number(settled)
            .filter(|value| *value >= 0.0)
            .ok_or_else(|| Error::File(format!("`{name}` is no number of at least 0")))
    }

    /// A parameter that is true or false.
    pub(crate) fn flag(&self, name: &str) -> Result<bool> {
        let given = &self.params[name];
        let settled = if given.is_boolean() { given } else { &self.outputs[name]["flag"] };
        settled.as_bool().ok_or_else(|| Error::File(format!("`{name}` is neither true nor false")))
    }

    /// A parameter that is a word.
    pub(crate) fn word(&self, name: &str) -> Result<&str> {
        self.params[name].as_str().ok_or_else(|| Error::File(format!("`{name}` is no word")))
    }

    /// A result with one number per feature.
    pub(crate) fn vector(&self, name: &str) -> Result<Vec<f64>> {
        parsed(&self.outputs[name]["vector"], name)
    }

    /// `k` as given or chosen: (number, whether it is a count).
    pub(crate) fn k(&self) -> Result<(f64, bool)> {
        let (given, found) = (&self.params["k"], &self.outputs["k"]);
        let settled = if given.is_number() {
            given
        } else {
            found.get("number").or_else(|| found.get("integer")).unwrap_or(&Value::Null)
        };
        let number = settled.as_f64().ok_or_else(|| Error::File("`k` is not a number".into()))?;
        Ok((number, settled.is_u64()))
    }

    /// Row weights with the class weights in them.
    pub(crate) fn weights(&self, data: &Data<'_>) -> Result<Vec<f64>> {
        let given = data.weights.map_or_else(|| vec![1.0; data.labels.len()], <[f64]>::to_vec);
        let factors: Vec<f64> = match self.param("class_weight") {
            Value::Null => return Ok(given),
            Value::String(_) => {
                let mut totals = vec![0.0; self.classes];
                data.labels.iter().zip(&given).for_each(|(&label, w)| totals[label] += w);
                let present = totals.iter().filter(|total| **total > 0.0).count() as f64;
                let sum: f64 = totals.iter().sum();
                totals.iter().map(|t| if *t > 0.0 { sum / (present * t) } else { 1.0 }).collect()
            }
            list => parsed(list, "class_weight")?,
        };
        if factors.len() != self.classes {
            return Err(Error::File("`class_weight` has not one factor per class".into()));
        }
        Ok(data.labels.iter().zip(&given).map(|(&label, w)| factors[label] * w).collect())
    }

    /// Checks that model, proof and rows are of one size, and brings the hyperplanes into the units of the rows.
    pub(crate) fn fit_to(&mut self, data: &Data<'_>) -> Result<()> {
        let (n, p) = (data.rows.count(), data.rows.columns());
        if data.labels.len() != n || data.weights.is_some_and(|w| w.len() != n) {
            return Err(Error::Rows(format!("{n} rows, but not as many labels or weights")));
        }
        if data.labels.iter().any(|&label| label >= self.classes) {
            return Err(Error::Rows("a label that is none of the model's classes".into()));
        }
        let planes = self.coef.len();
        let wanted = if self.classes == 2 { 1 } else { self.classes };
        if planes != wanted {
            let text = format!("{planes} hyperplanes for {} classes", self.classes);
            return Err(Error::File(text));
        }
        if self.coef.iter().any(|w| w.len() != p) || self.intercept.len() != planes {
            return Err(Error::Rows(format!("the model does not have {p} features")));
        }
        if self.proof.len() != self.certificates.len() {
            return Err(Error::File("not as many dual points as certificates".into()));
        }
        if let Some((means, scales)) = data.scaling {
            for (w, b) in self.coef.iter_mut().zip(&mut self.intercept) {
                let shift = dot(means.iter().copied().zip(w.iter().copied()).chain([(*b, 1.0)]));
                *b = shift.low;
                w.iter_mut().zip(scales).for_each(|(w, s)| *w *= s);
            }
        }
        Ok(())
    }

    /// The numbers called `name` of a dual point, `count(i)` for row i. Rows of weight 0 have none in the file and get
    /// zeros.
    pub(crate) fn dual(
        point: &DualPoint,
        name: &str,
        weights: &[f64],
        count: impl Fn(usize) -> usize,
    ) -> Result<Vec<f64>> {
        let found =
            point.get(name).ok_or_else(|| Error::File(format!("no `{name}` in `proof`")))?;
        let counts = |i: usize| if weights[i] > 0.0 { count(i) } else { 0 };
        let held = found.len();
        let needed: usize = (0..weights.len()).map(counts).sum();
        if held != needed {
            return Err(Error::Rows(format!(
                "the proof holds {held} {name}, the rows need {needed}: are they the training rows?"
            )));
        }
        let mut next = found.iter().copied();
        let mut all = Vec::with_capacity(held);
        for (i, weight) in weights.iter().enumerate() {
            let zero = *weight <= 0.0;
            all.extend((0..count(i)).map(|_| if zero { 0.0 } else { next.next().unwrap_or(0.0) }));
        }
        Ok(all)
    }
}
