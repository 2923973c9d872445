//! How far a single prediction is from flipping, exactly, with the perturbed row as witness.
//!
//! A linear classifier predicts class `$k$` at `$x$`. For every other class `$j$` let
//! `$d_j = w_k - w_j$` and `$s_j = d_j^\top x + b_k - b_j \ge 0$`; the prediction changes once some
//! `$s_j$` is used up. The least perturbation in a norm is `$\min_j s_j / \|d_j\|_*$` with the dual norm, the
//! least deletion is a covering knapsack over the contributions `$d_{jm} x_m$` (`cover`). Both are exact, but for
//! deletions of least value where the knapsack is too hard: those are enclosed. With two classes there is one `$j$` and
//! `$d = \pm w$`.
//!
//! Two classes told apart by the nearer of two planes ([`crate::model::Planes`]) are exact too: see `planes`.
//!
//! Ties follow `predict`: with two classes a score of exactly 0 is class 0, with more the first
//! largest wins. Where only crossing (not touching) the boundary flips, the radius is the infimum and the
//! witness lies just beyond it.

mod columns;
mod cover;
mod planes;
mod twin_cover;
mod witness;

use rayon::prelude::*;

use crate::control::Control;
use crate::data::Standardize;
use crate::error::{Error, Result};
use crate::linalg::{Dense, Matrix, Row, vector};
use crate::model::{Linear, Model, Planes};

pub use columns::{Column, Units, certify_columns};
pub use cover::Cover;

/// The shape an attack may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// Euclidean ball.
    L2,
    /// Sum of absolute changes: one feature moves.
    L1,
    /// Every feature moves by at most as much.
    Linf,
    /// The given ellipsoid, scaled.
    Ellipsoid,
    /// As few features as possible set to zero.
    Deletions,
    /// Features of as little total value as possible set to zero.
    DeletionValue,
}

impl Attack {
    /// Name in tables and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::L2 => "l2",
            Self::L1 => "l1",
            Self::Linf => "linf",
            Self::Ellipsoid => "ellipsoid",
            Self::Deletions => "deletions",
            Self::DeletionValue => "deletion_value",
        }
    }
}

/// What the attacker's ellipsoid around row `i` makes of a direction `d`: P d.
pub type ShapeProduct<'a> = dyn Fn(usize, &[f64]) -> Vec<f64> + Sync + 'a;

/// What to certify against besides the norms.
#[derive(Default)]
pub struct Options<'a> {
    /// The ellipsoid around every row, as the map `$d \mapsto P_i d$`.
    pub ellipsoid: Option<&'a ShapeProduct<'a>>,
    /// What deleting each feature costs; 1 each if absent.
    pub values: Option<&'a [f64]>,
    /// Also return the flipped rows under this attack.
    pub witness: Option<Attack>,
}

/// One number per row for each question; infinite where nothing flips the prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct RowCertificates {
    /// The predicted class index.
    pub predicted: Vec<usize>,
    /// Two classes: the decision value, positive for class 1. More: lead over the runner-up.
    pub margin: Vec<f64>,
    /// Least Euclidean change that flips.
    pub radius_l2: Vec<f64>,
    /// Least sum of absolute changes that flips.
    pub radius_l1: Vec<f64>,
    /// Least largest change that flips.
    pub radius_linf: Vec<f64>,
    /// Factor by which the ellipsoid must be scaled to flip; present if one was given.
    pub radius_ellipsoid: Option<Vec<f64>>,
    /// Fewest features whose deletion flips.
    pub deletions: Vec<f64>,
    /// Least total value of features whose deletion flips; where `deletion_value_upper` is larger, a proven lower
    /// bound on it.
    pub deletion_value: Vec<f64>,
    /// Value of the cheapest deletion found, present if values were given: it flips, and nothing below
    /// `deletion_value` does. The two are equal, and exact, unless a search took too long.
    pub deletion_value_upper: Option<Vec<f64>>,
    /// The flipped rows, if asked for; rows that cannot be flipped are all NaN.
    pub witness: Option<Dense>,
}

/// The lead of the predicted class over one other class, as a linear function of the row.
struct Lead<'a> {
    direction: &'a [f64],
    /// Lead at the row.
    score: f64,
    /// Whether the lead must fall below zero to flip (else reaching zero is enough).
    strict: bool,
}

/// The differences of every ordered pair of classes, computed once for all rows.
struct Pairs {
    classes: usize,
    directions: Vec<Vec<f64>>,
    norms: Vec<[f64; 3]>,
}

