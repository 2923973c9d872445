//! Dekel and Shamir, Figure 1: test error from 50 training rows when features are deleted at random.

use mainstay::Control;
use mainstay::data::Dataset;
use mainstay::loss::Loss;
use mainstay::missing::{Damage, MissingFeatureSvcParams, Replacement};
use mainstay::model::{Estimator, Linear};
use mainstay::penalized::{Alpha, PenalizedParams};
use mainstay::uncertainty::{Attack, Deletions};

use super::globerson::GlobersonRoweis;
use super::{scaled, shuffled, training};
use crate::chart::{Chart, Series};
use crate::context::{Context, repetitions};
use crate::error::Result;
use crate::outcome::{Measured, Outcome, Row, Unit};
use crate::stats::{column, mean};

/// What is tried on a data set.
struct Design {
    file: &'static str,
    name: &'static str,
    /// Features deleted from every test row.
    levels: &'static [u32],
    /// Budgets the robust methods are trained for.
    budgets: &'static [u32],
    /// C/gamma of the linear program.
    boxes: &'static [f64],
}

const DESIGNS: [Design; 2] = [
    Design {
        file: "spambase",
        name: "SPAM",
        levels: &[0, 2, 4, 6, 8, 10, 15],
        budgets: &[1, 2, 4, 8, 12],
        boxes: &[0.03, 0.1, 0.3, 1.0, 3.0],
    },
    Design {
        file: "mnist_4v7",
        name: "MNIST",
        levels: &[0, 10, 20, 30, 40, 50, 60],
        budgets: &[2, 5, 10, 20, 40],
        boxes: &[0.01, 0.03, 0.1, 0.3],
    },
];
const SVM_ALPHAS: [f64; 5] = [1e-3, 1e-2, 1e-1, 1.0, 10.0];
const GR_CS: [f64; 3] = [0.01, 0.1, 1.0];
const METHODS: [&str; 3] = ["LP", "GR", "SVM"];
const TRAIN: usize = 50;
const VALIDATION: usize = 300;

/// The linear program for one budget and one box.
fn program(budget: f64, c: f64, train: &Dataset, control: &Control) -> Result<Option<Linear>> {
    let params = MissingFeatureSvcParams { budget, c, tol: 1e-4, ..Default::default() };
    Ok(params.check()?.fit(train, control)?.model.linear().cloned())
}

/// All candidates of a method, fitted.
fn candidates(
    design: &Design,
    method: usize,
    train: &Dataset,
    context: &Context<'_>,
) -> Result<Vec<Linear>> {
    let control = context.control();
    let mut models = Vec::new();
    let step = if context.quick { 2 } else { 1 };
    let budgets = || design.budgets.iter().step_by(step);
    match method {
        0 => {
            for &budget in budgets() {
                for &c in design.boxes {
                    models.extend(program(f64::from(budget), c, train, &control)?);
                }
            }
        }
        1 => {
            for &k in budgets() {
                for c in GR_CS {
                    models.push(GlobersonRoweis { k: k as usize, c }.fit(train, &control)?);
                }
            }
        }
        _ => {
            for alpha in SVM_ALPHAS {
                let alpha = Alpha::Fixed(alpha);
                let params =
                    PenalizedParams { loss: Loss::Hinge, alpha, tol: 1e-8, ..Default::default() };
                let fitted = params.check()?.fit(train, &control)?;
                models.extend(fitted.model.linear().cloned());
            }
        }
    }
    Ok(models)
}

