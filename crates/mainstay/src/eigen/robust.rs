//! Parameters of the robust classifier, their defaults and checks, and the choice of xi by cross-validation.

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::class_pairs::{Accuracy, ClassPairs};
use super::estimator::{Rule, prepare, reach, with_ratios};
use super::problem::Regularization;
use super::xi::GRID;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Shape};
use crate::error::{Result, require};
use crate::folds::{generator, stratified};
use crate::linalg::{Dense, vector};
use crate::model::{Estimator, Fitted};
use crate::optim::grid::TIE;
use crate::uncertainty::ellipsoid::Ellipsoids;

/// Random places on its ellipsoid at which every held-out row is judged.
const DRAWS: usize = 5;

/// How robust planes are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RobustSolver {
    /// Majorise and minimise: the worst-case ratio falls in every iteration.
    #[default]
    Monotone,
    /// Algorithm 1, repaired; the best plane seen if it does not converge.
    Paper,
}

/// The balance of Eq. (32) between nominal (1) and robust (0).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Xi {
    /// This much.
    Fixed(f64),
    /// Chosen from the data.
    Rule(XiRule),
}

/// Named rules for [`Xi`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum XiRule {
    /// Lowest mean objective over random realisations of the training rows, as the paper says.
    Auto,
    /// Highest accuracy on held-out rows moved to random places on their ellipsoids.
    Cv,
}

/// Parameters of [`RobustRegec`]; `check` is the only door to `fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RobustRegecParams {
    /// The ellipsoid around every row; ellipsoids that come with the data replace it.
    pub uncertainty: Shape,
    /// Algorithm.
    pub solver: RobustSolver,
    /// How much of the ellipsoids counts.
    pub xi: Xi,
    /// Relative fall of the ratio (monotone; default 1e-7) or change of the plane (paper; default 1e-2)
    /// at which to stop.
    pub tol: Option<f64>,
    /// Iteration limit (default 300 for monotone, 10 for paper).
    pub max_iter: Option<usize>,
    /// What keeps the quotient well posed.
    pub regularization: Regularization,
    /// Its strength.
    pub delta: f64,
    /// More than two classes: what decides.
    pub rule: Rule,
    /// Weight of each class.
    pub class_weight: ClassWeight,
    /// Seed of the random realisations that choose `xi`; none is 0.
    pub random_state: Option<u64>,
}

impl Default for RobustRegecParams {
    fn default() -> Self {
        Self {
            uncertainty: Shape::Ball(0.1),
            solver: RobustSolver::Monotone,
            xi: Xi::Rule(XiRule::Auto),
            tol: None,
            max_iter: None,
            regularization: Regularization::Cross,
            delta: 1e-4,
            rule: Rule::Plane,
            class_weight: ClassWeight::None,
            random_state: None,
        }
    }
}

impl RobustRegecParams {
    pub(super) fn seed(&self) -> u64 {
        self.random_state.unwrap_or(0)
    }

    /// The only door from parameters to an estimator.
    pub fn check(self) -> Result<RobustRegec> {
        require(
            self.delta >= 0.0 && self.delta.is_finite(),
            "delta",
            self.delta,
            "finite and not negative",
        )?;
        if let Xi::Fixed(xi) = self.xi {
            require((0.0..=1.0).contains(&xi), "xi", xi, "between 0 and 1, \"auto\" or \"cv\"")?;
        }
        if let Some(tol) = self.tol {
            require(tol > 0.0 && tol.is_finite(), "tol", tol, "positive and finite")?;
        }
        if let Some(max_iter) = self.max_iter {
            require(max_iter > 0, "max_iter", max_iter, "at least 1")?;
        }
        if let Shape::Ball(r) = self.uncertainty {
            require(r >= 0.0 && r.is_finite(), "uncertainty", r, "finite and not negative")?;
        }
        Ok(RobustRegec(self))
    }
}