impl Pairs {
    fn new(model: &Linear) -> Self {
        let classes = model.n_classes();
        let zero = vec![0.0; model.n_features()];
        let weight = |k: usize| match model.coef.as_slice() {
            [w] if k == 1 => w,
            [_] => &zero,
            rows => &rows[k],
        };
        let mut directions = Vec::with_capacity(classes * classes);
        for k in 0..classes {
            for j in 0..classes {
                directions.push(weight(k).iter().zip(weight(j)).map(|(a, b)| a - b).collect());
            }
        }
        let norms = directions
            .iter()
            // The dual norms: of L2 itself, of L1 the maximum, of Linf the sum.
            .map(|d: &Vec<f64>| [vector::norm(d), vector::norm_inf(d), vector::norm_1(d)])
            .collect();
        Self { classes, directions, norms }
    }

    fn index(&self, k: usize, j: usize) -> usize {
        k * self.classes + j
    }
}

/// Certifies every row of `x` against `model`: linear models and two classes of planes, also on
/// standardised features (in the units of the raw ones). Other models are an error.
pub fn certify_model(
    model: &Model,
    x: &Matrix,
    options: &Options<'_>,
    control: &Control,
) -> Result<RowCertificates> {
    let refuse = |what: &str| {
        Err(Error::Mismatch(format!(
            "{what} cannot be certified: only linear models and two classes of planes can"
        )))
    };
    if let Some(linear) = model.hyperplanes() {
        return certify(&linear, x, options, control);
    }
    match model {
        Model::Planes(m) if m.n_classes() == 2 => planes::certify(m, x, options, control),
        Model::Planes(_) => refuse("planes of three or more classes"),
        Model::Kernel(_) => refuse("a kernel model"),
        Model::Calibrated(_) => refuse("probabilities put on these scores"),
        Model::Standardized(m) => match &*m.model {
            Model::Planes(inner) if inner.n_classes() == 2 => {
                let scaling = Standardize { means: m.means.clone(), scales: m.scales.clone() };
                let rows = inner.planes.iter().zip(&inner.offsets);
                let (planes, offsets) = rows
                    .map(|(w, offset)| {
                        let (w, minus) = scaling.unscale(w, -offset);
                        (w, -minus)
                    })
                    .unzip();
                let raw = Planes { planes, offsets, reach: inner.reach.clone(), points: None };
                planes::certify(&raw, x, options, control)
            }
            other => certify_model(other, x, options, control),
        },
        Model::Linear(_) | Model::GaussianLinear(_) => {
            refuse("a model that corrects measurement errors of its rows")
        }
    }
}

/// Certifies every row of `x` against a linear model.
pub fn certify(
    model: &Linear,
    x: &Matrix,
    options: &Options<'_>,
    control: &Control,
) -> Result<RowCertificates> {
    check(model.n_features(), x, options)?;
    let pairs = Pairs::new(model);
    let scores = model.decision(x);
    let predicted = crate::model::choose(&scores);
    gather(x, options, control, predicted.clone(), |i| {
        let row = RowQuery {
            pairs: &pairs,
            x: x.row(i),
            i,
            scores: scores.row(i),
            predicted: predicted[i],
            control,
        };
        row.answer(options, model)
    })
}

/// The witnesses as rows; not a number where a row has none.
fn witnesses(rows: &[RowResult], p: usize) -> Dense {
    let mut out = Dense::zeros(rows.len(), p);
    for (i, row) in rows.iter().enumerate() {
        match &row.witness {
            Some(values) => out.row_mut(i).copy_from_slice(values),
            None => out.row_mut(i).fill(f64::NAN),
        }
    }
    out
}

/// Asks every row in parallel and puts the answers into columns.
fn gather(
    x: &Matrix,
    options: &Options<'_>,
    control: &Control,
    predicted: Vec<usize>,
    ask: impl Fn(usize) -> Result<RowResult> + Sync,
) -> Result<RowCertificates> {
    let rows: Vec<RowResult> = control.install(|| {
        (0..x.nrows())
            .into_par_iter()
            .map(|i| {
                if i % 256 == 0 {
                    control.check()?;
                }
                ask(i)
            })
            .collect::<Result<Vec<_>>>()
    })?;
    let column = |pick: fn(&RowResult) -> f64| rows.iter().map(pick).collect::<Vec<f64>>();
    let witness = options.witness.map(|_| witnesses(&rows, x.ncols()));
    Ok(RowCertificates {
        margin: column(|r| r.margin),
        radius_l2: column(|r| r.norms[0]),
        radius_l1: column(|r| r.norms[1]),
        radius_linf: column(|r| r.norms[2]),
        radius_ellipsoid: options.ellipsoid.map(|_| column(|r| r.ellipsoid)),
        deletions: column(|r| r.deletions),
        deletion_value: column(|r| r.deletion_value),
        deletion_value_upper: options.values.map(|_| column(|r| r.deletion_value_upper)),
        predicted,
        witness,
    })
}

