//! Penalised classifiers: parameters to model.

use rayon::prelude::*;

use super::design::Design;
use super::params::{Alpha, PenalizedParams, Penalty};
use super::partitioned::link;
use super::path::{Choice, choose};
use super::problem::Problem;
use super::row_space::RowSpace;
use super::strategy::{Passes, Task, many_rows, solve_certified};
use crate::certificate::Certificate;
use crate::control::Control;
use crate::data::{Dataset, Merged, Normalize, deviations};
use crate::error::{Error, Result};
use crate::folds::fold_warning;
use crate::loss::Loss;
use crate::model::{
    BinaryFit, BinaryProblem, Estimator, Fitted, PathPoint, RowLists, one_each, one_versus_rest,
};
use crate::optim::Budget;
use crate::partitioned::WholeRows;

/// Penalised mean loss with a free intercept, ROLIN's Eq. (15):
///
/// ```math
/// \min_{w,b}\ \frac{\sum_i c_i\,\varphi(y_i(x_i^\top w + b))}{\sum_i c_i}
///   + \alpha\Big(\rho\,\|w\|_1 + \tfrac{1-\rho}{2}\|w\|_2^2\Big)
/// ```
///
/// with `$\rho$` = `l1_ratio` for the elastic net, 0 for L2, 1 for L1. With `normalize` the
/// penalty applies to the weights of standardised features, `$\sigma_j w_j$`; coefficients are
/// reported for the data as given, the objective is that of the normalised problem. Standardising
/// centres too, which the free intercept absorbs. A constant feature gets weight 0.
///
/// ```
/// use mainstay::data::Dataset;
/// use mainstay::linalg::{Dense, Matrix};
/// use mainstay::model::Estimator;
/// use mainstay::penalized::{Alpha, PenalizedParams};
/// use mainstay::Control;
///
/// let x = Dense::from_rows(4, 1, vec![0.0, 1.0, 2.0, 3.0]);
/// let data = Dataset::new(Matrix::from(x), vec![0, 0, 1, 1], 2)?;
/// let params = PenalizedParams { alpha: Alpha::Fixed(0.1), ..Default::default() };
/// let fitted = params.check()?.fit(&data, &Control::new())?.certified(1e-6)?;
/// println!("at most {:?} from the optimum", fitted.dual_gap());
/// # Ok::<(), mainstay::Error>(())
/// ```
///
/// Parameters are checked; the field is private, so holding one is proof of validity.
#[derive(Debug, Clone)]
pub struct Penalized(PenalizedParams);

impl Estimator for Penalized {
    fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let merged = Merged::new(&*self.0.class_weight.applied(data)?);
        let choice = self.choice(&merged.data, control)?;
        let setting = Setting::new(&self.0, &merged.data, choice.normalize, control)?;
        self.at(choice, &merged, &setting, control)
    }

    /// Over `alpha`; the data are prepared once for each scaling that is used.
    fn fit_path(
        &self,
        points: &[PathPoint],
        data: &Dataset,
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        let estimators = PathPoint::settings(points, &["alpha"], |point| {
            let alpha = point.alpha.map_or(self.0.alpha, Alpha::Fixed);
            PenalizedParams { alpha, ..self.0.clone() }.check()
        })?;
        let merged = Merged::new(&*self.0.class_weight.applied(data)?);
        let choices = estimators.iter().map(|estimator| estimator.choice(&merged.data, control));
        let choices = choices.collect::<Result<Vec<Choice>>>()?;
        // Before any thread needs one: to prepare rows takes all threads.
        let prepare = |normalize: bool| {
            let used = choices.iter().any(|choice| choice.normalize == normalize);
            used.then(|| Setting::new(&self.0, &merged.data, normalize, control)).transpose()
        };
        let settings = [prepare(false)?, prepare(true)?];
        let one = |(estimator, choice): (&Self, Choice)| {
            let setting = settings[usize::from(choice.normalize)].as_ref();
            let setting = setting.ok_or_else(|| Error::Numerical("rows not prepared".into()))?;
            estimator.at(choice, &merged, setting, control)
        };
        control.install(|| estimators.par_iter().zip(choices).map(one).collect())
    }
}

impl Penalized {
    pub(super) fn new(params: PenalizedParams) -> Self {
        Self(params)
    }

    /// Strength and scaling, as given or by cross-validation.
    fn choice(&self, data: &Dataset, control: &Control) -> Result<Choice> {
        match (self.0.alpha, self.0.normalize) {
            (Alpha::Fixed(alpha), Normalize::Fixed(normalize)) => {
                Ok(Choice { alpha, normalize, results: None })
            }
            _ => choose(&self.0, data, control),
        }
    }

