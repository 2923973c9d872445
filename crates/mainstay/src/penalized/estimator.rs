use serde::{Deserialize, Serialize};

use super::certificate::certify;
use super::newton::newton;
use super::problem::Problem;
use super::scaled::Scaled;
use super::solution::Budget;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged, Standardize};
use crate::error::{Error, Result, require};
use crate::loss::Loss;
use crate::model::{BinaryFit, BinaryProblem, Estimator, Fitted, Link, one_versus_rest};

/// Which penalty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Penalty {
    /// `alpha`/2 times the squared Euclidean norm.
    #[default]
    L2,
    /// `alpha` times the sum of absolute weights.
    L1,
    /// `alpha` times (`l1_ratio` L1 + (1 - `l1_ratio`) L2).
    ElasticNet,
}

/// Strength of the penalty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Alpha {
    /// This much.
    Fixed(f64),
    /// Chosen by cross-validation along a warm-started path.
    Rule(AlphaRule),
}

/// Named rules for [`Alpha`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlphaRule {
    /// Cross-validated loss.
    Cv,
}

/// Whether features are standardised before the penalty is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Normalize {
    /// Always or never.
    Fixed(bool),
    /// Chosen by the cross-validation that chooses `alpha`.
    Rule(NormalizeRule),
}

/// Named rules for [`Normalize`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NormalizeRule {
    /// Both compete.
    Auto,
}

/// Parameters of [`Penalized`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PenalizedParams {
    /// Margin loss.
    pub loss: Loss,
    /// Kind of penalty.
    pub penalty: Penalty,
    /// Strength of the penalty.
    pub alpha: Alpha,
    /// Share of L1 in the elastic net.
    pub l1_ratio: f64,
    /// Standardise first?
    pub normalize: Normalize,
    /// Weight of each class.
    pub class_weight: ClassWeight,
    /// Proven relative gap to reach.
    pub tol: f64,
    /// Iteration limit.
    pub max_iter: usize,
}

impl Default for PenalizedParams {
    fn default() -> Self {
        Self {
            loss: Loss::Logistic,
            penalty: Penalty::L2,
            alpha: Alpha::Fixed(0.01),
            l1_ratio: 0.5,
            normalize: Normalize::Fixed(false),
            class_weight: ClassWeight::None,
            tol: 1e-6,
            max_iter: 1000,
        }
    }
}

impl PenalizedParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<Penalized> {
        if let Alpha::Fixed(alpha) = self.alpha {
            require(alpha > 0.0 && alpha.is_finite(), "alpha", alpha, "positive and finite")?;
        }
        require(
            (0.0..=1.0).contains(&self.l1_ratio),
            "l1_ratio",
            self.l1_ratio,
            "between 0 and 1",
        )?;
        require(self.tol > 0.0 && self.tol < 1.0, "tol", self.tol, "in (0, 1)")?;
        require(self.max_iter > 0, "max_iter", self.max_iter, "at least 1")?;
        Ok(Penalized(self))
    }
}

/// Checked parameters. The field is private: holding one is proof of validity.
#[derive(Debug, Clone)]
pub struct Penalized(PenalizedParams);

impl Estimator for Penalized {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let params = &self.0;
        let merged = Merged::new(&params.class_weight.apply(data.clone())?);
        let link = match params.loss {
            Loss::Logistic => Link::Logistic,
            Loss::ModifiedHuber => Link::Clip,
            Loss::Hinge | Loss::SquaredHinge => Link::None,
        };
        let (Alpha::Fixed(alpha), Normalize::Fixed(normalize)) = (params.alpha, params.normalize)
        else {
            return Err(Error::Numerical("cross-validation is not there yet".into()));
        };
        one_versus_rest(&merged, link, params.tol, control, |binary| {
            self.solve(binary, alpha, normalize, control)
        })
    }
}

impl Penalized {
    fn solve(
        &self,
        binary: &BinaryProblem<'_>,
        alpha: f64,
        normalize: bool,
        control: &Control,
    ) -> Result<BinaryFit> {
        let params = &self.0;
        let total: f64 = binary.weights.iter().sum();
        let shares: Vec<f64> = binary.weights.iter().map(|c| c / total).collect();
        let units = if normalize {
            Standardize::learn(binary.x, Some(binary.weights)).scales
        } else {
            vec![1.0; binary.x.ncols()]
        };
        let ratio = match params.penalty {
            Penalty::L2 => 0.0,
            Penalty::L1 => 1.0,
            Penalty::ElasticNet => params.l1_ratio,
        };
        let problem = Problem {
            x: binary.x,
            y: &binary.y,
            shares: &shares,
            loss: params.loss.get(),
            l1: alpha * ratio,
            l2: alpha * (1.0 - ratio),
            units: &units,
        };
        let budget = Budget { tol: params.tol, max_iter: params.max_iter, control };
        if ratio > 0.0 || params.loss == Loss::Hinge {
            return Err(Error::Numerical(format!(
                "{:?} with {:?} is not solved yet",
                params.loss, params.penalty
            )));
        }
        let scaled = Scaled::new(&problem);
        let solution = newton(&scaled, None, &budget)?;
        let answer = scaled.answer(&solution.v, solution.b, solution.duals);
        let certificate = certify(&problem, &answer);
        Ok(BinaryFit {
            weights: answer.weights,
            intercept: answer.intercept,
            certificate: Some(certificate),
            n_iter: solution.n_iter.max(1),
            row_outputs: Vec::new(),
            outputs: Vec::new(),
            warnings: Vec::new(),
        })
    }
}
