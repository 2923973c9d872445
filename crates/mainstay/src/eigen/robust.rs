use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::certificate::{Sides, worst_case_ratio};
use super::estimator::{Family, Rule, prepare, reach, with_ratios};
use super::frame::Frame;
use super::moments::Moments;
use super::monotone::{Duel, Side};
use super::nominal::{Plane, pair};
use super::paper::{Iteration, iterate};
use super::problem::{Inside, Penalty, Regularization};
use super::xi::{GRID, Scenarios};
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Shape};
use crate::error::{Result, require};
use crate::folds::{generator, stratified};
use crate::linalg::Dense;
use crate::model::{Estimator, Fitted};
use crate::uncertainty::ellipsoid::Ellipsoids;

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
    fn seed(&self) -> u64 {
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
/// Minimises $R(z) = \sum_A (|w^\top a - \gamma| + \rho_a)^2 / \sum_B \max(|w^\top b - \gamma| - \rho_b, 0)^2$, with
/// the regularisation of ReGEC, to a stationary point; both planes have their own problem. What is certain is
/// the ratio of the plane that is returned, `worst_case_ratio`, which is recomputed from the data with the
/// whole ellipsoids and is never above that of the nominal plane.
#[derive(Debug, Clone)]
pub struct RobustRegec(RobustRegecParams);

impl Estimator for RobustRegec {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let reach = reach(&self.0.class_weight, data)?;
        let data = prepare(data)?;
        let field = Field::new(&self.0, &data, control)?;
        let (xi, fits) = match self.0.xi {
            Xi::Fixed(xi) => (xi, field.planes(xi, None, control)?),
            Xi::Rule(XiRule::Auto) => field.auto(control)?,
            Xi::Rule(XiRule::Cv) => {
                let xi = self.cross_validate(&data, &reach, control)?;
                (xi, field.planes(xi, None, control)?)
            }
        };
        field.finish(xi, fits, self.0.rule, reach)
    }
}

impl RobustRegec {
    /// The xi of the grid with the best accuracy on held-out rows drawn on their ellipsoids.
    fn cross_validate(&self, data: &Dataset, reach: &[f64], control: &Control) -> Result<f64> {
        const DRAWS: usize = 5;
        let fewest = (0..data.n_classes())
            .map(|k| data.labels().iter().filter(|&&l| l == k).count())
            .min()
            .unwrap_or(2);
        // Every class keeps two rows in every training part.
        let folds = 5.min(fewest.saturating_sub(1).max(2));
        let splits = stratified(data.labels(), folds, 1, self.0.seed());
        let ellipsoids = Ellipsoids::new(data, &self.0.uncertainty)?;
        let mut right = [0.0; GRID.len()];
        for split in &splits {
            let train = data.select_rows(&split.train);
            let Ok(train) = prepare(&train) else { continue };
            let field = Field::new(&self.0, &train, control)?;
            let mut warm = None;
            let held = data.features().select_rows(&split.holdout).to_dense();
            for (score, &xi) in right.iter_mut().zip(&GRID) {
                let fits = field.planes(xi, warm.as_deref(), control)?;
                let fitted = field.finish(xi, fits.clone(), self.0.rule, reach.to_vec())?;
                warm = Some(fits);
                // The same draws for every xi.
                let mut rng = generator(self.0.seed().wrapping_add(1));
                for _ in 0..DRAWS {
                    let mut noisy = held.clone();
                    for (k, &i) in split.holdout.iter().enumerate() {
                        let d = ellipsoids.row(i).sample_surface(data.n_features(), &mut rng);
                        crate::linalg::vector::axpy(1.0, &d, noisy.row_mut(k));
                    }
                    let predicted = fitted.model.predict(&noisy.into())?;
                    for (k, &i) in split.holdout.iter().enumerate() {
                        let hit = predicted[k] == data.labels()[i];
                        *score += f64::from(u8::from(hit)) * data.weights().map_or(1.0, |w| w[i]);
                    }
                }
            }
        }
        let best = right.iter().copied().fold(0.0, f64::max);
        // The most robust of equals.
        let last = right.iter().rposition(|r| *r >= best * (1.0 - 1e-12)).unwrap_or(0);
        Ok(GRID[last])
    }
}

