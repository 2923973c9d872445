//! From data and settings to fitted models: merging of rows, warm-started paths, outputs.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::certificate::{Dual, certify};
use super::degenerate;
use super::estimator::Solver;
use super::feasible::feasible;
use super::passes;
use super::problem::{Hyperplanes, Problem, RowLoss, Target};
use super::row_space::Reduced;
use super::smallest_k::SmallestK;
use super::solution::Solution;
use super::strategy::{self, Task};
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged};
use crate::error::Result;
use crate::loss::Loss;
use crate::model::{Fitted, Linear, Link, Model, RowLists, WorstRows, dual_point, one_each};
use crate::optim::Budget;
use crate::partitioned::{Objective, Spec, WholeRows};
use crate::uncertainty::K;

/// One point of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Setting {
    pub k: K,
    /// `C` of the SVM, `alpha` of the logistic regression.
    pub strength: f64,
}

/// All that the points of a path share.
#[derive(Debug, Clone)]
pub(super) struct PathSpec {
    pub loss: RowLoss,
    /// One problem over all classes, where there are more than two.
    pub joint: bool,
    pub fit_intercept: bool,
    pub class_weight: ClassWeight,
    pub solver: Solver,
    pub tol: f64,
    pub max_iter: usize,
}

/// One solved problem and what it says.
struct Piece {
    solution: Solution,
    shares: Vec<f64>,
    losses: Vec<f64>,
    equals_classical: bool,
    warning: Option<String>,
    n_iter: usize,
    proof: RowLists,
}

/// The rows that all points of a path share.
struct Rows<'d> {
    data: &'d Dataset,
    reduced: Reduced<'d>,
}

impl PathSpec {
    /// One model per setting, in that order, each started from the one before.
    pub(super) fn fit(
        &self,
        settings: &[Setting],
        data: &Dataset,
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        // Before anything else: one-hot columns are mostly zeros.
        let compact = data.features().compressed().map(|x| data.replace_features(x.into()));
        let data = compact.as_ref().unwrap_or(data);
        let weighted = match self.class_weight {
            ClassWeight::None => None,
            _ => Some(self.class_weight.apply(data.clone())?),
        };
        let data = weighted.as_ref().unwrap_or(data);
        let (merged, given) = (Merged::new(data), data.weights());
        merged.data.check_squares()?;
        if let Some(pieces) = self.solve_by_passes(settings, &merged.data, control)? {
            return Ok(vec![self.assemble(&merged, given, pieces)]);
        }
        let reduced = Reduced::new(merged.data.features(), self.fit_intercept)?;
        let rows = Rows { data: &merged.data, reduced };
        let columns = self.solve_targets(settings, &rows, control)?;
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        Ok((0..settings.len())
            .map(|_| {
                let pieces: Vec<Piece> = columns.iter_mut().filter_map(Iterator::next).collect();
                self.assemble(&merged, given, pieces)
            })
            .collect())
    }

    /// What the problem, or that of each class, asks of the scores.
    fn targets(&self, data: &Dataset) -> Vec<Target> {
        match data.n_classes() {
            2 => vec![Target::Signs(data.signs(1))],
            count if self.joint => vec![Target::Classes { labels: data.labels().to_vec(), count }],
            count => (0..count).map(|class| Target::Signs(data.signs(class))).collect(),
        }
    }

    /// The answers to the problems of many rows at a single setting; none where passes over the rows do not give all of
    /// them.
    fn solve_by_passes(
        &self,
        settings: &[Setting],
        data: &Dataset,
        control: &Control,
    ) -> Result<Option<Vec<Piece>>> {
        let [setting] = settings else { return Ok(None) };
        let joint = self.joint && data.n_classes() > 2;
        let suits = passes::suits(data.len(), data.n_features(), self.max_iter);
        if joint || !suits || self.solver != Solver::InteriorPoint {
            return Ok(None);
        }
        let (rows, spec) = (WholeRows::new(data, control)?, self.spec_of_passes(*setting));
        let mut pieces = Vec::new();
        for (class, target) in self.targets(data).into_iter().enumerate() {
            let positive = if data.n_classes() == 2 { 1 } else { class };
            let problem = self.problem(*setting, data, target)?;
            let mut budget = Budget::new(self.tol, self.max_iter, control);
            let Some(mut solution) =
                passes::solve(&problem, (&rows, &spec, positive), &mut budget)?
            else {
                return Ok(None);
            };
            let equals_classical = degenerate::equals_classical(&problem, &mut solution, self.tol);
            let mut piece = piece_of(&problem, solution, equals_classical, &budget);
            // No other problem starts from here, and rows are many.
            piece.solution.dual = Dual { share: Vec::new(), alpha: Vec::new() };
            pieces.push(piece);
        }
        Ok(Some(pieces))
    }

