//! Chakrabarti, Figure 7: how far the loss of ROLIN depends on the thresholds of RobustCV.

use std::sync::Arc;

use mainstay::loss::Loss;
use mainstay::model::Estimator;
use mainstay::rolin::{CvRule, RolinParams};

use super::runs::{Draw, Task, choices, rolin, tasks};
use crate::chart::{Chart, Series};
use crate::context::Context;
use crate::error::Result;
use crate::outcome::{Outcome, Row};
use crate::stats::{column, mean, trimmed};

const RATIOS: [f64; 6] = [1.0, 2.5, 5.0, 10.0, 100.0, 1e6];
const SLACKS: [f64; 6] = [0.0, 0.05, 0.1, 0.15, 0.3, 1.0];
const GAINS: [f64; 6] = [0.0, 0.02, 0.05, 0.1, 0.3, 1.0];
/// Training rows of every draw.
const ROWS: usize = 30;

fn with(which: usize, value: f64, seed: u64) -> RolinParams {
    let usual = rolin(Loss::Logistic, CvRule::Robust, seed);
    match which {
        0 => RolinParams { theta_ratio: value, ..usual },
        1 => RolinParams { theta_slack: value, ..usual },
        _ => RolinParams { theta_gain: value, ..usual },
    }
}

/// A threshold by name, and the values that are tried.
type Grid = (&'static str, [f64; 6]);

/// Trimmed mean loss of every threshold, value and data set, in this order.
fn measure(
    context: &Context<'_>,
    tasks: &[Arc<Task>],
    grids: &[Grid],
    count: usize,
) -> Result<Vec<f64>> {
    let mut keys = Vec::new();
    let mut places = Vec::new();
    for (g, (name, grid)) in grids.iter().enumerate() {
        for value in grid {
            for (t, task) in tasks.iter().enumerate() {
                for r in 0..count {
                    keys.push(format!("{name}={value}/{}/{r}", task.name));
                    places.push((g, *value, t, r));
                }
            }
        }
    }
    let found = context.each("rolin-thresholds", &keys, |i, _| {
        let (g, value, t, r) = places[i];
        let task = &tasks[t];
        let seed = context.seed(&format!("rolin/{}/{ROWS}/{r}", task.name));
        let Some(draw) = Draw::new(&task.data, ROWS, seed) else { return Ok(vec![f64::NAN]) };
        let fitted = with(g, value, seed).check()?.fit(&draw.train, &context.control())?;
        Ok(vec![draw.loss(&fitted, Loss::Logistic)?])
    })?;
    let mean = |draws: &[Vec<f64>]| trimmed(&column(draws, 0), 0.1);
    Ok(found.chunks(count).map(mean).collect())
}

pub(super) fn figure_7(context: &Context<'_>) -> Result<Outcome> {
    let tasks = tasks(context, context.pick(10, 5))?;
    let count = context.pick(20, 4);
    let grids = [("ratio", RATIOS, 2), ("slack", SLACKS, 2), ("gain", GAINS, 2)];
    let means = measure(context, &tasks, &grids.map(|(name, grid, _)| (name, grid)), count)?;
    let sets = tasks.len();
    let mut out = Outcome::default();
    for (g, (name, grid, usual)) in grids.into_iter().enumerate() {
        let of = |v: usize, t: usize| means[(g * grid.len() + v) * sets + t];
        let change =
            |v: usize| mean(&(0..sets).map(|t| of(v, t) / of(usual, t) - 1.0).collect::<Vec<_>>());
        let found = grid
            .iter()
            .enumerate()
            .map(|(v, value)| format!("{value}: {:+.1} %", 100.0 * change(v)))
            .collect::<Vec<_>>()
            .join(", ");
        let (claim, holds) = claim(g, &change);
        let row = Row::claim(format!("theta_{name}"), claim, holds, found);
        out.rows.push(row.because(
            "20 draws tell changes of 3 % from nothing only just, and with exact fits the loss depends little on this \
             threshold",
        ));
        let points = (0..grid.len()).map(|v| (v as f64, change(v)));
        let series = vec![Series::new("mean over the sets", points)];
        let names = grid.iter().map(ToString::to_string).collect();
        let chart = Chart::lines(format!("theta_{name}"), "value", "relative change", series);
        out.charts.push(chart.over(names));
    }
    out.choice(format!(
        "n = {ROWS} and {count} draws on the {sets} sets with the fewest features; neither is stated."
    ));
    choices(context, &mut out);
    Ok(out)
}

/// What the paper says about the threshold with the number `g`, and whether the mean changes agree.
fn claim(g: usize, change: &dyn Fn(usize) -> f64) -> (&'static str, bool) {
    match g {
        0 => ("any value from 2.5 to 100 works well", (1..5).all(|v| change(v) <= 0.03)),
        1 => (
            "any value up to 0.15 gives similar results, larger ones are worse",
            (0..4).all(|v| change(v).abs() <= 0.03) && change(5) > 0.0,
        ),
        _ => (
            "any value up to 0.05 gives good results, high ones much worse",
            (0..3).all(|v| change(v).abs() <= 0.03) && change(5) > 0.03,
        ),
    }
}
