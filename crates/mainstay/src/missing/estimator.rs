//! Parameters of the batch classifier, their defaults and checks, and its fit.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::certificate::{Dual, certify};
use super::chunks::chunked;
use super::problem::RobustHinge;
use super::strategy::{self, Solution};
use super::values::Values;
use crate::certificate::Certificate;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged};
use crate::error::{Result, require};
use crate::model::{
    BinaryFit, BinaryProblem, Estimator, Fitted, GaussianLinear, Linear, Link, Model, RowLists,
    assemble, binary_problems, one_each,
};
use crate::optim::Budget;
use crate::uncertainty::Deletions;
use crate::uncertainty::feature_model::{FeatureModel, Rows, Shrinkage};

/// What takes the place of features that are missing from a row to predict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AtPredict {
    /// Nothing: they count as 0, as in the paper.
    #[default]
    Zero,
    /// Their mean given the features that are measured, under a Gaussian model of the training rows.
    Gaussian,
}

/// Parameters of [`MissingFeatureSvc`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MissingFeatureSvcParams {
    /// Total value of the features that may go missing, `$N$`; less than that of all features.
    pub budget: f64,
    /// Value of every feature, `$v$`.
    pub values: Values,
    /// Margin asked for when nothing beyond the budget is missing, `$\gamma$`.
    pub margin: f64,
    /// Half the side of the box around the weights; the intercept is free.
    #[serde(rename = "C")]
    pub c: f64,
    /// Whether there is an intercept.
    pub fit_intercept: bool,
    /// What takes the place of features that are missing from a row to predict.
    pub at_predict: AtPredict,
    /// Weight of each class.
    pub class_weight: ClassWeight,
    /// Train on this many random parts of the rows and average, as the paper had to; 1 solves the whole problem.
    pub n_chunks: usize,
    /// Seed of the parts; none is 0.
    pub random_state: Option<u64>,
    /// Proven relative gap to reach.
    pub tol: f64,
    /// Iteration limit.
    pub max_iter: usize,
}

impl Default for MissingFeatureSvcParams {
    fn default() -> Self {
        Self {
            budget: 1.0,
            values: Values::default(),
            margin: 1.0,
            c: 10.0,
            fit_intercept: true,
            at_predict: AtPredict::default(),
            class_weight: ClassWeight::None,
            n_chunks: 1,
            random_state: None,
            tol: 1e-4,
            max_iter: 300,
        }
    }
}

/// What every method of this family asks of its parameters.
pub(super) fn check_shared(budget: f64, margin: f64, c: f64) -> Result<()> {
    require(budget >= 0.0 && budget.is_finite(), "budget", budget, "finite and at least 0")?;
    require(margin > 0.0 && margin.is_finite(), "margin", margin, "positive and finite")?;
    require(c >= 0.0 && c.is_finite(), "C", c, "finite and at least 0")
}

impl MissingFeatureSvcParams {
    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<MissingFeatureSvc> {
        check_shared(self.budget, self.margin, self.c)?;
        require(self.n_chunks > 0, "n_chunks", self.n_chunks, "at least 1")?;
        require(self.tol > 0.0 && self.tol < 1.0, "tol", self.tol, "in (0, 1)")?;
        require(self.max_iter > 0, "max_iter", self.max_iter, "at least 1")?;
        Ok(MissingFeatureSvc(self))
    }
}

/// Linear classifier for rows in which features of total value up to `budget` will be missing: problem (4),
/// solved whole and with a proof ([`RobustHinge`], [`super::interior_point`]).
///
/// Only the ratio `C`/`margin` matters for the predictions. A missing feature counts as 0, so features should be
/// centred if 0 is not their natural "nothing". More than two classes: one problem per class, against the rest, with the
/// same values.
///
/// ```
/// use mainstay::data::Dataset;
/// use mainstay::linalg::Dense;
/// use mainstay::missing::MissingFeatureSvcParams;
/// use mainstay::model::Estimator;
/// use mainstay::Control;
///
/// // Two equally good features, of which one may go missing: both are used.
/// let x = Dense::from_rows(4, 2, vec![1.0, 1.0, -1.0, -1.0, 2.0, 1.0, -1.0, -2.0]);
/// let data = Dataset::new(x.into(), vec![1, 0, 1, 0], 2)?;
/// let fitted = MissingFeatureSvcParams::default().check()?.fit(&data, &Control::new())?;
/// assert!(fitted.dual_gap().unwrap() <= 1e-4);
/// # Ok::<(), mainstay::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MissingFeatureSvc(MissingFeatureSvcParams);

/// From this box on, in units of the margin per largest feature, rounding may be larger than the gap.
const WIDE_BOX: f64 = 1e7;

/// Problems with more entries than this are solved one after the other, each on all threads: several at once would
/// multiply the memory.
const SIDE_BY_SIDE: usize = 1 << 18;

/// Whether several problems on this matrix may be solved at once.
pub(super) fn side_by_side(data: &Dataset) -> bool {
    data.features().values().len() <= SIDE_BY_SIDE
}

impl MissingFeatureSvc {
    /// The parameters.
    pub fn params(&self) -> &MissingFeatureSvcParams {
        &self.0
    }