    /// The problem at one setting as fits over partitions know it.
    fn spec_of_passes(&self, setting: Setting) -> Spec {
        let Setting { k, strength } = setting;
        let sum = Objective::WorstSum { k, c: strength };
        let (loss, objective) = match self.loss {
            RowLoss::Hinge => (Loss::Hinge, sum),
            RowLoss::SquaredHinge => (Loss::SquaredHinge, sum),
            RowLoss::Logistic => (Loss::Logistic, Objective::WorstMean { k, alpha: strength }),
        };
        Spec {
            loss,
            objective,
            normalize: false,
            fit_intercept: self.fit_intercept,
            // It is part of the weights already.
            class_weight: ClassWeight::None,
            tol: self.tol,
            max_iter: self.max_iter,
            link: Link::None,
            joint: false,
            outputs: Vec::new(),
        }
    }

    /// One problem, or one per class, each along all settings.
    fn solve_targets(
        &self,
        settings: &[Setting],
        rows: &Rows<'_>,
        control: &Control,
    ) -> Result<Vec<Vec<Piece>>> {
        let targets = self.targets(rows.data);
        let total = (targets.len() * settings.len()) as u64;
        let done = AtomicU64::new(0);
        let tick = || control.progress(1 + done.fetch_add(1, Ordering::Relaxed), total);
        let along = |target: &Target| self.solve_along(settings, rows, target, control, &tick);
        if let [target] = targets.as_slice() {
            return Ok(vec![along(target)?]);
        }
        control.install(|| targets.par_iter().map(along).collect())
    }

    /// The problems of one target, each started from the answer to the one before.
    fn solve_along(
        &self,
        settings: &[Setting],
        rows: &Rows<'_>,
        target: &Target,
        control: &Control,
        tick: &impl Fn(),
    ) -> Result<Vec<Piece>> {
        let mut pieces: Vec<Piece> = Vec::with_capacity(settings.len());
        let mut smallest_k = None;
        for setting in settings {
            let problem = &self.problem(*setting, rows.data, target.clone())?;
            let neighbour = pieces.last().map(|piece| piece.solution.start());
            let task = Task { problem, reduced: &rows.reduced, neighbour };
            let piece = self.solve(&task, &mut smallest_k, control)?;
            pieces.push(piece);
            tick();
        }
        Ok(pieces)
    }

    fn problem<'a>(
        &self,
        setting: Setting,
        rows: &'a Dataset,
        target: Target,
    ) -> Result<Problem<'a>> {
        let weights = rows.weights().unwrap_or(&[]);
        let k = setting.k.resolve(weights.iter().sum())?;
        let (ridge, scale) = match self.loss {
            RowLoss::Logistic => (setting.strength, 1.0 / k),
            RowLoss::Hinge | RowLoss::SquaredHinge => (1.0, setting.strength),
        };
        Ok(Problem {
            x: rows.features(),
            target,
            weights,
            loss: self.loss,
            k,
            ridge,
            scale,
            fit_intercept: self.fit_intercept,
        })
    }

    fn solve(
        &self,
        task: &Task<'_, '_>,
        smallest_k: &mut Option<SmallestK>,
        control: &Control,
    ) -> Result<Piece> {
        let Task { problem, reduced, .. } = *task;
        let mut budget = Budget::new(self.tol, self.max_iter, control);
        let mut solution = strategy::solve(task, self.solver, smallest_k, &mut budget)?;
        let warning = degenerate::report_zero_weights(
            problem,
            reduced,
            &mut solution,
            smallest_k,
            &mut budget,
        )?;
        let equals_classical = degenerate::equals_classical(problem, &mut solution, self.tol);
        let piece = piece_of(problem, solution, equals_classical, &budget);
        Ok(Piece { warning, ..piece })
    }

    fn assemble(&self, merged: &Merged, given: Option<&[f64]>, pieces: Vec<Piece>) -> Fitted {
        let joint = merged.data.n_classes() > 2 && self.joint;
        let link = match self.loss {
            RowLoss::Logistic if joint => Link::Softmax,
            RowLoss::Logistic => Link::Logistic,
            RowLoss::Hinge | RowLoss::SquaredHinge => Link::None,
        };
        let worst = worst_rows(merged, given, &pieces);
        let equals = pieces.iter().all(|p| p.equals_classical);
        let n_iter = pieces.iter().map(|p| p.n_iter).max().unwrap_or(1);
        let certificates = pieces.iter().map(|p| p.solution.certificate).collect();
        let route = joint_route(&pieces);
        let asked = pieces.iter().all(|p| !p.proof.is_empty());
        let proof = asked.then(|| pieces.iter().map(|p| dual_point(merged, &p.proof)).collect());
        let mut warnings: Vec<String> = Vec::new();
        for warning in pieces.iter().filter_map(|p| p.warning.as_ref()) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        let planes: Vec<Hyperplanes> =
            pieces.into_iter().map(|p| p.solution.iterate.hyperplanes).collect();
        let model = Model::Linear(Linear {
            coef: planes.iter().flat_map(|p| p.coef.clone()).collect(),
            intercept: planes.iter().flat_map(|p| p.intercept.clone()).collect(),
            link,
        });
        let mut fitted = Fitted::new(model, n_iter).with("equals_classical", equals);
        fitted.worst_rows = Some(worst);
        fitted.tol = self.tol;
        fitted.certificates = certificates;
        fitted.warnings = warnings;
        fitted.route = route;
        fitted.proof = proof;
        fitted
    }
}