/// One robust plane and what there is to say about it.
#[derive(Debug, Clone)]
struct PairFit {
    plane: Plane,
    n_iter: usize,
    warning: Option<String>,
}

/// The plane of the first class of every ordered pair.
type PairPlanes = Vec<((usize, usize), Plane)>;

/// Everything about the data that does not depend on xi.
struct Field<'a> {
    params: &'a RobustRegecParams,
    data: &'a Dataset,
    moments: Moments,
    ellipsoids: Ellipsoids,
    frame: Frame,
    inside: Ellipsoids,
    rows: Vec<Vec<usize>>,
    /// Ordered pairs of classes and the nominal plane of the first against the second.
    pairs: Vec<((usize, usize), Plane)>,
}

impl<'a> Field<'a> {
    fn new(params: &'a RobustRegecParams, data: &'a Dataset, control: &Control) -> Result<Self> {
        let ellipsoids = Ellipsoids::new(data, &params.uncertainty)?;
        let frame = Frame::learn(data.features(), data.weights()).isotropic();
        let inside = ellipsoids.scaled(1.0 / frame.scale[0]);
        let classes = data.n_classes();
        let mut rows = vec![Vec::new(); classes];
        (0..data.len())
            .filter(|&i| data.weights().is_none_or(|w| w[i] > 0.0))
            .for_each(|i| rows[data.labels()[i]].push(i));
        let mut moments = Moments::new(data);
        let nominal = |moments: &Moments| -> Result<(PairPlanes, bool)> {
            let mut pairs = Vec::new();
            let mut any_poor = false;
            for a in 0..classes {
                for b in a + 1..classes {
                    let ([first, second], poor) =
                        pair(moments, (a, b), params.regularization, params.delta, control)?;
                    pairs.push(((a, b), first));
                    pairs.push(((b, a), second));
                    any_poor |= poor;
                }
            }
            pairs.sort_by_key(|(pair, _)| *pair);
            Ok((pairs, any_poor))
        };
        let (mut pairs, poor) = nominal(&moments)?;
        if poor {
            moments = Moments::keep_rows(data);
            pairs = nominal(&moments)?.0;
        }
        Ok(Self { params, data, moments, ellipsoids, frame, inside, rows, pairs })
    }

