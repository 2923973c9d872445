//! From data and settings to fitted models: merging, reduction, warm-started paths, outputs.

use rayon::prelude::*;

use super::augmented;
use super::cutting;
use super::estimator::Solver;
use super::interior::{self, Limits, Solution};
use super::least::LeastHinge;
use super::problem::{K, Point, Problem, RowLoss, Target};
use super::reduce::Reduced;
use super::structure;
use crate::certificate::Certificate;
use crate::control::Control;
use crate::data::{ClassWeight, Dataset, Merged};
use crate::error::Result;
use crate::model::{Fitted, Linear, Link, Model, Output};

/// One point of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Setting {
    pub k: K,
    /// `C` of the SVM, `alpha` of the logistic regression.
    pub strength: f64,
}

/// All that the points of a path share.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    pub loss: RowLoss,
    /// One problem over all classes, where there are more than two.
    pub joint: bool,
    pub fit_intercept: bool,
    pub class_weight: ClassWeight,
    pub solver: Solver,
    pub tol: f64,
    pub max_iter: usize,
}

/// Joint problems with more unknowns (classes times features) than this go to the cutting planes, whose
/// memory is linear in the unknowns; interior points factor a dense matrix of that order.
const LARGEST_SYSTEM: usize = 6000;

/// The classical fit (`k` = all rows) is solved so much more exactly than asked, but no more than that: it is compared
/// with the fits of classical solvers.
const CLASSICAL: f64 = 1e-3;
const EXACT: f64 = 1e-9;

/// One solved problem and what it says.
struct Piece {
    solution: Solution,
    shares: Vec<f64>,
    losses: Vec<f64>,
    equals_classical: bool,
    warning: Option<String>,
}

impl Recipe {
    /// One model a setting, in that order, each started from the one before.
    pub(super) fn path(
        &self,
        settings: &[Setting],
        data: &Dataset,
        control: &Control,
    ) -> Result<Vec<Fitted>> {
        // Before anything else: one-hot columns are mostly zeros.
        let compact = data.features().compressed().map(|x| data.replace_features(x.into()));
        let data = compact.as_ref().unwrap_or(data);
        let (merged, given) = if self.class_weight == ClassWeight::None {
            (Merged::new(data), given_weights(data))
        } else {
            let weighted = self.class_weight.apply(data.clone())?;
            (Merged::new(&weighted), given_weights(&weighted))
        };
        let rows = &merged.data;
        let reduced = Reduced::new(rows.features(), self.fit_intercept)?;
        let targets: Vec<Target> = match rows.n_classes() {
            2 => vec![Target::Signs(rows.signs(1))],
            count if self.joint => vec![Target::Classes { labels: rows.labels().to_vec(), count }],
            count => (0..count).map(|class| Target::Signs(rows.signs(class))).collect(),
        };
        let total = (targets.len() * settings.len()) as u64;
        let done = std::sync::atomic::AtomicU64::new(0);
        let tick = || {
            let before = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            control.progress(before + 1, total);
        };
        let along = |target: &Target| -> Result<Vec<Piece>> {
            let mut pieces: Vec<Piece> = Vec::with_capacity(settings.len());
            let mut least = None;
            for setting in settings {
                let problem = self.problem(*setting, rows, target.clone())?;
                let warm = pieces.last().map(|piece| &piece.solution);
                pieces.push(self.solve(&problem, &reduced, warm, &mut least, control)?);
                tick();
            }
            Ok(pieces)
        };
        let columns: Vec<Vec<Piece>> = if let [target] = targets.as_slice() {
            vec![along(target)?]
        } else {
            control.install(|| targets.par_iter().map(along).collect::<Result<_>>())?
        };
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        Ok((0..settings.len())
            .map(|_| {
                let pieces: Vec<Piece> = columns.iter_mut().filter_map(Iterator::next).collect();
                self.assemble(&merged, &given, pieces)
            })
            .collect())
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
        problem: &Problem<'_>,
        reduced: &Reduced<'_>,
        warm: Option<&Solution>,
        least: &mut Option<LeastHinge>,
        control: &Control,
    ) -> Result<Piece> {
        let limits =
            Limits { tol: self.tol, max_iter: self.max_iter, narrow: true, strict: false, control };
        let order = problem.q() * reduced.features.z.ncols();
        let mut solution = match self.solver {
            Solver::InteriorPoint if problem.q() == 1 || order <= LARGEST_SYSTEM => {
                self.by_newton(problem, reduced, warm, least, limits)?
            }
            _ => cutting::solve(problem, reduced, limits)?,
        };
        if self.solver == Solver::InteriorPoint && problem.q() == 1 && problem.k >= problem.total()
        {
            solution = classically_exact(problem, reduced, solution, limits)?;
        }
        let warning = structure::expose_dead_fit(problem, reduced, &mut solution, least, limits)?;
        let equals_classical = structure::equals_classical(problem, &mut solution, self.tol);
        let losses = problem.losses(&problem.scores(&solution.point));
        let shares = structure::cleaned_shares(&solution.dual, problem.weights);
        Ok(Piece { solution, shares, losses, equals_classical, warning })
    }

