//! Fitted models: score, predict, and what a fit tells about itself.

mod calibrated;
mod drop_far;
mod filled;
mod findings;
mod fitted;
mod gaussian_linear;
mod impute_first;
mod kernel;
mod linear;
mod one_versus_rest;
mod output;
mod path;
mod planes;
mod privacy;
mod probability_rows;
mod proof;
mod score_map;
mod spread;
mod standardized;
pub mod training;

pub use calibrated::{Calibrated, calibrated};
pub use drop_far::DropFarFirst;
pub use findings::{Suspects, WorstRows};
pub use fitted::{Estimator, Fitted, Retuning};
pub use gaussian_linear::{GaussianLinear, Unmeasured};
pub use impute_first::ImputeFirst;
pub use kernel::{Kernel, KernelFunction};
pub use linear::{Linear, Link};
pub use one_versus_rest::{
    BinaryFit, BinaryProblem, assemble, binary_problems, each_class, one_versus_rest,
};
pub use output::{Output, Outputs};
pub use path::PathPoint;
pub use planes::Planes;
pub use proof::{DualPoint, RowLists, dual_point, one_each};
pub use score_map::{ScoreMap, Scored};
pub use spread::{LazySpread, Spread, mahalanobis};
pub use standardized::{StandardizeFirst, Standardized};
pub use training::TrainingSummary;

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
    /// One plane per class, the nearest decides.
    Planes(Planes),
    /// Hyperplanes and a Gaussian model of the features, for rows with missing and inexact cells.
    GaussianLinear(GaussianLinear),
    /// Another model, whose scores have probabilities learned on held-out rows.
    Calibrated(Calibrated),
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
            Self::Calibrated(m) => m.model.n_features(),
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

    /// The hyperplanes in the units of the rows it takes, also of a model on standardised features; `None` if the
    /// scores are not linear in the row.
    pub fn hyperplanes(&self) -> Option<Linear> {
        match self {
            Self::Standardized(outer) => {
                outer.model.hyperplanes().map(|inner| outer.raw_units(&inner))
            }
            Self::Calibrated(outer) => outer.boundary(),
            model => model.linear().cloned(),
        }
    }

    /// The weights behind the scores: as [`Model::hyperplanes`], before probabilities moved the threshold.
    pub fn weights(&self) -> Option<Linear> {
        match self {
            Self::Standardized(outer) => outer.model.weights().map(|inner| outer.raw_units(&inner)),
            Self::Calibrated(outer) => outer.model.weights(),
            model => model.linear().cloned(),
        }
    }

    /// Whether it makes its own sense of missing cells (NaN), by a model of the features.
    pub fn fills_cells(&self) -> bool {
        match self {
            Self::GaussianLinear(_) => true,
            Self::Standardized(outer) => outer.model.fills_cells(),
            Self::Calibrated(outer) => outer.model.fills_cells(),
            _ => false,
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
            Self::Calibrated(m) => m.model.n_classes(),
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
            Self::Calibrated(m) => m.decision(x)?,
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

    /// Class probabilities, one column per class; `None` where the model defines none.
    pub fn probabilities(&self, x: &Matrix) -> Result<Option<Dense>> {
        if let Self::GaussianLinear(model) = self {
            self.check_width(x)?;
            if model.linear.link == Link::None {
                return Ok(None);
            }
            return model.probabilities(x, None).map(Some);
        }
        if let Self::Standardized(outer) = self {
            return outer.probabilities(x);
        }
        if let Self::Calibrated(outer) = self {
            self.check_width(x)?;
            return outer.probabilities(x).map(Some);
        }
        let scores = self.decision(x)?;
        Ok(self.link().probabilities(&scores))
    }

    /// Whether [`Model::probabilities`] has an answer.
    pub fn gives_probabilities(&self) -> bool {
        self.link() != Link::None
    }

    /// Whether probabilities were put on its scores by a map that is stored beside it.
    pub fn is_calibrated(&self) -> bool {
        match self {
            Self::Calibrated(_) => true,
            Self::Standardized(outer) => outer.model.is_calibrated(),
            _ => false,
        }
    }

    /// How scores become probabilities.
    fn link(&self) -> Link {
        match self {
            Self::Linear(m) => m.link,
            Self::Kernel(m) => m.link,
            Self::Planes(_) => Link::None,
            Self::GaussianLinear(m) => m.linear.link,
            Self::Standardized(m) => m.model.link(),
            Self::Calibrated(_) => Link::Logistic,
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
            Self::Calibrated(m) => m.validate(),
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