    /// Fits with the chosen strength to rows that are ready.
    fn at(
        &self,
        choice: Choice,
        merged: &Merged,
        setting: &Setting<'_>,
        control: &Control,
    ) -> Result<Fitted> {
        let params = &self.0;
        let fitted = one_versus_rest(merged, link(params.loss), params.tol, control, |binary| {
            setting.fit(binary, choice.alpha, control)
        })?;
        let mut fitted = fitted.with("alpha", choice.alpha).with("normalize", choice.normalize);
        if let Some(table) = choice.results {
            fitted.warnings.extend(fold_warning(&merged.data, params.n_folds));
            fitted = fitted.with("cv_results", table);
        }
        Ok(fitted)
    }
}

impl PenalizedParams {
    /// Penalty strengths `$\lambda$`, `$\mu$` of L1 and L2 for `alpha`.
    pub(super) fn strengths(&self, alpha: f64) -> (f64, f64) {
        match self.penalty {
            Penalty::L2 => (0.0, alpha),
            Penalty::L1 => (alpha, 0.0),
            Penalty::ElasticNet => (alpha * self.l1_ratio, alpha * (1.0 - self.l1_ratio)),
        }
    }
}

/// Rows made ready once for all classes and strengths.
pub(super) struct Setting<'a> {
    params: &'a PenalizedParams,
    pub shares: Vec<f64>,
    pub units: Vec<f64>,
    design: Design<'a>,
    row_space: Option<RowSpace>,
    normalize: bool,
    /// The rows for passes over chunks of them, where there are many.
    whole: Option<WholeRows<'a>>,
}

impl<'a> Setting<'a> {
    pub(super) fn new(
        params: &'a PenalizedParams,
        data: &'a Dataset,
        normalize: bool,
        control: &Control,
    ) -> Result<Self> {
        let x = data.features();
        let shares = shares(data);
        let units = if normalize { deviations(x, &shares) } else { vec![1.0; x.ncols()] };
        let design = Design::new(x, &shares, &units);
        let ridge = params.strengths(1.0).0 == 0.0;
        let row_space = if ridge { RowSpace::new(&design) } else { None };
        let whole = many_rows(data).then(|| WholeRows::new(data, control)).transpose()?;
        Ok(Self { params, shares, units, design, row_space, normalize, whole })
    }

    /// The problem of the class `positive`, whose rows have the sign +1 in `y`.
    pub(super) fn task<'b>(&'b self, y: &'b [f64], positive: usize) -> Task<'b> {
        let normalize = self.normalize;
        let passes = self.whole.as_ref().map(|rows| Passes { rows, positive, normalize });
        Task {
            design: &self.design,
            row_space: self.row_space.as_ref(),
            y,
            shares: &self.shares,
            loss: self.params.loss,
            passes,
        }
    }

    /// Solves one binary problem and proves how well.
    fn fit(&self, binary: &BinaryProblem<'_>, alpha: f64, control: &Control) -> Result<BinaryFit> {
        let (l1, l2) = self.params.strengths(alpha);
        let loss = self.params.loss.get();
        let (shares, units) = (&self.shares, &self.units);
        let problem = Problem { x: binary.x, y: &binary.y, shares, loss, l1, l2, units };
        if let Some(sign) = only_sign(&binary.y) {
            let intercept = one_sided(self.params.loss, sign);
            let weights = vec![0.0; binary.x.ncols()];
            let (primal, rounding) = problem.objective(&weights, intercept);
            let found = fit(weights, intercept, Certificate { primal, dual: -rounding }, 1);
            let proof = multipliers(control, vec![0.0; binary.y.len()]);
            return Ok(BinaryFit { proof, ..found });
        }
        let mut budget = Budget::new(self.params.tol, self.params.max_iter, control);
        let proven = solve_certified(self.task(&binary.y, binary.positive), &problem, &mut budget)?;
        let mut certificate = proven.certificate();
        let route = proven.route().to_vec();
        let (point, duals) = proven.into_points();
        let (weights, intercept) = point.unwrap_or_else(|| {
            let zeros = vec![0.0; binary.x.ncols()];
            let (primal, rounding) = problem.objective(&zeros, 0.0);
            certificate = Certificate { primal, dual: -rounding };
            (zeros, 0.0)
        });
        let found = fit(weights, intercept, certificate, budget.spent().max(1));
        // Zeros are feasible, and prove what they prove: that the objective is not negative.
        let duals = duals.unwrap_or_else(|| vec![0.0; binary.y.len()]);
        Ok(BinaryFit { route, proof: multipliers(control, duals), ..found })
    }
}

/// Multipliers per unit of weight, if they are wanted.
fn multipliers(control: &Control, duals: Vec<f64>) -> RowLists {
    if control.wants_proof() {
        vec![("multipliers", one_each(duals.into_iter()))]
    } else {
        Vec::new()
    }
}