/// ReGEC against the worst place of every row inside its ellipsoid, section 3 of the paper.
///
/// Minimises `$R(z) = \sum_A (|w^\top a - \gamma| + \rho_a)^2 / \sum_B \max(|w^\top b - \gamma| - \rho_b, 0)^2$`, with
/// the regularisation of ReGEC, to a stationary point; both planes have their own problem. What is certain is
/// the ratio of the plane that is returned, `worst_case_ratio`, which is recomputed from the data with the
/// whole ellipsoids and is never above that of the nominal plane.
#[derive(Debug, Clone)]
pub struct RobustRegec(RobustRegecParams);

impl Estimator for RobustRegec {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let reach = reach(&self.0.class_weight, data)?;
        let given = data;
        let data = prepare(data)?;
        data.check_squares()?;
        let field = ClassPairs::new(&self.0, &data, given, control)?;
        let (xi, fits) = match self.0.xi {
            Xi::Fixed(xi) => (xi, field.planes(xi, None, Accuracy::Final, control)?),
            Xi::Rule(XiRule::Auto) => field.auto(control)?,
            Xi::Rule(XiRule::Cv) => {
                let xi = self.cross_validate(&data, &reach, control)?;
                (xi, field.planes(xi, None, Accuracy::Final, control)?)
            }
        };
        let fitted = field.finish(xi, fits, reach)?;
        with_ratios(fitted, &data, Some(field.ellipsoids()), control)
    }
}

impl RobustRegec {
    /// The xi of the grid with the best accuracy on held-out rows drawn on their ellipsoids.
    pub(super) fn cross_validate(
        &self,
        data: &Dataset,
        reach: &[f64],
        control: &Control,
    ) -> Result<f64> {
        let size = |k: usize| data.labels().iter().filter(|&&l| l == k).count();
        let fewest = (0..data.n_classes()).map(size).min().unwrap_or(2);
        // Every class keeps two rows in every training part.
        let folds = 5.min(fewest.saturating_sub(1).max(2));
        let splits = stratified(data.labels(), folds, 1, self.0.seed());
        let ellipsoids = Ellipsoids::new(data, &self.0.uncertainty)?;
        let mut right = [0.0; GRID.len()];
        for split in &splits {
            let train = data.select_rows(&split.train);
            let Ok(train) = prepare(&train) else { continue };
            let field = ClassPairs::new(&self.0, &train, &train, control)?;
            let mut warm = None;
            let held = data.features().select_rows(&split.holdout).to_dense();
            for (score, &xi) in right.iter_mut().zip(&GRID) {
                let fits = field.planes(xi, warm.as_deref(), Accuracy::Final, control)?;
                let fitted = field.finish(xi, fits.clone(), reach.to_vec())?;
                warm = Some(fits);
                // The same draws for every xi.
                let mut rng = generator(self.0.seed().wrapping_add(1));
                for _ in 0..DRAWS {
                    let noisy = moved(&held, &split.holdout, &ellipsoids, &mut rng);
                    let predicted = fitted.model.predict(&noisy.into())?;
                    add_hits(data, &split.holdout, &predicted, score);
                }
            }
        }
        let best = right.iter().copied().fold(0.0, f64::max);
        // The most robust of equals.
        let last = right.iter().rposition(|r| *r >= best * (1.0 - TIE)).unwrap_or(0);
        Ok(GRID[last])
    }
}

/// Held-out rows, each moved to a place on its ellipsoid.
fn moved(held: &Dense, holdout: &[usize], ellipsoids: &Ellipsoids, rng: &mut impl Rng) -> Dense {
    let mut noisy = held.clone();
    for (k, &i) in holdout.iter().enumerate() {
        let d = ellipsoids.row(i).sample_surface(held.ncols(), rng);
        vector::axpy(1.0, &d, noisy.row_mut(k));
    }
    noisy
}

/// Adds the weights of the held-out rows that are called right.
fn add_hits(data: &Dataset, holdout: &[usize], predicted: &[usize], score: &mut f64) {
    for (&found, &i) in predicted.iter().zip(holdout) {
        let hit = found == data.labels()[i];
        *score += f64::from(u8::from(hit)) * data.weights().map_or(1.0, |w| w[i]);
    }
}
