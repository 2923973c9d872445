//! Fitted models: score, predict, and what a fit tells about itself.

mod drop_far;
mod findings;
mod fitted;
mod gaussian_linear;
mod kernel;
mod linear;
mod one_versus_rest;
mod output;
mod path;
mod planes;
mod standardized;

pub use drop_far::DropFarFirst;
pub use findings::{Suspects, WorstRows};
pub use fitted::{Estimator, Fitted};
pub use gaussian_linear::GaussianLinear;
pub use kernel::{Kernel, KernelFunction};
pub use linear::{Linear, Link};
pub use one_versus_rest::{
    BinaryFit, BinaryProblem, assemble, binary_problems, each_class, one_versus_rest,
};
pub use output::{Output, Outputs};
pub use path::PathPoint;
pub use planes::Planes;
pub use standardized::{StandardizeFirst, Standardized};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix};

/// Everything needed to score new rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Model {
    /// One hyperplane (two classes) or one per class.
    Linear(Linear),
    /// A combination of kernel functions at training rows.
    Kernel(Kernel),
    /// Another model, on standardised features.
    Standardized(Standardized),
    /// One plane a class, the nearest decides.
    Planes(Planes),
    /// Hyperplanes and a Gaussian model of the features, for rows with missing and inexact cells.
    GaussianLinear(GaussianLinear),
}

impl Model {
    /// Number of features a row must have.
    pub fn n_features(&self) -> usize {
        match self {
            Self::Linear(m) => m.n_features(),
            Self::Kernel(m) => m.n_features(),
            Self::Standardized(m) => m.model.n_features(),
            Self::Planes(m) => m.n_features(),
            Self::GaussianLinear(m) => m.n_features(),
        }
    }

    /// The hyperplanes, if that is what the model consists of.
    pub fn linear(&self) -> Option<&Linear> {
        match self {
            Self::Linear(m) => Some(m),
            Self::GaussianLinear(m) => m.plain(),
            _ => None,
        }
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        match self {
            Self::Linear(m) => m.n_classes(),
            Self::Kernel(m) => m.n_classes(),
            Self::Standardized(m) => m.model.n_classes(),
            Self::Planes(m) => m.n_classes(),
            Self::GaussianLinear(m) => m.linear.n_classes(),
        }
    }

    /// Scores: one column for two classes (positive means class 1), otherwise one per class.
    pub fn decision(&self, x: &Matrix) -> Result<Dense> {
        self.check_width(x)?;
        Ok(match self {
            Self::Linear(m) => m.decision(x),
            Self::Kernel(m) => m.decision(x),
            Self::Standardized(m) => m.decision(x)?,
            Self::Planes(m) => m.decision(x),
            Self::GaussianLinear(m) => m.decision(x, None)?,
        })
    }

    fn check_width(&self, x: &Matrix) -> Result<()> {
        if x.ncols() == self.n_features() {
            return Ok(());
        }
        Err(Error::Mismatch(format!(
            "the data have {} features, the model was fitted on {}",
            x.ncols(),
            self.n_features()
        )))
    }

    /// The predicted class index of every row.
    pub fn predict(&self, x: &Matrix) -> Result<Vec<usize>> {
        Ok(choose(&self.decision(x)?))
    }

    /// Class probabilities, one column a class; `None` where the model defines none.
    pub fn probabilities(&self, x: &Matrix) -> Result<Option<Dense>> {
        if let Self::GaussianLinear(model) = self {
            self.check_width(x)?;
            return model.probabilities(x, None).map(Some);
        }
        if let Self::Standardized(outer) = self {
            return outer.probabilities(x);
        }
        let scores = self.decision(x)?;
        Ok(self.link().probabilities(&scores))
    }

    /// How scores become probabilities.
    fn link(&self) -> Link {
        match self {
            Self::Linear(m) => m.link,
            Self::Kernel(m) => m.link,
            Self::Planes(_) => Link::None,
            Self::GaussianLinear(m) => m.linear.link,
            Self::Standardized(m) => m.model.link(),
        }
    }

    /// Checks a model that came from outside: lengths and finiteness.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Linear(m) => m.validate(),
            Self::Kernel(m) => m.validate(),
            Self::Standardized(m) => m.validate(),
            Self::Planes(m) => m.validate(),
            Self::GaussianLinear(m) => m.validate(),
        }
    }
}

/// The class each row of scores speaks for: the sign of one score, or the first largest of many.
pub fn choose(scores: &Dense) -> Vec<usize> {
    let best = |row: &[f64]| match row {
        [score] => usize::from(*score > 0.0),
        _ => row.iter().enumerate().fold(0, |best, (k, s)| if *s > row[best] { k } else { best }),
    };
    (0..scores.nrows()).map(|i| best(scores.row(i))).collect()
}
