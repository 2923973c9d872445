//! Chakrabarti, Figures 5 and 10: loss over the number of training rows, data set by data set.

use std::sync::Arc;

use super::runs::{Cell, LOSSES, METHODS, Task, choices, run, sizes, tasks, trimmed_mean};
use crate::chart::{Chart, Series};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::outcome::{Measured, Outcome, Row, Unit};

const FIVE: [usize; 5] = [0, 1, 2, 3, 4];

/// Trimmed means for every n and method.
fn curve(
    context: &Context<'_>,
    task: &Arc<Task>,
    loss: usize,
    ns: &[usize],
    methods: &[usize],
) -> Result<Vec<Vec<f64>>> {
    let cells: Vec<Cell> = ns.iter().map(|&n| Cell { task: task.clone(), loss, n }).collect();
    let found = run(context, &cells, methods)?;
    let at = |draws: &Vec<Vec<f64>>| (0..METHODS.len()).map(|m| trimmed_mean(draws, m)).collect();
    Ok(found.iter().map(at).collect())
}

fn chart(title: String, ns: &[usize], found: &[Vec<f64>], methods: &[usize]) -> Chart {
    let series = methods.iter().map(|&m| {
        Series::new(METHODS[m], found.iter().enumerate().map(|(k, row)| (k as f64, row[m])))
    });
    let names = ns.iter().map(ToString::to_string).collect();
    Chart::lines(title, "n", "test loss", series.collect()).over(names).log()
}

/// ROLIN with the fewest rows against norm-based regularisation with the most.
fn few_against_many(what: String, ns: &[usize], found: &[Vec<f64>]) -> Row {
    let last = &found[ns.len() - 1];
    Row::claim(
        what,
        "ROLIN with 15 rows beats the best norm-based regularisation with 1500 (on some sets)",
        found[0][0] < last[2].min(last[3]),
        format!(
            "ROLIN with 15 rows {:.3}, L2 and L1 with {} rows {:.3} and {:.3}",
            found[0][0],
            ns[ns.len() - 1],
            last[2],
            last[3]
        ),
    )
    .because("exact solvers converge; with more rows they keep improving")
}

pub(super) fn figure_5(context: &Context<'_>) -> Result<Outcome> {
    let ns = context.pick(&[15, 50, 200, 500, 1500][..], &[15, 50, 200][..]);
    let mut out = Outcome::default();
    for (name, loss) in [("spambase", 0), ("seizure", 1), ("gas_drift", 2)] {
        let Some(set) = context.data(name)? else { continue };
        let task = Arc::new(Task { name: set.name, data: set.binary()? });
        let found = curve(context, &task, loss, ns, &[0, 2, 3, 4])?;
        for (k, n) in ns.iter().enumerate() {
            for m in [0, 2, 3, 4] {
                let what =
                    format!("{name}, {}, n = {n}, {}: test loss", LOSSES[loss].1, METHODS[m]);
                let ours = Measured::plain(found[k][m]);
                out.rows.push(Row::ours(what, Unit::Plain, ours, "only drawn in the paper"));
            }
        }
        let what = format!("{name}, {}", LOSSES[loss].1);
        out.rows.push(few_against_many(what, ns, &found));
        out.charts.push(chart(format!("{name}, {}", LOSSES[loss].1), ns, &found, &[0, 2, 3, 4]));
    }
    if out.rows.is_empty() {
        return Err(Error::NoData("spambase, seizure and gas_drift are needed".into()));
    }
    out.choice(
        "The three data sets of the figure are not named in the text: one with each loss here.",
    );
    choices(context, &mut out);
    Ok(out)
}

pub(super) fn figure_10(context: &Context<'_>) -> Result<Outcome> {
    let ns = sizes(context);
    let mut out = Outcome::default();
    for task in tasks(context, usize::MAX)? {
        for (l, (_, loss)) in LOSSES.into_iter().enumerate() {
            let found = curve(context, &task, l, &ns, &FIVE)?;
            for (k, n) in ns.iter().enumerate().filter(|(k, _)| found[*k][0].is_finite()) {
                let row = &found[k];
                let best = (0..4).min_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap_or(0);
                let found = format!(
                    "ROLIN {:.3}, Top PCs {:.3}, L2 {:.3}, L1 {:.3}, extended {:.3}",
                    row[0], row[1], row[2], row[3], row[4]
                );
                let what =
                    format!("{} (p = {}), {loss}, n = {n}", task.name, task.data.n_features());
                let note = format!("only drawn in the paper; best: {}", METHODS[best]);
                let row = Row::claim(what, "-", true, found).not_comparable(note);
                out.rows.push(row);
            }
            out.charts.push(chart(format!("{}, {loss}", task.name), &ns, &found, &FIVE));
        }
    }
    choices(context, &mut out);
    Ok(out)
}
