//! Tazi Bouardi and Ramirez, Tables 1 to 3: the SVM on the worst subset of rows against the usual SVM.

use mainstay::data::Dataset;
use mainstay::folds::stratified;
use mainstay::loss::Loss;
use mainstay::model::Estimator;
use mainstay::penalized::{Alpha, PenalizedParams};
use mainstay::stable::{K, StableSvc, StableSvcParams};

use super::split::{QUICK_ROWS, SETS, Split, splits, variability};
use crate::chart::{Chart, Series};
use crate::context::{Context, Repetitions, repetitions};
use crate::error::Result;
use crate::outcome::{Goal, Measured, Outcome, Row, Unit};
use crate::stats::column;

const CS: [f64; 4] = [0.01, 0.1, 1.0, 10.0];
/// Rows on which the constant is tuned, at most.
const TUNING_ROWS: usize = 4000;
const FRACTIONS: [f64; 3] = [0.2, 0.4, 0.6];

fn svm(k: K, c: f64) -> Result<StableSvc> {
    Ok(StableSvcParams { k, c, tol: 1e-5, ..StableSvcParams::default() }.check()?)
}

/// Classical and stable rates, rates over k, then [`variability`].
fn repeat(data: &Dataset, seed: u64, context: &Context<'_>) -> Result<Vec<f64>> {
    let control = context.control();
    let split = Split::new(data, seed, context);
    let c = tune(&split.train, seed, context)?;
    let whole = svm(K::Fraction(1.0), c)?;
    let mut row = Vec::new();
    row.extend(split.rates(&classical(&split.train, c, context)?)?);
    row.extend(split.rates(&whole.fit(&split.train, &control)?)?);
    let path = whole.path(&split.train, &split.counts(), &control)?;
    for fraction in FRACTIONS {
        let fitted = svm(split.count(fraction), c)?.fit(&split.train, &control)?;
        row.extend(split.rates(&fitted)?);
    }
    let half = svm(K::Fraction(0.5), c)?;
    row.extend(variability(&whole, &half, &path, &split, context)?);
    row.push(c);
    Ok(row)
}

/// The plain SVM by another solver: mean hinge loss with alpha = 2/(C n) is problem (2); one class against the rest it is
/// problem (9), whose classes share nothing.
fn classical(train: &Dataset, c: f64, context: &Context<'_>) -> Result<mainstay::model::Fitted> {
    let alpha = Alpha::Fixed(2.0 / (c * train.len() as f64));
    let params = PenalizedParams { loss: Loss::Hinge, alpha, tol: 1e-5, ..Default::default() };
    Ok(params.check()?.fit(train, &context.control())?)
}

/// The constant with the best cross-validated accuracy of the classical SVM; the smallest of several.
fn tune(train: &Dataset, seed: u64, context: &Context<'_>) -> Result<f64> {
    let rows: Vec<usize> = (0..train.len().min(TUNING_ROWS)).collect();
    let part = train.select_rows(&rows);
    let folds = stratified(part.labels(), 5, 1, seed);
    let mut best = (0, CS[0]);
    for c in CS {
        let mut right = 0;
        for fold in &folds {
            let fitted = svm(K::Fraction(1.0), c)?
                .fit(&part.select_rows(&fold.train), &context.control())?;
            let held = part.select_rows(&fold.holdout);
            let predicted = fitted.model.predict(held.features())?;
            right += predicted.iter().zip(held.labels()).filter(|(a, b)| a == b).count();
        }
        if right > best.0 {
            best = (right, c);
        }
    }
    Ok(best.1)
}

/// All splits of every data set that is there.
fn run(context: &Context<'_>) -> Result<Vec<(&'static str, Repetitions)>> {
    let mut all = Vec::new();
    for (file, name) in SETS {
        let Some(set) = context.data(file)? else { continue };
        let keys = repetitions(file, splits(context, file));
        let found =
            context.each("stable-svm", &keys, |_, seed| repeat(&set.data, seed, context))?;
        all.push((name, found));
    }
    Ok(all)
}