    fn solve(
        &self,
        binary: &BinaryProblem<'_>,
        deletions: &Deletions,
        control: &Control,
    ) -> Result<BinaryFit> {
        let problem = RobustHinge {
            x: binary.x,
            y: &binary.y,
            weights: binary.weights,
            deletions,
            margin: self.0.margin,
            c: self.0.c,
            fit_intercept: self.0.fit_intercept,
        };
        let Solution { weights, intercept, dual, n_iter, route } = if self.0.n_chunks == 1 {
            strategy::solve(&problem, &mut Budget::new(self.0.tol, self.0.max_iter, control))?
        } else {
            chunked(&problem, &self.0, control)?
        };
        let certificate = certify(&problem, &weights, intercept, &dual);
        let warnings = self.warnings(&problem, certificate);
        let proof = if control.wants_proof() { row_lists(&problem, &dual) } else { Vec::new() };
        Ok(BinaryFit {
            weights,
            intercept,
            certificate: Some(certificate),
            n_iter,
            row_outputs: Vec::new(),
            outputs: Vec::new(),
            warnings,
            route,
            proof,
        })
    }

    fn warnings(&self, problem: &RobustHinge<'_>, found: Certificate) -> Vec<String> {
        let mut warnings = Vec::new();
        let idle = vec![0.0; problem.x.ncols()];
        let shortfalls = problem.shortfalls(&idle);
        let constant = problem.value(&shortfalls, problem.best_intercept(&shortfalls, 0.0));
        let one_class = problem.y.windows(2).all(|pair| pair[0] * pair[1] > 0.0);
        if found.primal >= constant - self.0.tol * constant.max(1.0) && !one_class {
            let rare = if self.0.class_weight == ClassWeight::None {
                "try `class_weight` = \"balanced\" if one class is rare, or "
            } else {
                ""
            };
            let budget = if self.0.budget > 0.0 { "lower `budget` or " } else { "" };
            warnings.push(format!(
                "under a budget of {} and C = {} no classifier does better than a constant one; {rare}{budget}raise `C`",
                self.0.budget, self.0.c
            ));
        }
        let largest = problem.x.values().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let reach = self.0.c * largest / (problem.demand() * problem.deletions.total());
        if found.gap() > self.0.tol && reach > WIDE_BOX {
            warnings.push(format!(
                "C times the largest feature is {reach:.0e} times the margin: too wide a box for a proof in floating \
                 point; scale the features or lower `C`"
            ));
        }
        warnings
    }
}

/// The dual point by row: `$\sigma_i/\omega_i$`, and `$\tau_{ij}/\sigma_i$` of every nonzero entry.
fn row_lists(problem: &RobustHinge<'_>, dual: &Dual) -> RowLists {
    let mut next = 0;
    let mut parts = Vec::with_capacity(dual.sigma.len());
    for (i, sigma) in dual.sigma.iter().enumerate() {
        let count = problem.x.row(i).entries().filter(|(_, x)| *x != 0.0).count();
        let part = |tau: &f64| if *sigma > 0.0 { (tau / sigma).clamp(0.0, 1.0) } else { 1.0 };
        parts.push(dual.tau[next..next + count].iter().map(part).collect());
        next += count;
    }
    let shares = dual.sigma.iter().zip(problem.weights).map(|(sigma, weight)| sigma / weight);
    vec![("multipliers", one_each(shares)), ("parts", parts)]
}

impl Estimator for MissingFeatureSvc {
    /// With `at_predict = "gaussian"` cells may be NaN: they count as 0 in the fit either way.
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        if self.0.at_predict == AtPredict::Gaussian {
            let features = learn_features(data, control)?;
            let zeros = data.features().clone().nan_to_zero();
            let mut fitted = self.fit_zeros(&data.replace_features(zeros), control)?;
            if let Model::Linear(linear) = fitted.model.clone() {
                let model = GaussianLinear::new(linear, features, Vec::new(), [0.0; 2], 0.0);
                fitted.model = Model::GaussianLinear(model);
                // What the checker reads is a linear model.
                fitted.proof = None;
            }
            return Ok(fitted);
        }
        self.fit_zeros(data, control)
    }
}

fn learn_features(data: &Dataset, control: &Control) -> Result<FeatureModel> {
    let x = data.features().to_dense();
    let rows = Rows { x: &x, weights: data.weights(), errors: None };
    FeatureModel::learn(rows, Shrinkage::default(), control)
}

impl MissingFeatureSvc {
    /// The fit to rows whose missing features count as 0.
    fn fit_zeros(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        control.install(|| {
            let merged = Merged::new(&self.0.class_weight.apply(data.clone())?);
            let deletions = self.0.values.deletions(&merged.data, self.0.budget)?;
            let problems = binary_problems(&merged.data);
            let one = |binary: &BinaryProblem<'_>| self.solve(binary, &deletions, control);
            let fits: Vec<BinaryFit> = if side_by_side(&merged.data) {
                problems.par_iter().map(one).collect::<Result<_>>()?
            } else {
                problems.iter().map(one).collect::<Result<_>>()?
            };
            let model = Model::Linear(Linear {
                coef: fits.iter().map(|f| f.weights.clone()).collect(),
                intercept: fits.iter().map(|f| f.intercept).collect(),
                link: Link::None,
            });
            let mut fitted = assemble(&merged, model, self.0.tol, &fits);
            fitted.values = Some(deletions.values().to_vec());
            Ok(fitted)
        })
    }
}
