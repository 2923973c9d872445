//! Cepeda, Gomez and Han, Tables 3 and 4: hinge against conic loss with flipped labels, on real and on separable data.

use mainstay::data::{Dataset, Standardize, make_label_noise};
use mainstay::folds::generator;
use rand::RngExt;
use rand::seq::SliceRandom;

use super::{GRIDS, TIES, choose, error_rate};
use crate::chart::{Chart, Series};
use crate::context::{Context, repetitions};
use crate::error::Result;
use crate::outcome::{Goal, Measured, Outcome, Row, Unit};
use crate::stats::{column, mean};

const TAUS: [f64; 4] = [0.0, 0.1, 0.2, 0.3];
/// A row of Table 3: file, name, and for every tau the mean and deviation of hinge, then of conic, in per cent.
struct Published {
    file: &'static str,
    name: &'static str,
    hinge: [(f64, f64); 4],
    conic: [(f64, f64); 4],
}

const TABLE_3: [Published; 5] = [
    Published {
        file: "breast_cancer_ljubljana",
        name: "Breast cancer",
        hinge: [(16.9, 4.4), (18.3, 4.6), (17.9, 5.0), (19.4, 7.7)],
        conic: [(16.8, 4.2), (17.6, 4.5), (17.5, 4.4), (18.8, 5.5)],
    },
    Published {
        file: "german_numeric",
        name: "German credit",
        hinge: [(25.0, 1.9), (25.8, 2.3), (27.5, 2.0), (29.4, 2.4)],
        conic: [(29.6, 2.1), (29.4, 2.3), (29.7, 2.2), (29.5, 1.9)],
    },
    Published {
        file: "immunotherapy",
        name: "Immunotherapy",
        hinge: [(20.5, 8.0), (24.1, 9.1), (28.6, 10.4), (34.6, 11.9)],
        conic: [(20.7, 6.3), (20.7, 6.3), (21.1, 6.0), (27.0, 16.6)],
    },
    Published {
        file: "ionosphere",
        name: "Ionosphere",
        hinge: [(16.0, 3.3), (19.2, 4.4), (20.9, 5.0), (24.0, 6.9)],
        conic: [(15.8, 3.1), (18.0, 3.6), (20.5, 4.8), (24.1, 6.4)],
    },
    Published {
        file: "sonar",
        name: "Sonar",
        hinge: [(25.4, 7.3), (30.0, 7.6), (32.7, 7.5), (42.3, 10.7)],
        conic: [(30.1, 6.4), (31.9, 6.1), (37.3, 9.5), (45.6, 6.8)],
    },
];

/// The labels with every one flipped with probability `tau`.
fn flip(labels: &[usize], tau: f64, rng: &mut impl rand::Rng) -> Vec<usize> {
    labels.iter().map(|&l| if rng.random::<f64>() < tau { 1 - l } else { l }).collect()
}

fn repeat(data: &Dataset, tau: f64, seed: u64, context: &Context<'_>) -> Result<Vec<f64>> {
    let n = data.len();
    let mut rng = generator(seed);
    let mut rows: Vec<usize> = (0..n).collect();
    rows.shuffle(&mut rng);
    let part = n * 35 / 100;
    let (train, rest) = rows.split_at(part);
    let (validation, test) = rest.split_at(part);
    let scale = Standardize::learn(&data.features().select_rows(train), None);
    let take = |rows: &[usize], labels: Vec<usize>| {
        let x = scale.apply(&data.features().select_rows(rows));
        Dataset::new(x.into(), labels, 2)
    };
    let labels = |rows: &[usize]| rows.iter().map(|&i| data.labels()[i]).collect::<Vec<_>>();
    let mut noisy = |rows: &[usize]| loop {
        let flipped = flip(&labels(rows), tau, &mut rng);
        if flipped.contains(&0) && flipped.contains(&1) {
            return flipped;
        }
    };
    let (train, validation) = (take(train, noisy(train))?, take(validation, noisy(validation))?);
    let test = take(test, labels(test))?;
    let chosen = choose(&train, &validation, context)?;
    Ok(vec![error_rate(&chosen.hinge, &test)?, error_rate(&chosen.conic, &test)?])
}

