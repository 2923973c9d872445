//! Tazi Bouardi and Ramirez, Tables 4 to 6: logistic regression on the worst subset of rows against penalised fits.

use mainstay::data::Dataset;
use mainstay::folds::Cv;
use mainstay::model::Estimator;
use mainstay::penalized::{Alpha, AlphaRule, PenalizedParams, Penalty};
use mainstay::stable::{K, StableLogistic, StableLogisticCvParams, StableLogisticParams};

use super::split::{SETS, Split, splits, variability};
use super::svm::{RATES, deviations, split_choices};
use crate::chart::{Chart, Series};
use crate::context::{Context, Repetitions, repetitions};
use crate::error::Result;
use crate::outcome::{Measured, Outcome, Row, Unit};
use crate::stats::column;

const PENALTIES: [(Penalty, &str); 3] =
    [(Penalty::L1, "L1"), (Penalty::L2, "L2"), (Penalty::ElasticNet, "elastic net")];
/// The classical fits, the stable one at n/2, then k over [`FRACTIONS`], then the variability.
const METHODS: [&str; 4] = ["L1", "L2", "elastic net", "stable"];
const FRACTIONS: [f64; 3] = [0.5, 0.6, 0.7];
const LAMBDA: f64 = 0.1;

fn logistic(k: K, alpha: f64) -> Result<StableLogistic> {
    Ok(StableLogisticParams { k, alpha, ..StableLogisticParams::default() }.check()?)
}

fn repeat(data: &Dataset, seed: u64, context: &Context<'_>) -> Result<Vec<f64>> {
    let control = context.control();
    let split = Split::new(data, seed, context);
    let mut row = Vec::new();
    for (penalty, _) in PENALTIES {
        let params = PenalizedParams {
            penalty,
            alpha: Alpha::Rule(AlphaRule::Cv),
            n_alphas: 10,
            n_folds: 10,
            random_state: Some(seed),
            ..PenalizedParams::default()
        };
        row.extend(split.rates(&params.check()?.fit(&split.train, &control)?)?);
    }
    let tuned = StableLogisticCvParams {
        ks: vec![0.5],
        cv: Cv::Folds(10),
        random_state: Some(seed),
        ..StableLogisticCvParams::default()
    };
    row.extend(split.rates(&tuned.check()?.fit(&split.train, &control)?)?);
    for fraction in FRACTIONS {
        let fitted = logistic(split.count(fraction), LAMBDA)?.fit(&split.train, &control)?;
        row.extend(split.rates(&fitted)?);
    }
    let (whole, half) = (logistic(K::Fraction(1.0), LAMBDA)?, logistic(K::Fraction(0.5), LAMBDA)?);
    let path = whole.path(&split.train, &split.counts(), &control)?;
    row.extend(variability(&whole, &half, &path, &split, context)?);
    Ok(row)
}

/// Adult and WPBC: all splits.
fn run(context: &Context<'_>) -> Result<Vec<(&'static str, Repetitions)>> {
    let mut all = Vec::new();
    for (file, name) in SETS.into_iter().take(2) {
        let Some(set) = context.data(file)? else { continue };
        let keys = repetitions(file, splits(context, file));
        let found =
            context.each("stable-logistic", &keys, |_, seed| repeat(&set.data, seed, context))?;
        all.push((name, found));
    }
    Ok(all)
}

/// Accuracy, TPR, FPR of the classical and the stable fit.
const TABLE_4: [(&str, [f64; 3], [f64; 3]); 2] = [
    ("Adult", [0.85, 0.85, 0.20], [0.87, 0.73, 0.10]),
    ("WPBC", [0.85, 0.80, 0.17], [0.83, 0.80, 0.20]),
];
const TABLE_5: [[f64; 3]; 3] = [[0.87, 0.73, 0.09], [0.83, 0.70, 0.13], [0.80, 0.82, 0.20]];
const TABLE_6: [(&str, [f64; 2]); 2] = [("Adult", [0.155, 0.059]), ("WPBC", [0.212, 0.156])];

const ONE_SPLIT: &str = "one published split";
const INCONSISTENT: &str = "the printed rates do not fit the printed accuracy (see below)";

/// A contradiction in the paper.
const RATES_DO_NOT_FIT: &str = "The printed rates do not fit the printed accuracies: with the data's 24 % of positives, rates of 0.85 and \
                                0.20 (Adult, classical) give an accuracy of 0.81 and not 0.85. Another threshold or sample must have been \
                                used for them; a true positive rate alone is bought with false positives.";

