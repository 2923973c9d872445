//! What all fits to the same rows share, and paths over them.

use rayon::prelude::*;

use super::estimator::{ConicParams, Gamma, GammaRule, KernelKind, check_kappa, check_precomputed};
use super::path::{PathProblem, solve_path};
use super::problem::{Form, Hyperplane, Rows};
use super::space::{Space, first_rows};
use super::strategy::Solution;
use super::suspects::suspects;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged};
use crate::error::Result;
use crate::linalg::Dense;
use crate::model::{BinaryFit, Fitted, KernelFunction, Model, assemble, each_class};
use crate::optim::Budget;

/// Answers for some kappas on all rows: fits to most of the rows start there.
pub(super) struct Guide {
    setup: Setup,
    /// For every kappa (none where it was not chosen) and class.
    answers: Vec<Vec<Solution>>,
}

impl Guide {
    /// Solves for the `chosen` ones of `kappas`.
    pub(super) fn new(
        params: &ConicParams,
        data: &Dataset,
        (kappas, chosen): (&[f64], &[usize]),
        control: &Control,
    ) -> Result<Self> {
        let setup = Setup::new(params, data)?;
        let values: Vec<f64> = chosen.iter().map(|&k| kappas[k]).collect();
        let found = setup.path(&values, None, control, |_, _, found| Ok(found.clone()))?;
        let mut answers = vec![Vec::new(); kappas.len()];
        for (&k, found) in chosen.iter().zip(found) {
            answers[k] = found;
        }
        Ok(Self { setup, answers })
    }

    /// The fit for position `k` of the kappas, whose value is `kappa`, to the rows of the guide: there already, if it was chosen and
    /// its gap is proven.
    pub(super) fn fitted(
        &self,
        (k, kappa): (usize, f64),
        data: &Dataset,
        control: &Control,
    ) -> Result<Option<Fitted>> {
        let (setup, answers) = (&self.setup, &self.answers[k]);
        if answers.is_empty() {
            return Ok(None);
        }
        let form = Form::Budget(kappa * setup.total);
        let fits = each_class(&setup.merged, &control.without_progress(), |binary| {
            let rows = setup.space.rows(&binary.y, binary.weights);
            setup.space.finish(&rows, form, &answers[setup.place(binary.positive)])
        })?;
        let fitted = setup.assemble(data, &fits)?;
        Ok(fitted.dual_gap().is_some_and(|gap| gap <= setup.tol).then_some(fitted))
    }

    /// Starts in the coordinates of `space` for every kappa, where there is an answer for the class.
    fn starts(&self, space: &Space, class: usize) -> Vec<Option<Hyperplane>> {
        let one = |found: &Vec<Solution>| {
            let plane = self.setup.space.portable(&found.get(class)?.plane)?;
            space.import(&plane)
        };
        self.answers.iter().map(one).collect()
    }
}

/// What all fits to the same data share.
pub(super) struct Setup {
    pub merged: Merged,
    /// Total weight of the rows before class weights: what `kappa` is a share of.
    pub total: f64,
    pub space: Space,
    tol: f64,
    max_iter: usize,
}

/// The gap that the solver aims at as a part of the one asked for: the recomputed one differs by rounding.
const AIM: f64 = 0.5;

impl Setup {
    pub(super) fn new(params: &ConicParams, data: &Dataset) -> Result<Self> {
        if params.kernel == KernelKind::Precomputed {
            check_precomputed(data.features())?;
        }
        let merged = Merged::new(&params.class_weight.apply(data.clone())?);
        let total = match params.class_weight {
            ClassWeight::None => total_weight(&merged),
            _ => total_weight(&Merged::new(data)),
        };
        if params.kernel != KernelKind::Precomputed {
            merged.data.check_squares()?;
        }
        let space = match kernel_function(params, &merged) {
            None => Space::linear(&merged, params.fit_intercept),
            Some(function) => Space::kernel(&merged, function, params.fit_intercept)?,
        };
        Ok(Self { merged, total, space, tol: params.tol, max_iter: params.max_iter })
    }