    /// The method of multipliers where there are many rows, the interior point otherwise (for squared hinges only if
    /// the classical fit is not the answer); where one does not get there, the other goes on.
    fn by_newton(
        &self,
        problem: &Problem<'_>,
        reduced: &Reduced<'_>,
        warm: Option<&Solution>,
        least: &mut Option<LeastHinge>,
        limits: Limits<'_>,
    ) -> Result<Solution> {
        let reached = |found: &Solution| found.certificate.gap() <= self.tol;
        let mut first = None;
        if augmented::suits(problem, reduced) {
            first = augmented::solve(problem, reduced, warm, limits)?;
            if first.is_none()
                && let Some(dead) = structure::dead_fit(problem, reduced, least, limits)?
                && reached(&dead)
            {
                return Ok(dead);
            }
        }
        if let Some(found) = first.take_if(|found| reached(found)) {
            return Ok(found);
        }
        let near = first.filter(|found| found.certificate.gap() <= 1e-2);
        let mut spare = None;
        if problem.loss == RowLoss::SquaredHinge {
            spare = augmented::classical(problem, reduced, limits)?;
        }
        // The classical fit of a small objective may be close to the stable one without being it.
        let is_it = |Certificate { primal, dual }| primal - dual <= self.tol * primal;
        if let Some(found) = spare.take_if(|found| is_it(found.certificate)) {
            return Ok(found);
        }
        self.in_turns(problem, reduced, near.as_ref().or(warm), spare, limits)
    }

    /// The interior point and the multipliers, each from where the other one ended; `spare` is an answer already known.
    fn in_turns(
        &self,
        problem: &Problem<'_>,
        reduced: &Reduced<'_>,
        near: Option<&Solution>,
        spare: Option<Solution>,
        limits: Limits<'_>,
    ) -> Result<Solution> {
        let polished = |found: Solution| -> Result<Solution> {
            if found.certificate.gap() <= self.tol || problem.q() > 1 {
                return Ok(found);
            }
            let again = augmented::polish(problem, reduced, &found, limits)?;
            Ok(again.into_iter().fold(found, interior::better))
        };
        let found = interior::directly(problem, reduced, near, limits)?;
        let found = polished(spare.into_iter().fold(found, interior::better))?;
        if found.certificate.gap() <= self.tol {
            return Ok(found);
        }
        polished(interior::insist(problem, reduced, found, limits)?)
    }

    fn assemble(&self, merged: &Merged, given: &[f64], pieces: Vec<Piece>) -> Fitted {
        let joint = merged.data.n_classes() > 2 && self.joint;
        let link = match self.loss {
            RowLoss::Logistic if joint => Link::Softmax,
            RowLoss::Logistic => Link::Logistic,
            RowLoss::Hinge | RowLoss::SquaredHinge => Link::None,
        };
        let worst = worst_rows(merged, given, &pieces);
        let equals = pieces.iter().all(|p| p.equals_classical);
        let n_iter = pieces.iter().map(|p| p.solution.n_iter).max().unwrap_or(1);
        let certificates = pieces.iter().map(|p| p.solution.certificate).collect();
        let mut warnings: Vec<String> = Vec::new();
        for warning in pieces.iter().filter_map(|p| p.warning.as_ref()) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        let points: Vec<Point> = pieces.into_iter().map(|p| p.solution.point).collect();
        let model = Model::Linear(Linear {
            coef: points.iter().flat_map(|p| p.coef.clone()).collect(),
            intercept: points.iter().flat_map(|p| p.intercept.clone()).collect(),
            link,
        });
        let mut fitted =
            Fitted::new(model, n_iter).with("worst_rows", worst).with("equals_classical", equals);
        fitted.tol = self.tol;
        fitted.certificates = certificates;
        fitted.warnings = warnings;
        fitted
    }
}

fn given_weights(data: &Dataset) -> Vec<f64> {
    data.weights().map_or_else(|| vec![1.0; data.len()], <[f64]>::to_vec)
}

/// A few more steps from a classical fit that is good enough already.
fn classically_exact(
    problem: &Problem<'_>,
    reduced: &Reduced<'_>,
    found: Solution,
    limits: Limits<'_>,
) -> Result<Solution> {
    let (gap, tol) = (found.certificate.gap(), (CLASSICAL * limits.tol).max(EXACT));
    if gap <= tol || gap > limits.tol || found.n_iter >= limits.max_iter {
        return Ok(found);
    }
    let limits = Limits { tol, ..limits.after(found.n_iter) };
    let again = interior::sharpen(problem, reduced, &found, limits)?;
    let n_iter = found.n_iter + again.n_iter;
    Ok(Solution { n_iter, ..interior::better(found, again) })
}

/// The given rows that count in the worst case, heaviest loss first: `row`, `weight` (how much of
/// the row's weight counts), `loss`, and `class` where every class has its own problem.
fn worst_rows(merged: &Merged, given: &[f64], pieces: &[Piece]) -> Output {
    let mut found: Vec<(usize, usize, f64, f64)> = Vec::new();
    let weights = merged.data.weights().unwrap_or(&[]);
    for (class, piece) in pieces.iter().enumerate() {
        for (row, position) in merged.position.iter().enumerate() {
            let Some(at) = *position else { continue };
            if piece.shares[at] > 0.0 {
                // A merged row's share is divided among the given rows in proportion.
                let share = piece.shares[at] * (given[row] / weights[at]);
                found.push((class, row, share, piece.losses[at]));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0).then(b.3.total_cmp(&a.3)).then(a.1.cmp(&b.1)));
    let index = |v: usize| i64::try_from(v).unwrap_or(i64::MAX);
    let mut columns = Vec::new();
    if pieces.len() > 1 {
        let classes = found.iter().map(|r| index(r.0)).collect();
        columns.push(("class".to_owned(), Output::Integers(classes)));
    }
    columns.push(("row".to_owned(), Output::Integers(found.iter().map(|r| index(r.1)).collect())));
    columns.push(("weight".to_owned(), Output::Vector(found.iter().map(|r| r.2).collect())));
    columns.push(("loss".to_owned(), Output::Vector(found.iter().map(|r| r.3).collect())));
    Output::Table(columns)
}
