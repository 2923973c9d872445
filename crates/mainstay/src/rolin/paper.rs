//! The paper's ROLIN and Top PCs, from data to a fitted model.

use super::kernel::{Gram, KernelKind};
use super::losses::PaperLoss;
use super::problem::{Beta, Psi, calc_beta};
use super::rules::Thresholds;
use super::search::{Candidate, Found, Search};
use super::space::{Prepared, Space};
use super::{CvRule, Normalize, Scoring};
use crate::control::Control;
use crate::data::Dataset;
use crate::error::{Error, Result};
pub(super) use crate::folds::fold_warning;
use crate::folds::{linear_grid, stratified};
use crate::linalg::{Dense, Matrix, vector};
use crate::loss::Loss;
use crate::model::{Fitted, Linear, Link, Model, Output};
use rayon::prelude::*;

/// Checked settings.
#[derive(Debug, Clone)]
pub(super) struct Paper {
    pub(super) loss: PaperLoss,
    pub(super) cv: CvRule,
    pub(super) scoring: Scoring,
    pub(super) normalize: Normalize,
    pub(super) rules: Thresholds,
    pub(super) n_folds: usize,
    pub(super) n_repeats: usize,
    pub(super) sigma_ratios: Option<Vec<f64>>,
    pub(super) b_maxs: Option<Vec<f64>>,
    pub(super) k: Option<usize>,
    pub(super) ridge: f64,
    pub(super) kernel: KernelKind,
    pub(super) seed: u64,
    /// Whether the robust part is on.
    pub(super) tail: bool,
}

/// One binary answer.
struct Answer {
    space: usize,
    psi: Psi,
    k_max: usize,
    candidates: Vec<Candidate>,
    beta: Beta,
    rank: usize,
}

impl Paper {
    pub(super) fn fit(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        control.install(|| self.fit_here(data, control))
    }

    fn fit_here(&self, data: &Dataset, control: &Control) -> Result<Fitted> {
        let gram = Gram::new(self.kernel, data)?;
        let normalizations = match self.normalize {
            _ if gram.is_some() => vec![false],
            Normalize::Fixed(flag) => vec![flag],
            Normalize::Rule(_) => vec![false, true],
        };
        let plan = self.plan(data.len());
        let search_needed = !plan.is_single() || normalizations.len() > 1;
        let splits = if search_needed {
            stratified(data.labels(), self.n_folds, self.n_repeats, self.seed)
        } else {
            Vec::new()
        };
        let prepare = |flag: bool| {
            control.check()?;
            let space = match &gram {
                Some(gram) => Space::from_kernel(&gram.values)?,
                None => Space::new(data.features(), flag)?,
            };
            Prepared::new(space, &splits, control)
        };
        let spaces: Vec<Prepared> =
            normalizations.into_par_iter().map(prepare).collect::<Result<_>>()?;
        self.check_k(&spaces)?;
        let classes = if data.n_classes() == 2 { 1..2 } else { 0..data.n_classes() };
        let mut answers = Vec::new();
        for class in classes {
            let y = data.signs(class);
            let found =
                if search_needed { plan.run(&spaces, &splits, &y, control)? } else { plan.only() };
            answers.push(self.answer(found, &spaces, &y)?);
        }
        let mut fitted = self.report(&answers, &spaces, splits.len(), data, gram.as_ref());
        if search_needed {
            fitted.warnings.extend(fold_warning(data, self.n_folds));
        }
        Ok(fitted)
    }

    fn plan(&self, n: usize) -> Search {
        let grid = |given: &Option<Vec<f64>>, usual: Vec<f64>| {
            if self.tail { given.clone().unwrap_or(usual) } else { Vec::new() }
        };
        let widest = 0.1 * (n as f64 / 15.0).sqrt();
        let search = Search {
            loss: self.loss,
            scoring: self.scoring,
            cv: self.cv,
            rules: self.rules,
            ridge: self.ridge,
            sigma_ratios: grid(&self.sigma_ratios, linear_grid(1.0, 10.0, 10)),
            b_maxs: grid(&self.b_maxs, linear_grid(0.01, widest, 10)),
            k: self.k,
            baseline: true,
        };
        let only_tail = self.tail && search.is_single();
        Search { baseline: !only_tail, ..search }
    }

