//! Cells as arrays over repeats.

use std::collections::BTreeMap;

use super::bootstrap::Bootstrap;
use super::outcome::{Cell, Curve, CurvePoint, Interval};
use super::wording::sign;
use crate::metrics::Metric;
use crate::stress::{CLEAN, Trial};

/// Cells of one method under one threat: by level, then by repeat.
type Grid<'a> = Vec<Vec<Option<&'a Cell>>>;

/// All cells of a comparison, found by method and threat.
pub(super) struct Scores<'a> {
    grids: BTreeMap<(&'a str, &'a str), Grid<'a>>,
    levels: BTreeMap<&'a str, Vec<f64>>,
    repeats: usize,
    metric: Metric,
}

impl<'a> Scores<'a> {
    pub(super) fn new(
        cells: &'a [Cell],
        trials: &'a [Trial],
        repeats: usize,
        metric: Metric,
    ) -> Self {
        let mut levels: BTreeMap<&str, Vec<f64>> =
            trials.iter().map(|t| (t.threat.name(), t.levels.clone())).collect();
        levels.insert(CLEAN, vec![0.0]);
        let mut grids: BTreeMap<(&str, &str), Grid<'_>> = BTreeMap::new();
        for cell in cells.iter().filter(|c| c.repeat < repeats) {
            let Some(own) = levels.get(cell.threat.as_str()) else { continue };
            let Some(level) = own.iter().position(|l| *l == cell.level) else { continue };
            let empty = || vec![vec![None; repeats]; own.len()];
            grids.entry((&cell.method, &cell.threat)).or_insert_with(empty)[level][cell.repeat] =
                Some(cell);
        }
        Self { grids, levels, repeats, metric }
    }

    /// How good a method is in every repeat, averaged over the levels: the metric, a loss with its sign turned. Absent unless
    /// every level has a number.
    pub(super) fn under(&self, method: &str, threat: &str) -> Vec<Option<f64>> {
        let Some(grid) = self.grids.get(&(method, threat)) else { return vec![None; self.repeats] };
        let one = |r: usize| {
            let each = grid.iter().map(|level| level[r].and_then(|c| c.value(self.metric)));
            let all: Option<Vec<f64>> = each.collect();
            all.filter(|a| !a.is_empty())
                .map(|a| sign(self.metric) * a.iter().sum::<f64>() / a.len() as f64)
        };
        (0..self.repeats).map(one).collect()
    }

    /// Any metric of a method on undamaged data, by repeat.
    pub(super) fn clean_in(&self, method: &str, metric: Metric) -> Vec<Option<f64>> {
        let cells = self.grids.get(&(method, CLEAN)).and_then(|grid| grid.first());
        let Some(cells) = cells else { return vec![None; self.repeats] };
        cells.iter().map(|c| c.and_then(|c| c.value(metric))).collect()
    }

    /// What every level does to a method.
    pub(super) fn curve(&self, method: &str, threat: &str, bootstrap: &Bootstrap) -> Curve {
        let levels = self.levels.get(threat).map_or(&[][..], Vec::as_slice);
        let none = vec![None; self.repeats];
        let grid = self.grids.get(&(method, threat));
        let point = |(at, &level): (usize, &f64)| {
            let cells = grid.map_or(&none, |g| &g[at]);
            let values = |metric: Metric| -> Vec<Option<f64>> {
                cells.iter().map(|c| c.and_then(|c| c.value(metric))).collect()
            };
            let within = |metric: Metric, low: f64, high: f64| {
                let found = bootstrap.interval(&values(metric));
                found.map(|i| Interval { low: i.low.max(low), high: i.high.min(high), ..i })
            };
            let accuracy = within(Metric::Accuracy, 0.0, 1.0);
            let (low, high) = match self.metric {
                Metric::Mcc => (-1.0, 1.0),
                Metric::BrierSkill => (f64::NEG_INFINITY, 1.0),
                Metric::LogLoss => (0.0, f64::INFINITY),
                _ => (0.0, 1.0),
            };
            let value = within(self.metric, low, high);
            let problem = cells.iter().flatten().find_map(|c| c.problem.clone());
            let log_loss = within(Metric::LogLoss, 0.0, f64::INFINITY);
            let undefined = || {
                let title = self.metric.title();
                accuracy
                    .is_some()
                    .then(|| format!("{title} is not defined for this method or these rows"))
            };
            let problem = if value.is_none() { problem.or_else(undefined) } else { None };
            CurvePoint { level, value, accuracy, log_loss, problem }
        };
        let points = levels.iter().enumerate().map(point).collect();
        Curve { method: method.into(), threat: threat.into(), points }
    }
}

/// Left less right, where both are.
pub(super) fn minus(left: &[Option<f64>], right: &[Option<f64>]) -> Vec<Option<f64>> {
    left.iter().zip(right).map(|(a, b)| a.zip(*b).map(|(a, b)| a - b)).collect()
}
