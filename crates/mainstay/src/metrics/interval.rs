//! How far metrics would move with other rows: the bootstrap.

use rand::RngExt;

use super::{Judged, Metric};
use crate::error::{Error, Result};
use crate::folds::{generator, members_of};
use serde::{Deserialize, Serialize};

/// Where 95 % of the redraws lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// 2.5 % of the redraws lie below.
    pub low: f64,
    /// 2.5 % of the redraws lie above.
    pub high: f64,
}

/// A metric must be defined on so large a share of the redraws to have an interval.
const DEFINED: f64 = 0.9;

/// A number of redraws that takes about as long for many rows as for few: 1000, and for many rows no less than 200.
pub fn usual_redraws(rows: usize) -> usize {
    (5_000_000 / rows.max(1)).clamp(200, 1000)
}

/// 95 % percentile intervals of `metrics` over redraws of the rows with replacement; none where a metric is undefined on
/// the rows or on more than a tenth of the redraws.
///
/// All metrics see the same redraws. Rows with the same entry of `groups` are drawn together: rows of one patient are
/// not news. With one group, or one row, there is nothing to redraw and there are no intervals.
pub fn intervals(
    judged: &Judged<'_>,
    metrics: &[Metric],
    groups: Option<&[usize]>,
    redraws: usize,
    seed: u64,
) -> Result<Vec<Option<Interval>>> {
    let n = judged.truth().len();
    let members = members(groups, n)?;
    let mut values: Vec<Vec<f64>> = vec![Vec::with_capacity(redraws); metrics.len()];
    let defined: Vec<bool> = metrics.iter().map(|metric| metric.of(judged).is_ok()).collect();
    let mut rng = generator(seed);
    for _ in 0..if members.len() < 2 { 0 } else { redraws } {
        let mut weights = vec![0.0; n];
        for _ in 0..members.len() {
            for &i in &members[rng.random_range(0..members.len())] {
                weights[i] += judged.weight(i);
            }
        }
        // A redraw without weight: nothing is defined on it.
        let Ok(redrawn) = judged.clone().with_weights(weights) else { continue };
        for ((metric, values), _) in
            metrics.iter().zip(&mut values).zip(&defined).filter(|(_, defined)| **defined)
        {
            values.extend(metric.of(&redrawn).ok());
        }
    }
    Ok(values.into_iter().map(|found| percentiles(found, redraws)).collect())
}

fn members(groups: Option<&[usize]>, n: usize) -> Result<Vec<Vec<usize>>> {
    let Some(groups) = groups else { return Ok((0..n).map(|i| vec![i]).collect()) };
    if groups.len() != n {
        return Err(Error::BadData(format!("{} groups for {n} rows", groups.len())));
    }
    Ok(members_of(groups))
}

fn percentiles(mut values: Vec<f64>, redraws: usize) -> Option<Interval> {
    if redraws == 0 || (values.len() as f64) < DEFINED * redraws as f64 {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * (values.len() - 1) as f64;
        let (below, above) = (place.floor(), place.ceil());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "places lie within the list"
        )]
        let (low, high) = (values[below as usize], values[above as usize]);
        low + (high - low) * (place - below)
    };
    Some(Interval { low: at(0.025), high: at(0.975) })
}