/// Test error of every method (tuned on the damaged validation rows) at every level.
fn repeat(design: &Design, data: &Dataset, seed: u64, context: &Context<'_>) -> Result<Vec<f64>> {
    let rows = shuffled(data.len(), seed);
    let train = training(data, &rows, TRAIN)?;
    let validation = data.select_rows(&rows[TRAIN..TRAIN + VALIDATION]);
    let end = rows.len().min(TRAIN + VALIDATION + context.pick(3000, 1000));
    let test = data.select_rows(&rows[TRAIN + VALIDATION..end]);
    let mut row = Vec::new();
    for method in 0..METHODS.len() {
        let models = candidates(design, method, &train, context)?;
        for &level in design.levels {
            let deletions = Deletions::new(vec![1.0; data.n_features()], f64::from(level))?;
            let damage = Damage {
                deletions: &deletions,
                attack: Attack::Random,
                replacement: Replacement::Zero,
                seed,
            };
            let mut best: Option<(f64, &Linear)> = None;
            for model in &models {
                let score = damage.accuracy(model, validation.features(), validation.labels())?;
                if best.is_none_or(|(b, _)| score > b) {
                    best = Some((score, model));
                }
            }
            let error = match best {
                Some((_, model)) => 1.0 - damage.accuracy(model, test.features(), test.labels())?,
                None => f64::NAN,
            };
            row.push(error);
        }
    }
    Ok(row)
}

pub(super) fn figure_1(context: &Context<'_>) -> Result<Outcome> {
    let mut out = Outcome::default();
    let count = context.pick(20, 3);
    for design in &DESIGNS {
        let Some(data) = scaled(context, design.file)? else { continue };
        let keys = repetitions(design.file, count);
        let found = context
            .each("missing-random", &keys, |_, seed| repeat(design, &data, seed, context))?;
        let width = design.levels.len();
        let at = |m: usize, l: usize| Measured::of(&column(&found, m * width + l));
        for (l, level) in design.levels.iter().enumerate() {
            for (m, method) in METHODS.into_iter().enumerate() {
                let what = format!("{}, {level} deleted, {method}: test error", design.name);
                out.rows.push(Row::ours(what, Unit::Percent, at(m, l), "only drawn in the paper"));
            }
        }
        claims(design, &|m, l| at(m, l).value, &mut out);
        let series = METHODS.into_iter().enumerate().map(|(m, method)| {
            let points = design.levels.iter().enumerate();
            Series::new(method, points.map(|(l, &x)| (f64::from(x), at(m, l).value)))
        });
        out.charts.push(Chart::lines(
            design.name,
            "deleted features",
            "test error",
            series.collect(),
        ));
    }
    out.choice("Repetitions, the sizes of validation and test sets and the numbers of deleted features are not stated: 20 draws, 300 and 3000 rows.");
    out.choice("Tuning, for every number of deleted features: LP over 5 budgets and 4 or 5 ratios C/gamma, GR over 5 budgets and 3 constants, SVM over 5 constants, by the error on validation rows damaged alike.");
    out.choice("GR is our own solver of their problem, exact to a duality gap of 1e-3, with an undeletable constant feature; the paper took over the numbers printed by Globerson and Roweis.");
    out.choice("Scaling is not stated: Spambase by the features' deviations (zeros stay zero), MNIST by 1/255.");
    if context.quick {
        out.choice("Quick: 3 draws, 1000 test rows, 3 budgets.");
    }
    Ok(out)
}

/// What the paper says about the linear program and the other two methods; `at` gives the mean error of a method at a level.
fn claims(design: &Design, at: &dyn Fn(usize, usize) -> f64, out: &mut Outcome) {
    let width = design.levels.len();
    for other in [1, 2] {
        let gains: Vec<f64> = (1..width).map(|l| at(other, l) - at(0, l)).collect();
        out.rows.push(
            Row::claim(
                format!("{}: LP against {}", design.name, METHODS[other]),
                "a clear and substantial advantage",
                mean(&gains) > 0.02 && gains.iter().all(|g| *g > 0.0),
                format!(
                    "the error is lower by {} points at {:?} deleted features",
                    gains
                        .iter()
                        .map(|g| format!("{:.1}", 100.0 * g))
                        .collect::<Vec<_>>()
                        .join(", "),
                    &design.levels[1..]
                ),
            )
            .because("every method was tuned on equally damaged validation rows, the SVM included"),
        );
    }
}
