//! What a fit of the paper's method reports: the model in the user's units, the parts of `$\beta$`, and
//! `cv_results_`.

use super::fit::Paper;
use super::problem::{Beta, Psi};
use super::search::Candidate;
use super::space::Prepared;
use crate::data::Dataset;
use crate::linalg::{Dense, Matrix, vector};
use crate::model::{Fitted, Linear, Model, Output};
use crate::optim::{Candidates, Scores};
use crate::rolin::shared::kernel::Gram;
use crate::rolin::shared::losses::link;

/// What was chosen for one binary problem, and fitted to all rows.
pub(super) struct BinaryResult {
    pub(super) space: usize,
    pub(super) psi: Psi,
    pub(super) k_max: usize,
    pub(super) candidates: Vec<Candidate>,
    pub(super) beta: Beta,
    pub(super) rank: usize,
}

impl Paper {
    /// The fitted model with everything that can be inspected.
    pub(super) fn report(
        &self,
        chosen: &[BinaryResult],
        spaces: &[Prepared],
        splits: usize,
        data: &Dataset,
        gram: Option<&Gram>,
    ) -> Fitted {
        let parts = Parts::new(chosen, spaces, data.features());
        let (coef, intercept) = (parts.coef.clone(), parts.intercept.clone());
        let link = link(self.loss.loss);
        let model = match gram {
            Some(gram) => gram.model(data, coef, intercept, link),
            None => Model::Linear(Linear { coef, intercept, link }),
        };
        let of = |value: fn(&BinaryResult) -> usize| counts(chosen.iter().map(value));
        let numbers_of = |value: fn(&BinaryResult) -> f64| numbers(chosen.iter().map(value));
        let mut fitted = Fitted::new(model, splits)
            .with("k", of(|a| a.psi.k))
            .with("k_max", of(|a| a.k_max))
            .with("normalize", flags(chosen.iter().map(|a| spaces[a.space].space.normalized())))
            .with("cv_results", results(chosen, spaces, self.tail))
            .with("components", parts.output(chosen));
        if self.tail {
            fitted = fitted
                .with("sigma_ratio", numbers_of(|a| a.psi.sigma_ratio))
                .with("b_max", numbers_of(|a| a.psi.b_max));
        }
        fitted
    }
}

/// The model and the inspectable vectors, one row per binary problem, in the user's units.
#[derive(Default)]
struct Parts {
    coef: Vec<Vec<f64>>,
    intercept: Vec<f64>,
    top: Vec<Vec<f64>>,
    direction: Vec<Vec<f64>>,
    tail: Vec<Vec<f64>>,
}

impl Parts {
    fn new(chosen: &[BinaryResult], spaces: &[Prepared], x: &Matrix) -> Self {
        let mut parts = Self::default();
        for a in chosen {
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

    fn output(self, chosen: &[BinaryResult]) -> Output {
        let matrix = |rows: Vec<Vec<f64>>| {
            let columns = rows.first().map_or(0, Vec::len);
            Output::from(&Dense::from_rows(rows.len(), columns, rows.concat()))
        };
        let dims = |of: fn(&BinaryResult) -> usize| {
            Output::Integers(chosen.iter().map(|a| small(of(a))).collect())
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

/// One value for two classes, one per class for more.
fn numbers(values: impl Iterator<Item = f64>) -> Output {
    let values: Vec<f64> = values.collect();
    match values.as_slice() {
        [value] => Output::Number(*value),
        _ => Output::Vector(values),
    }
}

fn counts(values: impl Iterator<Item = usize>) -> Output {
    let values: Vec<i64> = values.map(small).collect();
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

/// `cv_results_`: one row for each candidate looked at, over all binary problems.
fn results(chosen: &[BinaryResult], spaces: &[Prepared], tail: bool) -> Output {
    let tables = chosen.iter().map(|one| table(&one.candidates, spaces, tail));
    let mut columns: Vec<(String, Output)> = Vec::new();
    for table in tables {
        if columns.is_empty() {
            columns = table;
        } else {
            columns.iter_mut().zip(table).for_each(|((_, all), (_, more))| append(all, more));
        }
    }
    if chosen.len() > 1 {
        let class = |(j, one): (usize, &BinaryResult)| vec![small(j); one.candidates.len()];
        let classes: Vec<i64> = chosen.iter().enumerate().flat_map(class).collect();
        columns.insert(0, ("class".into(), classes.into()));
    }
    Output::Table(columns)
}

/// The paper's columns, and the same in scikit-learn's words: a score is a negated loss.
fn table(candidates: &[Candidate], spaces: &[Prepared], tail: bool) -> Vec<(String, Output)> {
    let numbers = |of: fn(&Candidate) -> f64| Output::Vector(candidates.iter().map(of).collect());
    let integers =
        |of: &dyn Fn(&Candidate) -> i64| Output::Integers(candidates.iter().map(of).collect());
    let mut settings = vec![("k", integers(&|c| small(c.psi.k)))];
    if tail {
        settings.push(("sigma_ratio", numbers(|c| c.psi.sigma_ratio)));
        settings.push(("b_max", numbers(|c| c.psi.b_max)));
    }
    let mut columns: Vec<(String, Output)> =
        settings.iter().map(|(name, values)| ((*name).to_owned(), values.clone())).collect();
    let normalized: Vec<bool> =
        candidates.iter().map(|c| spaces[c.space].space.normalized()).collect();
    let as_integers: Vec<i64> = normalized.iter().map(|flag| i64::from(*flag)).collect();
    columns.push(("normalize".into(), as_integers.into()));
    columns.extend([
        ("loss_avg".into(), numbers(|c| c.judgement.loss_avg)),
        ("loss_max".into(), numbers(|c| c.judgement.loss_max)),
        ("loss_ratio".into(), numbers(|c| c.judgement.loss_ratio)),
        ("cost".into(), numbers(|c| c.judgement.cost)),
        ("pruned".into(), integers(&|c| i64::from(c.pruned))),
    ]);
    let named = settings
        .into_iter()
        .fold(Candidates::new(candidates.len()), |all, (name, values)| all.with(name, values))
        .with("normalize", normalized);
    if let Output::Table(more) = scores(candidates).table(named) {
        columns.extend(more);
    }
    columns
}

/// Negated holdout losses; what was not looked at is not a number.
fn scores(candidates: &[Candidate]) -> Scores {
    let splits = candidates.iter().map(|c| c.losses.len()).max().unwrap_or(0);
    let seen = |c: &Candidate| c.losses.iter().map(|loss| -loss).collect();
    let means = candidates.iter().map(|c| -c.judgement.loss_avg).collect();
    Scores::given_up_early(splits, &candidates.iter().map(seen).collect::<Vec<_>>(), means)
}

/// Adds the rows of a column to those of another of its kind.
fn append(all: &mut Output, more: Output) {
    match (all, more) {
        (Output::Vector(all), Output::Vector(more)) => all.extend(more),
        (Output::Integers(all), Output::Integers(more)) => all.extend(more),
        (Output::Flags(all), Output::Flags(more)) => all.extend(more),
        _ => {}
    }
}

fn small(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