    /// One result per class for every kappa, in the order given; `finish` makes it of an answer.
    pub(super) fn path<T: Clone + Send>(
        &self,
        kappas: &[f64],
        guide: Option<&Guide>,
        control: &Control,
        finish: impl Fn(&Rows<'_>, Form, &Solution) -> Result<T> + Sync,
    ) -> Result<Vec<Vec<T>>> {
        for &kappa in kappas {
            check_kappa(kappa)?;
        }
        // Progress counts kappas with two classes, classes with more.
        let two = self.merged.data.n_classes() == 2;
        let one_path = if two { control } else { &control.without_progress() };
        let paths: Vec<Vec<T>> = each_class(&self.merged, control, |binary| {
            let rows = self.space.rows(&binary.y, binary.weights);
            let class = self.place(binary.positive);
            let guides = guide.map_or_else(Vec::new, |guide| guide.starts(&self.space, class));
            let targets = kappas.iter().map(|k| k * self.total).collect();
            let problem = PathProblem { rows, targets, floor: self.space.floor(), guides };
            let found = solve_path(&problem, &self.budget(control), one_path)?;
            let one =
                |(found, target): (&Solution, &f64)| finish(&rows, Form::Budget(*target), found);
            found.par_iter().zip(&problem.targets).map(one).collect()
        })?;
        Ok((0..kappas.len()).map(|k| paths.iter().map(|path| path[k].clone()).collect()).collect())
    }

    /// The place of the problem of class `positive` against the rest.
    fn place(&self, positive: usize) -> usize {
        if self.merged.data.n_classes() == 2 { 0 } else { positive }
    }

    pub(super) fn budget<'b>(&self, control: &'b Control) -> Budget<'b> {
        Budget::new(AIM * self.tol, self.max_iter, control)
    }

    pub(super) fn assemble(&self, data: &Dataset, fits: &[BinaryFit]) -> Result<Fitted> {
        let model = self.space.model(&self.merged, fits);
        let mut fitted = assemble(&self.merged, model, self.tol, fits);
        if let Model::Kernel(kernel) = &fitted.model {
            // Copies of a row share one coefficient: the first copy holds it.
            let first = first_rows(&self.merged);
            let mut dual = Dense::zeros(data.len(), fits.len());
            for (k, f) in fits.iter().enumerate() {
                for (i, v) in f.weights.iter().enumerate() {
                    dual[(first[i], k)] = *v;
                }
            }
            let support = kernel.indices.iter().map(|&i| i64::try_from(i).unwrap_or(i64::MAX));
            let support: Vec<i64> = support.collect();
            fitted = match fits {
                [_] => fitted.with("dual_coef", dual.into_data()),
                _ => fitted.with("dual_coef", &dual),
            };
            fitted = fitted.with("support", support);
        }
        fitted.suspects = Some(suspects(&fitted, data)?);
        Ok(fitted)
    }
}

fn total_weight(merged: &Merged) -> f64 {
    merged.data.weights().map_or(merged.data.len() as f64, |w| w.iter().sum())
}

fn kernel_function(params: &ConicParams, merged: &Merged) -> Option<KernelFunction> {
    let gamma = || match params.gamma {
        Gamma::Fixed(gamma) => gamma,
        Gamma::Rule(GammaRule::Auto) => 1.0 / merged.data.n_features() as f64,
        Gamma::Rule(GammaRule::Scale) => scale_gamma(merged),
    };
    match params.kernel {
        KernelKind::Linear => None,
        KernelKind::Rbf => Some(KernelFunction::Rbf { gamma: gamma() }),
        KernelKind::Poly => Some(KernelFunction::Poly {
            gamma: gamma(),
            degree: params.degree,
            coef0: params.coef0,
        }),
        KernelKind::Precomputed => Some(KernelFunction::Precomputed),
    }
}

/// 1 / (p * variance over all entries, rows weighted); 1 where all entries are equal.
fn scale_gamma(merged: &Merged) -> f64 {
    let data = &merged.data;
    let p = data.n_features() as f64;
    let weight = |i: usize| data.weights().map_or(1.0, |w| w[i]);
    let total: f64 = p * (0..data.len()).map(weight).sum::<f64>();
    let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
        let x = data.features().to_dense();
        (0..x.nrows()).map(|i| weight(i) * x.row(i).iter().map(|v| f(*v)).sum::<f64>()).sum()
    };
    let mean = sum(&|v| v) / total;
    let variance = sum(&|v| (v - mean) * (v - mean)) / total;
    if variance > 0.0 && variance.is_finite() { 1.0 / (p * variance) } else { 1.0 }
}