    fn check_k(&self, spaces: &[Prepared]) -> Result<()> {
        let Some(k) = self.k else { return Ok(()) };
        let supported =
            |s: &Prepared| if s.splits.is_empty() { s.full.supports() } else { s.limit };
        let largest = spaces.iter().map(supported).min().unwrap_or(0);
        if k <= largest {
            return Ok(());
        }
        let rule = format!("at most {largest}, what these rows (in every training split) support");
        Err(Error::param("k", k, rule))
    }

    fn answer(&self, found: Found, spaces: &[Prepared], y: &[f64]) -> Result<Answer> {
        let prepared = &spaces[found.space];
        let scaled = Psi { b_max: found.psi.b_max * prepared.space.unit, ..found.psi };
        let beta = calc_beta(self.loss, &prepared.full, y, scaled, self.ridge)?;
        Ok(Answer {
            space: found.space,
            psi: found.psi,
            k_max: found.k_max[found.space],
            candidates: found.candidates,
            beta,
            rank: prepared.full.rank,
        })
    }

    fn report(
        &self,
        answers: &[Answer],
        spaces: &[Prepared],
        splits: usize,
        data: &Dataset,
        gram: Option<&Gram>,
    ) -> Fitted {
        let parts = Parts::new(answers, spaces, data.features());
        let (coef, intercept) = (parts.coef.clone(), parts.intercept.clone());
        let link = link(self.loss.0);
        let model = match gram {
            Some(gram) => gram.model(data, coef, intercept, link),
            None => Model::Linear(Linear { coef, intercept, link }),
        };
        let of = |value: fn(&Answer) -> usize| counts(answers.iter().map(value));
        let numbers_of = |value: fn(&Answer) -> f64| numbers(answers.iter().map(value));
        let mut fitted = Fitted::new(model, splits)
            .with("k", of(|a| a.psi.k))
            .with("k_max", of(|a| a.k_max))
            .with("normalize", flags(answers.iter().map(|a| spaces[a.space].space.normalized())))
            .with("cv_results", results(answers, spaces, self.tail))
            .with("components", parts.output(answers));
        if self.tail {
            fitted = fitted
                .with("sigma_ratio", numbers_of(|a| a.psi.sigma_ratio))
                .with("b_max", numbers_of(|a| a.psi.b_max));
        }
        fitted
    }
}

/// How scores of a classifier fitted to `loss` become probabilities.
pub(super) fn link(loss: Loss) -> Link {
    match loss {
        Loss::Logistic => Link::Logistic,
        Loss::ModifiedHuber => Link::Clip,
        Loss::Hinge | Loss::SquaredHinge => Link::None,
    }
}

impl Search {
    /// Nothing to choose but the normalisation.
    fn is_single(&self) -> bool {
        let one_tail = self.sigma_ratios.len() * self.b_maxs.len() == 1;
        self.k.is_some() && (one_tail || self.sigma_ratios.is_empty())
    }

    /// The only setting there is.
    fn only(&self) -> Found {
        let psi = Psi {
            k: self.k.unwrap_or(0),
            sigma_ratio: self.sigma_ratios.first().copied().unwrap_or(0.0),
            b_max: self.b_maxs.first().copied().unwrap_or(0.0),
        };
        Found { space: 0, psi, k_max: vec![psi.k], candidates: Vec::new() }
    }
}

/// The model and the inspectable vectors, one row a binary problem, in the user's units.
#[derive(Default)]
struct Parts {
    coef: Vec<Vec<f64>>,
    intercept: Vec<f64>,
    top: Vec<Vec<f64>>,
    direction: Vec<Vec<f64>>,
    tail: Vec<Vec<f64>>,
}

impl Parts {
    fn new(answers: &[Answer], spaces: &[Prepared], x: &Matrix) -> Self {
        let mut parts = Self::default();
        for a in answers {
            parts.add(&a.beta, &spaces[a.space], x);
        }
        parts
    }