pub(super) fn table_3(context: &Context<'_>) -> Result<Outcome> {
    let mut out = Outcome::default();
    let count = context.pick(20, 3);
    // Means over data sets of the mean and the deviation, for every tau.
    let mut all: Vec<[Vec<Measured>; 2]> = (0..4).map(|_| [Vec::new(), Vec::new()]).collect();
    for published in &TABLE_3 {
        let Some(set) = context.data(published.file)? else { continue };
        let data = set.binary()?;
        let keys: Vec<String> = TAUS
            .iter()
            .flat_map(|tau| repetitions(&format!("{}/tau={tau}", set.name), count))
            .collect();
        let found = context
            .each("conic-real", &keys, |i, seed| repeat(&data, TAUS[i / count], seed, context))?;
        let mut curves = [Vec::new(), Vec::new()];
        for (t, reps) in found.chunks(count).enumerate() {
            let sides = [("hinge", &published.hinge), ("conic", &published.conic)];
            for (m, (method, numbers)) in sides.into_iter().enumerate() {
                let ours = Measured::of(&column(reps, m));
                let paper = Measured::published(numbers[t].0 / 100.0, numbers[t].1 / 100.0);
                let what = format!("{}, tau {}, {method}", published.name, TAUS[t]);
                let row = Row::compare(what, Unit::Percent, Goal::Lower, paper, ours);
                out.rows.push(row_for(published.file, m, row));
                curves[m].push((TAUS[t], ours.value));
                all[t][m].push(ours);
            }
        }
        let [hinge, conic] = curves;
        let series = vec![Series::new("hinge", hinge), Series::new("conic", conic)];
        out.charts.push(Chart::lines(published.name, "tau", "misclassification", series));
    }
    if out.charts.len() == TABLE_3.len() {
        claims(&all, &mut out);
    }
    table_3_choices(context, &mut out);
    Ok(out)
}

fn table_3_choices(context: &Context<'_>, out: &mut Outcome) {
    out.choice(
        "Features are standardised with the training rows; the paper does not say what it does.",
    );
    out.choice(GRIDS);
    out.choice(TIES);
    out.choice(
        "Breast cancer: the printed size, 196 rows and 36 features, is no UCI set. The complete rows of the Ljubljana set (277; 36 \
         features if coded in one way, 41 as indicators here) come closest, but its smaller class holds 29 % of the rows, so that the \
         published 17 % belong to other data.",
    );
    out.choice("Immunotherapy has 7 features at UCI, the table says 6; we use all 7.");
    if context.quick {
        out.choice("Quick: 3 splits.");
    }
}

fn row_for(file: &str, method: usize, row: Row) -> Row {
    match (file, method) {
        ("breast_cancer_ljubljana", _) => row.not_comparable("other data, see below"),
        ("german_numeric", 1) => row.because(
            "the published error is that of always answering \"good\" (30 %), so its conic fits were constant; ours are not",
        ),
        _ => row.because("features are standardised here; the paper does not say"),
    }
}

fn claims(all: &[[Vec<Measured>; 2]], out: &mut Outcome) {
    let value = |t: usize, m: usize| mean(&all[t][m].iter().map(|x| x.value).collect::<Vec<_>>());
    let spread = |t: usize, m: usize| {
        mean(&all[t][m].iter().map(|x| x.spread.unwrap_or(0.0)).collect::<Vec<_>>())
    };
    let show = |t: usize| {
        format!(
            "tau {}: hinge {:.1} %, conic {:.1} %",
            TAUS[t],
            100.0 * value(t, 0),
            100.0 * value(t, 1)
        )
    };
    let row = Row::claim(
        "average over the sets, no noise",
        "hinge is better (20.8 % against 22.6 %)",
        value(0, 0) < value(0, 1),
        show(0),
    );
    out.rows.push(
        row.because("the constant conic fits on German credit weigh on the published average"),
    );
    out.rows.push(Row::claim(
        "average over the sets, tau of 0.2 and more",
        "conic is better (25.2 % against 25.5 %, 29.0 % against 29.9 %)",
        value(2, 1) < value(2, 0) && value(3, 1) < value(3, 0),
        format!("{}; {}", show(2), show(3)),
    ));
    let smaller = (0..4).filter(|&t| spread(t, 1) < spread(t, 0)).count();
    let row = Row::claim(
        "deviation over splits",
        "smaller with the conic loss at every tau",
        smaller == 4,
        format!("on average over the sets, smaller at {smaller} of 4 values of tau"),
    );
    out.rows.push(
        row.because("constant fits hardly vary, and some of the published ones were constant"),
    );
}

/// Table 4: mean and deviation in per cent of hinge and conic at tau 0.1, 0.2, 0.3.
const TABLE_4: [[(f64, f64); 3]; 2] =
    [[(2.7, 2.5), (4.9, 5.4), (7.1, 7.2)], [(3.1, 3.1), (4.5, 4.5), (6.4, 6.6)]];

