//! The cells that have variables of their own: features that the adversary of a row may delete.

use super::rows::Rows;
use crate::linalg::{Dense, vector};
use crate::robust::worst_problem::WorstCase;

/// Cells row after row. A cell that is left out is never deleted, which restricts the adversary: bounds stay proofs.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    /// Where the cells of each row begin; one entry more than rows.
    start: Vec<usize>,
    /// Feature of each cell.
    pub feature: Vec<usize>,
    /// `$y_i (x_{ij} - c_j)$` of each cell.
    pub away: Vec<f64>,
}

/// What deleting feature `j` takes from a margin per unit of its weight.
fn away(signed: &[f64], y: f64, feature: usize, centre: f64) -> f64 {
    signed[feature] - y * centre
}

impl Cells {
    /// Every losable feature of every row.
    pub(super) fn all(problem: &WorstCase<'_>, signed: &Dense) -> Option<Self> {
        let losable = problem.losable?;
        let mut cells = Self::none();
        for (i, y) in problem.y.iter().enumerate() {
            for (&j, c) in losable.columns.iter().zip(&losable.centre) {
                cells.push(j, away(signed.row(i), *y, j, *c));
            }
            cells.end_row();
        }
        Some(cells)
    }

    /// No row yet.
    pub(super) fn none() -> Self {
        Self { start: vec![0], feature: Vec::new(), away: Vec::new() }
    }

    /// The next cell of the present row.
    pub(super) fn push(&mut self, feature: usize, away: f64) {
        self.feature.push(feature);
        self.away.push(away);
    }

    /// The present row has no more cells.
    pub(super) fn end_row(&mut self) {
        self.start.push(self.feature.len());
    }

    /// Where the cells of row `i` are.
    #[inline]
    pub(super) fn of(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i]..self.start[i + 1]
    }

    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        self.feature.len()
    }
}

/// Calls `see` with feature, `$y_i (x_{ij} - c_j)$` and what deleting it takes from the margin, for the losable features of row `i`.
#[inline]
pub(super) fn gains(rows: &Rows<'_>, w: &[f64], i: usize, mut see: impl FnMut(usize, f64, f64)) {
    let Some(losable) = rows.problem.losable else { return };
    let (signed, y) = (rows.signed.row(i), rows.problem.y[i]);
    for (&j, c) in losable.columns.iter().zip(&losable.centre) {
        let away = away(signed, y, j, *c);
        see(j, away, w[j] * away);
    }
}

/// Gains that are looked at together for whether one of them is among the dearest.
const TOGETHER: usize = 8;

/// For each row the `most` cells whose deletion takes most from its margin, as far as it takes anything; dearest first.
pub(super) fn dearest(rows: &Rows<'_>, w: &[f64], most: usize) -> Cells {
    let mut cells = Cells::none();
    let Some(losable) = rows.problem.losable else {
        (0..rows.len()).for_each(|_| cells.end_row());
        return cells;
    };
    let weights: Vec<f64> = losable.columns.iter().map(|&j| w[j]).collect();
    let whole = losable.columns.len() == rows.signed.ncols();
    let (mut values, mut gains) = (vec![0.0; weights.len()], vec![0.0; weights.len()]);
    let mut best: Vec<(f64, usize)> = Vec::with_capacity(most);
    for i in 0..rows.len() {
        let (signed, y) = (rows.signed.row(i), rows.problem.y[i]);
        if !whole {
            values.iter_mut().zip(&losable.columns).for_each(|(v, &j)| *v = signed[j]);
        }
        let own = if whole { signed } else { &values };
        let taken = gains.iter_mut().zip(&weights).zip(own).zip(&losable.centre);
        vector::vectorized!(taken.for_each(|(((g, w), v), c)| *g = w * (v - y * c)));
        largest(&gains, most, &mut best);
        for &(_, k) in &best {
            let j = losable.columns[k];
            cells.push(j, away(signed, y, j, losable.centre[k]));
        }
        cells.end_row();
    }
    cells
}

/// The `most` largest positive numbers and where they are, largest first; of equal ones the first.
fn largest(numbers: &[f64], most: usize, best: &mut Vec<(f64, usize)>) {
    best.clear();
    let mut least = 0.0;
    for (part, group) in numbers.chunks(TOGETHER).enumerate() {
        if !group.iter().map(|v| *v > least).fold(false, |any, one| any | one) {
            continue;
        }
        for (k, &v) in group.iter().enumerate() {
            if v > least {
                best.truncate(most - 1);
                let at = best.iter().position(|(other, _)| *other < v).unwrap_or(best.len());
                best.insert(at, (v, part * TOGETHER + k));
                if best.len() == most {
                    least = best[most - 1].0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against sorting, with equal numbers and fewer positive ones than are asked for.
    #[test]
    fn the_largest_numbers_are_those_that_sorting_puts_first() {
        for seed in 0..40_usize {
            let numbers: Vec<f64> =
                (0..seed).map(|k| ((k * k * 31 + seed * 17) % 23) as f64 - 9.0).collect();
            let mut sorted: Vec<(f64, usize)> =
                numbers.iter().copied().enumerate().map(|(k, v)| (v, k)).collect();
            sorted.retain(|(v, _)| *v > 0.0);
            sorted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            sorted.truncate(5);
            let mut found = vec![(7.0, 7)];
            largest(&numbers, 5, &mut found);
            assert_eq!(found, sorted, "{numbers:?}");
        }
    }
}
