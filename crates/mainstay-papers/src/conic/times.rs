//! Cepeda, Gomez and Han, Table 2: seconds that 100 fits with hinge and with conic loss take.

use std::time::Instant;

use mainstay::conic::{ConicParams, hinge_grid, hinge_path};
use mainstay::data::Outliers;

use super::kappas;
use super::synthetic::Case;
use crate::chart::{Chart, Series};
use crate::context::{Context, repetitions};
use crate::error::Result;
use crate::outcome::{Goal, Measured, Outcome, Row, Unit};
use crate::stats::column;

const NS: [usize; 4] = [100, 200, 500, 1000];
const PS: [usize; 4] = [3, 5, 10, 30];
/// Table 2: seconds (mean, deviation) of hinge and conic for every n and p.
const TABLE_2: [[[(f64, f64); 2]; 4]; 4] = [
    [
        [(0.2, 0.0), (2.8, 0.3)],
        [(0.2, 0.0), (2.9, 0.4)],
        [(0.2, 0.0), (5.2, 1.4)],
        [(0.3, 0.0), (41.2, 4.7)],
    ],
    [
        [(0.5, 0.1), (3.5, 0.5)],
        [(0.5, 0.1), (3.7, 0.5)],
        [(1.9, 0.2), (8.7, 2.6)],
        [(2.2, 2.0), (94.1, 42.7)],
    ],
    [
        [(6.2, 1.4), (14.7, 4.7)],
        [(6.2, 1.5), (14.5, 4.7)],
        [(5.8, 0.8), (20.6, 4.9)],
        [(11.3, 2.0), (152.8, 25.8)],
    ],
    [
        [(0.6, 0.1), (18.5, 2.3)],
        [(0.7, 0.1), (20.5, 2.6)],
        [(1.1, 0.1), (25.2, 9.3)],
        [(2.0, 0.4), (167.2, 62.5)],
    ],
];

const KINDS: [Outliers; 3] = [Outliers::None, Outliers::Clustered, Outliers::Spread];

pub(super) fn table_2(context: &Context<'_>) -> Result<Outcome> {
    let count = context.pick(6, 3);
    let mut out = Outcome::default();
    let mut seconds = vec![vec![[0.0; 2]; PS.len()]; NS.len()];
    for (a, n) in NS.into_iter().enumerate() {
        for (b, p) in PS.into_iter().enumerate() {
            let keys = repetitions(&format!("n={n}/p={p}"), count);
            let found = context.each_alone("conic-times", &keys, |i, seed| {
                let kind = KINDS[i % KINDS.len()];
                let case = Case { n, p, sigma: 0.5, kind, fraction: 0.1 };
                time(&case, seed, context)
            })?;
            for (m, method) in ["hinge", "conic"].into_iter().enumerate() {
                let ours = Measured::of(&column(&found, m));
                seconds[a][b][m] = ours.value;
                let (value, spread) = TABLE_2[a][b][m];
                let paper = Measured::published(value, spread);
                let what = format!("n = {n}, p = {p}, {method}");
                let row = Row::compare(what, Unit::Seconds, Goal::Lower, paper, ours);
                out.rows.push(row.because("other machine and other solver"));
            }
        }
    }
    claims(&seconds, &mut out);
    out.charts = vec![
        Chart::lines("Hinge loss", "n", "seconds for 100 fits", curves(&seconds, 0, "hinge")).log(),
        Chart::lines("Conic loss", "n", "seconds for 100 fits", curves(&seconds, 1, "conic")).log(),
    ];
    out.choice("The deviation of the classes in the timed problems is not stated: 0.5.");
    out.choice(format!("{count} timed problems a cell, the outlier classes in turn; fits certified to a relative gap of 1e-6."));
    out.notes.push(
        "Wall-clock times of this machine on one thread: the only numbers of these pages that another run will not repeat \
         exactly."
            .into(),
    );
    Ok(out)
}

/// What the paper says about its times.
fn claims(seconds: &[Vec<[f64; 2]>], out: &mut Outcome) {
    let ratio = |a: usize, b: usize| seconds[a][b][1] / seconds[a][b][0];
    let ratios: Vec<f64> = (0..4).flat_map(|a| (0..4).map(move |b| ratio(a, b))).collect();
    let dearer = ratios.iter().filter(|r| **r > 1.0).count();
    let row = Row::claim(
        "conic against hinge",
        "certainly more expensive",
        dearer >= 12,
        format!(
            "more expensive in {dearer} of 16 cells; it takes {:.1} to {:.1} times as long",
            ratios.iter().copied().fold(f64::INFINITY, f64::min),
            ratios.iter().copied().fold(0.0, f64::max)
        ),
    );
    out.rows.push(row.because("our conic solver works in few dimensions and walks the path warm"));
    let growth = seconds[3][2][1] / seconds[0][2][1];
    out.rows.push(Row::claim(
        "conic, growth in n",
        "almost linear",
        growth <= 20.0,
        format!("from n = 100 to 1000 (p = 10) the time grows {growth:.1} times"),
    ));
    let most = seconds.iter().flatten().map(|s| s[1]).fold(0.0, f64::max);
    out.rows.push(Row::claim(
        "conic, all cells",
        "less than 100 s for the whole path at n = 1000 (its own table says 167 s at p = 30)",
        most < 100.0,
        format!("at most {most:.1} s"),
    ));
}

/// One curve over n for every p, of the method with the number `m`.
fn curves(seconds: &[Vec<[f64; 2]>], m: usize, name: &str) -> Vec<Series> {
    let curve = |(b, p): (usize, &usize)| {
        let points = NS.iter().enumerate().map(|(a, &n)| (n as f64, seconds[a][b][m]));
        Series::new(format!("{name}, p = {p}"), points)
    };
    PS.iter().enumerate().map(curve).collect()
}

fn time(case: &Case, seed: u64, context: &Context<'_>) -> Result<Vec<f64>> {
    let control = context.control();
    let (train, _) = case.draw(seed)?;
    let conic = ConicParams::default().check()?;
    let start = Instant::now();
    hinge_path(&train, &hinge_grid(100), true, 1e-6, &control)?;
    let hinge_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    conic.path(&train, &kappas(), &control)?;
    Ok(vec![hinge_seconds, start.elapsed().as_secs_f64()])
}