    fn add(&mut self, beta: &Beta, prepared: &Prepared, x: &Matrix) {
        let features = |c: &[f64]| prepared.space.features(x, &prepared.coordinates(c));
        let (top, top_shift) = features(&beta.top);
        let (direction, direction_shift) = features(&beta.direction);
        let tail: Vec<f64> = direction.iter().map(|v| v * beta.length).collect();
        let mut coef = top.clone();
        vector::axpy(1.0, &tail, &mut coef);
        self.intercept.push(beta.intercept + top_shift + beta.length * direction_shift);
        self.coef.push(coef);
        self.top.push(top);
        self.direction.push(direction);
        self.tail.push(tail);
    }

    fn output(self, answers: &[Answer]) -> Output {
        let matrix = |rows: Vec<Vec<f64>>| {
            let columns = rows.first().map_or(0, Vec::len);
            Output::from(&Dense::from_rows(rows.len(), columns, rows.concat()))
        };
        let dims = |of: fn(&Answer) -> usize| {
            Output::Integers(
                answers.iter().map(|a| i64::try_from(of(a)).unwrap_or(i64::MAX)).collect(),
            )
        };
        Output::Parts(vec![
            ("reliable".into(), matrix(self.top)),
            ("direction".into(), matrix(self.direction)),
            ("robust".into(), matrix(self.tail)),
            ("reliable_dim".into(), dims(|a| a.psi.k)),
            ("robust_dim".into(), dims(|a| a.rank - a.psi.k.min(a.rank))),
        ])
    }
}

/// One value for two classes, one a class for more.
fn numbers(values: impl Iterator<Item = f64>) -> Output {
    let values: Vec<f64> = values.collect();
    match values.as_slice() {
        [value] => Output::Number(*value),
        _ => Output::Vector(values),
    }
}

fn counts(values: impl Iterator<Item = usize>) -> Output {
    let values: Vec<i64> = values.map(|v| i64::try_from(v).unwrap_or(i64::MAX)).collect();
    match values.as_slice() {
        [value] => Output::Integer(*value),
        _ => Output::Integers(values),
    }
}

fn flags(values: impl Iterator<Item = bool>) -> Output {
    let values: Vec<bool> = values.collect();
    match values.as_slice() {
        [value] => Output::Flag(*value),
        _ => Output::Integers(values.into_iter().map(i64::from).collect()),
    }
}

/// One row for each candidate looked at, over all binary problems.
fn results(answers: &[Answer], spaces: &[Prepared], tail: bool) -> Output {
    let all =
        || answers.iter().enumerate().flat_map(|(j, a)| a.candidates.iter().map(move |c| (j, c)));
    let numbers =
        |of: &dyn Fn(&Candidate) -> f64| Output::Vector(all().map(|(_, c)| of(c)).collect());
    let integers = |of: &dyn Fn(usize, &Candidate) -> i64| {
        Output::Integers(all().map(|(j, c)| of(j, c)).collect())
    };
    let small = |v: usize| i64::try_from(v).unwrap_or(i64::MAX);
    let mut columns: Vec<(String, Output)> = Vec::new();
    if answers.len() > 1 {
        columns.push(("class".into(), integers(&|j, _| small(j))));
    }
    columns.push(("k".into(), integers(&|_, c| small(c.psi.k))));
    if tail {
        columns.push(("sigma_ratio".into(), numbers(&|c| c.psi.sigma_ratio)));
        columns.push(("b_max".into(), numbers(&|c| c.psi.b_max)));
    }
    columns.extend([
        ("normalize".into(), integers(&|_, c| i64::from(spaces[c.space].space.normalized()))),
        ("loss_avg".into(), numbers(&|c| c.judgement.loss_avg)),
        ("loss_max".into(), numbers(&|c| c.judgement.loss_max)),
        ("loss_ratio".into(), numbers(&|c| c.judgement.loss_ratio)),
        ("cost".into(), numbers(&|c| c.judgement.cost)),
        ("pruned".into(), integers(&|_, c| i64::from(c.pruned))),
    ]);
    Output::Table(columns)
}