/// Adult, WPBC, Glass: accuracy, TPR, FPR of the classical and the stable SVM.
const TABLE_1: [(&str, [f64; 6]); 3] = [
    ("Adult", [0.85, 0.51, 0.05, 0.86, 0.52, 0.04]),
    ("WPBC", [0.85, 0.4, 0.0, 0.85, 0.4, 0.0]),
    ("Glass", [0.68, f64::NAN, f64::NAN, 0.68, f64::NAN, f64::NAN]),
];
/// The same for the stable SVM with k = 0.2 n, 0.4 n, 0.6 n.
const TABLE_2: [(&str, [f64; 9]); 3] = [
    ("Adult", [0.846, 0.49, 0.04, 0.860, 0.522, 0.05, 0.860, 0.522, 0.05]),
    ("WPBC", [0.85, 0.4, 0.0, 0.85, 0.4, 0.0, 0.85, 0.4, 0.0]),
    ("Glass", [0.545, f64::NAN, f64::NAN, 0.64, f64::NAN, f64::NAN, 0.68, f64::NAN, f64::NAN]),
];
/// Deviation of the coefficients, classical and stable.
const TABLE_3: [(&str, [f64; 2]); 3] =
    [("Adult", [1.554, 1.396]), ("WPBC", [0.212, 0.179]), ("Glass", [4.773, 2.157])];

pub(super) const RATES: [(&str, Goal); 3] = [
    ("accuracy", Goal::Higher),
    ("true positives", Goal::Higher),
    ("false positives", Goal::Lower),
];

fn published<const N: usize>(table: &[(&str, [f64; N]); 3], name: &str) -> [f64; N] {
    table.iter().find(|(n, _)| *n == name).map_or([f64::NAN; N], |(_, numbers)| *numbers)
}

pub(super) fn table_1(context: &Context<'_>) -> Result<Outcome> {
    let mut out = Outcome::default();
    let mut gap: f64 = 0.0;
    for (name, found) in run(context)? {
        let paper = published(&TABLE_1, name);
        for (m, method) in ["classical", "stable"].into_iter().enumerate() {
            for (r, (rate, goal)) in RATES.into_iter().enumerate() {
                let number = paper[3 * m + r];
                if number.is_nan() {
                    continue;
                }
                let ours = Measured::of(&column(&found, 3 * m + r));
                let what = format!("{name}, {method}, {rate}");
                let row = Row::compare(what, Unit::Plain, goal, Measured::plain(number), ours);
                out.rows.push(row.because(reason(name)));
            }
        }
        let difference = |row: &Vec<f64>| {
            (0..3).map(|r| (row[r] - row[3 + r]).abs()).filter(|d| !d.is_nan()).fold(0.0, f64::max)
        };
        gap = found.iter().map(difference).fold(gap, f64::max);
    }
    out.rows.push(Row::claim(
        "classical and stable with k = n",
        "no clear winner",
        gap <= 0.06,
        format!(
            "they are one problem: two solvers differ by at most {gap:.4} in any rate of any split"
        ),
    ));
    choices(context, &mut out);
    Ok(out)
}

fn reason(name: &str) -> &'static str {
    match name {
        "WPBC" => "the published split has 20 test rows, 5 of them positive, and is one draw",
        _ => "one published split, lambda and coding not stated",
    }
}

/// What the paper says of few rows: accuracy with 0.2 n of them and with all.
fn small_k(name: &str, few: f64, all: f64) -> Row {
    let fall = all - few;
    let (claim, holds) = if name == "Glass" {
        ("accuracy falls (0.68 to 0.545 at 0.2 n)", fall > 0.02)
    } else {
        ("performance stays very close to that with all rows", fall.abs() <= 0.02)
    };
    let found = format!("accuracy {few:.3} at 0.2 n, {all:.3} at n");
    Row::claim(format!("{name}: small k"), claim, holds, found).because(SMALL_K)
}