pub(super) fn table_4(context: &Context<'_>) -> Result<Outcome> {
    let mut out = Outcome::default();
    for (name, found) in run(context)? {
        let Some((_, classical, stable)) = TABLE_4.iter().find(|(n, ..)| *n == name) else {
            continue;
        };
        for (m, method) in METHODS.into_iter().enumerate() {
            let numbers = if m < 3 { classical } else { stable };
            for (r, (rate, goal)) in RATES.into_iter().enumerate() {
                let ours = Measured::of(&column(&found, 3 * m + r));
                let what = format!("{name}, {method}, {rate}");
                let paper = Measured::plain(numbers[r]);
                let row = Row::compare(what, Unit::Plain, goal, paper, ours);
                out.rows.push(row.because(if r == 0 { ONE_SPLIT } else { INCONSISTENT }));
            }
        }
        let at = |m: usize, r: usize| Measured::of(&column(&found, 3 * m + r)).value;
        rate_claims(name, &at, &mut out);
    }
    choices(context, &mut out);
    out.notes.push(RATES_DO_NOT_FIT.into());
    out.choice("The paper prints one classical row without saying which penalty it is; all three are compared with it.");
    Ok(out)
}

/// What the paper says of the rates on one data set; `at` is a rate of a method.
fn rate_claims(name: &str, at: &dyn Fn(usize, usize) -> f64, out: &mut Outcome) {
    let row = Row::claim(
        format!("{name}: accuracy"),
        "stable and classical are similar, no clear winner",
        (0..3).all(|m| (at(m, 0) - at(3, 0)).abs() <= 0.02),
        format!(
            "L1 {:.3}, L2 {:.3}, elastic net {:.3}, stable {:.3}",
            at(0, 0),
            at(1, 0),
            at(2, 0),
            at(3, 0)
        ),
    );
    out.rows.push(row.because("the repetitions differ by more than the methods do"));
    if name == "Adult" {
        let row = Row::claim(
            "Adult: false positives",
            "half as many with the stable fit",
            at(3, 2) <= 0.6 * at(1, 2),
            format!("{:.3} stable, {:.3} L2", at(3, 2), at(1, 2)),
        );
        out.rows.push(row.because("the printed rates belong to another threshold, see below"));
    }
}

pub(super) fn table_5(context: &Context<'_>) -> Result<Outcome> {
    let mut out = Outcome::default();
    let all = run(context)?;
    let Some((_, found)) = all.iter().find(|(name, _)| *name == "Adult") else {
        return Ok(out);
    };
    let at = |f: usize, r: usize| Measured::of(&column(found, 12 + 3 * f + r));
    for (f, fraction) in FRACTIONS.into_iter().enumerate() {
        for (r, (rate, goal)) in RATES.into_iter().enumerate() {
            let what = format!("k = {fraction} n, {rate}");
            let paper = Measured::plain(TABLE_5[f][r]);
            let row = Row::compare(what, Unit::Plain, goal, paper, at(f, r));
            out.rows.push(row.because("one published split; threshold and coding not stated"));
        }
    }
    let row = Row::claim(
        "accuracy over k",
        "falls as k grows (0.87, 0.83, 0.80)",
        at(0, 0).value > at(1, 0).value && at(1, 0).value > at(2, 0).value,
        format!("{:.3}, {:.3}, {:.3}", at(0, 0).value, at(1, 0).value, at(2, 0).value),
    );
    out.rows
        .push(row.because("one published split; differences of this size are within its noise"));
    let series = RATES.into_iter().enumerate().map(|(r, (rate, _))| {
        Series::new(rate, FRACTIONS.iter().enumerate().map(|(f, &x)| (x, at(f, r).value)))
    });
    out.charts.push(Chart::lines("Adult, lambda = 0.1", "k / n", "rate", series.collect()));
    choices(context, &mut out);
    Ok(out)
}

pub(super) fn table_6(context: &Context<'_>) -> Result<Outcome> {
    let mut out = Outcome::default();
    for (name, found) in run(context)? {
        let numbers = TABLE_6.iter().find(|(n, _)| *n == name).map_or([f64::NAN; 2], |t| t.1);
        deviations(name, numbers, &found, 21, &mut out);
    }
    choices(context, &mut out);
    out.choice(
        "lambda = 0.1 as in Table 5; the classical fit is problem (11) with the same lambda.",
    );
    out.notes.push("\"200 % reduction\" (0.155 to 0.059) is a reduction by 62 %.".into());
    Ok(out)
}

fn choices(context: &Context<'_>, out: &mut Outcome) {
    out.choice("Problem (12) has no intercept; we add a free one, as the classical fits have. The decision threshold is probability 1/2.");
    out.choice("Grids: ten strengths for the classical fits, lambda in {0.0001, 0.001, 0.01, 0.1, 1} for the stable one, both by the held-out log loss.");
    split_choices(context, out);
}
