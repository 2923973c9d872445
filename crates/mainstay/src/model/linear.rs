//! Linear models: one weight per feature, and how scores become probabilities.

use serde::{Deserialize, Serialize};

use super::choose;
use super::probability_rows::probability_rows;
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix};

/// How scores become probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// They do not.
    #[default]
    None,
    /// `$1/(1 + e^{-s})$`, normalised over the classes.
    Logistic,
    /// `$e^{s_j} / \sum_l e^{s_l}$`; two classes: `$1/(1 + e^{-s})$`.
    Softmax,
    /// `$(1 + \mathrm{clip}(s, -1, 1))/2$`, normalised over the classes (modified Huber loss).
    Clip,
}

impl Link {
    /// One column per class; rows sum to 1 and their first largest entry is the predicted class.
    pub fn probabilities(self, scores: &Dense) -> Option<Dense> {
        let link = match self {
            Self::None => return None,
            Self::Logistic | Self::Softmax => |s: f64| 1.0 / (1.0 + (-s).exp()),
            Self::Clip => |s: f64| f64::midpoint(1.0, s.clamp(-1.0, 1.0)),
        };
        let chosen = choose(scores);
        let classes = scores.ncols().max(2);
        Some(probability_rows(scores, &chosen, classes, |scores, k, winner| {
            if self == Self::Softmax && scores.len() > 1 {
                (scores[k] - scores[winner]).exp()
            } else {
                link(scores[k])
            }
        }))
    }
}

/// `$x \mapsto$` `coef` `$x$` + `intercept`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// One row for two classes, otherwise one row per class.
    pub coef: Vec<Vec<f64>>,
    /// As many as `coef` has rows.
    pub intercept: Vec<f64>,
    /// How scores become probabilities.
    #[serde(default)]
    pub link: Link,
}

impl Linear {
    /// A two-class model.
    pub fn binary(weights: Vec<f64>, intercept: f64, link: Link) -> Self {
        Self { coef: vec![weights], intercept: vec![intercept], link }
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.coef.first().map_or(0, Vec::len)
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.coef.len().max(2)
    }

    /// Scores of every row of `x`.
    pub fn decision(&self, x: &Matrix) -> Dense {
        let columns: Vec<Vec<f64>> = self.coef.iter().map(|w| x.mul_vec(w)).collect();
        Dense::from_fn(x.nrows(), columns.len(), |i, k| columns[k][i] + self.intercept[k])
    }

    /// Checks lengths and finiteness.
    pub fn validate(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::BadModel(format!("linear model: {what}")));
        if self.coef.is_empty() || self.coef.len() == 2 || self.coef.len() != self.intercept.len() {
            return bad(
                "one intercept per row of coefficients is needed; one row or three and more",
            );
        }
        if self.n_features() == 0 || self.coef.iter().any(|row| row.len() != self.n_features()) {
            return bad("rows of coefficients differ in length");
        }
        if self.coef.iter().flatten().chain(&self.intercept).any(|v| !v.is_finite()) {
            return bad("a coefficient is not finite");
        }
        Ok(())
    }
}