    fn duel(&self, (a, b): (usize, usize), share: f64) -> Duel<'_> {
        let side = |k: usize| {
            let p = self.data.n_features();
            let mut data = Vec::with_capacity(self.rows[k].len() * (p + 1));
            let mut row = Vec::new();
            for &i in &self.rows[k] {
                self.frame.row(self.data.features(), i, &mut row);
                data.extend_from_slice(&row);
                data.push(-1.0);
            }
            let weight = |&i: &usize| self.data.weights().map_or(1.0, |w| w[i]);
            Side {
                rows: Dense::from_rows(self.rows[k].len(), p + 1, data),
                weights: self.rows[k].iter().map(weight).collect(),
                index: self.rows[k].clone(),
            }
        };
        let (own, other) = (self.moments.diagonal(a), self.moments.diagonal(b));
        let penalty = Penalty::new(self.params.regularization, self.params.delta, &own, &other);
        Duel {
            own: side(a),
            other: side(b),
            ellipsoids: &self.inside,
            numerator: Inside::new(&penalty.numerator, &self.frame),
            denominator: Inside::new(&penalty.denominator, &self.frame),
            share,
        }
    }

    /// Planes of all pairs at `xi`, started from `warm` where given.
    fn planes(&self, xi: f64, warm: Option<&[PairFit]>, control: &Control) -> Result<Vec<PairFit>> {
        let one = |k: usize| {
            let ((a, b), nominal) = &self.pairs[k];
            let exact = (0..self.data.len()).all(|i| self.inside.row(i).is_zero());
            if exact || (1.0 - xi) == 0.0 {
                return Ok(PairFit { plane: nominal.clone(), n_iter: 1, warning: None });
            }
            let start = warm.map(|fits| &fits[k].plane);
            match self.params.solver {
                RobustSolver::Monotone => {
                    self.monotone((*a, *b), nominal, start, 1.0 - xi, control)
                }
                RobustSolver::Paper => self.paper((*a, *b), nominal, 1.0 - xi, control),
            }
        };
        control.install(|| (0..self.pairs.len()).into_par_iter().map(one).collect())
    }

    fn monotone(
        &self,
        pair: (usize, usize),
        nominal: &Plane,
        start: Option<&Plane>,
        share: f64,
        control: &Control,
    ) -> Result<PairFit> {
        let tol = self.params.tol.unwrap_or(1e-7);
        let max_iter = self.params.max_iter.unwrap_or(300);
        let mut duel = self.duel(pair, share);
        let inside = |plane: &Plane| self.frame.inside(&plane.w, plane.gamma);
        let nominal_z = inside(nominal);
        let start_z = start.map(inside).filter(|z| duel.ratio(z) <= duel.ratio(&nominal_z));
        let solve = |duel: &mut Duel<'_>,
                     share: f64,
                     from: &[f64]|
         -> Result<Option<(Plane, usize)>> {
            duel.share = share;
            let Some(found) = duel.descend(from, tol, max_iter, control)? else { return Ok(None) };
            // The plane at infinity (errata B9): no plane among the rows is better.
            if duel.plain_ratio(&found.z) >= duel.at_infinity() * (1.0 - 1e-3) {
                return Ok(None);
            }
            let Some((w, gamma)) = self.frame.outside(&found.z) else { return Ok(None) };
            let quotient = found.history[found.history.len() - 1];
            Ok(Some((Plane { w, gamma, quotient }, found.history.len().max(2) - 1)))
        };
        if let Some((plane, n_iter)) =
            solve(&mut duel, share, start_z.as_deref().unwrap_or(&nominal_z))?
        {
            let plane = self.never_worse(pair, plane, nominal);
            return Ok(PairFit { plane, n_iter, warning: None });
        }
        // Too large: the most robust plane that still exists, by bisection on the size.
        let (mut low, mut high) = (0.0, 1.0);
        let mut best = PairFit { plane: nominal.clone(), n_iter: 1, warning: None };
        for _ in 0..8 {
            let middle = 0.5 * (low + high);
            match solve(&mut duel, middle * share, &nominal_z)? {
                Some((plane, n_iter)) => {
                    best = PairFit { plane, n_iter, warning: None };
                    low = middle;
                }
                None => high = middle,
            }
        }
        let works = if low > 0.0 {
            format!(
                "the plane returned is robust against {low:.2} times the uncertainty, which still works"
            )
        } else {
            "the nominal plane is returned; less than 0.01 times the uncertainty would work".into()
        };
        best.warning = Some(format!(
            "the uncertainty is too large for the plane of class index {} against {}: the plane at infinity is \
             optimal; {works}",
            pair.0, pair.1
        ));
        Ok(best)
    }

    /// The robust plane, or the nominal one should its worst case over the whole ellipsoids be better.
    fn never_worse(&self, (a, b): (usize, usize), robust: Plane, nominal: &Plane) -> Plane {
        let unit = vec![1.0; self.data.len()];
        let sides = Sides {
            x: self.data.features(),
            weights: self.data.weights().unwrap_or(&unit),
            own: &self.rows[a],
            other: &self.rows[b],
        };
        let judge = |p: &Plane| worst_case_ratio(&sides, Some(&self.ellipsoids), (&p.w, p.gamma));
        if judge(nominal) < judge(&robust) { nominal.clone() } else { robust }
    }

    fn paper(
        &self,
        (a, b): (usize, usize),
        nominal: &Plane,
        share: f64,
        control: &Control,
    ) -> Result<PairFit> {
        let order: Vec<usize> = self.rows[a].iter().chain(&self.rows[b]).copied().collect();
        let labels = order.iter().map(|&i| usize::from(self.data.labels()[i] == b)).collect();
        let weights = order.iter().map(|&i| self.data.weights().map_or(1.0, |w| w[i])).collect();
        let mut two = Dataset::new(self.data.features().select_rows(&order), labels, 2)?
            .with_weights(weights)?;
        if let Some(error) = self.data.select_rows(&order).uncertainty() {
            two = two.with_uncertainty(error.clone())?;
        }
        let ellipsoids = Ellipsoids::new(&two, &self.params.uncertainty)?;
        let problem = Iteration {
            data: &two,
            ellipsoids: &ellipsoids,
            regularization: self.params.regularization,
            delta: self.params.delta,
            share,
        };
        let (tol, max_iter) = (self.params.tol.unwrap_or(1e-2), self.params.max_iter.unwrap_or(10));
        let (plane, n_iter, converged) =
            iterate(&problem, nominal.clone(), tol, max_iter, control)?;
        let warning = (!converged).then(|| {
            "the paper's iteration did not converge: the plane with the best worst-case ratio is returned; \
             solver=\"monotone\" always converges"
                .to_owned()
        });
        Ok(PairFit { plane: self.never_worse((a, b), plane, nominal), n_iter, warning })
    }

    /// The xi with the lowest mean objective over random realisations, all planes taken together.
    fn auto(&self, control: &Control) -> Result<(f64, Vec<PairFit>)> {
        let scenarios = Scenarios::new(self.data.len(), self.data.n_features(), self.params.seed());
        let duels: Vec<Duel<'_>> =
            self.pairs.iter().map(|(pair, _)| self.duel(*pair, 1.0)).collect();
        let mut best: Option<(f64, f64, Vec<PairFit>)> = None;
        let mut warm: Option<Vec<PairFit>> = None;
        for (k, &xi) in GRID.iter().enumerate() {
            control.progress(k as u64, GRID.len() as u64);
            let fits = self.planes(xi, warm.as_deref(), control)?;
            let cost: f64 = fits
                .iter()
                .zip(&duels)
                .map(|(fit, duel)| {
                    let z = self.frame.inside(&fit.plane.w, fit.plane.gamma);
                    scenarios.mean_ratio(duel, &z).max(1e-300).ln()
                })
                .sum();
            if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                best = Some((cost, xi, fits.clone()));
            }
            warm = Some(fits);
        }
        match best {
            Some((_, xi, fits)) => Ok((xi, fits)),
            None => Ok((1.0, self.planes(1.0, None, control)?)),
        }
    }

    fn finish(&self, xi: f64, fits: Vec<PairFit>, rule: Rule, reach: Vec<f64>) -> Result<Fitted> {
        let classes = self.data.n_classes();
        let n_iter = fits.iter().map(|f| f.n_iter).max().unwrap_or(1);
        let mut warnings: Vec<String> = Vec::new();
        let mut planes = vec![Vec::new(); classes];
        for (((a, _), _), fit) in self.pairs.iter().zip(fits) {
            planes[*a].push(fit.plane);
            if let Some(text) = fit.warning.filter(|text| !warnings.contains(text)) {
                warnings.push(text);
            }
        }
        let points = (rule == Rule::Points).then_some(self.data);
        let mut fitted =
            Family { moments: &self.moments, planes, reach }.finish(points)?.with("xi", xi);
        fitted.n_iter = n_iter;
        fitted.warnings = warnings;
        Ok(with_ratios(fitted, self.data, Some(&self.ellipsoids)))
    }
}
