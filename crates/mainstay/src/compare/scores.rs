//! Cells as arrays over repeats.

use std::collections::BTreeMap;

use super::bootstrap::Bootstrap;
use super::outcome::{Cell, Curve, Point};
use crate::stress::{CLEAN, Trial};

/// Cells of one method under one threat: by level, then by repeat.
type Grid<'a> = Vec<Vec<Option<&'a Cell>>>;

/// All cells of a comparison, found by method and threat.
pub(super) struct Scores<'a> {
    grids: BTreeMap<(&'a str, &'a str), Grid<'a>>,
    levels: BTreeMap<&'a str, Vec<f64>>,
    repeats: usize,
}

impl<'a> Scores<'a> {
    pub(super) fn new(cells: &'a [Cell], trials: &'a [Trial], repeats: usize) -> Self {
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
        Self { grids, levels, repeats }
    }

    /// Accuracy in every repeat, averaged over the levels; absent unless every level has one.
    pub(super) fn under(&self, method: &str, threat: &str) -> Vec<Option<f64>> {
        let Some(grid) = self.grids.get(&(method, threat)) else { return vec![None; self.repeats] };
        let one = |r: usize| {
            let each = grid.iter().map(|level| level[r].and_then(|c| c.accuracy));
            let all: Option<Vec<f64>> = each.collect();
            all.filter(|a| !a.is_empty()).map(|a| a.iter().sum::<f64>() / a.len() as f64)
        };
        (0..self.repeats).map(one).collect()
    }

    /// What every level does to a method.
    pub(super) fn curve(&self, method: &str, threat: &str, bootstrap: &Bootstrap) -> Curve {
        let levels = self.levels.get(threat).map_or(&[][..], Vec::as_slice);
        let none = vec![None; self.repeats];
        let grid = self.grids.get(&(method, threat));
        let point = |(at, &level): (usize, &f64)| {
            let cells = grid.map_or(&none, |g| &g[at]);
            let values = |of: fn(&Cell) -> Option<f64>| -> Vec<Option<f64>> {
                cells.iter().map(|c| c.and_then(of)).collect()
            };
            let mut accuracy = bootstrap.interval(&values(|c| c.accuracy));
            if let Some(interval) = &mut accuracy {
                (interval.low, interval.high) = (interval.low.max(0.0), interval.high.min(1.0));
            }
            let problem = cells.iter().flatten().find_map(|c| c.problem.clone());
            let log_loss = bootstrap.interval(&values(|c| c.log_loss)).map(|mut interval| {
                interval.low = interval.low.max(0.0);
                interval
            });
            let problem = if accuracy.is_none() { problem } else { None };
            Point { level, accuracy, log_loss, problem }
        };
        let points = levels.iter().enumerate().map(point).collect();
        Curve { method: method.into(), threat: threat.into(), points }
    }
}

/// Left less right, where both are.
pub(super) fn minus(left: &[Option<f64>], right: &[Option<f64>]) -> Vec<Option<f64>> {
    left.iter().zip(right).map(|(a, b)| a.zip(*b).map(|(a, b)| a - b)).collect()
}