fn check(features: usize, x: &Matrix, options: &Options<'_>) -> Result<()> {
    if x.ncols() != features {
        return Err(Error::Mismatch(format!(
            "the data have {} features, the model was fitted on {features}",
            x.ncols(),
        )));
    }
    if let Some((row, column, value)) = x.first_not_finite() {
        return Err(Error::BadCell {
            row,
            column: column.to_string(),
            problem: format!("{value} is not a finite number; only complete rows can be certified"),
        });
    }
    if let Some(values) = options.values {
        if values.len() != x.ncols() {
            return Err(Error::param(
                "values",
                format!("{} numbers", values.len()),
                format!("one for each of the {} features", x.ncols()),
            ));
        }
        if let Some(v) = values.iter().find(|v| !(v.is_finite() && **v >= 0.0)) {
            return Err(Error::param("values", v, "finite and not negative"));
        }
    }
    if options.witness == Some(Attack::Ellipsoid) && options.ellipsoid.is_none() {
        return Err(Error::param("witness", "ellipsoid", "used together with `uncertainty`"));
    }
    Ok(())
}

struct RowResult {
    margin: f64,
    norms: [f64; 3],
    ellipsoid: f64,
    deletions: f64,
    deletion_value: f64,
    deletion_value_upper: f64,
    witness: Option<Vec<f64>>,
}

impl RowResult {
    /// Nothing flips it, until something is found.
    fn never() -> Self {
        Self {
            margin: f64::INFINITY,
            norms: [f64::INFINITY; 3],
            ellipsoid: f64::INFINITY,
            deletions: f64::INFINITY,
            deletion_value: f64::INFINITY,
            deletion_value_upper: f64::INFINITY,
            witness: None,
        }
    }
}

/// One row and its scores.
struct RowQuery<'a> {
    pairs: &'a Pairs,
    x: Row<'a>,
    i: usize,
    scores: &'a [f64],
    predicted: usize,
    control: &'a Control,
}

impl RowQuery<'_> {
    /// The leads over all other classes.
    fn leads(&self) -> impl Iterator<Item = (usize, Lead<'_>)> {
        let k = self.predicted;
        (0..self.pairs.classes).filter(move |&j| j != k).map(move |j| {
            let score = match self.scores {
                [s] if k == 1 => *s,
                [s] => -s,
                scores => scores[k] - scores[j],
            };
            let pair = self.pairs.index(k, j);
            // A tie goes to the class with the lower index.
            (pair, Lead { direction: &self.pairs.directions[pair], score, strict: k < j })
        })
    }

    fn answer(&self, options: &Options<'_>, model: &Linear) -> Result<RowResult> {
        let mut result = RowResult::never();
        for (pair, lead) in self.leads() {
            result.margin = result.margin.min(lead.score);
            for (radius, norm) in result.norms.iter_mut().zip(self.pairs.norms[pair]) {
                *radius = radius.min(lead.radius(norm));
            }
            if let Some(shape) = options.ellipsoid {
                let squared = vector::dot(&shape(self.i, lead.direction), lead.direction);
                result.ellipsoid = result.ellipsoid.min(lead.radius(squared.max(0.0).sqrt()));
            }
            let gains = lead.contributions(self.x);
            let cover = Cover::fewest(&gains, lead.score, lead.strict);
            result.deletions =
                result.deletions.min(cover.as_ref().map_or(f64::INFINITY, |c| c.cost));
            if let Some(values) = options.values {
                let found = Cover::cheapest(&gains, values, lead.score, lead.strict, self.control)?;
                result.deletion_value = result.deletion_value.min(found.lower);
                result.deletion_value_upper = result.deletion_value_upper.min(found.upper());
            }
        }
        if options.values.is_none() {
            result.deletion_value = result.deletions;
        }
        if let [score] = self.scores {
            result.margin = *score;
        }
        if let Some(attack) = options.witness {
            result.witness = self.witness(attack, options, model)?;
        }
        Ok(result)
    }
}

impl Lead<'_> {
    /// Least change, in a norm whose dual norm of the direction is `norm`, that uses up the lead.
    fn radius(&self, norm: f64) -> f64 {
        if norm > 0.0 {
            self.score.max(0.0) / norm
        } else if self.score <= 0.0 && !self.strict {
            0.0
        } else {
            f64::INFINITY
        }
    }

    /// (feature, how much of the lead its deletion takes), only where it takes some.
    fn contributions(&self, x: Row<'_>) -> Vec<(usize, f64)> {
        x.entries()
            .map(|(j, v)| (j, self.direction[j] * v))
            .filter(|(_, taken)| *taken > 0.0)
            .collect()
    }
}