pub(super) fn table_2(context: &Context<'_>) -> Result<Outcome> {
    let mut out = Outcome::default();
    let mut curves = Vec::new();
    for (name, found) in run(context)? {
        let paper = published(&TABLE_2, name);
        let mut curve = Vec::new();
        for (f, fraction) in FRACTIONS.into_iter().enumerate() {
            for (r, (rate, goal)) in RATES.into_iter().enumerate() {
                let ours = Measured::of(&column(&found, 6 + 3 * f + r));
                if r == 0 {
                    curve.push((fraction, ours.value));
                }
                let number = paper[3 * f + r];
                if number.is_nan() {
                    continue;
                }
                let what = format!("{name}, k = {fraction} n, {rate}");
                let row = Row::compare(what, Unit::Plain, goal, Measured::plain(number), ours);
                // Six classes: more rows than these leave the joint problem without a usable answer.
                let dead = fraction < 0.3 || (name == "Glass" && fraction < 0.5);
                out.rows.push(row.because(if dead { SMALL_K } else { reason(name) }));
            }
        }
        curve.push((1.0, Measured::of(&column(&found, 3)).value));
        out.rows.push(small_k(name, curve[0].1, curve[3].1));
        curves.push(Series::new(name, curve));
    }
    out.charts.push(Chart::lines("Stable SVM", "k / n", "accuracy", curves));
    choices(context, &mut out);
    Ok(out)
}

const UNPAIRED: &str = "the paper varies k on one training set for the stable fit and the rows for the classical one; on the same rows there is \
     little left";
const SMALL_K: &str = "for k below twice the smaller class the exact optimum can be w = 0, a constant answer (then for every \
                       lambda); accuracies printed for such k come from where a solver stopped";

pub(super) fn table_3(context: &Context<'_>) -> Result<Outcome> {
    let mut out = Outcome::default();
    for (name, found) in run(context)? {
        deviations(name, published(&TABLE_3, name), &found, 15, &mut out);
    }
    choices(context, &mut out);
    Ok(out)
}

/// Rows of Tables 3 and 6: the columns from `first` on are those of [`variability`].
pub(super) fn deviations(
    name: &str,
    [classical, stable]: [f64; 2],
    found: &[Vec<f64>],
    first: usize,
    out: &mut Outcome,
) {
    let at = |k: usize| Measured::of(&column(found, first + k));
    for (k, method, number) in [(0, "classical", classical), (1, "stable", stable)] {
        let what = format!("{name}, {method}: deviation of the coefficients");
        let row = Row::compare(what, Unit::Plain, Goal::Lower, Measured::plain(number), at(k));
        out.rows
            .push(row.not_comparable("depends on lambda and on the features' scale, not stated"));
    }
    let ratio = |a: usize, b: usize| -> Vec<f64> {
        found.iter().map(|row| row[first + b] / row[first + a]).collect()
    };
    let (paper, ours) = (Measured::plain(stable / classical), Measured::of(&ratio(0, 1)));
    let what = format!("{name}, paper's protocol: stable over classical");
    let row = Row::compare(what, Unit::Ratio, Goal::Lower, paper, ours);
    out.rows.push(row.because(UNPAIRED));
    let row = Row::claim(
        format!("{name}: variability"),
        "drastically reduced",
        ours.value < 0.9,
        format!(
            "{:.2} of the classical one by the paper's protocol; on the same nine random halves {:.2}, relative to the size of \
             the coefficients {:.2}; at {:.1} of the 9 values of k all weights are 0",
            ours.value,
            Measured::of(&ratio(2, 3)).value,
            Measured::of(&ratio(4, 5)).value,
            at(6).value
        ),
    );
    out.rows.push(row.because(UNPAIRED));
    let fair = Measured::of(&ratio(2, 3));
    let what = format!("{name}, same rows for both: stable over classical");
    out.rows.push(Row::ours(what, Unit::Ratio, fair, "the fair comparison, not in the paper"));
}

fn choices(context: &Context<'_>, out: &mut Outcome) {
    out.choice(format!(
        "lambda is not stated: the one of 0.01, 0.1, 1, 10 with the best accuracy of the classical SVM in 5-fold cross-validation \
         on at most {TUNING_ROWS} training rows; the stable SVM gets the same."
    ));
    split_choices(context, out);
    out.choice(
        "Glass: the joint problem (10) with one intercept per class; its classical form is k = n.",
    );
}

pub(super) fn split_choices(context: &Context<'_>, out: &mut Outcome) {
    out.choice("The paper shows one random split. We take 30 (Adult: 3) and show the deviation over splits.");
    out.choice("Features are divided by their standard deviation over the training rows (the free intercept makes centring irrelevant); categories are indicators. Adult: rows with a missing cell are left out (45,222 remain). WPBC: 33 features, the 4 missing cells are the mean.");
    if context.quick {
        out.choice(format!("Quick: 6 splits (Adult: 2, of {QUICK_ROWS} random rows)."));
    }
}