/// What a solution says, proven once more.
fn piece_of(
    problem: &Problem<'_>,
    mut solution: Solution,
    equals_classical: bool,
    budget: &Budget<'_>,
) -> Piece {
    solution.certificate = certify(problem, &solution.iterate.hyperplanes, &solution.dual);
    let losses = problem.losses_at(&solution.iterate.hyperplanes);
    let shares = degenerate::cleaned_shares(&solution.dual, problem.weights);
    let n_iter = budget.spent();
    let wanted = budget.control().wants_proof();
    let proof = if wanted { row_lists(problem, &solution.dual) } else { Vec::new() };
    Piece { solution, shares, losses, equals_classical, warning: None, n_iter, proof }
}

/// The dual point by row and per unit of its weight: multipliers, one per score and with the sign of none, and shares.
fn row_lists(problem: &Problem<'_>, dual: &Dual) -> RowLists {
    let Dual { share, alpha } = feasible(problem, dual);
    let of = |(i, alpha): (usize, &[f64])| {
        let unit = |v: &f64| v.abs() / problem.weights[i];
        alpha.iter().map(unit).collect::<Vec<f64>>()
    };
    let multipliers = alpha.chunks_exact(problem.q()).enumerate().map(of).collect();
    let shares = share.iter().zip(problem.weights).map(|(a, c)| a / c);
    vec![("multipliers", multipliers), ("shares", one_each(shares))]
}

/// The routes of all problems after each other; a route that several problems took stands once.
fn joint_route(pieces: &[Piece]) -> Vec<String> {
    let mut routes: Vec<&[&'static str]> = Vec::new();
    for piece in pieces {
        if !routes.contains(&piece.solution.route.as_slice()) {
            routes.push(&piece.solution.route);
        }
    }
    routes.concat().into_iter().map(str::to_owned).collect()
}

/// The given rows that count in the worst case, heaviest loss first: `row`, `weight` (how much of
/// the row's weight counts), `loss`, and `class` where every class has its own problem.
fn worst_rows(merged: &Merged, given: Option<&[f64]>, pieces: &[Piece]) -> WorstRows {
    let weights = merged.data.weights().unwrap_or(&[]);
    let mut found = WorstRows {
        class: (pieces.len() > 1).then(Vec::new),
        row: Vec::new(),
        weight: Vec::new(),
        loss: Vec::new(),
    };
    for (class, piece) in pieces.iter().enumerate() {
        let of = |values: &[f64], row: usize| merged.position.at(row).map_or(0.0, |at| values[at]);
        let counts = |row: &usize| of(&piece.shares, *row) > 0.0;
        let count = (0..merged.position.len()).filter(counts).count();
        // Rows are many: they are put in order where they will stay.
        let mut rows = Vec::with_capacity(count);
        rows.extend((0..merged.position.len()).filter(counts));
        let loss = |row: usize| of(&piece.losses, row);
        rows.sort_unstable_by(|&a, &b| loss(b).total_cmp(&loss(a)).then(a.cmp(&b)));
        // A merged row's share is divided among the given rows in proportion.
        let part = |row: usize| given.map_or(1.0, |w| w[row]) / of(weights, row);
        found.weight.extend(rows.iter().map(|&row| of(&piece.shares, row) * part(row)));
        found.loss.extend(rows.iter().map(|&row| loss(row)));
        if let Some(classes) = &mut found.class {
            classes.resize(classes.len() + count, class);
        }
        if found.row.is_empty() { found.row = rows } else { found.row.extend(rows) }
    }
    found
}