/// Row weights as parts of 1.
pub(super) fn shares(data: &Dataset) -> Vec<f64> {
    let unit = vec![1.0; data.len()];
    let weights = data.weights().unwrap_or(&unit);
    // Divided by the largest first: sums of huge weights must not overflow.
    let largest = weights.iter().fold(0.0, |m: f64, w| m.max(*w));
    let total: f64 = weights.iter().map(|w| w / largest).sum();
    weights.iter().map(|w| w / largest / total).collect()
}

/// The sign of all rows, if they share one.
pub(super) fn only_sign(y: &[f64]) -> Option<f64> {
    let positive = y.iter().filter(|y| **y > 0.0).count();
    match positive {
        0 => Some(-1.0),
        count if count == y.len() => Some(1.0),
        _ => None,
    }
}

/// An intercept that makes the loss of rows of one sign zero (logistic: zero but for rounding).
pub(super) fn one_sided(loss: Loss, sign: f64) -> f64 {
    sign * loss.free_margin()
}

fn fit(weights: Vec<f64>, intercept: f64, certificate: Certificate, n_iter: usize) -> BinaryFit {
    BinaryFit {
        weights,
        intercept,
        certificate: Some(certificate),
        n_iter,
        row_outputs: Vec::new(),
        outputs: Vec::new(),
        warnings: Vec::new(),
        route: Vec::new(),
        proof: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Dense, Matrix};

    /// Features of 1e187 beside others of 1: losses beyond all numbers, so that no dual point was ever found.
    #[test]
    #[expect(clippy::unreadable_literal, reason = "numbers of a case that was found by chance")]
    fn a_fit_without_a_dual_point_still_ends_with_a_proof_to_check() {
        let a = -4.409310804171956e187;
        let rows = vec![
            0.0,
            -1.9028869184780541,
            0.0,
            0.0,
            a,
            0.0,
            -1.9028869184780732,
            0.0,
            0.0,
            -4.409310804172001e187,
            1.1906939611826875e174,
            0.0,
            0.0,
            6.605413148365127e-294,
            0.0,
            0.0,
            -1.9028869184780541,
            0.0,
            0.0,
            a,
            2.7313650843744673e173,
            2.801295479855693,
            0.0,
            1.5152335889393488e-294,
            8.37261940951391e187,
            0.0,
            -2.5594153039966656,
            0.0,
            0.0,
            0.0,
            -6.941440767163988e173,
            0.3904972062351451,
            0.0,
            -3.8507866510450716e-294,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            -1.3254955679400226e188,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        ];
        let x = Matrix::from(Dense::from_rows(9, 5, rows));
        let data = Dataset::new(x, vec![0, 1, 2, 0, 0, 0, 2, 1, 2], 3).unwrap();
        let data = data.with_weights(vec![1.0; 9]).unwrap();
        let control = Control::new().with_proof(true);
        let fit = PenalizedParams { alpha: Alpha::Fixed(0.1), ..Default::default() };
        let fitted = fit.check().unwrap().fit(&data, &control).unwrap();
        assert!(fitted.proof.is_some());
        assert!(!fitted.dual_gap().is_some_and(|gap| gap <= fitted.tol));
        assert!(fitted.certificates.iter().all(|claim| claim.primal.is_finite()));
    }

    /// The same numbers as single fits, whatever the order of the strengths; scaling by a rule is chosen at every one.
    #[test]
    fn a_path_is_what_single_fits_are() {
        let x = Dense::from_fn(24, 3, |i, j| ((i * 7 + j * 5 + i * j) as f64 * 0.37).sin());
        let labels = (0..24).map(|i| usize::from(x[(i, 0)] + 0.3 * x[(i, 1)] > 0.1)).collect();
        let data = Dataset::new(Matrix::from(x), labels, 2).unwrap();
        let control = Control::new();
        let alphas = [0.01, 1.0, 0.1];
        let rule = Normalize::Rule(crate::data::NormalizeRule::Auto);
        for (penalty, normalize) in [
            (Penalty::L2, Normalize::Fixed(false)),
            (Penalty::L1, Normalize::Fixed(true)),
            (Penalty::L2, rule),
        ] {
            let params = PenalizedParams { penalty, normalize, ..Default::default() };
            let path = params.clone().check().unwrap();
            let path = path.fit_path(&alphas.map(PathPoint::alpha), &data, &control).unwrap();
            for (alpha, found) in alphas.into_iter().zip(path) {
                let one = PenalizedParams { alpha: Alpha::Fixed(alpha), ..params.clone() };
                assert_eq!(one.check().unwrap().fit(&data, &control).unwrap(), found);
            }
        }
    }

    #[test]
    fn a_path_over_anything_but_alpha_is_refused() {
        let data = Dataset::new(Dense::from_rows(2, 1, vec![0.0, 1.0]).into(), vec![0, 1], 2);
        let svm = PenalizedParams::default().check().unwrap();
        for point in [PathPoint::kappa(0.1), PathPoint::alpha(0.0)] {
            assert!(svm.fit_path(&[point], data.as_ref().unwrap(), &Control::new()).is_err());
        }
    }
}
