//! What a fit returns, and the trait of everything that can be fitted.

use serde::{Deserialize, Serialize};

use super::{Model, Output, Outputs};
use crate::certificate::{Certificate, Status};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};

/// Checked parameters that can be fitted to data.
pub trait Estimator: Send + Sync {
    /// Fits a model; stopping early is a [`Status`], not an error.
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted>;

    /// One fit for each of `values` (a JSON array of values of the method's path parameter), in that
    /// order, each started from the one before. Most methods have no path.
    fn fit_path(
        &self,
        _values: &serde_json::Value,
        _data: &Dataset,
        _control: &Control,
    ) -> Result<Vec<Fitted>> {
        Err(Error::BadParams("this method has no path".into()))
    }
}

/// A model and everything its fit has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// Scores new rows.
    pub model: Model,
    /// One per binary problem; empty where the method has no certificate.
    pub certificates: Vec<Certificate>,
    /// The gap that was asked for.
    #[serde(with = "crate::json::number")]
    pub tol: f64,
    /// Iterations of the solver, the largest over binary problems; at least 1.
    pub n_iter: usize,
    /// Method-specific results by public name.
    pub outputs: Outputs,
    /// Plain sentences the user should read.
    pub warnings: Vec<String>,
    /// The stages of the strategy that worked on the fit, in order; empty where there is one only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<String>,
}

impl Fitted {
    /// A fit without certificate.
    pub fn new(model: Model, n_iter: usize) -> Self {
        Self {
            model,
            certificates: Vec::new(),
            tol: f64::INFINITY,
            n_iter: n_iter.max(1),
            outputs: Outputs::new(),
            warnings: Vec::new(),
            route: Vec::new(),
        }
    }

    /// Adds a named result.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Output>) -> Self {
        self.outputs.insert(name.to_owned(), value.into());
        self
    }

    /// The largest proven relative gap; `None` where the method has no certificate.
    pub fn dual_gap(&self) -> Option<f64> {
        self.certificates.iter().map(Certificate::gap).reduce(f64::max)
    }

    /// How the fit ended.
    pub fn status(&self) -> Status {
        match self.dual_gap() {
            None => Status::NoCertificate,
            Some(gap) if gap <= self.tol => Status::Certified,
            Some(_) => Status::NotCertified,
        }
    }

    /// Turns a weak proof into an error.
    pub fn certified(self, tol: f64) -> Result<Self> {
        match self.dual_gap() {
            Some(gap) if gap <= tol => Ok(self),
            gap => Err(Error::NotCertified { gap: gap.unwrap_or(f64::INFINITY), tol }),
        }
    }
}