pub(super) fn table_4(context: &Context<'_>) -> Result<Outcome> {
    let ns = context.pick(&[100, 200, 500, 1000][..], &[100, 200][..]);
    let ps = context.pick(&[3, 5, 10, 30][..], &[3, 10][..]);
    let count = context.pick(20, 3);
    let cells: Vec<(usize, usize)> =
        ns.iter().flat_map(|&n| ps.iter().map(move |&p| (n, p))).collect();
    let mut out = Outcome::default();
    let mut curves = [Vec::new(), Vec::new()];
    for (t, &tau) in TAUS[1..].iter().enumerate() {
        let keys: Vec<String> = cells
            .iter()
            .flat_map(|(n, p)| repetitions(&format!("tau={tau}/n={n}/p={p}"), count))
            .collect();
        let found = context.each("conic-separable", &keys, |i, seed| {
            let (n, p) = cells[i / count];
            separable(n, p, tau, seed, context)
        })?;
        for (m, method) in ["hinge", "conic"].into_iter().enumerate() {
            let ours = Measured::of(&column(&found, m));
            let (value, spread) = TABLE_4[m][t];
            let paper = Measured::published(value / 100.0, spread / 100.0);
            let what = format!("tau {tau}, {method}");
            out.rows.push(Row::compare(what, Unit::Percent, Goal::Lower, paper, ours));
            curves[m].push((tau, ours.value));
        }
    }
    noise_claims(&curves, &mut out);
    let [hinge, conic] = curves;
    let series = vec![Series::new("hinge", hinge), Series::new("conic", conic)];
    out.charts.push(Chart::lines("Table 4", "tau", "misclassification", series));
    table_4_choices(context, &mut out);
    Ok(out)
}

fn table_4_choices(context: &Context<'_>, out: &mut Outcome) {
    out.choice(
        "The sizes of these problems are not stated: all n and p of Table 2, 20 repetitions each.",
    );
    out.choice("Test rows keep their true labels: with flipped ones no error below tau could be reached. 20,000 of them.");
    out.choice(GRIDS);
    out.choice(TIES);
    if context.quick {
        out.choice("Quick: 3 repetitions for n in {100, 200} and p in {3, 10}.");
    }
}

/// What the paper says about little and more noise.
fn noise_claims(curves: &[Vec<(f64, f64)>; 2], out: &mut Outcome) {
    let at = |m: usize, t: usize| curves[m][t].1;
    let row = Row::claim(
        "little noise (tau 0.1)",
        "hinge is slightly better",
        at(0, 0) < at(1, 0),
        format!("hinge {:.1} %, conic {:.1} %", 100.0 * at(0, 0), 100.0 * at(1, 0)),
    );
    out.rows.push(row.because("differences of a tenth of their spread"));
    let row = Row::claim(
        "more noise (tau 0.2 and 0.3)",
        "conic is better",
        at(1, 1) < at(0, 1) && at(1, 2) < at(0, 2),
        format!(
            "hinge {:.1} % and {:.1} %, conic {:.1} % and {:.1} %",
            100.0 * at(0, 1),
            100.0 * at(0, 2),
            100.0 * at(1, 1),
            100.0 * at(1, 2)
        ),
    );
    out.rows.push(row.because("the two differ by far less than the spread over draws"));
}

/// Hinge and conic error on clean rows. The generator draws the same rows whatever `tau` is.
fn separable(n: usize, p: usize, tau: f64, seed: u64, context: &Context<'_>) -> Result<Vec<f64>> {
    const TEST: usize = 20_000;
    let noisy = make_label_noise(2 * n + TEST, p, tau, seed)?;
    let clean = make_label_noise(2 * n + TEST, p, 0.0, seed)?;
    let rows: Vec<usize> = (0..2 * n + TEST).collect();
    let take = |range: std::ops::Range<usize>| {
        let part = noisy.select_rows(&rows[range]);
        Dataset::new(part.features().clone(), part.labels().to_vec(), 2)
    };
    let test = clean.select_rows(&rows[2 * n..]);
    let (Ok(train), Ok(validation)) = (take(0..n), take(n..2 * n)) else {
        // A plane far from the cube's centre leaves one class only: nothing to learn.
        return Ok(vec![f64::NAN; 2]);
    };
    let chosen = choose(&train, &validation, context)?;
    Ok(vec![error_rate(&chosen.hinge, &test)?, error_rate(&chosen.conic, &test)?])
}
